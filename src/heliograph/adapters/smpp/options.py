"""A connector's options: the operator's dialect, and the times of its binds, by name.

Every option has a default that suits most operators. What cannot be understood is a problem in words, and a
connector with a problem does not bind: its messages wait, instead of going out wrong.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import Field, dataclass, field, fields
from typing import Any, Final, Literal, get_args, get_origin

from heliograph.adapters.smpp.address_rules import AddressRule, reader
from heliograph.adapters.smpp.outcome import OutcomeOverride, read_override
from heliograph.app.connector_kind import MAX_RATE, OptionField
from heliograph.domain import calendar
from heliograph.domain.message.tlv_rules import TlvForm, TlvRule
from heliograph.domain.pace.timetable import RateSpan, parse_spans
from heliograph.domain.text.alphabet import GSM
from heliograph.domain.text.national import LANGUAGES, has_locking
from heliograph.domain.text.repertoire import Tables
from heliograph.smpp import constants as c
from heliograph.smpp import tlv

DEFAULT_PORT: Final = 2775
"""The port that IANA lists for SMPP."""

MAX_HOSTS: Final = 16

MAX_TRUNK_DIGITS: Final = 3

LEAST_QUERY_S: Final = 60
"""Least seconds after which a part without a receipt is asked for."""

OUTCOME_PREFIX: Final = "outcome_"


def option(default: Any, read: Callable[[Any], Any], meaning: str) -> Any:
    """Declares an option as a field of a dataclass, once for all: `read` turns what is stored into a value and raises
    ValueError in words, `meaning` is for the documents."""
    return field(default=default, metadata={"read": read, "meaning": meaning})


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


def _query_after(value: Any) -> float:
    seconds = _seconds(value)
    if 0 < seconds < LEAST_QUERY_S:
        raise ValueError(f"{value!r} is less than {LEAST_QUERY_S} seconds; 0 never asks")
    return seconds


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


def _country(value: Any) -> str:
    code = str(value).removeprefix("+")
    if code and _COUNTRY_CODE(code) is None:
        raise ValueError(f"{value!r} is no country code; write 49")
    return code


def _trunk(value: Any) -> str:
    prefix = str(value).lower()
    if prefix == "none":
        return ""
    if _TRUNK_PREFIX(prefix) is None:
        raise ValueError(f"{value!r} is no prefix of 1 to {MAX_TRUNK_DIGITS} digits; write 0, or none")
    return prefix


def _truth(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"{value!r} is neither true nor false")  # noqa: TRY004 - a problem to show, not a fault
    return value


def _zone(value: Any) -> str:
    return calendar.zone(str(value)).key


def _languages(value: Any) -> tuple[Tables, ...]:
    """`turkish, hindi/single`: the tables of each language, the single shift table alone where it is said so."""
    tables: list[Tables] = []
    for word in filter(None, (word.strip() for word in str(value).lower().split(","))):
        name, _, alone = word.partition("/")
        language = LANGUAGES.get(name)
        if language is None or alone not in ("", "single"):
            raise ValueError(f"{word!r} is no language; there are {', '.join(LANGUAGES)}, each with /single or without")
        tables.append((0, language))
        if has_locking(language) and not alone:
            tables += ((language, 0), (language, language))
    return tuple(tables)


def _tlv_rules(value: Any) -> tuple[TlvRule, ...]:
    """`user_message_reference, entity=0x1400, 0x1500-0x15ff/text` as rules."""
    return tuple(_tlv_rule(word) for word in filter(None, (word.strip() for word in str(value).split(","))))


def _tlv_rule(word: str) -> TlvRule:
    named, _, form = word.lower().partition("/")
    name, _, tags = named.rpartition("=")
    known = _TAGS.get(tags)
    try:
        low, _, high = tags.partition("-")
        first = known if known is not None else int(low, 0)
        last = int(high, 0) if known is None and high else first
        written = TlvForm(form) if form else TlvForm.OCTETS
    except ValueError:
        raise ValueError(f"{word!r} is no TLV; write entity=0x1400, 0x1500-0x15ff/text or a name of SMPP's") from None
    if not 0 < first <= last <= 0xFFFF or (name and first != last) or (written is TlvForm.INTEGER and known is None):
        raise ValueError(f"{word!r} has tags that cannot be: one with a name, or a range without, up to 0xffff")
    if ours := sorted(tag for tag in _OURS if first <= tag <= last):
        raise ValueError(f"{word!r} has {tlv.name_of(ours[0])}, which the gateway sets by itself")
    if known is None:
        return TlvRule(first, last, name, written)
    definition = tlv.DEFINITIONS[known]
    form_of = {tlv.ValueForm.INTEGER: TlvForm.INTEGER, tlv.ValueForm.TEXT: TlvForm.TEXT}
    octets = definition.octets if definition.kind is tlv.ValueForm.INTEGER else 0
    written = written if form else form_of.get(definition.kind, TlvForm.OCTETS)
    return TlvRule(first, last, name or tags, written, octets)


def _version(value: Any) -> int:
    version = {"3.3": c.INTERFACE_VERSION_33, "3.4": c.INTERFACE_VERSION_34, "5.0": c.INTERFACE_VERSION_50, "5": 0x50}
    if str(value) not in version:
        raise ValueError(f"{value!r} is none of 3.3, 3.4, 5.0")
    return version[str(value)]


_TAGS: Final = {definition.name: tag for tag, definition in tlv.DEFINITIONS.items()}
_OURS: Final = frozenset((tlv.SAR_MSG_REF_NUM, tlv.SAR_TOTAL_SEGMENTS, tlv.SAR_SEGMENT_SEQNUM, tlv.MESSAGE_PAYLOAD))

_COUNTRY_CODE: Final = re.compile(r"[1-9][0-9]{0,2}").fullmatch
_TRUNK_PREFIX: Final = re.compile(rf"[0-9]{{1,{MAX_TRUNK_DIGITS}}}").fullmatch

_OCTET: Final = _whole(0, 255)
_PATH: Final = _text(4096)


@dataclass(frozen=True, slots=True)
class Timings:
    """Times of a bind, in seconds. A connector's option of the same name wins over the gateway's setting."""

    connect_timeout_s: float = option(10.0, _seconds, "from the first try to connect until bound, TLS included")
    response_timeout_s: float = option(
        30.0, _seconds, "how long a submit_sm waits for its answer; then its outcome is unknown"
    )
    enquire_interval_s: float = option(
        30.0, _seconds, "how long a link may be silent before it is tested; 0 never tests it"
    )
    enquire_timeout_s: float = option(10.0, _seconds, "how long anything at all may take to come after that")
    unbind_timeout_s: float = option(
        5.0,
        _seconds,
        "how long the operator's answer to our unbind may take; when it unbinds itself, how long its answers to what "
        "is in flight are awaited before its unbind is answered",
    )
    reconnect_first_s: float = option(
        1.0,
        _seconds,
        "the ceiling of the first pause before binding anew; it doubles with each failure (a bind that fails, a link "
        "that falls before it has carried anything), half of it is jitter",
    )
    reconnect_most_s: float = option(30.0, _seconds, "and the highest it gets")
    credentials_first_s: float = option(
        60.0, _seconds, "the first pause after the operator called the credentials wrong; it doubles too"
    )
    credentials_most_s: float = option(300.0, _seconds, "and the highest that gets")


@dataclass(frozen=True, slots=True)
class Dialect:
    """The operator's dialect. The names are those of the options."""

    hosts: tuple[tuple[str, int], ...] = option(
        (), parse_hosts, "more hosts, `host:port` and comma separated: tried in turn after the connector's own"
    )
    system_type: str = option("", _text(c.SYSTEM_TYPE_OCTETS - 1), "up to 12 characters")
    interface_version: int = option(
        c.INTERFACE_VERSION_34, _version, "`3.3`, `3.4` or `5.0`: what the bind says we speak"
    )
    addr_ton: int = option(0, _OCTET, "of the bind's address range")
    addr_npi: int = option(0, _OCTET, "of the bind's address range")
    address_range: str = option("", _text(c.ADDRESS_RANGE_OCTETS - 1), "up to 40 characters")
    service_type: str = option("", _text(c.SERVICE_TYPE_OCTETS - 1), "up to 5 characters")
    protocol_id: int = option(0, _OCTET, "of every part")
    priority: int = option(0, _whole(0, 3), "priority_flag, 0 to 3")
    esm_class: int = option(
        0, _whole(0, 3), "its messaging mode, 0 to 3; 3 is store and forward. The header bit is added where it is due"
    )
    receipts: Literal["always", "asked"] = option(
        "always",
        _one_of("always", "asked"),
        "`always` asks for the receipt of every message, so that its state is known; `asked` of those alone whose "
        "customer wants it",
    )
    registered_delivery: int = option(
        c.RECEIPT_FINAL, _OCTET, "what asks for a receipt: 1 a final one, 17 intermediate ones too"
    )
    validity: Literal["relative", "absolute", "none"] = option(
        "relative",
        _one_of("relative", "absolute", "none"),
        "how validity_period is written: `relative`, `absolute`, or `none` to leave it out",
    )
    source_ton: int | None = option(None, _OCTET, "of every sender; without it the sender's form decides")
    source_npi: int | None = option(None, _OCTET, "likewise")
    alphanumeric_ton: int = option(c.Ton.ALPHANUMERIC, _OCTET, "of a name")
    alphanumeric_npi: int = option(c.Npi.UNKNOWN, _OCTET, "likewise")
    msisdn_ton: int = option(c.Ton.INTERNATIONAL, _OCTET, "of an international number")
    msisdn_npi: int = option(c.Npi.E164, _OCTET, "likewise")
    short_code_ton: int = option(c.Ton.NETWORK_SPECIFIC, _OCTET, "of a short code")
    short_code_npi: int = option(c.Npi.UNKNOWN, _OCTET, "likewise")
    short_code_digits: int = option(8, _whole(0, 20), "a sender of at most so many digits is a short code")
    dest_ton: int = option(c.Ton.INTERNATIONAL, _OCTET, "of the destination")
    dest_npi: int = option(c.Npi.E164, _OCTET, "likewise")
    source_rules: tuple[AddressRule, ...] = option(
        (),
        reader(numbers=False),
        "by sender, before all of these: `44*: 1/1, 3388: 3/0, * -> BRAND: 5/0`, see [below](#rules-for-addresses)",
    )
    dest_rules: tuple[AddressRule, ...] = option(
        (), reader(numbers=True), "likewise by destination: `49*: 1/1, 44* -> 0*: 2/1`"
    )
    alphabet: Literal["gsm", "latin1", "ascii"] = option(
        "gsm",
        _one_of("gsm", "latin1", "ascii"),
        "what the operator takes data_coding 0 for: `gsm` (GSM 03.38, unpacked), `latin1` or `ascii`",
    )
    default_alphabet: Literal["", "gsm", "latin1", "ascii"] = option(
        "",
        _one_of("", "gsm", "latin1", "ascii"),
        "what data_coding 0 means in messages from phones, where that is not `alphabet`",
    )
    latin1_coding: int | None = option(
        None, _OCTET, "data_coding of Latin-1 (3 in SMPP), where the operator takes it; without it none goes so"
    )
    national: tuple[Tables, ...] = option(
        (),
        _languages,
        "languages whose [national tables](#national-alphabets) phones there have, comma separated, such as "
        "`turkish, spanish`; `turkish/single` for its single shift table alone",
    )
    tlvs: tuple[TlvRule, ...] = option(
        (), _tlv_rules, "the optional parameters that requests may give, see [below](#optional-parameters)"
    )
    templates: Literal["off", "required"] = option(
        "off",
        _one_of("off", "required"),
        "`required`: each text must fit a registered template, whose TLVs are attached, see "
        "[below](#registered-templates)",
    )
    text_coding: int = option(c.DataCoding.DEFAULT, _OCTET, "data_coding of text")
    unicode_coding: int = option(c.DataCoding.UCS2, _OCTET, "data_coding of UCS-2")
    binary_coding: int = option(c.DataCoding.BINARY, _OCTET, "data_coding of binary content")
    concatenation: Literal["udh8", "udh16", "sar", "payload", "whole"] = option(
        "udh8",
        _one_of("udh8", "udh16", "sar", "payload", "whole"),
        "how parts are numbered: `udh8`, `udh16`, `sar`, `payload` or `whole`, see below",
    )
    unknown: Literal["resend", "wait"] = option(
        "resend",
        _one_of("resend", "wait"),
        "what becomes of a part without an answer: `resend` or `wait`, see [below](#when-there-is-no-answer)",
    )
    unknown_wait_s: float = option(3_600.0, _seconds, "how long `wait` leaves a part alone, in seconds up to a day")
    query_after_s: float = option(
        0.0,
        _query_after,
        "after how many seconds without a receipt the operator is asked with query_sm, 60 at least; 0 never asks, see "
        "[below](#when-no-receipt-comes)",
    )
    mobile_originated: Literal["keep", "reject", "accept"] = option(
        "keep",
        _one_of("keep", "reject", "accept"),
        "what becomes of messages from phones: `keep`, or not taken and answered `reject` (ESME_RX_R_APPN) or `accept`",
    )
    inbound_country: str = option(
        "",
        _country,
        "country code, such as `49`, of phones that the operator writes nationally (`0170...`, or `170...` with "
        "TON 2), see [below](#national-numbers)",
    )
    inbound_trunk: str = option(
        "0", _trunk, "what such numbers begin with that is no part of the international one; `none` if nothing is"
    )
    ca_file: str = option("", _PATH, "certificates (PEM) that the operator's must come from, instead of the system's")
    cert_file: str = option("", _PATH, "our client certificate (PEM)")
    key_file: str = option("", _PATH, "its key, unless it is in `cert_file`")
    tls_verify: bool = option(True, _truth, "false takes any certificate: for tests only")
    tls_server_name: str = option("", _text(253), "the name that the certificate must bear, if not the host's")
    rates: tuple[RateSpan, ...] = option(
        (),
        lambda value: parse_spans(str(value), MAX_RATE),
        "instead of `rate` at some times, `08:00-20:00 100, 20:00-08:00 300`, see [below](#rates-by-time-of-day)",
    )
    rates_zone: str = option("UTC", _zone, "their time zone, such as `Europe/Berlin`")

    outcomes: Mapping[int, OutcomeOverride] = field(default_factory=dict)
    """Options `outcome_STATUS`, such as `outcome_rinvdstadr` or `outcome_0x401`: see `outcome.read_override`."""


