"""`app.ports.Factors`: second factors and recovery codes."""

from collections.abc import Sequence

from heliograph.adapters.store.shared.steps import Operations, Q, Steps, first, lookup, write
from heliograph.app.configuration import Exists, Missing
from heliograph.app.ports.factors import FactorKind, SecondFactor


class StoredFactors(Operations):
    @lookup
    def of(self, user: str) -> Steps[list[SecondFactor]]:
        rows = yield Q.factors(name=user)
        return [
            SecondFactor(user, id_, FactorKind(kind), name, bytes(secret), counter, created, used)
            for user, id_, name, secret, counter, created, used, kind in rows
        ]

    @write
    def add(self, factor: SecondFactor, codes: Sequence[bytes]) -> Steps[None]:
        if not (yield Q.user(name=factor.user)):
            raise Missing("no such admin user")
        added = yield Q.add_factor(
            name=factor.user,
            id=factor.id,
            kind=factor.kind.value,
            title=factor.name,
            secret=factor.secret,
            counter=factor.counter,
            created=factor.created,
        )
        if not added:
            raise Exists(f"there is a second factor {factor.id} already")
        if codes:
            yield from _replace_codes(factor.user, codes)

    @write
    def remove(self, user: str, factor: str) -> Steps[None]:
        if not (yield Q.remove_factor(name=user, id=factor)):
            raise Missing("no such second factor")
        if not (yield Q.factors(name=user)):
            yield Q.remove_recovery_codes(name=user)

    @write
    def advance(self, user: str, factor: str, counter: int, now: int) -> Steps[bool]:
        return bool((yield Q.advance_factor(name=user, id=factor, counter=counter, now=now)))

    @write
    def replace_codes(self, user: str, codes: Sequence[bytes]) -> Steps[None]:
        yield from _replace_codes(user, codes)

    @write
    def use_code(self, user: str, code: bytes) -> Steps[bool]:
        return bool((yield Q.use_recovery_code(name=user, digest=code)))

    @lookup
    def codes_left(self, user: str) -> Steps[int]:
        found = yield from first(Q.recovery_codes(name=user))
        return 0 if found is None else int(found[0])

    @write
    def reset(self, user: str) -> Steps[None]:
        if not (yield Q.remove_factors(name=user)):
            raise Missing("no second factor")
        yield Q.remove_recovery_codes(name=user)
        yield Q.end_sessions(name=user)


def _replace_codes(user: str, codes: Sequence[bytes]) -> Steps[None]:
    yield Q.remove_recovery_codes(name=user)
    for code in codes:
        yield Q.add_recovery_code(name=user, digest=code)
