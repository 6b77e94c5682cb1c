"""The desk at which administration works: a store, a clock, and an actor for the audit log."""

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from copy import copy
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Self, TypeVar

from heliograph.app.records import SCOPES_OF, AuditEntry, Scope, UserRole
from heliograph.domain.error import FORBIDDEN, Fault

if TYPE_CHECKING:
    from heliograph.app.configuration import Connector
    from heliograph.app.connector_kind import ConnectorKind
    from heliograph.app.ports import CarrierState, Clock, Secrets, Store
    from heliograph.app.sending.authenticate import Hash
    from heliograph.app.sending.callback_url import CallbackUrls
    from heliograph.app.sending.compose import Composer

Service = TypeVar("Service")

MAX_NAME_CHARS = 64

_NAME = re.compile(r"[A-Za-z0-9._-]{1,64}").fullmatch


def _none() -> None:
    """The secret of an audit log without signatures."""


def needed(service: Service | None) -> Service:
    """Returns a service of the desk. Raises TypeError if the desk was made without it, which is a mistake in the
    code."""
    if service is None:
        raise TypeError("this use case needs a desk with more services")
    return service


class Invalid(Exception):
    """A value that cannot be used; nothing was changed. The text is a sentence for people."""

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(f"{field}: {problem}")
        self.field = field
        self.problem = problem


class NoSuch(Exception):
    """The named thing does not exist; nothing was changed. `kind` is such as `account`."""

    def __init__(self, kind: str, name: str) -> None:
        super().__init__(f"there is no {kind} {name}")
        self.kind = kind


class AlreadyThere(Exception):
    """The thing to create exists already; nothing was changed."""

    def __init__(self, kind: str, name: str) -> None:
        super().__init__(f"the {kind} {name} exists already")
        self.kind = kind


@dataclass(frozen=True, slots=True)
class Actor:
    """A user or token with its scopes. `name` is that of the audit log: `user:ada`, `token:4f1a`."""

    name: str
    scopes: frozenset[Scope]
    address: str
    role: UserRole | None = None
    csrf: str = ""
    """CSRF token of the session's forms; empty for a token."""
    must_enrol: bool = False
    """Whether the user has to set up a second factor before anything else."""

    @property
    def plain_name(self) -> str:
        return self.name.partition(":")[2]

    def may(self, scope: Scope) -> bool:
        return scope in self.scopes

    def need(self, scope: Scope, field: str | None = None) -> None:
        """Raises Fault (403) without the scope. `field` is given where a single field takes the scope."""
        if scope in self.scopes:
            return
        if self.role is None:
            lacks = f"The token has not the scope {scope.value}"
            because = f", which the field {field} takes" if field else ""
            raise Fault(FORBIDDEN, f"{lacks}{because}; use one that has it.", field)
        least = next(role for role in UserRole if scope in SCOPES_OF[role])
        what = f"The field {field}" if field else "This"
        raise Fault(FORBIDDEN, f"{what} takes the role {least.value}; yours is {self.role.value}.", field)

    def need_all(self, given: Iterable[str], scopes: Mapping[str, Scope]) -> None:
        """Raises Fault (403) if a `given` field takes a scope that the actor lacks."""
        for each in given:
            if each in scopes:
                self.need(scopes[each], each)


@dataclass(slots=True)
class ProbeResult:
    """Result of a test bind. Each step has a name, whether it worked, and the details."""

    ok: bool
    steps: list[tuple[str, bool, str]]


