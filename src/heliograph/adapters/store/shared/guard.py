"""`app.ports.Guard`: traffic by hours, and held ranges."""

from collections.abc import Sequence

from heliograph.adapters.store.shared.accounts import lock_account
from heliograph.adapters.store.shared.ledger import cancel_waiting
from heliograph.adapters.store.shared.network import tables_changed
from heliograph.adapters.store.shared.rows import hold_of
from heliograph.adapters.store.shared.steps import Operations, Q, Steps, lookup, write
from heliograph.app.configuration import Missing, TrafficHold
from heliograph.app.ports.guard import HeldTraffic
from heliograph.domain.limits.pumping import TrafficCount, TrafficFigures
from heliograph.domain.message.state import Trigger


class StoredGuard(Operations):
    @write
    def add(self, counts: Sequence[TrafficCount], since: int) -> Steps[list[TrafficFigures]]:
        found = []
        # in a fixed order, so that two nodes do not deadlock
        for each in sorted(counts, key=lambda count: (count.account, count.prefix, count.hour)):
            yield Q.add_traffic(
                account=each.account,
                prefix=each.prefix,
                hour=each.hour,
                messages=each.messages,
                near=each.near,
                ended=each.ended,
                failed=each.failed,
            )
            rows = yield Q.traffic(account=each.account, prefix=each.prefix, since=since, hour=each.hour)
            earlier = [row[1] for row in rows[:-1] if row[1]]
            now = TrafficCount(each.account, each.prefix, *rows[-1])
            found.append(TrafficFigures(now, len(earlier), sum(earlier)))
        return found

    @write
    def hold(self, hold: TrafficHold, quiet: int) -> Steps[bool]:
        began = yield Q.hold_traffic(
            account=hold.account,
            prefix=hold.prefix,
            since=hold.since,
            why=hold.why,
            observed=hold.is_observed,
            quiet=quiet,
        )
        if began:
            yield tables_changed()
        return bool(began)

    @lookup
    def holds(self, limit: int) -> Steps[list[HeldTraffic]]:
        rows = yield Q.traffic_holds()
        found = []
        for row in rows:
            hold = hold_of(row)
            ((messages, price),) = yield Q.held_number(account=hold.account, prefix=hold.prefix, limit=limit)
            found.append(HeldTraffic(hold, messages, price))
        return found

    @write
    def release(self, account: int, prefix: str, now: int) -> Steps[None]:
        if not (yield Q.end_hold(account=account, prefix=prefix, now=now)):
            raise Missing("no such hold")
        yield tables_changed()

    @write
    def release_all(self, account: int, now: int) -> Steps[int]:
        rows = yield Q.end_holds(account=account, now=now)
        if rows:
            yield tables_changed()
        return len(rows)

    @write
    def refund(self, account: int, prefix: str, now: int, limit: int) -> Steps[int]:
        yield from lock_account(account)
        if not (yield Q.is_held(account=account, prefix=prefix)):
            raise Missing("no such hold")
        rows = yield Q.held_messages(account=account, prefix=prefix, limit=limit)
        keys = [key for (key,) in rows]
        if not keys:
            return 0
        yield Q.lock_queued(keys=keys)
        rows = yield Q.held_among(keys=keys)
        keys = sorted(key for (key,) in rows)
        yield from cancel_waiting(account, keys, Trigger.OPT_OUT, now, "held and refunded")
        return len(keys)

    @write
    def let_go(self, now: int, limit: int) -> Steps[int]:
        keys = [key for (key,) in (yield Q.let_go(now=now, limit=limit))]
        if keys:
            yield Q.end_message_holds(keys=keys, now=now)
        return len(keys)

    @write
    def forget(self, before: int, limit: int) -> Steps[int]:
        rows = yield Q.forget_traffic(before=before, limit=limit)
        return len(rows)
