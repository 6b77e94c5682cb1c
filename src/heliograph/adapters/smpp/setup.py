"""What the links of one connector, and those of one bind after another, have in common."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from heliograph.adapters.smpp.complaints import Complaints
from heliograph.adapters.smpp.encoding import Encoder
from heliograph.adapters.smpp.kind import SmppSettings
from heliograph.adapters.smpp.options import Dialect, Timings
from heliograph.app.configuration import Connector
from heliograph.app.ports import CarrierEvents, Clock, Journal, Part


@dataclass(slots=True)
class Bar:
    """Keeps all binds of an account from trying while the operator calls its credentials wrong: who tries again and
    again is locked out. `until` is monotonic, `refusals` counts them since the last bind."""

    until: float = 0.0
    refusals: int = 0


@dataclass(slots=True)
class Setup:
    """What all links of a connector share. `over` (if any) is told of each part that has its outcome."""

    connector: Connector
    events: CarrierEvents
    clock: Clock
    journal: Journal
    settings: SmppSettings
    encoder: Encoder
    over: Callable[[Part], None] | None = None
    bar: Bar = field(default_factory=Bar)
    said: set[str] = field(default_factory=set)
    """What is said once only."""
    dialect: Dialect = field(init=False)
    timings: Timings = field(init=False)
    complaints: Complaints = field(init=False)

    def __post_init__(self) -> None:
        self.dialect, self.timings = self.settings.dialect, self.settings.timings
        self.complaints = Complaints(self.connector.name, self.clock, self.journal)

    def say_once(self, level: str, event: str, **fields: Any) -> None:
        if event not in self.said:
            self.said.add(event)
            self.journal.say(level, event, connector=self.connector.name, **fields)
