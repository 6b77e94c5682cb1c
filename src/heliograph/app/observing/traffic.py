"""Traffic of watched accounts, for the pumping guard: gathered right after each commit, counted a while later.

The path of messages pays one test a commit where nobody is watched, and else for two lists that grow. What is beyond
MOST of a round is passed over: so much more is a surge, whether or not all of it is counted.
"""

import typing

from heliograph.app.facts import Accept, Facts, Final, Verdict
from heliograph.domain.pumping import Neighbourhood, TrafficCount, range_of
from heliograph.domain.receipt import Delivery

MOST: typing.Final = 5_000
"""Requests, and ends of messages, that are gathered until they are counted."""

MOST_PAIRS: typing.Final = 5_000
"""Accounts and ranges that are told apart at once; of more, the one heard of longest ago is forgotten."""

MOST_OPEN: typing.Final = 50_000
"""Messages whose end is waited for; of more, the oldest is forgotten."""

HOUR_MS: typing.Final = 3_600_000

Pair = tuple[int, str]


class TrafficWatch:
    """Implements `app.ports.Watcher`. `watched` are the accounts that the guard watches."""

    def __init__(self) -> None:
        self.watched: frozenset[int] = frozenset()
        self._accepts: list[Accept] = []
        self._finals: list[Final] = []
        self._open: dict[int, Pair] = {}
        self._neighbours: dict[Pair, Neighbourhood] = {}

    def committed(self, facts: Facts, now: int, seconds: float) -> None:
        """Keeps what is to be counted."""
        del now, seconds  # it is counted into the hour in which it is taken
        if self.watched:
            if facts.accepts and len(self._accepts) < MOST:
                self._accepts += facts.accepts
            if facts.finals and len(self._finals) < MOST:
                self._finals += facts.finals

    def take(self, now: int) -> list[TrafficCount]:
        """Counts what was gathered since the last time, into the hour of `now` (ms)."""
        accepts, finals = self._accepts, self._finals
        self._accepts, self._finals = [], []
        counts: dict[Pair, TrafficCount] = {}
        hour = now // HOUR_MS * HOUR_MS
        for accept in accepts:
            if accept.verdict is Verdict.ACCEPTED and accept.account in self.watched:
                self._sent(accept, counts, hour)
        for final in finals:
            pair = self._open.pop(final.key, None)
            if pair is not None and final.state is not None:
                count = _count(counts, pair, hour)
                count.ended += 1
                count.failed += final.state is not Delivery.DELIVRD
        return list(counts.values())

    def _sent(self, accept: Accept, counts: dict[Pair, TrafficCount], hour: int) -> None:
        for message in accept.messages:
            pair = (accept.account, range_of(message.destination))
            count = _count(counts, pair, hour)
            count.messages += 1
            known = self._neighbours.pop(pair, None) or Neighbourhood()
            self._neighbours[pair] = known
            count.near += known.meet(message.destination)
            self._open[message.key] = pair
        while len(self._neighbours) > MOST_PAIRS:
            del self._neighbours[next(iter(self._neighbours))]
        while len(self._open) > MOST_OPEN:
            del self._open[next(iter(self._open))]


def _count(counts: dict[Pair, TrafficCount], pair: Pair, hour: int) -> TrafficCount:
    count = counts.get(pair)
    if count is None:
        count = counts[pair] = TrafficCount(*pair, hour)
    return count
