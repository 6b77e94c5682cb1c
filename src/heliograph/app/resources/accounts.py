"""Accounts: customers, with their settings, credit, ledger and secrets."""

from dataclasses import dataclass, field, replace
from typing import Any, Final

from heliograph.app.configuration import (
    BALANCES,
    Account,
    ApiKey,
    BalanceOutOfBounds,
    Exists,
    LedgerEntry,
    NameTaken,
    Price,
    SystemIdTaken,
    TopUp,
    changed_account,
)
from heliograph.app.records import AuditEntry, Scope
from heliograph.app.resources.account_settings import GROUPS, SETTING, SETTINGS, changes_of, noted, value_of
from heliograph.app.resources.description import Answer, Operation, Preset, Resource, Scopes
from heliograph.app.resources.desk import AlreadyThere, Desk, Invalid, account_of, check_name, needed
from heliograph.app.resources.fields import (
    KEEP,
    Credits,
    Field,
    Moment,
    Rows,
    Text,
    Whole,
    note,
)
from heliograph.app.resources.keys import KEY_FIELDS, fresh_key, key_id, key_row
from heliograph.domain.calendar import DAY_MS
from heliograph.domain.limits import defaults
from heliograph.domain.money.amounts import format_credits
from heliograph.domain.money.pricing import DEFAULT_PLAN
from heliograph.domain.security import signature
from heliograph.domain.security.secret_text import digest

LEDGER_PAGE: Final = 1_000

MAX_DAYS: Final = 31
"""The most days of a usage report."""

SHORT_DAYS: Final = 2
"""Usage of up to this many days is summed by the hour, longer usage by the day."""

_PASSWORD_OCTETS = 16
_HOUR_MS = 3_600_000

SMPP_PASSWORD_CHARS: Final = 8
"""Characters of a password for SMPP clients. The password of SMPP v3.4, 5.2.2, has no room for more."""

MAX_SMPP_PASSWORD_CHARS: Final = 16
"""The most characters, for clients that go beyond the standard."""

_PASSWORD_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789"  # noqa: S105 - an alphabet
"""Letters and digits that people do not confuse, such as O and 0. 8 of them have 46 bits."""


@dataclass(slots=True)
class Credentials:
    """Given secrets for a new account, used by the demo account instead of random secrets."""

    password: str = field(repr=False)
    api_key: str = field(repr=False)
    signing_secret: bytes = field(repr=False)


_HARMLESS_WHEN_OPENED = {"timezone", "retain_text_days", "retain_number_days", "retain_days"}
"""Fields that need no further scope for a new account: it has no messages yet, and no used part of a daily limit."""


MAX_REFERENCE_CHARS: Final = 64
"""Characters of the reference of a top-up."""


# --- use cases


async def find(desk: Desk) -> list[dict[str, Any]]:
    """Returns every account with its balance, by name."""
    return [_row(*each) for each in await desk.store.accounts.all()]


async def show(desk: Desk, name: str) -> dict[str, Any]:
    account, keys = await account_of(desk.store, name)
    balance = await desk.store.customers.balance(account.id)
    return {**_row(account, balance), "keys": [key_row(each) for each in keys]}


async def create(
    desk: Desk,
    name: str,
    credit: int = 0,
    price: int | None = None,
    credentials: Credentials | None = None,
    **settings: Any,
) -> dict[str, Any]:
    """Opens an account with a first API key and `credit` micro-credits.

    `price` (micro-credits a segment, for all numbers) makes a price plan with the account's name. For example 35,000
    is 0.035 credits a segment. The answer has the secrets, which cannot be read again: the store keeps verifiers.
    """
    _check_urls(desk, settings)
    details, prices = noted(settings), []
    if price is not None:
        prices.append(Price(_own_plan(name, settings), "", price))
        settings["plan"] = name
        details["price"] = format_credits(price)  # of the plan, which may have other accounts already
    given = credentials or Credentials(
        needed(desk.secrets).octets(_PASSWORD_OCTETS).hex(),
        fresh_key(desk),
        needed(desk.secrets).octets(signature.SECRET_OCTETS),
    )
    password_hash = await desk.hash_password(given.password)
    account = changed_account(
        Account(0, name, password_hash, given.signing_secret, created=desk.now), changes_of(settings)
    )
    key = ApiKey(key_id(desk), 0, digest(given.api_key), account.created)
    audited = desk.audited("account.create", name, {"credit": format_credits(credit), **details})
    try:
        created = await audited.accounts.create(account, key, credit, prices)
    except SystemIdTaken as problem:
        raise Invalid("name" if problem.system_id == name else "smpp_system_id", str(problem)) from None
    except NameTaken as problem:
        more = f"; {name} differs from it in case only, so choose another name"
        raise AlreadyThere("account", problem.name, more) from None
    except Exists:
        raise AlreadyThere("account", name) from None
    return {
        "name": name,
        "password": given.password,
        "api_key": given.api_key,
        "key_id": key.id,
        "signing_secret": signature.format_secret(given.signing_secret),
        "balance": credit,
        "plan": created.plan,
        "timezone": created.timezone,
    }


