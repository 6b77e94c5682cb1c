"""Shares operators' binds among several nodes: each bind is a slot that a single node has at a time."""

from collections.abc import Callable, Iterable
from dataclasses import replace

from heliograph.app.configuration import Connector
from heliograph.app.ports import Leases


class BindSlots:
    """Leases bind slots of connectors. For example, two nodes share a connector with four binds: each leases two slots,
    and sends at half of its rate."""

    def __init__(self, leases: Leases, node: int, most: int) -> None:
        """`most`: most slots of a connector for this node; 0 takes all free slots."""
        self._leases = leases
        self._node = node
        self._most = most
        self._leased: dict[int, int] = {}
        self._usable: dict[int, int] = {}
        self._numbers: dict[int, frozenset[int]] = {}

    async def share_out(self, connectors: Iterable[Connector], is_down: Callable[[int, int], bool]) -> None:
        """Takes free slots, and returns unwanted slots once their binds are down. `is_down(connector, binds)`: returns
        whether at most that many binds of the connector are left. Raises Unavailable."""
        binds = {connector.id: connector.binds for connector in connectors if connector.enabled}
        for number in {**binds, **self._leased}:
            all_ = binds.get(number, 0)
            want = min(all_, self._most or all_)
            leased = self._leased.get(number, 0)
            kept = min(want, sum(slot < all_ for slot in self._numbers.get(number, ())))
            if leased > kept:
                self._usable[number] = kept
                if not is_down(number, kept):
                    continue
            elif leased == want:
                continue
            slots = await self._leases.lease_binds(number, self._node, all_, want)
            self._leased[number] = self._usable[number] = len(slots)
            self._numbers[number] = frozenset(slots)

    def of(self, connector: int) -> int:
        """Returns the number of binds of the connector that this node may have."""
        return self._usable.get(connector, 0)

    def has_turn(self, connector: int, key: int, binds: int) -> bool:
        """True if this node has the slot that is responsible for a key, among all `binds` of the connector."""
        return (key * 0x9E3779B97F4A7C15 >> 40) % binds in self._numbers.get(connector, ())

    def part(self, connector: Connector) -> Connector:
        """Returns the connector as this node runs it: with the node's binds and their share of the rate."""
        held = self.of(connector.id)
        rate = connector.rate * held / connector.binds
        return replace(connector, binds=held, rate=rate)

    def lose(self) -> None:
        """Drops all slots, because the lease lapsed. They may be used again once `share_out` has leased them."""
        self._leased.clear()
        self._usable.clear()
        self._numbers.clear()
