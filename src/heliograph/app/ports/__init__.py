"""The ports: interfaces to stores, operators and clocks that the use cases need, as protocols. Fakes and real
implementations pass the same contracts.
"""

from heliograph.app.ports.accounts import AccountNames, Accounts, CustomerBinds, Senders, Suppressions
from heliograph.app.ports.backlog import Backlog
from heliograph.app.ports.carrier import (
    Accepted,
    Carrier,
    CarrierEvents,
    Deferred,
    Incoming,
    Outcome,
    Part,
    Question,
    Refused,
    Report,
    Unknown,
)
from heliograph.app.ports.carrier_state import CarrierState, ConnectorReport, ConnectorState, NodeReport
from heliograph.app.ports.customers import BatchSlice, Customers, ListQuery, MessageRecord
from heliograph.app.ports.delivery import HOLD_S, Commits, EndedPart, Notices, Queue, Receipts, Unreported
from heliograph.app.ports.factors import FactorKind, Factors, SecondFactor
from heliograph.app.ports.gathering import Gathering, Intake, Watcher
from heliograph.app.ports.guard import Guard, HeldTraffic
from heliograph.app.ports.inbound import Inbound, Pulls
from heliograph.app.ports.large_tables import (
    CostQuery,
    DecidingKeys,
    DestinationQuery,
    LargeRows,
    LargeTables,
    PriceQuery,
    RouteQuery,
    RoutingLists,
)
from heliograph.app.ports.leases import LeaseEnd, Leases, Past, PastGuard, SingleJob
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
from heliograph.app.ports.store import Away, Fenced, NotScheduled, PastLost, Store, StoreRejected, Unavailable
from heliograph.app.ports.surroundings import (
    AlertSender,
    Clock,
    Ids,
    Journal,
    Passkeys,
    PortedNumbers,
    Secrets,
    WebhookSender,
)
from heliograph.app.ports.upkeep import Retention, Upkeep
from heliograph.app.ports.users import AuditLog, SignIns, Tokens, Users

__all__ = [
    "HOLD_S",
    "Accepted",
    "AccountNames",
    "Accounts",
    "AlertSender",
    "AuditLog",
    "Away",
    "Backlog",
    "BatchSlice",
    "Carrier",
    "CarrierEvents",
    "CarrierState",
    "Clock",
    "Commits",
    "ConnectorReport",
    "ConnectorState",
    "CostQuery",
    "Costs",
    "CustomerBinds",
    "Customers",
    "DecidingKeys",
    "Deferred",
    "DestinationQuery",
    "EndedPart",
    "FactorKind",
    "Factors",
    "Fenced",
    "Gathering",
    "Guard",
    "HeldTraffic",
    "Ids",
    "Inbound",
    "Incoming",
    "Intake",
    "Journal",
    "LargeRows",
    "LargeTables",
    "LeaseEnd",
    "Leases",
    "ListQuery",
    "Measurements",
    "MessageRecord",
    "Messages",
    "MobileNetworks",
    "Network",
    "NodeReport",
    "Nodes",
    "NotScheduled",
    "Notices",
    "Outcome",
    "Part",
    "Passkeys",
    "Past",
    "PastGuard",
    "PastLost",
    "Plans",
    "PortedNumbers",
    "PriceQuery",
    "Pulls",
    "Question",
    "Queue",
    "Receipts",
    "Recipients",
    "Refused",
    "RefusedRequests",
    "Report",
    "Retention",
    "RouteQuery",
    "RoutingLists",
    "SecondFactor",
    "Secrets",
    "SenderRules",
    "Senders",
    "SendingLists",
    "Series",
    "SignIns",
    "SingleJob",
    "Store",
    "StoreRejected",
    "Suppressions",
    "TableChanges",
    "Templates",
    "Tokens",
    "Unavailable",
    "Unknown",
    "Unreported",
    "Upkeep",
    "Users",
    "Watcher",
    "WebhookSender",
]
