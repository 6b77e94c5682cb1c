"""Bodies and cursors of requests, and the services of the admin API."""

import base64
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar, get_args

import msgspec

from heliograph.app.resources.desk import Desk
from heliograph.domain.display import did_you_mean
from heliograph.domain.error import MALFORMED, Fault, invalid, missing

if TYPE_CHECKING:
    from heliograph.app.admin.sign_in import SignIn
    from heliograph.app.ports import Journal

Body = TypeVar("Body")

_MISSING = re.compile(r"Object missing required field `(\w+)`").match
_PLACE = re.compile(r"(.*) - at `\$\.?(.*?)`").fullmatch
_UNKNOWN = re.compile(r"Object contains unknown field `(.*?)`").match
_Key = tuple[str | int | None, ...]
_KEY = re.compile(r"[0-9]{1,18}").fullmatch
_CURSOR = re.compile(r"([0-9]{1,18})-(-?[0-9]{1,19})").fullmatch


RETRY_AFTER_S = 10
"""Value of `Retry-After` while no further export may begin."""


class TooManyExports(Exception):
    """No further file may be written: `console.exports` are under way."""


class Exports:
    """Counts the exports under way. Most of them read the store while they are sent."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.running = 0

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Counts an export until it has ended, sent completely or not. Raises TooManyExports without counting it."""
        if self.running >= self.most:
            raise TooManyExports
        self.running += 1
        try:
            yield
        finally:
            self.running -= 1


@dataclass(slots=True)
class AdminServices:
    """The services of the admin API and the console."""

    sign_in: "SignIn"
    desk: Desk
    journal: "Journal"
    exports: Exports


def decode(body: bytes, kind: type[Body]) -> Body:
    """A JSON body. Raises Fault (400)."""
    try:
        return msgspec.json.decode(body, type=kind)
    except msgspec.ValidationError as problem:
        raise _told(str(problem), kind) from None
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise Fault(MALFORMED, "The body is no JSON in UTF-8.") from None


def _told(problem: str, kind: Any) -> Fault:
    absent = _MISSING(problem)
    if absent is not None:
        return missing(absent[1])
    place = _PLACE(problem)
    unknown = _UNKNOWN(problem)
    if unknown is not None:
        known = _fields_at(kind, place[2] if place is not None else "")
        return invalid(unknown[1], f"There is no field {unknown[1]} here{unknown_name(unknown[1], known)}")
    if place is not None and place[2]:
        field = re.split(r"[.\[]", place[2])[0]
        return invalid(field, f"The field {field} does not fit: {place[1]}.")
    return Fault(MALFORMED, f"The body does not fit: {problem}.")


def _fields_at(kind: Any, place: str) -> list[str]:
    """Returns the names of the fields at a place of a body, such as `prices[0]` in a list of prices."""
    for name in re.findall(r"[a-z_]+", place):
        types = [each.type for each in msgspec.structs.fields(kind) if each.encode_name == name]
        while types and not (isinstance(types[0], type) and issubclass(types[0], msgspec.Struct)):
            types = [*get_args(types[0]), *types[1:]]
        kind = types[0]
    return [each.encode_name for each in msgspec.structs.fields(kind)]


def unknown_name(name: str, known: Sequence[str]) -> str:
    """Returns the end of a sentence about an unknown field or parameter, such as `; did you mean port?`."""
    hint = did_you_mean(name, known, or_list=True) or "; there are none"
    return hint if hint.endswith("?") else f"{hint}."


def given_fields(body: msgspec.Struct) -> list[str]:
    """Returns the names of the fields that are given and not at their default."""
    return [each.name for each in msgspec.structs.fields(body) if getattr(body, each.name) != each.default]


def cursor(place: tuple[int, int] | None) -> str | None:
    return None if place is None else f"{place[0]}-{place[1]}"


def parse_cursor(text: str) -> tuple[int, int] | None:
    """Parses a time and a key as `cursor` writes them; None if `text` is no cursor. Keys of some notices are negative:
    `1800000000000--34`."""
    found = _CURSOR(text)
    if found is None or abs(key := int(found[2])) >= 1 << 63:
        return None
    return int(found[1]), key


def key_cursor(key: tuple[Any, ...]) -> str:
    """Returns a cursor behind the row with this key, for example `WyJhY21lIl0` behind `("acme",)`."""
    return base64.urlsafe_b64encode(msgspec.json.encode(key)).rstrip(b"=").decode("ascii")


def parse_key_cursor(text: str, fields: int) -> tuple[Any, ...] | None:
    """Parses a key of so many fields as `key_cursor` writes it; None if `text` is no such cursor."""
    try:
        key = msgspec.json.decode(base64.b64decode(text + "=" * (-len(text) % 4), b"-_", validate=True), type=_Key)
    except (ValueError, msgspec.DecodeError):
        return None
    return key if len(key) == fields else None


def parse_key(text: str) -> int | None:
    """Parses up to 18 digits, which a store can look for; None if `text` is something else."""
    return int(text) if _KEY(text) else None
