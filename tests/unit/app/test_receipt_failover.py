"""A message that its operator took and did not deliver goes to the next connector of its route."""

from collections import Counter

import pytest

from heliograph.app.connector_kind import FailoverPolicy
from heliograph.app.dispatch.dispatcher import Dispatcher
from heliograph.app.facts import Facts, Message, MessageEnd, Verdict
from heliograph.app.ports import Accepted, Outcome, Part, Refused, Report, Unknown
from heliograph.app.receipts.lookup import ReceiptLookup
from heliograph.app.receipts.matcher import ReceiptMatcher
from heliograph.domain.message.receipt import Delivery
from tests.support.memory_store import MemoryStore
from tests.support.store import CREDIT, HOUR, Given
from tests.support.use_case_fakes import LONG, Messages, NotedGathering, SetClock, SetRouter, accept_of, open_lanes

UNDELIVERED = Delivery.UNDELIV, "011"
POLICY = FailoverPolicy(receipts=frozenset({UNDELIVERED, (Delivery.REJECTD, "")}))


class World:
    """A store that nodes share, and an account."""

    def __init__(self) -> None:
        self.store = MemoryStore()
        self.clock = SetClock()
        self.router = SetRouter(1, 2, 3)
        self.messages = Messages(self.clock)
        self.acknowledged: Counter[str] = Counter()


class Node:
    """A dispatcher and a matcher over the store, with three connectors that take every message."""

    def __init__(self, world: World, worker: int | None = None, policy: FailoverPolicy = POLICY) -> None:
        self.world = world
        self.number = 7 + (worker or 0)
        self.gathering = NotedGathering()
        self.ended: list[Delivery] = []
        clock, store = world.clock, world.store
        self.matcher = ReceiptMatcher(self.gathering, clock, store.receipts, self._finish, worker=worker)
        self.lookup = ReceiptLookup(self.matcher, self.gathering, clock)
        self.dispatcher = Dispatcher(self.gathering, clock, self.matcher, self._finish, world.router)
        self.carriers = open_lanes(self.dispatcher, policy)

    def _finish(self, message: Message, final: MessageEnd) -> None:
        self.ended.append(final.state)

    async def commit(self, *messages: Message) -> Facts:
        accepts = [accept_of(each) for each in messages]
        self.gathering.facts.accepts += accepts
        self.dispatcher.prepare(self.gathering.facts, self.world.clock.now())
        self.matcher.prepare()
        facts = self.gathering.take()
        await self.world.store.commits.record(facts)
        assert all(accept.verdict is Verdict.ACCEPTED for accept in accepts)
        self.matcher.committed()
        self.dispatcher.committed()
        self.dispatcher.pump()
        return facts

    async def written(self, connector: int) -> list[Part]:
        """Claims the connector's rows, and returns the parts that are written to it then."""
        await self.dispatcher.claims.refill(self.dispatcher.lane(connector), self.world.store.queue, self.number)
        await self.commit()
        return self.carriers[connector].take()

    async def take(self, connector: int, *parts: Part, outcome: Outcome | None = None) -> None:
        """The operator takes the parts, as `a0`, `a1` ... of connector 1."""
        for part in parts:
            answer = outcome or Accepted(f"{'abc'[connector - 1]}{part.segment}")
            self.dispatcher.outcomes.on_outcome(self.dispatcher.lane(connector), part, answer)
        await self.commit()

    async def send(self, content: str = "Hello", **fields: int) -> Message:
        """Sends a message over connector 1."""
        message = self.world.messages(content, **fields)
        await self.commit(message)
        await self.take(1, *self.carriers[1].take())
        return message

    async def report(self, name: str, state: Delivery = Delivery.UNDELIV, err: str = "011") -> Facts:
        """A receipt of the operator that gave this id, and its commit."""
        await self.hear(name, state, err)
        return await self.commit()

    async def hear(self, name: str, state: Delivery = Delivery.UNDELIV, err: str = "011") -> None:
        report = Report(name, "4917012345678", state, True, err)
        connector = 1 + "abc".index(name[0])
        self.matcher.on_report(connector, report, lambda kept: self.world.acknowledged.update([name] * kept))
        await self.lookup.look_up()


