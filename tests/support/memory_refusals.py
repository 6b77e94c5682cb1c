"""Refused requests in the in-memory store."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from heliograph.app.records import RefusalCount, RefusalQuery, RefusalTotal, RefusedRequest
from tests.support.memory_rows import MemoryPart

HOUR_MS = 3_600_000


class MemoryRefusedRequests(MemoryPart):
    """`app.ports.RefusedRequests`."""

    async def add(self, counts: Sequence[RefusalCount], latest: Sequence[RefusedRequest], most: int) -> None:
        rows = self._open()
        for count in counts:
            key = (count.account, count.reason, count.hour)
            known = rows.refusal_counts.get(key)
            if known is None:
                rows.refusal_counts[key] = replace(count)
            else:
                known.requests += count.requests
                known.latest = max(known.latest, count.latest)
        rows.refused_requests += latest
        for kind in {(each.account, each.reason) for each in latest}:
            kept = [each for each in rows.refused_requests if (each.account, each.reason) == kind]
            dropped = {id(each) for each in kept[: max(0, len(kept) - most)]}
            rows.refused_requests = [each for each in rows.refused_requests if id(each) not in dropped]

    def _counts(self, query: RefusalQuery) -> list[RefusalCount]:
        since = query.since // HOUR_MS * HOUR_MS
        return [each for each in self._open().refusal_counts.values() if each.hour >= since and _is(each, query)]

    async def totals(self, query: RefusalQuery, limit: int) -> list[RefusalTotal]:
        totals: dict[tuple[int, str], RefusalTotal] = {}
        for each in self._counts(query):
            total = totals.setdefault((each.account, each.reason), RefusalTotal(each.account, each.reason, 0, 0))
            total.requests += each.requests
            total.latest = max(total.latest, each.latest)
        return sorted(totals.values(), key=lambda each: (-each.requests, each.account, each.reason))[:limit]

    async def hours(self, query: RefusalQuery) -> list[tuple[int, int]]:
        hours: Counter[int] = Counter()
        for each in self._counts(query):
            hours[each.hour] += each.requests
        return sorted(hours.items())

    async def latest(self, query: RefusalQuery, limit: int) -> list[RefusedRequest]:
        rows = self._open().refused_requests
        places = [place for place, each in enumerate(rows) if each.at >= query.since and _is(each, query)]
        return [
            rows[place] for place in sorted(places, key=lambda place: (rows[place].at, place), reverse=True)[:limit]
        ]

    async def forget(self, before: int, limit: int) -> int:
        rows = self._open()
        counts = sorted(key for key in rows.refusal_counts if key[2] < before)[:limit]
        for key in counts:
            del rows.refusal_counts[key]
        old = sorted((each for each in rows.refused_requests if each.at < before), key=lambda each: each.at)[:limit]
        gone = {id(each) for each in old}
        rows.refused_requests = [each for each in rows.refused_requests if id(each) not in gone]
        return max(len(counts), len(old))


def _is(row: RefusalCount | RefusedRequest, query: RefusalQuery) -> bool:
    return query.account in (None, row.account) and query.reason in (None, row.reason)
