"""What those who run the gateway look for: messages, traces, callbacks, backlogs, usage."""

from itertools import product
from typing import Any

import pytest

from heliograph.adapters.store.shared import search
from heliograph.app.configuration import Account
from heliograph.app.facts import (
    NO_ANSWER,
    Accept,
    Attempt,
    CallbackDone,
    CallbackEnd,
    CallbackRetry,
    Facts,
    InboundMessage,
    Message,
    MessageEnd,
    PartReceipt,
    Queueing,
    Submission,
)
from heliograph.app.ports import Store
from heliograph.app.records import (
    TELLING_DIGITS,
    BacklogCounts,
    Earning,
    Hit,
    Search,
    SearchPage,
    TakenSegment,
    Usage,
)
from heliograph.domain.message.ids import time_of
from heliograph.domain.message.receipt import Delivery
from heliograph.domain.message.status import MessageStatus
from heliograph.domain.money.amounts import EntryKind
from tests.support.memory_store import MemoryStore
from tests.support.store import CREDIT, HOUR, NODE, SECOND, START, Given


def keys(hits: list[Hit]) -> list[int]:
    return [hit.message.key for hit in hits]


async def end(given: Given, message: Message, state: Delivery, **fields: object) -> None:
    final = MessageEnd(message.account, message.key, state, "001", given.now, owed=False, **fields)  # type: ignore[arg-type]
    await given.store.commits.record(Facts(finals=[final]))


async def one_of_each(given: Given, account: Account) -> dict[MessageStatus, Message]:
    """A message of each status, a second apart."""
    found: dict[MessageStatus, Message] = {}
    for status in MessageStatus:
        given.now += SECOND
        if status in (MessageStatus.SCHEDULED, MessageStatus.CANCELLED):
            found[status] = await given.scheduled(account.id)
        else:
            found[status] = await given.sent(account.id)
    cancelled, failed = found[MessageStatus.CANCELLED], found[MessageStatus.FAILED]
    await given.store.customers.cancel(account.id, cancelled.key, cancelled.tail, given.now)
    held = found[MessageStatus.HELD]
    queueing = Queueing(account.id, held.key, 1, held.time, held.expires, False, False, "49170")
    await given.store.commits.record(Facts(queueings=[queueing]))
    taken = found[MessageStatus.SUBMITTED]
    await given.store.commits.record(Facts(submissions=[Submission(account.id, taken.key, 0, 1, "id", 0, given.now)]))
    await end(given, found[MessageStatus.DELIVERED], Delivery.DELIVRD)
    await end(given, found[MessageStatus.UNDELIVERED], Delivery.UNDELIV)
    await end(given, failed, Delivery.REJECTD, failed=True, refund=failed.price)
    return found


async def test_everything_is_found_newest_first(store: Store, given: Given, account: Account) -> None:
    other = await given.account("other")
    messages = [await given.sent(each.id) for each in (account, other, account)]
    found = await store.messages.search(Search())
    assert found == SearchPage([Hit(message, None) for message in reversed(messages)])
    assert found.hits[0].status is MessageStatus.PENDING


async def test_messages_are_found_by_their_standing(store: Store, given: Given, account: Account) -> None:
    messages = await one_of_each(given, account)
    for owner in (None, account.id):
        for status, message in messages.items():
            found = await store.messages.search(Search(account=owner, status=status))
            assert keys(found.hits) == [message.key], status
            assert found.hits[0].status is status
            assert found.more is None
        assert len((await store.messages.search(Search(account=owner))).hits) == len(messages)


async def test_a_search_goes_on_where_its_page_ended(store: Store, given: Given, account: Account) -> None:
    messages = await one_of_each(given, account)
    given.now += SECOND
    messages[MessageStatus.FAILED] = await given.sent(account.id)
    for owner in (None, account.id):
        every = keys((await store.messages.search(Search(account=owner))).hits)
        assert len(every) == len(messages) + 1
        paged: list[int] = []
        page = await store.messages.search(Search(account=owner, limit=2))
        while page.more is not None:
            assert len(page.hits) == 2
            paged += keys(page.hits)
            page = await store.messages.search(Search(account=owner, limit=2, before=page.more))
        assert paged + keys(page.hits) == every


