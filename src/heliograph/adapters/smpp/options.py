"""A connector's options: the operator's dialect, and the times of its binds, by name.

Every option has a default that suits most operators. An invalid value gives a problem in words. A connector with a
problem does not bind: its messages wait, instead of being sent wrongly.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import Field, dataclass, field, fields
from typing import Any, Final, Literal, get_args, get_origin

from heliograph.adapters.smpp.address_rules import (
    AddressRule,
    read_prefix,
    read_sender,
    read_senders,
    read_strip,
    reader,
)
from heliograph.adapters.smpp.outcome import FAILOVER_ON, OutcomeOverride, read_endings, read_override, read_statuses
from heliograph.app.connector_kind import MAX_RATE, OptionField
from heliograph.domain import calendar
from heliograph.domain.display import did_you_mean
from heliograph.domain.message.receipt import Delivery
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
    """Declares an option as a field of a dataclass.

    `read`: converts a stored value, and raises ValueError in words.

    `meaning`: text for the documents.
    """
    return field(default=default, metadata={"read": read, "meaning": meaning})


def parse_hosts(text: Any) -> tuple[tuple[str, int], ...]:
    """Reads `a.example:2775, [2001:db8::1]:2776` as pairs of host and port. The default port is 2775. Raises
    ValueError."""
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
    """Reads `turkish, hindi/single`: the tables of each language; `/single` selects the single shift table only."""
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
        raise ValueError(f"{word!r} has invalid tags: a name has a single tag, a range has no name, up to 0xffff")
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

    connect_timeout_s: float = option(10.0, _seconds, "time that a connection may take until it is bound, TLS included")
    response_timeout_s: float = option(
        30.0, _seconds, "time that a submit_sm waits for its response; after that its outcome is unknown"
    )
    enquire_interval_s: float = option(
        30.0, _seconds, "time that a link may be idle before an enquire_link tests it; 0 never tests it"
    )
    enquire_timeout_s: float = option(10.0, _seconds, "time to wait for any octet after an enquire_link")
    unbind_timeout_s: float = option(
        5.0,
        _seconds,
        "timeout for the operator's answer to our unbind. If the operator unbinds, its answers to parts "
        "in flight are awaited this long before we answer its unbind",
    )
    reconnect_first_s: float = option(
        1.0,
        _seconds,
        "longest first pause before the next bind; the pause is a random time between half of it and all of it. It "
        "doubles with each failure: a bind that fails, or a link that is lost before it carried any message",
    )
    reconnect_most_s: float = option(30.0, _seconds, "the longest pause before the next bind")
    credentials_first_s: float = option(
        60.0, _seconds, "the first pause after the operator rejected the credentials; it doubles too"
    )
    credentials_most_s: float = option(300.0, _seconds, "the longest pause after rejected credentials")


@dataclass(frozen=True, slots=True)
class Dialect:
    """The operator's dialect. The names are those of the options."""

    hosts: tuple[tuple[str, int], ...] = option(
        (), parse_hosts, "more hosts, as `host:port`, comma separated: tried in turn after the connector's own"
    )
    system_type: str = option("", _text(c.SYSTEM_TYPE_OCTETS - 1), "system_type of the bind, up to 12 characters")
    interface_version: int = option(c.INTERFACE_VERSION_34, _version, "`3.3`, `3.4` or `5.0`: the version in our bind")
    addr_ton: int = option(0, _OCTET, "TON of the bind's address range")
    addr_npi: int = option(0, _OCTET, "NPI of the bind's address range")
    address_range: str = option("", _text(c.ADDRESS_RANGE_OCTETS - 1), "address range of the bind, up to 40 characters")
    service_type: str = option("", _text(c.SERVICE_TYPE_OCTETS - 1), "service_type of messages, up to 5 characters")
    protocol_id: int = option(0, _OCTET, "protocol_id of every part")
    priority: int = option(0, _whole(0, 3), "priority_flag, 0 to 3")
    esm_class: int = option(
        0,
        _whole(0, 3),
        ("messaging mode in esm_class, 0 to 3; 3 is store and forward. The header bit is added where needed"),
    )
    receipts: Literal["always", "asked"] = option(
        "always",
        _one_of("always", "asked"),
        "`always` asks for the receipt of every message, so that its state is known; `asked` only for "
        "messages whose customer wants a receipt",
    )
    registered_delivery: int = option(
        c.RECEIPT_FINAL,
        _OCTET,
        "value that asks for a receipt: 1 for a final receipt, 17 for intermediate receipts too",
    )
    validity: Literal["relative", "absolute", "none"] = option(
        "relative",
        _one_of("relative", "absolute", "none"),
        "format of validity_period: `relative`, `absolute`, or `none` to leave it out",
    )
    source_ton: int | None = option(None, _OCTET, "TON of every sender; empty: the options for the sender's form apply")
    source_npi: int | None = option(None, _OCTET, "NPI of every sender")
    alphanumeric_ton: int = option(c.Ton.ALPHANUMERIC, _OCTET, "TON of an alphanumeric sender")
    alphanumeric_npi: int = option(c.Npi.UNKNOWN, _OCTET, "NPI of an alphanumeric sender")
    msisdn_ton: int = option(c.Ton.INTERNATIONAL, _OCTET, "TON of an international number as sender")
    msisdn_npi: int = option(c.Npi.E164, _OCTET, "NPI of an international number as sender")
    short_code_ton: int = option(c.Ton.NETWORK_SPECIFIC, _OCTET, "TON of a short code as sender")
    short_code_npi: int = option(c.Npi.UNKNOWN, _OCTET, "NPI of a short code as sender")
    short_code_digits: int = option(8, _whole(0, 20), "a sender of at most this many digits is a short code")
    dest_ton: int = option(c.Ton.INTERNATIONAL, _OCTET, "TON of the destination")
    dest_npi: int = option(c.Npi.E164, _OCTET, "NPI of the destination")
    source_rules: tuple[AddressRule, ...] = option(
        (),
        reader(numbers=False),
        "rules for senders, before all of these options: `44*: 1/1, 3388: 3/0, * -> BRAND: 5/0`, see "
        "[below](#rules-for-addresses)",
    )
    dest_rules: tuple[AddressRule, ...] = option(
        (), reader(numbers=True), "rules for destinations, in the same format: `49*: 1/1, 44* -> 0*: 2/1`"
    )
    sender_map: tuple[tuple[str, str], ...] = option(
        (),
        read_senders,
        "other senders in place of customers' own: `ACME -> Acme Shop, TEST -> 3388`, before the rules",
    )
    sender_default: str = option("", read_sender, "sender in place of every sender that `sender_map` does not list")
    dest_strip: tuple[str, ...] = option(
        (),
        read_strip,
        "digits removed from the beginning of a destination, such as `49`; of several that fit, the longest is removed",
    )
    dest_prefix: str = option("", read_prefix, "prefix put before every destination, such as `00` or `77#`")
    alphabet: Literal["gsm", "latin1", "ascii"] = option(
        "gsm",
        _one_of("gsm", "latin1", "ascii"),
        "the operator's meaning of data_coding 0: `gsm` (GSM 03.38, an octet for each septet), `latin1` or `ascii`",
    )
    default_alphabet: Literal["", "gsm", "latin1", "ascii"] = option(
        "",
        _one_of("", "gsm", "latin1", "ascii"),
        "meaning of data_coding 0 in inbound messages, if it differs from `alphabet`",
    )
    latin1_coding: int | None = option(
        None, _OCTET, "data_coding of Latin-1 (3 in SMPP), if the operator supports it; without it Latin-1 is not used"
    )
    national: tuple[Tables, ...] = option(
        (),
        _languages,
        "languages with [national tables](#national-alphabets) on the phones there, comma separated, "
        "such as `turkish, spanish`; `turkish/single` for its single shift table only",
    )
    tlvs: tuple[TlvRule, ...] = option(
        (), _tlv_rules, "the optional parameters that requests may give, see [below](#optional-parameters)"
    )
    templates: Literal["off", "required"] = option(
        "off",
        _one_of("off", "required"),
        "`required`: each text must fit a registered template, and its TLVs are attached, see "
        "[below](#registered-templates)",
    )
    text_coding: int = option(c.DataCoding.DEFAULT, _OCTET, "data_coding of text")
    unicode_coding: int = option(c.DataCoding.UCS2, _OCTET, "data_coding of UCS-2")
    binary_coding: int = option(c.DataCoding.BINARY, _OCTET, "data_coding of binary content")
    concatenation: Literal["udh8", "udh16", "sar", "payload", "whole"] = option(
        "udh8",
        _one_of("udh8", "udh16", "sar", "payload", "whole"),
        "numbering of parts: `udh8`, `udh16`, `sar`, `payload` or `whole`, see below",
    )
    unknown: Literal["resend", "wait"] = option(
        "resend",
        _one_of("resend", "wait"),
        "action for a part without an answer: `resend` or `wait`, see [below](#when-there-is-no-answer)",
    )
    unknown_wait_s: float = option(3_600.0, _seconds, "time that `wait` waits, in seconds up to a day")
    failover_on: frozenset[int] = option(
        FAILOVER_ON,
        lambda value: read_statuses(str(value)),
        "statuses after which another connector of the route tries the message, comma separated, or `none`, see "
        "[below](#another-operator)",
    )
    failover_most: int = option(2, _whole(0, 9), "most connectors that try a message after the first, 0 to 9")
    failover_unknown: bool = option(
        False, _truth, "true lets another connector try a message without an answer: it may then arrive twice"
    )
    failover_receipts: frozenset[tuple[Delivery | None, str]] = option(
        frozenset(),
        lambda value: read_endings(str(value)),
        "final receipts after which another connector of the route tries the message: states, codes or both, comma "
        "separated, such as `UNDELIV 011, REJECTD`; empty for none, see [below](#another-operator)",
    )
    failover_after_s: float = option(
        15.0, _seconds, "seconds without a bind after which messages go to another connector of their route"
    )
    overflow_after_s: float = option(
        0.0,
        _seconds,
        "seconds that a message may wait here before messages go to another connector of their route; 0 is for ever",
    )
    query_after_s: float = option(
        0.0,
        _query_after,
        "seconds without a receipt after which the operator is asked by query_sm, at least 60; 0 never "
        "asks, see [below](#when-no-receipt-comes)",
    )
    mobile_originated: Literal["keep", "reject", "accept"] = option(
        "keep",
        _one_of("keep", "reject", "accept"),
        "inbound messages: `keep` them, or drop them and answer `reject` (ESME_RX_R_APPN) or `accept`",
    )
    inbound_country: str = option(
        "",
        _country,
        "country code, such as `49`, of phones that the operator writes nationally (`0170...`, or "
        "`170...` with TON 2), see [below](#national-numbers)",
    )
    inbound_trunk: str = option(
        "0",
        _trunk,
        ("prefix of such national numbers that is not part of the international number; `none` if there is none"),
    )
    ca_file: str = option(
        "",
        _PATH,
        ("certificates (PEM) of the authorities that sign the operator's certificate, instead of the system's"),
    )
    cert_file: str = option("", _PATH, "our client certificate (PEM)")
    key_file: str = option("", _PATH, "its key, unless `cert_file` contains it")
    tls_verify: bool = option(True, _truth, "false accepts any certificate: for tests only")
    tls_server_name: str = option(
        "", _text(253), "host name in the operator's certificate, if it differs from the host"
    )
    rates: tuple[RateSpan, ...] = option(
        (),
        lambda value: parse_spans(str(value), MAX_RATE),
        "rates by time of day, in place of `rate`: `08:00-20:00 100, 20:00-08:00 300`, see "
        "[below](#rates-by-time-of-day)",
    )
    rates_zone: str = option("UTC", _zone, "time zone of `rates`, such as `Europe/Berlin`")

    outcomes: Mapping[int, OutcomeOverride] = field(default_factory=dict)
    """Options `outcome_STATUS`, such as `outcome_rinvdstadr` or `outcome_0x401`: see `outcome.read_override`."""