@pytest.fixture
async def world() -> World:
    world = World()
    await Given(world.store).account("acme", 1_000 * CREDIT)
    return world


async def test_each_connector_tries_a_message_until_it_is_delivered(world: World) -> None:
    node = Node(world)
    message = await node.send()
    facts = await node.report("a0")
    assert [(each.connector, each.instead) for each in facts.resends] == [(1, 2)]
    await node.take(2, *(await node.written(2)))
    await node.report("b0", Delivery.REJECTD, "77")
    await node.take(3, *(await node.written(3)))
    assert node.ended == []
    facts = await node.report("c0")
    assert (facts.resends, node.ended) == ([], [Delivery.UNDELIV])
    (final,) = facts.finals
    assert (final.key, final.connector, final.failed) == (message.key, 3, False)
    assert await world.store.customers.balance(1) == 999 * CREDIT
    assert node.dispatcher.outcomes.failovers == {(1, "undelivered"): 1, (2, "undelivered"): 1}


@pytest.mark.parametrize(
    ("state", "err"), [(Delivery.UNDELIV, "012"), (Delivery.EXPIRED, "011"), (Delivery.UNDELIV, "")]
)
async def test_other_receipts_end_a_message(world: World, state: Delivery, err: str) -> None:
    node = Node(world)
    await node.send()
    assert not (await node.report("a0", state, err)).resends
    assert node.ended == [state]


async def test_no_other_operator_tries_a_message_with_a_delivered_part(world: World) -> None:
    node = Node(world)
    await node.send(LONG)
    await node.report("a0")
    await node.report("a1", Delivery.DELIVRD, "000")
    assert not (await node.report("a2")).resends
    assert node.ended == [Delivery.UNDELIV]


@pytest.mark.parametrize("elsewhere", [False, True])
async def test_a_message_stays_while_its_first_copy_may_arrive(world: World, elsewhere: bool) -> None:
    node, other = Node(world, 0), Node(world, 1)
    await node.commit(world.messages())
    await node.take(1, *node.carriers[1].take(), outcome=Unknown("no answer"))
    await node.commit()
    await node.take(1, *node.carriers[1].take())
    assert not (await (other if elsewhere else node).report("a0")).resends
    assert node.ended + other.ended == [Delivery.UNDELIV]


async def test_a_message_stays_while_a_lane_has_a_copy_of_a_part(world: World) -> None:
    """Late answers to the first copies came to another node."""
    node = Node(world, 0)
    message = await node.send(LONG)
    node.matcher.awaited.tracks[message.key].held = 1
    for name in ("a0", "a1", "a2"):
        assert not (await node.report(name)).resends
    assert node.ended == [Delivery.UNDELIV]


async def test_a_long_message_moves_as_a_whole(world: World) -> None:
    node = Node(world)
    message = await node.send(LONG)
    for name in ("a2", "a0"):
        assert not (await node.report(name)).resends
    assert [each.instead for each in (await node.report("a1")).resends] == [2]
    parts = await node.written(2)
    assert [part.segment for part in parts] == [0, 1, 2]
    await node.take(2, *parts)
    for name in ("b0", "b1", "b2"):
        await node.report(name, Delivery.DELIVRD, "000")
    assert node.ended == [Delivery.DELIVRD]
    assert await world.store.customers.deliveries([message.key]) == {
        message.key: (Delivery.DELIVRD, "000", world.clock.now())
    }


async def test_a_message_ends_where_no_other_operator_may_try(world: World) -> None:
    node = Node(world)
    world.router.obstacles |= {2: "paused", 3: "down"}
    await node.send()
    await node.report("a0")
    world.router.obstacles.clear()
    await node.send(expires=world.clock.now() + HOUR)
    world.clock.pass_ms(HOUR)
    await node.report("a0")
    meek = Node(world, policy=FailoverPolicy(most=0, receipts=frozenset({UNDELIVERED})))
    await meek.send()
    await meek.report("a0")
    assert node.ended + meek.ended == [Delivery.UNDELIV] * 3


