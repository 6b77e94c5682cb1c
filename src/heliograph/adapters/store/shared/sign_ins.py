"""`app.ports.SignIns`: failures to sign in, and places that are known."""

from collections.abc import Sequence

from heliograph.adapters.store.shared.steps import Operations, Q, Steps, listing, read, write
from heliograph.app.records import KeyUse, SignInFailure, SignInPlace
from heliograph.app.sending.failure_register import DAILY


class StoredSignIns(Operations):
    @write
    def key(self, fresh: bytes) -> Steps[bytes]:
        yield Q.put_sign_in_key(key=fresh)
        (row,) = yield Q.sign_in_key()
        return bytes(row[0])

    @write
    def add(
        self, failures: Sequence[SignInFailure], places: Sequence[SignInPlace], uses: Sequence[KeyUse] = ()
    ) -> Steps[None]:
        for failure in failures:
            yield Q.add_sign_in_failure(
                door=failure.door, name=failure.name, node=failure.node, at=failure.at, failures=failure.failures
            )
        # in a fixed order, so that two nodes do not deadlock
        for place in sorted(places, key=lambda each: (each.door, each.name)):
            yield Q.add_sign_in_place(door=place.door, name=place.name, at=place.at)
        for use in sorted(uses, key=lambda each: (each.account, each.key)):
            if use.account:
                yield Q.use_key(account=use.account, key=use.key, at=use.at)
            else:
                yield Q.use_token(key=use.key, at=use.at)

    @read
    def failures(self, since: int, daily_since: int, but: int, limit: int) -> Steps[list[SignInFailure]]:
        rows = yield Q.daily_failures(since=daily_since, daily=DAILY, but=but, limit=limit)
        rows = [*rows, *(yield Q.sign_in_failures(since=since, daily=DAILY, but=but, limit=limit))][:limit]
        return [SignInFailure(door, bytes(name), *rest) for door, name, *rest in rows]

    @listing
    def places(self, limit: int) -> Steps[list[SignInPlace]]:
        rows = yield Q.sign_in_places(limit=limit)
        return [SignInPlace(door, bytes(name), at) for door, name, at in rows]

    @write
    def rehash_account(self, account: int, was: str, hashed: str) -> Steps[None]:
        yield Q.rehash_account(account=account, was=was, hashed=hashed)

    @write
    def rehash_user(self, name: str, was: str, hashed: str) -> Steps[None]:
        yield Q.rehash_user(name=name, was=was, hashed=hashed)

    @write
    def forget(self, failures_before: int, daily_before: int, places_before: int, limit: int) -> Steps[int]:
        failures = yield Q.forget_sign_in_failures(
            before=failures_before, daily=DAILY, daily_before=daily_before, limit=limit
        )
        places = yield Q.forget_sign_in_places(before=places_before, limit=limit)
        return max(len(failures), len(places))
