"""`app.ports.Tokens`: what programs show to the admin API."""

import json

from heliograph.adapters.store.shared.steps import Operations, Q, Row, Steps, first, listing, lookup, write
from heliograph.app.admin.oversight import AdminToken
from heliograph.app.configuration import Exists, Missing


class StoredTokens(Operations):
    @write
    def add(self, token: AdminToken) -> Steps[None]:
        added = yield Q.add_token(
            id=token.id,
            name=token.name,
            digest=token.digest,
            scopes=json.dumps(token.scopes),
            created=token.created,
            revoked=token.revoked,
        )
        if not added:
            raise Exists(f"there is a token {token.id} already")

    @listing
    def all(self) -> Steps[list[AdminToken]]:
        rows = yield Q.tokens()
        return [_token(row) for row in rows]

    @lookup
    def find(self, digest: bytes) -> Steps[AdminToken | None]:
        found = yield from first(Q.token(digest=digest))
        return None if found is None else _token(found)

    @write
    def revoke(self, token: str, now: int) -> Steps[None]:
        if not (yield Q.revoke_token(token=token, now=now)):
            raise Missing("no such token, or it is revoked already")


def _token(row: Row) -> AdminToken:
    return AdminToken(row[0], row[1], row[2], tuple(json.loads(row[3])), row[4], row[5])