def read_options(options: Mapping[str, Any], timings: Timings) -> tuple[Dialect, Timings, list[str]]:
    """Returns the dialect and the times of `options`, and a sentence for each invalid option, for example "option
    hosts: 'a:b' is no host and port; write smsc.example.net:2775"."""
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
                problems.append(f"option {name}: there is no such option{did_you_mean(name, OPTIONS, or_list=True)}")
        except ValueError as error:
            problems.append(f"option {name}: {error}")
    if values.get("key_file") and not values.get("cert_file"):
        problems.append("option key_file: a key needs its certificate: set cert_file")
    if values.get("national") and values.get("alphabet", GSM) != GSM:
        problems.append(f"option national: it needs the alphabet gsm, not {values['alphabet']}")
    wanted = Timings(**{name: times.get(name, getattr(timings, name)) for name in _TIMES})
    return Dialect(**values, outcomes=outcomes), wanted, problems


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
        "sender_map", "sender_default", "dest_strip", "dest_prefix", "source_rules", "dest_rules",
        "source_ton", "source_npi", "alphanumeric_ton", "alphanumeric_npi",
        "msisdn_ton", "msisdn_npi", "short_code_ton", "short_code_npi", "short_code_digits", "dest_ton", "dest_npi",
    ),
    "Texts": (
        "alphabet", "latin1_coding", "national", "concatenation", "text_coding", "unicode_coding", "binary_coding",
    ),
    "Other fields of a message": (
        "service_type", "protocol_id", "priority", "esm_class", "validity", "tlvs", "templates",
    ),
    "Another operator": (
        "failover_on", "failover_receipts", "failover_most", "failover_unknown", "failover_after_s", "overflow_after_s",
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
    if value in (None, (), frozenset()):
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, frozenset):
        return ", ".join(sorted(c.CommandStatus.name_of(status) for status in value))
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
