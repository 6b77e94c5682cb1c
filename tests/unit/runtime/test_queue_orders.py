"""Orders of administrators for waiting messages, over a whole engine in virtual time."""

import asyncio
from typing import Any

import pytest

from heliograph.app.ports.backlog import OrderAnswer, QueueAction, QueueFilter, QueueOrder
from heliograph.app.resources import queue
from heliograph.app.resources.desk import Desk
from heliograph.domain.message.state import State
from tests.unit.runtime.test_engine import Rig, scenario

EVER = 1 << 62
ANY: dict[str, Any] = {"connector": None, "account": None, "country": "", "network": "", "older_than": None}


async def burst(rig: Rig, number: int) -> None:
    for _ in range(number):
        await rig.send(rig.fresh())


def desk_of(rig: Rig) -> Desk:

    return Desk(rig.store, rig.clock, pause=asyncio.sleep)


def test_a_running_node_holds_moves_and_cancels_messages_in_its_memory() -> None:
    async def story(rig: Rig) -> None:
        await rig.connector("op2", prefix="9")
        await asyncio.sleep(2.0)
        await burst(rig, 40)
        desk = desk_of(rig)
        held = await queue.hold(desk, **ANY | {"connector": "op1"})
        assert (held["messages"] > 30, held["silent_nodes"]) == (True, 0)
        before = await rig.stays_still()
        moved = await queue.move(desk, "op2", **ANY | {"account": "acme"})
        assert moved["messages"] == held["messages"]
        assert (await queue.release(desk, **ANY | {"connector": "op2"}))["messages"] == held["messages"]
        cancelled = await queue.cancel(desk, **ANY | {"connector": "op2"})
        assert before + held["messages"] == 40
        assert cancelled["messages"] + rig.submits == 40
        assert await rig.store.backlog.rows(0, 100) == []
        assert await rig.store.upkeep.audit() == []

    scenario(story, rate=1.0)


def test_a_node_that_starts_carries_out_the_orders_of_its_absence_once() -> None:
    """Messages without a row are reached. A message that was released after its hold is not held again."""

    async def story(rig: Rig) -> None:
        await burst(rig, 20)
        await rig.kill()
        order = await rig.store.backlog.order(QueueOrder(QueueAction.HOLD, QueueFilter(EVER, EVER)), rig.clock.now())
        assert await rig.store.backlog.rows(0, 100) == []
        engine = await rig.start()
        await engine.gatherer.committed()
        rows = await rig.store.backlog.rows(0, 100)
        assert all(row.on_hold for row in rows)
        assert len(rows) >= 10, "all but a window, which may have been written"
        assert await rig.store.backlog.answers(order) == {}
        await rig.store.backlog.change(QueueAction.RELEASE, [row.key for row in rows], rig.clock.now())

        await asyncio.sleep(60.0)
        assert rig.submits >= 20
        later = await rig.store.backlog.order(QueueOrder(QueueAction.CANCEL, QueueFilter(EVER, EVER)), rig.clock.now())
        await asyncio.sleep(3.0)
        assert await rig.store.backlog.answers(later) == {rig.node: OrderAnswer(0, 0)}

    scenario(story, rate=1.0)


@pytest.mark.parametrize(
    ("orders", "waiting"),
    [
        ("hold op1, move op2, release op2", [("op2", False)]),
        ("hold op1, move op2", [("op2", True)]),
        ("move op2, hold op2", [("op2", True)]),
        ("move op2, move op1, hold op2", [("op1", False)]),
        ("hold op1, cancel op1", []),
    ],
)
def test_orders_that_follow_each_other_while_the_node_is_away_have_their_last_effect(
    orders: str, waiting: list[tuple[str, bool]]
) -> None:
    """The first order gives a message a row, which no later order would reach in memory."""

    async def story(rig: Rig) -> None:
        await rig.connector("op2", prefix="9")
        await asyncio.sleep(2.0)
        await burst(rig, 20)
        await rig.kill()
        desk, where = desk_of(rig), "op1"
        for action, name in map(str.split, orders.split(", ")):
            if action == "move":
                await queue.move(desk, name, **ANY | {"connector": where})
                where = name
            else:
                await getattr(queue, action)(desk, **ANY | {"connector": name})
        engine = await rig.start()
        await engine.gatherer.committed()
        await engine.gatherer.committed()
        names, rows = await desk.known_connectors(), await rig.store.backlog.rows(0, 100)
        assert {(names[row.connector], row.on_hold) for row in rows} == set(waiting)
        cancelled = [each for each in rig.rows.messages.values() if each.state == State.CANCELLED]
        assert max(len(rows), len(cancelled)) >= 10, "all but a window, which may have been written"

    scenario(story, rate=1.0)


def test_a_hold_that_was_released_before_the_node_came_back_is_not_carried_out() -> None:
    async def story(rig: Rig) -> None:
        await burst(rig, 20)
        await rig.kill()
        desk = desk_of(rig)
        await queue.hold(desk, **ANY | {"connector": "op1"})
        await queue.release(desk, **ANY | {"account": "acme"})
        engine = await rig.start()
        await engine.gatherer.committed()
        assert not any(row.on_hold for row in await rig.store.backlog.rows(0, 100))
        await asyncio.sleep(60.0)
        assert rig.submits >= 20

    scenario(story, rate=1.0)
