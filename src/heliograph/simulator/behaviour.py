"""The behaviour of the simulated operator: every knob with its unit, its limits and its meaning.

`KNOBS` is the table for the checks, the command line and the documentation.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any, Final, NamedTuple, assert_never, get_type_hints
from uuid import UUID

from heliograph.simulator.limiter import BucketLimiter, CalendarLimiter, Limiter, LimiterKind, SlidingLimiter
from heliograph.smpp import constants as c
from heliograph.smpp.constants import CommandStatus

NUMBER: Final = re.compile(r"[0-9]{3,15}|[A-Za-z0-9]{3,11}")
"""A number that phones write to: international (`447700900123`), a short code (`60300`), or a name (`ACME`)."""

LONGEST_CHARACTERS: Final = 1_600
"""Characters. Longest message from a phone."""

_LONGEST_MS: Final = 86_400_000.0
_MOST: Final = 1_000_000_000


class BehaviourError(ValueError):
    """A knob has an impossible value; `knob` names it."""

    def __init__(self, knob: str, reason: str) -> None:
        super().__init__(f"{knob}: {reason}")
        self.knob = knob


class ReceiptPlace(StrEnum):
    """Place of a receipt's contents: its text, its TLVs, or both."""

    BOTH = "both"
    TEXT = "text"
    TLV = "tlv"


class ReceiptWording(StrEnum):
    """Wording of a receipt's text."""

    STANDARD = "standard"
    """SMPP v3.4, Appendix B."""
    LOWER = "lower"
    """Names and state in small letters."""
    REORDERED = "reordered"
    """Other order of the fields."""
    SHORT = "short"
    """The fields id, stat and done date only."""
    NO_ERR = "no_err"
    LONG_DATES = "long_dates"
    """Dates with seconds, of twelve digits."""
    QUOTED = "quoted"
    """The id in quotation marks."""
    FAILED = "failed"
    """States as in some operators' own words: FAILED, DELIVERED, CANCELLED, TIMEOUT."""
    UCS2 = "ucs2"
    """The text in UCS-2, with data_coding 8."""
    MIXED = "mixed"
    """A random wording for each receipt."""


class Notation(StrEnum):
    """Notation of a message id."""

    DECIMAL = "decimal"
    HEX = "hex"
    UPPER_HEX = "upper_hex"
    ZERO_DECIMAL = "zero_decimal"
    """Decimal, 20 digits with leading zeros."""
    ZERO_HEX = "zero_hex"
    """Hexadecimal, 16 digits with leading zeros."""
    PREFIXED_HEX = "prefixed_hex"
    """Hexadecimal after 0x."""
    PADDED = "padded"
    """Decimal, padded with spaces to 20 characters."""
    UUID = "uuid"
    BARE_UUID = "bare_uuid"
    """A UUID without dashes."""
    WRONG = "wrong"
    """An id that was in no answer."""

    def write(self, number: int) -> str:
        return _WRITERS[self](number)

    def read(self, text: str) -> int | None:
        """Returns the number of an id in this notation, or None if `text` is no such id."""
        bare = text.removeprefix("wrong-") if self is Notation.WRONG else text.replace("-", "")
        try:
            return int(bare, 10 if self in _DECIMALS else 16)
        except ValueError:
            return None


class ReceiptAddresses(StrEnum):
    """Addresses of receipts."""

    SWAPPED = "swapped"
    """The message's addresses, swapped as in the specification."""
    UNSWAPPED = "unswapped"
    """The message's addresses, not swapped."""
    MASKED = "masked"
    """Swapped, with the last digits of the recipient as asterisks."""
    EMPTY = "empty"


class Alphabet(StrEnum):
    """Meaning of data_coding 0."""

    GSM = "gsm"
    """GSM 03.38, a septet an octet."""
    LATIN_1 = "latin-1"
    ASCII = "ascii"


_DECIMALS: Final = frozenset({Notation.DECIMAL, Notation.ZERO_DECIMAL, Notation.PADDED, Notation.WRONG})
_WRITERS: Final[dict[Notation, Callable[[int], str]]] = {
    Notation.DECIMAL: str,
    Notation.HEX: "{:x}".format,
    Notation.UPPER_HEX: "{:X}".format,
    Notation.ZERO_DECIMAL: "{:020d}".format,
    Notation.ZERO_HEX: "{:016x}".format,
    Notation.PREFIXED_HEX: "0x{:x}".format,
    Notation.PADDED: "{:<20d}".format,
    Notation.UUID: lambda number: str(UUID(int=number)),
    Notation.BARE_UUID: lambda number: UUID(int=number).hex,
    Notation.WRONG: "wrong-{}".format,
}


