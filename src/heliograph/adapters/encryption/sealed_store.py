"""The edge of an encrypted store: texts and secrets are sealed on their way to the store, and opened on their way back.

A `SealedStore` stands between the use cases and a store that was opened with a master key. Without a key it is not
there.

1. Arguments: `commits.record` seals the texts of its facts. An account, a connector or a second factor is replaced by a
   copy with a sealed secret.
2. Results: every message, notice, account, connector and factor in them is opened, however deep it lies.
3. If the key of a value is not known yet, the keys are read, and the value is opened again.
4. A damaged value is noted (`UnreadableValues`), and its record is handed out without it. So a row with a flipped bit
   stops neither the gateway nor the records beside it. Only a second factor raises CannotOpen: without its secret it
   would take any code that an empty secret makes.

Numbers, times and prices stay plain: the store searches and counts by them.
"""

import time
from asyncio import CancelledError
from collections.abc import Callable, Iterable
from dataclasses import fields, is_dataclass, replace
from functools import cache
from typing import Any, Final, cast

from heliograph.adapters.encryption.store_keys import PARTS, SETTINGS, Seals, StoreKeys, UnknownKey, shown_row
from heliograph.app.configuration import OFF, Account, Connector
from heliograph.app.facts import Facts, InboundMessage, InboundPart, Message
from heliograph.app.notice import Notice
from heliograph.app.ports import Leases, Store
from heliograph.app.ports.encryption import CannotOpen
from heliograph.app.ports.factors import SecondFactor
from heliograph.app.records import AuditEntry
from heliograph.domain.message.ids import to_hex

PORTS: Final = (
    "accounts", "commits", "customers", "factors", "inbound", "messages", "network", "notices", "pulls", "queue",
    "receipts", "table_changes",
)  # fmt: skip
"""The ports that take or return a text or a secret."""


class Opener:
    """Opens the results of a store, for example a list of `InboundRecord`."""

    def __init__(self, keys: StoreKeys) -> None:
        assert keys.seals is not None
        self.keys = keys
        self.seals: Seals = keys.seals
        self._openers: dict[type, Callable[[Any], Any]] = {
            Message: self.open_message,
            InboundMessage: self.open_inbound,
            InboundPart: self.open_part,
            Notice: self.open_notice,
            Account: self.open_account,
            Connector: self.open_connector,
            SecondFactor: self.open_factor,
        }

    async def opened(self, value: Any) -> Any:
        """Returns the result with all of it opened. Raises CannotOpen for a second factor."""
        while True:
            try:
                return self.open(value)
            except UnknownKey as unknown:
                await self.keys.refresh(int(time.time() * 1_000))
                self.seals.note_missing(unknown.number)

    def open(self, value: Any) -> Any:
        """Returns the value itself if nothing in it is sealed. Raises CannotOpen, UnknownKey."""
        kind = type(value)
        opener = self._openers.get(kind)
        if opener is not None:
            return opener(value)
        if kind is list or kind is tuple:
            opened = [self.open(each) for each in value]
            same = all(new is old for new, old in zip(opened, value, strict=True))
            return value if same else kind(opened)
        if kind is dict:
            return {name: self.open(each) for name, each in value.items()}
        return self._record(value, _names(kind)) if is_dataclass(kind) else value

    def _record(self, value: Any, names: Iterable[str]) -> Any:
        changed = {}
        for name in names:
            old = getattr(value, name)
            new = self.open(old)
            if new is not old:
                changed[name] = new
        return replace(value, **changed) if changed else value

    def open_message(self, message: Message) -> Message:
        if message.sealed:
            text = self._text("message.content", message)
            if text is not None:
                message.content, message.sealed = text, b""
        return message

    def open_inbound(self, message: InboundMessage) -> InboundMessage:
        """Opens text and octets. Without either of them the message is unreadable."""
        if message.sealed:
            text = self._text("inbound.content", message)
            if text is not None:
                message.content, message.sealed = text, b""
        octets = self._octets("inbound.octets", str(message.key), message.octets, message)
        if octets is None:
            message.content, message.sealed, octets = "", message.octets, b""
        message.octets = octets
        return message

    def open_part(self, part: InboundPart) -> InboundPart:
        octets = self._octets(PARTS, part_row(part), part.octets)
        return replace(part, octets=octets or b"", is_unreadable=octets is None)

    def open_notice(self, notice: Notice) -> Notice:
        """Opens body and subject. Without its body the notice is rendered again."""
        notice.body = self._octets("callback_retry.body", str(notice.key), notice.body) or b""
        notice.subject = self.open(notice.subject)
        return notice

    def open_account(self, account: Account) -> Account:
        """Opens the signing secret. Without it receivers reject the callbacks, until the account gets a new secret."""
        secret = self._octets("account.signing_secret", account.name, account.signing_secret)
        return replace(account, signing_secret=secret or b"")

    def open_connector(self, connector: Connector) -> Connector:
        """Opens the settings. Without them the connector is off."""
        try:
            return replace(connector, settings=self.seals.open_settings(connector.name, connector.settings))
        except CannotOpen:
            self.seals.unreadable.note(SETTINGS, connector.name)
            return replace(connector, settings={}, state=OFF)

    def open_factor(self, factor: SecondFactor) -> SecondFactor:
        return replace(factor, secret=self.seals.open("admin_factor.secret", factor_row(factor), factor.secret))

    def _octets(self, column: str, row: str, value: bytes, of: Message | InboundMessage | None = None) -> bytes | None:
        """Returns the plain value, maybe `of` a message; None if it cannot be opened, which is noted."""
        try:
            return self.seals.open(column, row, value)
        except CannotOpen:
            self._note(column, row, of)
            return None

    def _text(self, column: str, of: Message | InboundMessage) -> str | None:
        """Returns the text of a message; None if it cannot be opened, which is noted."""
        plain = self._octets(column, str(of.key), of.sealed, of)
        try:
            return None if plain is None else plain.decode()
        except UnicodeDecodeError:  # an envelope with a damaged beginning, which is no text
            self._note(column, str(of.key), of)
            return None

    def _note(self, column: str, row: str, of: Message | InboundMessage | None) -> None:
        self.seals.unreadable.note(column, row, shown_row(column, row) if of is None else to_hex(of.key, of.tail))


