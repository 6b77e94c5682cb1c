"""Fields of requests: the names for decoding, and the rules in the OpenAPI document.

The rules are made of the same limits and words by which requests are checked.
"""

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

from heliograph.app.ports.inbound import PAGE_OCTETS
from heliograph.app.records import ExportFormat
from heliograph.app.sending import optional_fields
from heliograph.app.sending.browse import BOOLEAN_WORDS
from heliograph.app.sending.compose import SendRules
from heliograph.domain.limits import defaults
from heliograph.domain.message.state import KIND_NAMES, KIND_WORDS, Kind
from heliograph.domain.message.tlv_rules import MAX_TLVS
from heliograph.domain.numbers import phone
from heliograph.domain.text.header import MAX_HEADER_OCTETS
from heliograph.domain.text.segment import SINGLE_SEPTETS, SINGLE_UNITS, USER_DATA_OCTETS

Schema = dict[str, Any]
"""A JSON Schema (draft 2020-12)."""

MEDIA_TYPES = ("application/json", "application/x-www-form-urlencoded")

NULL: Schema = {"type": "null"}

_DESTINATION = f"[1-9][0-9]{{{phone.MIN_DIGITS - 1},{phone.MAX_DIGITS - 1}}}"
_DESTINATIONS = f"^ *{_DESTINATION} *(, *{_DESTINATION} *)+$"
_SENDER = f"[A-Za-z0-9]{{{phone.MIN_SENDER_CHARS},{phone.MAX_SENDER_CHARS}}}"
_MSISDN = f"[0-9]{{1,{phone.MAX_DIGITS}}}"

_DATE = "[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"
_HOUR = "([01][0-9]|2[0-3])"
_MINUTE = "[0-5][0-9]"
TIME = (
    f"^({_DATE} {_HOUR}:{_MINUTE}:{_MINUTE}"
    f"|{_DATE}[Tt]{_HOUR}:{_MINUTE}(:{_MINUTE}([.,][0-9]{{1,19}})?)?([Zz]|[+-]{_HOUR}(:?{_MINUTE})?)?"
    "|[0-9]{1,12}(\\.[0-9]{1,19})?)$"
)
_URL = r'^[Hh][Tt][Tt][Pp][Ss]?://([A-Za-z0-9._\-]{1,253}|\[[0-9A-Fa-f:.]+\])(:[0-9]{0,5})?([/?][!-"$-~]*)?$'
ANY_ID = (
    "^[0-9A-Fa-f]{12}7[0-9A-Fa-f]{3}[89ABab][0-9A-Fa-f]{15}$"
    "|^[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-7[0-9A-Fa-f]{3}-[89ABab][0-9A-Fa-f]{3}-[0-9A-Fa-f]{12}$"
)
ANY_NUMBER = rf"^\+?{_DESTINATION}$"
_HEX = "^([0-9A-Fa-f]{2})+$"


@dataclasses.dataclass(frozen=True, slots=True)
class Terms:
    """The settings in force that affect customers."""

    rules: SendRules = dataclasses.field(default_factory=SendRules)
    max_body: int = defaults.MAX_BODY_OCTETS
    list_interval_s: float = defaults.LIST_INTERVAL_S
    callback_timeout_s: float = defaults.CALLBACK_TIMEOUT_S
    callback_retry_hours: float = defaults.CALLBACK_RETRY_HOURS


class Field(NamedTuple):
    """A field of a request body. In a form it is a text. In JSON it is a text or another type in `loose`; null means
    absent.
    """

    name: str
    meaning: Callable[[Terms, int], str]
    """Gives the field's description for an API version."""
    text: Callable[[int], Schema]
    example: Any
    loose: tuple[Callable[[Terms], Schema], ...] = ()
    required: bool = False
    repeats: bool = False
    """Whether a form may repeat it."""
    in_forms: bool = True
    """Whether a form may have it."""


class Parameter(NamedTuple):
    """A parameter of a query. An empty parameter counts as absent."""

    name: str
    meaning: Callable[[Terms], str]
    schema: Schema
    example: Any


