"""The composition root, as far as single commands need it: what they work with, made and closed again.

Each imports what it needs itself, since commands are to answer at once.
"""

import getpass
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from heliograph.app.ports import Store, Unavailable
from heliograph.composition.connectors import KINDS
from heliograph.config import Settings
from heliograph.runtime.disk import make_folder

if TYPE_CHECKING:
    from heliograph.api.fields import Terms
    from heliograph.app.admin.manage import Manage
    from heliograph.app.admin.sign_in import Actor
    from heliograph.app.admin.users import UserAdministration
    from heliograph.app.admin.views import Views

STORE_FILE = "heliograph.db"

SIMULATOR = 0
"""The connector id of a development run's simulated operator; stored ones begin at 1."""

NAMES = {SIMULATOR: "simulator"}
"""Connectors that the store does not have, by id."""


async def open_store(settings: Settings) -> Store:
    """The store in the database that the settings name, else in the data directory. What is not there yet is made.

    Raises Unavailable.
    """
    from heliograph.adapters.store.shared.schema import SchemaChanged, SchemaTooNew

    try:
        if settings.store.url:
            return await _open_database(settings.store.url)
        from heliograph.adapters.store.sqlite import SqliteStore

        make_folder(settings.data)
        return await SqliteStore.open(settings.data / STORE_FILE)
    except (SchemaTooNew, SchemaChanged, OSError) as problem:
        raise Unavailable(str(problem)) from problem


async def _open_database(url: str) -> Store:
    try:
        from heliograph.adapters.store.postgres import PostgresStore
    except ModuleNotFoundError as problem:
        if problem.name != "asyncpg":
            raise
        raise Unavailable("PostgreSQL needs an extra: pip install 'heliograph[postgres]'") from None
    return await PostgresStore.open(url)


def back_up(settings: Settings, target: Path) -> None:
    """Copies the store in the data directory to a file. Raises Unavailable, FileExistsError and OSError."""
    from heliograph.adapters.store.sqlite.backup import back_up as copy

    copy(settings.data / STORE_FILE, target)


@asynccontextmanager
async def manage(settings: Settings) -> AsyncIterator["Manage"]:
    """The operator's use cases on the store, which works while a gateway runs on it and while none does."""
    from heliograph.adapters.system.clock import SystemClock
    from heliograph.adapters.system.secrets import Argon2Secrets
    from heliograph.app.admin.manage import Manage

    store = await open_store(settings)
    try:
        yield Manage(store, Argon2Secrets(), SystemClock(), KINDS, _who_types())
    finally:
        await store.close()


@asynccontextmanager
async def users(settings: Settings) -> AsyncIterator["UserAdministration"]:
    """Who may look after the gateway, likewise."""
    from heliograph.adapters.system.clock import SystemClock
    from heliograph.adapters.system.secrets import Argon2Secrets
    from heliograph.app.admin.users import UserAdministration

    store = await open_store(settings)
    try:
        yield UserAdministration(store, Argon2Secrets(), SystemClock(), _who_types())
    finally:
        await store.close()


@asynccontextmanager
async def views(settings: Settings) -> AsyncIterator["tuple[Views, Actor]"]:
    """Messages and callbacks for those who look after the gateway, likewise; and who is at the terminal."""
    from heliograph.adapters.system.clock import SystemClock
    from heliograph.adapters.webhook.guard import AddressGuard
    from heliograph.app.admin.oversight import Scope
    from heliograph.app.admin.sign_in import Actor
    from heliograph.app.admin.views import Views
    from heliograph.app.sending.compose import Composer
    from heliograph.app.sending.directory import Directory
    from heliograph.app.sending.reschedule import Rescheduling
    from heliograph.composition import dev as development
    from heliograph.smpp.constants import CommandStatus

    store = await open_store(settings)
    try:
        directory = Directory(store.network, store.accounts)
        guard = AddressGuard(settings.callbacks.allowed_networks)
        composer = Composer(directory, guard.forbidden_host, terms(settings).rules)
        actor = Actor(_who_types(), frozenset(Scope), "")
        fallbacks = NAMES if await development.was_last(store) else None
        rescheduling, named = Rescheduling(store.customers, composer), CommandStatus.name_of
        yield Views(store, directory, rescheduling, SystemClock(), fallbacks, names=NAMES, status_name=named), actor
    finally:
        await store.close()


def _who_types() -> str:
    """Whom the audit log names for what commands change."""
    try:
        return f"cli:{getpass.getuser()}"
    except (KeyError, OSError):  # a user without a name, as in containers
        return f"cli:{os.getuid()}"


def refused_address(settings: Settings, host: str) -> str | None:
    """Why receipts would not be posted to this address, or literal host; None where they would."""
    from heliograph.adapters.webhook.guard import AddressGuard

    return AddressGuard(settings.callbacks.allowed_networks).forbidden_host(host)


def terms(settings: Settings) -> "Terms":
    """The settings that the API goes by, and that its document tells."""
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