async def change(desk: Desk, name: str, **settings: Any) -> dict[str, Any]:
    """Changes settings, all or none."""
    _check_urls(desk, settings)
    account, _ = await account_of(desk.store, name)
    if settings.keys() == {"suspended"}:
        audited = desk.audited("account.suspend" if settings["suspended"] else "account.resume", name)
    else:
        audited = desk.audited("account.set", name, noted(settings))
    try:
        await audited.accounts.update(account.id, changes_of(settings))
    except SystemIdTaken as problem:
        raise Invalid("smpp_system_id", str(problem)) from None
    return await show(desk, name)


def _reference(text: str) -> str:
    if len(text) > MAX_REFERENCE_CHARS or not text.isprintable():
        raise ValueError(f"it must have at most {MAX_REFERENCE_CHARS} printable characters")
    return text


async def top_up(desk: Desk, name: str, amount: int, note: str = "", reference: str = "") -> dict[str, Any]:
    """Adds micro-credits, or takes them back if `amount` is negative. A repetition with the same `reference` and amount
    changes nothing, and has the first answer."""
    account, _ = await account_of(desk.store, name)
    if amount == 0:
        raise Invalid("amount", "it is 0, which changes nothing")
    least, most = -account.credit_limit, defaults.MAX_BALANCE
    within = (BALANCES[0], most) if amount > 0 else (least, BALANCES[1])

    def noted(done: TopUp) -> AuditEntry | None:
        texts = {"amount": format_credits(amount), "balance": format_credits(done.balance), "note": note}
        texts |= {"reference": reference} if reference else {}
        return None if done.replayed else desk.entry("account.top-up", name, texts)

    try:
        added = desk.store.noting(noted).accounts.add_credit(account.id, amount, note, desk.now, reference, within)
        return {"balance": (await added).balance}
    except Exists:
        raise AlreadyThere("top-up", f"{reference}, of another amount,") from None
    except BalanceOutOfBounds as problem:
        bound = f"rise above {format_credits(most)}" if amount > 0 else f"fall below {format_credits(least)}"
        raise Invalid("amount", f"the balance is {format_credits(problem.balance)} and may not {bound}") from None


async def new_password(desk: Desk, name: str) -> dict[str, Any]:
    """Replaces the password. The old password stops working within five seconds."""
    account, _ = await account_of(desk.store, name)
    password = needed(desk.secrets).octets(_PASSWORD_OCTETS).hex()
    changes = {"password_hash": await desk.hash_password(password)}
    await desk.audited("account.new-password", name).accounts.update(account.id, changes)
    return {"password": password}


async def new_smpp_password(desk: Desk, name: str, length: int = SMPP_PASSWORD_CHARS) -> dict[str, Any]:
    """Replaces the password that SMPP clients bind with: letters and digits of this length."""
    octets = needed(desk.secrets).octets(2 * length)
    numbers = [int.from_bytes(octets[2 * at : 2 * at + 2], "big") for at in range(length)]
    password = "".join(_PASSWORD_LETTERS[number % len(_PASSWORD_LETTERS)] for number in numbers)
    await set_smpp_password(desk, name, password)
    return {"smpp_password": password}


