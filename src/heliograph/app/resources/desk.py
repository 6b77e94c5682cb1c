"""The desk: the store, the clock and the actor that every use case of administration gets."""

import re
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping
from copy import copy
from dataclasses import KW_ONLY, dataclass, field
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, Self, TypeVar

from heliograph.app.configuration import Outdated
from heliograph.app.records import SCOPES_OF, AuditEntry, Scope, UserRole
from heliograph.domain.error import FORBIDDEN, Fault

if TYPE_CHECKING:
    from heliograph.app.configuration import Account, ApiKey, Connector
    from heliograph.app.connector_kind import ConnectorKind
    from heliograph.app.ports import CarrierState, Clock, PortedNumbers, Secrets, Store
    from heliograph.app.ports.encryption import Encryption
    from heliograph.app.records import BacklogCounts
    from heliograph.app.sending.authenticate import Hash
    from heliograph.app.sending.callback_url import CallbackUrls
    from heliograph.app.sending.compose import Composer
    from heliograph.domain.past import KnownPast

Service = TypeVar("Service")
P = ParamSpec("P")
R = TypeVar("R")

MAX_NAME_CHARS = 64

_NAME = re.compile(r"[A-Za-z0-9._-]{1,64}").fullmatch


def _none() -> None:
    """The secret of an audit log without signatures."""


def needed(service: Service | None) -> Service:
    """Returns a service of the desk. Raises TypeError if the desk was made without it (a mistake in the code)."""
    if service is None:
        raise TypeError("this use case needs a desk with more services")
    return service


class Invalid(Exception):
    """The value of a field is invalid. Nothing was changed. The text is a sentence for people."""

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(f"{field}: {problem}")
        self.field = field
        self.problem = problem


class NoSuch(Exception):
    """A named thing does not exist. Nothing was changed.

    `kind` is for example `account`, and `near` the name that was probably meant, or "".
    """

    def __init__(self, kind: str, name: str, near: str = "") -> None:
        super().__init__(f"There is no {kind} {name}" + (f", but {near}" if near else ""))
        self.kind = kind


class AlreadyThere(Exception):
    """The thing to create exists already. Nothing was changed. `more` ends the sentence."""

    def __init__(self, kind: str, name: str, more: str = "") -> None:
        super().__init__(f"The {kind} {name} exists already{more}")
        self.kind = kind


@dataclass(frozen=True, slots=True)
class Actor:
    """A user or token with its scopes."""

    name: str
    """The name in the audit log, for example `user:ada` or `token:4f1a`."""
    scopes: frozenset[Scope]
    address: str
    """The client's address, for example `192.0.2.7`."""
    role: UserRole | None = None
    """None for a token."""
    csrf: str = ""
    """CSRF token of the session's forms; empty for a token."""
    must_enrol: bool = False
    """True if the user must set up a second factor before anything else."""

    @property
    def plain_name(self) -> str:
        return self.name.partition(":")[2]

    def may(self, scope: Scope) -> bool:
        return scope in self.scopes

    def need(self, scope: Scope, field: str | None = None) -> None:
        """Raises Fault (403) if the actor lacks the scope. `field` names the field that needs it, if a field does."""
        if scope in self.scopes:
            return
        if self.role is None:
            needed = f", which the field {field} needs" if field else ""
            lacks = f"The token lacks the scope {scope.value}{needed}"
            raise Fault(FORBIDDEN, f"{lacks}. Use a token that has it.", field)
        least = next(role for role in UserRole if scope in SCOPES_OF[role])
        subject = f"The field {field}" if field else "This"
        raise Fault(FORBIDDEN, f"{subject} needs the role {least.value}; your role is {self.role.value}.", field)

    def need_all(self, given: Iterable[str], scopes: Mapping[str, Scope]) -> None:
        """Raises Fault (403) if a `given` field takes a scope that the actor lacks."""
        for each in given:
            if each in scopes:
                self.need(scopes[each], each)


async def _at_once(work: "Callable[[], Any]") -> Any:
    return work()