def _said(text: str) -> Callable[[Terms, int], str]:
    return lambda _, __: text


def _of(schema: Schema) -> Callable[[int], Schema]:
    return lambda _: schema


def _to(terms: Terms, _: int) -> str:
    return (
        f"The destination: {phone.MIN_DIGITS} to {phone.MAX_DIGITS} digits with the country code, no `+`. Several: an "
        "array, a text with commas, or in a form several `to`; at most "
        f"{terms.rules.max_destinations:,} different destinations. All are accepted, or none."
    )


def _to_list(terms: Terms) -> Schema:
    one: Schema = {"anyOf": [{"type": "string", "pattern": f"^{_DESTINATION}$"}, _number_of(terms)]}
    return {"type": "array", "minItems": 1, "maxItems": terms.rules.max_destinations, "items": one}


def _number_of(_: Terms) -> Schema:
    return {"type": "integer", "minimum": 10 ** (phone.MIN_DIGITS - 1), "maximum": 10**phone.MAX_DIGITS - 1}


def _from(_: Terms, version: int) -> str:
    number = f", or a number of up to {phone.MAX_DIGITS} digits, without `+`" if version == 1 else ""
    return f"The sender: {phone.MIN_SENDER_CHARS} to {phone.MAX_SENDER_CHARS} letters and digits{number}."


def _from_text(version: int) -> Schema:
    return {"type": "string", "pattern": f"^({_SENDER}|{_MSISDN})$" if version == 1 else f"^{_SENDER}$"}


def _content(terms: Terms, _: int) -> str:
    segments = terms.rules.max_segments
    septets, units, octets = SINGLE_SEPTETS, SINGLE_UNITS, USER_DATA_OCTETS
    if segments > 1:
        septets, units, octets = 153 * segments, 67 * segments, 134 * segments
    return (
        f"The text, at most {segments} segments: {septets:,} characters of GSM-7 (some count twice), {units:,} of "
        f"UCS-2. With `type` `binary` hexadecimal digits, at most {octets:,} octets. A JSON text that is URL-encoded "
        "throughout is decoded once (account setting `content_decoding`), so that `Hello%20World`, `Hello+World` and "
        "`Hello World` are the same text."
    )


def _time(terms: Terms, _: int) -> str:
    return (
        "The time of sending: `YYYY-MM-DD HH:MM:SS` in the account's time zone, ISO 8601 with `T` (an offset or `Z` "
        f"takes precedence), or Unix seconds. In the future, at most {terms.rules.horizon_days} days ahead. A local "
        "time that a clock change skips is refused."
    )


def _url(_: Terms, version: int) -> str:
    where = (
        "Without `dlr` it asks for a receipt, too. Without `dlr-url` the account's default URL is used."
        if version == 1
        else "Required if `dlr` asks for a receipt. Without `dlr` it asks for a receipt, too."
    )
    return f"The URL that the receipt is posted to: absolute, http or https, without user name or fragment. {where}"


DLR_WORDS: dict[str, bool] = {
    "yes": True, "true": True, "1": True, "on": True, "2": True, "3": True,
    "no": False, "false": False, "0": False, "off": False, "": False,
}  # fmt: skip
"""Every accepted text of `dlr`, in any case, and whether it asks for a receipt, for example `yes`."""

WANTED: tuple[Any, ...] = (True, *(word for word, wants in DLR_WORDS.items() if wants), 1, 2, 3)
"""Every JSON value of `dlr` that asks for a receipt."""


