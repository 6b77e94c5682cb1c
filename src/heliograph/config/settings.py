"""The settings. Each section of the file is a class, and each field has its meaning, unit and range.

Parsing, error messages, `docs/settings.md` and the example file are generated from them.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from heliograph.config.check import (
    ROLES,
    address_problem,
    alerts_problem,
    database_problem,
    endpoint_problem,
    header_problem,
    hosts_problem,
    lookup_problem,
    names_problem,
    networks_problem,
    optional_address_problem,
    ports_problem,
    roles_problem,
)
from heliograph.domain.limits import defaults
from heliograph.domain.message.retention import MOST_DAYS
from heliograph.net.address_guard import USUAL_PORTS

DEFAULT_DATA = Path("heliograph-data")


def _setting(
    default: object,
    doc: str,
    *,
    unit: str = "",
    least: float | None = None,
    most: float | None = None,
    check: Callable[[Any], str | None] | None = None,
    variable: str = "",
    secret: bool = False,
) -> Any:
    """Declares a field of a section.

    `check`: returns the problem of a value of the right type, or None.

    `variable`: its variable's name after HELIOGRAPH_, if it differs from section and name. For example DATABASE_URL.

    `secret`: never shown.
    """
    metadata = {
        "doc": doc,
        "unit": unit,
        "least": least,
        "most": most,
        "check": check,
        "own_variable": variable,
        "secret": secret,
    }
    return field(default=default, metadata=metadata, repr=not secret)


@dataclass(frozen=True, slots=True)
class Http:
    """The customers' HTTP API."""

    listen: str = _setting(
        "127.0.0.1:8080",
        "Address of the API, as HOST:PORT or [IPV6]:PORT. Port 0 chooses a free port. The host [::] means all "
        "addresses, IPv4 included.",
        check=address_problem,
    )
    max_body: int = _setting(
        defaults.MAX_BODY_OCTETS,
        "Largest request body. A larger body gets 413.",
        unit="bytes",
        least=1024,
        most=2**26,
    )
    tls_listen: str = _setting(
        "",
        "Second address of the API, by HTTPS, as HOST:PORT, for example [::]:8443. It needs cert_file. "
        "Connections to both addresses count together. Empty: no HTTPS.",
        check=optional_address_problem,
    )
    cert_file: str = _setting(
        "",
        "Certificate of tls_listen with its chain, in PEM. It is reloaded when the file changes, on SIGHUP, and "
        "by `heliograph reload`. If the new certificate is bad, the old one stays in use.",
    )
    key_file: str = _setting("", "The certificate's key, in PEM and not encrypted. Empty: cert_file contains the key.")
    hsts_days: int = _setting(
        365,
        "Days for which browsers are told to use HTTPS only (Strict-Transport-Security). 0 does not tell them.",
        unit="days",
        least=0,
        most=3660,
    )
    health_listen: str = _setting(
        "",
        "Second address for /health and /metrics, as HOST:PORT, with a connection limit of its own: a flood of "
        "API connections cannot keep health checks out. /health stays at the first address as well; /metrics "
        "moves here. Empty: none.",
        check=optional_address_problem,
    )
    connections: int = _setting(
        4_096,
        "Most open connections; fewer if the system limits open files. At the limit, the slowest unfinished "
        "requests are closed first, then idle connections, then connections of the address with the most.",
        unit="connections",
        least=16,
        most=1_000_000,
    )
    connections_per_address: int = _setting(
        1_024,
        "Most connections of an IP address (for IPv6, of its /64 network). At the limit, its own idle connections "
        "are closed; if it has none, a new connection gets 429. 0: no limit. trusted_proxies have no limit.",
        unit="connections",
        least=0,
        most=1_000_000,
    )
    unfinished_per_address: int = _setting(
        128,
        "Most unfinished requests of an address: requests that started more than a second ago and are still "
        "incomplete. At the limit, the slowest are closed. 0: no limit. Behind trusted_proxies they count for the "
        "client.",
        unit="requests",
        least=0,
        most=1_000_000,
    )
    refused_work_per_address: float = _setting(
        50.0,
        "Work that the gateway does on refused requests (4xx) of an address. Beyond it, all requests of the "
        "address get 429 for a while. Refusals that take less than half a millisecond, as nearly all do, are "
        "free. 0: no limit. Behind trusted_proxies the work counts for the client.",
        unit="milliseconds a second",
        least=0,
        most=1_000,
    )
    requests_per_address: float = _setting(
        0.0,
        "Most requests a second of an address, in bursts of up to a second's worth. Beyond it, requests get 429. "
        "0: no limit. Accounts have their own rate limit.",
        unit="requests a second",
        least=0,
        most=1_000_000,
    )
    octets_per_address: float = _setting(
        0.0,
        "Most octets a second of an address's request bodies, in bursts of up to a second's worth. 0: no limit.",
        unit="bytes a second",
        least=0,
        most=2.0**40,
    )
    trusted_proxies: tuple[str, ...] = _setting(
        (),
        "Addresses or networks of proxies in front of the gateway, for example 10.0.0.0/8. For their requests, "
        "X-Forwarded-For gives the client's address, and X-Forwarded-Proto whether the client used HTTPS.",
        check=networks_problem,
    )


