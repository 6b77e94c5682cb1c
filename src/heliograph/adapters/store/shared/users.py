"""`app.ports.Users`: who administers, and their sessions of the console."""

from heliograph.adapters.store.shared.steps import Operations, Q, Row, Steps, first, listing, lookup, write
from heliograph.app.admin.oversight import AdminSession, AdminUser, UserRole
from heliograph.app.configuration import Exists, Missing


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
    def update(self, user: AdminUser) -> Steps[None]:
        updated = yield Q.update_user(name=user.name, password_hash=user.password_hash, role=user.role.value)
        if not updated:
            raise Missing("no such admin user")
        yield Q.end_sessions(name=user.name)

    @write
    def remove(self, name: str) -> Steps[None]:
        if not (yield Q.remove_user(name=name)):
            raise Missing("no such admin user")
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
        )

    @lookup
    def session(self, digest: bytes, now: int) -> Steps[tuple[AdminSession, AdminUser] | None]:
        found = yield from first(Q.session(digest=digest, now=now))
        return None if found is None else (AdminSession(*found[:5]), _user(found[5:]))

    @write
    def close_session(self, digest: bytes) -> Steps[None]:
        yield Q.close_session(digest=digest)


def _user(row: Row) -> AdminUser:
    return AdminUser(row[0], row[1], UserRole(row[2]), row[3])
