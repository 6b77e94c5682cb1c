"""Admin users, their sessions, tokens, and the audit log."""

import json
from collections.abc import Sequence
from typing import Any

from heliograph.adapters.store.postgres.db import Db
from heliograph.app.admin.oversight import AdminSession, AdminToken, AdminUser, AuditEntry, AuditQuery, Role
from heliograph.app.configuration import Exists, Missing

_USERS = 'SELECT name, password_hash, role, created FROM admin_user ORDER BY name COLLATE "C"'
_USER = "SELECT name, password_hash, role, created FROM admin_user WHERE name = $1"
_ADD_USER = """
INSERT INTO admin_user (name, password_hash, role, created) VALUES ($1, $2, $3, $4)
ON CONFLICT DO NOTHING RETURNING 1
"""
_UPDATE_USER = "UPDATE admin_user SET password_hash = $1, role = $2 WHERE name = $3 RETURNING 1"
_REMOVE_USER = "DELETE FROM admin_user WHERE name = $1 RETURNING 1"
_END_SESSIONS = "DELETE FROM admin_session WHERE person = $1"
_FORGET_SESSIONS = "DELETE FROM admin_session WHERE expires <= $1"
_ADD_SESSION = "INSERT INTO admin_session (digest, person, csrf, created, expires) VALUES ($1, $2, $3, $4, $5)"
_SESSION = """
SELECT s.digest, s.person, s.csrf, s.created, s.expires, u.name, u.password_hash, u.role, u.created
FROM admin_session AS s JOIN admin_user AS u ON u.name = s.person WHERE s.digest = $1 AND s.expires > $2
"""
_CLOSE_SESSION = "DELETE FROM admin_session WHERE digest = $1"
_ADD = """
INSERT INTO admin_token (id, name, digest, scopes, created, revoked) VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT DO NOTHING RETURNING 1
"""
_ALL = 'SELECT id, name, digest, scopes, created, revoked FROM admin_token ORDER BY created, id COLLATE "C"'
_IN_USE = "SELECT id, name, digest, scopes, created, revoked FROM admin_token WHERE digest = $1 AND revoked IS NULL"
_REVOKE = "UPDATE admin_token SET revoked = $1 WHERE id = $2 AND revoked IS NULL RETURNING 1"
_NOTE = "INSERT INTO deed (at, actor, action, target, details, address) VALUES ($1, $2, $3, $4, $5, $6)"
_DEEDS = """
SELECT at, actor, action, target, details, address, key FROM deed
WHERE key < $1 AND ($2 = '' OR actor = $2) AND ($3 = '' OR starts_with(action, $3)) AND ($4 = '' OR target = $4)
ORDER BY key DESC LIMIT $5
"""
_ANY_KEY = (1 << 63) - 1


async def create_admin(db: Db, user: AdminUser) -> None:
    if await db.fetchval(_ADD_USER, user.name, user.password_hash, user.role.value, user.created) is None:
        raise Exists(f"there is an admin user {user.name} already")


async def admins(db: Db) -> list[AdminUser]:
    return [_user(row) for row in await db.fetch(_USERS)]


async def admin(db: Db, name: str) -> AdminUser | None:
    row = await db.fetchrow(_USER, name)
    return _user(row) if row else None


async def update_admin(db: Db, user: AdminUser) -> None:
    if await db.fetchval(_UPDATE_USER, user.password_hash, user.role.value, user.name) is None:
        raise Missing("no such admin user")
    await db.execute(_END_SESSIONS, user.name)


async def remove_admin(db: Db, name: str) -> None:
    if await db.fetchval(_REMOVE_USER, name) is None:
        raise Missing("no such admin user")
    await db.execute(_END_SESSIONS, name)


async def open_session(db: Db, session: AdminSession) -> None:
    await db.execute(_FORGET_SESSIONS, session.created)
    await db.execute(_ADD_SESSION, session.digest, session.user, session.csrf, session.created, session.expires)


async def session(db: Db, digest: bytes, now: int) -> tuple[AdminSession, AdminUser] | None:
    row = await db.fetchrow(_SESSION, digest, now)
    return (AdminSession(*tuple(row)[:5]), _user(tuple(row)[5:])) if row else None


async def close_session(db: Db, digest: bytes) -> None:
    await db.execute(_CLOSE_SESSION, digest)


async def add_token(db: Db, token: AdminToken) -> None:
    scopes = json.dumps(token.scopes)
    row = (token.id, token.name, token.digest, scopes, token.created, token.revoked)
    if await db.fetchval(_ADD, *row) is None:
        raise Exists(f"there is a token {token.id} already")


async def tokens(db: Db) -> list[AdminToken]:
    return [_token(row) for row in await db.fetch(_ALL)]


async def token(db: Db, digest: bytes) -> AdminToken | None:
    row = await db.fetchrow(_IN_USE, digest)
    return _token(row) if row else None


async def revoke_token(db: Db, token: str, now: int) -> None:
    if await db.fetchval(_REVOKE, now, token) is None:
        raise Missing("no such token, or it is revoked already")


async def note(db: Db, deed: AuditEntry) -> None:
    details = json.dumps(deed.details, ensure_ascii=False)
    await db.execute(_NOTE, deed.at, deed.actor, deed.action, deed.target, details, deed.address)


async def deeds(db: Db, query: AuditQuery) -> list[AuditEntry]:
    before = _ANY_KEY if query.before is None else query.before
    rows = await db.fetch(_DEEDS, before, query.actor, query.action, query.target, query.limit)
    return [
        AuditEntry(at, actor, action, target, json.loads(details), address, key)
        for at, actor, action, target, details, address, key in rows
    ]


def _user(row: Sequence[Any]) -> AdminUser:
    return AdminUser(row[0], row[1], Role(row[2]), row[3])


def _token(row: Sequence[Any]) -> AdminToken:
    return AdminToken(row[0], row[1], row[2], tuple(json.loads(row[3])), row[4], row[5])