TO = Field(
    "to", _to, _of({"type": "string", "pattern": f"^{_DESTINATION}$|{_DESTINATIONS}"}), "491701234567",
    (_number_of, _to_list), required=True, repeats=True,
)  # fmt: skip
FROM = Field("from", _from, _from_text, "Heliograph", required=True)
CONTENT = Field(
    "content", _content, _of({"type": "string", "minLength": 1, "pattern": "^[^\\u0000]+$"}), "Hello, world",
    required=True,
)  # fmt: skip
TIME_FIELD = Field(
    "time", _time, _of({"type": "string", "pattern": TIME}), "2027-01-15 09:00:00", (lambda _: {"type": "number"},)
)
KIND = Field(
    "type",
    _said(
        "`text` (GSM-7 if possible, else UCS-2), `unicode` (UCS-2), `flash` (shown at once, not kept) or `binary`. "
        "The other words are aliases. Upper or lower case; default `text`."
    ),
    _of({"type": "string", "enum": list(KIND_WORDS)}),
    "text",
    (lambda _: {"type": "integer", "enum": [int(word) for word in KIND_WORDS if word.isdigit()]},),
)
DLR = Field(
    "dlr",
    _said("Whether you want a receipt. Upper or lower case; default no."),
    _of({"type": "string", "enum": list(DLR_WORDS)}),
    "yes",
    (
        lambda _: {"type": "boolean"},
        lambda _: {"type": "integer", "enum": [int(word) for word in DLR_WORDS if word.isdigit()]},
    ),
)
DLR_URL = Field(
    "dlr-url", _url, _of({"type": "string", "maxLength": defaults.URL_CHARS, "pattern": _URL}),
    "https://example.com/receipts",
)  # fmt: skip
REFERENCE = Field(
    "reference",
    _said(
        f"Your name for the request: at most {defaults.REFERENCE_CHARS} printable characters, unique in your account; "
        "it must not begin with `smpp:`, `sending-list-` or `reply:`. "
        "If you repeat the request with it, you get the first answer, and nothing is sent or charged again. Another "
        "request with it gets 409."
    ),
    _of({"type": "string", "minLength": 1, "maxLength": defaults.REFERENCE_CHARS}),
    "order-17",
    (lambda _: {"type": "number"},),
)

VALIDITY = Field(
    optional_fields.VALIDITY,
    lambda terms, _: (
        f"How long delivery is tried: {optional_fields.LEAST_VALIDITY_S} seconds or more, or a time in the formats of "
        f"`time`. At most {terms.rules.validity_ms // 1000:,} seconds after it is due, which is the default. "
        "After that the message is EXPIRED."
    ),
    _of({"type": "string", "pattern": f"^[0-9]{{1,9}}$|{TIME}"}),
    "600",
    (lambda _: {"type": "number"},),
)
PRIORITY = Field(
    optional_fields.PRIORITY,
    _said(f"The priority_flag for the operator, 0 to {optional_fields.MOST_PRIORITY}. The default is the connector's."),
    _of({"type": "string", "enum": [str(number) for number in range(optional_fields.MOST_PRIORITY + 1)]}),
    "1",
    (lambda _: {"type": "integer", "minimum": 0, "maximum": optional_fields.MOST_PRIORITY},),
)
UDH = Field(
    optional_fields.UDH,
    _said(
        "Your own user data header in hexadecimal, its length octet first, such as `0605040B8423F0` for the port "
        "of WAP push. It takes room in each segment."
    ),
    _of({"type": "string", "pattern": _HEX, "maxLength": 2 * MAX_HEADER_OCTETS}),
    "0605040B8423F0",
)
CODING = Field(
    optional_fields.CODING,
    _said("The data_coding of a `binary` message, 0 to 255, decimal or `0x` hexadecimal; default the operator's."),
    _of({"type": "string", "pattern": "^(0[xX][0-9A-Fa-f]{1,2}|[0-9]{1,3})$"}),
    "0xF5",
    (lambda _: {"type": "integer", "minimum": 0, "maximum": 255},),
)
TLVS = Field(
    optional_fields.TLVS,
    _said(
        f"Optional parameters for the operator, at most {MAX_TLVS}, by number or by the connector's name for them: "
        '`{"0x1400": "text", "0x1401": {"hex": "0102"}}`. In a form each is a field: `tlv_0x1400=text`. '
        "Parameters that the number's operator does not allow are refused."
    ),
    _of({"type": "object", "maxProperties": MAX_TLVS}),
    {"0x1400": "1101456789000012345"},
    in_forms=False,
)
PROGRESS = Field(
    optional_fields.PROGRESS,
    _said("Whether ENROUTE and ACCEPTD are posted, too, if the operator reports them. Only with `dlr`; default no."),
    _of({"type": "string", "enum": ["yes", "no", "true", "false", "1", "0", "on", "off"]}),
    "no",
    (lambda _: {"type": "boolean"},),
)

