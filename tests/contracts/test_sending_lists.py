"""Sending lists: their rows, and their messages by status."""

import pytest

from heliograph.app.configuration import Account, Missing
from heliograph.app.ports import Store
from heliograph.app.ports.backlog import QueueAction
from heliograph.app.ports.sending_lists import AlreadySent, ListState, SendingList, StatusCount, references_of
from heliograph.domain.message.status import MessageStatus
from tests.contracts.test_backlog import queued
from tests.support.store import CREDIT, HOUR, START, Given

EVER = 1 << 62


def list_of(account: int, name: str = "Spring sale", rows: int = 3) -> SendingList:
    return SendingList(0, account, name, "user:ada", START, rows, reported=START)


async def test_lists_are_found_newest_first(store: Store, account: Account) -> None:
    lists = store.sending_lists
    first = await lists.add(list_of(account.id))
    second = await lists.add(list_of(account.id + 1, "Other"))
    third = await lists.add(list_of(account.id, "Third"))
    assert first < second < third
    assert [each.id for each in await lists.page(EVER, None, 2)] == [third, second]
    assert [each.name for each in await lists.page(second, None, 10)] == ["Spring sale"]
    assert [each.id for each in await lists.page(EVER, account.id, 10)] == [third, first]
    found = await lists.find(second)
    assert found == SendingList(second, account.id + 1, "Other", "user:ada", START, 3, reported=START)
    assert await lists.find(third + 1) is None


async def test_a_form_adds_one_list(store: Store, account: Account) -> None:
    lists = store.sending_lists
    first = await lists.add(list_of(account.id), "form-1")
    with pytest.raises(AlreadySent) as earlier:
        await lists.add(list_of(account.id, "Again"), "form-1")
    assert earlier.value.id == first
    assert await lists.add(list_of(account.id), "form-2") > first
    assert [each.name for each in await lists.page(EVER, None, 10)] == ["Spring sale"] * 2


async def test_a_report_writes_the_progress_and_learns_what_is_wanted(store: Store, account: Account) -> None:
    lists = store.sending_lists
    row = list_of(account.id)
    row.id = await lists.add(row)
    row.handed_in, row.refused, row.problem, row.reported = 2, 1, "The credit is too low.", START + 1_000
    assert await lists.report(row) is ListState.SENDING
    await lists.change(row.id, ListState.PAUSED)
    row.heard, row.ended = ListState.PAUSED, START + 2_000
    assert await lists.report(row) is ListState.PAUSED
    row.state = ListState.PAUSED
    assert await lists.find(row.id) == row
    row.id += 1
    assert await lists.report(row) is None
    with pytest.raises(Missing):
        await lists.change(row.id, ListState.CANCELLED)


async def test_messages_of_a_list_are_counted_by_status(store: Store, given: Given, account: Account) -> None:
    of = references_of(3)
    await given.sent(account.id, reference=f"{of}1")
    await given.scheduled(account.id, reference=f"{of}2")
    held = await queued(given, account, reference=f"{of}3")
    await store.backlog.change(QueueAction.HOLD, [held], START)
    cancelled = await given.scheduled(account.id, reference=f"{of}4", after=2 * HOUR)
    await store.backlog.change(QueueAction.CANCEL, [cancelled.key], START)
    await given.sent(account.id, reference=f"{of}10")
    await given.sent(account.id, reference=f"{references_of(33)}1")
    await given.sent(account.id, reference="order-17")
    assert await store.sending_lists.counts(account.id, 3) == {
        MessageStatus.PENDING: StatusCount(2, 2 * CREDIT),
        MessageStatus.SCHEDULED: StatusCount(1, CREDIT),
        MessageStatus.HELD: StatusCount(1, CREDIT),
        MessageStatus.CANCELLED: StatusCount(1, CREDIT),
    }
    assert await store.sending_lists.counts(account.id, 4) == {}


async def test_waiting_messages_tell_their_reference(store: Store, given: Given, account: Account) -> None:
    await queued(given, account, reference="sending-list-3-1")
    await queued(given, account)
    assert [row.reference for row in await store.backlog.rows(0, 10)] == ["sending-list-3-1", ""]
