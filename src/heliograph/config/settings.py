"""The settings. A section of the file is a class here, and each of its fields carries its meaning, its unit and its
range: parsing, error messages, `docs/settings.md` and the example file are all drawn from them.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from heliograph.config.check import (
    ROLES,
    address_problem,
    database_problem,
    endpoint_problem,
    hosts_problem,
    names_problem,
    networks_problem,
    optional_address_problem,
    ports_problem,
    roles_problem,
)
from heliograph.config.data_settings import AuditSettings, EncryptionSettings, PrivacySettings
from heliograph.config.declare import setting as _setting
from heliograph.domain.limits import defaults
from heliograph.net.address_guard import USUAL_PORTS

DEFAULT_DATA = Path("heliograph-data")


@dataclass(frozen=True, slots=True)
class Http:
    """The customers' HTTP API."""

    listen: str = _setting(
        "127.0.0.1:8080",
        "Where the API listens, as HOST:PORT or [IPV6]:PORT. Port 0 takes a free one, and the host [::] stands for all "
        "addresses, those of IPv4 too.",
        check=address_problem,
    )
    max_body: int = _setting(
        defaults.MAX_BODY_OCTETS,
        "The largest request body; a larger one gets 413.",
        unit="bytes",
        least=1024,
        most=2**26,
    )
    tls_listen: str = _setting(
        "",
        "A second address of the API, by HTTPS, as HOST:PORT; it needs cert_file. Empty is none. Connections to both "
        "count together.",
        check=optional_address_problem,
    )
    cert_file: str = _setting(
        "",
        "The certificate of tls_listen and its chain, in PEM. It is read anew when it changes, on SIGHUP, and by "
        "`heliograph reload`; a bad one leaves the one in use.",
    )
    key_file: str = _setting("", "The certificate's key, in PEM and not encrypted. Empty is in cert_file, too.")
    hsts_days: int = _setting(
        365,
        "For how long browsers that came by HTTPS are told to come by it alone (Strict-Transport-Security). 0 does not "
        "tell them.",
        unit="days",
        least=0,
        most=3660,
    )
    health_listen: str = _setting(
        "",
        "A second address for /health and /metrics, as HOST:PORT, with connections of its own: whoever takes all of "
        "the others does not keep health checks out. /health stays where it is, too; /metrics is there alone then. "
        "Empty is none.",
        check=optional_address_problem,
    )
    connections: int = _setting(
        4_096,
        "The most connections that may be open; fewer where the system lets the process open fewer files. Beyond, the "
        "slowest unfinished requests make room, then connections without a request, then those of the address that has "
        "the most.",
        unit="connections",
        least=16,
        most=1_000_000,
    )
    connections_per_address: int = _setting(
        1_024,
        "The most of them that one address may have (of IPv6, 64 bits of it); beyond, its own make room, else a new "
        "one gets 429. 0 is no limit. trusted_proxies have none.",
        unit="connections",
        least=0,
        most=1_000_000,
    )
    unfinished_per_address: int = _setting(
        128,
        "The most requests of one address that may be begun and not whole for longer than a second; beyond, the "
        "slowest are closed. 0 is no limit. Behind trusted_proxies they count for the client.",
        unit="requests",
        least=0,
        most=1_000_000,
    )
    refused_work_per_address: float = _setting(
        50.0,
        "How much work on requests of one address that are refused (4xx) the gateway does; beyond, all of its "
        "requests get 429 for a while. What is refused within half a millisecond, as nearly all is, does not "
        "count. 0 is no limit. Behind trusted_proxies it counts for the client.",
        unit="milliseconds a second",
        least=0,
        most=1_000,
    )
    requests_per_address: float = _setting(
        0.0,
        "The most requests a second of one address, a second's worth at once; beyond, they get 429. 0 is no "
        "limit. An account has a rate of its own.",
        unit="requests a second",
        least=0,
        most=1_000_000,
    )
    octets_per_address: float = _setting(
        0.0,
        "The most octets a second of one address's request bodies, likewise.",
        unit="bytes a second",
        least=0,
        most=2.0**40,
    )
    trusted_proxies: tuple[str, ...] = _setting(
        (),
        "Addresses or networks of proxies before the gateway. Of requests that come from them, X-Forwarded-For tells "
        "the client's address and X-Forwarded-Proto whether it came by HTTPS.",
        check=networks_problem,
    )


