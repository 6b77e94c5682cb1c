"""What happens in the lanes while a commit is under way, which another thread, or a database, may take its time for."""

from unittest.mock import patch

from heliograph.app.dispatch import claims
from heliograph.app.dispatch.account_order import SpillStage
from heliograph.app.dispatch.dispatcher import Dispatcher
from heliograph.app.dispatch.lane import Lane
from heliograph.app.facts import NOT_SENT, Facts, Message, MessageEnd
from heliograph.app.ports import Accepted, Deferred, Unknown
from heliograph.app.receipts.matcher import ReceiptMatcher
from tests.support.memory_store import MemoryStore
from tests.support.store import CREDIT, Given
from tests.support.use_case_fakes import Messages, NotedCarrier, NotedGathering, SetClock, SetRouter, accept_of

FAR = 1 << 62
GONE, LIVE = 2, 1
"""A connector that was removed, and the one that its messages are sent by instead."""


class Desk:
    """A dispatcher over a store, whose commits are begun and ended by hand."""

    def __init__(self) -> None:
        self.store = MemoryStore()
        self.clock = SetClock()
        self.gathering = NotedGathering()
        matcher = ReceiptMatcher(self.gathering, self.clock, self.store.receipts, self._finish)
        self.dispatcher = Dispatcher(self.gathering, self.clock, matcher, self._finish, SetRouter(LIVE))
        self.messages = Messages(self.clock)
        self.lane = self.dispatcher.lane(LIVE)
        self.lane.window.pace.limit(0.0, 1_000_000.0)

    def _finish(self, message: Message, final: MessageEnd) -> None:
        raise AssertionError(f"{message.key} ended: {final}")

    def begin(self, *messages: Message, connector: int = LIVE) -> Facts:
        for message in messages:
            message.connector = connector
            self.gathering.facts.accepts.append(accept_of(message))
        self.dispatcher.prepare(self.gathering.facts, self.clock.now())
        return self.gathering.take()

    async def end(self, facts: Facts) -> None:
        await self.store.commits.record(facts)
        self.dispatcher.committed()
        self.dispatcher.pump()

    async def commit(self, *messages: Message, connector: int = LIVE) -> None:
        await self.end(self.begin(*messages, connector=connector))

    async def reclaim_one(self, lane: Lane) -> None:
        with patch.object(claims, "SLOW_MESSAGES", 1):
            await self.dispatcher.claims.reclaim(lane, self.store.queue, 1)


async def test_what_a_commit_under_way_accepts_is_not_left_to_a_row_that_it_does_not_write() -> None:
    desk = Desk()
    await Given(desk.store).account("a", 1_000 * CREDIT)
    await desk.dispatcher.claims.open(desk.lane, desk.store.queue)
    desk.lane.window.carrier = carrier = NotedCarrier(capacity=0)
    gone = desk.dispatcher.lane(GONE)
    gone.closed = True
    await desk.commit(*(desk.messages() for _ in range(3)), connector=GONE)
    await desk.reclaim_one(gone)
    await desk.dispatcher.claims.refill(
        desk.lane, desk.store.queue, 1
    )  # before the commit that gives the row: none is found
    assert [backlog.stage for backlog in desk.lane.queues.by_account.values()] == [SpillStage.DRAINING]
    new = desk.messages()
    facts = desk.begin(new)
    queued = new.queued
    await desk.reclaim_one(gone)
    new.queued = queued  # as it was when the commit began, which has read it
    await desk.end(facts)
    carrier.capacity = 10
    sent: list[int] = []
    for _ in range(60):
        await desk.commit()
        await desk.dispatcher.claims.refill(desk.lane, desk.store.queue, 1)
        await desk.reclaim_one(gone)
        for part in carrier.take():
            sent.append(part.message.key)
            desk.dispatcher.outcomes.on_outcome(desk.lane, part, Accepted(str(part.message.key)))
        desk.clock.pass_ms(1_000)
    assert new.key in sent
    assert len(sent) == 4


async def test_what_a_lost_bind_never_wrote_goes_before_what_was_marked_meanwhile() -> None:
    desk = Desk()
    await Given(desk.store).account("a", 1_000 * CREDIT)
    desk.lane.window.carrier = carrier = NotedCarrier(capacity=20)  # two binds of ten
    await desk.commit(*(desk.messages() for _ in range(15)))
    parts = carrier.take()
    facts = desk.begin(*(desk.messages() for _ in range(5)))
    carrier.capacity = 10
    for part in parts[:10]:
        desk.dispatcher.outcomes.on_outcome(desk.lane, part, Unknown("lost"))
    for part in parts[10:]:
        desk.dispatcher.outcomes.on_outcome(desk.lane, part, Deferred(NOT_SENT, 0.0))
    await desk.end(facts)
    first_sent = dict.fromkeys(part.message.key for part in parts[:10])
    for _ in range(10):
        for part in carrier.take():
            first_sent[part.message.key] = None
            desk.dispatcher.outcomes.on_outcome(desk.lane, part, Accepted(str(part.message.key)))
        await desk.commit()
    assert list(first_sent) == sorted(first_sent)
    assert len(first_sent) == 20