async def test_within_an_account_the_order_is_when_messages_are_sent(
    store: Store, given: Given, account: Account
) -> None:
    later = await given.scheduled(account.id, after=HOUR)
    given.now += SECOND
    sent = await given.sent(account.id)
    assert keys((await store.messages.search(Search(account=account.id))).hits) == [later.key, sent.key]
    assert keys((await store.messages.search(Search())).hits) == [sent.key, later.key]


async def test_messages_are_found_by_the_beginning_of_their_number(
    store: Store, given: Given, account: Account
) -> None:
    near = await given.sent(account.id, destination="4917012345678")
    await given.sent(account.id, destination="4317012345678")
    for owner in (None, account.id):
        for number in ("4917012345678", "49"):
            assert keys((await store.messages.search(Search(account=owner, number=number))).hits) == [near.key]
        assert (await store.messages.search(Search(account=owner, number="17012345678"))).hits == []


NEAR, FAR = "4917012345678", "4317012345678"


async def every_page(store: Store, **wanted: Any) -> list[int]:
    """Two hits a page, each of its pages full but the last."""
    found, page = list[int](), await store.messages.search(Search(**wanted, limit=2))
    while page.more is not None:
        assert len(page.hits) == 2
        found += keys(page.hits)
        page = await store.messages.search(Search(**wanted, limit=2, before=page.more))
    return found + keys(page.hits)


@pytest.mark.parametrize("rounds", [0, 2, 9])
async def test_a_number_is_found_among_messages_old_and_new(
    store: Store, given: Given, account: Account, rounds: int
) -> None:
    """However many of them have been indexed: none, the older ones, or all."""
    other = await given.account("other")
    messages = []
    for number in range(18):
        given.now += SECOND
        sender = (account, other)[number % 3 == 0]
        destination = (NEAR, FAR)[number % 4 == 1]
        later = number % 5 == 4
        send = given.scheduled if later else given.sent
        messages.append(await send(sender.id, destination=destination))
    await end(given, messages[2], Delivery.UNDELIV)
    for _ in range(rounds):
        await store.upkeep.index_numbers(given.now + HOUR, 4)
    messages.reverse()
    for wanted in (NEAR, FAR, NEAR[:-1] + "9", NEAR[:8], FAR[:3], "9"):
        for owner in (None, account.id):
            found = [each for each in messages if each.destination.startswith(wanted) and owner in (None, each.account)]
            if owner is not None and len(wanted) < TELLING_DIGITS:
                found.sort(key=lambda each: (each.time, each.key), reverse=True)
            assert await every_page(store, number=wanted, account=owner) == [each.key for each in found], wanted
    between = {"start": START + 5 * SECOND, "end": START + 15 * SECOND}
    near = [each for each in messages if each.destination == NEAR]
    assert await every_page(store, number=NEAR, **between) == [
        each.key for each in near if START + 5 * SECOND <= time_of(each.key) <= START + 15 * SECOND
    ]
    assert await every_page(store, number=NEAR, account=account.id, **between) == [
        each.key for each in near if each.account == account.id and between["start"] <= each.time <= between["end"]
    ]
    assert await every_page(store, number=NEAR, status=MessageStatus.UNDELIVERED) == [messages[-3].key]
    assert await every_page(store, number=FAR, status=MessageStatus.UNDELIVERED) == []


async def test_what_is_indexed_is_told_and_done_once(store: Store, given: Given, account: Account) -> None:
    for _ in range(5):
        await given.sent(account.id)
    took = [await store.upkeep.index_numbers(given.now + HOUR, 2) for _ in range(4)]
    assert took in ([2, 2, 0, 0], [0, 0, 0, 0])
    assert await store.upkeep.index_numbers(given.now + HOUR, 1) in (1, 0)
    assert len(await every_page(store, number=NEAR)) == 5
    assert await store.upkeep.audit() == []


