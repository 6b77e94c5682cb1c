"""Many nodes on one database: leases, fences, and races."""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

import asyncpg
import pytest

from heliograph.adapters.store.postgres import PostgresStore
from heliograph.app.configuration import Account
from heliograph.app.facts import (
    Accept,
    CallbackDone,
    CallbackEnd,
    CallbackRetry,
    Facts,
    InboundMessage,
    InboundPart,
    Message,
    MessageEnd,
    PartReceipt,
    PartSet,
    Submission,
    Verdict,
)
from heliograph.app.marks import attempted
from heliograph.app.ports import ConnectorReport, ConnectorState, Fenced, NotScheduled
from heliograph.domain.message.ids import IdSequence, to_hex
from heliograph.domain.message.receipt import Delivery
from heliograph.domain.message.state import State
from heliograph.domain.message.way import Way
from tests.support.postgres import AMPLE, server
from tests.support.store import CREDIT, HOUR, SECOND, START, Given

ONE, OTHER = 1001, 1002
LEASE = 10 * HOUR


def within(span: int) -> int:
    """For `release_dead`: those whose leases end within that time are dead, as if it were over."""
    return -span


@pytest.fixture
async def other(url: str) -> AsyncIterator[PostgresStore]:
    store = await PostgresStore.open(url, limits=AMPLE)
    yield store
    await store.close()


def giving(store: PostgresStore, worker: int) -> Given:
    """Keys are this worker's."""
    given = Given(store)
    given._sequence = IdSequence(worker)
    return given


async def joined(store: PostgresStore, node: int) -> Given:
    """A node with a lease and a worker number, recovered."""
    assert await store.leases.heartbeat(node, LEASE)
    worker = await store.leases.lease_worker(node)
    assert worker is not None
    await store.commits.recover(worker, node)
    return giving(store, worker)


# --- leases


async def test_worker_numbers_are_each_nodes_own(store: PostgresStore, other: PostgresStore) -> None:
    for node in range(1, 34):
        assert await store.leases.heartbeat(node, LEASE)
    shares = await asyncio.gather(*((store, other)[node % 2].leases.lease_worker(node) for node in range(1, 33)))
    assert sorted(number for number in shares if number is not None) == list(range(32))
    assert await store.leases.lease_worker(33) is None
    await store.leases.heartbeat(5, 2 * LEASE)
    assert sorted(await store.leases.release_dead(within(LEASE))) == [n for n in range(1, 34) if n != 5]
    assert await store.leases.heartbeat(40, 3 * LEASE)
    assert await store.leases.lease_worker(40) == min(set(range(32)) - {shares[4]})


async def test_a_lease_that_was_given_up_is_too_late_to_renew(store: PostgresStore) -> None:
    assert await store.leases.heartbeat(ONE, LEASE)
    assert await store.leases.release_dead() == []
    assert await store.leases.heartbeat(ONE, 2 * LEASE)
    assert await store.leases.release_dead(within(LEASE)) == []
    assert await store.leases.release_dead(within(2 * LEASE)) == [ONE]
    assert await store.leases.release_dead(within(9 * LEASE)) == []
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


async def test_bind_slots_never_exceed_the_operators_limit(store: PostgresStore, other: PostgresStore) -> None:
    nodes = list(range(1, 9))
    for node in nodes:
        await store.leases.heartbeat(node, LEASE)
    shares = await asyncio.gather(*((store, other)[node % 2].leases.lease_binds(7, node, 5, 2) for node in nodes))
    held = [slot for share in shares for slot in share]
    assert sorted(held) == [0, 1, 2, 3, 4]
    assert all(len(share) <= 2 for share in shares)
    assert len(await store.leases.lease_binds(8, 1, 5, 9)) == 5


async def test_bind_slots_are_given_back_and_move_when_their_node_dies(store: PostgresStore) -> None:
    for node in (ONE, OTHER):
        await store.leases.heartbeat(node, LEASE)
    assert await store.leases.lease_binds(7, ONE, 4, 4) == [0, 1, 2, 3]
    assert await store.leases.lease_binds(7, OTHER, 4, 2) == []
    assert await store.leases.lease_binds(7, ONE, 4, 2) == [0, 1]
    assert await store.leases.lease_binds(7, OTHER, 4, 2) == [2, 3]
    # the operator allows fewer
    assert await store.leases.lease_binds(7, OTHER, 3, 2) == [2]
    await store.leases.heartbeat(OTHER, 3 * LEASE)
    assert await store.leases.release_dead(within(LEASE)) == [ONE]
    assert await store.leases.lease_binds(7, OTHER, 4, 4) == [0, 1, 2, 3]
    assert await store.leases.lease_binds(7, OTHER, 4, 0) == []