class Refusal(NamedTuple):
    """Refuses destinations with this prefix, with this command_status."""

    prefix: str
    status: int


def parse_status(text: str) -> int:
    """A command_status by name (`ESME_RTHROTTLED`, `RTHROTTLED`), or as a number (`88`, `0x58`)."""
    word = text.strip()
    upper = word.upper()
    for name in (upper, f"ESME_{upper}"):
        if name in CommandStatus.__members__:
            return int(CommandStatus[name])
    try:
        status = int(word, 0)
    except ValueError:
        raise ValueError(f"{text!r} is no command status") from None
    if not 0 <= status <= 0xFFFFFFFF:
        raise ValueError(f"{text!r} does not fit 32 bits")
    return status


def parse_refusals(text: str) -> tuple[Refusal, ...]:
    """Reads `PREFIX` or `PREFIX=STATUS`, separated by commas, for example `44,49=RINVDSTADR`. The default status is
    ESME_RINVDSTADR."""
    found = []
    for entry in filter(None, (entry.strip() for entry in text.split(","))):
        prefix, equals, status = entry.partition("=")
        found.append(Refusal(prefix.strip(), parse_status(status) if equals else int(CommandStatus.ESME_RINVDSTADR)))
    return tuple(found)


def _about(group: str, what: str, unit: str = "", low: float = 0, high: float = _MOST) -> dict[str, Any]:
    return {"group": group, "what": what, "unit": unit, "low": low, "high": high}


def _knob(group: str, default: Any, what: str, unit: str = "", low: float = 0, high: float = _MOST) -> Any:
    return field(default=default, metadata=_about(group, what, unit, low, high))


def _share(group: str, what: str) -> Any:
    return _knob(group, 0.0, what, "0 to 1", 0, 1)


def _ms(group: str, default: float, what: str) -> Any:
    return _knob(group, default, what, "ms", 0, _LONGEST_MS)