async def test_messages_are_found_by_their_time(store: Store, given: Given, account: Account) -> None:
    messages = []
    for _ in range(4):
        given.now += SECOND
        messages.append(await given.sent(account.id))
    first, second, third, fourth = messages
    for owner in (None, account.id):
        between = Search(account=owner, start=second.time, end=third.time)
        assert keys((await store.messages.search(between)).hits) == [third.key, second.key]
        assert keys((await store.messages.search(Search(account=owner, end=first.time))).hits) == [first.key]
        assert keys((await store.messages.search(Search(account=owner, start=fourth.time))).hits) == [fourth.key]


async def test_a_search_stops_at_its_effort_and_says_where(store: Store, given: Given, account: Account) -> None:
    wanted = await given.sent(account.id, destination="4911111111111")
    for _ in range(4):
        given.now += SECOND
        await given.sent(account.id)
    for owner in (None, account.id):
        search = Search(account=owner, number="4911", effort=3)
        found = await store.messages.search(search)
        assert found.hits == []
        assert found.reached == START + 2 * SECOND
        assert found.more is not None
        search.before = found.more
        assert keys((await store.messages.search(search)).hits) == [wanted.key]


def interleaved(given: Given, account: Account, **fields: Any) -> tuple[Accept, Message]:
    """A batch of three messages, and the message of another request with a key among theirs."""
    batch = given.batch(account.id, 4, **fields)
    between = batch.messages.pop(2)
    between.batch, batch.total = 0, batch.total - between.price
    return batch, between


async def test_a_message_or_a_batch_is_found_by_its_id(store: Store, given: Given, account: Account) -> None:
    message = await given.sent(account.id)
    batch, between = interleaved(given, account)
    await given.recorded(batch, given.accept(between))
    newest_first = [each.key for each in reversed(batch.messages)]
    for owner in (None, account.id):
        for each in (message, between):
            assert await every_page(store, account=owner, id=(each.key, each.tail)) == [each.key]
        assert await every_page(store, account=owner, id=(batch.key, batch.tail)) == newest_first
        assert await every_page(store, account=owner, id=(message.key, message.tail ^ 1)) == []
        assert await every_page(store, account=owner, id=(batch.key, batch.tail ^ 1)) == []
    assert await every_page(store, account=account.id + 1, id=(batch.key, batch.tail)) == []


async def test_messages_are_found_by_the_reference_of_any_account(store: Store, given: Given, account: Account) -> None:
    other = await given.account("other")
    message = await given.sent(account.id, reference="order-1")
    batch, between = interleaved(given, other, reference="order-1")
    await given.recorded(batch, given.accept(between, reference="order-3"))
    of_batch = [each.key for each in reversed(batch.messages)]
    assert await every_page(store, reference="order-1") == [*of_batch, message.key]
    assert await every_page(store, reference="order-1", account=account.id) == [message.key]
    assert await every_page(store, reference="order-1", account=other.id) == of_batch
    assert await every_page(store, reference="order-2") == []


async def test_messages_are_found_by_many_references_of_an_account(
    store: Store, given: Given, account: Account
) -> None:
    other = await given.account("other")
    second, first = [await given.sent(account.id, reference=f"list-1-{number}") for number in (2, 1)]
    await given.sent(other.id, reference="list-1-3")
    await given.recorded(given.batch(account.id, 2, reference="list-1-4"))
    wanted = [f"list-1-{number}" for number in range(9)]
    assert keys(await store.messages.of_references(account.id, wanted)) == [second.key, first.key]
    assert keys(await store.messages.of_references(account.id, wanted[:2])) == [first.key]
    assert await store.messages.of_references(account.id, []) == []


