"""Converts the decoded values of a request to send into its `Fields`.

A value of JSON is a text, an integer, a `Number`, a boolean, a list or a dictionary. A value of a form is a text, or,
for `to`, a list of texts. For an unreadable field its Fault is stored, and raised in the field's turn.
"""

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any, Final, TypeVar, cast

from heliograph.api.decode import FORM, USUAL, Bounds, form, json_object, single
from heliograph.api.fields import DLR_WORDS, SEND
from heliograph.app.sending import optional_fields
from heliograph.app.sending.fields import Fields, shown
from heliograph.app.sending.number import Number
from heliograph.app.sending.principal import Principal
from heliograph.domain.error import Fault, invalid, missing
from heliograph.domain.message.state import KIND_WORDS, Kind, parse_kind
from heliograph.domain.numbers.phone import number_of
from heliograph.domain.text.preparation import decode_content

Value = TypeVar("Value")

_NAMES: Final = tuple(field.name for field in SEND[1])
_TO: Final = _NAMES[0]
_FROM: Final = _NAMES[1]
_CONTENT: Final = _NAMES[2]
_TIME: Final = _NAMES[3]
_TYPE: Final = _NAMES[4]
_DLR: Final = _NAMES[5]
_DLR_URL: Final = _NAMES[6]
_REFERENCE: Final = _NAMES[7]

_USUAL: Final = frozenset(_NAMES[:8])

_KNOWN: Final = _USUAL | frozenset(optional_fields.NAMES)


def _bare(name: str) -> str:
    """Returns a name without its variable parts: case, `-`, `_` and spaces."""
    return name.lower().replace("-", "").replace("_", "").replace(" ", "")


_NEARLY: Final = {_bare(name): name for name in _KNOWN}

_OTHER_NAMES: Final = {
    "to": (
        "to", "recipient", "recipients", "receiver", "destination", "destinations", "destination_addr", "dest", "dst",
        "phone", "phone_number", "telephone", "mobile", "mobile_number", "msisdn", "number", "numbers", "to_number",
    ),
    "from": (
        "from", "sender", "sender_id", "sender_name", "source", "source_addr", "src", "originator", "from_number",
    ),
    "content": ("content", "text", "message", "message_text", "body", "msg", "sms", "sms_text", "short_message"),
}  # fmt: skip
"""Names of required fields in requests of other gateways, for a missing field's sentence."""

_LIKELY: Final = {_bare(name): field for field, names in _OTHER_NAMES.items() for name in names}

_LIKELY_CHARS: Final = 24
"""The most characters of such a name, which is repeated in the sentence."""

TLV_PREFIX: Final = "tlv_"
"""Prefix of the names of form fields with TLVs, as in `tlv_0x1400`."""


def send_fields(media: int, body: bytes, who: Principal, bounds: Bounds = USUAL) -> Fields:
    """Reads a request to send. Raises Fault (400) if the body cannot be read or exceeds `bounds`. Faults of single
    fields stay in the `Fields`."""
    values: dict[str, Any]
    relaxed = who.view.account.relaxed == "on"
    if media == FORM:
        texts = form(body, bounds)
        if relaxed:
            texts = _as_meant(texts)
        listed = texts.pop(_TO, None)
        values = cast("dict[str, Any]", single(texts))
        if listed is not None:
            values[_TO] = listed[0] if len(listed) == 1 else listed
    else:
        values = json_object(body, bounds)
        if relaxed:
            values = _as_meant(values)
    fields = read_fields(values, who, is_form=media == FORM, longest=bounds.longest)
    if relaxed:
        _read_as_written(fields)
    return fields


def _as_meant(values: dict[str, Value]) -> dict[str, Value]:
    """Gives near misses of known names their own: `dlr-url` for `DlrUrl`. A field that is given twice stays a near
    miss, and is refused."""
    meant = {name: name if name in _KNOWN else _NEARLY.get(_bare(name), name) for name in values}
    taken = Counter(meant.values())
    return {meant[name] if taken[meant[name]] == 1 else name: value for name, value in values.items()}


def _read_as_written(fields: Fields) -> None:
    """Reads numbers as people write them: `491701234567` for `+49 170-1234567`."""
    if fields.to is not None:
        fields.to = list(dict.fromkeys(map(number_of, fields.to)))
    if fields.sender is not None and (number := number_of(fields.sender)).isdigit():
        fields.sender = number


