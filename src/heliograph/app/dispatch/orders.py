"""Orders of administrators for waiting messages in the lanes' memory: move, hold or cancel them. A release changes
none, since held messages have rows: it ends holds that a node has not carried out yet."""

from collections.abc import Collection, Sequence
from functools import partial

from heliograph.app.dispatch.dispatcher import Dispatcher
from heliograph.app.facts import Message
from heliograph.app.ports.backlog import OrderAnswer, QueueAction, QueueOrder
from heliograph.domain.limits.gate import OF_ADMINISTRATOR


def carry_out(dispatcher: Dispatcher, order: QueueOrder, later: Sequence[QueueOrder] = ()) -> OrderAnswer:
    """Applies an order to the messages in memory. A message goes on if any part of it may have left, or if one of the
    `later` orders releases it from its hold.

    Must be called once for each order, at the end of a commit that began after it: all messages that were accepted
    before the order are then in the lanes. A second call could undo a later order.
    """
    if order.action is QueueAction.RELEASE:
        return OrderAnswer(0, 0)
    is_hold = order.action is QueueAction.HOLD
    releases = [each for each in later if is_hold and each.action is QueueAction.RELEASE]
    outcomes, changed, spared = dispatcher.outcomes, 0, set[int]()
    if order.action is QueueAction.MOVE:
        target = dispatcher.lane(order.connector)
        target.kept_below = max(target.kept_below, order.wanted.before)
    for lane in list(dispatcher.lanes.values()):
        resent = {item.message.key for item in lane.items() if item.resent}
        is_meant = partial(_is_meant, order, releases, lane.connector, resent)
        for item in lane.withdraw(is_meant):
            changed += 1
            if order.action is QueueAction.CANCEL:
                outcomes.withdraw(lane, item, "cancelled in the queue")
            elif order.action is QueueAction.HOLD:
                outcomes.put_off(lane, item, item.message.time, OF_ADMINISTRATOR)
            else:
                lane.forget(item)
                outcomes.requeue(dispatcher.lane(order.connector), item)
        spared |= {item.message.key for item in lane.items() if not item.row and is_meant(item.message)}
    if changed:
        dispatcher.gathering.wake()
        dispatcher.gathering.wake_feeder()
    return OrderAnswer(changed, len(spared))


def _is_meant(
    order: QueueOrder, releases: Sequence[QueueOrder], connector: int, resent: Collection[int], message: Message
) -> bool:
    """Returns whether an order is for a message. An operator took the `resent` messages, and did not deliver them."""
    if message.key in resent or not order.means(connector, message):
        return False
    return not any(each.means(connector, message) for each in releases)
