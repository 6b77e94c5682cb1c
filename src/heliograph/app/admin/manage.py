"""Administration of accounts, keys, credit and connectors.

Checks every change and makes it durable by one call of the store, whole or not at all. A running gateway notices it by
the store's revision.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from heliograph.app.admin import fields
from heliograph.app.admin.keys import NewKey, digest_key, parse_expiry
from heliograph.app.admin.sign_in import hash_at_once
from heliograph.app.configuration import (
    Account,
    ApiKey,
    Connector,
    Exists,
    LedgerEntry,
    LedgerPage,
    LedgerQuery,
    Missing,
    Price,
    changed_account,
)
from heliograph.app.connector_kind import SMPP, ConnectorKind
from heliograph.app.ports import Clock, ConnectorReport, Secrets, Store
from heliograph.app.records import AuditEntry, AuditQuery, BacklogCounts
from heliograph.app.resources import routes
from heliograph.app.resources.desk import AlreadyThere, Desk, Invalid, NoSuch, check_name
from heliograph.app.sending.authenticate import Hash
from heliograph.app.sending.callback_url import CallbackUrls
from heliograph.app.sending.templates import warnings_of
from heliograph.domain import calendar
from heliograph.domain.limits import defaults
from heliograph.domain.money import amounts
from heliograph.domain.money.pricing import DEFAULT_PLAN
from heliograph.domain.security import signature
from heliograph.domain.security.secret_text import API_KEY, RANDOM_OCTETS, make_secret

MAX_NOTE_CHARS = 200

_KEY_ID_OCTETS = 5
_PASSWORD_OCTETS = 16


"""Micro-credits a segment that the plan `default` asks for what it does not name; None where it names all numbers."""


@dataclass(slots=True)
class Credentials:
    """Secrets for a new account, instead of random ones (for the demo account)."""

    password: str = field(repr=False)
    api_key: str = field(repr=False)
    signing_secret: bytes = field(repr=False)


@dataclass(slots=True)
class NewAccount:
    """An account with its secrets, which are known only now: the store keeps verifiers."""

    account: Account = field(repr=False)
    balance: int
    password: str = field(repr=False)
    api_key: str = field(repr=False)
    key_id: str
    signing_secret: str = field(repr=False)
    """In the customers' form: `whsec_...`."""


SMPP_PASSWORD_CHARS = 8
"""Characters of a password for SMPP clients. The password of SMPP v3.4, 5.2.2, has no room for more."""

MAX_SMPP_PASSWORD_CHARS = 16
"""Characters at most, for clients and operators that go beyond the standard."""

_PASSWORD_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789"  # noqa: S105 - an alphabet
"""Letters and digits that nobody mistakes for others; 8 of them are 46 bits."""


@dataclass(slots=True)
class AccountDetails:
    account: Account
    balance: int
    keys: list[ApiKey]
    """Revoked ones included."""


@dataclass(slots=True)
class ConnectorChange:
    """A connector as it is now; `warnings` are sentences about what may not work."""

    connector: Connector
    warnings: list[str]


