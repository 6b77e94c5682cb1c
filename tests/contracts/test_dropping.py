"""Administrators who stop the retries of callbacks, or retry failed ones: in short transactions, however many."""

import pytest

from heliograph.app.configuration import Account
from heliograph.app.facts import CallbackRetry, Facts, MessageEnd
from heliograph.app.ports import Store, Unavailable
from heliograph.app.records import AuditQuery
from heliograph.app.resources import callbacks
from heliograph.app.resources.desk import Desk
from heliograph.domain.error import Fault
from heliograph.domain.message.ids import to_hex
from heliograph.domain.message.receipt import Delivery
from tests.support.store import NODE, START, Given
from tests.support.use_case_fakes import SetClock

BAD = "bad.example"


@pytest.fixture
def desk(store: Store, monkeypatch: pytest.MonkeyPatch) -> Desk:
    """A desk that reads 3 callbacks at once, and changes 2 in a transaction."""
    monkeypatch.setattr(callbacks, "READ_AT_ONCE", 3)
    monkeypatch.setattr(callbacks, "BATCH", 2)
    return Desk(store, SetClock())


async def owe(given: Given, account: Account, host: str, *, attempts: int = 1, due: int = START) -> str:
    """Returns the id of a message with a callback that was tried some times."""
    message = await given.sent(account.id, wants_receipt=True, callback_url=f"https://{host}/r")
    end = MessageEnd(message.account, message.key, Delivery.DELIVRD, "000", START, owed=True)
    await given.store.commits.record(Facts(finals=[end]))
    retry = CallbackRetry(message.account, message.key, due, attempts, b"x", "HTTP 500", START)
    await given.store.commits.record(Facts(callback_retries=[retry]))
    return to_hex(message.key, message.tail)


async def test_all_callbacks_to_a_receiver_are_dropped(desk: Desk, given: Given, account: Account) -> None:
    other = await given.account("other")
    kept = [await owe(given, account, "good.example", due=START - 1) for _ in range(4)]
    await owe(given, other, BAD, due=START - 2)
    await desk.store.notices.claim(1, START - 2, NODE)  # it is being posted
    kept.append(await owe(given, account, BAD, attempts=0, due=START + 1))
    dropped = [await owe(given, account, BAD, due=START + number // 2) for number in range(7)]
    kept.append(await owe(given, other, BAD, due=START + 9))
    assert await callbacks.drop(desk, None, BAD, account.name) == {"count": 7}
    assert {each.message_id for each in await desk.store.notices.ended(99)} == set(dropped)
    assert [each.message_id for each in await desk.store.notices.owed(99)] == kept
    lines = await desk.store.audit_log.find(AuditQuery())
    counts = [int(each.details["callbacks"]) for each in lines if (each.action, each.target) == ("callback.drop", BAD)]
    assert max(counts) <= 2
    assert sum(counts) == 7
    with pytest.raises(Fault, match="no failing receiver"):
        await callbacks.drop(desk, None, BAD, account.name)
    assert await callbacks.drop(desk, None, BAD) == {"count": 1}


async def test_callbacks_of_many_messages_are_dropped(desk: Desk, given: Given, account: Account) -> None:
    messages = [await owe(given, account, BAD) for _ in range(5)]
    assert await callbacks.drop(desk, messages, None) == {"count": 5}
    lines = await desk.store.audit_log.find(AuditQuery(action="callback.drop"))
    assert [(each.target, each.details["callbacks"]) for each in lines] == [
        ("1 message", "1"), ("2 messages", "2"), ("2 messages", "2"),
    ]  # fmt: skip


async def failed(desk: Desk, given: Given, account: Account, count: int) -> list[str]:
    """Returns the ids of messages with a failed callback."""
    messages = [await owe(given, account, BAD) for _ in range(count)]
    assert await callbacks.drop(desk, messages, None) == {"count": count}
    return messages


async def replay_counts(desk: Desk) -> list[int]:
    """Returns the number of callbacks in each entry of the audit log, in each transaction one."""
    lines = await desk.store.audit_log.find(AuditQuery(action="callback.replay"))
    return [int(each.details["callbacks"]) for each in lines]


async def test_failed_callbacks_are_retried_in_short_transactions(desk: Desk, given: Given, account: Account) -> None:
    other = await given.account("other")
    theirs = await failed(desk, given, other, 3)
    mine = await failed(desk, given, account, 7)
    theirs += await failed(desk, given, other, 2)
    assert await callbacks.replay(desk, account.name) == {"count": 7}
    assert {each.message_id for each in await desk.store.notices.owed(99)} == set(mine)
    assert {each.message_id for each in await desk.store.notices.ended(99)} == set(theirs)
    counts = await replay_counts(desk)
    assert (max(counts), sum(counts)) == (2, 7)
    assert await callbacks.replay(desk, None) == {"count": 5}
    assert await desk.store.notices.ended(99) == []
    assert await callbacks.replay(desk, None) == {"count": 0}
    with pytest.raises(Fault, match="no account nobody"):
        await callbacks.replay(desk, "nobody")


async def test_a_stop_among_the_retries_loses_none(
    desk: Desk, given: Given, account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The third transaction of four fails."""
    messages = await failed(desk, given, account, 5)
    counting, runs = callbacks._counting, iter((True, True, False, True, True))

    def stopping(desk: Desk, action: str, target: str) -> Store:
        if not next(runs):
            raise Unavailable("stopped")
        return counting(desk, action, target)

    monkeypatch.setattr(callbacks, "_counting", stopping)
    with pytest.raises(Unavailable):
        await callbacks.replay(desk, None)
    retried = {each.message_id for each in await desk.store.notices.owed(99)}
    left = {each.message_id for each in await desk.store.notices.ended(99)}
    assert retried
    assert left
    assert (retried | left, retried & left) == (set(messages), set())
    assert await callbacks.replay(desk, None) == {"count": len(left)}
