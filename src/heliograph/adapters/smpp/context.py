"""State that the binds of a connector share."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from heliograph.adapters.smpp.encoding import Encoder
from heliograph.adapters.smpp.kind import SmppSettings
from heliograph.adapters.smpp.options import Dialect, Timings
from heliograph.adapters.smpp.queries import StateQueries
from heliograph.adapters.smpp.refusal_log import RefusalLog
from heliograph.app.configuration import Connector
from heliograph.app.ports import CarrierEvents, Clock, Journal, LeaseEnd, Part
from heliograph.domain.numbers.dialling import NationalNumbers
from heliograph.domain.security.host import AllowedHosts


@dataclass(slots=True)
class CredentialsPause:
    """Pauses all binds of an account while the operator rejects its credentials: operators block accounts that keep
    trying.

    `until`: monotonic time of the end. `refusals`: refusals since the last successful bind.
    """

    until: float = 0.0
    refusals: int = 0


@dataclass(slots=True)
class BindContext:
    """Shared by all binds of a connector. `settled` (if any) is called with each part that has its outcome."""

    connector: Connector
    events: CarrierEvents
    clock: Clock
    journal: Journal
    settings: SmppSettings
    encoder: Encoder
    allowed: AllowedHosts
    lease_end: LeaseEnd
    """No part is written after it: other nodes may have sent the parts."""
    settled: Callable[[Part], None] | None = None
    credentials: CredentialsPause = field(default_factory=CredentialsPause)
    logged: set[str] = field(default_factory=set)
    """Events that are logged once only and have been."""
    dialect: Dialect = field(init=False)
    timings: Timings = field(init=False)
    national: NationalNumbers = field(init=False)
    refusal_log: RefusalLog = field(init=False)
    queries: StateQueries = field(init=False)

    def __post_init__(self) -> None:
        self.dialect, self.timings = self.settings.dialect, self.settings.timings
        self.national = NationalNumbers(self.dialect.inbound_country, self.dialect.inbound_trunk)
        self.refusal_log = RefusalLog(self.connector.name, self.clock, self.journal)
        self.queries = StateQueries(self.connector.name, self.events, self.clock, self.journal, self.dialect)

    def log_once(self, level: str, event: str, **fields: Any) -> None:
        if event not in self.logged:
            self.logged.add(event)
            self.journal.log(level, event, connector=self.connector.name, **fields)