def read_fields(values: dict[str, Any], who: Principal, *, is_form: bool, longest: int = USUAL.longest) -> Fields:
    """Reads decoded values, by their names. A content of more than `longest` characters is not decoded again."""
    get = values.get
    fields = Fields()
    to = get(_TO)
    if type(to) is str and "," not in to:
        fields.to = [to]
    elif to is not None:
        fields.to = _kept(fields, _TO, partial(_destinations, is_form=is_form), to)
    sender = get(_FROM)
    if sender is None or type(sender) is str:
        fields.sender = sender
    else:
        fields.refuse(_FROM, invalid(_FROM, "The sender must be a text."))
    content = get(_CONTENT)
    if content is None or (is_form and type(content) is str) or (type(content) is str and len(content) > longest):
        fields.content = content
    elif type(content) is not str:
        fields.refuse(_CONTENT, invalid(_CONTENT, "The content must be a text."))
    else:  # JSON, which may be URL-encoded
        try:
            fields.content = decode_content(content, who.view.account.content_decoding)
        except ValueError as problem:
            fields.refuse(_CONTENT, invalid(_CONTENT, str(problem)))
    time, kind, dlr, url, reference = get(_TIME), get(_TYPE), get(_DLR), get(_DLR_URL), get(_REFERENCE)
    if is_form:
        time, kind, url, reference = time or None, kind or None, url or None, reference or None
    if time is not None:
        fields.time = _kept(fields, _TIME, time_text, time)
    if kind is not None:
        fields.kind = _kept(fields, _TYPE, _kind, kind) or Kind.TEXT
    wants = bool(url) if dlr is None else DLR_WORDS.get(dlr) if type(dlr) is str else None
    if wants is None:
        wants = _kept(fields, _DLR, _wants_receipt, dlr) or False
    fields.wants_receipt = wants
    if url is None or type(url) is str:
        fields.url = url
    else:
        fields.refuse(_DLR_URL, invalid(_DLR_URL, "The dlr-url must be a text: an absolute http or https URL."))
    fields.given = None if values.keys() <= _USUAL else _given(fields, values, is_form=is_form)
    is_read = reference is None or type(reference) is str
    fields.reference = reference if is_read else _kept(fields, _REFERENCE, _reference, reference)
    return fields


def _given(fields: Fields, values: dict[str, Any], *, is_form: bool) -> dict[str, Any] | None:
    """Returns the fields of `app.sending.optional_fields` among the values. A form has a field for each TLV.

    Refuses a near miss of a known name, such as `dlr_url`: ignored, it would lose a field of the client's. The fault of
    a missing field names a field that probably means it, such as `text` for `content`."""
    is_whole = fields.to is not None and fields.sender is not None and fields.content is not None
    for name in values:
        if name in _KNOWN:
            continue
        bare = _bare(name)
        meant = _NEARLY.get(bare)
        if meant is not None:
            fields.refuse(name, invalid(name, f"There is no field {shown(name)}; did you mean {meant}?"))
        if is_whole or len(name) > _LIKELY_CHARS:
            continue
        likely = _LIKELY.get(bare)
        if likely is not None and values.get(likely) is None and likely not in (fields.unreadable or ()):
            fields.refuse(likely, missing(likely, name))
    given = {name: values[name] for name in optional_fields.NAMES if values.get(name) is not None}
    if is_form:
        given = {name: text for name, text in given.items() if text}
        given.pop(optional_fields.TLVS, None)
        tlvs = {name.removeprefix(TLV_PREFIX): text for name, text in values.items() if name.startswith(TLV_PREFIX)}
        if tlvs:
            given[optional_fields.TLVS] = tlvs
    return given or None


def _kept(fields: Fields, name: str, read: Callable[[Any], Value], value: Any) -> Value | None:
    """Reads a value. Keeps the Fault if it cannot be read."""
    try:
        return read(value)
    except Fault as fault:
        fields.refuse(name, fault)
        return None


def time_text(time: Any) -> str:
    """Returns the text of a `time`; a `Number` is returned unchanged. Raises Fault."""
    return time if type(time) is Number else _text(time, _TIME)


def _text(value: Any, field: str) -> str:
    """Returns the text of a field that may be a text or a number. Raises Fault."""
    if type(value) is str:
        return value
    if type(value) is int or type(value) is Number:
        return str(value)
    raise invalid(field, f"The field {field} must be a text or a number.")


def _destinations(to: Any, *, is_form: bool) -> list[str]:
    if not isinstance(to, list):
        texts = [part.strip(" ") for part in _text(to, _TO).split(",")]
    elif not to:
        raise invalid(_TO, "The list of destinations is empty; give at least one.")
    else:
        texts = [_text(each, _TO) for each in to]
        if is_form:
            texts = [part.strip(" ") for text in texts for part in text.split(",")]
    return list(dict.fromkeys(texts))


def _kind(value: Any) -> Kind:
    kind: Kind | None = parse_kind(str(value)) if isinstance(value, str) or type(value) is int else None
    if kind is None:
        raise invalid(_TYPE, f"The type {shown(value)} is unknown; give one of {', '.join(KIND_WORDS)}.")
    return kind


def _wants_receipt(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    wants = DLR_WORDS.get(_text(value, _DLR).lower())
    if wants is None:
        words = ", ".join(word for word in DLR_WORDS if word)
        raise invalid(_DLR, f"The dlr {shown(value)} is unknown; give one of {words}.")
    return wants


def _reference(value: Any) -> str:
    return _text(value, _REFERENCE)