def read_options(options: Mapping[str, Any], timings: Timings) -> tuple[Dialect, Timings, list[str]]:
    """The dialect and the times that `options` make, and a sentence for each option that is not right."""
    values: dict[str, Any] = {}
    times: dict[str, float] = {}
    outcomes: dict[int, OutcomeOverride] = {}
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
    if values.get("national") and values.get("alphabet", GSM) != GSM:
        problems.append(f"option national: it needs the alphabet gsm, not {values['alphabet']}")
    wanted = Timings(**{name: times.get(name, getattr(timings, name)) for name in _TIMES})
    return Dialect(**values, outcomes=outcomes), wanted, problems


def _advice(name: str) -> str:
    from difflib import get_close_matches  # for those who mistype

    near = get_close_matches(name, OPTIONS, n=1)
    return f"do you mean {near[0]}?" if near else f"there are {', '.join(sorted(OPTIONS))}"


DESTINATION_OPTIONS: Final = ("hosts", "ca_file", "cert_file", "key_file", "tls_verify", "tls_server_name")
"""Options that say which hosts get the password, and how the connection to them is secured."""

_TIMES: Final = frozenset(each.name for each in fields(Timings))
_READERS: Final[Mapping[str, Callable[[Any], Any]]] = {
    each.name: each.metadata["read"] for each in fields(Dialect) if each.metadata
}
OPTIONS: Final[Mapping[str, str]] = {
    each.name: each.metadata["meaning"]
    for each in (*fields(Dialect), *sorted(fields(Timings), key=lambda of: of.name))
    if each.metadata
}
"""The meaning of every option but the `outcome_...` ones."""

