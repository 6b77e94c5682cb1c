"""Orders of administrators for messages in the lanes' memory."""

from typing import Any

import pytest

from heliograph.app.dispatch.orders import carry_out
from heliograph.app.ports import Accepted, Deferred
from heliograph.app.ports.backlog import OrderAnswer, QueueAction, QueueFilter, QueueOrder
from heliograph.domain.message.state import State
from tests.support.store import CREDIT, NODE
from tests.support.use_case_fakes import LONG
from tests.unit.app.test_withdrawals import BALANCE, EVER, OTHER, Desk, desk

__all__ = ["desk"]


def order(action: QueueAction, to: int = 0, **wanted: Any) -> QueueOrder:
    return QueueOrder(action, QueueFilter(**{"until": EVER, "before": EVER, **wanted}), to)


@pytest.mark.parametrize(
    ("wanted", "meant"),
    [
        ({}, [0, 1]),
        ({"country": "DE"}, [0]),
        ({"network": "26201"}, [0]),
        ({"connector": 1, "account": 1}, [0, 1]),
        ({"connector": 2}, []),
        ({"account": 2}, []),
        ({"until": 1}, []),
        ({"before": 1}, []),
    ],
)
async def test_a_cancellation_refunds_the_messages_that_fit(
    desk: Desk, wanted: dict[str, Any], meant: list[int]
) -> None:
    messages = [desk.messages(network="26201"), desk.messages(destination=OTHER)]
    for message in messages:
        await desk.commit(message)
    assert carry_out(desk.dispatcher, [order(QueueAction.CANCEL, **wanted)]) == [OrderAnswer(len(meant), 0)]
    desk.carrier.capacity = 10
    await desk.go_on(3)
    assert desk.carrier.keys == [each.key for n, each in enumerate(messages) if n not in meant]
    assert [n for n, each in enumerate(messages) if await desk.state(each) is State.CANCELLED] == meant
    assert await desk.balance() == BALANCE - CREDIT * (2 - len(meant))


async def test_held_messages_wait_in_rows_until_they_are_released(desk: Desk) -> None:
    message = desk.messages()
    await desk.commit(message)
    assert carry_out(desk.dispatcher, [order(QueueAction.HOLD)]) == [OrderAnswer(1, 0)]
    desk.carrier.capacity = 10
    await desk.go_on(3)
    assert desk.carrier.keys == []
    (row,) = await desk.store.backlog.rows(0, 10)
    assert row.on_hold
    await desk.store.backlog.change(QueueAction.RELEASE, [message.key], desk.clock.now())
    await desk.dispatcher.claims.refill(desk.lane, desk.store.queue, NODE)
    await desk.go_on(3)
    assert desk.carrier.keys == [message.key]


async def test_moved_messages_wait_for_the_other_connector(desk: Desk) -> None:
    """Messages that wait for it already, and messages of an account with a row, included."""
    message = desk.messages()
    await desk.commit(message)
    move = order(QueueAction.MOVE, 2)
    assert carry_out(desk.dispatcher, [move]) == [OrderAnswer(1, 0)]
    await desk.commit()
    (row,) = await desk.store.backlog.rows(0, 10)
    assert (row.connector, row.is_claimed) == (2, False)
    await desk.dispatcher.claims.refill(desk.dispatcher.lane(2), desk.store.queue, NODE)
    assert carry_out(desk.dispatcher, [move]) == [OrderAnswer(0, 0)]
    assert carry_out(desk.dispatcher, [order(QueueAction.MOVE, 1)]) == [OrderAnswer(1, 0)]


@pytest.mark.parametrize("action", [QueueAction.MOVE, QueueAction.HOLD, QueueAction.CANCEL])
async def test_a_message_of_which_a_part_may_have_left_goes_on(desk: Desk, action: QueueAction) -> None:
    desk.carrier.capacity = 1
    await desk.commit(desk.messages(LONG))
    await desk.commit()
    assert len(desk.carrier.parts) == 1
    assert carry_out(desk.dispatcher, [order(action, 2)]) == [OrderAnswer(0, 1)]
    desk.dispatcher.outcomes.on_outcome(desk.lane, desk.carrier.parts[0], Accepted("1"))
    assert carry_out(desk.dispatcher, [order(action, 2)]) == [OrderAnswer(0, 1)]
    desk.carrier.capacity = 10
    await desk.go_on(3)
    assert len(desk.carrier.parts) == 3
    assert await desk.store.backlog.rows(0, 10) == []


async def test_a_message_that_an_earlier_operator_took_goes_on(desk: Desk) -> None:
    message = desk.messages()
    await desk.commit(message)
    next(desk.lane.items()).resent = True
    for action in (QueueAction.MOVE, QueueAction.HOLD, QueueAction.CANCEL):
        assert carry_out(desk.dispatcher, [order(action, 2)]) == [OrderAnswer(0, 0)]
    desk.carrier.capacity = 10
    await desk.go_on(3)
    assert desk.carrier.keys == [message.key]


async def test_a_part_that_the_operator_throttled_has_not_left(desk: Desk) -> None:
    desk.carrier.capacity = 1
    message = desk.messages()
    await desk.commit(message)
    desk.dispatcher.outcomes.on_outcome(desk.lane, desk.carrier.parts[0], Deferred(0x58, 5.0, throttled=True))
    assert carry_out(desk.dispatcher, [order(QueueAction.CANCEL)]) == [OrderAnswer(1, 0)]
    await desk.commit()
    assert await desk.state(message) is State.CANCELLED


async def test_orders_that_come_together_are_followed_to_their_end_and_answered_each(desk: Desk) -> None:
    released, moved = desk.messages(), desk.messages(destination=OTHER)
    for message in (released, moved):
        await desk.commit(message)
    orders = [
        order(QueueAction.HOLD),
        order(QueueAction.MOVE, 2, country="GB"),
        order(QueueAction.RELEASE, country="DE"),
    ]
    for number, each in enumerate(orders):
        each.id = number
    assert carry_out(desk.dispatcher, orders) == [OrderAnswer(1, 0), OrderAnswer(1, 0), OrderAnswer(0, 0)]
    desk.carrier.capacity = 10
    await desk.go_on(3)
    assert desk.carrier.keys == [released.key]
    [row] = await desk.store.backlog.rows(0, 10)
    assert (row.key, row.connector, row.on_hold) == (moved.key, 2, True)
