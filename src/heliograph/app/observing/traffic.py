"""Traffic of watched accounts for the pumping guard: collected right after each commit, counted a few seconds later.

Without watched accounts a commit pays for one test; with them, for two lists that grow. Messages beyond MOST in a round
are ignored: that many are a surge in any case.
"""

from itertools import islice
from typing import Any, Final

from heliograph.app.facts import Accept, Facts, MessageEnd, Verdict
from heliograph.domain.limits.pumping import Neighbourhood, TrafficCount, range_of
from heliograph.domain.message.receipt import Delivery

MOST: Final = 5_000
"""Requests, and ends of messages, of watched accounts that are gathered until they are counted; and messages of these
requests that are counted."""

MOST_PAIRS: Final = 5_000
"""Pairs of account and range that are counted at once. Beyond this limit, some of the least recently used are
forgotten.
"""

MOST_OPEN: Final = 50_000
"""Messages that wait for their end. Beyond this limit, some of the oldest are forgotten."""

FORGOTTEN: Final = 8
"""Divisor: an eighth is forgotten at once. A dictionary finds its oldest key only behind all deleted keys, so
forgetting them singly would be slow."""

HOUR_MS: Final = 3_600_000

_ACCEPTED: Final = Verdict.ACCEPTED
_DELIVERED: Final = Delivery.DELIVRD

Pair = tuple[int, str]


class TrafficWatch:
    """Implements `app.ports.Watcher`. `watched` are the accounts that the guard watches."""

    def __init__(self) -> None:
        self.watched: frozenset[int] = frozenset()
        self._accepts: list[Accept] = []
        self._finals: list[MessageEnd] = []
        self._open: dict[int, Pair] = {}
        self._ranges: dict[Pair, _Range] = {}

    def committed(self, facts: Facts, now: int, seconds: float) -> None:
        """Collects the facts to be counted."""
        del now, seconds  # it is counted into the hour in which it is taken
        watched = self.watched
        if watched:
            if facts.accepts and len(self._accepts) < MOST:
                self._accepts += [each for each in facts.accepts if each.account in watched]
            if facts.finals and len(self._finals) < MOST:
                self._finals += [each for each in facts.finals if each.account in watched]

    def take(self, now: int) -> list[TrafficCount]:
        """Counts the facts collected since the last call, into the hour of `now` (ms)."""
        accepts, finals = self._accepts, self._finals
        self._accepts, self._finals = [], []
        round_ = _Round(self._ranges, now // HOUR_MS * HOUR_MS)
        left = MOST
        for accept in accepts:
            if accept.verdict is _ACCEPTED and left > 0:
                left -= len(accept.messages)
                self._sent(accept, round_)
        for final in finals:
            pair = self._open.pop(final.key, None)
            if pair is not None and final.state is not None:
                count = round_.range(pair).count
                count.ended += 1
                count.failed += final.state is not _DELIVERED
        _forget_oldest(self._ranges, MOST_PAIRS)
        _forget_oldest(self._open, MOST_OPEN)
        return round_.counts

    def _sent(self, accept: Accept, round_: "_Round") -> None:
        for message in accept.messages:
            destination = message.destination
            found = round_.range((accept.account, range_of(destination)))
            count = found.count
            count.messages += 1
            if found.known.meet(destination):
                count.near += 1
            self._open[message.key] = found.pair


class _Range:
    """Numbers of a range, such as `49100...`, that an account sent to, and their count in this round."""

    __slots__ = ("count", "known", "pair")

    def __init__(self, pair: Pair, count: TrafficCount) -> None:
        self.pair = pair
        self.count = count
        self.known = Neighbourhood()


class _Round:
    """Counts into an hour, by range."""

    __slots__ = ("_hour", "_ranges", "_seen", "counts")

    def __init__(self, ranges: dict[Pair, _Range], hour: int) -> None:
        self._ranges = ranges
        self._hour = hour
        self._seen: dict[Pair, _Range] = {}
        self.counts: list[TrafficCount] = []

    def range(self, pair: Pair) -> _Range:
        """Returns the range, with a count of this round."""
        found = self._seen.get(pair)
        if found is None:
            count = TrafficCount(pair[0], pair[1], self._hour)
            found = self._ranges.pop(pair, None)
            if found is None:
                found = _Range(pair, count)
            found.count = count
            self._ranges[pair] = self._seen[pair] = found  # moves it to the end, as the latest
            self.counts.append(count)
        return found


def _forget_oldest(kept: dict[Any, Any], most: int) -> None:
    if len(kept) > most:
        for key in list(islice(kept, len(kept) - most + most // FORGOTTEN)):
            del kept[key]
