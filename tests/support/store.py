"""Offers the stores to test against, and `Given`, which sets up the data that a test begins with."""

import sqlite3
import tempfile
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Protocol

import pytest

from heliograph.adapters.store.sqlite import SqliteStore
from heliograph.adapters.store.sqlite.connection import create_file, opened
from heliograph.adapters.store.sqlite.schema import migrate, shipped
from heliograph.app.configuration import Account, ApiKey, Price
from heliograph.app.facts import Accept, Facts, Message, Verdict
from heliograph.app.ports import Store
from heliograph.app.resources.history import Event, history
from heliograph.domain.message.ids import IdSequence
from heliograph.domain.message.receipt import Delivery
from heliograph.domain.message.state import State
from heliograph.domain.message.way import Way
from tests.support.postgres import PostgresOpener

START = 1_700_000_000_000
"""Start time of tests: a whole second, in ms."""

SECOND = 1_000
HOUR = 3_600_000
CREDIT = 1_000_000
NODE = 7


class Opener(Protocol):
    """Opens stores on the same data: each finds earlier rows."""

    embedded: bool
    """Whether there is a single engine at a time, so that a new engine gives up the claims of all others."""

    async def __call__(self) -> Store: ...


@cache
def _new_store() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "new.db"
        create_file(path)
        with opened(path, 2_000) as db:
            migrate(db, shipped(), 2_000)
        return path.read_bytes()


def place_new_store(path: Path) -> None:
    """Writes a store with nothing in it, unless there is a file. A copy takes a fifth of the time that the tables
    take."""
    if not path.exists():
        path.write_bytes(_new_store())


class SqliteOpener:
    """A file, not waited for long."""

    embedded = True

    def __init__(self, folder: Path) -> None:
        self.path = folder / "store.db"
        place_new_store(self.path)

    async def __call__(self) -> SqliteStore:
        return await SqliteStore.open(self.path, busy_ms=2_000, on_loop=False)

    async def execute(self, text: str) -> None:
        """Runs a statement of SQL behind the store's back."""
        db = sqlite3.connect(self.path)
        try:
            with db:
                db.execute(text)
        finally:
            db.close()


class LoopOpener(SqliteOpener):
    """The same, with commits on the event loop."""

    async def __call__(self) -> SqliteStore:
        return await SqliteStore.open(self.path, busy_ms=2_000, on_loop=True)


OPENERS: dict[str, Callable[[Path], Opener]] = {"sqlite": SqliteOpener, "postgres": PostgresOpener}
"""Every store that a gateway may run on; in an empty folder of its own."""

on_every_driver = pytest.mark.parametrize("opener", ["memory", *OPENERS, "sqlite-on-loop"], indirect=True)
"""For contracts of operations that SQLite runs on the event loop where the disk is quick: commits and lookups."""


async def history_of(store: Store, account: int, key: int, tail: int) -> list[Event] | None:
    """A message's history in words; None if there is no such message."""
    record = await store.customers.trace(account, key, tail)
    return None if record is None else history(record)


class Given:
    """Sets up the data that a test begins with. `now` is the test's clock, in ms."""

    def __init__(self, store: Store, now: int = START) -> None:
        self.store = store
        self.now = now
        self._sequence = IdSequence(0)

    def key(self) -> int:
        return self._sequence.next(self.now)

    async def account(
        self, name: str = "demo", credit: int = 100 * CREDIT, prices: Sequence[Price] = (), **fields: Any
    ) -> Account:
        secret = fields.pop("signing", bytes(32))
        account = Account(0, name, "hash", secret, created=self.now - SECOND, **fields)
        return await self.store.accounts.create(
            account, ApiKey(f"key-{name}", 0, bytes(32), account.created), credit, prices
        )

    def message(self, account: int, **fields: Any) -> Message:
        """A message for at once, with its key."""
        values: dict[str, Any] = {
            "account": account,
            "destination": "4917012345678",
            "sender": "Heliograph",
            "kind": 0,
            "content": "Guten Tag",
            "segments": 1,
            "price": CREDIT,
            "time": self.now,
            "expires": self.now + 24 * HOUR,
            "state": State.SENT,
            "connector": 1,
        }
        if fields.get("callback_url"):
            values["way"] = Way.WEBHOOK
        message = Message(**(values | fields))
        message.key = message.key or self.key()
        message.tail = message.tail or (message.key * 0x9E3779B97F4A7C15) & (1 << 62) - 1
        return message

    def accept(self, *messages: Message, **fields: Any) -> Accept:
        """A request with a single message."""
        (message,) = messages
        values: dict[str, Any] = {
            "account": message.account,
            "messages": [message],
            "total": message.price,
            "at": self.now,
            "scheduled": message.state == State.SCHEDULED,
            "key": message.key,
            "tail": message.tail,
            "reference": message.reference,
        }
        return Accept(**(values | fields))

    def batch(self, account: int, count: int, *, reference: str | None = None, **fields: Any) -> Accept:
        """A request with several messages, keys and all."""
        key = self.key()
        messages = [self.message(account, reference=reference, batch=key, **fields) for _ in range(count)]
        return Accept(
            account=account,
            messages=messages,
            total=sum(message.price for message in messages),
            at=self.now,
            scheduled=messages[0].state == State.SCHEDULED,
            batch=True,
            reference=reference,
            key=key,
            tail=key ^ 0x5A5A,
        )

    async def recorded(self, *accepts: Accept) -> None:
        """Records the requests, all of which must be accepted."""
        await self.store.commits.record(Facts(accepts=list(accepts)))
        assert [accept.verdict for accept in accepts] == [Verdict.ACCEPTED] * len(accepts)

    async def sent(self, account: int, **fields: Any) -> Message:
        """A message that was accepted for at once."""
        message = self.message(account, **fields)
        await self.recorded(self.accept(message))
        return message

    async def scheduled(self, account: int, after: int = HOUR, **fields: Any) -> Message:
        """A message that was accepted for `after` ms later."""
        time = self.now + after
        message = self.message(account, **({"time": time, "expires": time + HOUR, "state": State.SCHEDULED} | fields))
        await self.recorded(self.accept(message))
        return message


async def replay_failed(store: Store, now: int, account: int | None = None) -> int:
    """Makes failed notices pending again, of an account or of all. Returns how many."""
    keys = [each.key for each in await store.notices.ended(1_000) if account in (None, each.account)]
    return await store.notices.replay(keys, now)


async def delivery_of(store: Store, key: int) -> tuple[Delivery | None, str, int] | None:
    """State, error code and time of the message's final; None if it has none, or none with a state. The state of a
    held message is None."""
    return (await store.customers.deliveries([key])).get(key)
