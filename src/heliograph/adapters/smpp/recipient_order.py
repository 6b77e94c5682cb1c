"""Sticky distribution of parts over several connections: a recipient keeps its connection while it has parts there."""

from collections.abc import Collection, Iterable

from heliograph.adapters.smpp.connection import BindConnection
from heliograph.app.ports import Part


class _Home:
    """The connection that has a recipient's parts, and how many of them are without an outcome."""

    __slots__ = ("connection", "count")

    def __init__(self, connection: BindConnection) -> None:
        self.connection = connection
        self.count = 0


class RecipientOrder:
    """Fills connections evenly, and keeps all parts to a recipient on the same connection. Operators deliver parts of a
    connection in order, so the parts of a long message arrive in order.
    """

    __slots__ = ("_homes",)

    def __init__(self) -> None:
        self._homes: dict[str, _Home] = {}

    def share(self, parts: Iterable[Part], connections: Collection[BindConnection]) -> dict[BindConnection, list[Part]]:
        """Divides `parts` among `connections` (at least one). Each share keeps their order."""
        free = {connection: connection.free for connection in connections}
        shares: dict[BindConnection, list[Part]] = {}
        homes = self._homes
        for part in parts:
            home = homes.get(part.message.destination)
            if home is None:
                home = homes[part.message.destination] = _Home(max(free, key=free.__getitem__))
            elif home.connection not in free:
                home.connection = max(free, key=free.__getitem__)
            home.count += 1
            connection = home.connection
            free[connection] -= 1
            share = shares.get(connection)
            if share is None:
                shares[connection] = [part]
            else:
                share.append(part)
        return shares

    def settled(self, part: Part) -> None:
        """Notes that a part has its outcome."""
        home = self._homes.get(part.message.destination)
        if home is not None:
            home.count -= 1
            if home.count <= 0:
                del self._homes[part.message.destination]
