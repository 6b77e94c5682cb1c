"""Offers `BackgroundSink`: a receiver of callbacks for tests that are not asynchronous themselves."""

import asyncio
import threading
from collections import defaultdict
from types import TracebackType
from typing import Self

from tests.support.process import eventually
from tests.support.sink import Answer, Received, Sink
from tests.support.timeouts import PATIENCE_S


class BackgroundSink:
    """A Sink on a loop in a thread of its own."""

    def __init__(self, default: Answer | None = None, port: int = 0) -> None:
        self.sink = Sink(default)
        self._port = port
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    @property
    def requests(self) -> list[Received]:
        return list(self.sink.requests)

    def url(self, path: str = "/dlr") -> str:
        return self.sink.url(path)

    def ids(self) -> set[str]:
        """The messages that receipts have come for, by their ids as the API gives them."""
        return {received.form["id"].replace("-", "") for received in self.requests}

    def from_phones(self) -> dict[str, set[str]]:
        """The texts of messages from phones, and the ids under which each has come."""
        found: dict[str, set[str]] = defaultdict(set)
        for received in self.requests:
            if not received.of_receipt:
                found[received.form["content"]].add(received.form["id"])
        return found

    def receipts(self, message: str) -> list[Received]:
        return [received for received in self.requests if received.form["id"].replace("-", "") == message]

    def receipt(self, message: str, seconds: float = PATIENCE_S) -> Received:
        """The first receipt of the message, once it is there."""
        return eventually(lambda: self.receipts(message), f"a receipt for {message}", seconds)[0]

    def __enter__(self) -> Self:
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self.sink.start(self._port), self._loop).result(PATIENCE_S)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        asyncio.run_coroutine_threadsafe(self.sink.stop(), self._loop).result(PATIENCE_S)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(PATIENCE_S)
        self._loop.close()
