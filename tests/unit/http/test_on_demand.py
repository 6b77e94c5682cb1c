"""Applications that are made when they are first asked for."""

import asyncio
import sys
import threading
from typing import Any

import pytest

from heliograph.http.asgi import Asgi, Event, Receive, Scope, Send
from heliograph.http.on_demand import OnDemand
from tests.support.timeouts import PATIENCE_S


async def nothing_comes() -> Event:
    raise AssertionError("nobody reads")


class Maker:
    """Makes an application that tells which one it is. Waits for `go` first, as one does that has much to import."""

    def __init__(self, failures: int = 0) -> None:
        self.made_in: list[threading.Thread] = []
        self.begun = threading.Event()
        self.go = threading.Event()
        self._failures = failures

    def __call__(self) -> Asgi:
        self.made_in.append(threading.current_thread())
        self.begun.set()
        self.go.wait(PATIENCE_S)
        if len(self.made_in) <= self._failures:
            raise ImportError("no such module")

        async def application(scope: Scope, receive: Receive, send: Send) -> None:
            await send({"path": scope["path"], "made": len(self.made_in)})

        return application


async def ask(application: Asgi, path: str = "/") -> dict[str, Any]:
    said: dict[str, Any] = {}

    async def send(message: Event) -> None:
        said.update(message)

    await application({"path": path}, nothing_comes, send)
    return said


async def test_nothing_is_made_until_somebody_asks_and_once_for_all_who_do() -> None:
    maker = Maker()
    application = OnDemand(maker)
    assert maker.made_in == []
    asking = [asyncio.create_task(ask(application, f"/{number}")) for number in range(3)]
    assert await asyncio.to_thread(maker.begun.wait, PATIENCE_S)  # the loop goes on meanwhile
    assert not any(task.done() for task in asking)
    maker.go.set()
    assert await asyncio.gather(*asking) == [{"path": f"/{number}", "made": 1} for number in range(3)]
    assert await ask(application, "/later") == {"path": "/later", "made": 1}
    assert maker.made_in != [threading.current_thread()]


async def test_what_could_not_be_made_is_tried_again_by_the_next_one_to_ask() -> None:
    maker = Maker(failures=1)
    maker.go.set()
    application = OnDemand(maker)
    with pytest.raises(ImportError):
        await ask(application)
    assert await ask(application) == {"path": "/", "made": 2}


async def test_messages_have_the_interpreter_more_often_while_something_is_made() -> None:
    usual = sys.getswitchinterval()
    makers = [Maker(), Maker()]
    asking = [asyncio.create_task(ask(OnDemand(maker))) for maker in makers]
    for maker in makers:
        assert await asyncio.to_thread(maker.begun.wait, PATIENCE_S)
    assert sys.getswitchinterval() < usual / 10
    for maker, task in zip(makers, asking, strict=True):
        maker.go.set()
        await task
    assert sys.getswitchinterval() == usual
