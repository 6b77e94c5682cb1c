"""Which of several links takes which part."""

from collections.abc import Collection, Iterable

from heliograph.adapters.smpp.link import Link
from heliograph.app.ports import Part


class _Home:
    """The link that has a recipient's parts, and how many of them are without an outcome."""

    __slots__ = ("count", "link")

    def __init__(self, link: Link) -> None:
        self.link = link
        self.count = 0


class Spread:
    """Fills links evenly, and keeps together what goes to one recipient: operators deliver what comes over one link
    in its order, and the parts of a long message arrive as they were sent.
    """

    __slots__ = ("_homes",)

    def __init__(self) -> None:
        self._homes: dict[str, _Home] = {}

    def share(self, parts: Iterable[Part], links: Collection[Link]) -> dict[Link, list[Part]]:
        """The links' shares, in the order of `parts`; `links` is not empty."""
        free = {link: link.free for link in links}
        shares: dict[Link, list[Part]] = {}
        homes = self._homes
        for part in parts:
            home = homes.get(part.message.destination)
            if home is None:
                home = homes[part.message.destination] = _Home(max(free, key=free.__getitem__))
            elif home.link not in free:
                home.link = max(free, key=free.__getitem__)
            home.count += 1
            link = home.link
            free[link] -= 1
            share = shares.get(link)
            if share is None:
                shares[link] = [part]
            else:
                share.append(part)
        return shares

    def over(self, part: Part) -> None:
        """The part has its outcome."""
        home = self._homes.get(part.message.destination)
        if home is not None:
            home.count -= 1
            if home.count <= 0:
                del self._homes[part.message.destination]