GROUPS: Final[Mapping[str, tuple[str, ...]]] = {
    "Bind": ("hosts", "system_type", "interface_version", "address_range", "addr_ton", "addr_npi"),
    "TLS": ("ca_file", "tls_server_name", "cert_file", "key_file", "tls_verify"),
    "Addresses": (
        "source_rules", "dest_rules", "source_ton", "source_npi", "alphanumeric_ton", "alphanumeric_npi",
        "msisdn_ton", "msisdn_npi", "short_code_ton", "short_code_npi", "short_code_digits", "dest_ton", "dest_npi",
    ),
    "Texts": (
        "alphabet", "latin1_coding", "national", "concatenation", "text_coding", "unicode_coding", "binary_coding",
    ),
    "Other fields of a message": (
        "service_type", "protocol_id", "priority", "esm_class", "validity", "tlvs", "templates",
    ),
    "Receipts and unanswered parts": (
        "receipts", "registered_delivery", "query_after_s", "unknown", "unknown_wait_s",
    ),
    "Messages from phones": ("mobile_originated", "inbound_country", "inbound_trunk", "default_alphabet"),
    "Rate by time of day": ("rates", "rates_zone"),
    "Times of a bind": tuple(each.name for each in fields(Timings)),
}  # fmt: skip
"""Headings of a form, and the options below each."""

_LINK: Final = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_SEE: Final = re.compile(r",? see (\[below\]\([^)]*\)|below)$")


def _option_field(each: Field[Any], group: str) -> OptionField:
    meaning = _LINK.sub(r"\1", _SEE.sub("", each.metadata["meaning"])).replace("`", "")
    return OptionField(meaning, group, _default_text(each), _choices(each))


def _default_text(each: Field[Any]) -> str:
    value: Any = each.default
    if each.name == "interface_version":
        return f"{value >> 4}.{value & 15}"
    if value is None or value == ():
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(int(value) if isinstance(value, int) else value)


def _choices(each: Field[Any]) -> tuple[str, ...]:
    if each.name == "interface_version":
        return ("3.3", "3.4", "5.0")
    if each.type is bool:
        return ("true", "false")
    return tuple(filter(None, get_args(each.type))) if get_origin(each.type) is Literal else ()


_FIELDS: Final = {each.name: each for each in (*fields(Dialect), *fields(Timings))}
OPTION_FIELDS: Final[Mapping[str, OptionField]] = {
    name: _option_field(_FIELDS[name], group) for group, names in GROUPS.items() for name in names
}
"""Every option but the `outcome_...` ones, for forms."""