async def test_a_trace_tells_all_that_the_rows_know(store: Store, given: Given, account: Account) -> None:
    message = await given.sent(account.id, segments=2, wants_receipt=True, callback_url="https://customer.example/r")
    at = given.now
    attempt = Attempt(message.account, message.key, 0, 1, 0x58, at + 1)
    taken = [
        Submission(message.account, message.key, segment, 1, f"id{segment}", 0, at + 2 + segment)
        for segment in range(2)
    ]
    progress = PartReceipt(message.account, message.key, 0, Delivery.ENROUTE, "000", at + 4)
    part = PartReceipt(message.account, message.key, 1, Delivery.UNDELIV, "011", at + 5)
    final = MessageEnd(message.account, message.key, Delivery.UNDELIV, "011", at + 6, owed=True)
    await store.commits.record(
        Facts(attempts=[attempt], submissions=taken, progress=[progress], parts=[part], finals=[final])
    )
    await store.commits.record(
        Facts(callback_retries=[CallbackRetry(message.account, message.key, at + 9, 1, b"x", "timed out", at + 6)])
    )
    trace = await store.messages.trace(message.key)
    assert trace is not None
    assert trace.message == message
    assert trace.attempts == [attempt]
    assert trace.submissions == taken
    assert trace.receipts == [progress, part]
    assert trace.final == (Delivery.UNDELIV, "011", at + 6)
    assert [(entry.kind, entry.amount) for entry in trace.entries] == [(EntryKind.CHARGE, -message.price)]
    assert trace.queued is None
    assert trace.callback is not None
    assert (trace.callback.due, trace.callback.attempts, trace.callback.problem) == (at + 9, 1, "timed out")
    assert trace.callback.end is None
    await store.commits.record(
        Facts(callbacks=[CallbackDone(message.account, message.key, CallbackEnd.DELIVERED, 204, 2, at + 10)])
    )
    trace = await store.messages.trace(message.key)
    assert trace is not None
    assert trace.callback is not None
    assert (trace.callback.end, trace.callback.code, trace.callback.attempts) == (CallbackEnd.DELIVERED, 204, 2)


async def test_a_trace_of_a_batchs_message_has_the_batchs_charge(store: Store, given: Given, account: Account) -> None:
    batch = given.batch(account.id, 2, state=0, time=START + HOUR)
    await given.recorded(batch)
    message = batch.messages[0]
    await store.customers.cancel(account.id, message.key, message.tail, START)
    trace = await store.messages.trace(message.key)
    assert trace is not None
    assert [(entry.kind, entry.amount) for entry in trace.entries] == [
        (EntryKind.CHARGE, -2 * CREDIT),
        (EntryKind.REFUND, CREDIT),
    ]
    assert trace.final == (None, "", START)
    other = await store.messages.trace(batch.messages[1].key)
    assert other is not None
    assert other.queued == (1, START + HOUR, False)
    assert await store.messages.trace(1) is None


async def callbacks(given: Given, account: Account, count: int) -> list[Message]:
    """Messages whose callbacks are owed by rows, due one after the other."""
    messages = []
    for number in range(count):
        message = await given.sent(account.id, wants_receipt=True, callback_url=f"https://r{number}.example/r")
        await given.store.commits.record(
            Facts(finals=[MessageEnd(message.account, message.key, Delivery.DELIVRD, "000", START, owed=True)])
        )
        retry = CallbackRetry(message.account, message.key, START + 10 - number, number, b"x", "HTTP 500", START)
        await given.store.commits.record(Facts(callback_retries=[retry]))
        messages.append(message)
    return messages


