"""Users of the console, and tokens of the admin API.

Only commands on the machine and the console manage them. The admin API over HTTP does not, so that a leaked token
cannot make other tokens.
"""

from collections.abc import Sequence
from typing import Any, Final

from heliograph.app.configuration import Exists, Missing
from heliograph.app.ports import Store
from heliograph.app.records import FACTOR_RESET, TOKEN_SCOPES, AdminToken, AdminUser, Scope, UserRole, read_scopes
from heliograph.app.resources.description import Answer, Operation, Resource, Scopes
from heliograph.app.resources.desk import AlreadyThere, Desk, Invalid, NoSuch, check_name, needed
from heliograph.app.resources.fields import KEEP, Choice, Field, Flag, Many, Moment, Text, Words
from heliograph.app.resources.keys import EXPIRES, parse_expiry
from heliograph.domain.calendar import format_utc
from heliograph.domain.security.secret_text import ADMIN_TOKEN, RANDOM_OCTETS, digest, make_secret

MIN_PASSWORD_CHARS: Final = 10
MAX_PASSWORD_CHARS: Final = 128
MAX_TOKEN_NAME_CHARS: Final = 64

_PASSWORD_OCTETS = 12
_TOKEN_ID_OCTETS = 4


# --- users


async def find(desk: Desk) -> list[dict[str, Any]]:
    """Returns every user, by name."""
    return [
        {"name": each.name, "role": each.role, "created": each.created, "second_factor": each.second_factor}
        for each in await desk.store.users.all()
    ]


async def create(desk: Desk, name: str, role: UserRole, password: str | None = None) -> dict[str, Any]:
    """Adds a user. Without `password` a random password is made and returned."""
    chosen = password or _made_up(desk)
    user = AdminUser(name, await desk.hash_password(chosen), role, desk.now)
    try:
        await desk.audited("admin.create", name, {"role": role.value}).users.create(user)
    except Exists:
        raise AlreadyThere("admin user", name) from None
    return {"name": name, "password": None if password else chosen}


async def set_password(desk: Desk, name: str, password: str | None = None) -> dict[str, Any]:
    """Replaces the password and ends the user's sessions. Without `password` a random password is made and returned."""
    await _user(desk, name)
    chosen = password or _made_up(desk)
    password_hash = await desk.hash_password(chosen)
    await _update(desk.audited("admin.set-password", name), name, password_hash=password_hash)
    return {"name": name, "password": None if password else chosen}


async def set_role(desk: Desk, name: str, role: UserRole) -> dict[str, Any]:
    """Changes the user's role, and ends their sessions."""
    user = await _user(desk, name)
    audited = desk.audited("admin.set-role", name, {"role": role.value, "was": user.role.value})
    await _update(audited, name, role=role)
    return {"name": name, "role": role}


async def remove(desk: Desk, name: str) -> None:
    """Removes a user and ends their sessions. The audit log keeps the role."""
    gone = await _user(desk, name)
    was = {"role": gone.role.value, "created": format_utc(gone.created)}
    try:
        await desk.audited("admin.remove", name, was).users.remove(name)
    except Missing:
        raise NoSuch("admin user", name) from None


async def reset_second_factor(desk: Desk, name: str) -> dict[str, Any]:
    """Removes the second factors and recovery codes of a user who lost them, and ends the user's sessions."""
    await _user(desk, name)
    lost = ", ".join(each.name for each in await desk.store.factors.of(name))
    try:
        await desk.audited(FACTOR_RESET, name, {"removed": lost}).factors.reset(name)
    except Missing:
        raise NoSuch("second factor of the admin user", name) from None
    return {"name": name, "second_factor": False}


async def _user(desk: Desk, name: str) -> AdminUser:
    found = await desk.store.users.find(name)
    if found is None:
        raise NoSuch("admin user", name)
    return found


async def _update(audited: Store, name: str, *, password_hash: str | None = None, role: UserRole | None = None) -> None:
    try:
        await audited.users.update(name, password_hash, role)
    except Missing:
        raise NoSuch("admin user", name) from None


