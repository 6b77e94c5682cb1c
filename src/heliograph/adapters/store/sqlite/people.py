"""Admin users, their sessions, tokens, and the audit log."""

import json
import sqlite3
from typing import Any

from heliograph.app.admin.oversight import AdminSession, AdminToken, AdminUser, AuditEntry, AuditQuery, Role
from heliograph.app.configuration import Exists, Missing

_USERS = "SELECT name, password_hash, role, created FROM admin_user ORDER BY name"
_USER = "SELECT name, password_hash, role, created FROM admin_user WHERE name = ?"
_ADD_USER = "INSERT INTO admin_user (name, password_hash, role, created) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING"
_UPDATE_USER = "UPDATE admin_user SET password_hash = ?, role = ? WHERE name = ?"
_REMOVE_USER = "DELETE FROM admin_user WHERE name = ?"
_END_SESSIONS = "DELETE FROM admin_session WHERE user = ?"
_FORGET_SESSIONS = "DELETE FROM admin_session WHERE expires <= ?"
_ADD_SESSION = "INSERT INTO admin_session (digest, user, csrf, created, expires) VALUES (?, ?, ?, ?, ?)"
_SESSION = """
SELECT s.digest, s.user, s.csrf, s.created, s.expires, u.name, u.password_hash, u.role, u.created
FROM admin_session AS s JOIN admin_user AS u ON u.name = s.user WHERE s.digest = ? AND s.expires > ?
"""
_CLOSE_SESSION = "DELETE FROM admin_session WHERE digest = ?"
_ADD = """
INSERT INTO admin_token (id, name, digest, scopes, created, revoked) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING
"""
_ALL = "SELECT id, name, digest, scopes, created, revoked FROM admin_token ORDER BY created, id"
_IN_USE = "SELECT id, name, digest, scopes, created, revoked FROM admin_token WHERE digest = ? AND revoked IS NULL"
_REVOKE = "UPDATE admin_token SET revoked = ? WHERE id = ? AND revoked IS NULL"
_NOTE = "INSERT INTO deed (at, actor, action, target, details, address) VALUES (?, ?, ?, ?, ?, ?)"
_DEEDS = """
SELECT at, actor, action, target, details, address, key FROM deed
WHERE key < ?1 AND (?2 = '' OR actor = ?2) AND (?3 = '' OR substr(action, 1, length(?3)) = ?3)
  AND (?4 = '' OR target = ?4)
ORDER BY key DESC LIMIT ?5
"""
_ANY_KEY = (1 << 63) - 1


def create_admin(db: sqlite3.Connection, user: AdminUser) -> None:
    row = (user.name, user.password_hash, user.role.value, user.created)
    if db.execute(_ADD_USER, row).rowcount == 0:
        raise Exists(f"there is an admin user {user.name} already")


def admins(db: sqlite3.Connection) -> list[AdminUser]:
    return [_user(row) for row in db.execute(_USERS)]


def admin(db: sqlite3.Connection, name: str) -> AdminUser | None:
    row = db.execute(_USER, (name,)).fetchone()
    return _user(row) if row else None


def update_admin(db: sqlite3.Connection, user: AdminUser) -> None:
    if db.execute(_UPDATE_USER, (user.password_hash, user.role.value, user.name)).rowcount == 0:
        raise Missing("no such admin user")
    db.execute(_END_SESSIONS, (user.name,))


def remove_admin(db: sqlite3.Connection, name: str) -> None:
    if db.execute(_REMOVE_USER, (name,)).rowcount == 0:
        raise Missing("no such admin user")
    db.execute(_END_SESSIONS, (name,))


def open_session(db: sqlite3.Connection, session: AdminSession) -> None:
    db.execute(_FORGET_SESSIONS, (session.created,))
    db.execute(_ADD_SESSION, (session.digest, session.user, session.csrf, session.created, session.expires))


def session(db: sqlite3.Connection, digest: bytes, now: int) -> tuple[AdminSession, AdminUser] | None:
    row = db.execute(_SESSION, (digest, now)).fetchone()
    return (AdminSession(*row[:5]), _user(row[5:])) if row else None


def close_session(db: sqlite3.Connection, digest: bytes) -> None:
    db.execute(_CLOSE_SESSION, (digest,))


def add_token(db: sqlite3.Connection, token: AdminToken) -> None:
    row = (token.id, token.name, token.digest, json.dumps(token.scopes), token.created, token.revoked)
    if db.execute(_ADD, row).rowcount == 0:
        raise Exists(f"there is a token {token.id} already")


def tokens(db: sqlite3.Connection) -> list[AdminToken]:
    return [_token(row) for row in db.execute(_ALL)]


def token(db: sqlite3.Connection, digest: bytes) -> AdminToken | None:
    row = db.execute(_IN_USE, (digest,)).fetchone()
    return _token(row) if row else None


def revoke_token(db: sqlite3.Connection, token: str, now: int) -> None:
    if db.execute(_REVOKE, (now, token)).rowcount == 0:
        raise Missing("no such token, or it is revoked already")


def note(db: sqlite3.Connection, deed: AuditEntry) -> None:
    details = json.dumps(deed.details, ensure_ascii=False)
    db.execute(_NOTE, (deed.at, deed.actor, deed.action, deed.target, details, deed.address))


def deeds(db: sqlite3.Connection, query: AuditQuery) -> list[AuditEntry]:
    before = _ANY_KEY if query.before is None else query.before
    rows = db.execute(_DEEDS, (before, query.actor, query.action, query.target, query.limit))
    return [
        AuditEntry(at, actor, action, target, json.loads(details), address, key)
        for at, actor, action, target, details, address, key in rows
    ]


def _user(row: tuple[Any, ...]) -> AdminUser:
    return AdminUser(row[0], row[1], Role(row[2]), row[3])


def _token(row: tuple[Any, ...]) -> AdminToken:
    return AdminToken(row[0], row[1], row[2], tuple(json.loads(row[3])), row[4], row[5])
