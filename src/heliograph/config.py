"""The settings: one typed file, `heliograph.toml`, and `HELIOGRAPH_*` variables, which win over it.

A section of the file is a class here, and each of its fields carries its meaning, its unit and its range:
parsing, error messages, `docs/settings.md` and the example file are all drawn from them.
"""

import ipaddress
import math
import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache, partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from heliograph.domain import limits

FILE_NAME = "heliograph.toml"
DEFAULT_DATA = Path("heliograph-data")
PREFIX = "HELIOGRAPH_"

#: Variables that are no settings: where the settings are, and what the `send` command signs in with.
OTHER_VARIABLES = ("DATA", "CONFIG", "USER", "API_KEY", "URL")

_LIST = "(`heliograph settings` lists them all)"

#: What Kubernetes puts into every container beside a service that is called "heliograph".
_SERVICE_LINK = re.compile(r"HELIOGRAPH_(SERVICE_(HOST|PORT)(_.*)?|PORT_[0-9]+_(TCP|UDP|SCTP)(_.*)?)").fullmatch


class SettingsError(Exception):
    """A setting that cannot be used. The message names it, where it was found, and what would be right."""


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
    """A field of a section. `check` gives what is wrong with a value of the right type, or None.

    `variable` is its variable's name after HELIOGRAPH_, where that is not made of the section and the name. A
    `secret` is shown nowhere.
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


def _address_problem(text: str) -> str | None:
    try:
        parse_address(text)
    except ValueError as error:
        return str(error)
    return None


def _networks_problem(networks: tuple[str, ...]) -> str | None:
    for network in networks:
        try:
            ipaddress.ip_network(network)
        except ValueError:
            return f"{network!r} is not a network; write it as 10.20.0.0/16 or fd00::/8, without host bits"
    return None


def _endpoint_problem(text: str) -> str | None:
    if text and not re.match(r"https?://[^/]", text):
        return "an endpoint begins with http:// or https://"
    return None


def _database_problem(url: str) -> str | None:
    if url and not url.startswith(("postgresql://", "postgres://")):
        # what it is is not told: a password may be in it
        return "it does not begin with postgresql://"
    return None


def parse_address(text: str) -> tuple[str, int]:
    """Host and port of `HOST:PORT` or `[IPV6]:PORT`. Raises ValueError with a sentence for people."""
    host, colon, port = text.rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        raise ValueError(f"an IPv6 address needs brackets: [{host}]:{port}")
    if not colon or not host:
        raise ValueError(f"{text!r} is not HOST:PORT, such as 127.0.0.1:8080")
    if not (port.isascii() and port.isdigit() and int(port) <= 65535):
        raise ValueError(f"the port {port!r} is not a number from 0 to 65535")
    return host, int(port)


@dataclass(frozen=True, slots=True)
class Http:
    """The customers' HTTP API."""

    listen: str = _setting(
        "127.0.0.1:8080",
        "Where the API listens, as HOST:PORT or [IPV6]:PORT. Port 0 takes a free one.",
        check=_address_problem,
    )
    max_body: int = _setting(
        limits.MAX_BODY_OCTETS,
        "The largest request body; a larger one is answered 413.",
        unit="bytes",
        least=1024,
        most=2**26,
    )
    trusted_proxies: tuple[str, ...] = _setting(
        (),
        "Addresses or networks of proxies before the gateway. Of requests that come from them, X-Forwarded-For tells "
        "the client's address and X-Forwarded-Proto whether it came by HTTPS.",
        check=_networks_problem,
    )