@dataclass(frozen=True, slots=True)
class MessageSettings:
    """Limits and defaults of what customers ask for."""

    max_destinations: int = _setting(
        defaults.MAX_DESTINATIONS,
        "The most destinations that one request may name.",
        unit="destinations",
        least=1,
        most=100_000,
    )
    max_segments: int = _setting(
        defaults.MAX_SEGMENTS,
        "The most segments that one message may have.",
        unit="segments",
        least=1,
        most=defaults.MAX_SEGMENTS_CEILING,
    )
    horizon_days: int = _setting(
        defaults.HORIZON_DAYS, "How far ahead a message may be scheduled.", unit="days", least=1, most=3660
    )
    list_interval_s: float = _setting(
        float(defaults.LIST_INTERVAL_S),
        "The least time between two list queries of one account; 0 is none. An account may have its own.",
        unit="seconds",
        least=0,
        most=86_400,
    )
    validity_hours: float = _setting(
        float(defaults.VALIDITY_HOURS),
        "How long a message may wait to be sent and delivered, from when it was accepted or scheduled for.",
        unit="hours",
        least=0.01,
        most=24 * 30,
    )
    receipt_grace_hours: float = _setting(
        float(defaults.RECEIPT_GRACE_HOURS),
        "How long after the end of its validity a message still waits for the operator's receipt; then its "
        "state is UNKNOWN.",
        unit="hours",
        least=0,
        most=24 * 30,
    )
    inbound_parts_minutes: float = _setting(
        10.0,
        "How long the parts of a message from a phone wait for the others, from when the first came; then what is "
        "there is passed on as incomplete.",
        unit="minutes",
        least=0.05,
        most=24 * 60,
    )
    guard_young_days: float = _setting(
        30.0, "How long the pumping guard watches new accounts.", unit="days", least=0, most=3650
    )


@dataclass(frozen=True, slots=True)
class CallbackSettings:
    """Delivery receipts that are pushed to customers."""

    timeout_s: float = _setting(
        float(defaults.CALLBACK_TIMEOUT_S),
        "How long one try waits for the receiver's answer.",
        unit="seconds",
        least=0.1,
        most=120,
    )
    retry_hours: float = _setting(
        float(defaults.CALLBACK_RETRY_HOURS),
        "How long a receipt is tried again, from its first try on; then it is kept and can be replayed.",
        unit="hours",
        least=0,
        most=24 * 30,
    )
    allowed_networks: tuple[str, ...] = _setting(
        (),
        "Loopback, private and link-local networks that receipts may be posted to all the same. All others "
        "of that kind are refused, so that customers cannot reach into your network.",
        check=networks_problem,
    )
    allowed_ports: tuple[str, ...] = _setting(
        USUAL_PORTS,
        "Ports that receipts may be posted to, each a number or a range: else customers could have the gateway speak "
        "to whatever listens on others.",
        check=ports_problem,
    )
    process: Literal["auto", "inside", "beside"] = _setting(
        "auto",
        "Where receipts are posted from: inside the gateway's process, or from one beside it. auto is beside "
        "where there are two processors or more.",
    )


