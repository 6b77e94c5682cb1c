"""Counts margins from the facts of each commit: what messages earn over each connector, by the costs in force."""

from collections import Counter
from collections.abc import Callable

from heliograph.app.facts import Facts, Message
from heliograph.domain.money.costs import CostTable


class MarginCounter:
    """Implements `Watcher`. A segment counts once an operator took it, with both costs, as if it were delivered.

    The margin report (`app.resources.report_margin`) is exact, and reads each message. This costs two microseconds a
    segment, and nothing while no costs are in memory.
    """

    def __init__(self) -> None:
        self.costs: Callable[[], CostTable | None] = lambda: None
        """Returns the costs in force; None while they are not in memory, since no plan needs them."""
        self.earned: Counter[int] = Counter()
        """Micro-credits by connector: prices less costs of the segments with a known cost."""
        self.unknown: Counter[int] = Counter()
        """Segments without a known cost, by connector."""

    def committed(self, facts: Facts, now: int, seconds: float) -> None:  # noqa: ARG002 - the protocol's signature
        """See `app.ports.Watcher`."""
        if not facts.submissions and not facts.resends:
            return
        costs = self.costs()
        if costs is None:
            return
        for each in facts.submissions:
            if each.status == 0 and (message := each.message) is not None:
                cost = _cost(costs, each.connector, message)
                if cost is None:
                    self.unknown[each.connector] += 1
                else:
                    self.earned[each.connector] += message.price // message.segments - cost
        for resend in facts.resends:  # the price is earned over the operator that tries it next; the cost stays
            message = resend.message
            if message is not None and _cost(costs, resend.connector, message) is not None:
                self.earned[resend.connector] -= message.price


def _cost(costs: CostTable, connector: int, message: Message) -> int | None:
    return costs.cost(connector, message.destination, message.network)
