"""What a listener hears: what he asked for, masked, and no more than he can take."""

import asyncio
import re
from collections.abc import Mapping
from typing import Any

import pytest

from heliograph.adapters.control import event_stream as streams
from heliograph.adapters.control.event_stream import EventStreams
from heliograph.app.facts import (
    Accept,
    CallbackDone,
    CallbackEnd,
    Facts,
    InboundMessage,
    Message,
    MessageEnd,
    Submission,
    Verdict,
)
from heliograph.app.observing.events import EventFeed
from heliograph.domain.message import ids
from heliograph.domain.message.receipt import Delivery
from tests.support.connectors import smpp_connector
from tests.support.gateway import START, Gateway, open_gateway
from tests.support.timeouts import PATIENCE_S

NUMBER = "4917012345678"


class Listener:
    """Hears in a task of its own."""

    def __init__(self, gateway: Gateway, feed: EventFeed, request: Mapping[str, Any]) -> None:
        self.lines: list[dict[str, Any]] = []
        self.may_read = asyncio.Event()
        self.may_read.set()
        self._heard = asyncio.Condition()
        self._streams = EventStreams(feed, gateway.store, lambda number: {1: "operator"}.get(number, f"op{number}"))
        self.task = asyncio.create_task(self._streams.listen(request, self._say))

    async def _say(self, line: dict[str, Any]) -> None:
        await self.may_read.wait()
        async with self._heard:
            self.lines.append(line)
            self._heard.notify_all()

    async def until(self, count: int) -> list[dict[str, Any]]:
        """The lines, once there are so many beside the first."""
        async with asyncio.timeout(PATIENCE_S), self._heard:
            await self._heard.wait_for(lambda: len(self.lines) > count)
        return self.lines[1:]

    async def end(self) -> None:
        self.task.cancel()
        await asyncio.wait([self.task])


async def stored(gateway: Gateway) -> Message:
    """A message in the store, sent by the account acme."""
    reply = await gateway.send({"to": NUMBER, "from": "Acme", "content": "the secret text"})
    parsed = ids.parse(reply.json["Id"])
    assert parsed is not None
    found = await gateway.store.messages.trace(parsed[0])
    assert found is not None
    return found.message


def accept(message: Message) -> Accept:
    return Accept(message.account, [message], message.price, START, verdict=Verdict.ACCEPTED)


async def test_a_message_of_before_is_looked_up_and_its_number_is_masked() -> None:
    gateway, feed = await open_gateway(), EventFeed()
    message = await stored(gateway)
    listener = Listener(gateway, feed, {})
    await listener.until(0)
    facts = Facts(callbacks=[CallbackDone(message.account, message.key, CallbackEnd.DELIVERED, 200, 1, START)])
    feed.committed(facts, START, 0.001)
    (line,) = await listener.until(1)
    await listener.end()
    assert line == {
        "time": "2027-01-15T08:00:00.000Z", "event": "callback", "id": ids.to_hex(message.key, message.tail),
        "account": "acme", "to": "491********78", "result": "delivered", "code": 200, "attempts": 1,
    }  # fmt: skip
    assert "secret" not in str(listener.lines)


async def test_whole_numbers_for_who_asks() -> None:
    gateway, feed = await open_gateway(), EventFeed()
    message = await stored(gateway)
    listener = Listener(gateway, feed, {"numbers": True})
    await listener.until(0)
    feed.committed(Facts(accepts=[accept(message)]), START, 0.001)
    (line,) = await listener.until(1)
    await listener.end()
    assert (line["to"], line["price"]) == (NUMBER, "1")


@pytest.mark.parametrize(
    ("wanted", "heard"),
    [
        ({"account": "acme"}, ["accepted", "submitted"]),
        ({"account": "other"}, []),
        ({"connector": "operator"}, ["accepted"]),
        ({"connector": "op7"}, ["submitted"]),
        ({"connector": "op9"}, []),
    ],
)
async def test_only_what_was_asked_for(wanted: dict[str, str], heard: list[str]) -> None:
    gateway, feed = await open_gateway(), EventFeed()
    for name in ("op7", "op9"):
        await gateway.store.network.add_connector(smpp_connector(0, name, "127.0.0.1", 2775, "id", "pw"))
    message = await stored(gateway)
    listener = Listener(gateway, feed, wanted)
    everything = Listener(gateway, feed, {})
    await listener.until(0)
    await everything.until(0)
    facts = Facts(
        accepts=[accept(message)], submissions=[Submission(message.account, message.key, 0, 7, "id", 0, START)]
    )
    feed.committed(facts, START, 0.001)
    await everything.until(2)
    lines = await listener.until(len(heard))
    await listener.end()
    await everything.end()
    assert [line["event"] for line in lines] == heard


