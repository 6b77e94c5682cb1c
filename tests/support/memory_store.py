"""An in-memory `Store` that keeps the promises of the port. It passes the same contracts as the real stores."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from heliograph.app import ports
from heliograph.app.configuration import Outdated
from heliograph.app.records import AuditEntry
from tests.support.memory_administration import (
    MemoryAccountNames,
    MemoryAccounts,
    MemoryAuditLog,
    MemoryCosts,
    MemoryMeasurements,
    MemoryMobileNetworks,
    MemoryNetwork,
    MemoryNodes,
    MemoryPlans,
    MemoryTableChanges,
    MemoryTemplates,
    MemoryTokens,
    MemoryUsers,
)
from tests.support.memory_backlog import MemoryBacklog
from tests.support.memory_binds import MemoryBinds
from tests.support.memory_delivery import (
    MemoryCommits,
    MemoryCustomers,
    MemoryNotices,
    MemoryQueue,
    MemoryReceipts,
)
from tests.support.memory_factors import MemoryFactors
from tests.support.memory_guard import MemoryGuard
from tests.support.memory_inbound import MemoryInbound, MemoryPulls
from tests.support.memory_large_tables import MemoryLargeTables, MemoryRoutingLists
from tests.support.memory_leases import MemoryLeases
from tests.support.memory_past import MemoryPast
from tests.support.memory_reading import MemoryMessages, MemoryUpkeep
from tests.support.memory_refusals import MemoryRefusedRequests
from tests.support.memory_retention import MemoryRecipients, MemoryRetention
from tests.support.memory_rows import MemoryPart, MemoryState, Rows
from tests.support.memory_senders import MemorySenderRules, MemorySenders
from tests.support.memory_sending_lists import MemorySendingLists
from tests.support.memory_series import MemorySeries
from tests.support.memory_sign_ins import MemorySignIns
from tests.support.memory_suppressions import MemorySuppressions
from tests.support.store import START


class Noting:
    """A store, or a part of it, each change of which has its line in the audit log; nothing else happens between."""

    def __init__(self, target: Any, store: "MemoryStore", describe: Any, since: int | None) -> None:
        self._target = target
        self._store = store
        self._describe = describe
        self._since = since

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._target, name)
        if isinstance(found, MemoryPart):
            return Noting(found, self._store, self._describe, self._since)

        async def noted(*arguments: object, **named: object) -> object:
            if self._since not in (None, await self._store.table_changes.revision()):
                raise Outdated
            result = await found(*arguments, **named)
            entry = self._describe(result)
            if entry is not None:
                await self._store.audit_log.append(entry)
            return result

        return noted


class MemoryStore:
    """`app.ports.Store`. While `broken` is set every call raises Unavailable and changes nothing.

    A subclass that has a method `queue_claim` gives its stores another `queue.claim`.
    """

    def __init__(self, rows: Rows | None = None) -> None:
        self._place = place = MemoryState(rows)
        self.commits: ports.Commits = MemoryCommits(place)
        self.queue: ports.Queue = MemoryQueue(place)
        self.backlog: ports.Backlog = MemoryBacklog(place)
        self.sending_lists: ports.SendingLists = MemorySendingLists(place)
        self.receipts: ports.Receipts = MemoryReceipts(place)
        self.notices: ports.Notices = MemoryNotices(place)
        self.inbound: ports.Inbound = MemoryInbound(place)
        self.pulls: ports.Pulls = MemoryPulls(place)
        self.suppressions: ports.Suppressions = MemorySuppressions(place)
        self.customers: ports.Customers = MemoryCustomers(place)
        self.accounts: ports.Accounts = MemoryAccounts(place)
        self.account_names: ports.AccountNames = MemoryAccountNames(place)
        self.network: ports.Network = MemoryNetwork(place)
        self.table_changes: ports.TableChanges = MemoryTableChanges(place)
        self.large_tables: ports.LargeTables = MemoryLargeTables(place)
        self.routing_lists: ports.RoutingLists = MemoryRoutingLists(place)
        self.nodes: ports.Nodes = MemoryNodes(place)
        self.costs: ports.Costs = MemoryCosts(place)
        self.plans: ports.Plans = MemoryPlans(place)
        self.measurements: ports.Measurements = MemoryMeasurements(place)
        self.mobile_networks: ports.MobileNetworks = MemoryMobileNetworks(place)
        self.templates: ports.Templates = MemoryTemplates(place)
        self.senders: ports.Senders = MemorySenders(place)
        self.sender_rules: ports.SenderRules = MemorySenderRules(place)
        self.binds: ports.CustomerBinds = MemoryBinds(place)
        self.guard: ports.Guard = MemoryGuard(place)
        self.users: ports.Users = MemoryUsers(place)
        self.tokens: ports.Tokens = MemoryTokens(place)
        self.sign_ins: ports.SignIns = MemorySignIns(place)
        self.factors: ports.Factors = MemoryFactors(place)
        self.audit_log: ports.AuditLog = MemoryAuditLog(place)
        self.messages: ports.Messages = MemoryMessages(place)
        self.refused_requests: ports.RefusedRequests = MemoryRefusedRequests(place)
        self.series: ports.Series = MemorySeries(place)
        self.upkeep: ports.Upkeep = MemoryUpkeep(place)
        self.retention: ports.Retention = MemoryRetention(place)
        self.recipients: ports.Recipients = MemoryRecipients(place)
        self.past: ports.Past = MemoryPast(place)
        self.leases: ports.Leases | None = None
        for port, part in list(vars(self).items()):
            if isinstance(part, MemoryPart):
                for name in dir(self):
                    if name.startswith(f"{port}_"):
                        setattr(part, name.removeprefix(f"{port}_"), getattr(self, name))

    @property
    def broken(self) -> bool:
        return self._place.broken

    @broken.setter
    def broken(self, broken: bool) -> None:
        self._place.broken = broken

    def noting(self, describe: Callable[[Any], AuditEntry | None], since: int | None = None) -> ports.Store:
        return cast("ports.Store", Noting(self, self, describe, since))

    async def close(self) -> None:
        self._place.closed = True


class MemoryOpener:
    """Opens stores on the same state: each finds earlier rows."""

    embedded = True

    def __init__(self, _: Path) -> None:
        self._rows = Rows()

    async def __call__(self) -> MemoryStore:
        return MemoryStore(self._rows)


class SharedMemoryOpener(MemoryOpener):
    """Opens stores that several nodes share. The store's clock stands still."""

    embedded = False

    async def __call__(self) -> MemoryStore:
        store = await super().__call__()
        store.leases = MemoryLeases(store._place, lambda: START)
        return store
