"""Decodes the octets of a request body, or of a query, into its fields."""

import json
import re
from typing import Any, Final
from urllib.parse import unquote_plus

import msgspec

from heliograph.app.sending.fields import SEGMENT_CHARS, shown
from heliograph.app.sending.number import Number
from heliograph.domain.error import MALFORMED, MEDIA_TYPE, Fault
from heliograph.domain.limits.defaults import MAX_DESTINATIONS, MAX_SEGMENTS

JSON: Final = 1
FORM: Final = 2

LITTLE: Final = 2_048
"""Octets. A body up to this size is decoded without counting its values first."""

SHORT_VALUE: Final = 2_048
"""Octets, escapes or values that a body may have in addition to its text and its destinations."""

DESTINATION_CHARS: Final = 32
"""Most characters of an encoded destination."""

MEDIA_TYPES_KEPT = 256
"""Most values of Content-Type in the cache."""

WHOLE_DIGITS = 18
"""Digits up to which a number such as 7.0 or 7e0 is read as an integer."""

_PERHAPS_WHOLE = re.compile(r"(-?[0-9]+)(?:\.([0-9]+))?(?:[eE]\+?([0-9]{1,2}))?").fullmatch


def _number(text: str) -> int | Number:
    """Reads a number of JSON. JSON has a single type of number, so 7.0 and 7e0 are the integer 7; some clients write it
    so."""
    parts = _PERHAPS_WHOLE(text)
    if parts is None:
        return Number(text)
    whole, fraction, exponent = parts[1], (parts[2] or "").rstrip("0"), int(parts[3] or 0)
    zeros = exponent - len(fraction)
    if zeros < 0 or len(whole) + exponent > WHOLE_DIGITS:
        return Number(text)
    return int(whole + fraction + "0" * zeros)


class Bounds:
    """Limits of a body before it is decoded: a body beyond them can only be refused."""

    __slots__ = ("escapes", "longest", "values")

    def __init__(self, destinations: int = MAX_DESTINATIONS, segments: int = MAX_SEGMENTS) -> None:
        self.longest = max(SHORT_VALUE, segments * SEGMENT_CHARS, destinations * DESTINATION_CHARS)
        """Octets of an encoded value. A longer value stays encoded, and is too long for any field."""
        self.escapes = SHORT_VALUE + 2 * destinations + segments * SEGMENT_CHARS // 3
        """Percent-encoded octets of a form."""
        self.values = SHORT_VALUE + 2 * destinations + segments * SEGMENT_CHARS // 8
        """Values of a document, or fields of a form; commas of the text count, too."""


USUAL: Final = Bounds()

_decode_json: Final = msgspec.json.Decoder(float_hook=_number).decode
_MEDIA_TYPE = re.compile(
    rb"\s*([a-z0-9!#$&^_.+-]+/[a-z0-9!#$&^_.+-]+)\s*(?:;(.*))?", re.IGNORECASE | re.DOTALL
).fullmatch
_CHARSET = re.compile(rb"""charset\s*=\s*["']?([^"'\s;]*)""", re.IGNORECASE).search
_UTF_8 = (b"utf-8", b"utf8", b"us-ascii")

_TAB: Final = 0x09
_LF: Final = 0x0A
_CR: Final = 0x0D

_media_types: dict[bytes, int] = {b"application/json": JSON, b"application/x-www-form-urlencoded": FORM}


def media_type(header: bytes | None, body: bytes) -> int:
    """Returns JSON or FORM, by the Content-Type, or by the body if there is none. Raises Fault (415)."""
    if not header:
        return JSON if body.startswith(b"{") else FORM
    known = _media_types.get(header)
    if known is None:
        known = _read_media_type(header)
        if len(_media_types) < MEDIA_TYPES_KEPT:
            _media_types[header] = known
    return known


def _read_media_type(header: bytes) -> int:
    match = _MEDIA_TYPE(header)
    name = match[1].lower() if match is not None else b""
    if name not in (b"application/json", b"application/x-www-form-urlencoded"):
        raise Fault(MEDIA_TYPE, "Send application/json or application/x-www-form-urlencoded.")
    assert match is not None
    charset = _CHARSET(match[2] or b"")
    if charset is not None and charset[1].lower() not in _UTF_8:
        raise Fault(MEDIA_TYPE, "The body must be UTF-8; leave the charset out or send it as utf-8.")
    return JSON if name == b"application/json" else FORM