async def test_owed_callbacks_are_listed_by_when_they_are_due(store: Store, given: Given, account: Account) -> None:
    first, second, third = await callbacks(given, account, 3)
    owed = await store.notices.owed(2)
    assert [each.key for each in owed] == [third.key, second.key]
    assert (owed[0].url, owed[0].attempts, owed[0].problem) == ("https://r2.example/r", 2, "HTTP 500")
    assert (owed[0].tail, owed[0].account, owed[0].first, owed[0].end) == (third.tail, account.id, START, None)
    last = owed[-1]
    assert last.due is not None
    assert [each.key for each in await store.notices.owed(2, (last.due, last.key))] == [first.key]
    await store.notices.claim(1, START + 8, NODE)
    assert [each.key for each in await store.notices.owed(9)] == [second.key, first.key]
    assert [each.key for each in await store.notices.owed(9, account=account.id)] == [second.key, first.key]
    assert [each.key for each in await store.notices.owed(1, account=account.id)] == [second.key]
    assert await store.notices.owed(9, account=(await given.account("other")).id) == []


async def test_dropped_callbacks_have_ended_and_can_be_replayed(store: Store, given: Given, account: Account) -> None:
    first, second, third = await callbacks(given, account, 3)
    await store.notices.claim(1, START + 8, NODE)
    assert await store.notices.drop([third.key, first.key, second.key, 1], START + 20) == 2
    assert await store.notices.drop([first.key], START + 21) == 0
    assert await store.notices.owed(9) == []
    ended = await store.notices.ended(9)
    assert [(each.key, each.end, each.attempts, each.at) for each in ended] == [
        (second.key, CallbackEnd.FAILED, 1, START + 20),
        (first.key, CallbackEnd.FAILED, 0, START + 20),
    ]
    assert [each.key for each in await store.notices.ended(9, second.key)] == [first.key]
    assert await store.notices.replay([first.key], START + 30) == 1
    assert [each.key for each in await store.notices.owed(9)] == [first.key]
    assert await store.upkeep.audit() == []


async def test_delivered_callbacks_are_not_among_those_that_ended(store: Store, given: Given, account: Account) -> None:
    gone, delivered = await callbacks(given, account, 2)
    for message, end, code in ((gone, CallbackEnd.GONE, 410), (delivered, CallbackEnd.DELIVERED, 200)):
        await store.commits.record(
            Facts(callbacks=[CallbackDone(message.account, message.key, end, code, 3, START + 9)])
        )
    (ended,) = await store.notices.ended(9)
    assert (ended.key, ended.end, ended.code, ended.attempts, ended.at) == (
        gone.key, CallbackEnd.GONE, 410, 3, START + 9,
    )  # fmt: skip


async def test_what_operators_put_off_is_counted_until_it_is_due(store: Store, given: Given, account: Account) -> None:
    await given.scheduled(account.id, after=HOUR)
    first, second, third, moved = [await given.sent(account.id) for _ in range(4)]

    def queueing(message: Message, connector: int, due: int, *, claimed: bool = False) -> Queueing:
        return Queueing(account.id, message.key, connector, due, message.expires, attempted=False, claimed=claimed)

    put_off = [queueing(each, 1, START + 5 * SECOND) for each in (first, second)]
    put_off.append(queueing(third, 2, START + 9 * SECOND))
    await store.commits.record(Facts(queueings=[*put_off, queueing(moved, 1, moved.time)]))
    now = START + 4 * SECOND
    assert (await store.upkeep.counts(now)).deferred == {1: 2, 2: 1}
    # its time has come: it waits like any other
    later = await store.upkeep.counts(START + 6 * SECOND)
    assert (later.deferred, later.waiting) == ({2: 1}, 3)
    await store.commits.record(Facts(queueings=[queueing(third, 1, third.time)], dequeued=[(account.id, first.key)]))
    assert (await store.upkeep.counts(now)).deferred == {1: 1}
    await store.commits.record(Facts(queueings=[queueing(second, 1, START + 5 * SECOND, claimed=True)]))
    assert (await store.upkeep.counts(now)).deferred == {}