async def test_one_message_by_its_id_in_either_form() -> None:
    gateway, feed = await open_gateway(), EventFeed()
    one, other = await stored(gateway), await stored(gateway)
    listener = Listener(gateway, feed, {"message": ids.to_uuid(one.key, one.tail).upper()})
    await listener.until(0)
    finals = [MessageEnd(each.account, each.key, Delivery.DELIVRD, "000", START, owed=False) for each in (other, one)]
    feed.committed(Facts(finals=finals), START, 0.001)
    lines = await listener.until(1)
    await listener.end()
    assert [line["id"] for line in lines] == [ids.to_hex(one.key, one.tail)]


@pytest.mark.parametrize(
    ("wanted", "problem"),
    [
        ({"message": "nonsense"}, "nonsense is no message id"),
        ({"account": "nobody"}, "there is no account nobody"),
        ({"connector": "opertor"}, "there is no connector opertor; did you mean operator?"),
        ({"connector": "x"}, "there is no connector x"),
    ],
)
async def test_a_listener_for_events_that_never_come_is_refused(wanted: dict[str, str], problem: str) -> None:
    gateway = await open_gateway()
    listener = Listener(gateway, EventFeed(), wanted)
    async with asyncio.timeout(PATIENCE_S):
        await asyncio.wait([listener.task])
    with pytest.raises(ValueError, match=f"^{re.escape(problem)}$"):
        listener.task.result()


async def test_a_slow_listener_is_told_what_he_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "WAITING", 3)
    gateway, feed = await open_gateway(), EventFeed()
    message = await stored(gateway)
    listener = Listener(gateway, feed, {})
    await listener.until(0)
    listener.may_read.clear()
    for _ in range(10):
        feed.committed(Facts(accepts=[accept(message)]), START, 0.001)
    await asyncio.sleep(0)
    listener.may_read.set()
    lines = await listener.until(4)
    await listener.end()
    assert [line["event"] for line in lines] == ["accepted", "accepted", "accepted", "skipped"]
    assert lines[-1]["count"] == 7


async def test_the_number_of_listeners_is_bounded_and_who_left_makes_room() -> None:
    gateway, feed = await open_gateway(), EventFeed()
    shared = EventStreams(feed, gateway.store, str)
    heard: asyncio.Queue[dict[str, Any]] = asyncio.Queue()

    async def listening() -> asyncio.Task[None]:
        task = asyncio.create_task(shared.listen({}, heard.put))
        async with asyncio.timeout(PATIENCE_S):
            assert await heard.get() == {"event": "listening"}
        return task

    tasks = [await listening() for _ in range(streams.LISTENERS)]
    with pytest.raises(ValueError, match="listen already"):
        await shared.listen({}, heard.put)
    tasks[0].cancel()
    await asyncio.wait([tasks[0]])
    tasks.append(await listening())
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)


async def test_what_phones_write_is_told_with_the_phone_masked() -> None:
    gateway, feed = await open_gateway(), EventFeed()
    listener = Listener(gateway, feed, {})
    await listener.until(0)
    fields = (3, NUMBER, "3388", "the secret text", b"the secret text", 0, START)
    mine, nobodys = InboundMessage(1, *fields, key=2 << 16, tail=9), InboundMessage(0, *fields, key=3 << 16, tail=9)
    feed.committed(Facts(inbound=[mine, nobodys]), START, 0.001)
    received, unrouted = await listener.until(2)
    await listener.end()
    assert received == {
        "time": "2027-01-15T08:00:00.000Z", "event": "received", "id": ids.to_hex(mine.key, 9), "account": "acme",
        "from": "491********78", "to": "3388", "connector": "op3", "parts": 1,
    }  # fmt: skip
    assert (unrouted["event"], unrouted["account"]) == ("unrouted", None)
    assert "secret" not in str(listener.lines)
    mine_only = Listener(gateway, feed, {"account": "acme", "numbers": True})
    await mine_only.until(0)
    feed.committed(Facts(inbound=[nobodys, mine]), START, 0.001)
    (line,) = await mine_only.until(1)
    await mine_only.end()
    assert (line["id"], line["from"]) == (ids.to_hex(mine.key, 9), NUMBER)