@dataclass(frozen=True, slots=True)
class Messages:
    """What customers may ask for."""

    max_destinations: int = _setting(
        limits.MAX_DESTINATIONS,
        "The most destinations that one request may name.",
        unit="destinations",
        least=1,
        most=100_000,
    )
    max_segments: int = _setting(
        limits.MAX_SEGMENTS,
        "The most segments that one message may have.",
        unit="segments",
        least=1,
        most=limits.MAX_SEGMENTS_CEILING,
    )
    horizon_days: int = _setting(
        limits.HORIZON_DAYS, "How far ahead a message may be scheduled.", unit="days", least=1, most=3660
    )
    list_interval_s: float = _setting(
        float(limits.LIST_INTERVAL_S),
        "The least time between two list queries of one account; 0 is none. An account may have its own.",
        unit="seconds",
        least=0,
        most=86_400,
    )
    validity_hours: float = _setting(
        float(limits.VALIDITY_HOURS),
        "How long a message may wait to be sent and delivered, from when it was accepted or scheduled for.",
        unit="hours",
        least=0.01,
        most=24 * 30,
    )
    receipt_grace_hours: float = _setting(
        float(limits.RECEIPT_GRACE_HOURS),
        "How long after the end of its validity a message still waits for the operator's receipt; then its "
        "state is UNKNOWN.",
        unit="hours",
        least=0,
        most=24 * 30,
    )


