"""Administration of users and tokens."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from heliograph.app.admin.second_factors import RESET
from heliograph.app.admin.sign_in import digest
from heliograph.app.configuration import Exists, Missing
from heliograph.app.ports import Clock, Secrets, Store
from heliograph.app.records import AdminToken, AdminUser, UserRole, read_scopes
from heliograph.app.resources.desk import AlreadyThere, Desk, Invalid, NoSuch, check_name
from heliograph.app.resources.keys import parse_expiry
from heliograph.app.sending.authenticate import Hash
from heliograph.domain.calendar import format_utc
from heliograph.domain.security.secret_text import ADMIN_TOKEN, RANDOM_OCTETS, make_secret

MIN_PASSWORD_CHARS = 10
MAX_PASSWORD_CHARS = 128
MAX_TOKEN_NAME_CHARS = 64

_PASSWORD_OCTETS = 12
_TOKEN_ID_OCTETS = 4


@dataclass(slots=True)
class NewToken:
    """A token with its secret, which is known only now."""

    token: AdminToken
    secret: str = field(repr=False)


class ManageUsers(Desk):
    """Methods raise Invalid, NoSuch or AlreadyThere for mistakes of the user, and the store's Unavailable."""

    def __init__(
        self,
        store: Store,
        secrets: Secrets,
        clock: Clock,
        actor: str = "system",
        address: str = "",
        hash_password: Hash | None = None,
    ) -> None:
        """Without `hash_password` a password is hashed on the loop."""
        super().__init__(store, clock, actor, address, secrets=secrets, hash_password=hash_password)

    # --- users

    async def create(self, name: str, role: str, password: str | None = None) -> str:
        """Adds a user; returns the password, which is made up where none is given."""
        check_name("name", name)
        chosen = self._password(password)
        user = AdminUser(name, await self.hash_password(chosen), _role(role), self._clock.now())
        try:
            await self.audited("admin.create", name, {"role": user.role.value}).users.create(user)
        except Exists:
            raise AlreadyThere("admin user", name) from None
        return chosen

    async def everyone(self) -> list[AdminUser]:
        """Returns every user, by name."""
        return await self.store.users.all()

    async def set_password(self, name: str, password: str | None = None) -> str:
        """Replaces the password and ends the user's sessions; returns the new one."""
        await self._find(name)
        chosen = self._password(password)
        password_hash = await self.hash_password(chosen)
        # Read after the hash, which takes its time: what changed meanwhile, the role above all, must stay so.
        changed = replace(await self._find(name), password_hash=password_hash)
        await self._update(self.audited("admin.set-password", name), changed)
        return chosen

    async def set_role(self, name: str, role: str) -> None:
        """Changes what the user may do, and ends their sessions."""
        user = await self._find(name)
        await self._update(
            self.audited("admin.set-role", name, {"role": role, "was": user.role.value}),
            replace(user, role=_role(role)),
        )

    async def remove(self, name: str) -> None:
        """Removes a user and ends their sessions. The audit log keeps what the user was."""
        gone = await self._find(name)
        was = {"role": gone.role.value, "created": format_utc(gone.created)}
        try:
            await self.audited("admin.remove", name, was).users.remove(name)
        except Missing:
            raise NoSuch("admin user", name) from None

    async def reset_second_factor(self, name: str) -> None:
        """Removes the second factors and recovery codes of a user who lost them, and ends the user's sessions."""
        await self._find(name)
        lost = ", ".join(each.name for each in await self.store.factors.of(name))
        try:
            await self.audited(RESET, name, {"removed": lost}).factors.reset(name)
        except Missing:
            raise NoSuch("second factor of the admin user", name) from None

    # --- tokens

    async def create_token(self, name: str, scopes: Iterable[str], expires: str = "") -> NewToken:
        if not 1 <= len(name) <= MAX_TOKEN_NAME_CHARS or not name.isprintable():
            raise Invalid("name", f"a token's name is one line of 1 to {MAX_TOKEN_NAME_CHARS} printable characters")
        try:
            granted = read_scopes(scopes)
        except ValueError as problem:
            raise Invalid("scopes", str(problem)) from None
        now = self._clock.now()
        until = parse_expiry(expires, now)
        secret = make_secret(ADMIN_TOKEN, self.secrets.octets(RANDOM_OCTETS))
        token_id = self.secrets.octets(_TOKEN_ID_OCTETS).hex()
        token = AdminToken(token_id, name, digest(secret), granted, now, expires=until)
        details = {"name": name, "scopes": " ".join(granted)}
        if until is not None:
            details["expires"] = format_utc(until)
        await self.audited("token.create", token.id, details).tokens.add(token)
        return NewToken(token, secret)

    async def tokens(self) -> list[AdminToken]:
        """Returns every token, the oldest first, revoked ones included."""
        return await self.store.tokens.all()

    async def revoke_token(self, token: str) -> None:
        """Makes a token useless. The audit log keeps what it was."""
        was: dict[str, str] = {}
        for each in await self.tokens():
            if each.id == token:
                was = {"name": each.name, "scopes": " ".join(each.scopes), "created": format_utc(each.created)}
        try:
            await self.audited("token.revoke", token, was).tokens.revoke(token, self._clock.now())
        except Missing:
            raise NoSuch("token in use with the id", token) from None

    # --- inside

    async def _find(self, name: str) -> AdminUser:
        found = await self.store.users.find(name)
        if found is None:
            raise NoSuch("admin user", name)
        return found

    async def _update(self, audited: Store, user: AdminUser) -> None:
        try:
            await audited.users.update(user)
        except Missing:
            raise NoSuch("admin user", user.name) from None

    def _password(self, given: str | None) -> str:
        if given is None:
            return self.secrets.octets(_PASSWORD_OCTETS).hex()
        if not MIN_PASSWORD_CHARS <= len(given) <= MAX_PASSWORD_CHARS:
            raise Invalid("password", f"it must have {MIN_PASSWORD_CHARS} to {MAX_PASSWORD_CHARS} characters")
        return given


def _role(text: str) -> UserRole:
    try:
        return UserRole(text)
    except ValueError:
        raise Invalid("role", f"{text!r} is none of {', '.join(UserRole)}") from None