async def test_messages_of_which_nobody_knows_are_counted(store: Store, given: Given, account: Account) -> None:
    for state in (Delivery.UNKNOWN, Delivery.UNDELIV, Delivery.DELIVRD, Delivery.UNKNOWN):
        given.now += HOUR
        await end(given, await given.sent(account.id), state)
    assert await store.upkeep.ended_unknown(START) == 2
    assert await store.upkeep.ended_unknown(START + 2 * HOUR) == 1
    assert await store.upkeep.ended_unknown(given.now + 1) == 0


async def test_backlogs_are_counted(store: Store, given: Given, account: Account) -> None:
    assert await store.upkeep.counts(START) == BacklogCounts(0, 0, None, {}, 0, 0, 0, 0)
    await given.scheduled(account.id, after=SECOND)
    await given.scheduled(account.id, after=HOUR)
    await callbacks(given, account, 3)
    (owed, *_) = await store.notices.owed(9)
    await store.notices.drop([owed.key], START)
    assert await store.upkeep.counts(START) == BacklogCounts(2, 0, None, {}, 0, 2, 1, 0)
    assert await store.upkeep.counts(START + 2 * SECOND) == BacklogCounts(2, 1, START + SECOND, {}, 0, 2, 1, 0)
    await store.queue.claim(1, 9, START + 2 * SECOND, NODE)
    assert await store.upkeep.counts(START + 2 * SECOND) == BacklogCounts(1, 0, None, {}, 0, 2, 1, 0)


async def test_usage_is_told_by_spans_of_time(store: Store, given: Given, account: Account) -> None:
    start = START // HOUR * HOUR
    given.now = start + 1
    await given.sent(account.id)
    await given.sent(account.id)
    failed = await given.sent(account.id)
    await end(given, failed, Delivery.REJECTD, failed=True, refund=failed.price)
    await given.sent((await given.account("other")).id)
    given.now = start + 2 * HOUR
    await given.sent(account.id, price=5)
    await store.accounts.add_credit(account.id, CREDIT, "", given.now)
    message = InboundMessage(account.id, 1, "49", "3388", "Hello", b"", 0, given.now, price=7, key=given.key())
    await store.commits.record(Facts(inbound=[message]))
    usage = [Usage(start, 3, 3 * CREDIT, CREDIT), Usage(start + 2 * HOUR, 1, 5, 0, 7)]
    assert await store.accounts.usage(account.id, start, start + 3 * HOUR, HOUR) == usage
    assert await store.accounts.usage(account.id, start, start + 2 * HOUR, HOUR) == usage[:1]


async def kinds_of(given: Given, account: Account) -> dict[str, Message]:
    """Messages that differ by connector, sender, country and error, two of the common kind first and last. Connector 3
    sent "country" in place of connector 1."""
    found = {
        "first": await given.sent(account.id, destination=NEAR, sender="Helio", connector=1),
        "connector": await given.sent(account.id, destination=NEAR, sender="Helio", connector=2),
        "sender": await given.sent(account.id, destination=NEAR, sender="Rare", connector=1),
        "country": await given.sent(account.id, destination="12425550123", sender="Helio", connector=1),
        "neighbour": await given.sent(account.id, destination="12125550123", sender="Helio", connector=1),
        "last": await given.sent(account.id, destination=NEAR, sender="Helio", connector=1),
    }
    failed = MessageEnd(account.id, found["sender"].key, Delivery.UNDELIV, "11", given.now, owed=False)
    bare = MessageEnd(account.id, found["last"].key, Delivery.EXPIRED, "", given.now, owed=False)
    delivered = MessageEnd(account.id, found["first"].key, Delivery.DELIVRD, "011", given.now, owed=False)
    instead = Submission(account.id, found["country"].key, 0, 3, "id", 0, given.now)
    await given.store.commits.record(Facts(submissions=[instead], finals=[failed, bare, delivered]))
    return found


