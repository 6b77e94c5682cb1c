"""The ports: what the use cases ask of the world outside, as protocols. Fakes and real ones pass the same contracts."""

from heliograph.app.ports.accounts import Accounts
from heliograph.app.ports.asking import BatchSlice, Event, ListQuery
from heliograph.app.ports.carrier import (
    Accepted,
    Carrier,
    CarrierEvents,
    Deferred,
    Outcome,
    Part,
    Refused,
    Report,
    Unknown,
)
from heliograph.app.ports.carrier_state import CarrierState, ConnectorReport, ConnectorState
from heliograph.app.ports.gathering import Gathering, Intake, Watcher
from heliograph.app.ports.network import Network
from heliograph.app.ports.store import Fenced, Leases, NotScheduled, Store, Unavailable, Unfit
from heliograph.app.ports.surroundings import Clock, Ids, Journal, Secrets, Sender
from heliograph.app.ports.users import AuditLog, Tokens, Users

__all__ = [
    "Accepted",
    "Accounts",
    "AuditLog",
    "BatchSlice",
    "Carrier",
    "CarrierEvents",
    "CarrierState",
    "Clock",
    "ConnectorReport",
    "ConnectorState",
    "Deferred",
    "Event",
    "Fenced",
    "Gathering",
    "Ids",
    "Intake",
    "Journal",
    "Leases",
    "ListQuery",
    "Network",
    "NotScheduled",
    "Outcome",
    "Part",
    "Refused",
    "Report",
    "Secrets",
    "Sender",
    "Store",
    "Tokens",
    "Unavailable",
    "Unfit",
    "Unknown",
    "Users",
    "Watcher",
]
