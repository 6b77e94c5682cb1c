"""A connector's options: the operator's dialect, and the times of its links, by name.

Every option has a default that suits most operators. What cannot be understood is a problem in words, and a
connector with a problem does not bind: its messages wait, instead of going out wrong.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Final, Literal

from heliograph.adapters.smpp.outcome import Verdict, read_override
from heliograph.smpp import constants as c

DEFAULT_PORT: Final = 2775
"""The port that IANA lists for SMPP."""

MAX_HOSTS: Final = 16

OUTCOME_PREFIX: Final = "outcome_"


@dataclass(frozen=True, slots=True)
class Timings:
    """Times of a link, in seconds. A connector's option of the same name wins."""

    connect_timeout_s: float = 10.0
    """From the first try to connect until bound, TLS included."""
    response_timeout_s: float = 30.0
    """How long a submit_sm waits for its answer; then its outcome is unknown."""
    enquire_interval_s: float = 30.0
    """How long a link may be silent before it is tested; 0 never tests it."""
    enquire_timeout_s: float = 10.0
    """How long anything at all may take to come after that."""
    unbind_timeout_s: float = 5.0
    reconnect_first_s: float = 1.0
    """The ceiling of the first pause before binding anew; it doubles with each failure. Half of it is jitter."""
    reconnect_most_s: float = 30.0
    credentials_first_s: float = 60.0
    """The first pause after the operator called the credentials wrong; it doubles too."""
    credentials_most_s: float = 300.0


@dataclass(frozen=True, slots=True)
class Dialect:
    """How an operator wants things. The names are those of the options."""

    hosts: tuple[tuple[str, int], ...] = ()
    """More hosts of the operator, `host:port` and comma separated: tried in turn after the connector's own."""

    system_type: str = ""
    interface_version: int = c.INTERFACE_VERSION_34
    """`3.3`, `3.4` or `5.0`: what the bind says we speak."""
    addr_ton: int = 0
    addr_npi: int = 0
    address_range: str = ""

    service_type: str = ""
    protocol_id: int = 0
    priority: int = 0
    """priority_flag: 0 to 3."""
    esm_class: int = 0
    """Its messaging mode, 0 to 3; 3 is store and forward. The header bit is added where it is due."""
    registered_delivery: int = c.RECEIPT_FINAL
    """What asks for a receipt: 1 a final one, 17 intermediate ones too."""
    validity: Literal["relative", "absolute", "none"] = "relative"
    """How validity_period is written: relative needs no agreement on clocks and time zones; none leaves it out."""

    source_ton: int | None = None
    """Of every sender; without it the sender's form decides (see the next six)."""
    source_npi: int | None = None
    alphanumeric_ton: int = c.Ton.ALPHANUMERIC
    alphanumeric_npi: int = c.Npi.UNKNOWN
    msisdn_ton: int = c.Ton.INTERNATIONAL
    msisdn_npi: int = c.Npi.E164
    short_code_ton: int = c.Ton.NETWORK_SPECIFIC
    short_code_npi: int = c.Npi.UNKNOWN
    short_code_digits: int = 8
    """A sender of at most so many digits is a short code."""
    dest_ton: int = c.Ton.INTERNATIONAL
    dest_npi: int = c.Npi.E164

    alphabet: Literal["gsm", "latin1", "ascii"] = "gsm"
    """What the operator takes data_coding 0 for: GSM 03.38 unpacked, Latin-1 or ASCII."""
    text_coding: int = c.DataCoding.DEFAULT
    unicode_coding: int = c.DataCoding.UCS2
    binary_coding: int = c.DataCoding.BINARY
    concatenation: Literal["udh8", "udh16", "sar", "payload", "whole"] = "udh8"
    """How the parts of a long message are numbered: a user data header with an 8- or 16-bit reference, the SAR
    TLVs, or (payload) the 8-bit header with the content in message_payload instead of short_message. `whole` sends all
    of it in one message_payload, and leaves the parts to the operator."""

    unknown: Literal["resend", "wait"] = "resend"
    """What becomes of a part that was written and not answered for: resend sends it again at once, three times at
    most; wait leaves it alone until a late answer or a receipt decides, or its time is over, and sends it once more."""
    unknown_wait_s: float = 3_600.0
    """How long `wait` leaves a part alone, in seconds up to a day."""

    mobile_originated: Literal["reject", "accept"] = "reject"
    """How messages from phones are answered, which the gateway does not take: reject says so to the operator
    (ESME_RX_R_APPN), accept takes and discards them."""

    ca_file: str = ""
    """Certificates (PEM) that the operator's must come from, instead of the system's."""
    cert_file: str = ""
    """Our client certificate (PEM), and its key unless `key_file` has that."""
    key_file: str = ""
    tls_verify: bool = True
    tls_server_name: str = ""
    """The name that the certificate must bear, if not the host's."""

    outcomes: Mapping[int, Verdict] = field(default_factory=dict)
    """Options `outcome_STATUS`, such as `outcome_rinvdstadr` or `outcome_0x401`: see `outcome.read_override`."""


