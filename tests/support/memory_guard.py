"""The pumping guard in the in-memory store."""

from collections.abc import Sequence
from dataclasses import replace

from heliograph.app.configuration import Missing, TrafficHold
from heliograph.app.facts import NO_ANSWER
from heliograph.app.ports import HeldTraffic
from heliograph.domain.limits.gate import FIRST_RANGE, OF_ADMINISTRATOR
from heliograph.domain.limits.pumping import TrafficCount, TrafficFigures
from tests.support.memory_rows import MemoryPart, end_holds
from tests.support.memory_suppressions import withdraw_waiting


class MemoryGuard(MemoryPart):
    """`app.ports.Guard`."""

    async def add(self, counts: Sequence[TrafficCount], since: int) -> list[TrafficFigures]:
        rows = self._open()
        found = []
        for each in counts:
            row = rows.traffic.setdefault(
                (each.account, each.prefix, each.hour), TrafficCount(each.account, each.prefix, each.hour)
            )
            row.messages += each.messages
            row.near += each.near
            row.ended += each.ended
            row.failed += each.failed
            earlier = [
                other.messages
                for (account, prefix, hour), other in rows.traffic.items()
                if (account, prefix) == (each.account, each.prefix) and since <= hour < each.hour and other.messages
            ]
            found.append(TrafficFigures(replace(row), len(earlier), sum(earlier)))
        return found

    async def hold(self, hold: TrafficHold, quiet: int) -> bool:
        rows = self._open()
        known = rows.holds.get((hold.account, hold.prefix))
        if known is not None and not _is_over(*known, hold, quiet):
            return False
        rows.holds[hold.account, hold.prefix] = (hold, None)
        rows.revision += 1
        return True

    async def holds(self, limit: int) -> list[HeldTraffic]:
        rows = self._open()
        found = []
        for _, (hold, ended) in sorted(rows.holds.items()):
            if ended is None:
                keys = self._held(hold.account, hold.prefix)[:limit]
                found.append(HeldTraffic(hold, len(keys), sum(rows.messages[key].price for key in keys)))
        return found

    async def release(self, account: int, prefix: str, now: int) -> None:
        rows = self._open()
        rows.holds[account, prefix] = (self._find(account, prefix), now)
        rows.revision += 1

    async def release_all(self, account: int, now: int) -> int:
        rows = self._open()
        found = [key for key, (_, ended) in rows.holds.items() if key[0] == account and ended is None]
        for key in found:
            rows.holds[key] = (rows.holds[key][0], now)
        rows.revision += len(found) > 0
        return len(found)

    async def refund(self, account: int, prefix: str, now: int, limit: int) -> int:
        rows = self._open()
        if self._find(account, prefix).is_observed:
            raise Missing("no such hold")
        resent = {each.key for each in rows.attempts if each.status in (0, NO_ANSWER)}
        keys = [
            key
            for key in self._held(account, prefix)
            if not rows.queue[key].attempted and not any(of == key for of, _ in rows.sent) and key not in resent
        ][:limit]
        withdraw_waiting(self._place, keys, now, "held and refunded")
        return len(keys)

    async def let_go(self, now: int, limit: int) -> int:
        rows = self._open()
        holding = [key for key, (hold, ended) in rows.holds.items() if ended is None and not hold.is_observed]
        free = [
            key
            for key, row in rows.queue.items()
            if (row.held or "") >= FIRST_RANGE and row.node is None
            if (rows.messages[key].account, row.held) not in holding
        ][:limit]
        for key in free:
            rows.queue[key].due, rows.queue[key].held = now, None
        end_holds(rows, free, now)
        return len(free)

    async def forget(self, before: int, limit: int) -> int:
        rows = self._open()
        old = sorted(key for key in rows.traffic if key[2] < before)[:limit]
        for key in old:
            del rows.traffic[key]
        return len(old)

    def _find(self, account: int, prefix: str) -> TrafficHold:
        hold, ended = self._open().holds.get((account, prefix), (None, None))
        if hold is None or ended is not None:
            raise Missing("no such hold")
        return hold

    def _held(self, account: int, prefix: str) -> list[int]:
        rows = self._open()
        return sorted(
            key
            for key, row in rows.queue.items()
            if row.held in (prefix, OF_ADMINISTRATOR + prefix) and row.node is None
            if rows.messages[key].account == account
        )


def _is_over(known: TrafficHold, ended: int | None, hold: TrafficHold, quiet: int) -> bool:
    """Returns True if another hold may begin, or be noted, in place of the known hold."""
    if ended is not None:
        return ended < quiet
    return known.is_observed != hold.is_observed or (known.is_observed and known.since < quiet)
