"""`app.ports.CustomerBinds`: the SMPP binds of customers, over all nodes."""

from collections.abc import Sequence

import msgspec

from heliograph.adapters.store.shared.accounts import lock_account
from heliograph.adapters.store.shared.steps import Operations, Q, Query, Steps, first, listing, lookup, write
from heliograph.app.configuration import Missing
from heliograph.app.records import BIND_ALIVE_MS, BindState, CustomerBind


class StoredBinds(Operations):
    @write
    def enter(self, bind: CustomerBind, most: int) -> Steps[bool]:
        yield from lock_account(bind.account)
        yield Q.forget_binds(alive=bind.at - BIND_ALIVE_MS)
        found = yield from first(Q.binds_of(account=bind.account, alive=bind.at - BIND_ALIVE_MS))
        if found is not None and found[0] >= most:
            return False
        yield _put(bind)
        return True

    @write
    def report(self, node: int, at: int, changed: Sequence[CustomerBind]) -> Steps[list[int]]:
        yield Q.keep_binds(node=node, at=at)
        for bind in changed:
            yield _put(bind)
        rows = yield Q.dropped_binds(node=node)
        return [number for (number,) in rows]

    @write
    def leave(self, number: int) -> Steps[None]:
        yield Q.remove_bind(id=number)

    @write
    def clear(self) -> Steps[None]:
        yield Q.clear_binds()

    @write
    def drop(self, number: int) -> Steps[None]:
        if not (yield Q.drop_bind(id=number)):
            raise Missing("no such bind")

    @lookup
    def all(self, now: int) -> Steps[list[CustomerBind]]:
        rows = yield Q.binds(alive=now - BIND_ALIVE_MS)
        return [
            CustomerBind(number, account, node, at, msgspec.json.decode(state, type=BindState))
            for number, account, node, at, state in rows
        ]

    @lookup
    def submissions(self, account: int) -> Steps[list[tuple[str, int]]]:
        rows = yield Q.submissions(account=account)
        return [(name, key) for name, key in rows]

    @write
    def forget_submissions(self, names: Sequence[tuple[int, str]]) -> Steps[None]:
        by_account: dict[int, list[str]] = {}
        for account, name in names:
            by_account.setdefault(account, []).append(name)
        for account, forgotten in by_account.items():
            yield Q.forget_submissions(account=account, names=forgotten)

    @listing
    def scheduled(
        self, account: int, sender: str, destination: str, after: int, limit: int
    ) -> Steps[list[tuple[int, int]]]:
        rows = yield Q.scheduled_to(account=account, sender=sender, destination=destination, after=after, limit=limit)
        return [(key, tail) for key, tail in rows]


def _put(bind: CustomerBind) -> Query:
    state = msgspec.json.encode(bind.state).decode()
    return Q.put_bind(id=bind.id, account=bind.account, node=bind.node, at=bind.at, state=state)
