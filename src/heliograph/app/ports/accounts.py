"""Accounts: customers with their credit, API keys, sender IDs and suppressed phones."""

from collections.abc import Sequence
from typing import Any, Final, Protocol

from heliograph.app.configuration import (
    BALANCES,
    Account,
    ApiKey,
    LedgerEntry,
    LedgerPage,
    LedgerQuery,
    Price,
    RegisteredSender,
    TopUp,
)
from heliograph.app.records import CustomerBind, Usage
from heliograph.domain.message.suppression import Suppression


class Accounts(Protocol):
    """The customers' accounts. Each change adds one to the revision (`Network`)."""

    async def create(self, account: Account, key: ApiKey, credit: int, prices: Sequence[Price]) -> Account:
        """Creates the account with its first key, its opening credit (a ledger entry unless 0) and its own prices, if
        any. Returns the account with its new id. Raises Exists, NameTaken if the name of another account differs in
        case only, and SystemIdTaken if SMPP clients of another account bind with its name or its `smpp_system_id`.
        """

    async def update(self, account: int, changes: dict[str, Any]) -> Account:
        """Changes fields out of ACCOUNT_FIELDS. Raises Missing, and SystemIdTaken if SMPP clients of another account
        bind with the `smpp_system_id`."""

    async def find(self, name: str, *, to_bind: bool = False) -> tuple[Account, list[ApiKey]] | None:
        """Returns the account with its keys, revoked ones included. `to_bind`: the name that an SMPP client binds with,
        which may be an account's `smpp_system_id` too.
        """

    async def by_id(self, account: int) -> Account | None: ...

    async def all(self) -> list[tuple[Account, int]]:
        """Returns every account with its balance, by name."""

    async def without_credit(self, limit: int) -> list[str]:
        """Returns the names, in order, of accounts that are not suspended and cannot pay for another message."""

    async def add_credit(
        self, account: int, amount: int, note: str, now: int, reference: str = "", within: tuple[int, int] = BALANCES
    ) -> TopUp:
        """Tops up (or, below zero, takes back) and writes the ledger.

        A `reference` names the top-up. A repetition with the same amount changes nothing and has the first outcome.
        Raises Exists if the reference had another amount, BalanceOutOfBounds if the new balance is not `within` these
        two, and Missing.
        """

    async def ledger(self, account: int, limit: int, before: int | None = None) -> list[LedgerEntry]:
        """Returns entries before the key `before`, newest first."""

    async def statement(self, account: int, query: LedgerQuery) -> LedgerPage:
        """Returns a page of the ledger, with the balance after its newest entry."""

    async def usage(self, account: int, start: int, end: int, step: int) -> list[Usage]:
        """Sums the ledger from `start` up to `end` in spans of `step` ms. Returns the spans with entries, oldest first.

        Top-ups are left out. The sums may be limited to the latest millions of entries.
        """

    async def add_key(self, key: ApiKey) -> None:
        """Raises Missing for an unknown account, Exists for an id that the account has used before."""

    async def revoke_key(self, account: int, key: str, now: int) -> None:
        """Revokes the key. Raises Missing if there is no such key, or if it was revoked before."""


class AccountNames(Protocol):
    """Finds accounts by parts of their names, for people who type, and counts them by their plans."""

    async def containing(self, text: str, limit: int) -> list[str]:
        """Returns up to `limit` names that contain the text, in any case: the name itself, then names that begin with
        the text, then the others.
        """

    async def by_plan(self) -> dict[str, int]:
        """Returns the number of accounts of each price plan that accounts have, for example `{"default": 12}`."""


class Senders(Protocol):
    """Changes the registered senders of accounts. Each change adds one to the revision of `Network`, whose tables
    include them.
    """

    async def put(self, senders: Sequence[RegisteredSender]) -> int:
        """Adds these senders, or sets their state and note, all or none. Returns how many are new. Raises Missing for
        an unknown account.
        """

    async def remove(self, account: int, sender: str) -> None:
        """Removes the sender. Raises Missing if the account's registry lacks it."""


MOST_AMONG: Final = 1_000
"""Numbers that `Suppressions.among` looks up at once. On either engine that takes a few milliseconds."""


class Suppressions(Protocol):
    """Reads and changes the suppressions of accounts.

    A suppression holds from its commit on, on every node. `Commits.record` accepts no message to the number, and
    `Queue.claim` marks waiting messages as suppressed. `Commits.record` also writes opt-outs that phones ask for.
    """

    async def suppress(self, account: int, numbers: Sequence[str], source: str, now: int) -> int:
        """Suppresses the numbers, in one transaction. Returns how many are new. Waiting messages to them are cancelled
        and refunded. Raises Missing for an unknown account.
        """

    async def lift(self, account: int, number: str) -> None:
        """Lifts the suppression. Raises Missing if the number is not suppressed."""

    async def find(self, account: int, number: str) -> Suppression | None:
        """Returns the suppression of a number, whether or not the number itself was erased."""

    async def among(self, account: int, numbers: Sequence[str]) -> set[str]:
        """Returns the suppressed ones of up to MOST_AMONG numbers. Acceptance looks again, and alone decides."""

    async def page(self, account: int, after: str, limit: int) -> list[Suppression]:
        """Returns suppressions of known numbers, ordered by number, behind the number `after`, for example behind
        `491701234567`."""

    async def made_since(self, since: int) -> list[tuple[int, str, int]]:
        """Returns the accounts, numbers and times of suppressions since a time (ms)."""


SUBMISSION_PREFIX: Final = "smpp:"
"""Begins the references that the SMPP server makes, `Accept.reference` of a request without a client's."""


class CustomerBinds(Protocol):
    """Each node reports its binds every few seconds. A bind that was not reported for BIND_ALIVE_MS is gone."""

    async def enter(self, bind: CustomerBind, most: int) -> bool:
        """Enters a bind. Returns False if its account has `most` already, over all nodes. Raises Missing for an unknown
        account."""

    async def report(self, node: int, at: int, changed: Sequence[CustomerBind]) -> list[int]:
        """Reports that a node has its binds at a time (ms), and the state of those that changed. Returns the ids of its
        binds that are to be unbound."""

    async def leave(self, number: int) -> None:
        """Removes a bind that has ended."""

    async def clear(self) -> None:
        """Removes all binds: those of an earlier run, on a store with a single node."""

    async def drop(self, number: int) -> None:
        """Asks the node of a bind to unbind it. Raises Missing."""

    async def all(self, now: int) -> list[CustomerBind]:
        """Returns all binds, by account and id."""

    async def submissions(self, account: int) -> list[tuple[str, int]]:
        """Returns the account's references that begin with SUBMISSION_PREFIX, each with the key of its message or
        batch, oldest first."""

    async def forget_submissions(self, names: Sequence[tuple[int, str]]) -> None:
        """Deletes references, given with their account: a request under one of them is a new one."""

    async def scheduled(
        self, account: int, sender: str, destination: str, after: int, limit: int
    ) -> list[tuple[int, int]]:
        """Returns key and tail of messages that are scheduled for later than `after` (ms), from a sender to a number,
        first due first. Reads all scheduled messages of the account, since no index has their numbers."""
