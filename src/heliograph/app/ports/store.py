"""The store, its leases for several nodes, and the exceptions of both."""

from collections.abc import Callable
from typing import Any, Protocol

from heliograph.app.ports.accounts import AccountNames, Accounts, CustomerBinds, Senders, Suppressions
from heliograph.app.ports.backlog import Backlog
from heliograph.app.ports.customers import Customers
from heliograph.app.ports.delivery import Commits, Notices, Queue, Receipts
from heliograph.app.ports.factors import Factors
from heliograph.app.ports.guard import Guard
from heliograph.app.ports.inbound import Inbound, Pulls
from heliograph.app.ports.large_tables import LargeTables, RoutingLists
from heliograph.app.ports.leases import Leases, Past
from heliograph.app.ports.messages import Messages, Recipients, RefusedRequests
from heliograph.app.ports.network import (
    Costs,
    Measurements,
    MobileNetworks,
    Network,
    Nodes,
    Plans,
    SenderRules,
    TableChanges,
    Templates,
)
from heliograph.app.ports.sending_lists import SendingLists
from heliograph.app.ports.series import Series
from heliograph.app.ports.upkeep import Retention, Upkeep
from heliograph.app.ports.users import AuditLog, SignIns, Tokens, Users
from heliograph.app.records import AuditEntry


class Unavailable(Exception):
    """The store cannot be reached or written. Nothing of the call is known to be durable; trying again is safe."""


class Away(Unavailable):
    """The store does not answer, or takes no writes at the moment. It may come back by itself, so that a gateway waits
    for it at its start. Other problems, such as a wrong password, need a person."""


class DamagedRow(Unavailable):
    """A row has a damaged value, without which it must not be used: JSON that was changed by the disk, for example."""

    def __init__(self, column: str, row: str) -> None:
        """`column`: for example `account.networks`. `row`: the row's name for people, for example `acme`."""
        super().__init__(
            f"the value {column} of {row} cannot be read: its row is damaged. Restore the row from a backup; "
            "`heliograph audit --deep` looks for more"
        )
        self.column = column
        self.row = row


class PastLost(Away):
    """The database lost commits that it had confirmed. A gateway refuses it until a person accepts the loss, or a
    server that has these commits takes over."""


class Fenced(Unavailable):
    """The node's lease expired and other nodes took over its work. The process must end, or start again as another
    node.
    """


class StoreRejected(Exception):
    """The store rejects a fact on every attempt. Nothing of the call was recorded. The text quotes no value."""


class NotScheduled(Exception):
    """The message cannot be cancelled or moved any more: it is sent, cancelled, or due."""


class Store(Protocol):
    """Durable storage, through a port for each kind of caller. Each method of a port is a transaction: once it returns,
    all of it is on disk; if it raises, nothing is.

    Every method may raise `Unavailable`. Every `now` is the caller's clock; the store has no clock. Messages are looked
    up by account, key and tail together. A message of another account, or a wrong tail, counts as missing.
    """

    commits: Commits
    queue: Queue
    backlog: Backlog
    sending_lists: SendingLists
    receipts: Receipts
    notices: Notices
    inbound: Inbound
    pulls: Pulls
    suppressions: Suppressions
    customers: Customers
    accounts: Accounts
    account_names: AccountNames
    network: Network
    table_changes: TableChanges
    large_tables: LargeTables
    routing_lists: RoutingLists
    nodes: Nodes
    costs: Costs
    plans: Plans
    measurements: Measurements
    mobile_networks: MobileNetworks
    templates: Templates
    senders: Senders
    sender_rules: SenderRules
    guard: Guard
    binds: CustomerBinds
    users: Users
    tokens: Tokens
    sign_ins: SignIns
    factors: Factors
    audit_log: AuditLog
    messages: Messages
    refused_requests: RefusedRequests
    series: Series
    upkeep: Upkeep
    retention: Retention
    recipients: Recipients
    past: Past

    @property
    def leases(self) -> Leases | None:
        """The leases of the store's nodes; None on an embedded store, which has a single node."""

    def noting(self, describe: Callable[[Any], AuditEntry | None], since: int | None = None) -> "Store":
        """Returns the same store for a single change, which is written to the audit log in its own transaction.

        `describe` gets the result of the change and returns the audit entry, or None for no entry. It runs again if the
        transaction is repeated. A change that raises leaves no entry.

        `since` is the revision of the tables that the change was made from, if it writes back rows that it has read.
        The change must add one to the revision. It raises Outdated if another change came in between.
        """

    async def close(self) -> None: ...