# --- a node dies


async def test_what_a_dead_node_had_claimed_is_free(store: PostgresStore, other: PostgresStore) -> None:
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
    assert await other.leases.release_dead(within(LEASE)) == [ONE]
    (claimed,) = await other.queue.claim(1, 9, START + HOUR, OTHER)
    assert claimed.message.key == message.key
    assert len(await other.notices.claim(9, START, OTHER)) == 1
    assert await other.network.link_states() == []


async def test_a_dead_nodes_fast_lane_is_found_in_the_queue(store: PostgresStore, other: PostgresStore) -> None:
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
    assert await other.leases.release_dead(within(LEASE)) == [ONE]

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


async def test_what_phones_sent_to_a_dead_node_is_others(store: PostgresStore, other: PostgresStore) -> None:
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
    assert [certain for *_, certain in await other.inbound.repeated(1, [5], START, OTHER)] == [False, False]
    assert await other.inbound.ready(START, 9, OTHER) == []
    assert await other.leases.release_dead(within(LEASE)) == [ONE]

    assert await other.inbound.repeated(1, [5, 6], START, OTHER) == [(5, untold.key, True), (5, rowed.key, True)]
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


async def waits_for_locks(db: asyncpg.Connection, sessions: int, or_done: asyncio.Task[Any]) -> None:
    """Returns when so many sessions wait for locks, or the task is done."""
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    while await db.fetchval(waiting) < sessions and not or_done.done():
        await asyncio.wait([or_done], timeout=0.01)


async def test_a_message_whose_commit_is_under_way_on_another_node_is_known_again(
    store: PostgresStore, other: PostgresStore, url: str
) -> None:
    """A node that is killed leaves a commit to the database, and the operator is quicker than that."""
    given = await joined(store, ONE)
    await joined(other, OTHER)
    account = await given.account()
    message = InboundMessage(account.id, 1, "491", "3388", "Hi", b"Hi", 0, START, key=given.key(), digest=5)
    watcher = await asyncpg.connect(url)
    slow = await asyncpg.connect(url, server_settings={"search_path": "heliograph"})
    await slow.execute("BEGIN; SELECT 1 FROM account FOR UPDATE")
    committing = asyncio.create_task(store.commits.record(Facts(inbound=[message])))
    await waits_for_locks(watcher, 1, committing)
    looking = asyncio.create_task(other.inbound.repeated(1, [5], START, OTHER))
    await waits_for_locks(watcher, 2, looking)
    await slow.execute("ROLLBACK")
    await committing
    assert await looking == [(5, message.key, False)]
    await slow.close()
    await watcher.close()
    assert await store.inbound.repeated(1, [5], START, ONE) == []


async def test_two_nodes_join_a_message_once(store: PostgresStore, other: PostgresStore) -> None:
    await joined(store, ONE)
    await joined(other, OTHER)
    for reference in range(20):
        parts_of = PartSet(1, "491", "3388", reference, 2)

        async def part(of: PartSet, number: int) -> int:
            each, node = ((store, ONE), (other, OTHER))[number - 1]
            await each.commits.record(Facts(inbound_parts=[InboundPart(of, number, 0, True, b"x", START)]))
            return len(await each.inbound.gather([of], node))

        assert sum(await asyncio.gather(part(parts_of, 1), part(parts_of, 2))) == 1


async def test_a_node_that_was_given_up_claims_no_parts(store: PostgresStore, other: PostgresStore) -> None:
    """Nobody would free its claims: they are freed once, when it is given up."""
    await joined(store, ONE)
    await joined(other, OTHER)
    parts_of = PartSet(1, "491", "3388", 7, 2)
    await store.commits.record(
        Facts(inbound_parts=[InboundPart(parts_of, number, 0, True, b"x", START) for number in (1, 2)])
    )
    await other.leases.heartbeat(OTHER, 9 * LEASE)
    assert await other.leases.release_dead(within(LEASE)) == [ONE]
    for call in (store.inbound.gather([parts_of], ONE), store.inbound.ready(START, 9, ONE)):
        with pytest.raises(Fenced):
            await call
    assert await other.upkeep.audit() == []
    (parts,) = await other.inbound.ready(START, 9, OTHER)
    assert [part.number for part in parts] == [1, 2]


