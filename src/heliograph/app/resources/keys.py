"""API keys of accounts, and the time until which keys and tokens are valid."""

import re
from typing import Any, Final
from zoneinfo import ZoneInfo

from heliograph.app.configuration import ApiKey, Missing
from heliograph.app.records import Scope
from heliograph.app.resources.description import Answer, Operation, Resource, Scopes
from heliograph.app.resources.desk import Desk, Invalid, NoSuch, account_of, needed
from heliograph.app.resources.fields import Field, Moment, Reference, Text
from heliograph.domain import calendar
from heliograph.domain.calendar import DAY_MS, format_utc
from heliograph.domain.security.secret_text import API_KEY, RANDOM_OCTETS, digest, make_secret

MOST_DAYS: Final = 3_660
"""Days. The latest time at which a key or token may expire, ten years from now."""

_KEY_ID_OCTETS = 5

_DAYS = re.compile(r"([1-9][0-9]{0,3})d").fullmatch
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}").fullmatch


def fresh_key(desk: Desk) -> str:
    return make_secret(API_KEY, needed(desk.secrets).octets(RANDOM_OCTETS))


def key_id(desk: Desk) -> str:
    return needed(desk.secrets).octets(_KEY_ID_OCTETS).hex()


def parse_expiry(text: str, now: int) -> int | None:
    """Returns the time (ms) that a text means, or None for an empty text.

    The text is days from now such as `90d`, a date such as `2027-06-30` (its start in UTC), or ISO 8601. Raises Invalid
    for other texts, for a past time, and for a time beyond MOST_DAYS.
    """
    if not text:
        return None
    days = _DAYS(text)
    try:
        if days is not None:
            at = now + int(days[1]) * DAY_MS
        else:
            at = calendar.parse_time(f"{text}T00:00:00Z" if _DATE(text) else text, ZoneInfo("UTC"))
    except ValueError:
        problem = "it must be days from now such as 90d, a date such as 2027-06-30, or ISO 8601"
        raise Invalid("expires", problem) from None
    if not now < at <= now + MOST_DAYS * DAY_MS:
        raise Invalid("expires", f"it must be in the future, within {MOST_DAYS} days")
    return at


async def find(desk: Desk, account: str) -> list[dict[str, Any]]:
    """Returns the keys of an account, including revoked keys."""
    return [key_row(each) for each in (await account_of(desk.store, account))[1]]


async def create(desk: Desk, account: str, expires: str | None = None) -> dict[str, Any]:
    """Makes a key. The answer has it; the store keeps only its digest."""
    owner, _ = await account_of(desk.store, account)
    now = desk.now
    until = parse_expiry(expires or "", now)
    api_key = fresh_key(desk)
    key = ApiKey(key_id(desk), owner.id, digest(api_key), now, expires=until)
    details = {"key": key.id} | ({} if until is None else {"expires": format_utc(until)})
    await desk.audited("key.create", account, details).accounts.add_key(key)
    return {"key_id": key.id, "api_key": api_key, "expires": until}


async def revoke(desk: Desk, account: str, key_id: str) -> None:
    """Revokes a key."""
    owner, keys = await account_of(desk.store, account)
    was = {"key": key_id} | next(({"created": format_utc(key.created)} for key in keys if key.id == key_id), {})
    try:
        await desk.audited("key.revoke", account, was).accounts.revoke_key(owner.id, key_id, desk.now)
    except Missing:
        raise NoSuch(f"key in use of the account {account} with the id", key_id) from None


def key_row(key: ApiKey) -> dict[str, Any]:
    return {"id": key.id, "created": key.created, "revoked": key.revoked, "expires": key.expires, "used": key.used}


KEY_FIELDS = (
    Field("id", Text(), "The key's short id, which is not secret.", example="4f1a2b3c"),
    Field("created", Moment(), "When it was made."),
    Field("revoked", Moment(), "When it was revoked; null: it is in use.", nullable=True, empty="no"),
    Field("expires", Moment(), "When it expires.", nullable=True, empty="never"),
    Field("used", Moment(), "When it was last used, accurate to an hour.", nullable=True, empty="never"),
)

EXPIRES = Field(
    "expires",
    Text(),
    "When it expires: days from now such as `90d`, a date, or ISO 8601. Left out or null: never.",
    None,
    example="90d",
    nullable=True,
)

KEYS = Resource(
    name="key",
    plural="keys",
    summary="API keys of accounts",
    more="An account may have several keys at once. To replace a key, create the new key, change the clients, and then "
    "revoke the old key.",
    nothing="There is no key yet. Create one: heliograph key create NAME",
    key=("account", "key_id"),
    fields=KEY_FIELDS,
    within=(
        Field("account", Reference("account"), "The account."),
        Field("key_id", Text(), "The key's id, as in the list.", example="4f1a2b3c"),
    ),
    also={"username": "account"},
    scopes=Scopes(Scope.READ_ACCOUNTS, Scope.WRITE_KEYS),
    operations=(
        Operation(
            "create",
            "POST /accounts/{name:account}/keys",
            create,
            "Make a further API key",
            reads=(EXPIRES,),
            may_be_bare=True,
            answers=(
                Field("key_id", Text(), "Its id.", example="4f1a2b3c"),
                Field(
                    "api_key",
                    Text(),
                    "The key for /api/v1, shown only now.",
                    is_secret=True,
                    title="API key",
                    example="hk_9f8a7c",
                ),
                Field("expires", Moment(), "When it expires.", nullable=True),
            ),
            status=201,
            read_name="NewApiKey",
            answer_name="CreatedKey",
            examples=("key create acme", "key create acme --expires 90d"),
            done="The new API key {key_id} of {account}: {api_key}",
        ),
        Operation(
            "list",
            "GET /accounts/{name:account}/keys",
            find,
            "The API keys of an account",
            answers=Answer.EACH,
        ),
        Operation(
            "revoke",
            "DELETE /accounts/{name:account}/keys/{id:key_id}",
            revoke,
            "Revoke an API key",
            more="It stops working within five seconds.",
            examples=("key revoke acme 1f0c9a2b7e",),
            result="revoked",
            done="The key {key_id} of {account} is revoked.",
        ),
    ),
)
