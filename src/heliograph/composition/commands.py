"""The composition root of single commands.

Imports are inside the functions, so that each command imports only the modules that it needs and answers at once.
"""

import asyncio
import getpass
import os
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from heliograph import files
from heliograph.app.ports import Secrets, Unavailable
from heliograph.app.ports.encryption import KeyRefused, KeyVault
from heliograph.composition.connectors import ADAPTERS, KINDS, is_whole, policy_of
from heliograph.composition.encryption import OpenedStore, SealableStore, sealed, vault_of
from heliograph.composition.names import STORE_FILE as STORE_FILE
from heliograph.config import Settings
from heliograph.domain.display import harmless
from heliograph.runtime.disk import make_folder

if TYPE_CHECKING:
    from heliograph.api.fields import Terms
    from heliograph.app.observing.counters import LookupCounters
    from heliograph.app.ports import Journal, PastGuard, PortedNumbers, Store
    from heliograph.app.resources.desk import Desk
    from heliograph.app.sending.callback_url import CallbackUrls
    from heliograph.app.sending.compose import Composer
    from heliograph.domain.message.retention import RetentionDays

FICTITIOUS = "447700900000"
"""A number that belongs to no subscriber: Ofcom keeps its range free for films."""


async def open_store(
    settings: Settings,
    *,
    guard: "PastGuard | None" = None,
    find_vault: "Callable[[Settings], KeyVault | None]" = vault_of,
) -> OpenedStore:
    """Opens the database that the settings name, or the store in the data directory, with the master key in the
    settings. Creates missing tables and files. `guard`: for a gateway, which refuses a store that lost commits.
    `find_vault` runs in a thread.

    Raises Unavailable.
    """
    from heliograph.adapters.store.shared.schema import SchemaChanged, SchemaTooNew
    from heliograph.adapters.system.clock import SystemClock

    try:
        vault = await asyncio.to_thread(find_vault, settings)
        if settings.store.url:
            store = await _open_database(settings.store.url, guard)
        else:
            from heliograph.adapters.store.sqlite import SqliteStore

            make_folder(settings.data)
            store = await SqliteStore.open(settings.data / STORE_FILE, guard=guard)
    except (SchemaTooNew, SchemaChanged, KeyRefused, OSError) as problem:
        raise Unavailable(str(problem)) from problem
    try:
        return await sealed(store, vault, SystemClock().now())
    except BaseException as problem:
        await store.close()
        if isinstance(problem, KeyRefused):
            raise Unavailable(str(problem)) from problem
        raise


async def _open_database(url: str, guard: "PastGuard | None") -> SealableStore:
    try:
        from heliograph.adapters.store.postgres import PostgresStore
    except ModuleNotFoundError as problem:
        if problem.name != "asyncpg":
            raise
        raise Unavailable("PostgreSQL needs an extra: pip install 'heliograph[postgres]'") from None
    return await PostgresStore.open(url, serves=guard is not None, guard=guard)


def has_store(settings: Settings) -> bool:
    """Returns False if the data directory is missing or has no store. A database server always counts as a store.

    A directory that cannot be read, or is a file, counts as well: opening its store tells the reason.
    """
    try:
        return bool(settings.store.url) or settings.data.is_file() or (settings.data / STORE_FILE).exists()
    except PermissionError:
        return True


def back_up(settings: Settings, target: Path) -> None:
    """Copies the store in the data directory to a file. Raises Unavailable, FileExistsError and OSError."""
    from heliograph.adapters.store.sqlite.backup import back_up as copy

    copy(settings.data / STORE_FILE, target)


@contextmanager
def stopped_store(settings: Settings) -> Iterator[Path]:
    """Yields the file of the store in the data directory, and keeps gateways from starting on it. Raises Unavailable if
    there is none, or a gateway runs."""
    from heliograph.runtime.data_directory import AlreadyRunning, only_engine

    file = settings.data / STORE_FILE
    if not file.is_file():
        raise Unavailable(f"there is no store at {file}")
    try:
        with only_engine(settings.data):
            yield file
    except AlreadyRunning as running:
        raise Unavailable(str(running)) from running


