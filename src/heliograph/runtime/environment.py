"""What an engine is given: the world outside, how long it waits, and what of the work is its own."""

from collections.abc import Callable
from dataclasses import dataclass

from heliograph.app.configuration import Connector
from heliograph.app.connector_kind import LanePolicy
from heliograph.app.ports import Carrier, CarrierEvents, Clock, Ids, Journal, Leases, Sender, Store, Watcher
from heliograph.app.sending.directory import Directory

MakeCarrier = Callable[[Connector, CarrierEvents], Carrier]


@dataclass(slots=True)
class Deadlines:
    """How long messages, receipts and callbacks are waited for, in hours."""

    validity: float
    receipt_grace: float
    callback_retry: float


@dataclass(slots=True)
class World:
    """Everything outside the core that the engine needs."""

    store: Store
    directory: Directory
    sender: Sender
    make_carrier: MakeCarrier
    ids: Ids
    clock: Clock
    journal: Journal
    jitter: Callable[[], float]
    encode_json: Callable[[dict[str, str]], bytes]
    watchers: tuple[Watcher, ...] = ()
    policy: Callable[[Connector], LanePolicy] = lambda _: LanePolicy()
    """How a connector's lane is to send."""
    leases: Leases | None = None
    """Where other nodes may be on the same store; None where this one is alone."""


@dataclass(frozen=True, slots=True)
class Duties:
    """What this node does of all that is to be done. `most_binds` is of one connector; 0 is all that are free."""

    dispatch: bool = True
    notify: bool = True
    upkeep: bool = True
    most_binds: int = 0