@dataclass
class Desk:
    """The services for administration, in the name of an actor.

    All use cases are functions of a desk. Each change writes its entry into the audit log in the same transaction.
    Commands, the admin API and the console make a desk with all services; tests leave out services.
    """

    store: "Store"
    clock: "Clock"
    actor: str = "system"
    """The actor of the audit log, for example `user:ada`."""
    address: str = ""
    """Address of the client, for example `192.0.2.7`."""
    _: KW_ONLY
    secrets: "Secrets | None" = None
    """Makes passwords, keys and ids."""
    hasher: "Hash | None" = None
    """Hashes a password in another thread; None: the hash blocks the event loop."""
    in_thread: "Callable[[Callable[[], Any]], Awaitable[Any]]" = _at_once
    """Runs long work in another thread; by default it blocks the event loop."""
    callback_urls: "CallbackUrls | None" = None
    """The address guard; None accepts every URL."""
    composer: "Callable[[], Composer] | None" = None
    """Returns the composer of messages: it checks new times of scheduled messages."""
    kinds: Mapping[str, "ConnectorKind"] = field(default_factory=dict)
    """The kinds of connectors, by name."""
    simulated: Mapping[int, str] = field(default_factory=dict)
    """Connectors of a development run, by id. They have no rows, and take messages that no route covers."""
    past: Mapping[int, str] = field(default_factory=dict)
    """Connectors that an earlier development run may have had, by id."""
    status_name: Callable[[int], str] = hex
    """Returns the name of a command status, for example `ESME_RTHROTTLED` for 0x58."""
    audit_secret: Callable[[], bytes | None] = _none
    """Returns the secret that signs heads of the audit log; None: heads are not signed."""
    hours_days: float = 90.0
    """Days for which the series keep counts by the hour."""
    carrier_states: "Callable[[], list[tuple[Connector, CarrierState]]]" = list
    """Returns the connectors that this process binds, with the state of their binds."""
    waiting: Callable[[], Mapping[int, tuple[int, int | None]]] = dict
    """Returns by connector the number of messages in the lane of this process, and the due time of the oldest."""
    healthy: Callable[[], bool] = lambda: True
    """Returns whether the store takes writes."""
    may: Callable[[Scope], bool] = lambda _: True
    """Returns whether the actor has a scope, for use cases that tell less without it."""
    probe: "Callable[[Connector], Awaitable[list[tuple[str, bool, str]]]] | None" = None
    """Binds a connector as a test. Returns the steps: the name, whether it passed, and the details."""
    reads_secrets: bool = False
    """True if the actor can read the store, with all secrets in it, as users of commands can."""
    encryption: "Encryption | None" = None
    """The keys of the store."""
    ported: "Callable[[], PortedNumbers | None]" = _none
    """Returns the numbers that may be in another network than that of their prefix; None without file and server."""
    known_past: "KnownPast | None" = None
    """The past that this machine's data directory saw confirmed; None if it has seen none."""
    pause: "Callable[[float], Awaitable[None]] | None" = None
    """Waits for so many seconds; None: nothing is waited for."""

    async def hash_password(self, password: str) -> str:
        return needed(self.secrets).hash_password(password) if self.hasher is None else await self.hasher(password)

    @property
    def now(self) -> int:
        """The time of changes, in ms since the epoch."""
        return self.clock.now()

    def acting_as(self, actor: str, address: str = "") -> Self:
        """Returns the same desk in the name of another actor."""
        other = copy(self)
        other.actor, other.address = actor, address
        return other

    def acting_for(self, actor: Actor) -> Self:
        """Returns the same desk in the name of a user or token, with its scopes."""
        other = self.acting_as(actor.name, actor.address)
        other.may = actor.may
        return other

    async def note(self, action: str, target: str, details: Mapping[str, str] | None = None) -> None:
        """Writes an audit entry about an action that changes no rows. It must not have secrets or message texts."""
        await self.store.audit_log.append(self.entry(action, target, details))

    def audited(
        self, action: str, target: str, details: Mapping[str, str] | None = None, since: int | None = None
    ) -> "Store":
        """Returns the store for a single change. The transaction of the change also writes this audit entry.

        A change that writes back a whole row gives `since`, the revision of the tables that it read the row from. It
        raises Outdated if they have changed since then; see `repeated_if_outdated`.
        """
        entry = self.entry(action, target, details)
        return self.store.noting(lambda _: entry, since)

    def entry(self, action: str, target: str, details: Mapping[str, str] | None = None) -> AuditEntry:
        return AuditEntry(self.now, self.actor, action, target, dict(details or {}), self.address)

    async def backlog(self) -> "BacklogCounts":
        return await self.store.upkeep.counts(self.now)

    async def account_names(self) -> dict[int, str]:
        """Returns the names of all accounts by id."""
        return {account.id: account.name for account, _ in await self.store.accounts.all()}

    async def connector_names(self) -> dict[int, str]:
        """Returns the names of all connectors by id."""
        return (await self.store.network.tables(large=False)).connector_names()

    async def known_connectors(self) -> dict[int, str]:
        """Returns the names by id of all connectors of messages, including connectors of development runs."""
        return {**self.past, **self.simulated, **await self.connector_names()}


def repeated_if_outdated(change: Callable[P, Awaitable[R]]) -> Callable[P, Coroutine[Any, Any, R]]:
    """Repeats a use case that reads a row, changes some fields and writes the row back, until nobody else changed the
    tables in between. Of two administrators who change two fields of a row at once, neither undoes the other."""

    @wraps(change)
    async def repeated(*args: P.args, **named: P.kwargs) -> R:
        while True:
            try:
                return await change(*args, **named)
            except Outdated:
                continue

    return repeated


def check_name(field: str, name: str) -> str:
    """Returns the name of an account, connector or plan. Raises Invalid if the name is not allowed."""
    if _NAME(name) is None:
        problem = f"{name!r} is not a name; use 1 to {MAX_NAME_CHARS} letters A-Z, a-z, digits and . _ -"
        raise Invalid(field, problem)
    return name


def check_destination(thing: str, prefix: str, network: str) -> None:
    """Raises Invalid unless a route, price or cost has a prefix or a network; neither means all numbers."""
    if prefix and network:
        raise Invalid("network", f"a {thing} has a prefix or a network, not both")


def audited_target(prefix: str, network: str) -> str:
    """Returns the target of an audit entry about a route, price or cost: `26201`, `49`, or `(all)` for all numbers."""
    return network or prefix or "(all)"


async def account_id(store: "Store", name: str) -> int:
    """Returns the id of the account with this name. Raises Invalid, NoSuch, and the store's Unavailable."""
    return (await account_of(store, check_name("account", name)))[0].id


async def account_of(store: "Store", name: str) -> "tuple[Account, list[ApiKey]]":
    """Returns an account and its keys, revoked keys included. Raises NoSuch, which names an account that differs in
    case only."""
    found = await store.accounts.find(name)
    if found is None:
        near = await store.account_names.containing(name, 1)
        raise NoSuch("account", name, near[0] if near and near[0].lower() == name.lower() else "")
    return found


async def connector_id(store: "Store", name: str) -> int:
    """Returns the id of the connector with this name. Raises NoSuch, and the store's Unavailable."""
    names = (await store.network.tables(large=False)).connector_names()
    found = next((number for number, known in names.items() if known == name), None)
    if found is None:
        raise NoSuch("connector", name)
    return found