async def test_receipts_that_are_given_up_move_no_message(world: World) -> None:
    node = Node(world, policy=FailoverPolicy(receipts=frozenset({(Delivery.UNKNOWN, "")})))
    await node.send(expires=world.clock.now() + HOUR)
    world.clock.pass_ms(48 * HOUR)
    node.matcher.prepare()
    node.matcher.spill(node.gathering.facts, world.clock.now(), 1 << 60)
    await node.commit()
    await node.commit()
    await node.lookup.give_up(world.clock.now(), 10)
    assert not (await node.commit()).resends
    assert node.ended == [Delivery.UNKNOWN]


async def test_receipts_that_come_again_change_nothing(world: World) -> None:
    node = Node(world)
    await node.send()
    await node.report("a0")
    assert not (await node.report("a0")).resends
    await node.take(2, *(await node.written(2)))
    await node.report("a0")
    await node.report("b0", Delivery.DELIVRD, "000")
    assert node.ended == [Delivery.DELIVRD]
    assert world.acknowledged == {"a0": 3, "b0": 1}


@pytest.mark.parametrize("expires", [False, True])
async def test_a_message_that_an_operator_had_is_not_refunded(world: World, expires: bool) -> None:
    node = Node(world)
    message = await node.send()
    await node.report("a0")
    if expires:
        world.clock.pass_ms(48 * HOUR)
        await node.dispatcher.claims.drop_expired(world.store.queue, node.number, 10)
    else:
        await node.take(2, *(await node.written(2)), outcome=Refused(0x0B, Delivery.REJECTD, "11"))
    await node.commit()
    assert node.ended == [Delivery.EXPIRED if expires else Delivery.REJECTD]
    assert await world.store.customers.balance(1) == 999 * CREDIT
    assert message.key not in world.store._place.rows.queue


# --- several nodes


async def test_a_receipt_may_come_to_another_node(world: World) -> None:
    sender, other = Node(world, 0), Node(world, 1)
    await sender.send()
    assert [each.instead for each in (await other.report("a0")).resends] == [2]
    assert not (await sender.report("a0")).resends, "the operator repeats it"
    world.router.obstacles |= {2: "paused", 3: "down"}
    await sender.report("a0")
    assert sender.ended == other.ended == []
    world.router.obstacles.clear()
    await sender.take(2, *(await sender.written(2)))
    await other.report("b0", Delivery.DELIVRD, "000")
    assert (sender.ended, other.ended) == ([], [Delivery.DELIVRD])


@pytest.mark.parametrize("claims", [0, 1])
async def test_receipts_of_parts_may_come_to_different_nodes(world: World, claims: int) -> None:
    sender, other = nodes = Node(world, 0), Node(world, 1)
    await sender.send(LONG)
    await sender.report("a0")
    await other.report("a1")
    assert [each.instead for each in (await other.report("a2")).resends] == [2]
    world.clock.pass_ms(2_000)
    await sender.lookup.look_again()
    assert not (await sender.commit()).resends
    claimer = nodes[claims]
    await claimer.take(2, *(await claimer.written(2)))
    for name in ("b0", "b1", "b2"):
        await nodes[1 - claims].report(name, Delivery.DELIVRD, "000")
    world.clock.pass_ms(2_000)
    for node in nodes:
        await node.lookup.look_again()
        await node.commit()
    assert sender.ended + other.ended == [Delivery.DELIVRD]


async def test_nodes_that_decide_at_the_same_time_move_a_message_once(world: World) -> None:
    sender, other = Node(world, 0), Node(world, 1)
    message = await sender.send()
    await sender.hear("a0")
    world.router.obstacles[2] = "paused"
    await other.hear("a0")
    for node in (sender, other):
        assert len((await node.commit()).resends) == 1
    assert world.store._place.rows.queue[message.key].connector == 2
    assert sender.ended == other.ended == []