async def test_a_fenced_node_writes_nothing(store: PostgresStore, other: PostgresStore) -> None:
    given = await joined(store, ONE)
    await joined(other, OTHER)
    account = await given.account()
    message = await given.sent(account.id)
    await other.leases.heartbeat(OTHER, 9 * LEASE)
    assert await other.leases.release_dead(within(LEASE)) == [ONE]
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


async def test_a_second_run_with_the_same_number_fences_the_first(store: PostgresStore, other: PostgresStore) -> None:
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


async def test_marks_are_each_workers_own(store: PostgresStore, other: PostgresStore) -> None:
    one, two = await joined(store, ONE), await joined(other, OTHER)
    account = await one.account()
    mine, theirs = await one.sent(account.id), await two.sent(account.id)
    await store.commits.record(Facts(marks={"dispatch": mine.key + 99_999}, submissions=[answered(mine)]))
    assert await other.upkeep.audit() == []
    await store.close()
    recovery = await other.commits.recover(1, OTHER)
    assert recovery.marks.get("dispatch", 0) < mine.key
    assert [each.message.key for each in recovery.unsent] == [theirs.key]


def answered(message: Message) -> Submission:
    return Submission(message.account, message.key, 0, 1, "id", 0, START)


# --- races


@pytest.mark.slow
async def test_claims_and_deaths_share_each_message_out_once(url: str, store: PostgresStore, account: Account) -> None:
    given = Given(store)
    batch = given.batch(account.id, 600, price=0, queued=True)
    await given.recorded(batch)
    stores = [await PostgresStore.open(url, limits=AMPLE) for _ in range(3)]
    taken: list[int] = []

    async def dispatch(mine: PostgresStore, node: int) -> None:
        empty = 0
        while empty < 3:
            claimed = await mine.queue.claim(1, 17, START, node)
            empty = 0 if claimed else empty + 1
            keys = [each.message.key for each in claimed]
            if keys and node % 5 == 0:
                # this one dies with what it claimed
                await mine.queue.release(node)
                return
            taken.extend(keys)
            await mine.commits.record(
                Facts(
                    submissions=[Submission(account.id, key, 0, 1, "i", 0, START) for key in keys],
                    dequeued=[(account.id, key) for key in keys],
                )
            )

    await asyncio.gather(*(dispatch(stores[node % 3], node) for node in range(1, 13)))
    await dispatch(stores[0], 99)
    assert sorted(taken) == [message.key for message in batch.messages]
    assert await store.upkeep.audit() == []
    for each in stores:
        await each.close()