@dataclass(frozen=True, slots=True)
class MessageSettings:
    """Limits and defaults of customers' requests."""

    max_destinations: int = _setting(
        defaults.MAX_DESTINATIONS,
        "Most destinations in a request.",
        unit="destinations",
        least=1,
        most=100_000,
    )
    max_segments: int = _setting(
        defaults.MAX_SEGMENTS,
        "Most segments of a message.",
        unit="segments",
        least=1,
        most=defaults.MAX_SEGMENTS_CEILING,
    )
    horizon_days: int = _setting(
        defaults.HORIZON_DAYS,
        "Furthest time ahead for which a message may be scheduled.",
        unit="days",
        least=1,
        most=3660,
    )
    list_interval_s: float = _setting(
        float(defaults.LIST_INTERVAL_S),
        "Shortest time between two list queries of an account; 0: no limit. An account may have its own limit.",
        unit="seconds",
        least=0,
        most=86_400,
    )
    validity_hours: float = _setting(
        float(defaults.VALIDITY_HOURS),
        "Time that a message may take to be sent and delivered, counted from its acceptance or its scheduled time.",
        unit="hours",
        least=0.01,
        most=24 * 30,
    )
    receipt_grace_hours: float = _setting(
        float(defaults.RECEIPT_GRACE_HOURS),
        "Time after the end of its validity for which a message still waits for the operator's receipt. After "
        "that its state is UNKNOWN.",
        unit="hours",
        least=0,
        most=24 * 30,
    )
    inbound_parts_minutes: float = _setting(
        10.0,
        "Time for which the parts of an inbound message wait for the others, counted from the first part. After "
        "that the message is passed on as incomplete.",
        unit="minutes",
        least=0.05,
        most=24 * 60,
    )
    answers_per_hour: int = _setting(
        1_000,
        "Most answers to STOP and HELP of an account within an hour, on each node; 0: no limit.",
        unit="answers",
        least=0,
        most=1_000_000,
    )
    replies_per_phone: int = _setting(
        5,
        "Most replies of `inbound_url` from a number to a phone within ten minutes, on each node; 0: no limit. It ends "
        "loops of programs that answer each other.",
        unit="replies",
        least=0,
        most=1_000_000,
    )
    guard: Literal["observe", "hold", "off"] = _setting(
        "observe",
        "Reaction of the pumping guard to a new account's traffic that looks like fraud: observe tells administrators "
        "and sends the messages; hold also holds messages to these numbers until they are released. An account's own "
        "field guard overrides it. A development run (--dev) uses off.",
    )
    guard_young_days: float = _setting(
        30.0,
        "Time for which the pumping guard watches new accounts without a field guard of their own.",
        unit="days",
        least=0,
        most=3650,
    )


@dataclass(frozen=True, slots=True)
class CallbackSettings:
    """Delivery receipts that are pushed to customers."""

    timeout_s: float = _setting(
        float(defaults.CALLBACK_TIMEOUT_S),
        "Time that an attempt waits for the receiver's answer.",
        unit="seconds",
        least=0.1,
        most=120,
    )
    retry_hours: float = _setting(
        float(defaults.CALLBACK_RETRY_HOURS),
        "Time for which a receipt is retried, counted from the first attempt. After that it is kept and can be "
        "replayed.",
        unit="hours",
        least=0,
        most=24 * 30,
    )
    allowed_networks: tuple[str, ...] = _setting(
        (),
        "Loopback, private and link-local networks to which receipts may be posted. All other such networks are "
        "refused, so that customers cannot reach into your network.",
        check=networks_problem,
    )
    allowed_ports: tuple[str, ...] = _setting(
        USUAL_PORTS,
        "Ports to which receipts may be posted, as numbers and ranges. Other ports are refused, so that customers "
        "cannot make the gateway talk to other services, such as SMTP on 25.",
        check=ports_problem,
    )
    process: Literal["auto", "inside", "beside"] = _setting(
        "auto",
        "Process that posts receipts: inside the gateway's process, or beside it in a process of its own. auto "
        "means beside on two or more processors.",
    )