def json_object(body: bytes, bounds: Bounds = USUAL) -> dict[str, Any]:
    """Returns the object of a JSON body. Raises Fault (400) if the body is not an object, repeats a key at any depth,
    or is too large.
    """
    if len(body) > LITTLE and _count(body, b",[{") > bounds.values:
        raise _too_much("JSON body", "values")
    try:
        document = _decode_json(body)
    except msgspec.ValidationError:
        raise Fault(MALFORMED, "The JSON body has a number that is too long.") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        reason = "it is not UTF-8" if isinstance(problem, UnicodeDecodeError) else str(problem)
        raise Fault(MALFORMED, f"The body is no well-formed JSON: {reason}.") from None
    except RecursionError:
        raise Fault(MALFORMED, "The JSON body is nested too deeply.") from None
    if type(document) is not dict:
        raise Fault(MALFORMED, "The JSON body must be one object.")
    if body.count(b'":') != len(document) or _LF in body or _TAB in body or _CR in body or body.find(b" :") >= 0:
        # a key is repeated, an object is nested, or white space precedes a colon
        try:
            _decode_strictly(body.decode())
        except RecursionError:
            raise Fault(MALFORMED, "The JSON body is nested too deeply.") from None
    return document


def _check_keys(pairs: list[tuple[str, Any]]) -> None:
    if len(dict(pairs)) != len(pairs):
        raise Fault(MALFORMED, "The JSON body has the same key twice in one object.")


_decode_strictly: Final = json.JSONDecoder(
    object_pairs_hook=_check_keys, parse_int=str, parse_float=str, strict=False
).decode
"""Raises Fault on a repeated key at any depth. The fast decoder uses the last value without an error."""


def form(octets: bytes, bounds: Bounds = USUAL) -> dict[str, list[str]]:
    """Returns the values of each name of a form body or a query. Raises Fault (400) if it is not UTF-8, or too
    large."""
    longest = len(octets)
    if longest > LITTLE:
        longest = bounds.longest
        if _count(octets, b"&") > bounds.values:
            raise _too_much("form", "fields")
        if _count(octets, b"%") > bounds.escapes:
            decoded = (pair for pair in octets.split(b"&") if len(pair) <= longest)
            if sum(_count(pair, b"%") for pair in decoded) > bounds.escapes:
                raise _too_much("form", "percent-encoded octets")
    fields: dict[str, list[str]] = {}
    try:
        for pair in octets.decode().split("&"):
            if not pair:
                continue
            name, _, value = pair.partition("=")
            if ("%" in pair or "+" in pair) and len(pair) <= longest:
                name, value = unquote_plus(name, errors="strict"), unquote_plus(value, errors="strict")
            values = fields.get(name)
            if values is None:
                fields[name] = [value]
            else:
                values.append(value)
    except UnicodeDecodeError:
        raise Fault(MALFORMED, "The form is not UTF-8; encode its text as UTF-8 first.") from None
    return fields


def _count(octets: bytes, signs: bytes) -> int:
    """Counts the octets that are among the signs, in a time that does not depend on their number."""
    return len(octets) - len(octets.translate(None, signs))


def _too_much(what: str, things: str) -> Fault:
    return Fault(MALFORMED, f"The {what} has more {things} than any request takes; send fewer at once.")


def query(octets: bytes) -> dict[str, str]:
    """Returns the parameters of a query. Raises Fault (400) if it is not UTF-8 or repeats a parameter."""
    return single(form(octets))


def single(fields: dict[str, list[str]]) -> dict[str, str]:
    """Returns the single value of each name. Raises Fault (400) if a name is repeated."""
    for name, values in fields.items():
        if len(values) > 1:
            raise Fault(MALFORMED, f"The field {shown(name)} is given twice.")
    return {name: values[0] for name, values in fields.items()}


def one_field(media: int, body: bytes, name: str) -> Any:
    """Returns the only field of a request, such as `time`, or None if it is absent. Raises Fault (400)."""
    if media == JSON:
        return json_object(body).get(name)
    values = form(body)
    values.pop("to", None)
    return single(values).get(name) or None
