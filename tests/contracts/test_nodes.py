"""Nodes that share a store: leases, fences, and the work that a dead node leaves."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from functools import partial
from typing import Any, cast

import pytest

from heliograph.app.configuration import Account
from heliograph.app.facts import (
    CallbackDone,
    CallbackEnd,
    CallbackRetry,
    Facts,
    InboundMessage,
    InboundPart,
    MessageEnd,
    PartReceipt,
    PartSet,
    Submission,
    Verdict,
)
from heliograph.app.marks import attempted
from heliograph.app.ports import ConnectorReport, ConnectorState, Fenced, SingleJob, Store
from heliograph.app.ports.surroundings import Attempt
from heliograph.app.records import InboundQuery
from heliograph.app.resources.desk import Desk
from heliograph.domain.message.opt_out import Wish
from heliograph.domain.message.receipt import Delivery
from heliograph.domain.message.way import Way
from heliograph.runtime.alerts import STEADY_ROUNDS, AlertWatch
from tests.support.gateway import MemoryJournal
from tests.support.sharing import LEASE, NO_DEADLINE, ONE, OTHER, SharedStore, answered, joined, within
from tests.support.store import CREDIT, HOUR, SECOND, START, Given, Opener
from tests.support.virtual_time import VirtualClock

pytestmark = pytest.mark.parametrize("opener", ["memory-shared", "postgres"], indirect=True)


@pytest.fixture
async def store(opener: Opener) -> AsyncIterator[SharedStore]:
    store = await opener()
    yield cast("SharedStore", store)
    await store.close()


other = store


# --- leases


async def test_worker_numbers_are_each_nodes_own(store: SharedStore, other: SharedStore) -> None:
    for node in range(1, 34):
        assert await store.leases.heartbeat(node, LEASE)
    shares = await asyncio.gather(*((store, other)[node % 2].leases.lease_worker(node) for node in range(1, 33)))
    assert sorted(number for number in shares if number is not None) == list(range(32))
    assert await store.leases.lease_worker(33) is None
    await store.leases.heartbeat(5, 2 * LEASE)
    assert sorted(await store.leases.release_dead(NO_DEADLINE, within(LEASE))) == [n for n in range(1, 34) if n != 5]
    assert await store.leases.heartbeat(40, 3 * LEASE)
    assert await store.leases.lease_worker(40) == min(set(range(32)) - {shares[4]})


async def test_a_lease_that_was_given_up_is_too_late_to_renew(store: SharedStore) -> None:
    assert await store.leases.heartbeat(ONE, LEASE)
    assert await store.leases.release_dead(NO_DEADLINE) == []
    assert await store.leases.heartbeat(ONE, 2 * LEASE)
    assert await store.leases.release_dead(NO_DEADLINE, within(LEASE)) == []
    assert await store.leases.release_dead(NO_DEADLINE, within(2 * LEASE)) == [ONE]
    assert await store.leases.release_dead(NO_DEADLINE, within(9 * LEASE)) == []
    assert not await store.leases.heartbeat(ONE, 9 * LEASE)
    for call in (
        store.leases.lease_worker(ONE),
        store.leases.lease_binds(1, ONE, 4, 1),
        store.queue.claim(1, 1, START, ONE),
        store.notices.claim(1, START, ONE),
        store.commits.recover(0, ONE),
    ):
        with pytest.raises(Fenced):
            await call


async def test_a_call_that_comes_after_its_deadline_gives_no_node_up(store: SharedStore) -> None:
    """The caller may have slept on the way, and the other nodes too."""
    now = await store.leases.heartbeat(ONE, -1)
    assert now is not None
    assert await store.leases.release_dead(now - 1) == []
    again = await store.leases.heartbeat(ONE, -1)
    assert again is not None
    assert again >= now
    assert await store.leases.release_dead(again + 60 * SECOND) == [ONE]
    assert await store.leases.heartbeat(ONE, LEASE) is None


async def test_bind_slots_never_exceed_the_operators_limit(store: SharedStore, other: SharedStore) -> None:
    nodes = list(range(1, 9))
    for node in nodes:
        await store.leases.heartbeat(node, LEASE)
    shares = await asyncio.gather(*((store, other)[node % 2].leases.lease_binds(7, node, 5, 2) for node in nodes))
    held = [slot for share in shares for slot in share]
    assert sorted(held) == [0, 1, 2, 3, 4]
    assert all(len(share) <= 2 for share in shares)
    assert len(await store.leases.lease_binds(8, 1, 5, 9)) == 5


async def test_bind_slots_are_given_back_and_move_when_their_node_dies(store: SharedStore) -> None:
    for node in (ONE, OTHER):
        await store.leases.heartbeat(node, LEASE)
    assert await store.leases.lease_binds(7, ONE, 4, 4) == [0, 1, 2, 3]
    assert await store.leases.lease_binds(7, OTHER, 4, 2) == []
    assert await store.leases.lease_binds(7, ONE, 4, 2) == [0, 1]
    assert await store.leases.lease_binds(7, OTHER, 4, 2) == [2, 3]
    # the operator allows fewer
    assert await store.leases.lease_binds(7, OTHER, 3, 2) == [2]
    await store.leases.heartbeat(OTHER, 3 * LEASE)
    assert await store.leases.release_dead(NO_DEADLINE, within(LEASE)) == [ONE]
    assert await store.leases.lease_binds(7, OTHER, 4, 4) == [0, 1, 2, 3]
    assert await store.leases.lease_binds(7, OTHER, 4, 0) == []


class Pager:
    """Records the alerts of a node."""

    def __init__(self) -> None:
        self.alerts: list[tuple[str, bool]] = []

    async def send(self, title: str, text: str, *, is_over: bool = False) -> list[Attempt]:
        self.alerts.append((text, is_over))
        return [Attempt("1, json", "")]


async def test_of_two_nodes_one_sends_an_alert_and_the_other_goes_on_when_it_dies(
    store: SharedStore, other: SharedStore
) -> None:
    given = Given(store)
    broke, _ = [await given.account(name, credit=0) for name in ("broke0", "broke1")]
    pagers = {ONE: Pager(), OTHER: Pager()}
    watches = {}
    for node, of in ((ONE, store), (OTHER, other)):
        assert await of.leases.heartbeat(node, LEASE)
        has_job = partial(of.leases.lease_job, SingleJob.ALERTS, node)
        watches[node] = AlertWatch(Desk(of, VirtualClock()), pagers[node], MemoryJournal(), "sms", has_job)
    for _ in range(3 * STEADY_ROUNDS):
        await asyncio.gather(*(watch.round() for watch in watches.values()))
    (first,) = [node for node, pager in pagers.items() if pager.alerts]
    second = ONE + OTHER - first
    ((text, is_over),) = pagers[first].alerts
    assert ("broke0 has no credit" in text, "broke1 has no credit" in text, is_over) == (True, True, False)
    assert await store.leases.heartbeat(second, 3 * LEASE)
    assert await store.leases.release_dead(NO_DEADLINE, within(LEASE)) == [first]
    await store.accounts.add_credit(broke.id, 1, "", START)
    for _ in range(3 * STEADY_ROUNDS):
        await asyncio.gather(*(watch.round() for watch in watches.values()))
    ((text, is_over),) = pagers[second].alerts
    assert (text.partition(": ")[2], is_over) == ("broke0 has no credit, so that its requests are refused.", True)
    assert len(pagers[first].alerts) == 1, "a fenced node sends no more"


# --- two nodes end a message


@pytest.mark.parametrize("failed", [False, True])
async def test_the_later_of_two_ends_is_told_that_another_stands(
    store: SharedStore, other: SharedStore, failed: bool
) -> None:
    given = await joined(store, ONE)
    await joined(other, OTHER)
    account = await given.account()
    message, second = [await given.sent(account.id, wants_receipt=True) for _ in range(2)]
    first = MessageEnd(message.account, message.key, Delivery.UNDELIV, "011", START, owed=True)
    await other.commits.record(Facts(finals=[first]))
    late = MessageEnd(message.account, message.key, Delivery.DELIVRD, "000", START + SECOND, owed=True)
    alone = MessageEnd(message.account, second.key, Delivery.DELIVRD, "000", START, owed=True, failed=failed)
    await store.commits.record(Facts(finals=[late, alone]))
    assert [end.superseded for end in (first, late, alone)] == [False, True, False]
    # a commit that is made again is no other end
    again = replace(first)
    await store.commits.record(Facts(finals=[again]))
    assert not again.superseded


# --- a node dies


async def test_what_a_dead_node_had_claimed_is_free(store: SharedStore, other: SharedStore) -> None:
    given = await joined(store, ONE)
    await joined(other, OTHER)
    account = await given.account()
    message = await given.scheduled(account.id)
    ended = await given.sent(account.id, wants_receipt=True)
    await store.commits.record(
        Facts(
            finals=[MessageEnd(ended.account, ended.key, Delivery.DELIVRD, "000", START, owed=True)],
            callback_retries=[CallbackRetry(ended.account, ended.key, START, 1, b"x", "", START)],
        )
    )
    assert len(await store.queue.claim(1, 9, START + HOUR, ONE)) == 1
    assert len(await store.notices.claim(9, START, ONE)) == 1
    await store.network.save_link_states([ConnectorReport(1, ONE, ConnectorState(), START)])
    await other.leases.heartbeat(OTHER, 9 * LEASE)
    assert await other.queue.claim(1, 9, START + HOUR, OTHER) == []
    assert await other.leases.release_dead(NO_DEADLINE, within(LEASE)) == [ONE]
    (claimed,) = await other.queue.claim(1, 9, START + HOUR, OTHER)
    assert claimed.message.key == message.key
    assert len(await other.notices.claim(9, START, OTHER)) == 1
    assert await other.network.link_states() == []


async def test_a_dead_nodes_fast_lane_is_found_in_the_queue(store: SharedStore, other: SharedStore) -> None:
    given = await joined(store, ONE)
    theirs = await joined(other, OTHER)
    account = await given.account()
    kept = await theirs.sent(account.id)
    tried, untried, partly, done, failed = [await given.sent(account.id, segments=2) for _ in range(5)]
    waits, told, over = [await given.sent(account.id, wants_receipt=True) for _ in range(3)]
    await store.commits.record(
        Facts(
            submissions=[
                Submission(partly.account, partly.key, 0, 1, "p", 0, START),
                *(Submission(done.account, done.key, segment, 1, str(segment), 0, START) for segment in (0, 1)),
                *(Submission(each.account, each.key, 0, 1, f"w{each.key}", 0, START) for each in (waits, told, over)),
            ],
            finals=[
                MessageEnd(failed.account, failed.key, Delivery.REJECTD, "001", START, False, True, failed.price),
                *(
                    MessageEnd(each.account, each.key, Delivery.DELIVRD, "000", START, owed=True)
                    for each in (told, over)
                ),
            ],
            callback_retries=[CallbackRetry(over.account, over.key, START, 3, b"body", "", START)],
            marks={attempted(1): tried.key},
        )
    )
    await other.leases.heartbeat(OTHER, 9 * LEASE)
    assert await other.queue.claim(1, 9, START, OTHER) == []
    assert await other.leases.release_dead(NO_DEADLINE, within(LEASE)) == [ONE]

    claimed = await other.queue.claim(1, 9, START, OTHER)
    assert [(each.message.key, each.attempted, each.answered) for each in claimed] == [
        (tried.key, True, frozenset()),
        (untried.key, False, frozenset()),
        (partly.key, False, frozenset({0})),
    ]
    assert kept.key not in {each.message.key for each in claimed}
    (found,) = await other.receipts.find(1, [f"w{waits.key}"])
    assert found.message.key == waits.key
    owed = await other.notices.claim(9, START, OTHER)
    assert [(each.key, each.attempts, each.body) for each in owed] == [
        (told.key, 0, b""),
        (over.key, 3, b"body"),
    ]
    assert await other.upkeep.audit() == []

    # its number begins anew, with nothing of what was
    given = await joined(store, ONE + 100)
    recovery = await store.commits.recover(0, ONE + 100)
    assert [recovery.unsent, recovery.outstanding, recovery.owed] == [[], [], []]
    assert recovery.last_key >= over.key
    await given.sent(account.id, key=recovery.last_key + 32)


async def test_what_phones_sent_to_a_dead_node_is_others(store: SharedStore, other: SharedStore) -> None:
    given = await joined(store, ONE)
    await joined(other, OTHER)
    account = await given.account(inbound_url="https://customer.example/mo")
    parts_of = PartSet(1, "491", "3388", 7, 2)

    def inbound(**fields: Any) -> InboundMessage:
        return InboundMessage(
            account.id, 1, "491", "3388", "Hi", b"Hi", 0, START, way=Way.WEBHOOK, key=given.key(), **fields
        )

    untold, told, rowed = inbound(digest=5), inbound(digest=6), inbound(digest=5)
    await store.commits.record(
        Facts(
            inbound=[untold, told, rowed],
            inbound_parts=[InboundPart(parts_of, number, 0, True, b"x", START) for number in (1, 2)],
            callbacks=[CallbackDone(account.id, told.key, CallbackEnd.DELIVERED, 200, 1, START)],
            callback_retries=[CallbackRetry(account.id, rowed.key, START, 1, b"body", "", START, claimed=True)],
        )
    )
    await store.commits.record(Facts(inbound_answered=[told.key]))
    assert len(await store.inbound.gather([parts_of], ONE)) == 1
    await other.leases.heartbeat(OTHER, 9 * LEASE)
    assert [certain for *_, certain in (await other.inbound.repeated(1, [5], START, OTHER)).copies] == [False, False]
    assert await other.inbound.ready(START, 9, OTHER) == []
    assert await other.leases.release_dead(NO_DEADLINE, within(LEASE)) == [ONE]

    assert (await other.inbound.repeated(1, [5, 6], START, OTHER)).copies == [
        (5, untold.key, True),
        (5, rowed.key, True),
    ]
    owed = await other.notices.claim(9, START, OTHER)
    assert sorted((each.key, each.attempts, each.body) for each in owed) == [
        (untold.key, 0, b""),
        (rowed.key, 1, b"body"),
    ]
    (parts,) = await other.inbound.ready(START, 9, OTHER)
    assert [part.number for part in parts] == [1, 2]
    whole = InboundMessage(0, 1, "491", "3388", "xx", b"xx", 0, START, parts=2, parts_of=parts_of, key=rowed.key + 32)
    with pytest.raises(Fenced):
        await store.commits.record(Facts(inbound=[replace(whole, key=rowed.key + 64)]))
    await other.commits.record(Facts(inbound=[whole]))
    assert await other.inbound.ready(START + 1, 9, OTHER) == []
    assert await other.upkeep.audit() == []
    recovery = await store.commits.recover(0, ONE + 100)
    assert (recovery.owed, recovery.last_key) == ([], whole.key)


async def test_two_nodes_join_a_message_once(store: SharedStore, other: SharedStore) -> None:
    await joined(store, ONE)
    await joined(other, OTHER)
    for reference in range(20):
        parts_of = PartSet(1, "491", "3388", reference, 2)

        async def part(of: PartSet, number: int) -> int:
            each, node = ((store, ONE), (other, OTHER))[number - 1]
            await each.commits.record(Facts(inbound_parts=[InboundPart(of, number, 0, True, b"x", START)]))
            return len(await each.inbound.gather([of], node))

        assert sum(await asyncio.gather(part(parts_of, 1), part(parts_of, 2))) == 1


async def test_a_node_that_was_given_up_claims_no_parts(store: SharedStore, other: SharedStore) -> None:
    """Nobody would free its claims: they are freed once, when it is given up."""
    await joined(store, ONE)
    await joined(other, OTHER)
    parts_of = PartSet(1, "491", "3388", 7, 2)
    await store.commits.record(
        Facts(inbound_parts=[InboundPart(parts_of, number, 0, True, b"x", START) for number in (1, 2)])
    )
    await other.leases.heartbeat(OTHER, 9 * LEASE)
    assert await other.leases.release_dead(NO_DEADLINE, within(LEASE)) == [ONE]
    for call in (store.inbound.gather([parts_of], ONE), store.inbound.ready(START, 9, ONE)):
        with pytest.raises(Fenced):
            await call
    assert await other.upkeep.audit() == []
    (parts,) = await other.inbound.ready(START, 9, OTHER)
    assert [part.number for part in parts] == [1, 2]


async def test_a_fenced_node_writes_nothing(store: SharedStore, other: SharedStore) -> None:
    given = await joined(store, ONE)
    await joined(other, OTHER)
    account = await given.account()
    message = await given.sent(account.id)
    await other.leases.heartbeat(OTHER, 9 * LEASE)
    assert await other.leases.release_dead(NO_DEADLINE, within(LEASE)) == [ONE]
    accept = given.accept(given.message(account.id))
    answer = Submission(message.account, message.key, 0, 1, "late", 0, START)
    for _ in range(2):
        with pytest.raises(Fenced):
            await store.commits.record(Facts(accepts=[accept], submissions=[answer]))
    assert accept.verdict is Verdict.UNAVAILABLE
    assert await other.customers.balance(account.id) == 99 * CREDIT
    (claimed,) = await other.queue.claim(1, 9, START, OTHER)
    assert claimed.answered == frozenset()
    assert await other.upkeep.audit() == []


async def test_a_second_run_with_the_same_number_fences_the_first(store: SharedStore, other: SharedStore) -> None:
    """Two gateways on one database that know nothing of leases: the later one has it."""
    await store.commits.recover(0, ONE)
    given = Given(store)
    account = await given.account()
    message = await given.sent(account.id)
    recovery = await other.commits.recover(0, OTHER)
    assert [each.message.key for each in recovery.unsent] == [message.key]
    with pytest.raises(Fenced):
        await given.sent(account.id)
    await Given(other, START + SECOND).sent(account.id)


async def test_marks_are_each_workers_own(store: SharedStore, other: SharedStore) -> None:
    one, two = await joined(store, ONE), await joined(other, OTHER)
    account = await one.account()
    mine, theirs = await one.sent(account.id), await two.sent(account.id)
    await store.commits.record(Facts(marks={"dispatch": mine.key + 99_999}, submissions=[answered(mine)]))
    assert await other.upkeep.audit() == []
    await store.close()
    recovery = await other.commits.recover(1, OTHER)
    assert recovery.marks.get("dispatch", 0) < mine.key
    assert [each.message.key for each in recovery.unsent] == [theirs.key]


async def test_messages_that_a_dead_node_left_with_all_parts_ended(
    store: SharedStore, given: Given, account: Account
) -> None:
    whole, half, fresh, ended, _ = [await given.sent(account.id, segments=2) for _ in range(5)]
    ends = [(whole, 0, 1), (whole, 1, 2), (half, 0, 1), (fresh, 0, 1), (fresh, 1, 9), (ended, 0, 1), (ended, 1, 2)]
    parts = [
        PartReceipt(message.account, message.key, segment, Delivery.DELIVRD, "000", START + at * SECOND)
        for message, segment, at in ends
    ]
    await store.commits.record(
        Facts(parts=parts, finals=[MessageEnd(ended.account, ended.key, Delivery.DELIVRD, "000", START, owed=True)])
    )
    end = START + 5 * SECOND
    assert await store.leases.gathered(0, end) == ([whole.key], 6)
    assert await store.leases.gathered(0, START + 10 * SECOND) == ([whole.key, fresh.key], 7)
    # the last end counts: a span may begin in the middle of a message, and end there
    assert await store.leases.gathered(START + 2 * SECOND, end) == ([whole.key], 2)
    assert await store.leases.gathered(0, START + 2 * SECOND) == ([], 4)
    assert await store.leases.gathered(START + 3 * SECOND, START + 9 * SECOND) == ([], 0)
    assert await store.leases.gathered(START + 3 * SECOND, START + 10 * SECOND) == ([fresh.key], 1)


# --- copies of a message from a phone come to two nodes


def copy_of(given: Given, account: Account, last_note: int, **fields: Any) -> InboundMessage:
    """A copy of a message from a phone, as a node writes it."""
    values: dict[str, Any] = {
        "octets": b"Hi", "price": CREDIT, "way": Way.WEBHOOK, "digest": 5, "last_note": last_note, "key": given.key(),
    }  # fmt: skip
    return InboundMessage(account.id, 1, "491", "3388", "Hi", coding=0, at=START, **(values | fields))


async def newest_note(store: Store, node: int) -> int:
    return (await store.inbound.repeated(1, [5], START, node)).last_note


async def test_of_two_copies_that_were_looked_up_before_either_was_written_one_is_kept(
    store: SharedStore, other: SharedStore
) -> None:
    """The second has no effect: no charge, no opt-out, no reply, no notice. The other facts of its commit are kept."""
    given, theirs = await joined(store, ONE), await joined(other, OTHER)
    account = await given.account()
    known, known_there = await newest_note(store, ONE), await newest_note(other, OTHER)
    first = copy_of(given, account, known)
    reply = theirs.accept(theirs.message(account.id, destination="491", queued=True), exempt=True)
    second = copy_of(theirs, account, known_there, wish=Wish.STOP, reply=reply)
    unlike = copy_of(theirs, account, known_there, digest=6)
    retries = [CallbackRetry(account.id, each.key, START, 1, b"body", "", START) for each in (second, unlike)]
    await store.commits.record(Facts(inbound=[first]))
    facts = Facts(inbound=[second, unlike], callback_retries=retries)
    await other.commits.record(facts)
    assert (second.contested, unlike.contested, facts.inbound) == (True, False, [unlike])
    assert [record.message.key for record in await store.inbound.find(InboundQuery())] == [unlike.key, first.key]
    assert await store.customers.balance(account.id) == 98 * CREDIT
    assert await store.suppressions.find(account.id, "491") is None
    assert await store.customers.message(account.id, reply.key, reply.tail) is None
    assert [notice.key for notice in await store.notices.owed(9)] == [unlike.key]
    assert (await other.inbound.repeated(1, [5], START, OTHER)).copies == [(5, first.key, False)]
    assert await store.upkeep.audit() == []


async def test_a_copy_is_contested_for_a_while_after_the_message_was_answered(
    store: SharedStore, other: SharedStore
) -> None:
    given, theirs = await joined(store, ONE), await joined(other, OTHER)
    account = await given.account()
    known = await newest_note(other, OTHER)
    first = copy_of(given, account, known)
    await store.commits.record(Facts(inbound=[first]))
    await store.commits.record(Facts(inbound_answered=[first.key]))
    late = copy_of(theirs, account, known)
    await other.commits.record(Facts(inbound=[late]))
    assert late.contested
    found = await other.inbound.repeated(1, [5], START, OTHER)
    assert found.copies == []
    again, own = copy_of(theirs, account, found.last_note), copy_of(given, account, 0)
    await store.commits.record(Facts(inbound=[own]))
    await other.commits.record(Facts(inbound=[again]))
    assert (own.contested, again.contested) == (False, True)
    await store.commits.record(Facts(inbound_answered=[own.key]))
    assert await store.inbound.forget(START - HOUR, START, 9) == 0
    assert await store.inbound.forget(START - HOUR, START + SECOND, 9) == 2
    await other.commits.record(Facts(inbound=[replace(again, contested=False)]))
    assert len(await store.inbound.find(InboundQuery())) == 3


async def test_equal_messages_of_a_node_and_messages_that_are_recorded_again_are_not_contested(
    store: SharedStore, other: SharedStore
) -> None:
    given, theirs = await joined(store, ONE), await joined(other, OTHER)
    account = await given.account()
    first, second = copy_of(given, account, 0), copy_of(given, account, 0)
    await store.commits.record(Facts(inbound=[first, second]))
    third = copy_of(theirs, account, await newest_note(other, OTHER))
    await other.commits.record(Facts(inbound=[third]))
    await store.commits.record(Facts(inbound=[first, second]))
    assert [each.contested for each in (first, second, third)] == [False] * 3
    assert await store.customers.balance(account.id) == 97 * CREDIT


async def test_each_of_many_messages_is_kept_once_when_two_nodes_write_all_at_once(
    store: SharedStore, other: SharedStore
) -> None:
    given, theirs = await joined(store, ONE), await joined(other, OTHER)
    account = await given.account()
    known = [await newest_note(store, ONE), await newest_note(other, OTHER)]

    async def write(on: SharedStore, of: Given, last_note: int, digests: range) -> list[InboundMessage]:
        messages = [copy_of(of, account, last_note, digest=digest) for digest in digests]
        for start in range(0, len(messages), 7):
            await on.commits.record(Facts(inbound=messages[start : start + 7]))
        return messages

    mine, others = await asyncio.gather(
        write(store, given, known[0], range(1, 151)), write(other, theirs, known[1], range(150, 0, -1))
    )
    kept = sorted(each.digest for each in (*mine, *others) if not each.contested)
    assert kept == list(range(1, 151))
    assert len(await store.inbound.find(InboundQuery(limit=1_000))) == 150
    assert await store.customers.balance(account.id) == -50 * CREDIT
