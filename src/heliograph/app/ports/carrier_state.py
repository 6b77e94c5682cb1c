"""State of a connector: its binds, as the carrier reports them, and its lane. For people and for metrics.

The admin API shows these fields under their names, so they are part of its contract. Nodes exchange them as JSON
through the store. Every field has a default, because a node of another version may leave it out. The module is not
compiled, because decoding needs the annotations of the fields.
"""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Final

FRESH_MS: Final = 20_000
"""Milliseconds. An older report is stale: a running gateway would have written a newer report."""


@dataclass(slots=True)
class BindCounters:
    """Counts the events of a bind since the carrier started."""

    submitted: int = 0
    accepted: int = 0
    deferred: int = 0
    refused: int = 0
    unknown: int = 0
    throttled: int = 0
    late_answers: int = 0
    receipts: int = 0
    receipts_put_off: int = 0
    receipts_unreadable: int = 0
    mobile_originated: int = 0
    national_numbers: int = 0
    """Those of `mobile_originated` that came from a national number although no country is set."""
    protocol_errors: int = 0

    @classmethod
    def sum(cls, binds: "Iterable[BindCounters]") -> "BindCounters":
        total = cls()
        for each in binds:
            for name, number in each.named().items():
                setattr(total, name, getattr(total, name) + number)
        return total

    def named(self) -> dict[str, int]:
        """Every counter by its name, in the order of declaration."""
        return asdict(self)


@dataclass(slots=True)
class BindState:
    """A bind. Moments are in ms since the epoch. Durations are in seconds unless the name has another unit."""

    bind: int = 0
    """Number of the bind, from 1."""
    role: str = ""
    state: str = "?"
    """`stopped`, `waiting`, `connecting`, `binding`, `bound` or `unbinding`."""
    host: str = ""
    since: int = 0
    """Begin of the present `state`."""
    last_error: str | None = None
    last_error_at: int | None = None
    reconnect_in: float | None = None
    """Seconds until the next attempt; None unless the state is `waiting`."""
    in_flight: int = 0
    window: int = 0
    silent: bool = False
    """Whether the operator has answered nothing for too long to be merely slow."""
    silent_s: float = 0.0
    answer_ms: float | None = None
    """Milliseconds that a recent submission took to be answered."""
    counters: BindCounters = field(default_factory=BindCounters)


@dataclass(slots=True)
class CarrierState:
    """All binds of a connector on a node; `summary` describes them in a sentence."""

    connector: str = ""
    summary: str = "unknown"
    credentials_refused: bool = False
    credentials_retry_in: float | None = None
    bound: int = 0
    """Binds that are up."""
    silent: int = 0
    """Binds that are silent."""
    silent_s: float = 0.0
    """The longest silence of any bind."""
    down_since: int | None = None
    """Time since which no part could be submitted, in ms since the epoch; None if a bind is up."""
    capacity: int = 0
    in_flight: int = 0
    asked: int = 0
    """Queries about parts without a receipt."""
    told: int = 0
    """Answers to these queries that had a state."""
    queries_off: str = ""
    """The operator's answer after which queries stopped, such as `ESME_RINVCMDID`; empty while it may be queried."""
    counters: BindCounters = field(default_factory=BindCounters)
    """The sum over all binds."""
    binds: list[BindState] = field(default_factory=list)


@dataclass(slots=True)
class ConnectorState(CarrierState):
    """A carrier's state with that of the lane that feeds it."""

    rate: float = 0.0
    """The configured rate limit in force, in parts a second; 0 means no limit."""
    rate_until: int | None = None
    """Time at which another limit of the timetable starts, in ms since the epoch; None if there is none."""
    off: bool = False
    """Whether nothing is sent at this time of day."""
    obstacle: str = ""
    """Why messages take another connector where they can, such as `failing most messages`; empty if it can send."""
    pace: float | None = None
    """Present pace after throttling, in parts a second; None if nothing limits it."""
    pace_learnt: int | None = None
    """Time of the last throttling that set this pace, in ms since the epoch; None if there was none."""
    put_off: float = 0.0
    """Share of the parts that the operator throttles whatever the pace."""
    throttles: int = 0
    window_used: int = 0
    """Window slots in use: by parts that wait for an answer, or for the commit of an answer."""
    waiting: int = 0
    """Messages in memory."""
    oldest: int | None = None
    """Due time of the message that has waited longest, in ms since the epoch."""
    receipts: dict[str, int] = field(default_factory=dict)
    """Matched receipts since the start, by the habits that they showed (`app.receipts.habits.WORDS`)."""


@dataclass(slots=True)
class ConnectorReport:
    """The latest report of a node on a connector, made at `at`."""

    connector: int
    node: int
    state: ConnectorState
    at: int


NODE_REPORT_MS: Final = 15_000
"""Milliseconds between two reports of a node on itself."""


@dataclass(slots=True)
class NodeReport:
    """The latest report of a node on itself, made at `at`."""

    node: int
    host: str
    """The name of the machine, for example `gateway1`."""
    version: str
    """The version of the program, for example `0.1.0`."""
    roles: tuple[str, ...]
    """For example `api` and `dispatch`."""
    directory: int
    """The data directory, by the number of its past mark."""
    started: int
    """Start of the process, in ms since the epoch."""
    at: int
    lease_until: int | None = None
    """End of the lease by the store's clock, in ms since the epoch; None on an embedded store. Only read."""