def compact(settings: Settings) -> tuple[int, int]:
    """Rewrites the store in the data directory. Returns the octets of its file before and after. Raises Unavailable,
    and OSError.
    """
    from heliograph.adapters.store.sqlite.backup import compact as write_anew

    with stopped_store(settings) as file:
        before = file.stat().st_size
        write_anew(file)
        return before, file.stat().st_size


def make_secrets(settings: Settings) -> "Secrets":
    """Makes secrets, and hashes passwords with the parameters of the settings."""
    from heliograph.adapters.system.secrets import Argon2Secrets

    passwords = settings.passwords
    return Argon2Secrets(passwords.memory_mib, passwords.passes, passwords.lanes)


@asynccontextmanager
async def open_desk(settings: Settings) -> "AsyncIterator[Desk]":
    """Opens the store for a command, which administers in the name of the user at the terminal, whether or not a
    gateway runs on the store. Raises Unavailable."""
    from heliograph.adapters.system.clock import SystemClock
    from heliograph.app.resources.desk import Desk
    from heliograph.composition import dev
    from heliograph.runtime.past import load_past
    from heliograph.smpp.constants import CommandStatus

    known_past = None
    with suppress(Unavailable):  # commands work without the file; a gateway does not start with a damaged one
        known_past = load_past(settings.data)
    store, encryption = await open_store(settings)
    ported = PortedOnDemand(settings)
    try:
        desk = Desk(
            store,
            SystemClock(),
            _terminal_user(),
            secrets=make_secrets(settings),
            composer=lambda: _composer(settings, store),
            kinds=KINDS,
            past=dev.NAMES,
            status_name=CommandStatus.name_of,
            audit_secret=lambda: audit_secret(settings),
            hours_days=settings.reports.hours_days,
            probe=lambda connector: ADAPTERS[connector.kind].probe(connector, settings),
            reads_secrets=True,
            ported=ported,
            pause=asyncio.sleep,
            encryption=encryption,
            known_past=known_past,
        )
        is_dev = await dev.was_last(desk)
        desk.simulated = dev.NAMES if is_dev else {}
        desk.callback_urls = callback_urls(settings, is_dev=is_dev)
        yield desk
    finally:
        await ported.close()
        await store.close()


def _composer(settings: Settings, store: "Store") -> "Composer":
    from heliograph.app.sending.compose import Composer
    from heliograph.app.sending.directory import Directory
    from heliograph.net.address_guard import AddressGuard

    guard = AddressGuard(settings.callbacks.allowed_networks, settings.callbacks.allowed_ports)
    directory = Directory(store.table_changes, store.accounts, policy=policy_of, is_whole=is_whole)
    return Composer(directory, guard.forbidden_host, terms(settings).rules, guard.forbidden_port)