@dataclass(frozen=True, slots=True)
class Smpp:
    """Links to operators. A connector's own option of the same name wins."""

    connect_timeout_s: float = _setting(
        10.0, "How long connecting may take, TLS and bind included.", unit="seconds", least=0.1, most=300
    )
    response_timeout_s: float = _setting(
        30.0,
        "How long a submit_sm waits for its answer; then its outcome is unknown.",
        unit="seconds",
        least=0.1,
        most=600,
    )
    enquire_interval_s: float = _setting(
        30.0, "How long a link may be silent before it is asked for life.", unit="seconds", least=0.5, most=3600
    )
    enquire_timeout_s: float = _setting(
        10.0,
        "How long that question waits for its answer; then the link is taken down and bound anew.",
        unit="seconds",
        least=0.1,
        most=600,
    )
    reconnect_first_s: float = _setting(
        1.0,
        "The first pause before a lost link is bound anew; it doubles each time.",
        unit="seconds",
        least=0,
        most=60,
    )
    reconnect_most_s: float = _setting(30.0, "The longest such pause.", unit="seconds", least=0.1, most=3600)
    allowed_hosts: tuple[str, ...] = _setting(
        (),
        "Names, addresses and networks that connectors may connect to; empty is all. What a name is resolved to must "
        "lie in one of the networks, unless the name itself is listed.",
        check=hosts_problem,
    )


@dataclass(frozen=True, slots=True)
class StoreSettings:
    """The place where messages and books are kept."""

    url: str = _setting(
        "",
        "The PostgreSQL database, as postgresql://USER:PASSWORD@HOST:PORT/DATABASE; several hosts with commas between "
        "them, one of which takes writes. Empty is a file in the data directory (SQLite). `--database-url` wins over "
        "it.",
        check=database_problem,
        variable="DATABASE_URL",
        secret=True,
    )


@dataclass(frozen=True, slots=True)
class Log:
    """The log, written to standard error."""

    level: Literal["debug", "info", "warning", "error"] = _setting("info", "The least level that is logged.")
    format: Literal["auto", "text", "json"] = _setting(
        "auto",
        "text is for people, json is one object a line. auto is text on a terminal and json elsewhere.",
    )
    sensitive: bool = _setting(
        False, "Whether full numbers and texts may be logged, for tests on your own numbers. Secrets never are."
    )


@dataclass(frozen=True, slots=True)
class MetricsSettings:
    """`/metrics`, for Prometheus."""

    allowed_networks: tuple[str, ...] = _setting(
        ("127.0.0.0/8", "::1/128"),
        "Networks that may read /metrics. What comes through a proxy may not, whatever its address. A proxy that "
        "says nothing of itself cannot always be told: http.health_listen keeps /metrics away from it.",
        check=networks_problem,
    )


@dataclass(frozen=True, slots=True)
class Traces:
    """OpenTelemetry. It needs the extra `otel`; without an endpoint it is off and costs nothing."""

    endpoint: str = _setting(
        "",
        "Where spans are sent by OTLP over HTTP, such as http://127.0.0.1:4318/v1/traces. Empty is off.",
        check=endpoint_problem,
    )
    sample_ratio: float = _setting(
        0.01,
        "The share of requests that are traced, where their own traceparent header does not decide it.",
        unit="share of requests",
        least=0,
        most=1,
    )


@dataclass(frozen=True, slots=True)
class Node:
    """The work of this process where several nodes share one PostgreSQL database."""

    roles: tuple[str, ...] = _setting(
        ROLES,
        "What this node does: api takes requests, dispatch sends to operators, notify posts receipts, upkeep keeps "
        "house and takes over the work of nodes that died. All of it by default; a part needs PostgreSQL. `--roles` "
        "wins over it.",
        check=roles_problem,
        variable="ROLES",
    )
    most_binds: int = _setting(
        0,
        "The most binds of one connector that this node takes, so that others get theirs; 0 takes all that are free.",
        unit="binds",
        least=0,
        most=1000,
    )


@dataclass(frozen=True, slots=True)
class Shutdown:
    """Stopping the gateway."""

    drain_s: float = _setting(
        float(defaults.DRAIN_S),
        "How long a stop waits for operators' answers and for receipts that are being posted.",
        unit="seconds",
        least=0,
        most=600,
    )