class Manage(Desk):
    """Methods raise Invalid, NoSuch or AlreadyThere for mistakes of the user, and the store's Unavailable."""

    def __init__(
        self,
        store: Store,
        secrets: Secrets,
        clock: Clock,
        kinds: Mapping[str, ConnectorKind] = MappingProxyType({}),
        actor: str = "system",
        address: str = "",
        hash_password: Hash | None = None,
        callback_urls: CallbackUrls | None = None,
    ) -> None:
        """`kinds` are the kinds of connectors, by name. `actor` and `address` stand in the audit log. Without
        `hash_password` a password is hashed on the loop. `callback_urls` know where nothing is posted to; without them
        any URL is taken."""
        super().__init__(store, clock, actor, address)
        self._hash = hash_password or hash_at_once(secrets)
        self._callback_urls = callback_urls
        self._kinds = kinds
        self._secrets = secrets

    async def audit_log(self, query: AuditQuery) -> list[AuditEntry]:
        """Returns entries newest first."""
        return await self.store.audit_log.find(query)

    # --- accounts

    async def create_account(
        self,
        name: str,
        credit: int,
        settings: Mapping[str, str] | None = None,
        price: int | None = None,
        credentials: Credentials | None = None,
    ) -> NewAccount:
        """Opens an account with a first API key and `credit` micro-credits.

        `settings` are texts for fields of `fields.ACCOUNT`. A `price` (micro-credits a segment, everywhere)
        gives the account a plan of its own that has its name.
        """
        check_name("name", name)
        if credit < 0:
            raise Invalid("credit", "the opening credit must not be below zero")
        changes = self._account_changes(settings or {})
        prices: list[Price] = []
        if price is not None:
            prices.append(Price(self._own_plan(name, changes), "", _not_negative(price)))
            changes["plan"] = name
        now = self._clock.now()
        given = credentials or self._fresh_credentials()
        account = Account(
            id=0,
            name=name,
            password_hash=await self._hash(given.password),
            signing_secret=given.signing_secret,
            created=now,
        )
        account = changed_account(account, changes)
        key = ApiKey(self._key_id(), 0, digest_key(given.api_key), now)
        audited = self.audited("account.create", name, {"credit": amounts.format_credits(credit), **(settings or {})})
        try:
            created = await audited.accounts.create(account, key, credit, prices)
        except Exists:
            raise AlreadyThere("account", name) from None
        secret = signature.format_secret(given.signing_secret)
        return NewAccount(created, credit, given.password, given.api_key, key.id, secret)

    def _account_changes(self, texts: Mapping[str, str]) -> dict[str, Any]:
        """Reads fields of an account. Raises Invalid, also for a URL to which the sender would post nothing."""
        changes = fields.parse_changes(fields.ACCOUNT, texts)
        for name in ("callback_url", "inbound_url"):
            url = changes.get(name)
            reason = self._callback_urls.refusal(url) if url and self._callback_urls is not None else None
            if reason is not None:
                raise Invalid(name, reason)
        return changes

    async def accounts(self) -> list[tuple[Account, int]]:
        """Every account with its balance, by name."""
        return await self.store.accounts.all()

    async def accounts_without_credit(self, limit: int) -> list[str]:
        """Names of accounts that are not suspended and can pay for nothing more, in their order."""
        return await self.store.accounts.without_credit(limit)

    async def account(self, name: str) -> AccountDetails:
        found = await self._find(name)
        return AccountDetails(found[0], await self.store.customers.balance(found[0].id), found[1])

    async def top_up(self, name: str, micro: int, note: str = "") -> int:
        """Adds credit, or takes it back if below zero; returns the new balance."""
        account, _ = await self._find(name)
        if micro == 0:
            raise Invalid("amount", "an amount of 0 changes nothing")
        if len(note) > MAX_NOTE_CHARS or not (note.isprintable() or not note):
            raise Invalid("note", f"a note is one line of at most {MAX_NOTE_CHARS} printable characters")
        left = await self.store.customers.balance(account.id)
        if micro > 0 and left + micro > defaults.MAX_BALANCE:
            most = amounts.format_credits(defaults.MAX_BALANCE)
            raise Invalid("amount", f"the balance is {amounts.format_credits(left)} and may not rise above {most}")
        if micro < 0 and left + micro < -account.credit_limit:
            least = amounts.format_credits(-account.credit_limit)
            raise Invalid("amount", f"the balance is {amounts.format_credits(left)} and may not fall below {least}")

        def noted(balance: int) -> AuditEntry:
            texts = {"amount": amounts.format_credits(micro), "balance": amounts.format_credits(balance), "note": note}
            return self.entry("account.top-up", name, texts)

        return await self.store.noting(noted).accounts.add_credit(account.id, micro, note, self._clock.now())

    async def suspend(self, name: str, suspended: bool) -> Account:
        account, _ = await self._find(name)
        audited = self.audited("account.suspend" if suspended else "account.resume", name)
        return await audited.accounts.update(account.id, {"suspended": suspended})

    async def set_account(self, name: str, texts: Mapping[str, str]) -> Account:
        """Changes fields of `fields.ACCOUNT`, all or none."""
        changes = self._account_changes(texts)
        account, _ = await self._find(name)
        try:
            return await self.audited("account.set", name, texts).accounts.update(account.id, changes)
        except Exists as problem:
            raise Invalid("smpp_system_id", f"{problem}; choose another name") from None

    async def new_password(self, name: str) -> str:
        """Replaces the password; the old one stops working."""
        account, _ = await self._find(name)
        password = self._secrets.octets(_PASSWORD_OCTETS).hex()
        changes = {"password_hash": await self._hash(password)}
        await self.audited("account.new-password", name).accounts.update(account.id, changes)
        return password

    async def new_smpp_password(self, name: str, length: int = SMPP_PASSWORD_CHARS) -> str:
        """Replaces the password that SMPP clients bind with; returns it, letters and digits of this length."""
        if not SMPP_PASSWORD_CHARS <= length <= MAX_SMPP_PASSWORD_CHARS:
            raise Invalid("length", f"a password has {SMPP_PASSWORD_CHARS} to {MAX_SMPP_PASSWORD_CHARS} characters")
        octets = self._secrets.octets(2 * length)
        numbers = [int.from_bytes(octets[2 * at : 2 * at + 2], "big") for at in range(length)]
        password = "".join(_PASSWORD_LETTERS[number % len(_PASSWORD_LETTERS)] for number in numbers)
        await self.set_smpp_password(name, password)
        return password

    async def set_smpp_password(self, name: str, password: str) -> None:
        account, _ = await self._find(name)
        changes = {"smpp.password_hash": await self._hash(password)}
        await self.audited("account.new-smpp-password", name).accounts.update(account.id, changes)

    async def new_signing_secret(self, name: str) -> str:
        """Replaces the secret that signs receipts; returns it as `whsec_...`."""
        account, _ = await self._find(name)
        secret = self._secrets.octets(signature.SECRET_OCTETS)
        await self.audited("account.new-signing-secret", name).accounts.update(account.id, {"signing_secret": secret})
        return signature.format_secret(secret)

    async def ledger(self, name: str, limit: int, before: int | None = None) -> list[LedgerEntry]:
        """Changes of the balance, newest first, those before the key `before`."""
        account, _ = await self._find(name)
        return await self.store.accounts.ledger(account.id, limit, before)

    async def statement(self, name: str, query: LedgerQuery) -> LedgerPage:
        """Returns a page of the changes of the balance, newest first."""
        account, _ = await self._find(name)
        return await self.store.accounts.statement(account.id, query)

    # --- keys

    async def create_key(self, name: str, expires: str = "") -> NewKey:
        account, _ = await self._find(name)
        now = self._clock.now()
        until = parse_expiry(expires, now)
        api_key = self._fresh_key()
        key = ApiKey(self._key_id(), account.id, digest_key(api_key), now, expires=until)
        details = {"key": key.id} | ({} if until is None else {"expires": calendar.format_utc(until)})
        await self.audited("key.create", name, details).accounts.add_key(key)
        return NewKey(name, key.id, api_key, until)

    async def keys(self, name: str) -> list[ApiKey]:
        return (await self._find(name))[1]

    async def revoke_key(self, name: str, key_id: str) -> None:
        account, keys = await self._find(name)
        was = {"key": key_id} | next(
            ({"created": calendar.format_utc(key.created)} for key in keys if key.id == key_id), {}
        )
        try:
            await self.audited("key.revoke", name, was).accounts.revoke_key(account.id, key_id, self._clock.now())
        except Missing:
            raise NoSuch(f"key in use of the account {name} with the id", key_id) from None

    # --- connectors

    async def add_connector(
        self, name: str, texts: Mapping[str, str], options: Mapping[str, str] | None = None, kind: str = SMPP
    ) -> ConnectorChange:
        """Adds an operator account out of texts for the settings of its kind, and options by name."""
        check_name("name", name)
        if kind not in self._kinds:
            raise Invalid("kind", f"there is no such kind; there are {', '.join(self._kinds)}")
        settings = self._kinds[kind].settings
        for needed, setting in settings.items():
            if setting.default is None and needed not in texts:
                raise Invalid(needed, "it is needed to bind")
        begun = Connector(0, name, kind, created=self._clock.now())
        given = {each: setting.default for each, setting in settings.items() if setting.default is not None}
        connector = self._changed(begun, given, texts, options or {})
        details = texts if kind == SMPP else {"kind": kind, **texts}
        audited = self.audited("connector.add", name, _shown({**details, **(options or {})}))
        try:
            added = await audited.network.add_connector(connector)
        except Exists:
            raise AlreadyThere("connector", name) from None
        return ConnectorChange(added, self._kinds[kind].warnings(added) + await self.template_warnings(added))

    @property
    def kinds(self) -> Mapping[str, ConnectorKind]:
        """The kinds of connectors that there are, by name."""
        return self._kinds

    def kind_of(self, connector: Connector) -> ConnectorKind:
        return self._kinds[connector.kind]

    async def connectors(self) -> list[Connector]:
        """By name."""
        return sorted((await self.store.network.tables()).connectors, key=lambda connector: connector.name)

    async def connector(self, name: str) -> Connector:
        for connector in (await self.store.network.tables()).connectors:
            if connector.name == name:
                return connector
        raise NoSuch("connector", name)

    async def set_connector(
        self,
        name: str,
        texts: Mapping[str, str],
        options: Mapping[str, str] | None = None,
        *,
        knows_secrets: bool = False,
    ) -> ConnectorChange:
        """Changes fields and options, all or none; an empty option goes back to its default.

        What would send a kept password to another host, under another name or with less protection takes the password
        once more, unless whoever asks `knows_secrets`.
        """
        found = await self.connector(name)
        changed = self._changed(found, {}, texts, options or {})
        if not knows_secrets:
            _ask_secrets_again(self.kind_of(found), found, changed, texts)
        audited = self.audited("connector.set", name, _shown({**texts, **(options or {})}))
        try:
            await audited.network.update_connector(changed)
        except Missing:
            raise NoSuch("connector", name) from None
        return ConnectorChange(changed, self.kind_of(changed).warnings(changed) + await self.template_warnings(changed))

    async def template_warnings(self, connector: Connector) -> list[str]:
        """Returns what keeps messages from going over a connector that requires templates, in sentences."""
        policy = self.kind_of(connector).policy(connector)
        if not policy.needs_templates:
            return []
        return warnings_of((await self.store.network.tables()).templates, policy.tlvs)

    async def remove_connector(self, name: str) -> None:
        """Removes its routes, too. The audit log keeps both, without secrets, so that they can be made again."""
        gone = await self.connector(name)
        kind = self.kind_of(gone)
        settings = {each: kind.settings[each].text(value) for each, value in kind.values(gone).items()}
        shown = {each: text for each, text in settings.items() if not kind.settings[each].secret}
        gone_routes = [
            f"{route['prefix'] or '(all)'} priority {route['priority']}"
            for route in await routes.find(self)
            if route["connector"] == name
        ]
        details = {**shown, **_shown({each: str(value) for each, value in kind.options(gone).items()})}
        if gone_routes:
            details["routes"] = ", ".join(gone_routes)
        try:
            await self.audited("connector.remove", name, details).network.remove_connector(name)
        except Missing:
            raise NoSuch("connector", name) from None

    async def link_states(self) -> list[ConnectorReport]:
        """Returns the last words of every node on its connectors."""
        return await self.store.network.link_states()

    async def backlog(self) -> BacklogCounts:
        return await self.store.upkeep.counts(self.now)

    # --- inside

    async def _find(self, name: str) -> tuple[Account, list[ApiKey]]:
        found = await self.store.accounts.find(name)
        if found is None:
            raise NoSuch("account", name)
        return found

    def _changed(
        self, connector: Connector, values: Mapping[str, Any], texts: Mapping[str, str], options: Mapping[str, str]
    ) -> Connector:
        """The connector with these settings and options. Raises Invalid."""
        kind = self.kind_of(connector)
        parsed = fields.parse_changes(kind.settings, texts)
        merged = _merged(kind.options(connector), options)
        problems = kind.problems(merged)
        if problems:
            raise Invalid("options", "; ".join(problems))
        return replace(connector, **kind.changed(connector, {**values, **parsed}, merged))

    def _own_plan(self, name: str, changes: Mapping[str, Any]) -> str:
        if "plan" in changes:
            raise Invalid("price", "give a plan or a price of its own, not both")
        if name == DEFAULT_PLAN:
            raise Invalid("price", f"the plan {DEFAULT_PLAN} is everybody's; set its prices, or take another name")
        return name

    def _fresh_credentials(self) -> Credentials:
        password = self._secrets.octets(_PASSWORD_OCTETS).hex()
        return Credentials(password, self._fresh_key(), self._secrets.octets(signature.SECRET_OCTETS))

    def _fresh_key(self) -> str:
        return make_secret(API_KEY, self._secrets.octets(RANDOM_OCTETS))

    def _key_id(self) -> str:
        return self._secrets.octets(_KEY_ID_OCTETS).hex()


def _not_negative(price: int, field: str = "price") -> int:
    if price < 0:
        raise Invalid(field, "it must not be below zero")
    return price


def _ask_secrets_again(kind: ConnectorKind, was: Connector, now: Connector, texts: Mapping[str, str]) -> None:
    """Raises Invalid for a secret that would go elsewhere and is not among `texts`."""
    moved = kind.moved(was, now)
    for name in kind.secrets(was) if moved else ():
        if name not in texts:
            what = " and ".join(filter(None, (", ".join(moved[:-1]), moved[-1])))
            raise Invalid(name, f"give it again: with another {what} it would go where it was not meant to")


def _shown(texts: Mapping[str, str]) -> dict[str, str]:
    """Texts as the audit log may have them: without the values of secrets."""
    return {name: "(changed)" if "password" in name else text for name, text in texts.items()}


def _merged(options: Mapping[str, Any], texts: Mapping[str, str]) -> dict[str, Any]:
    merged = dict(options)
    for name, text in texts.items():
        value = fields.parse_option(name, text)
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = value
    return merged