def _made_up(desk: Desk) -> str:
    return needed(desk.secrets).octets(_PASSWORD_OCTETS).hex()


# --- tokens


async def find_tokens(desk: Desk) -> list[dict[str, Any]]:
    """Returns all tokens, oldest first, including revoked tokens."""
    return [_row(each) for each in await desk.store.tokens.all()]


async def create_token(
    desk: Desk, name: str, scopes: Sequence[str] = (), all_scopes: bool = False, expires: str | None = None
) -> dict[str, Any]:
    """Makes a token. The answer has its secret; the store keeps only a digest of it."""
    if all_scopes == bool(scopes):
        raise Invalid("scopes", f"give at least one scope, or --all-scopes; there are {', '.join(TOKEN_SCOPES)}")
    try:
        granted = read_scopes(TOKEN_SCOPES if all_scopes else scopes)
    except ValueError as problem:
        raise Invalid("scopes", str(problem)) from None
    now = desk.now
    until = parse_expiry(expires or "", now)
    secret = make_secret(ADMIN_TOKEN, needed(desk.secrets).octets(RANDOM_OCTETS))
    token = AdminToken(
        needed(desk.secrets).octets(_TOKEN_ID_OCTETS).hex(), name, digest(secret), granted, now, expires=until
    )
    details = {"name": name, "scopes": " ".join(granted)}
    if until is not None:
        details["expires"] = format_utc(until)
    await desk.audited("token.create", token.id, details).tokens.add(token)
    return {**_row(token), "secret": secret}


async def revoke_token(desk: Desk, id: str) -> None:
    """Revokes a token. The audit log keeps its name and scopes."""
    was: dict[str, str] = {}
    for each in await desk.store.tokens.all():
        if each.id == id:
            was = {"name": each.name, "scopes": " ".join(each.scopes), "created": format_utc(each.created)}
    try:
        await desk.audited("token.revoke", id, was).tokens.revoke(id, desk.now)
    except Missing:
        raise NoSuch("token in use with the id", id) from None


def _row(token: AdminToken) -> dict[str, Any]:
    return {
        "id": token.id,
        "name": token.name,
        "scopes": token.scopes,
        "created": token.created,
        "revoked": token.revoked,
        "expires": token.expires,
        "used": token.used,
    }


# --- the descriptions


def _name(text: str) -> str:
    try:
        return check_name("name", text)
    except Invalid as problem:
        raise ValueError(problem.problem) from None


def _password(text: str) -> str:
    if not MIN_PASSWORD_CHARS <= len(text) <= MAX_PASSWORD_CHARS:
        raise ValueError(f"it must have {MIN_PASSWORD_CHARS} to {MAX_PASSWORD_CHARS} characters")
    return text


def _token_name(text: str) -> str:
    if not 1 <= len(text) <= MAX_TOKEN_NAME_CHARS or not text.isprintable():
        raise ValueError(f"it must be a line of 1 to {MAX_TOKEN_NAME_CHARS} printable characters")
    return text


_NAME = Field("name", Text(_name), "Name to sign in with.", example="ada")
_ROLE = Field("role", Choice(UserRole), "viewer, operator or admin.", example="viewer")
_SECOND_FACTOR = Field("second_factor", Flag(), "Whether a second factor is set up.")
_PASSWORD = Field(
    "password",
    Text(_password),
    "The password; left out: a random one.",
    KEEP,
    is_secret=True,
    example="a-long-password",
)
_MADE_UP = Field(
    "password", Text(), "The random password, shown only now.", nullable=True, is_secret=True, example="a-long-password"
)

_TOKEN_ID = Field("id", Text(), "The token's short id.", example="4f1a2b3c")
_TOKEN_NAME = Field("name", Text(_token_name), "The purpose of the token.", example="billing")
_TOKEN_FIELDS = (
    _TOKEN_ID,
    _TOKEN_NAME,
    Field("scopes", Words(), "Permissions of the token.", example="accounts:read"),
    Field("created", Moment(), "When it was made."),
    Field("revoked", Moment(), "When it was revoked; null: it is in use.", nullable=True, empty="no"),
    Field("expires", Moment(), "When it expires.", nullable=True, empty="never"),
    Field("used", Moment(), "When it was last used, accurate to an hour.", nullable=True, empty="never"),
)