class SealedPort:
    """A port of the store: each method seals its arguments, and opens its result."""

    def __init__(self, port: Any, opener: Opener) -> None:
        self._port = port
        self._opener = opener
        self._seals = opener.seals

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._port, name)
        if name.endswith("_page"):
            return method  # prices and routes have no secrets, and each value of a large table would be looked at

        async def call(*args: Any, **values: Any) -> Any:
            return await self._opener.opened(await method(*map(self._sealed, args), **values))

        self.__dict__[name] = call
        return call

    def _sealed(self, value: Any) -> Any:
        seals = self._seals
        if isinstance(value, Account):
            secret = seals.seal("account.signing_secret", value.name, value.signing_secret)
            return replace(value, signing_secret=secret)
        if isinstance(value, Connector):
            return replace(value, settings=seals.seal_settings(value.name, value.settings))
        if isinstance(value, SecondFactor):
            return replace(value, secret=seals.seal("admin_factor.secret", factor_row(value), value.secret))
        return value


class SealedAccounts(SealedPort):
    """Accounts, of which single fields may change."""

    async def update(self, account: int, changes: dict[str, Any]) -> Account:
        if "signing_secret" in changes:
            known = await self._port.by_id(account)
            if known is not None:
                secret = self._seals.seal("account.signing_secret", known.name, changes["signing_secret"])
                changes = changes | {"signing_secret": secret}
        return cast("Account", await self._opener.opened(await self._port.update(account, changes)))


class SealedCommits(SealedPort):
    """Commits: the facts keep their texts, and the store is given envelopes with them."""

    async def record(self, facts: Facts) -> None:
        replies = [each.reply for each in facts.inbound if each.reply is not None]
        messages = [message for accept in (*facts.accepts, *replies) for message in accept.messages]
        octets: list[InboundMessage | InboundPart] = [*facts.inbound, *facts.inbound_parts]
        plain = [each.octets for each in octets], [each.body for each in facts.callback_retries]
        if self._seals.current is not None:
            self._seal(facts, messages)
        try:
            await self._port.record(facts)
        except CancelledError:
            raise  # the store may still be writing them
        except BaseException:
            _restore(facts, octets, *plain)
            raise
        _restore(facts, octets, *plain)
        for message in messages:
            message.sealed = b""
        await self._opener.opened([accept.messages for accept in facts.accepts])  # those of an earlier request, too

    def _seal(self, facts: Facts, messages: list[Message]) -> None:
        seal = self._seals.seal
        for message in messages:
            message.sealed = seal("message.content", str(message.key), message.content.encode())
        for each in facts.inbound:
            row = str(each.key)
            each.sealed = seal("inbound.content", row, each.content.encode())
            each.octets = seal("inbound.octets", row, each.octets)
        for part in facts.inbound_parts:
            part.octets = self._seals.seal_alike(PARTS, part_row(part), part.octets)
        for retry in facts.callback_retries:
            retry.body = seal("callback_retry.body", str(retry.key), retry.body)


class SealedStore:
    """`app.ports.Store` with envelopes in place of texts and secrets. It has an attribute for each port."""

    def __init__(self, store: Store, keys: StoreKeys) -> None:
        self._store = store
        self._opener = opener = Opener(keys)
        kinds = {"accounts": SealedAccounts, "commits": SealedCommits}
        for name in Store.__annotations__:
            port = getattr(store, name)
            setattr(self, name, kinds.get(name, SealedPort)(port, opener) if name in PORTS else port)

    @property
    def leases(self) -> Leases | None:
        return self._store.leases

    def noting(self, describe: Callable[[Any], AuditEntry | None], since: int | None = None) -> Store:
        opener = self._opener
        return sealed_store(self._store.noting(lambda result: describe(opener.open(result)), since), opener.keys)

    async def close(self) -> None:
        await self._store.close()


def sealed_store(store: Store, keys: StoreKeys) -> Store:
    """Returns the store with its texts and secrets sealed."""
    return cast("Store", SealedStore(store, keys))


def factor_row(factor: SecondFactor) -> str:
    """Returns the name of a factor's row in envelopes, as `factors_to_seal` makes it."""
    return f"{factor.user} {factor.id}"


def part_row(part: InboundPart) -> str:
    """Returns the name of a part's row in envelopes, as `parts_to_seal` makes it."""
    of = part.parts_of
    return f"{of.connector} {of.sender} {of.recipient} {of.reference} {of.total} {part.number}"


def _restore(facts: Facts, octets: list[InboundMessage | InboundPart], plain: list[bytes], bodies: list[bytes]) -> None:
    for each, value in zip(octets, plain, strict=True):
        each.octets = value
    for retry, body in zip(facts.callback_retries, bodies, strict=False):
        retry.body = body


@cache
def _names(kind: Any) -> tuple[str, ...]:
    return tuple(each.name for each in fields(kind))