def read_options(options: Mapping[str, Any], timings: Timings) -> tuple[Dialect, Timings, list[str]]:
    """The dialect and the times that `options` make, and a sentence for each option that is not right."""
    values: dict[str, Any] = {}
    times: dict[str, float] = {}
    outcomes: dict[int, Verdict] = {}
    problems: list[str] = []
    for name, value in options.items():
        try:
            if name.startswith(OUTCOME_PREFIX):
                status, verdict = read_override(name.removeprefix(OUTCOME_PREFIX), str(value))
                outcomes[status] = verdict
            elif name in _TIMES:
                times[name] = _seconds(value)
            elif name in _READERS:
                values[name] = _READERS[name](value)
            else:
                problems.append(f"option {name}: there is no such option; {_advice(name)}")
        except ValueError as error:
            problems.append(f"option {name}: {error}")
    if values.get("key_file") and not values.get("cert_file"):
        problems.append("option key_file: a key needs its certificate: set cert_file")
    wanted = Timings(**{name: times.get(name, getattr(timings, name)) for name in _TIMES})
    return Dialect(**values, outcomes=outcomes), wanted, problems


def _advice(name: str) -> str:
    from difflib import get_close_matches  # for those who mistype

    near = get_close_matches(name, OPTION_NAMES, n=1)
    return f"do you mean {near[0]}?" if near else f"there are {', '.join(sorted(OPTION_NAMES))}"


def parse_hosts(text: Any) -> tuple[tuple[str, int], ...]:
    """`a.example:2775, [2001:db8::1]:2776` as pairs; without a port 2775. Raises ValueError."""
    words = [word.strip() for word in str(text).split(",") if word.strip()]
    if len(words) > MAX_HOSTS:
        raise ValueError(f"{len(words)} hosts; the limit is {MAX_HOSTS}")
    return tuple(_host_and_port(word) for word in words)


def _host_and_port(text: str) -> tuple[str, int]:
    if text.startswith("["):
        host, bracket, rest = text[1:].partition("]")
        if not bracket or (rest and not rest.startswith(":")):
            raise ValueError(f"{text!r} is no address and port; write [2001:db8::1]:2775")
        port = rest[1:]
    elif text.count(":") > 1:
        host, port = text, ""
    else:
        host, _, port = text.partition(":")
    if not host or (port and not (port.isascii() and port.isdigit() and 0 < int(port) < 65_536)):
        raise ValueError(f"{text!r} is no host and port; write smsc.example.net:2775")
    return host, int(port) if port else DEFAULT_PORT


def _seconds(value: Any) -> float:
    if isinstance(value, str) and value.replace(".", "", 1).isdecimal():
        value = float(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 86_400:
        raise ValueError(f"{value!r} is no number of seconds up to a day")
    return float(value)


def _whole(least: int, most: int) -> Callable[[Any], int]:
    def read(value: Any) -> int:
        if isinstance(value, str) and value.lower().startswith("0x"):
            try:
                value = int(value, 16)
            except ValueError:
                raise ValueError(f"{value!r} is no hexadecimal number") from None
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise ValueError(f"{value!r} is not a whole number from {least} to {most}")
        return value

    return read


def _one_of(*words: str) -> Callable[[Any], str]:
    def read(value: Any) -> str:
        word = str(value).lower()
        if word not in words:
            raise ValueError(f"{value!r} is none of {', '.join(words)}")
        return word

    return read


def _text(most: int) -> Callable[[Any], str]:
    def read(value: Any) -> str:
        text = str(value).lower() if isinstance(value, bool) else str(value)
        if not text.isascii() or not text.isprintable() or len(text) > most:
            raise ValueError(f"it must be at most {most} printable ASCII characters")
        return text

    return read


def _truth(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"{value!r} is neither true nor false")  # noqa: TRY004 - a problem to show, not a fault
    return value


def _version(value: Any) -> int:
    version = {"3.3": c.INTERFACE_VERSION_33, "3.4": c.INTERFACE_VERSION_34, "5.0": c.INTERFACE_VERSION_50, "5": 0x50}
    if str(value) not in version:
        raise ValueError(f"{value!r} is none of 3.3, 3.4, 5.0")
    return version[str(value)]


_OCTET: Final = _whole(0, 255)
_PATH: Final = _text(4096)
_TIMES: Final = frozenset(each.name for each in fields(Timings))
_READERS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "hosts": parse_hosts,
    "system_type": _text(c.SYSTEM_TYPE_OCTETS - 1),
    "interface_version": _version,
    "addr_ton": _OCTET,
    "addr_npi": _OCTET,
    "address_range": _text(c.ADDRESS_RANGE_OCTETS - 1),
    "service_type": _text(c.SERVICE_TYPE_OCTETS - 1),
    "protocol_id": _OCTET,
    "priority": _whole(0, 3),
    "esm_class": _whole(0, 3),
    "registered_delivery": _OCTET,
    "validity": _one_of("relative", "absolute", "none"),
    "source_ton": _OCTET,
    "source_npi": _OCTET,
    "alphanumeric_ton": _OCTET,
    "alphanumeric_npi": _OCTET,
    "msisdn_ton": _OCTET,
    "msisdn_npi": _OCTET,
    "short_code_ton": _OCTET,
    "short_code_npi": _OCTET,
    "short_code_digits": _whole(0, 20),
    "dest_ton": _OCTET,
    "dest_npi": _OCTET,
    "alphabet": _one_of("gsm", "latin1", "ascii"),
    "text_coding": _OCTET,
    "unicode_coding": _OCTET,
    "binary_coding": _OCTET,
    "concatenation": _one_of("udh8", "udh16", "sar", "payload", "whole"),
    "unknown": _one_of("resend", "wait"),
    "unknown_wait_s": _seconds,
    "mobile_originated": _one_of("reject", "accept"),
    "ca_file": _PATH,
    "cert_file": _PATH,
    "key_file": _PATH,
    "tls_verify": _truth,
    "tls_server_name": _text(253),
}

OPTION_NAMES: Final = (*_READERS, *sorted(_TIMES))
"""Every option but the `outcome_...` ones."""