USERS = Resource(
    name="admin",
    plural="users",
    summary="Users of the console, tokens and the audit log",
    more="",
    nothing="There is no user yet. Create one: heliograph admin create NAME --role admin",
    key=("name",),
    fields=(_NAME, _ROLE, Field("created", Moment(), "When the user was added."), _SECOND_FACTOR),
    scopes=Scopes(Scope.PEOPLE, Scope.PEOPLE),
    is_local=True,
    operations=(
        Operation(
            "create",
            "POST /users",
            create,
            "Add a user of the console",
            reads=(_NAME, _ROLE, _PASSWORD),
            answers=(_NAME, _MADE_UP),
            answer_name="NewUser",
            conflicts=True,
            arguments=("name",),
            more="A viewer reads. An operator also sends and cancels messages, retries callbacks and pauses "
            "connectors. An admin changes everything. Users sign in at /console.",
            examples=("admin create ada --role admin", "admin create nils --role viewer --ask"),
            done="{name} may sign in as {role}.",
        ),
        Operation("list", "GET /users", find, "All users of the console", answers=Answer.EACH),
        Operation(
            "set-password",
            "POST /users/{name}/password",
            set_password,
            "Replace a password, and end all sessions",
            reads=(_PASSWORD,),
            answers=(_NAME, _MADE_UP),
            answer_name="NewUser",
            done="{name} has a new password.",
        ),
        Operation(
            "set-role",
            "POST /users/{name}/role",
            set_role,
            "Change the role of a user, and end all sessions",
            reads=(_ROLE,),
            answers=(_NAME, _ROLE),
            answer_name="UserRole",
            arguments=("name", "role"),
            done="{name} has the role {role} now.",
        ),
        Operation(
            "remove",
            "DELETE /users/{name}",
            remove,
            "Remove a user, and end all sessions",
            done="{name} can no longer sign in.",
        ),
        Operation(
            "reset-second-factor",
            "DELETE /users/{name}/second-factor",
            reset_second_factor,
            "Remove a user's second factors, and end all sessions",
            answers=(_NAME, _SECOND_FACTOR),
            answer_name="UserFactor",
            done="{name} signs in with the password alone now.",
        ),
    ),
)

TOKENS = Resource(
    name="token",
    plural="tokens",
    summary="Tokens of the admin API, each with scopes",
    more="",
    nothing="There is no token yet. Create one: heliograph admin token create NAME --scope accounts:read",
    key=("id",),
    fields=_TOKEN_FIELDS,
    scopes=Scopes(Scope.PEOPLE, Scope.PEOPLE),
    is_local=True,
    operations=(
        Operation(
            "create",
            "POST /tokens",
            create_token,
            "Make a token",
            reads=(
                _TOKEN_NAME,
                Field(
                    "scopes",
                    Many(
                        Field("scope", Text(), "A permission. Repeatable.", example="accounts:read"), len(TOKEN_SCOPES)
                    ),
                    "Permissions of the token.",
                    KEEP,
                ),
                Field("all_scopes", Flag(), "Give it all scopes that a token may have.", False),
                EXPIRES,
            ),
            answers=(
                *_TOKEN_FIELDS,
                Field("secret", Text(), "The token, shown only now.", is_secret=True, example="hat_9f8a7c"),
            ),
            answer_name="NewToken",
            arguments=("name",),
            more=f"The scopes are {', '.join(TOKEN_SCOPES)}.",
            examples=(
                "admin token create billing --scope accounts:read --scope topups:write",
                "admin token create backup --all-scopes --expires 365d --json | jq -r .secret",
            ),
            done="The token {id} ({name}): {secret}",
        ),
        Operation("list", "GET /tokens", find_tokens, "All tokens, oldest first", answers=Answer.EACH),
        Operation(
            "revoke",
            "DELETE /tokens/{id}",
            revoke_token,
            "Revoke a token",
            result="revoked",
            done="The token {id} is revoked.",
        ),
    ),
)