@dataclass
class Desk:
    """The desk at which administration works, in the name of an actor. Each change writes its entry into the audit log
    in the same transaction.

    All use cases are functions of a desk. Commands, the admin API and the console make a desk with all services; tests
    leave out the services that a use case does not need.
    """

    store: "Store"
    clock: "Clock"
    actor: str = "system"
    """The actor of the audit log, for example `user:ada`."""
    address: str = ""
    """Address of the client."""
    _: KW_ONLY
    secrets: "Secrets | None" = None
    """Makes secrets and hashes passwords."""
    hasher: "Hash | None" = None
    """Hashes a password in another thread; None hashes on the loop."""
    callback_urls: "CallbackUrls | None" = None
    """Knows where nothing may be posted to; None allows any URL."""
    composer: "Callable[[], Composer] | None" = None
    """Returns the composer of messages: it checks new times of scheduled messages."""
    kinds: Mapping[str, "ConnectorKind"] = field(default_factory=dict)
    """The kinds of connectors, by name."""
    simulated: Mapping[int, str] = field(default_factory=dict)
    """Connectors of a development run, by id. They have no rows, and take messages that no route covers."""
    past: Mapping[int, str] = field(default_factory=dict)
    """Connectors that an earlier development run may have had, by id."""
    status_name: Callable[[int], str] = hex
    """Names a command status."""
    audit_secret: Callable[[], bytes | None] = _none
    """Returns the secret that heads of the audit log are signed with, None for no signatures."""
    hours_days: float = 90.0
    """Days for which hours of series are kept."""
    carrier_states: "Callable[[], list[tuple[Connector, CarrierState]]]" = list
    """Returns the connectors that this process binds, with the state of their binds."""
    probe: "Callable[[Connector], Awaitable[ProbeResult]] | None" = None
    """Binds as a test."""

    async def hash_password(self, password: str) -> str:
        return needed(self.secrets).hash_password(password) if self.hasher is None else await self.hasher(password)

    @property
    def now(self) -> int:
        """Milliseconds since the epoch by the clock that changes are dated with."""
        return self.clock.now()

    def acting_as(self, actor: str, address: str = "") -> Self:
        """Returns the same desk in the name of another actor."""
        other = copy(self)
        other.actor, other.address = actor, address
        return other

    async def note(self, action: str, target: str, details: Mapping[str, str] | None = None) -> None:
        """Writes an entry about an action that changes no rows; no secrets, no message texts."""
        await self.store.audit_log.append(self.entry(action, target, details))

    def audited(self, action: str, target: str, details: Mapping[str, str] | None = None) -> "Store":
        """Returns the store for a single change; its transaction writes this entry."""
        entry = self.entry(action, target, details)
        return self.store.noting(lambda _: entry)

    def entry(self, action: str, target: str, details: Mapping[str, str] | None = None) -> AuditEntry:
        return AuditEntry(self.now, self.actor, action, target, dict(details or {}), self.address)

    async def account_names(self) -> dict[int, str]:
        """Returns the names of all accounts by id."""
        return {account.id: account.name for account, _ in await self.store.accounts.all()}

    async def connector_names(self) -> dict[int, str]:
        """Returns the names of all connectors by id."""
        return (await self.store.network.tables()).connector_names()

    async def known_connectors(self) -> dict[int, str]:
        """Returns the names by id of all connectors that a message may name, those of development runs included."""
        return {**self.past, **self.simulated, **await self.connector_names()}


def check_name(what: str, name: str) -> str:
    """Returns the name of an account, connector or plan. Raises Invalid if the name is not allowed."""
    if _NAME(name) is None:
        raise Invalid(what, f"{name!r} is no name; take 1 to {MAX_NAME_CHARS} letters A-Z, a-z, digits and . _ -")
    return name


async def account_id(store: "Store", name: str) -> int:
    """Returns the id of the account with this name. Raises Invalid, NoSuch, and the store's Unavailable."""
    found = await store.accounts.find(check_name("account", name))
    if found is None:
        raise NoSuch("account", name)
    return found[0].id


async def connector_id(store: "Store", name: str) -> int:
    """Returns the id of the connector with this name. Raises NoSuch, and the store's Unavailable."""
    names = (await store.network.tables()).connector_names()
    found = next((number for number, known in names.items() if known == name), None)
    if found is None:
        raise NoSuch("connector", name)
    return found