@dataclass(frozen=True, kw_only=True)
class Behaviour:
    """All knobs. The defaults are an operator without faults. Raises `BehaviourError`. A share is a probability from 0
    to 1, for example 0.05.
    """

    latency_ms: float = _ms("answers", 0.0, "answer each submit after this time")
    latency_jitter_ms: float = _ms("answers", 0.0, "longest random delay in addition")
    withhold_share: float = _share("answers", "share of messages that are accepted but never answered")
    bodyless_share: float = _share(
        "answers", "share of messages that are accepted with an answer that has only a header"
    )
    wrong_sequence_share: float = _share("answers", "share of answers with a sequence number that no request has")
    report_congestion: bool = _knob(
        "answers", False, "answers have congestion_state: the load of the throttle, 0 to 99 percent"
    )
    first_message_id: int = _knob(
        "answers", 0, "number of the first message; 0: microseconds since 1970, so that no run repeats an id"
    )
    answer_id: Notation = field(
        default=Notation.DECIMAL, metadata=_about("answers", "notation of the message id in answers")
    )

    throttle_per_s: float = _knob(
        "refusals", 0.0, "most submits a second of a system_id; beyond: ESME_RTHROTTLED; 0: no limit", "1/s"
    )
    throttle_burst: int = _knob(
        "refusals", 0, "submits accepted at once after a pause; 0: as many as in 0.2 s, at least 1", "messages"
    )
    throttle_by: LimiterKind = field(
        default=LimiterKind.BUCKET,
        metadata=_about(
            "refusals", "kind of limit: a token bucket with that burst, any span, or each span of the clock"
        ),
    )
    throttle_span_ms: float = _knob(
        "refusals",
        1_000.0,
        "length of that span; its limit is throttle_per_s times the span, at least 1",
        "ms",
        1,
        _LONGEST_MS,
    )
    throttle_counts_refused: bool = _knob(
        "refusals", False, "throttled submits count towards the limit as well, except with calendar"
    )
    queue_full_share: float = _share("refusals", "share of submits answered with ESME_RMSGQFUL")
    queue_limit: int = _knob(
        "refusals", 0, "most messages without a final state; beyond: ESME_RMSGQFUL; 0: no limit", "messages"
    )
    refuse: tuple[Refusal, ...] = _knob(
        "refusals",
        (),
        "destinations refused by prefix; ESME_RINVDSTADR if no status is given",
        "prefix[=status],...",
    )
    refuse_share: float = _share("refusals", "share of submits refused with refuse_status")
    refuse_status: int = _knob(
        "refusals", int(CommandStatus.ESME_RSUBMITFAIL), "its command_status", "name or number", 1, 0xFFFFFFFF
    )
    magic: bool = _knob("refusals", True, "destinations that end in a magic number choose their result")

    system_id: str = _knob("binds", "", "the only system_id that may bind; empty: any")
    password: str = _knob("binds", "", "its password; empty: any")
    max_binds: int = _knob("binds", 0, "binds at once, over all system_ids: ESME_RALYBND beyond; 0: no limit", "binds")
    bind_status: int = _knob(
        "binds", 0, "status with which every bind is refused; 0: binds are accepted", "name or number", 0, 0xFFFFFFFF
    )

    undelivered_share: float = _share("receipts", "share of messages that end UNDELIV with err 001")
    receipt_delay_ms: float = _ms("receipts", 500.0, "time from the answer to the final state")
    receipt_jitter_ms: float = _ms("receipts", 0.0, "longest random delay in addition")
    receipt_early_share: float = _share("receipts", "share of receipts that come before the answer")
    receipt_early_ms: float = _ms("receipts", 50.0, "time by which they come before it")
    receipt_late_share: float = _share("receipts", "share of receipts that are late")
    receipt_late_ms: float = _ms("receipts", 30_000.0, "time by which they are late")
    receipt_missing_share: float = _share("receipts", "share of receipts that never come")
    receipt_double_share: float = _share("receipts", "share of receipts that come twice")
    receipt_reorder_share: float = _share("receipts", "share of receipts that the next receipt overtakes")
    receipt_other_bind_share: float = _share(
        "receipts", "share of receipts that come on another bind of the same system_id, if there is one"
    )
    receipt_form: ReceiptPlace = field(
        default=ReceiptPlace.BOTH, metadata=_about("receipts", "place of a receipt's content")
    )
    receipt_text: ReceiptWording = field(
        default=ReceiptWording.STANDARD, metadata=_about("receipts", "wording of the text of receipts")
    )
    receipt_id: Notation = field(
        default=Notation.DECIMAL, metadata=_about("receipts", "notation of the message id in the text of receipts")
    )
    receipt_tlv_id: Notation = field(
        default=Notation.DECIMAL, metadata=_about("receipts", "notation of the message id in their TLV")
    )
    receipt_err: str = _knob(
        "receipts", "", "`err` of undelivered messages, in the text of receipts; empty: three digits"
    )
    receipt_addresses: ReceiptAddresses = field(
        default=ReceiptAddresses.SWAPPED, metadata=_about("receipts", "the addresses of receipts")
    )
    receipt_esm_class: int = _knob(
        "receipts",
        c.ESM_RECEIPT,
        "esm_class of receipts; without 4 or 32 they are not marked as receipts",
        "0 to 255",
        0,
        255,
    )
    deliver_window: int = _knob("receipts", 200, "most unanswered deliver_sm on a bind", "messages", 1, 100_000)
    deliver_timeout_ms: float = _knob(
        "receipts", 30_000.0, "time after which an unanswered deliver_sm is sent again", "ms", 1, _LONGEST_MS
    )

    inbound_rate: float = _knob("phones", 0.0, "messages a second from phones; 0: no messages", "1/s", 0, 10_000)
    inbound_to: str = _knob(
        "phones", "", "numbers that phones write to; replies to senders that are names go to the first", "number,..."
    )
    inbound_text: str = _knob("phones", "Hello from a phone", "text of these messages; {n} is replaced by a counter")

    cut_after: int = _knob("links", 0, "cut each link instead of answering its nth submit; 0: never", "messages")
    cut_share: float = _share("links", "share of submits at which the link is cut instead")
    unbind_after: int = _knob(
        "links",
        0,
        "unbind each link at its nth submit, after answering it and all before it; 0: never",
        "messages",
    )
    half_open_after: int = _knob(
        "links", 0, "each link falls silent at its nth submit, and stays open; 0: never", "messages"
    )
    bytes_per_s: int = _knob("links", 0, "octets a second that a link carries, each way; 0: no limit", "octets/s")
    split_octets: int = _knob("links", 0, "most octets of a written piece; 0: write everything at once", "octets")
    merge_ms: float = _ms("links", 0.0, "time for which output is collected and then written at once")
    enquire_interval_ms: float = _ms(
        "links", 30_000.0, "time without traffic after which enquire_link is sent; 0: never"
    )

    alphabet: Alphabet = field(default=Alphabet.GSM, metadata=_about("messages", "the alphabet of data_coding 0"))
    remember: int = _knob("messages", 10_000, "messages kept for query_sm and for display", "messages", 1)
    seed: int | None = _knob(
        "messages", None, "makes all random choices repeatable; empty: different choices each time", low=-_MOST
    )

    def __post_init__(self) -> None:
        for knob in KNOBS:
            knob.check(getattr(self, knob.name))
        for refusal in self.refuse:
            if not refusal.status:
                raise BehaviourError("refuse", "a refusal needs a status other than ESME_ROK")
        for number in self.inbound_numbers:
            if not NUMBER.fullmatch(number):
                raise BehaviourError("inbound_to", f"{number!r} is not 3 to 15 digits, or 3 to 11 letters and digits")
        if self.inbound_rate and not self.inbound_numbers:
            raise BehaviourError("inbound_rate", "phones need a number to write to: set inbound_to as well")
        if not 0 < len(self.inbound_text) <= LONGEST_CHARACTERS:
            raise BehaviourError("inbound_text", f"a text has 1 to {LONGEST_CHARACTERS} characters")

    @property
    def inbound_numbers(self) -> tuple[str, ...]:
        """The numbers that phones write to."""
        return tuple(filter(None, (number.strip() for number in self.inbound_to.split(","))))

    @property
    def burst(self) -> float:
        """Capacity of the throttle's token bucket, in messages."""
        return float(self.throttle_burst or max(1.0, 0.2 * self.throttle_per_s))

    def limiter(self, now: float) -> Limiter:
        """Makes the rate limiter of a system_id."""
        span_s = self.throttle_span_ms / 1000
        count, counts_refused = max(1, round(self.throttle_per_s * span_s)), self.throttle_counts_refused
        match self.throttle_by:
            case LimiterKind.BUCKET:
                return BucketLimiter(self.throttle_per_s, self.burst, now, counts_refused=counts_refused)
            case LimiterKind.SLIDING:
                return SlidingLimiter(count, span_s, counts_refused=counts_refused)
            case LimiterKind.CALENDAR:
                return CalendarLimiter(count, span_s)
            case _:
                assert_never(self.throttle_by)