class PortedOnDemand:
    """The file of ported numbers and the look-up of a command, which are opened on use."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._opened: PortedNumbers | None = None

    def __call__(self) -> "PortedNumbers | None":
        """Returns None without both settings. Raises Invalid."""
        if self._opened is None:
            self._opened = open_ported(self._settings, CommandJournal())
        return self._opened

    async def close(self) -> None:
        if self._opened is not None:
            await self._opened.close()


class CommandJournal:
    """Writes happenings of a command to standard error, as `note: lookup.failed: connection refused`."""

    def log(self, level: str, event: str, **fields: object) -> None:  # noqa: ARG002 - a command has no levels
        """Writes a line."""
        sys.stderr.write(f"note: {': '.join([event, *(harmless(str(each)) for each in fields.values())])}\n")


def open_ported(
    settings: Settings, journal: "Journal", counters: "LookupCounters | None" = None
) -> "PortedNumbers | None":
    """Opens the file of ported numbers, and the look-up that numbers beyond the file take. Returns None without both.
    Must be called while the loop runs, if there is a look-up. Raises Invalid."""
    from heliograph.app.resources.desk import Invalid

    routing = settings.routing
    file = None
    if routing.ported_file:
        from heliograph.adapters.system.ported_numbers import PortedFile, UnusablePorted

        try:
            file = PortedFile(Path(routing.ported_file), journal)
        except UnusablePorted as problem:
            raise Invalid("routing.ported_file", str(problem)) from None
    if not routing.lookup_url:
        return file
    from heliograph.adapters.system.number_lookup import NumberLookup

    return NumberLookup(
        routing.lookup_url, routing.lookup_authorization, routing.lookup_kept_s, journal, file, counters
    )


async def probe_lookup(settings: Settings) -> str:
    """Asks the server of the setting `routing.lookup_url` about a number that belongs to no subscriber. Returns why its
    answer is not usable, empty if it is."""
    from heliograph.adapters.system.number_lookup import NumberLookup

    routing = settings.routing
    lookup = NumberLookup(routing.lookup_url, routing.lookup_authorization, routing.lookup_kept_s, CommandJournal())
    await lookup.ask([FICTITIOUS])
    await lookup.close()
    return lookup.problem


def _terminal_user() -> str:
    """Names the actor in the audit log of changes by commands."""
    try:
        return f"cli:{getpass.getuser()}"
    except (KeyError, OSError):  # a user without a name, as in containers
        return f"cli:{os.getuid()}"


def audit_secret(settings: Settings) -> bytes | None:
    """Returns the secret that signs heads of the audit log, or None for no signatures. Raises Invalid."""
    from heliograph.app.resources.desk import Invalid
    from heliograph.domain.security.audit_chain import LEAST_KEY_OCTETS

    if not settings.audit.key_file:
        return None
    try:
        secret = files.read(Path(settings.audit.key_file)).strip()
    except OSError as problem:
        raise Invalid("audit.key_file", f"the file cannot be read: {problem.strerror}") from None
    if len(secret) < LEAST_KEY_OCTETS:
        raise Invalid("audit.key_file", f"the secret in it has {len(secret)} octets; {LEAST_KEY_OCTETS} are the least")
    return secret


def callback_urls(settings: Settings, *, is_dev: bool = False) -> "CallbackUrls":
    """Returns the check for URLs to which the gateway must not post. A development run may post to loopback."""
    from heliograph.app.sending.callback_url import CallbackUrls
    from heliograph.net.address_guard import AddressGuard

    guard = AddressGuard(allowed_networks(settings, is_dev=is_dev), settings.callbacks.allowed_ports)
    return CallbackUrls(guard.forbidden_host, guard.forbidden_port)


def allowed_networks(settings: Settings, *, is_dev: bool) -> tuple[str, ...]:
    """Returns the networks that callbacks may go to although they are not public. A development run adds loopback."""
    from heliograph.composition.dev import LOOPBACK

    return (*settings.callbacks.allowed_networks, *(LOOPBACK if is_dev else ()))


def refused_address(networks: tuple[str, ...], host: str) -> str | None:
    """Returns why receipts may not be posted to this address or literal host, or None if they may.

    `networks` are the result of `allowed_networks`.
    """
    from heliograph.net.address_guard import AddressGuard

    return AddressGuard(networks).forbidden_host(host)


def terms(settings: Settings) -> "Terms":
    """Returns the settings that the API uses and documents."""
    from heliograph.api.fields import Terms
    from heliograph.app.sending.compose import SendRules

    messages, callbacks = settings.messages, settings.callbacks
    rules = SendRules(
        messages.max_destinations,
        messages.max_segments,
        messages.horizon_days,
        int(messages.validity_hours * 3_600_000),
    )
    return Terms(rules, settings.http.max_body, messages.list_interval_s, callbacks.timeout_s, callbacks.retry_hours)


def retention(settings: Settings) -> "RetentionDays":
    """Returns the retention for accounts without their own."""
    from heliograph.domain.message.retention import RetentionDays

    kept = settings.privacy
    return RetentionDays(kept.retain_text_days, kept.retain_number_days, kept.retain_days)