WANTED: list[tuple[dict[str, Any], list[str]]] = [
    ({"connector": 2}, ["connector"]),
    ({"connector": 3}, ["country"]),
    ({"connector": 1, "country": "BS"}, ["country"]),
    ({"connector": 4}, []),
    ({"sender": "rARE"}, ["sender"]),
    ({"sender": "Rar"}, []),
    ({"country": "bs"}, ["country"]),
    ({"country": "US"}, ["neighbour"]),
    ({"country": "DE"}, ["last", "sender", "connector", "first"]),
    ({"country": "ZZ"}, []),
    ({"error": "011"}, ["sender"]),
    ({"error": "undeliv"}, ["sender"]),
    ({"error": "UNDELIV 011"}, ["sender"]),
    ({"error": "EXPIRED 011"}, []),
    ({"error": "UNDELIV EXPIRED"}, []),
    ({"error": "undeliv 011 011"}, ["sender"]),
    ({"error": "001"}, ["last"]),
    ({"connector": 1, "country": "DE", "sender": "helio"}, ["last", "first"]),
    ({"connector": 1, "number": NEAR, "sender": "helio"}, ["last", "first"]),
    ({"status": MessageStatus.UNDELIVERED, "country": "DE"}, ["last", "sender"]),
]
"""Searches among `kinds_of`, each with the messages that it finds."""


@pytest.mark.parametrize(("after", "again"), [(HOUR, False), (HOUR, True), (2 * SECOND, False)])
async def test_a_message_that_another_connector_sends_late_is_found_by_it(
    store: Store, given: Given, account: Account, after: int, again: bool
) -> None:
    """Scheduled messages and failovers: the message may be in a block by then."""
    messages = [await given.sent(account.id, sender=sender) for sender in ("Helio", "hELIO", "Rare", "Helio")]
    await store.upkeep.index_numbers(given.now + after, 4)
    given.now += after
    late = [Submission(account.id, each.key, 0, 3, f"id{each.key}", 0, given.now) for each in messages[1:]]
    for submission in late:
        await store.commits.record(Facts(submissions=[submission]))
    if again:
        await store.commits.record(Facts(submissions=late))
    for owner in (None, account.id):
        assert await every_page(store, account=owner, connector=3) == [each.key for each in messages[:0:-1]]
        assert await every_page(store, account=owner, connector=3, sender="rare") == [messages[2].key]
        assert len(await every_page(store, account=owner, connector=1)) == len(messages)


@pytest.mark.parametrize("rounds", [0, 1, 2, 3])
async def test_messages_are_found_by_connector_sender_country_and_error(
    store: Store, given: Given, account: Account, rounds: int
) -> None:
    """However many of them are in blocks, of all accounts and of theirs."""
    messages = await kinds_of(given, account)
    for _ in range(rounds):
        await store.upkeep.index_numbers(given.now + HOUR, 2)
    for owner, (wanted, names) in product((None, account.id), WANTED):
        found = await every_page(store, account=owner, **wanted)
        assert found == [messages[name].key for name in names], wanted
    hits = (await store.messages.search(Search(connector=3))).hits
    assert [(hit.message.connector, hit.sent_by, hit.connector) for hit in hits] == [(1, 3, 3)]


async def test_messages_are_found_by_their_network(store: Store, given: Given, account: Account) -> None:
    keys = [(await given.sent(account.id, network=network)).key for network in ("26201", "", "26202", "26201")]
    for owner in (None, account.id):
        assert await every_page(store, account=owner, network="26201") == [keys[3], keys[0]]
        assert await every_page(store, account=owner, network="26201", country="FR") == []