@dataclass(frozen=True, slots=True)
class Knob:
    """A field of `Behaviour`, for the command line and the documentation."""

    name: str
    kind: type
    """int, float, bool, str, tuple (refusals), or an enumeration."""
    default: Any
    group: str
    """answers, refusals, binds, receipts, phones, links or messages."""
    what: str
    unit: str
    low: float
    high: float

    @property
    def choices(self) -> tuple[str, ...]:
        """The allowed words, if the knob takes words."""
        return tuple(member.value for member in self.kind) if issubclass(self.kind, StrEnum) else ()

    @property
    def is_status(self) -> bool:
        """Whether the value is a command_status, which people write by name."""
        return self.name.endswith("_status")

    @property
    def is_list(self) -> bool:
        """Whether the knob takes several values, separated by commas."""
        return self.unit.endswith(",...")

    def read(self, text: str) -> Any:
        """Parses a value. Raises `BehaviourError`; `Behaviour` checks the limits."""
        try:
            if self.kind is tuple:
                return parse_refusals(text)
            if self.is_status:
                return parse_status(text)
            if self.kind is bool:
                return _BOOLEANS[text.strip().lower()]
            return self.kind(text)
        except (ValueError, KeyError) as error:
            takes = f"one of {', '.join(self.choices)}" if self.choices else self.unit or f"a {self.kind.__name__}"
            raise BehaviourError(self.name, f"{text!r} is not {takes}") from error

    def check(self, value: object) -> None:
        """Raises `BehaviourError` if `value` is of another type, or out of bounds."""
        if value is None and self.default is None:
            return
        wanted = (int, float) if self.kind is float else self.kind
        if not isinstance(value, wanted) or (isinstance(value, bool) and self.kind is not bool):
            raise BehaviourError(self.name, f"{value!r} is not a {self.kind.__name__}")
        if isinstance(value, int | float) and not self.low <= value <= self.high:
            raise BehaviourError(self.name, f"{value} is not between {self.low:g} and {self.high:g}")


_BOOLEANS: Final = {
    "1": True,
    "true": True,
    "yes": True,
    "on": True,
    "0": False,
    "false": False,
    "no": False,
    "off": False,
}


def _knobs() -> tuple[Knob, ...]:
    hints = get_type_hints(Behaviour)
    found = []
    for entry in fields(Behaviour):
        hint = hints[entry.name]
        kind = int if entry.name == "seed" else tuple if entry.name == "refuse" else hint
        found.append(Knob(entry.name, kind, entry.default, **entry.metadata))
    return tuple(found)


KNOBS: Final = _knobs()
"""Every knob, in the order of the documentation."""