_OPTIONAL = (VALIDITY, PRIORITY, UDH, CODING, TLVS, PROGRESS)

SEND: dict[int, tuple[Field, ...]] = {
    1: (TO, FROM, CONTENT, TIME_FIELD, KIND, DLR, DLR_URL, REFERENCE, *_OPTIONAL),
    2: (TO, FROM, CONTENT, KIND, DLR, DLR_URL, REFERENCE, *_OPTIONAL),
}
"""The fields of a request to send, by API version, in the order in which they are checked."""

RESCHEDULE: tuple[Field, ...] = (TIME_FIELD._replace(required=True),)
FEEDBACK: tuple[Field, ...] = (
    Field(
        "delivered",
        lambda *_: "Whether the message arrived.",
        lambda _: {"type": "string", "enum": list(BOOLEAN_WORDS)},
        "true",
        (lambda _: {"type": "boolean"},),
        required=True,
    ),
)


def json_body(fields: tuple[Field, ...], terms: Terms, version: int) -> Schema:
    """The object of a JSON body."""
    properties = {}
    for field in fields:
        variants = [field.text(version), *(loose(terms) for loose in field.loose)]
        if not field.required:
            variants.append(NULL)
        schema = variants[0] if len(variants) == 1 else {"anyOf": variants}
        properties[field.name] = _described(field, schema, terms, version)
    return _object(fields, properties, version, form=False)


def form_body(fields: tuple[Field, ...], terms: Terms, version: int) -> Schema:
    """The object that a form is read as."""
    properties = {}
    for field in fields:
        if not field.in_forms:
            continue
        schema = field.text(version)
        if field.repeats:
            schema = {"anyOf": [schema, {"type": "array", "minItems": 1, "items": schema}]}
        elif not field.required and "" not in schema.get("enum", ()):
            schema = {"anyOf": [schema, {"type": "string", "maxLength": 0}]}
        properties[field.name] = _described(field, schema, terms, version)
    return _object(fields, properties, version, form=True)


def _described(field: Field, schema: Schema, terms: Terms, version: int) -> Schema:
    return {"description": field.meaning(terms, version), **schema, "examples": [field.example]}


def _object(fields: tuple[Field, ...], properties: dict[str, Schema], version: int, *, form: bool) -> Schema:
    schema: Schema = {
        "type": "object",
        "properties": properties,
        "required": [field.name for field in fields if field.required],
    }
    if form:
        # fields are not repeated unless declared so
        schema["additionalProperties"] = {"type": "string"}
    conditions = []
    if KIND in fields:
        binary = _given("type", [KIND_NAMES[Kind.BINARY]])
        conditions.append({"if": binary, "then": {"properties": {"content": {"pattern": _HEX}}}})
    if CODING in fields:
        binary = {"properties": {"type": {"enum": [KIND_NAMES[Kind.BINARY]]}}, "required": ["type"]}
        given = {"properties": {"coding": {"not": {"enum": [None, ""]}}}, "required": ["coding"]}
        conditions.append({"if": given, "then": binary})
    if version != 1 and DLR_URL in fields:
        url = {"properties": {"dlr-url": DLR_URL.text(version)}, "required": ["dlr-url"]}
        conditions.append({"if": _given("dlr", list(WANTED)), "then": url})
    if conditions:
        schema["allOf"] = conditions
    return schema


def _given(name: str, values: list[Any]) -> Schema:
    return {"properties": {name: {"enum": values}}, "required": [name]}


_AT: Schema = {"type": "string", "pattern": TIME}
_FLAG: Schema = {
    "anyOf": [
        {"type": "boolean"},
        {"type": "string", "enum": [word for word in BOOLEAN_WORDS if word not in ("true", "false")]},
    ]
}