@pytest.mark.slow
async def test_everybody_at_once(url: str, store: PostgresStore) -> None:
    """Sends, cancels, moves, top-ups, claims and failures on few accounts and messages: 64 at once, on three nodes."""
    patient = replace(AMPLE, acquire=60.0)
    stores = [await PostgresStore.open(url, limits=patient) for _ in range(3)]
    givens = [await joined(each, node) for node, each in enumerate(stores, 1)]
    accounts = [await givens[0].account(f"a{n}", credit=100 * CREDIT) for n in range(3)]
    now = START + HOUR
    pending: list[Message] = []
    cancelled: set[int] = set()
    claimed: set[int] = set()
    balance = {account.id: 100 * CREDIT for account in accounts}

    async def send(chance: random.Random, given: Given) -> None:
        accepts: list[Accept] = []
        for account in chance.sample(accounts, 3):
            time = START + chance.choice([HOUR // 2, HOUR, 2 * HOUR])
            message = given.message(account.id, time=time, expires=time + HOUR, state=State.SCHEDULED)
            accepts.append(given.accept(message))
        await given.store.commits.record(Facts(accepts=accepts))
        for accept in accepts:
            if accept.verdict is Verdict.ACCEPTED:
                balance[accept.account] -= CREDIT
                pending.append(accept.messages[0])

    async def act(seed: int) -> None:
        chance = random.Random(seed)
        mine, given = stores[seed % 3], givens[seed % 3]
        for _ in range(20):
            kind = chance.randrange(5)
            if kind == 0 or not pending:
                await send(chance, given)
                continue
            message = chance.choice(pending)
            if kind == 1:
                with suppress(NotScheduled):
                    for each in await mine.customers.cancel(message.account, message.key, message.tail, now):
                        assert each.key not in cancelled
                        cancelled.add(each.key)
                        balance[message.account] += CREDIT
            elif kind == 2:
                time = START + chance.choice([2 * HOUR, 3 * HOUR])
                with suppress(NotScheduled):
                    await mine.customers.reschedule(message.account, message.key, message.tail, time, time + HOUR, now)
            elif kind == 3:
                await mine.accounts.add_credit(message.account, 7, "", now)
                balance[message.account] += 7
            else:
                got = [each.message for each in await mine.queue.claim(1, 2, now, seed % 3 + 1)]
                assert not claimed & {each.key for each in got}
                claimed.update(each.key for each in got)
                facts = Facts(dequeued=[(each.account, each.key) for each in got])
                for each in got:
                    if chance.random() < 0.5:
                        facts.finals.append(
                            MessageEnd(
                                each.account,
                                each.key,
                                Delivery.REJECTD,
                                "001",
                                now,
                                False,
                                True,
                                each.price,
                            )
                        )
                        balance[each.account] += each.price
                    else:
                        facts.submissions.append(answered(each))
                        facts.parts.append(PartReceipt(each.account, each.key, 0, Delivery.DELIVRD, "000", now))
                await mine.commits.record(facts)

    await asyncio.gather(*(act(seed) for seed in range(64)))
    assert not claimed & cancelled
    for account in accounts:
        assert await store.customers.balance(account.id) == balance[account.id]
    assert await store.upkeep.audit() == []
    for each in stores:
        await each.close()


@pytest.mark.slow
async def test_one_reference_from_many_nodes_is_sent_once(url: str, store: PostgresStore, account: Account) -> None:
    stores = [await PostgresStore.open(url, limits=AMPLE) for _ in range(4)]
    for round_ in range(10):
        accepts = []
        for worker, each in enumerate(stores):
            given = giving(each, worker)
            given.now = START + round_ * SECOND
            accepts.append(given.accept(given.message(account.id, reference=f"r{round_}")))
        await asyncio.gather(
            *(each.commits.record(Facts(accepts=[accept])) for each, accept in zip(stores, accepts, strict=True))
        )
        verdicts = sorted(accept.verdict for accept in accepts)
        assert verdicts == [Verdict.ACCEPTED, *[Verdict.REPLAYED] * 3]
        assert len({accept.key for accept in accepts}) == 1
    assert await store.customers.balance(account.id) == 90 * CREDIT
    for each in stores:
        await each.close()


async def test_messages_that_a_dead_node_left_with_all_parts_ended(
    store: PostgresStore, given: Given, account: Account
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


async def test_the_audit_finds_claims_of_nodes_that_are_gone(
    store: PostgresStore, given: Given, account: Account, url: str
) -> None:
    await joined(store, ONE)
    queued = await given.sent(account.id, queued=True)
    told = await given.sent(account.id, wants_receipt=True)
    await store.commits.record(
        Facts(
            submissions=[answered(told)],
            finals=[MessageEnd(told.account, told.key, Delivery.DELIVRD, "000", START, owed=True)],
            callback_retries=[CallbackRetry(told.account, told.key, START, 1, b"", "", START)],
        )
    )
    assert len(await store.queue.claim(1, 9, START, ONE)) == len(await store.notices.claim(9, START, ONE)) == 1
    assert await store.upkeep.audit() == []
    await server().script("UPDATE node SET gone = true", url.rpartition("/")[2])
    gone = f"the node {ONE}, which no longer exists"
    assert await store.upkeep.audit() == [
        f"The message {to_hex(queued.key, queued.tail)} is claimed by {gone}.",
        f"The callback for the message {to_hex(told.key, told.tail)} is claimed by {gone}.",
    ]


async def test_list_intervals_hold_over_nodes(store: PostgresStore, other: PostgresStore, account: Account) -> None:
    waits = await asyncio.gather(*(each.customers.admit_list(account.id, START, 10_000) for each in [store, other] * 5))
    assert sorted(waits) == [0] + [10_000] * 9