@dataclass(frozen=True, slots=True)
class SmppServerSettings:
    """The SMPP server, to which customers' clients bind."""

    listen: str = _setting(
        "",
        "Address of the SMPP server, as HOST:PORT or [IPV6]:PORT, for example [::]:2775. Empty: no SMPP server.",
        check=optional_address_problem,
    )
    tls_listen: str = _setting(
        "",
        "Second address of the SMPP server, with TLS, as HOST:PORT, for example [::]:8775. It needs cert_file. Empty: "
        "no TLS.",
        check=optional_address_problem,
    )
    cert_file: str = _setting(
        "",
        "Certificate of tls_listen with its chain, in PEM. It is reloaded when the file changes, on SIGHUP, and by "
        "`heliograph reload`. If the new certificate is bad, the old one stays in use.",
    )
    key_file: str = _setting("", "The certificate's key, in PEM and not encrypted. Empty: cert_file contains the key.")
    trusted_proxies: tuple[str, ...] = _setting(
        (),
        "Addresses or networks of proxies in front of listen, for example 10.0.0.0/8. Their connections may begin with "
        "a header of the PROXY protocol (version 1 or 2), which gives the client's address.",
        check=networks_problem,
    )
    connections: int = _setting(
        2_000,
        "Most connections, bound or not. Further connections are closed at once.",
        unit="connections",
        least=1,
        most=100_000,
    )
    retry_hours: float = _setting(
        72.0,
        "Time for which a receipt or a phone's message waits for a bind of its account. After that it is kept and can "
        "be replayed.",
        unit="hours",
        least=0,
        most=24 * 30,
    )


@dataclass(frozen=True, slots=True)
class Smpp:
    """Links to operators. A connector's own option of the same name wins."""

    connect_timeout_s: float = _setting(
        10.0,
        "Time that a connection may take to be set up, TLS and bind included.",
        unit="seconds",
        least=0.1,
        most=300,
    )
    response_timeout_s: float = _setting(
        30.0,
        "Time that a submit_sm waits for its response. After that its outcome is unknown.",
        unit="seconds",
        least=0.1,
        most=600,
    )
    enquire_interval_s: float = _setting(
        30.0, "Time that a link may be idle before an enquire_link tests it.", unit="seconds", least=0.5, most=3600
    )
    enquire_timeout_s: float = _setting(
        10.0,
        "Time to wait for any octet after an enquire_link. After that the link is closed and bound again.",
        unit="seconds",
        least=0.1,
        most=600,
    )
    reconnect_first_s: float = _setting(
        1.0,
        "First pause before a lost link is bound again. The pause doubles with each failure.",
        unit="seconds",
        least=0,
        most=60,
    )
    reconnect_most_s: float = _setting(
        30.0, "Longest pause before a lost link is bound again.", unit="seconds", least=0.1, most=3600
    )
    allowed_hosts: tuple[str, ...] = _setting(
        (),
        "Names, addresses and networks that connectors may connect to; empty allows all. A name that is not "
        "listed must resolve to an address in a listed network.",
        check=hosts_problem,
    )


@dataclass(frozen=True, slots=True)
class RoutingSettings:
    """The choice of operators."""

    ported_file: str = _setting(
        "",
        "File of ported numbers, which are looked up before the prefixes of networks. A line is NUMBER,MCCMNC, for "
        "example 491701234567,26202. It must be sorted by octets: LC_ALL=C sort. A changed file is read within ten "
        "seconds. Empty: none.",
    )
    lookup_url: str = _setting(
        "",
        "URL of a server that knows the networks of numbers, with {number} for the number, such as "
        'http://127.0.0.1:8080/networks/{number}. It answers GET with JSON such as {"mccmnc":"26202"}. A request '
        "waits for it for 0.3 s at most. Empty: none.",
        check=lookup_problem,
        secret=True,
    )
    lookup_authorization: str = _setting(
        "",
        "Header Authorization of these requests, such as Bearer TOKEN. Empty: none.",
        check=header_problem,
        secret=True,
    )
    lookup_kept_s: float = _setting(
        86_400.0,
        "Time for which an answer of this server is used.",
        unit="seconds",
        least=60,
        most=31_536_000,
    )