async def set_smpp_password(desk: Desk, name: str, password: str) -> None:
    account, _ = await account_of(desk.store, name)
    changes = {"smpp.password_hash": await desk.hash_password(password)}
    await desk.audited("account.new-smpp-password", name).accounts.update(account.id, changes)


async def new_signing_secret(desk: Desk, name: str) -> dict[str, Any]:
    """Replaces the secret that signs receipts, and returns it as `whsec_...`."""
    account, _ = await account_of(desk.store, name)
    secret = needed(desk.secrets).octets(signature.SECRET_OCTETS)
    await desk.audited("account.new-signing-secret", name).accounts.update(account.id, {"signing_secret": secret})
    return {"signing_secret": signature.format_secret(secret)}


async def usage(desk: Desk, name: str, days: int) -> dict[str, Any]:
    """Sums the ledger of the last days: by the hour for up to SHORT_DAYS, else by the day.

    `start`, `end` and `step` are in ms. `spans` leaves out spans without entries.
    """
    account, _ = await account_of(desk.store, name)
    step = _HOUR_MS if days <= SHORT_DAYS else DAY_MS
    end = (desk.now // step + 1) * step
    start = end - days * DAY_MS
    spans = [
        {
            "time": each.at,
            "requests": each.requests,
            "charged": each.charged,
            "refunded": each.refunded,
            "inbound": each.inbound,
        }
        for each in await desk.store.accounts.usage(account.id, start, end, step)
    ]
    return {"start": start, "end": end, "step": step, "spans": spans}


async def entries(desk: Desk, name: str, limit: int, before: int | None = None) -> list[LedgerEntry]:
    """Returns changes of the balance before the key `before`, newest first."""
    account, _ = await account_of(desk.store, name)
    return await desk.store.accounts.ledger(account.id, limit, before)


async def _ledger(desk: Desk, name: str, after: str, limit: int) -> list[dict[str, Any]]:
    return [
        {"key": each.key, "time": each.at, "kind": each.kind.label, "amount": each.amount, "note": each.note}
        for each in await entries(desk, name, limit, int(after) if after else None)
    ]


def _row(account: Account, balance: int) -> dict[str, Any]:
    settings = {name: value_of(account, name) for name in SETTING}
    return {"name": account.name, "balance": balance, **settings, "created": account.created}


def _check_urls(desk: Desk, settings: dict[str, Any]) -> None:
    """Raises Invalid for a URL that the address guard refuses, for example `http://10.0.0.1/`."""
    for name in ("callback_url", "inbound_url"):
        url = settings.get(name)
        reason = desk.callback_urls.refusal(url) if url and desk.callback_urls is not None else None
        if reason is not None:
            raise Invalid(name, reason)


def _own_plan(name: str, settings: dict[str, Any]) -> str:
    if "plan" in settings:
        raise Invalid("price", "give either a plan or a price")
    if name == DEFAULT_PLAN:
        raise Invalid("price", f"all accounts share the plan {DEFAULT_PLAN}; set its prices, or use another name")
    return name


def _name(text: str) -> str:
    try:
        return check_name("name", text)
    except Invalid as problem:
        raise ValueError(problem.problem) from None


# --- the descriptions

_NAME = Field(
    "name", Text(_name, pattern="[A-Za-z0-9._-]{1,64}"), "1 to 64 letters A-Z, a-z, digits and . _ -", example="acme"
)
_BALANCE = Field("balance", Credits(), "Credits left.")
_FIELDS = (_NAME, _BALANCE, *SETTINGS, Field("created", Moment(), "When it was opened."))
_KEYS = Rows(KEY_FIELDS, "Key", called=lambda row: "" if row["revoked"] else row["id"])
_WITH_KEYS = (*_FIELDS, Field("keys", _KEYS, "Its API keys, including revoked keys.", title="keys in use"))
_PASSWORD = Field("password", Text(), "For /api/v2.", is_secret=True, example="a-long-password")
_SMPP_PASSWORD = Field(
    "smpp_password", Text(), "For SMPP clients.", is_secret=True, title="SMPP password", example="k3vw9rtx"
)
_SIGNING_SECRET = Field(
    "signing_secret",
    Text(),
    "For the signatures of receipts.",
    is_secret=True,
    example="whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
)
_SPAN = (
    Field("time", Moment(), "Start of the span."),
    Field("requests", Whole(), "Requests that were charged."),
    Field("charged", Credits(), "Credits charged for messages."),
    Field("refunded", Credits(), "Credits refunded."),
    Field("inbound", Credits(), "Credits for messages from phones, not included in `charged`."),
)

ACCOUNTS = Resource(
    name="account",
    plural="accounts",
    summary="Customers: their settings, credit and secrets",
    more="",
    nothing="There is no account yet. Create one: heliograph account create NAME --credit N",
    key=("name",),
    fields=_FIELDS,
    columns=("name", "balance", "plan", "timezone", "suspended"),
    also={"username": "name"},
    scopes=Scopes(Scope.READ_ACCOUNTS, Scope.WRITE_ACCOUNTS),
    operations=(
        Operation(
            "create",
            "POST /accounts",
            create,
            "Open an account",
            reads=(
                _NAME,
                Field(
                    "credit",
                    Credits("the opening credit must not be below zero"),
                    "Credits to begin with, such as 100 or 25.5.",
                    0,
                    scope=Scope.TOP_UP,
                ),
                Field(
                    "price",
                    Credits("it must not be below zero"),
                    "Credits a segment for all numbers; makes a price plan with the account's name.",
                    KEEP,
                    "0.035",
                    scope=Scope.WRITE_PRICES,
                ),
                *(replace(each, scope=None) if each.name in _HARMLESS_WHEN_OPENED else each for each in SETTINGS),
            ),
            answers=(
                _NAME,
                _PASSWORD,
                Field("api_key", Text(), "For /api/v1.", is_secret=True, title="API key", example="hk_9f8a7c"),
                Field("key_id", Text(), "Id of the API key.", example="4f1a2b3c"),
                _SIGNING_SECRET,
                _BALANCE,
                SETTING["plan"],
                SETTING["timezone"],
            ),
            status=201,
            conflicts=True,
            id="open_account",
            read_name="NewAccount",
            answer_name="OpenedAccount",
            arguments=("name",),
            more="Upper and lower case do not tell accounts apart: beside Acme there can be no acme.\n\n"
            "The answer shows three secrets, only once: the password for /api/v2, the API key for /api/v1, and "
            "the secret that signs receipts.",
            examples=(
                "account create acme --credit 100",
                "account create acme --credit 25.50 --timezone Europe/Berlin --price 0.035",
                "account create acme --credit 100 --json | jq -r .api_key",
            ),
            done="The account {name} is open, with {balance} credits.\n\n"
            "user name       {name}\n"
            "password        {password}   (/api/v2)\n"
            "API key         {api_key}   (/api/v1)\n"
            "signing secret  {signing_secret}   (receipts)",
        ),
        Operation("list", "GET /accounts", find, "All accounts with their balances", answers=Answer.EACH),
        Operation(
            "show",
            "GET /accounts/{name}",
            show,
            "An account with its settings and API keys",
            answers=_WITH_KEYS,
            groups=GROUPS,
            id="get_account",
            answer_name="AccountWithKeys",
        ),
        Operation(
            "top-up",
            "POST /accounts/{name}/top-ups",
            top_up,
            "Add credit, or take it back",
            reads=(
                Field("amount", Credits(), "Credits to add; a negative amount takes them back.", example="250"),
                Field("note", Text(note), "A remark for the ledger.", "", example="invoice 2041"),
                Field(
                    "reference",
                    Text(_reference),
                    "A name of this top-up, up to 64 characters. A repetition with the same name and amount adds "
                    "nothing, and gets the answer of the first. The header `Idempotency-Key` sets it too. Commands "
                    "and the console make a random name if you give none.",
                    "",
                    "invoice-2041",
                    names_request=True,
                ),
            ),
            answers=(_BALANCE,),
            status=201,
            scope=Scope.TOP_UP,
            id="top_up",
            read_name="TopUp",
            answer_name="Balance",
            arguments=("name", "amount"),
            examples=(
                "account top-up acme 250 --note 'invoice 2041'",
                "account top-up acme -12.5 --note correction",
            ),
            done="The balance of {name} is now {balance} credits.",
        ),
        Operation(
            "set",
            "PATCH /accounts/{name}",
            change,
            "Change settings of an account, all or none",
            reads=SETTINGS,
            answers=_WITH_KEYS,
            id="set_account",
            read_name="AccountSettings",
            answer_name="AccountWithKeys",
            pairs=True,
            groups=GROUPS,
            examples=(
                "account set acme timezone=Europe/Berlin callback_format=json",
                "account set acme senders=ACME,AcmeCorp networks=192.0.2.0/24",
                "account set acme callback_url=          # removes the URL",
            ),
        ),
        Operation(
            "new-password",
            "POST /accounts/{name}/password",
            new_password,
            "Replace the password of /api/v2",
            answers=(_PASSWORD,),
            status=201,
            scope=Scope.WRITE_KEYS,
            id="new_password",
            answer_name="NewPassword",
            more="The old password stops working within five seconds.",
            done="The new password of {name}: {password}",
        ),
        Operation(
            "smpp-password",
            "POST /accounts/{name}/smpp-password",
            new_smpp_password,
            "Replace the password that SMPP clients bind with",
            reads=(
                Field(
                    "length",
                    Whole(SMPP_PASSWORD_CHARS, MAX_SMPP_PASSWORD_CHARS),
                    "Characters; most clients accept at most 8.",
                    SMPP_PASSWORD_CHARS,
                ),
            ),
            may_be_bare=True,
            answers=(_SMPP_PASSWORD,),
            status=201,
            scope=Scope.WRITE_KEYS,
            id="new_smpp_password",
            read_name="NewSmppPassword",
            answer_name="CreatedSmppPassword",
            more="Most clients accept at most 8 characters. Kannel cuts off a longer password without an error.",
            examples=("account smpp-password acme", "account smpp-password acme --length 16"),
            done="The new SMPP password of {name}: {smpp_password}",
        ),
        Operation(
            "new-signing-secret",
            "POST /accounts/{name}/signing-secret",
            new_signing_secret,
            "Replace the secret that signs receipts",
            answers=(_SIGNING_SECRET,),
            status=201,
            scope=Scope.WRITE_KEYS,
            id="new_signing_secret",
            answer_name="NewSigningSecret",
            done="The new signing secret of {name}: {signing_secret}",
        ),
        Operation(
            "usage",
            "GET /accounts/{name}/usage",
            usage,
            "Charges and refunds, by the hour or the day",
            reads=(Field("days", Whole(1, MAX_DAYS), "Days to report; 1 or 2 days are shown by the hour.", 1),),
            answers=(Field("spans", Rows(_SPAN, "Span", is_table=True), "An entry for each hour or day with usage."),),
            id="usage",
            answer_name="UsageOfAccount",
        ),
    ),
    presets=(
        Preset(
            "suspend",
            "set",
            {"suspended": True},
            "Refuse the requests of an account",
            done="{name} is suspended.",
        ),
        Preset(
            "resume",
            "set",
            {"suspended": False},
            "Let a suspended account send again",
            done="{name} may send again.",
        ),
    ),
)

LEDGER = Resource(
    name="ledger",
    plural="entries",
    summary="Changes of balances",
    more="",
    nothing="The ledger is empty.",
    key=("name", "key"),
    fields=(
        Field("key", Whole(), "Key of the entry."),
        Field("time", Moment(), "When the balance changed."),
        Field("kind", Text(), "`charge`, `refund`, `top-up` or `inbound` (a message from a phone).", example="top-up"),
        Field("amount", Credits(), "Credits; negative for a charge."),
        Field("note", Text(), "The remark of a top-up.", example="invoice 2041"),
    ),
    within=(_NAME,),
    columns=("time", "kind", "amount", "note", "key"),
    answer_name="LedgerEntry",
    also={"username": "name"},
    scopes=Scopes(Scope.READ_ACCOUNTS, Scope.WRITE_ACCOUNTS),
    operations=(
        Operation(
            "list",
            "GET /accounts/{name}/ledger",
            _ledger,
            "Changes of the balance, newest first",
            answers=Answer.EACH,
            page=LEDGER_PAGE,
            rows=50,
            newest_first=True,
            id="ledger",
            answer_name="Ledger",
        ),
    ),
)