@dataclass(frozen=True, slots=True)
class Callbacks:
    """Delivery receipts that are pushed to customers."""

    timeout_s: float = _setting(
        float(limits.CALLBACK_TIMEOUT_S),
        "How long one try waits for the receiver's answer.",
        unit="seconds",
        least=0.1,
        most=120,
    )
    retry_hours: float = _setting(
        float(limits.CALLBACK_RETRY_HOURS),
        "How long a receipt is tried again, from its first try on; then it is kept and can be replayed.",
        unit="hours",
        least=0,
        most=24 * 30,
    )
    allowed_networks: tuple[str, ...] = _setting(
        (),
        "Loopback, private and link-local networks that receipts may be posted to all the same. All others "
        "of that kind are refused, so that customers cannot reach into your network.",
        check=_networks_problem,
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
        30.0,
        "How long a link may be silent before it is asked for life.",
        unit="seconds",
        least=0.5,
        most=3600,
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


@dataclass(frozen=True, slots=True)
class StoreSettings:
    """Where messages and books are kept."""

    url: str = _setting(
        "",
        "The PostgreSQL database, as postgresql://USER:PASSWORD@HOST:PORT/DATABASE; several hosts with commas between "
        "them, one of which takes writes. Empty is a file in the data directory (SQLite). `--database-url` wins over "
        "it.",
        check=_database_problem,
        variable="DATABASE_URL",
        secret=True,
    )


@dataclass(frozen=True, slots=True)
class Log:
    """What is logged, to standard error."""

    level: Literal["debug", "info", "warning", "error"] = _setting("info", "The least level that is logged.")
    format: Literal["auto", "text", "json"] = _setting(
        "auto",
        "text is for people, json is one object a line. auto is text on a terminal and json elsewhere.",
    )
    sensitive: bool = _setting(
        False,
        "Whether full numbers and texts may be logged, for tests on your own numbers. Secrets never are.",
    )


@dataclass(frozen=True, slots=True)
class MetricsSettings:
    """`/metrics`, for Prometheus."""

    allowed_networks: tuple[str, ...] = _setting(
        ("127.0.0.0/8", "::1/128"),
        "Networks that may read /metrics. What comes through a proxy may not, whatever its address.",
        check=_networks_problem,
    )


@dataclass(frozen=True, slots=True)
class Traces:
    """OpenTelemetry. It needs the extra `otel`; without an endpoint it is off and costs nothing."""

    endpoint: str = _setting(
        "",
        "Where spans are sent by OTLP over HTTP, such as http://127.0.0.1:4318/v1/traces. Empty is off.",
        check=_endpoint_problem,
    )
    sample_ratio: float = _setting(
        0.01,
        "The share of requests that are traced, where their own traceparent header does not decide it.",
        unit="share of requests",
        least=0,
        most=1,
    )


ROLES = ("api", "dispatch", "notify", "upkeep")


def _roles_problem(roles: tuple[str, ...]) -> str | None:
    if not roles:
        return "none is named"
    wrong = next((role for role in roles if role not in ROLES), None)
    return f"{wrong!r} is none of {', '.join(ROLES)}" if wrong is not None else None


@dataclass(frozen=True, slots=True)
class Node:
    """What this process does where several nodes share one PostgreSQL database."""

    roles: tuple[str, ...] = _setting(
        ROLES,
        "What this node does: api takes requests, dispatch sends to operators, notify posts receipts, upkeep keeps "
        "house and takes over the work of nodes that died. All of it by default; a part needs PostgreSQL. `--roles` "
        "wins over it.",
        check=_roles_problem,
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
    """How the gateway stops."""

    drain_s: float = _setting(
        float(limits.DRAIN_S),
        "How long a stop waits for operators' answers and for receipts that are being posted.",
        unit="seconds",
        least=0,
        most=600,
    )


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings. `data` is the data directory, `file` what was read, or None."""

    data: Path = DEFAULT_DATA
    file: Path | None = None
    http: Http = Http()
    messages: Messages = Messages()
    callbacks: Callbacks = Callbacks()
    smpp: Smpp = Smpp()
    store: StoreSettings = StoreSettings()
    log: Log = Log()
    metrics: MetricsSettings = MetricsSettings()
    traces: Traces = Traces()
    node: Node = Node()
    shutdown: Shutdown = Shutdown()

    @property
    def kept(self) -> str:
        """Where the store is, for people."""
        return "in PostgreSQL" if self.store.url else f"in {self.data}"

    def changed(self, key: str, value: object, where: str) -> "Settings":
        """A copy in which `section.name` has another value, checked as one of the file is.

        `where` says in an error message where the value came from. Raises SettingsError.
        """
        found = _entry(key)
        if found is None:
            raise _no_setting(key, where)
        return _with(self, found, _checked(found, value, where))


@dataclass(frozen=True, slots=True)
class Entry:
    """One setting as the reference shows it."""

    section: str
    name: str
    type: Any
    default: Any
    doc: str
    unit: str
    least: float | None
    most: float | None
    check: Callable[[Any], str | None] | None
    own_variable: str
    secret: bool

    @property
    def key(self) -> str:
        return f"{self.section}.{self.name}"

    @property
    def variable(self) -> str:
        return PREFIX + (self.own_variable or f"{self.section}_{self.name}".upper())

    @property
    def expected(self) -> str:
        """The values that are right, in words."""
        if get_origin(self.type) is Literal:
            return "one of " + ", ".join(get_args(self.type))
        words = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}
        text = words.get(self.type, "a list of texts")
        if self.least is not None:
            text += f" from {self.least:g}" if self.least < 1e6 else f" from {self.least}"
        if self.most is not None:
            text += f" to {int(self.most) if self.most == int(self.most) else self.most}"
        return text + (f" ({self.unit})" if self.unit else "")


@cache
def sections() -> dict[str, type]:
    """The sections of the file, in its order, with their classes."""
    hints = get_type_hints(Settings)
    return {each.name: hints[each.name] for each in fields(Settings) if each.name not in ("data", "file")}


@cache
def entries() -> tuple[Entry, ...]:
    """Every setting, in the order of the file."""
    return tuple(
        Entry(section=section, name=each.name, type=hints[each.name], default=each.default, **each.metadata)
        for section, kind, hints in ((name, kind, get_type_hints(kind)) for name, kind in sections().items())
        for each in fields(kind)
    )


def _entry(key: str) -> Entry | None:
    return next((entry for entry in entries() if entry.key == key), None)


def _with(settings: Settings, entry: Entry, value: Any) -> Settings:
    section = replace(getattr(settings, entry.section), **{entry.name: value})
    return replace(settings, **{entry.section: section})


def load(
    data: Path | None = None,
    config: Path | None = None,
    environ: Mapping[str, str] = MappingProxyType(os.environ),
) -> Settings:
    """The settings in force. What is given here wins over the variables, and those over the file.

    The file is `config`, which must then be there, or else `heliograph.toml` in the data directory, if there
    is one. Raises SettingsError.
    """
    data = data or Path(environ.get(f"{PREFIX}DATA") or DEFAULT_DATA)
    if config is None and environ.get(f"{PREFIX}CONFIG"):
        config = Path(environ[f"{PREFIX}CONFIG"])
    path = config or data / FILE_NAME
    settings = Settings(data=data)
    document = _read(path, must_exist=config is not None)
    if document is not None:
        settings = _apply_file(replace(settings, file=path), document, str(path))
    return _apply_variables(settings, environ)


def _read(path: Path, *, must_exist: bool) -> dict[str, Any] | None:
    try:
        text = path.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        if must_exist:
            raise SettingsError(f"there is no settings file {path}") from None
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"the settings file {path} cannot be read: {error}") from error
    import tomllib  # for those who have a file

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"the settings file {path} is not well-formed TOML: {error}") from error


def _apply_file(settings: Settings, document: dict[str, Any], where: str) -> Settings:
    for section, values in document.items():
        if section not in sections():
            raise _no_section(section, where) if isinstance(values, dict) else _no_setting(section, where)
        if not isinstance(values, dict):
            raise SettingsError(f"{section} in {where} must be a section: a line [{section}], its settings below it")
        for name, value in values.items():
            entry = _entry(f"{section}.{name}")
            if entry is None:
                raise _no_setting(f"{section}.{name}", where)
            settings = _with(settings, entry, _checked(entry, value, where))
    return settings


def _apply_variables(settings: Settings, environ: Mapping[str, str]) -> Settings:
    by_variable = {entry.variable: entry for entry in entries()}
    for variable in sorted(environ):
        if not variable.startswith(PREFIX) or variable.removeprefix(PREFIX) in OTHER_VARIABLES:
            continue
        text = environ[variable]
        if _SERVICE_LINK(variable) or (variable == f"{PREFIX}PORT" and "://" in text):
            continue
        entry = by_variable.get(variable)
        if entry is None:
            near = _nearest(variable, by_variable)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise SettingsError(f"the variable {variable} is no setting{hint} {_LIST}")
        where = f"the variable {variable}"
        settings = _with(settings, entry, _checked(entry, _from_text(entry, text, where), where))
    return settings


def _nearest(word: str, among: Iterable[str]) -> list[str]:
    """What was meant, or nothing."""
    from difflib import get_close_matches  # for those who mistype

    return get_close_matches(word, list(among), n=1, cutoff=0.5)


def _no_setting(key: str, where: str) -> SettingsError:
    matches = _nearest(key, [entry.key for entry in entries()])
    # the right name in the wrong section, or in none
    matches += [entry.key for entry in entries() if entry.name == key.rpartition(".")[2]]
    hint = f"; did you mean {matches[0]}?" if matches else ""
    return SettingsError(f"there is no setting {key} ({where}){hint} {_LIST}")


def _no_section(name: str, where: str) -> SettingsError:
    matches = _nearest(name, sections())
    hint = f"; did you mean [{matches[0]}]?" if matches else ""
    return SettingsError(f"there is no section [{name}] ({where}){hint} {_LIST}")


def _wrong(entry: Entry, value: object, where: str, problem: str | None = None) -> SettingsError:
    shown = problem or ("it is not" if entry.secret else f"it is {value!r}")
    return SettingsError(f"{entry.key} in {where} must be {entry.expected}: {shown}")


def _from_text(entry: Entry, text: str, where: str) -> Any:
    """What a variable's text stands for; text that stands for nothing is left for `_checked` to refuse."""
    if entry.type is bool:
        words = {
            "true": True,
            "1": True,
            "yes": True,
            "on": True,
            "false": False,
            "0": False,
            "no": False,
            "off": False,
        }
        return words.get(text.strip().lower(), text)
    if entry.type is int or entry.type is float:
        try:
            return entry.type(text)
        except ValueError:
            raise _wrong(entry, text, where) from None
    if get_origin(entry.type) is tuple:
        return [part.strip() for part in text.split(",") if part.strip()]
    return text


def _checked(entry: Entry, value: Any, where: str) -> Any:
    """The value as its field keeps it. Raises SettingsError."""
    wrong = partial(_wrong, entry, value, where)
    if get_origin(entry.type) is Literal:
        if value not in get_args(entry.type):
            raise wrong()
    elif get_origin(entry.type) is tuple:
        if not isinstance(value, list | tuple) or not all(isinstance(part, str) for part in value):
            raise wrong()
        value = tuple(value)
    elif entry.type is float:
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise wrong()
        value = float(value)
    elif type(value) is not entry.type:
        raise wrong()
    too_small = entry.least is not None and value < entry.least
    too_large = entry.most is not None and value > entry.most
    if too_small or too_large:
        raise wrong()
    problem = entry.check(value) if entry.check else None
    if problem:
        raise wrong(problem)
    return value
