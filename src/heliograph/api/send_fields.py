"""From the decoded values of a request to send to its `Fields`.

A value of JSON is a text, an integer, a `Number`, a boolean, a list or a dictionary; of a form it is a text, or, for
`to`, a list of texts. A field that cannot be read is put down with its Fault, which is raised in the field's turn.
"""

from typing import Any, Final, cast

from heliograph.api.decode import FORM, form, json_object, single
from heliograph.api.fields import DLR_WORDS, SEND
from heliograph.app.sending.fields import Fields, shown
from heliograph.app.sending.number import Number
from heliograph.app.sending.principal import Principal
from heliograph.domain.content import Rule, decode_content
from heliograph.domain.error import Fault, invalid
from heliograph.domain.message import KIND_WORDS, Kind, parse_kind

_NAMES: Final = tuple(field.name for field in SEND[1])
_TO: Final = _NAMES[0]
_FROM: Final = _NAMES[1]
_CONTENT: Final = _NAMES[2]
_TIME: Final = _NAMES[3]
_TYPE: Final = _NAMES[4]
_DLR: Final = _NAMES[5]
_DLR_URL: Final = _NAMES[6]
_REFERENCE: Final = _NAMES[7]


def send_fields(media: int, body: bytes, who: Principal) -> Fields:
    """Reads a request to send. Raises Fault (400) where the body cannot be read; faults of single fields stay in the
    `Fields`."""
    values: dict[str, Any]
    if media == FORM:
        texts = form(body)
        listed = texts.pop(_TO, None)
        values = cast("dict[str, Any]", single(texts))
        if listed is not None:
            values[_TO] = listed[0] if len(listed) == 1 else listed
    else:
        values = json_object(body)
    return read_fields(values, who, is_form=media == FORM)


def read_fields(values: dict[str, Any], who: Principal, *, is_form: bool) -> Fields:
    """Reads decoded values, by their names."""
    get = values.get
    fields = Fields()
    to = get(_TO)
    if type(to) is str and "," not in to:
        fields.to = [to]
    elif to is not None:
        _read_destinations(fields, to, is_form=is_form)
    sender = get(_FROM)
    if sender is None or type(sender) is str:
        fields.sender = sender
    else:
        fields.refuse(_FROM, invalid(_FROM, "The sender must be a text."))
    content = get(_CONTENT)
    if content is None or (is_form and type(content) is str):
        fields.content = content
    else:
        _read_content(fields, content, who)
    time, kind, dlr, url, reference = get(_TIME), get(_TYPE), get(_DLR), get(_DLR_URL), get(_REFERENCE)
    if is_form:
        time, kind, url, reference = time or None, kind or None, url or None, reference or None
    if time is not None:
        try:
            fields.time = time_text(time)
        except Fault as fault:
            fields.refuse(_TIME, fault)
    if kind is not None:
        _read_kind(fields, kind)
    if dlr is None:
        fields.wants_receipt = bool(url)  # be it a good one or not
    else:
        _read_dlr(fields, dlr)
    if url is None or type(url) is str:
        fields.url = url
    else:
        fields.refuse(_DLR_URL, invalid(_DLR_URL, "The dlr-url must be a text: an absolute http or https URL."))
    if reference is None or type(reference) is str:
        fields.reference = reference
    else:
        _read_reference(fields, reference)
    return fields


def time_text(time: Any) -> str:
    """Returns the text of a `time`, a `Number` as it is. Raises Fault."""
    return time if type(time) is Number else _text(time, _TIME)


def _text(value: Any, field: str) -> str:
    """Returns the text of a field that may be a text or a number. Raises Fault."""
    if type(value) is str:
        return value
    if type(value) is int or type(value) is Number:
        return str(value)
    raise invalid(field, f"The field {field} must be a text or a number.")


def _read_destinations(fields: Fields, to: Any, *, is_form: bool) -> None:
    try:
        if not isinstance(to, list):
            texts = [part.strip(" ") for part in _text(to, _TO).split(",")]
        elif not to:
            raise invalid(_TO, "The list of destinations is empty; name at least one.")
        else:
            texts = [_text(each, _TO) for each in to]
            if is_form:
                texts = [part.strip(" ") for text in texts for part in text.split(",")]
        fields.to = list(dict.fromkeys(texts))
    except Fault as fault:
        fields.refuse(_TO, fault)


def _read_content(fields: Fields, content: Any, who: Principal) -> None:
    """Reads the content of a JSON body, which may be URL-encoded."""
    if type(content) is not str:
        fields.refuse(_CONTENT, invalid(_CONTENT, "The content must be a text."))
        return
    try:
        fields.content = decode_content(content, cast("Rule", who.view.account.content_decoding))
    except ValueError as problem:
        fields.refuse(_CONTENT, invalid(_CONTENT, str(problem)))


def _read_kind(fields: Fields, value: Any) -> None:
    kind: Kind | None = parse_kind(str(value)) if isinstance(value, str) or type(value) is int else None
    if kind is None:
        problem = f"The type {shown(value)} is unknown; give one of {', '.join(KIND_WORDS)}."
        fields.refuse(_TYPE, invalid(_TYPE, problem))
    else:
        fields.kind = kind


def _read_dlr(fields: Fields, value: Any) -> None:
    if isinstance(value, bool):
        fields.wants_receipt = value
        return
    try:
        wants = DLR_WORDS.get(_text(value, _DLR).lower())
        if wants is None:
            words = ", ".join(word for word in DLR_WORDS if word)
            raise invalid(_DLR, f"The dlr {shown(value)} is unknown; give one of {words}.")
        fields.wants_receipt = wants
    except Fault as fault:
        fields.refuse(_DLR, fault)


def _read_reference(fields: Fields, value: Any) -> None:
    try:
        fields.reference = _text(value, _REFERENCE)
    except Fault as fault:
        fields.refuse(_REFERENCE, fault)