@dataclass(frozen=True, slots=True)
class PasswordSettings:
    """Hashes of passwords (argon2id). One with other parameters is made anew when its password is next given."""

    memory_mib: int = _setting(
        defaults.ARGON2_MEMORY_MIB,
        "The memory that a check takes. One password is checked at a time.",
        unit="MiB",
        least=defaults.ARGON2_MEMORY_MIB,
        most=2_048,
    )
    passes: int = _setting(
        defaults.ARGON2_PASSES,
        "How often a check goes over that memory.",
        unit="passes",
        least=defaults.ARGON2_PASSES,
        most=100,
    )
    lanes: int = _setting(defaults.ARGON2_LANES, "The threads that a check may use.", unit="lanes", least=1, most=16)


@dataclass(frozen=True, slots=True)
class ConsoleSettings:
    """The console at /console."""

    names: tuple[str, ...] = _setting(
        (),
        "Names by which browsers and programs ask for the console and the admin API, such as sms.example.com: requests "
        "for another name get 403. Addresses and localhost are always taken. Empty takes any name; then a development "
        "run on loopback takes none.",
        check=names_problem,
    )
    idle_minutes: float = _setting(
        60.0,
        "How long somebody who is signed in may do nothing before the session ends. What a page fetches anew by itself "
        "is not counted. A session ends twelve hours after it began in any case.",
        unit="minutes",
        least=1,
        most=12 * 60,
    )
    second_factor: Literal["optional", "required"] = _setting(
        "optional", "required: who signs in without a second factor can do nothing but set one up."
    )
    exports: int = _setting(
        4,
        "How many files of CSV (messages, messages from phones, statements) are written at once; one more gets 503.",
        unit="files",
        least=1,
        most=100,
    )


@dataclass(frozen=True, slots=True)
class AdminSettings:
    """The admin API at /admin/v1."""

    client_ca_file: str = _setting(
        "",
        "Certificates of authorities, in PEM. Then the admin API answers only who shows a certificate that one of them "
        "signed, on http.tls_listen; a token is needed all the same. Empty asks for none.",
    )


@dataclass(frozen=True, slots=True)
class ReportSettings:
    """The series that reports and charts are made of: counts by account, connector and country."""

    enabled: bool = _setting(True, "Whether they are counted. What was counted before is kept, and shown.")
    minutes_days: float = _setting(7.0, "How long counts of each minute are kept.", unit="days", least=1, most=366)
    hours_days: float = _setting(90.0, "How long counts of each hour are kept.", unit="days", least=1, most=3660)
    days_years: float = _setting(3.0, "How long counts of each day are kept.", unit="years", least=1, most=30)


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings. `data` is the data directory, `file` what was read, or None."""

    data: Path = DEFAULT_DATA
    file: Path | None = None
    http: Http = Http()
    messages: MessageSettings = MessageSettings()
    callbacks: CallbackSettings = CallbackSettings()
    smpp: Smpp = Smpp()
    store: StoreSettings = StoreSettings()
    log: Log = Log()
    metrics: MetricsSettings = MetricsSettings()
    traces: Traces = Traces()
    node: Node = Node()
    passwords: PasswordSettings = PasswordSettings()
    console: ConsoleSettings = ConsoleSettings()
    admin: AdminSettings = AdminSettings()
    audit: AuditSettings = field(default_factory=AuditSettings)
    encryption: EncryptionSettings = field(default_factory=EncryptionSettings)
    reports: ReportSettings = ReportSettings()
    privacy: PrivacySettings = field(default_factory=PrivacySettings)
    shutdown: Shutdown = Shutdown()

    @property
    def kept(self) -> str:
        """The place of the store, for people."""
        return "in PostgreSQL" if self.store.url else f"in {self.data}"
