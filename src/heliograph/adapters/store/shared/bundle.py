"""The ports with operations written once for both engines, over a runner."""

from collections.abc import Callable
from copy import copy
from typing import Any, Self, TypeVar

from heliograph.adapters.store.shared.accounts import StoredAccountNames, StoredAccounts
from heliograph.adapters.store.shared.backlog import StoredBacklog
from heliograph.adapters.store.shared.binds import StoredBinds
from heliograph.adapters.store.shared.customers import StoredCustomers
from heliograph.adapters.store.shared.factors import StoredFactors
from heliograph.adapters.store.shared.guard import StoredGuard
from heliograph.adapters.store.shared.inbound import StoredInbound, StoredPulls
from heliograph.adapters.store.shared.large_tables import StoredLargeTables, StoredRoutingLists
from heliograph.adapters.store.shared.network import (
    StoredCosts,
    StoredMeasurements,
    StoredMobileNetworks,
    StoredNetwork,
    StoredNodes,
    StoredPlans,
    StoredSenderRules,
    StoredSenders,
    StoredTableChanges,
)
from heliograph.adapters.store.shared.notices import StoredNotices
from heliograph.adapters.store.shared.queue import StoredQueue
from heliograph.adapters.store.shared.receipts import StoredReceipts
from heliograph.adapters.store.shared.recipients import StoredRecipients
from heliograph.adapters.store.shared.refusals import StoredRefusedRequests
from heliograph.adapters.store.shared.retention import StoredRetention
from heliograph.adapters.store.shared.sealed_rows import StoredSealedRows
from heliograph.adapters.store.shared.search import StoredMessages
from heliograph.adapters.store.shared.sending_lists import StoredSendingLists
from heliograph.adapters.store.shared.series import StoredSeries
from heliograph.adapters.store.shared.sign_ins import StoredSignIns
from heliograph.adapters.store.shared.steps import Q, RunMode, Runner, Steps
from heliograph.adapters.store.shared.suppressions import StoredSuppressions
from heliograph.adapters.store.shared.templates import StoredTemplates
from heliograph.adapters.store.shared.upkeep import StoredUpkeep
from heliograph.adapters.store.shared.users import StoredAuditLog, StoredTokens, StoredUsers, append
from heliograph.app import ports
from heliograph.app.configuration import Outdated
from heliograph.app.ports.encryption import SealedRows, UnreadableValues
from heliograph.app.records import AuditEntry

R = TypeVar("R")


class Noted:
    """A runner that ends each writing operation with a line in the audit log."""

    def __init__(self, runner: Runner, describe: Callable[[Any], AuditEntry | None], since: int | None) -> None:
        """`describe` makes the line from the result of the operation; None means no line. `since` is the revision that
        the operation must be the next change of; None means any."""
        self._runner = runner
        self._describe = describe
        self._since = since

    async def run(self, mode: RunMode, operation: Callable[[], Steps[R]]) -> R:
        """Runs the operation, and the line as its last step if it writes."""
        if mode is not RunMode.WRITE:
            return await self._runner.run(mode, operation)

        def noted() -> Steps[R]:
            result = yield from operation()
            if self._since is not None:
                # other changes of the tables wait, since the operation has changed the revision
                ((revision,),) = yield Q.revision()
                if revision != self._since + 1:
                    raise Outdated(f"the tables have changed since revision {self._since}")
            deed = self._describe(result)
            if deed is not None:
                yield from append(deed)
            return result

        return await self._runner.run(mode, noted)


class Bundle:
    """The base of a store."""

    accounts: ports.Accounts
    account_names: ports.AccountNames
    network: ports.Network
    table_changes: ports.TableChanges
    large_tables: ports.LargeTables
    routing_lists: ports.RoutingLists
    nodes: ports.Nodes
    costs: ports.Costs
    plans: ports.Plans
    measurements: ports.Measurements
    mobile_networks: ports.MobileNetworks
    templates: ports.Templates
    senders: ports.Senders
    sender_rules: ports.SenderRules
    guard: ports.Guard
    binds: ports.CustomerBinds
    users: ports.Users
    tokens: ports.Tokens
    sign_ins: ports.SignIns
    factors: ports.Factors
    audit_log: ports.AuditLog
    customers: ports.Customers
    queue: ports.Queue
    backlog: ports.Backlog
    sending_lists: ports.SendingLists
    receipts: ports.Receipts
    notices: ports.Notices
    inbound: ports.Inbound
    pulls: ports.Pulls
    suppressions: ports.Suppressions
    messages: ports.Messages
    refused_requests: ports.RefusedRequests
    series: ports.Series
    upkeep: ports.Upkeep
    sealed_rows: SealedRows
    unreadable: UnreadableValues
    """The values that could not be read from the store, of all ports."""
    retention: ports.Retention
    recipients: ports.Recipients
    past: ports.Past

    customers_of: type[StoredCustomers] = StoredCustomers
    """The class of the customers' port; an engine may have its own. The same for other ports below."""

    suppressions_of: type[StoredSuppressions] = StoredSuppressions
    retention_of: Callable[[Runner], StoredRetention] = StoredRetention
    past_of: Callable[[Runner], ports.Past]

    def __init__(self, runner: Runner) -> None:
        self._runner = runner
        self.sealed_rows = StoredSealedRows(runner)
        self.unreadable = UnreadableValues()
        self._use(runner)

    def _use(self, runner: Runner) -> None:
        self.accounts = StoredAccounts(runner)
        self.account_names = StoredAccountNames(runner)
        self.network = StoredNetwork(runner, self.unreadable)
        self.table_changes = StoredTableChanges(runner, self.unreadable)
        self.large_tables = StoredLargeTables(runner)
        self.routing_lists = StoredRoutingLists(runner)
        self.nodes = StoredNodes(runner)
        self.costs = StoredCosts(runner)
        self.plans = StoredPlans(runner)
        self.measurements = StoredMeasurements(runner)
        self.mobile_networks = StoredMobileNetworks(runner)
        self.templates = StoredTemplates(runner)
        self.senders = StoredSenders(runner)
        self.sender_rules = StoredSenderRules(runner)
        self.guard = StoredGuard(runner)
        self.binds = StoredBinds(runner)
        self.users = StoredUsers(runner)
        self.tokens = StoredTokens(runner)
        self.sign_ins = StoredSignIns(runner)
        self.factors = StoredFactors(runner)
        self.audit_log = StoredAuditLog(runner)
        self.customers = self.customers_of(runner)
        self.queue = StoredQueue(runner)
        self.backlog = StoredBacklog(runner, self.unreadable)
        self.sending_lists = StoredSendingLists(runner)
        self.receipts = StoredReceipts(runner)
        self.notices = StoredNotices(runner)
        self.inbound = StoredInbound(runner)
        self.pulls = StoredPulls(runner)
        self.suppressions = self.suppressions_of(runner)
        self.messages = StoredMessages(runner)
        self.refused_requests = StoredRefusedRequests(runner)
        self.series = StoredSeries(runner)
        self.upkeep = StoredUpkeep(runner)
        self.retention = self.retention_of(runner)
        self.recipients = StoredRecipients(runner)
        self.past = self.past_of(runner)

    def noting(self, describe: Callable[[Any], AuditEntry | None], since: int | None = None) -> Self:
        """`app.ports.Store.noting`."""
        noting = copy(self)
        noting._use(Noted(self._runner, describe, since))  # noqa: SLF001 - another of its kind
        return noting