START = Parameter(
    "start", lambda _: "The first second, in the formats of `time`. Inclusive.", _AT, "2027-01-01 00:00:00"
)
END = Parameter("end", lambda _: "The last second, not before `start`. Inclusive.", _AT, "2027-01-31 23:59:59")
INDEX = Parameter(
    "index",
    lambda _: "Number of messages to skip.",
    {"type": "integer", "minimum": 0, "maximum": 10**18 - 1, "default": 0},
    0,
)
LIMIT = Parameter(
    "limit",
    lambda _: "Most entries in the answer.",
    {"type": "integer", "minimum": 1, "maximum": defaults.LIST_LIMIT, "default": defaults.LIST_LIMIT},
    10,
)
PENDING = Parameter("pending", lambda _: "Whether scheduled messages are included; default no.", _FLAG, True)
DELIVERY = Parameter("delivery", lambda _: "Whether each message has its final state; default no.", _FLAG, True)
ORDER = Parameter(
    "order",
    lambda _: "`asc`: oldest first. `desc`: newest first.",
    {"type": "string", "enum": ["asc", "desc"], "default": "asc"},
    "desc",
)

CURSOR = "^[0-9a-f]{1,32}-[0-9]{1,18}$"
"""Matches the cursor of a notice, such as `7f3a90c1-18`."""

AFTER = Parameter(
    "after",
    lambda _: (
        "The `Id` of a message: the page begins with the next message of the account. Default: the first message. "
        "For an unknown id, the time in it counts."
    ),
    {"type": "string", "pattern": ANY_ID},
    "019e2b1c-7a05-7001-9f0a-3c5d7e9b1a2f",
)
PULL_LIMIT = Parameter(
    "limit",
    lambda _: f"Most messages in the answer; fewer if they have more than {PAGE_OCTETS:,} octets.",
    {"type": "integer", "minimum": 1, "maximum": defaults.PULL_LIMIT, "default": defaults.PULL_DEFAULT},
    100,
)
WAIT = Parameter(
    "wait",
    lambda _: "Seconds to wait if there is no message yet; then the page is empty.",
    {"type": "integer", "minimum": 0, "maximum": defaults.PULL_WAIT_S, "default": 0},
    20,
)

AFTER_NUMBER = Parameter(
    "after",
    lambda _: "A number: the page begins behind it. Default: the first number.",
    {"type": "string", "pattern": "^[0-9]{1,15}$"},
    "491701234567",
)
SUPPRESSIONS_LIMIT = PULL_LIMIT._replace(meaning=lambda _: "Most entries in the answer.")

AFTER_CURSOR = Parameter(
    "after",
    lambda _: "The `cursor` of an earlier answer. Default: notices from now on.",
    {"type": "string", "pattern": CURSOR},
    "7f3a90c1-17",
)
WAIT_FOR_NOTICE = WAIT._replace(meaning=lambda _: "Seconds to wait for the first notice; then the page is empty.")

EXPORT_FORMAT = Parameter(
    "format",
    lambda _: "`csv`: a table with a heading. `jsonl`: a record of the list in each line.",
    {"type": "string", "enum": [each.value for each in ExportFormat], "default": ExportFormat.CSV.value},
    ExportFormat.CSV.value,
)

EXPORT: tuple[Parameter, ...] = (EXPORT_FORMAT, START, END, PENDING, ORDER)
NOTICES: tuple[Parameter, ...] = (AFTER_CURSOR, SUPPRESSIONS_LIMIT, WAIT_FOR_NOTICE)
SUPPRESSIONS: tuple[Parameter, ...] = (AFTER_NUMBER, SUPPRESSIONS_LIMIT)
PULL: tuple[Parameter, ...] = (AFTER, PULL_LIMIT, WAIT)
PAGE: tuple[Parameter, ...] = (INDEX, LIMIT, DELIVERY)
LIST: tuple[Parameter, ...] = (START, END, INDEX, LIMIT, PENDING, ORDER, DELIVERY)