@dataclass(frozen=True, slots=True)
class StoreSettings:
    """The store of messages and ledgers: a file or a database."""

    url: str = _setting(
        "",
        "PostgreSQL database, as postgresql://USER:PASSWORD@HOST:PORT/DATABASE. Separate several hosts by commas; "
        "the gateway uses the host that accepts writes. Empty: a file in the data directory (SQLite). "
        "`--database-url` overrides it.",
        check=database_problem,
        variable="DATABASE_URL",
        secret=True,
    )


@dataclass(frozen=True, slots=True)
class Log:
    """The log, written to standard error."""

    level: Literal["debug", "info", "warning", "error"] = _setting("info", "Lowest level that is logged.")
    format: Literal["auto", "text", "json"] = _setting(
        "auto",
        "text is for people, json is one object a line. auto is text on a terminal and json elsewhere.",
    )
    sensitive: bool = _setting(
        False,
        "Whether full numbers and texts may be logged, for tests with your own numbers. Secrets are never logged.",
    )


@dataclass(frozen=True, slots=True)
class MetricsSettings:
    """`/metrics`, for Prometheus."""

    allowed_networks: tuple[str, ...] = _setting(
        ("127.0.0.0/8", "::1/128"),
        "Networks that may read /metrics. A request through a proxy is refused, whatever its address. Some "
        "proxies cannot be recognised: set http.health_listen to keep /metrics away from them.",
        check=networks_problem,
    )


@dataclass(frozen=True, slots=True)
class AlertSettings:
    """Alerts to people about everything that needs attention. They need the extra `alerts`."""

    urls: tuple[str, ...] = _setting(
        (),
        "URLs of Apprise, each a destination of alerts, such as mailtos://USER:PASSWORD@example.com or "
        "slack://TOKEN_A/TOKEN_B/TOKEN_C/#sms. Write a comma within a URL as %2C. The addresses are yours, so "
        "callbacks.allowed_networks does not apply. `heliograph attention test` sends a test alert. Empty: no alerts.",
        check=alerts_problem,
        secret=True,
    )


@dataclass(frozen=True, slots=True)
class Traces:
    """OpenTelemetry. It needs the extra `otel`; without an endpoint it is off and costs nothing."""

    endpoint: str = _setting(
        "",
        "URL to which spans are sent by OTLP over HTTP, such as http://127.0.0.1:4318/v1/traces. Empty: as the "
        "variable OTEL_EXPORTER_OTLP_ENDPOINT says; without it no traces.",
        check=endpoint_problem,
    )
    sample_ratio: float = _setting(
        0.01,
        "Share of requests that are traced, unless their own traceparent header decides.",
        unit="share of requests",
        least=0,
        most=1,
    )


@dataclass(frozen=True, slots=True)
class Node:
    """Roles of this process if several nodes share a PostgreSQL database."""

    roles: tuple[str, ...] = _setting(
        ROLES,
        "Work of this node: api takes requests, dispatch sends to operators, notify posts receipts, upkeep does "
        "maintenance and takes over the work of dead nodes. Default: all. Fewer roles need PostgreSQL. `--roles` "
        "overrides it.",
        check=roles_problem,
        variable="ROLES",
    )
    most_binds: int = _setting(
        0,
        "Most binds of a connector on this node, so that other nodes get theirs; 0 takes all free binds.",
        unit="binds",
        least=0,
        most=1000,
    )


@dataclass(frozen=True, slots=True)
class Shutdown:
    """Stopping the gateway."""

    notice_s: float = _setting(
        0.0,
        "Time before a stop in which everything is served, but `/health/ready` answers 503 and answers close their "
        "connections, so that a load balancer turns to other nodes first. Longer than it takes to notice. 0 stops at "
        "once; a second SIGTERM ends the time.",
        unit="seconds",
        least=0,
        most=600,
    )
    drain_s: float = _setting(
        float(defaults.DRAIN_S),
        "Time that a stop waits for operators' responses and for receipts that are being posted.",
        unit="seconds",
        least=0,
        most=600,
    )


@dataclass(frozen=True, slots=True)
class PasswordSettings:
    """Hashes of passwords (argon2id). A hash with other parameters is renewed at the next successful sign-in."""

    memory_mib: int = _setting(
        defaults.ARGON2_MEMORY_MIB,
        "Memory that a check takes. Passwords are checked one at a time.",
        unit="MiB",
        least=defaults.ARGON2_MEMORY_MIB,
        most=2_048,
    )
    passes: int = _setting(
        defaults.ARGON2_PASSES,
        "Passes of a check over that memory.",
        unit="passes",
        least=defaults.ARGON2_PASSES,
        most=100,
    )
    lanes: int = _setting(defaults.ARGON2_LANES, "Threads that a check may use.", unit="lanes", least=1, most=16)