@pytest.mark.parametrize(
    ("wanted", "name"),
    [({"sender": "rare"}, "sender"), ({"connector": 2}, "connector"), ({"country": "bs"}, "country")],
)
async def test_what_is_rare_in_an_account_is_found_in_one_page(
    store: Store,
    given: Given,
    account: Account,
    monkeypatch: pytest.MonkeyPatch,
    wanted: dict[str, Any],
    name: str,
) -> None:
    """However many others the account has, and however many like it others have."""
    monkeypatch.setattr(search, "RARE", 4)
    other = await given.account("other")
    messages = await kinds_of(given, account)
    for _ in range(12):
        await given.sent(other.id, destination=NEAR, sender="Rare", connector=2)
        await given.sent(account.id, destination=NEAR, sender="Helio", connector=1)
    while await store.upkeep.index_numbers(given.now + HOUR, 4):
        pass
    assert await every_page(store, account=account.id, **wanted) == [messages[name].key]
    if not isinstance(store, MemoryStore):  # which has no blocks, and looks through all
        for start, end in ((None, None), (1, None), (None, given.now + HOUR)):
            found = await store.messages.search(Search(account=account.id, effort=8, start=start, end=end, **wanted))
            assert (keys(found.hits), found.more) == ([messages[name].key], None)
    frequent = Search(account=account.id, effort=8, limit=4, sender="helio", connector=1)
    assert len((await store.messages.search(frequent)).hits) == 4


async def test_later_pages_keep_the_order_of_the_first(
    store: Store, given: Given, account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    """New messages may make a sender rare or frequent meanwhile."""
    messages = [await given.scheduled(account.id, after=(6 - number) * HOUR, sender="Rare") for number in range(6)]
    while await store.upkeep.index_numbers(given.now + HOUR, 4):
        pass
    for before, after in ((1, 10), (10, 1)):
        monkeypatch.setattr(search, "RARE", before)
        page = await store.messages.search(Search(account=account.id, sender="rare", limit=2))
        found = keys(page.hits)
        monkeypatch.setattr(search, "RARE", after)
        while page.more is not None:
            page = await store.messages.search(Search(account=account.id, sender="rare", limit=2, before=page.more))
            found += keys(page.hits)
        assert found in ([each.key for each in messages], [each.key for each in reversed(messages)])


async def test_the_money_of_messages_and_the_segments_that_operators_took(store: Store, given: Given) -> None:
    account = await given.account()
    of = account.id

    def taken(message: Message, segment: int, status: int = 0, connector: int = 1) -> Submission:
        return Submission(of, message.key, segment, connector, "id", status, given.now)

    waiting, single, parts, doubtful = [
        await given.sent(of, segments=segments, price=segments * CREDIT, network="26201") for segments in (1, 1, 3, 1)
    ]
    refused = await given.sent(of, network="26201")
    given.now += SECOND
    await store.commits.record(
        Facts(
            submissions=[
                taken(single, 0),
                taken(parts, 0, connector=2),
                taken(parts, 1, connector=2),
                taken(parts, 2, 88, connector=2),
                taken(doubtful, 0, NO_ANSWER),
                taken(refused, 0, 11),
            ],
            parts=[
                PartReceipt(of, parts.key, 0, Delivery.DELIVRD, "000", given.now),
                PartReceipt(of, parts.key, 1, Delivery.UNDELIV, "001", given.now),
            ],
        )
    )
    await end(given, single, Delivery.DELIVRD)
    await end(given, parts, Delivery.UNDELIV)
    await end(given, refused, Delivery.REJECTD, failed=True, refund=refused.price)
    wanted = [
        Earning(waiting.key, of, waiting.destination, "26201", CREDIT),
        Earning(single.key, of, single.destination, "26201", CREDIT, [TakenSegment(1, given.now, True)]),
        Earning(
            parts.key, of, parts.destination, "26201", 3 * CREDIT,
            [TakenSegment(2, given.now, True), TakenSegment(2, given.now, False)],
        ),
        Earning(doubtful.key, of, doubtful.destination, "26201", CREDIT, [TakenSegment(1, given.now, False)]),
        Earning(refused.key, of, refused.destination, "26201", 0),
    ]  # fmt: skip
    assert await store.messages.earnings(0, refused.key + 1, 10) == wanted
    assert await store.messages.earnings(waiting.key, refused.key, 2) == wanted[1:3]
    assert await store.messages.earnings(refused.key, refused.key + 9, 2) == []
