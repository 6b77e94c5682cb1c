"""The kind of connector that is bound over SMPP: its settings, declared once for reading, checking and showing them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from heliograph.adapters.smpp.options import (
    DEFAULT_PORT,
    DESTINATION_OPTIONS,
    OPTION_FIELDS,
    Dialect,
    Timings,
    read_options,
)
from heliograph.app import text_values
from heliograph.app.configuration import Connector
from heliograph.app.connector_kind import (
    COMMON,
    MAX_BINDS,
    MAX_RATE,
    MAX_WINDOW,
    SHARED,
    SMPP,
    ConnectorKind,
    FailoverPolicy,
    LanePolicy,
    Setting,
)
from heliograph.domain.calendar import zone
from heliograph.domain.pace.timetable import Timetable
from heliograph.domain.text.repertoire import Repertoire

MAX_PORT: Final = 65_535
MAX_SYSTEM_ID_CHARS: Final = 15
"""SMPP v3.4, 4.1.1: 16 octets, the closing zero included."""
MAX_PASSWORD_CHARS: Final = 8
"""SMPP v3.4, 4.1.1: 9 octets, the closing zero included. Many operators take longer passwords anyway."""

MODES: Final = ("transceiver", "transmitter+receiver")


def _ascii(text: str, most: int) -> str:
    if not text.isascii() or not text.isprintable():
        raise ValueError("it may only have printable ASCII characters")
    if len(text) > most:
        raise ValueError(f"it has {len(text)} characters; SMPP has room for {most}")
    return text


SETTINGS: Final[Mapping[str, Setting]] = {
    "host": Setting(
        "Host name or address of the operator's SMSC", text_values.host, hint="Host name or address of the SMSC",
        example="smsc.example.net",
    ),
    "port": Setting(
        f"Its port, such as {DEFAULT_PORT}", text_values.whole(1, MAX_PORT),
        type=int, least=1, most=MAX_PORT, suggestion=str(DEFAULT_PORT),
    ),
    "system_id": Setting(
        f"User name to bind with, up to {MAX_SYSTEM_ID_CHARS} characters",
        lambda text: _ascii(text, MAX_SYSTEM_ID_CHARS), hint="The user name to bind with",
        example="acme",
    ),
    "password": Setting(
        "Password to bind with; asked for if left out on a terminal", lambda text: _ascii(text, 64), secret=True,
        example="W4xb7",
    ),
    "bind": Setting(
        "transceiver, or transmitter+receiver", text_values.one_of(*MODES), choices=MODES, default=MODES[0]
    ),
    "binds": Setting(
        "How many binds at once", text_values.whole(1, MAX_BINDS),
        type=int, least=1, most=MAX_BINDS, default=1, hint="How many at once",
    ),
    "window": Setting(
        f"Unanswered submit_sm a bind, 1 to {MAX_WINDOW}", text_values.whole(1, MAX_WINDOW),
        type=int, least=1, most=MAX_WINDOW, default=10, hint="Unanswered submit_sm a bind",
    ),
    "rate": Setting(
        "Parts a second over all binds; 0 is no limit", text_values.decimal(MAX_RATE),
        type=float, least=0, most=MAX_RATE, default=0.0, hint="Parts a second over all binds; 0 is no limit",
    ),
    "tls": Setting(
        "Bind over TLS, the certificate verified", text_values.truth,
        type=bool, default=False, title="TLS", hint="With it, the operator's certificate is verified",
    ),
    **SHARED,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class SmppSettings:
    """The settings of an SMPP connector, typed."""

    host: str
    port: int
    system_id: str
    bind: str
    tls: bool
    dialect: Dialect
    timings: Timings
    password: str = field(repr=False)


def read_settings(connector: Connector, timings: Timings | None = None) -> tuple[SmppSettings, list[str]]:
    """Returns the settings of a connector, and a sentence for each invalid option. `timings` are the gateway's."""
    own = {name: setting.default for name, setting in SETTINGS.items() if name not in COMMON}
    options: dict[str, Any] = {}
    for name, value in connector.settings.items():
        (own if name in own else options)[name] = value
    dialect, wanted, problems = read_options(options, timings or Timings())
    return SmppSettings(**own, dialect=dialect, timings=wanted), problems


def _warnings(connector: Connector) -> list[str]:
    warnings = []
    length = len(connector.settings["password"])
    if length > MAX_PASSWORD_CHARS:
        warnings.append(
            f"the password has {length} characters; SMPP 3.4 has room for "
            f"{MAX_PASSWORD_CHARS}, and some operators cut it there or refuse it"
        )
    if not connector.settings["system_id"]:
        warnings.append("the system_id is empty; most operators refuse such a bind")
    dialect = read_settings(connector)[0].dialect
    if dialect.failover_receipts and dialect.receipts != "always":
        warnings.append(
            "failover_receipts needs the receipts of all messages; with receipts=asked, messages without a wished "
            "receipt never go to another operator for it"
        )
    return warnings


def _policy(connector: Connector) -> LanePolicy:
    dialect = read_settings(connector)[0].dialect
    wait_ms = max(1, int(dialect.unknown_wait_s * 1000)) if dialect.unknown == "wait" else 0
    return LanePolicy(
        wait_ms,
        joins_parts=dialect.concatenation == "whole",
        repertoire=Repertoire(dialect.alphabet, dialect.latin1_coding is not None, dialect.national),
        asks_receipts=dialect.receipts == "always",
        tlvs=dialect.tlvs,
        needs_templates=dialect.templates == "required",
        default_alphabet=dialect.default_alphabet or dialect.alphabet,
        timetable=Timetable(dialect.rates, zone(dialect.rates_zone)) if dialect.rates else None,
        query_after_ms=int(dialect.query_after_s * 1000),
        failover=FailoverPolicy(
            dialect.failover_on,
            dialect.failover_most,
            dialect.failover_unknown,
            dialect.failover_after_s,
            dialect.overflow_after_s,
            dialect.failover_receipts,
        ),
    )


def _client_certificate(connector: Connector) -> tuple[str, str]:
    dialect = read_settings(connector)[0].dialect
    return (dialect.cert_file, dialect.key_file) if connector.settings.get("tls") else ("", "")


KIND: Final = ConnectorKind(
    name=SMPP,
    title="SMPP",
    settings=SETTINGS,
    identity="system_id",
    destination=frozenset({"host", "port", "tls", "system_id", *DESTINATION_OPTIONS}),
    problems=lambda options: read_options(options, Timings())[2],
    warnings=_warnings,
    policy=_policy,
    address=lambda connector: (connector.settings["host"], connector.settings["port"]),
    dialect=OPTION_FIELDS,
    client_certificate=_client_certificate,
    other_options="outcome_0x401=defer: the meaning of an answer of the operator",
)
