"""Orders of administrators for the waiting messages in this node's memory: takes them from the store and answers."""

from heliograph.app.dispatch.dispatcher import Dispatcher
from heliograph.app.dispatch.orders import carry_out
from heliograph.app.ports import Backlog
from heliograph.runtime.group_commit import GroupCommit


class QueueOrders:
    """Carries out each order once."""

    def __init__(self, backlog: Backlog, node: int, gatherer: GroupCommit, dispatcher: Dispatcher) -> None:
        self._backlog = backlog
        self._node = node
        self._gatherer = gatherer
        self._dispatcher = dispatcher
        self._last = 0
        """Id of the last order that was carried out."""

    async def catch_up(self) -> None:
        """Carries out the orders of the time when the node was away, at its start. Only messages without a row are in
        memory then. No order has reached them, because a changed message has a row. Raises Unavailable."""
        orders = await self._backlog.orders(0)
        carry_out(self._dispatcher, orders)
        self._last = orders[-1].id if orders else 0

    async def heed(self) -> None:
        """Carries out new orders, and answers each when its changes are committed. Raises Unavailable."""
        orders = await self._backlog.orders(self._last)
        if not orders:
            return
        await self._gatherer.committed()
        answers = carry_out(self._dispatcher, orders)
        self._last = orders[-1].id
        await self._gatherer.committed()
        for order, answer in zip(orders, answers, strict=True):
            await self._backlog.answer(order.id, self._node, answer)
