"""Orders of administrators for waiting messages in the lanes' memory: move, hold or cancel them. A release changes
none, since held messages have rows: it ends a hold that the node has not carried out yet.

A message that an order changes gets a row, and has left the memory. So orders that a node takes together are followed
to their end for each message, and only the outcome is applied.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import partial

from heliograph.app.dispatch.dispatcher import Dispatcher
from heliograph.app.dispatch.lane import Lane
from heliograph.app.dispatch.lane_item import LaneItem
from heliograph.app.ports.backlog import OrderAnswer, QueueAction, QueueOrder
from heliograph.domain.limits.gate import OF_ADMINISTRATOR


def carry_out(dispatcher: Dispatcher, orders: Sequence[QueueOrder]) -> list[OrderAnswer]:
    """Applies orders, the first one first, to the messages in memory. Returns an answer to each. A message goes on if
    any part of it may have left.

    Must be called once for each order, at the end of a commit that began after it: all messages that were accepted
    before the order are then in the lanes. A second call could undo a later order.
    """
    changed, spared = Counter[int](), defaultdict[int, set[int]](set)
    for order in orders:
        if order.action is QueueAction.MOVE:
            target = dispatcher.lane(order.connector)
            target.kept_below = max(target.kept_below, order.wanted.before)
    for lane in list(dispatcher.lanes.values()):
        obeyed_by = partial(_obeyed_by, orders, lane.connector)
        for item in lane.withdraw(obeyed_by):
            obeyed = obeyed_by(item)
            changed.update(order.id for order in obeyed)
            _apply(dispatcher, lane, item, obeyed)
        for item in lane.items():
            for order in () if item.row else obeyed_by(item):
                spared[order.id].add(item.message.key)
    if changed:
        dispatcher.gathering.wake()
        dispatcher.gathering.wake_feeder()
    return [OrderAnswer(changed[order.id], len(spared[order.id])) for order in orders]


def _obeyed_by(orders: Sequence[QueueOrder], connector: int, item: LaneItem) -> list[QueueOrder]:
    """Returns the orders that change a message, without holds that a later order releases. A message that an operator
    took and did not deliver is left alone."""
    obeyed: list[QueueOrder] = []
    for order in () if item.resent else orders:
        if not order.means(connector, item.message):
            continue
        if order.action is QueueAction.RELEASE:
            obeyed = [each for each in obeyed if each.action is not QueueAction.HOLD]
            continue
        obeyed.append(order)
        if order.action is QueueAction.CANCEL:
            break
        if order.action is QueueAction.MOVE:
            connector = order.connector
    return obeyed


def _apply(dispatcher: Dispatcher, lane: Lane, item: LaneItem, obeyed: Sequence[QueueOrder]) -> None:
    """Gives a message that has left its lane the outcome of the orders."""
    outcomes, actions = dispatcher.outcomes, [order.action for order in obeyed]
    if QueueAction.CANCEL in actions:
        outcomes.withdraw(lane, item, "cancelled in the queue")
        return
    moves = [order.connector for order in obeyed if order.action is QueueAction.MOVE]
    if QueueAction.HOLD not in actions:
        lane.forget(item)
        outcomes.requeue(dispatcher.lane(moves[-1]), item)
        return
    if moves:
        lane.forget(item)
        outcomes.unknown.forget(item.message.key)
        lane = dispatcher.lane(moves[-1])
    outcomes.put_off(lane, item, item.message.time, OF_ADMINISTRATOR)
