"""Customers in numbers over SMPP: binds that submit as fast as they are answered, and again if they get no answer."""

import asyncio
import contextlib
import itertools
import threading
import time
from collections import Counter
from collections.abc import Sequence
from types import TracebackType
from typing import Final, Self

from heliograph.smpp import pdu as p
from tests.support.esme import Esme, receipt_fields
from tests.support.process import eventually
from tests.support.timeouts import COMMAND_S, PATIENCE_S

REFERENCE_TAG: Final = 0x1402
"""The account's `smpp_reference`."""

UNDER_WAY: Final = 4
"""Submissions of a bind that wait for their answer."""

AGAIN_S: Final = 0.05
"""Seconds before the next try to bind."""


class SmppLoad:
    """Like `load.Load`. Each message has a reference, by which it is submitted again until it has an answer."""

    def __init__(
        self,
        ports: Sequence[int],
        name: str,
        password: str,
        *,
        connections: int = 8,
        pause: float = 0.0,
        first: int = 491_700_000_000,
    ) -> None:
        self._ports = itertools.cycle(ports)
        self._name, self._password = name, password
        self._connections = connections
        self._pause = pause
        self._numbers = itertools.count(first)
        self._again: list[str] = []
        self._stopping = self._closing = False
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()), daemon=True)
        self.accepted: dict[str, str] = {}
        """The ids of messages answered ESME_ROK, by their destinations; as HTTP's, without hyphens."""
        self.answered_at: dict[str, float] = {}
        """Times of the answers, by destination, in seconds since the Unix epoch."""
        self.refused: list[tuple[int, bytes]] = []
        """Other answers: their status."""
        self.unanswered: list[str] = []
        """Destinations that were submitted and have no answer yet."""
        self.submitted_again = 0
        self.two_ids: set[str] = set()
        """Destinations that were answered with two ids."""
        self.receipts: Counter[str] = Counter()
        """Receipts by id."""

    def wait_for(self, accepted: int, seconds: float = COMMAND_S) -> None:
        eventually(
            lambda: len(self.accepted) >= accepted or not self._thread.is_alive(), f"{accepted} accepted", seconds
        )

    def stop(self) -> None:
        """Each message has an answer then. The binds stay, for receipts."""
        self._stopping = True
        eventually(lambda: not self.unanswered or not self._thread.is_alive(), "all are answered", PATIENCE_S)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopping = self._closing = True
        self._thread.join(PATIENCE_S)
        assert not self._thread.is_alive()

    # --- inside

    async def _run(self) -> None:
        await asyncio.gather(*(self._connection() for _ in range(self._connections)))

    async def _connection(self) -> None:
        while not self._closing:
            with contextlib.suppress(OSError, TimeoutError):
                client = await Esme.connect(next(self._ports), self._take)
                try:
                    if await client.bind(self._name, self._password) == 0:
                        await self._submit(client)
                finally:
                    client.close()
            await asyncio.sleep(AGAIN_S)

    def _take(self, pdu: p.DeliverSm) -> int:
        self.receipts[receipt_fields(pdu)["id"].replace("-", "")] += 1
        return 0

    async def _submit(self, client: Esme) -> None:
        waiting: dict[int, str] = {}
        while not client.gone and not self._closing:
            while len(waiting) < UNDER_WAY and (self._again or not self._stopping):
                to = self._next()
                waiting[client.begin(self._message(to))] = to
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(0.2):
                    await client.until(lambda: client.gone or any(number in client.answers for number in waiting))
            for number in [number for number in waiting if number in client.answers]:
                self._answered(waiting.pop(number), client.answers.pop(number))
            await asyncio.sleep(self._pause)
        self._again += waiting.values()

    def _next(self) -> str:
        if self._again:
            self.submitted_again += 1
            return self._again.pop()
        to = str(next(self._numbers))
        self.unanswered.append(to)
        return to

    @staticmethod
    def _message(to: str) -> p.SubmitSm:
        return p.SubmitSm(
            tlvs=((REFERENCE_TAG, to.encode()),), source_addr_ton=5, source_addr="Heliograph", dest_addr_ton=1,
            dest_addr_npi=1, destination_addr=to, registered_delivery=1, short_message=b"Load for %b" % to.encode(),
        )  # fmt: skip

    def _answered(self, to: str, answer: p.Pdu) -> None:
        if answer.status:
            self.refused.append((answer.status, b""))
            self._again.append(to)
            return
        assert isinstance(answer, p.SubmitSmResp)
        name = answer.message_id.replace("-", "")
        if self.accepted.setdefault(to, name) != name:
            self.two_ids.add(to)
        self.answered_at.setdefault(to, time.time())
        if to in self.unanswered:
            self.unanswered.remove(to)
