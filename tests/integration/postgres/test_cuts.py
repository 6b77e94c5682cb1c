"""Connections cut at every statement, before it and after it: nothing lost, nothing charged or done twice."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import nullcontext, suppress
from dataclasses import replace

import pytest

from heliograph.adapters.store.postgres import PostgresStore
from heliograph.app.commit.isolate import Bisection, RejectedPiece
from heliograph.app.configuration import Account, TopUp
from heliograph.app.facts import (
    Accept,
    CallbackRetry,
    EarlyReceipt,
    Facts,
    MessageEnd,
    Queueing,
    Submission,
    Verdict,
)
from heliograph.app.ports import NotScheduled, StoreRejected, Unavailable
from heliograph.domain.message.receipt import Delivery
from heliograph.domain.message.state import State
from tests.support.cutting_relay import CutEffect, CuttingRelay
from tests.support.postgres import LIMITS, server
from tests.support.store import CREDIT, HOUR, START, Given, history_of
from tests.support.timeouts import PATIENCE_S

NODE = 42
MOST = 60
"""More statements than any call here takes."""


@pytest.fixture
async def relay() -> AsyncIterator[CuttingRelay]:
    async with CuttingRelay(server().port) as relay:
        yield relay


@pytest.fixture
async def shaky(url: str, relay: CuttingRelay) -> AsyncIterator[PostgresStore]:
    """The same database, by way of the relay."""
    store = await PostgresStore.open(url.replace(f":{server().port}/", f":{relay.port}/"), limits=LIMITS)
    yield store
    relay.down = False
    await store.close()


async def at_every_cut(
    relay: CuttingRelay,
    cut: CutEffect,
    store: PostgresStore,
    work: Callable[[], Awaitable[None]],
    check: Callable[[], Awaitable[None]],
) -> None:
    """Does the work once for each of its statements, with that one cut; then once more, with none. Checks after each,
    and audits the store at the end: a fault in its books stays there."""
    for number in range(1, MOST):
        relay.cut_at(number, cut)
        await work()
        cut_it = relay.was_cut
        relay.cut_at(None)
        await relay.deliver()
        await check()
        if not cut_it:
            assert number > 1
            assert await store.upkeep.audit() == []
            return
    raise AssertionError("it does not come to an end")


def everything(given: Given, accepts: list[Accept], sent: list[int]) -> Facts:
    """One of each, about messages that were sent before."""
    facts = Facts(
        accepts=accepts,
        submissions=[Submission(1, sent[0], 0, 1, "op", 0, given.now)],
        finals=[MessageEnd(1, sent[1], Delivery.DELIVRD, "000", given.now, owed=True)],
        queueings=[Queueing(1, sent[2], 1, given.now + HOUR, given.now + 9 * HOUR, attempted=False, claimed=False)],
        early=[EarlyReceipt(1, str(given.key()), "49", Delivery.DELIVRD, "000", given.now)],
        callback_retries=[CallbackRetry(1, sent[1], given.now + HOUR, 1, b"x", "", given.now)],
        marks={"attempted:1": given.key()},
    )
    facts.finals.append(
        MessageEnd(1, sent[3], Delivery.REJECTD, "001", given.now, owed=False, failed=True, refund=CREDIT)
    )
    return facts


@pytest.mark.slow
@pytest.mark.parametrize("cut", CutEffect)
async def test_a_commit_is_cut_and_comes_about_once(
    relay: CuttingRelay, shaky: PostgresStore, store: PostgresStore, given: Given, account: Account, cut: CutEffect
) -> None:
    await shaky.commits.recover(0, NODE)
    balance = 100 * CREDIT
    early = 0
    accepts: list[Accept] = []

    async def work() -> None:
        nonlocal balance, early
        sent = [(await given.sent(account.id)).key for _ in range(4)]
        accepts[:] = [
            given.accept(given.message(account.id, price=3)),
            given.batch(account.id, 3, price=1, reference=str(given.key())),
            given.accept(given.message(account.id, price=1_000 * CREDIT)),
        ]
        await shaky.commits.record(everything(given, accepts, sent))
        balance -= 3 * CREDIT + 6
        early += 1

    async def check() -> None:
        assert [accept.verdict for accept in accepts[:2]] == [Verdict.ACCEPTED] * 2
        assert accepts[2].verdict in (Verdict.TOO_LITTLE_CREDIT, Verdict.UNAVAILABLE)
        assert await store.customers.balance(account.id) == balance
        assert (await store.upkeep.backlog())["orphans"] == early

    await shaky.upkeep.probe()
    await at_every_cut(relay, cut, store, work, check)


@pytest.mark.slow
@pytest.mark.parametrize("cut", CutEffect)
@pytest.mark.extended
async def test_while_the_database_is_away_nothing_is_charged(
    relay: CuttingRelay, shaky: PostgresStore, store: PostgresStore, given: Given, account: Account, cut: CutEffect
) -> None:
    """The commit is cut, and the database cannot be asked about it then. The requests are in doubt, then refused. The
    facts are given to the next commit, with others."""
    await shaky.commits.recover(0, NODE)
    sent = [(await given.sent(account.id)).key for _ in range(4)]
    accepts = [
        given.accept(given.message(account.id, reference="a")),
        given.batch(account.id, 3, reference="b"),
        given.accept(given.message(account.id, queued=True)),
        given.accept(given.message(account.id, time=given.now + HOUR, expires=given.now + 2 * HOUR, state=0)),
    ]
    facts = everything(given, accepts, sent)
    await warm_up(shaky, given, account)
    relay.cut_at(1, cut, stays_down=True)
    with pytest.raises(Unavailable):
        await shaky.commits.record(facts)
    assert {accept.verdict for accept in accepts} == {Verdict.IN_DOUBT}
    with pytest.raises(Unavailable):
        await shaky.commits.record(Facts(marks={"attempted:1": 2}))
    assert {accept.verdict for accept in accepts} == {Verdict.IN_DOUBT}

    relay.down = False
    relay.cut_at(None)
    again = given.accept(given.message(account.id, reference="a"))
    facts.accepts = [again]
    await shaky.commits.record(facts)
    await relay.deliver()
    assert again.verdict is Verdict.ACCEPTED
    assert {accept.verdict for accept in accepts} == {Verdict.UNAVAILABLE}
    for accept in accepts:
        assert await store.customers.message(account.id, accept.messages[0].key, accept.messages[0].tail) is None
    # twice four that were sent, of which one was refunded, and the one of now
    assert await store.customers.balance(account.id) == 100 * CREDIT - 7 * CREDIT
    assert (await store.upkeep.backlog())["orphans"] == 2
    assert await store.customers.replayed(account.id, "b") is None
    assert await store.upkeep.audit() == []


async def warm_up(store: PostgresStore, given: Given, account: Account) -> None:
    """The statement for everything is prepared: from now on it is one piece."""
    sent = [(await given.sent(account.id)).key for _ in range(4)]
    free = given.accept(given.message(account.id, price=0))
    await store.commits.record(everything(given, [free], sent))


async def test_what_was_written_unheard_is_not_written_again_apart_from_what_is_unfit(
    relay: CuttingRelay, shaky: PostgresStore, store: PostgresStore, given: Given, account: Account
) -> None:
    """A row that was moved, and claimed meanwhile, stays claimed; a receipt that matches nothing is there once."""
    await shaky.commits.recover(0, NODE)
    await warm_up(shaky, given, account)
    facts = everything(given, [], [(await given.sent(account.id)).key for _ in range(4)])
    await shaky.commits.record(everything(given, [], [(await given.sent(account.id)).key for _ in range(4)]))
    relay.cut_at(1, CutEffect.UNHEARD, stays_down=True)
    with pytest.raises(Unavailable):
        await shaky.commits.record(facts)
    moved = facts.queueings[0].key
    assert moved in [each.message.key for each in await store.queue.claim(1, 9, given.now + HOUR, NODE)]
    relay.down = False
    relay.cut_at(None)
    unfit = Submission(account.id, (await given.sent(account.id)).key, 0, 1, "a\0b", 0, given.now)
    facts.submissions.append(unfit)
    with pytest.raises(StoreRejected):
        await shaky.commits.record(facts)
    noted: list[RejectedPiece] = []
    await Bisection(shaky.commits, facts, noted.append).record()
    assert [misfit.facts.submissions for misfit in noted] == [[unfit]]
    trace = await store.messages.trace(moved)
    assert trace is not None
    assert trace.queued == (1, given.now + HOUR, True)
    assert (await store.upkeep.backlog())["orphans"] == 3
    assert await store.upkeep.audit() == []


async def test_what_was_taken_up_meanwhile_is_not_undone(
    relay: CuttingRelay, shaky: PostgresStore, store: PostgresStore, given: Given, account: Account
) -> None:
    """Another node has claimed a message while its request is in doubt: it is sent, charged, and accepted."""
    accept, other = given.accept(given.message(account.id, queued=True)), given.accept(given.message(account.id))
    await lose(relay, shaky, given, account, accept, other)
    (claimed,) = await store.queue.claim(1, 9, given.now, NODE)
    assert claimed.message.key == accept.key
    relay.down = False
    await shaky.commits.record(Facts(marks={"attempted:1": 2}))
    assert [each.verdict for each in (accept, other)] == [Verdict.ACCEPTED, Verdict.UNAVAILABLE]
    assert await store.customers.balance(account.id) == 99 * CREDIT
    assert await store.upkeep.audit() == []


async def lose(relay: CuttingRelay, shaky: PostgresStore, given: Given, account: Account, *accepts: Accept) -> None:
    """Commits the requests, and loses the answer and the database."""
    # the statement is prepared: that of what is out of the ordinary, as a queued message is
    await shaky.commits.record(Facts(accepts=[given.batch(account.id, 2, price=0)]))
    relay.cut_at(1, CutEffect.UNHEARD, stays_down=True)
    with pytest.raises(Unavailable):
        await shaky.commits.record(Facts(accepts=[*accepts]))
    assert {each.verdict for each in accepts} == {Verdict.IN_DOUBT}


async def test_a_batch_that_was_taken_up_in_part_is_sent_whole(
    relay: CuttingRelay, shaky: PostgresStore, store: PostgresStore, given: Given, account: Account
) -> None:
    """Half of it was to be sent from the memory of the node, which has dropped it."""
    batch = given.batch(account.id, 4)
    for message in batch.messages[2:]:
        message.queued = True
    await lose(relay, shaky, given, account, batch)
    (claimed,) = await store.queue.claim(1, 1, given.now, NODE)
    assert claimed.message.key == batch.messages[2].key
    relay.down = False
    await shaky.commits.record(Facts())
    assert batch.verdict is Verdict.ACCEPTED
    rest = await store.queue.claim(1, 9, given.now, NODE)
    assert {each.message.key for each in rest} == {message.key for message in batch.messages} - {claimed.message.key}
    assert not any(each.attempted for each in rest)
    assert await store.upkeep.audit() == []


@pytest.mark.parametrize("is_away", [True, False])
async def test_recipients_who_opted_out_stay_left_out_when_an_answer_is_lost(
    relay: CuttingRelay, shaky: PostgresStore, store: PostgresStore, given: Given, account: Account, *, is_away: bool
) -> None:
    """The answer says which messages of a request are not to be sent. It is lost, and the request is in the store."""
    await shaky.commits.recover(0, NODE)
    await shaky.commits.record(Facts(accepts=[given.batch(account.id, 3, price=0)]))
    batch = given.batch(account.id, 3, price=CREDIT)
    gone, *rest = batch.messages
    gone.destination, rest[0].queued = "4917099", True
    await store.suppressions.suppress(account.id, [gone.destination], "api", START)
    relay.cut_at(1, CutEffect.UNHEARD, stays_down=is_away)
    with pytest.raises(Unavailable) if is_away else nullcontext():
        await shaky.commits.record(Facts(accepts=[batch]))
    if is_away:
        await store.queue.claim(1, 9, given.now, NODE)  # so the request stays
        relay.down = False
        await shaky.commits.record(Facts())
    assert relay.was_cut
    assert batch.verdict is Verdict.ACCEPTED
    assert [message.state for message in batch.messages] == [State.FAILED, State.SENT, State.SENT]
    assert (gone.price, batch.total) == (0, 2 * CREDIT)
    assert await store.customers.balance(account.id) == 98 * CREDIT


@pytest.mark.parametrize("is_away", [True, False])
async def test_an_end_that_another_node_was_faster_with_is_known_when_an_answer_is_lost(
    relay: CuttingRelay, shaky: PostgresStore, store: PostgresStore, given: Given, account: Account, *, is_away: bool
) -> None:
    """Else the customer would get a notice of either end."""
    await shaky.commits.recover(0, NODE)
    keys = [(await given.sent(account.id)).key for _ in range(3)]
    warm, ended, open_ = (
        MessageEnd(account.id, key, Delivery.REJECTD, "", given.now, owed=True, failed=True, refund=CREDIT)
        for key in keys
    )
    await shaky.commits.record(Facts(finals=[warm]))
    await store.commits.record(
        Facts(finals=[MessageEnd(account.id, ended.key, Delivery.DELIVRD, "", given.now, owed=True)])
    )
    relay.cut_at(1, CutEffect.UNHEARD, stays_down=is_away)
    facts = Facts(finals=[ended, open_])
    with pytest.raises(Unavailable) if is_away else nullcontext():
        await shaky.commits.record(facts)
    if is_away:
        relay.down = False
        await shaky.commits.record(facts)
    assert relay.was_cut
    assert [ended.superseded, open_.superseded] == [True, False]


@pytest.mark.parametrize("by_commit", [True, False])
async def test_a_request_in_doubt_stays_once_a_repeat_was_answered(
    relay: CuttingRelay, shaky: PostgresStore, store: PostgresStore, given: Given, account: Account, *, by_commit: bool
) -> None:
    """The customer asks another node, with the same reference, and gets a 200 with the first id."""
    accept = given.accept(given.message(account.id, reference="r"))
    await lose(relay, shaky, given, account, accept)
    if by_commit:
        repeat = replace(given.accept(given.message(account.id, reference="r")), fingerprint=accept.fingerprint)
        await store.commits.record(Facts(accepts=[repeat]))
        assert (repeat.verdict, repeat.key) == (Verdict.REPLAYED, accept.key)
    else:  # the repeat is refused before its commit, for example over the rate
        found = await store.customers.replayed(account.id, "r")
        assert found is not None
        assert found[1].key == accept.key
    relay.down = False
    await shaky.commits.record(Facts())
    assert accept.verdict is Verdict.ACCEPTED
    (claimed,) = await store.queue.claim(1, 9, given.now, NODE)
    assert (claimed.message.key, claimed.attempted) == (accept.key, False)
    assert await store.customers.balance(account.id) == 99 * CREDIT
    assert await store.upkeep.audit() == []


async def test_a_repeat_in_the_same_commit_keeps_its_own_key(
    relay: CuttingRelay, shaky: PostgresStore, store: PostgresStore, given: Given, account: Account
) -> None:
    """A commit has a request and its repeat, and its answer is lost. The request stays; its repeat may come again."""
    accept, repeat = (given.accept(given.message(account.id, reference="r")) for _ in range(2))
    own = repeat.key
    await lose(relay, shaky, given, account, accept, repeat)
    relay.down = False
    await shaky.commits.record(Facts())
    assert [each.verdict for each in (accept, repeat)] == [Verdict.ACCEPTED, Verdict.UNAVAILABLE]
    assert (repeat.key, repeat.messages[0].key) == (own, own)
    await shaky.commits.record(Facts(accepts=[repeat]))
    assert (repeat.verdict, repeat.key) == (Verdict.REPLAYED, accept.key)
    assert await store.customers.balance(account.id) == 99 * CREDIT


async def test_a_caller_that_uses_its_request_again_gets_the_verdict_of_the_second_commit(
    relay: CuttingRelay, shaky: PostgresStore, given: Given, account: Account
) -> None:
    accept = given.accept(given.message(account.id))
    await lose(relay, shaky, given, account, accept)
    relay.down = False
    accept.total = 1_000 * CREDIT
    await shaky.commits.record(Facts(accepts=[accept]))
    assert accept.verdict is Verdict.TOO_LITTLE_CREDIT


@pytest.mark.slow
@pytest.mark.parametrize("cut", CutEffect)
async def test_a_top_up_is_cut_and_comes_about_once(
    relay: CuttingRelay, shaky: PostgresStore, store: PostgresStore, account: Account, cut: CutEffect
) -> None:
    expected = 100 * CREDIT

    async def work() -> None:
        nonlocal expected
        expected += 5
        assert await shaky.accounts.add_credit(account.id, 5, "", START) == TopUp(expected)

    async def check() -> None:
        assert await store.customers.balance(account.id) == expected

    await at_every_cut(relay, cut, store, work, check)


@pytest.mark.slow
@pytest.mark.parametrize("cut", CutEffect)
async def test_cancelling_claiming_and_reading_are_cut(
    relay: CuttingRelay, shaky: PostgresStore, store: PostgresStore, given: Given, account: Account, cut: CutEffect
) -> None:
    expected = 100 * CREDIT

    async def work() -> None:
        nonlocal expected
        mine = await given.scheduled(account.id)
        theirs = await given.scheduled(account.id)
        expected -= CREDIT
        # found to be cancelled already, where the first answer was lost for good: never told a wrong thing
        with suppress(NotScheduled):
            await shaky.customers.cancel(account.id, mine.key, mine.tail, given.now)
        # a transaction that was cut keeps its locks until the server gives it up; one that was cut between
        # preparing a statement and executing it, until the network says that nobody is there, as the relay never does
        idle_until = time.monotonic() + 2 * LIMITS.idle
        async with asyncio.timeout(PATIENCE_S):
            while not (claimed := await shaky.queue.claim(1, 10, given.now + HOUR, NODE)):
                await asyncio.sleep(0.05)
                if time.monotonic() > idle_until:
                    await relay.deliver()
        assert [each.message.key for each in claimed] == [theirs.key]
        assert await shaky.customers.balance(account.id) == expected
        assert await history_of(shaky, account.id, mine.key, mine.tail) is not None

    async def check() -> None:
        assert await store.customers.balance(account.id) == expected

    await at_every_cut(relay, cut, store, work, check)


@pytest.mark.slow
async def test_a_claim_whose_answer_is_lost_for_long_is_not_forgotten(
    relay: CuttingRelay, shaky: PostgresStore, store: PostgresStore, given: Given, account: Account
) -> None:
    """The COMMIT of a claim is done, its answer is lost, and the database is away for longer than `resolve`. The row
    belongs to this node, so no claim would ever find it again."""
    await shaky.commits.recover(0, NODE)
    for _ in range(3):  # the statements are prepared, so that the last piece is COMMIT
        accept = given.accept(given.message(account.id, queued=True))
        await store.commits.record(Facts(accepts=[accept]))
        relay.cut_at(None)
        (claimed,) = await shaky.queue.claim(1, 9, given.now, NODE)
        assert claimed.message.key == accept.key
    accept = given.accept(given.message(account.id, queued=True))
    await store.commits.record(Facts(accepts=[accept]))
    relay.cut_at(relay.said, CutEffect.UNHEARD, stays_down=True)
    claim = asyncio.create_task(shaky.queue.claim(1, 9, given.now, NODE))
    done, _ = await asyncio.wait([claim], timeout=1.5 * LIMITS.resolve)
    assert relay.was_cut
    assert not done
    relay.down = False
    async with asyncio.timeout(PATIENCE_S):
        assert [each.message.key for each in await claim] == [accept.key]