@dataclass(frozen=True, slots=True)
class ConsoleSettings:
    """The console at /console."""

    names: tuple[str, ...] = _setting(
        (),
        "Host names of the console and the admin API, such as sms.example.com. Requests for another name get 403. "
        "Addresses and localhost are always accepted. Empty accepts any name; a development run on loopback then "
        "accepts no name.",
        check=names_problem,
    )
    idle_minutes: float = _setting(
        60.0,
        "Time without a request after which a session ends. Automatic refreshes of a page do not count as "
        "requests. Every session ends twelve hours after it began.",
        unit="minutes",
        least=1,
        most=12 * 60,
    )
    second_factor: Literal["optional", "required"] = _setting(
        "optional", "required: a user without a second factor can only set one up."
    )
    exports: int = _setting(
        4,
        "Most exports (files of messages, statements, prices, routes, coverage or a phone's data) and margin reports "
        "that are made at once, by the console and the admin API. Further requests get 503.",
        unit="files",
        least=1,
        most=100,
    )


@dataclass(frozen=True, slots=True)
class AdminSettings:
    """The admin API at /admin/v1."""

    client_ca_file: str = _setting(
        "",
        "Certificates of authorities, in PEM. The admin API then answers only clients with a certificate signed "
        "by one of them, on http.tls_listen. A token is still needed. Empty: no client certificates.",
    )


@dataclass(frozen=True, slots=True)
class ReportSettings:
    """The series for reports and charts: counts by account, connector and country."""

    enabled: bool = _setting(True, "Whether the series are counted. Earlier counts are kept and shown in any case.")
    minutes_days: float = _setting(7.0, "Time for which counts by minute are kept.", unit="days", least=1, most=366)
    hours_days: float = _setting(90.0, "Time for which counts by hour are kept.", unit="days", least=1, most=3660)
    days_years: float = _setting(3.0, "Time for which counts by day are kept.", unit="years", least=1, most=30)


@dataclass(frozen=True, slots=True)
class AuditSettings:
    """The audit log of changes by users, tokens and commands."""

    key_file: str = _setting(
        "",
        "File with a secret of 32 characters or more. Exported heads of the audit log are signed with it, and the "
        "signature is checked when the log is compared with them. Empty: no signatures.",
    )


@dataclass(frozen=True, slots=True)
class EncryptionSettings:
    """The master key of an encrypted store. Set at most one of these."""

    key_file: str = _setting(
        "",
        "File with the master key: 32 random characters or more, such as the output of `openssl rand -base64 32`.",
    )
    key_command: str = _setting(
        "",
        "Command that writes the master key to its standard output, such as a client of a key store. It runs at "
        "each start, without a shell.",
    )
    key: str = _setting(
        "",
        "The master key itself. Set it in the environment, as HELIOGRAPH_ENCRYPTION_KEY. Do not put it into a "
        "file beside the store.",
        secret=True,
    )


@dataclass(frozen=True, slots=True)
class PrivacySettings:
    """How long customers' data are kept. An account may have its own limits; see docs/privacy.md."""

    retain_text_days: float = _setting(
        0.0,
        "Days after which the text of a message is redacted, counted from its sending time or its arrival. 0 "
        "keeps texts.",
        unit="days",
        least=0,
        most=MOST_DAYS,
    )
    retain_number_days: float = _setting(
        0.0,
        "Days after which the phone number of a message is redacted. Opted-out numbers stay suppressed. 0 keeps "
        "numbers.",
        unit="days",
        least=0,
        most=MOST_DAYS,
    )
    retain_days: float = _setting(
        0.0,
        "Days after which a message is deleted with its receipts and callbacks. The ledger stays. 0 keeps messages.",
        unit="days",
        least=0,
        most=MOST_DAYS,
    )


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings. `data` is the data directory; `file` is the file that was read, or None."""

    data: Path = DEFAULT_DATA
    file: Path | None = None
    http: Http = Http()
    messages: MessageSettings = MessageSettings()
    callbacks: CallbackSettings = CallbackSettings()
    smpp: Smpp = Smpp()
    smpp_server: SmppServerSettings = SmppServerSettings()
    routing: RoutingSettings = RoutingSettings()
    store: StoreSettings = StoreSettings()
    log: Log = Log()
    metrics: MetricsSettings = MetricsSettings()
    alerts: AlertSettings = field(default_factory=AlertSettings)
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
        """The path or URL of the store, for people."""
        return "in PostgreSQL" if self.store.url else f"in {self.data}"
