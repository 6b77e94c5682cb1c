"""Offers `Rig`, an SMPP carrier under test, with parts of messages and a listener that notes its events."""

import itertools
import time
from collections.abc import Callable, Sequence
from typing import Any, Self

from heliograph.adapters.smpp.carrier import SmppCarrier
from heliograph.adapters.smpp.options import Timings
from heliograph.app.configuration import Connector
from heliograph.app.facts import Message
from heliograph.app.ports import Accepted, Incoming, LeaseEnd, Outcome, Part, Report, Unknown
from heliograph.domain.message.extras import NONE, Extras, Tlv
from heliograph.domain.message.state import Kind
from heliograph.domain.security.host import AllowedHosts
from heliograph.domain.text.repertoire import PLAIN, Repertoire
from heliograph.domain.text.segment import split
from tests.support.connectors import smpp_connector

QUICK = Timings(
    connect_timeout_s=5.0,
    response_timeout_s=20.0,
    enquire_interval_s=20.0,
    enquire_timeout_s=5.0,
    unbind_timeout_s=1.0,
    reconnect_first_s=0.05,
    reconnect_most_s=0.2,
    credentials_first_s=60.0,
    credentials_most_s=300.0,
)

_keys = itertools.count(1)


class RealClock:
    def now(self) -> int:
        return time.time_ns() // 1_000_000

    def monotonic(self) -> float:
        # starts elsewhere than the loop's, as it does once a machine has slept
        return time.monotonic() + 1_000


class NotedJournal:
    def __init__(self) -> None:
        self.lines: list[tuple[str, str, dict[str, Any]]] = []

    def log(self, level: str, event: str, **fields: Any) -> None:
        self.lines.append((level, event, fields))

    def said(self, event: str) -> list[dict[str, Any]]:
        return [fields for _, name, fields in self.lines if name == event]


class NotedEvents:
    """Notes all events. A second outcome for a part fails the test."""

    def __init__(self) -> None:
        self.outcomes: dict[Part, Outcome] = {}
        self.order: list[Part] = []
        self.reports: list[tuple[Report, Callable[[bool], None]]] = []
        self.unmarked: list[tuple[Report, Callable[[bool], None], Callable[[], None]]] = []
        self.inbound: list[Incoming] = []
        self.capacities: list[int] = []
        self.late: list[tuple[Part, Outcome]] = []
        self.congestion: list[int] = []
        self.carrier: SmppCarrier | None = None
        self.keeps: bool | None = None
        """Answer to receipts, given at once; None gives none."""

    def on_outcome(self, part: Part, outcome: Outcome) -> None:
        assert part not in self.outcomes, "a part has one outcome"
        self.outcomes[part] = outcome
        self.order.append(part)

    def on_report(self, report: Report, acknowledge: Callable[[bool], None]) -> None:
        self.reports.append((report, acknowledge))
        if self.keeps is not None:
            acknowledge(self.keeps)

    def on_unmarked(self, report: Report, acknowledge: Callable[[bool], None], otherwise: Callable[[], None]) -> None:
        self.unmarked.append((report, acknowledge, otherwise))

    def on_inbound(self, incoming: Incoming) -> None:
        self.inbound.append(incoming)
        if self.keeps is not None:
            incoming.answer(self.keeps)

    def on_late(self, part: Part, outcome: Outcome) -> None:
        assert isinstance(self.outcomes[part], Unknown)
        self.late.append((part, outcome))

    def on_congestion(self, percent: int) -> None:
        self.congestion.append(percent)

    def on_capacity(self) -> None:
        assert self.carrier is not None
        self.capacities.append(self.carrier.capacity)

    def of(self, kind: type[Outcome]) -> list[Any]:
        return [outcome for outcome in self.outcomes.values() if isinstance(outcome, kind)]

    @property
    def accepted(self) -> int:
        return len(self.of(Accepted))


def connector(port: int, *, options: dict[str, Any] | None = None, **fields: Any) -> Connector:
    """A connector of the tests' own message centre."""
    given: dict[str, Any] = {
        "id": 1,
        "name": "op1",
        "host": "127.0.0.1",
        "system_id": "helio",
        "password": "hunter2",
    } | fields
    return smpp_connector(given.pop("id"), given.pop("name"), port=port, **given, **(options or {}))


def parts_of(
    content: str = "Hello",
    *,
    destination: str = "447700900123",
    sender: str = "Helio",
    kind: Kind = Kind.TEXT,
    wants_receipt: bool = False,
    expires: int | None = None,
    reference: int = 77,
    key: int | None = None,
    header_octets: int = 6,
    repertoire: Repertoire = PLAIN,
    extras: Extras = NONE,
    tlvs: tuple[Tlv, ...] = (),
) -> list[Part]:
    """All parts of a message."""
    cut = split(content, kind, header_octets, repertoire, extras.elements)
    encoding, pieces = cut.encoding, cut.parts
    now = time.time_ns() // 1_000_000
    message = Message(
        account=1,
        destination=destination,
        sender=sender,
        kind=kind,
        content=content,
        segments=len(pieces),
        price=1,
        time=now,
        expires=now + 3_600_000 if expires is None else expires,
        state=1,
        connector=1,
        wants_receipt=wants_receipt,
        key=next(_keys) if key is None else key,
        extras=extras.text(),
    )
    total = len(pieces)
    reference = reference if total > 1 else 0
    return [
        Part(message, number, total, encoding, piece, reference, None, header_octets, cut.elements, tlvs)
        for number, piece in enumerate(pieces)
    ]


def singles(count: int, destination: str = "") -> list[Part]:
    """Makes `count` messages of a single part each, all to the same number or each to its own."""
    return [part for n in range(count) for part in parts_of(f"{n}", destination=destination or f"44770090{n:04d}")]


class Rig:
    """A carrier under test and its notes. Drains the carrier when the test is over."""

    def __init__(self, connector: Connector, timings: Timings = QUICK, allowed: Sequence[str] = ()) -> None:
        self.events = NotedEvents()
        self.journal = NotedJournal()
        self.lease_end = LeaseEnd()
        self.carrier = SmppCarrier(
            connector,
            self.events,
            clock=RealClock(),
            journal=self.journal,
            timings=timings,
            allowed=AllowedHosts(allowed),
            lease_end=self.lease_end,
        )
        self.events.carrier = self.carrier

    async def __aenter__(self) -> Self:
        self.carrier.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.drain(0.0)

    async def drain(self, seconds: float) -> None:
        await self.carrier.drain(RealClock().monotonic() + seconds)

    @property
    def binds(self) -> list[Any]:
        """States of the binds; Any, for tests that compare fields that may be None."""
        return list(self.carrier.state().binds)
