"""Operations of the ports `Users`, `Tokens` and `AuditLog`: users, the tokens of the admin API, and the log of their
actions."""

import json

from heliograph.adapters.store.shared.rows import ANY_KEY, json_object, texts_of
from heliograph.adapters.store.shared.steps import Operations, Q, Row, Steps, first, listing, lookup, write
from heliograph.app.configuration import Exists, Missing
from heliograph.app.ports import DamagedRow, Unavailable
from heliograph.app.records import (
    AdminSession,
    AdminToken,
    AdminUser,
    AuditEntry,
    AuditHead,
    AuditLink,
    AuditQuery,
    UserRole,
)
from heliograph.domain.security.audit_chain import details_text, entry_hash

NO_HEAD = "the end of the audit log is gone from the table deed_head: nothing can be written behind it"


class StoredUsers(Operations):
    @write
    def create(self, user: AdminUser) -> Steps[None]:
        added = yield Q.add_user(
            name=user.name, password_hash=user.password_hash, role=user.role.value, created=user.created
        )
        if not added:
            raise Exists(f"there is an admin user {user.name} already")

    @listing
    def all(self) -> Steps[list[AdminUser]]:
        rows = yield Q.users()
        return [_user(row) for row in rows]

    @listing
    def find(self, name: str) -> Steps[AdminUser | None]:
        found = yield from first(Q.user(name=name))
        return None if found is None else _user(found)

    @write
    def update(self, name: str, password_hash: str | None = None, role: UserRole | None = None) -> Steps[None]:
        if not (yield Q.update_user(name=name, password_hash=password_hash, role=role and role.value)):
            raise Missing("no such admin user")
        yield Q.end_sessions(name=name)

    @write
    def remove(self, name: str) -> Steps[None]:
        if not (yield Q.remove_user(name=name)):
            raise Missing("no such admin user")
        yield Q.remove_factors(name=name)
        yield Q.remove_recovery_codes(name=name)
        yield Q.end_sessions(name=name)

    @write
    def open_session(self, session: AdminSession) -> Steps[None]:
        yield Q.forget_sessions(now=session.created)
        yield Q.add_session(
            digest=session.digest,
            user=session.user,
            csrf=session.csrf,
            created=session.created,
            expires=session.expires,
            used=session.used,
        )

    @lookup
    def session(self, digest: bytes, now: int) -> Steps[tuple[AdminSession, AdminUser] | None]:
        found = yield from first(Q.session(digest=digest, now=now))
        return None if found is None else (AdminSession(*found[:6]), _user(found[6:]))

    @write
    def use_session(self, digest: bytes, now: int) -> Steps[None]:
        yield Q.use_session(digest=digest, now=now)

    @write
    def close_session(self, digest: bytes) -> Steps[None]:
        yield Q.close_session(digest=digest)


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
            expires=token.expires,
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


class StoredAuditLog(Operations):
    @write
    def append(self, deed: AuditEntry) -> Steps[None]:
        yield from append(deed)

    @lookup
    def head(self) -> Steps[AuditHead]:
        found = yield from first(Q.deed_head())
        if found is None:
            raise Unavailable(NO_HEAD)
        return AuditHead(*found)

    @listing
    def links(self, after: int, limit: int) -> Steps[list[AuditLink]]:
        rows = yield Q.deed_links(after=after, limit=limit)
        return [AuditLink(*row) for row in rows]

    @listing
    def find(self, query: AuditQuery) -> Steps[list[AuditEntry]]:
        rows = yield Q.deeds(
            before=ANY_KEY if query.before is None else query.before,
            actor=query.actor,
            action=query.action,
            target=query.target,
            limit=query.limit,
        )
        return [
            AuditEntry(at, actor, action, target, _details(details), address, key)
            for at, actor, action, target, details, address, key in rows
        ]


def _details(text: str | bytes) -> dict[str, str]:
    """Returns the details of an entry; none if they are damaged, which the proof of the audit log says."""
    try:
        return json_object(text)
    except ValueError:
        return {}


def append(deed: AuditEntry) -> Steps[None]:
    """Writes a line at the end of the log. Other writers wait for the commit, so it should be the last step of a
    transaction."""
    taken = yield from first(Q.next_deed())
    if taken is None:
        raise Unavailable(NO_HEAD)
    key, previous = taken
    texts = (deed.actor, deed.action, deed.target, details_text(deed.details), deed.address)
    chained = entry_hash(previous, key, deed.at, texts)
    actor, action, target, details, address = texts
    yield Q.append_deed(
        key=key, at=deed.at, actor=actor, action=action, target=target, details=details, address=address, hash=chained
    )
    yield Q.end_deeds(hash=chained)


def _user(row: Row) -> AdminUser:
    return AdminUser(row[0], row[1], UserRole(row[2]), row[3], bool(row[4]))


def _token(row: Row) -> AdminToken:
    try:
        return AdminToken(row[0], row[1], row[2], texts_of(row[3]), *row[4:])
    except ValueError:
        raise DamagedRow("admin_token.scopes", row[1]) from None
