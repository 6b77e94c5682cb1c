"""Fields of things, and their types.

A value has three forms, for example as a `Moment`:

    Python, inside            1800000000000
        read ^  | show
    JSON, in the admin API    "2027-01-15T08:00:00.000Z"
       parse ^  | text
    text, for people          2027-01-15T08:00:00Z
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from heliograph.app.records import Scope
from heliograph.app.resources.desk import Invalid, check_name
from heliograph.app.text_values import decimal, truth, whole, written
from heliograph.domain.calendar import format_utc, parse_utc
from heliograph.domain.money.amounts import format_credits, parse_credits

REQUIRED: Final = object()
"""The default of a field that must be given."""

KEEP: Final = object()
"""The default of a field that stays as it is if it is left out."""

OPEN: Final = (REQUIRED, KEEP, None)
"""Defaults that are not values of the field."""

MAX_NOTE_CHARS = 200


def note(text: str) -> str:
    """Reads a remark without line breaks, possibly empty. Raises ValueError."""
    if len(text) > MAX_NOTE_CHARS or not (text.isprintable() or not text):
        raise ValueError(f"it must be a single line of at most {MAX_NOTE_CHARS} printable characters")
    return text


class Type:
    """The base of all types. Its own values are texts without checks."""

    def read(self, value: Any) -> Any:
        """Returns the Python value of a JSON value. Raises ValueError with a sentence for people."""
        return value

    def show(self, value: Any) -> Any:
        """Returns the JSON value of a Python value."""
        return value

    def parse(self, text: str) -> Any:
        """Returns the JSON value of a text. Raises ValueError with a sentence for people."""
        return text

    def text(self, value: Any) -> str:
        """Returns the text of a JSON value."""
        return "" if value is None else str(value)


MOST_IN_ROW: Final = 1 << 62
"""The largest number that a row may have: within a column of 64 bits of a store."""


class RowInvalid(Exception):
    """A row of a list has an invalid field. Rows count from 0."""

    def __init__(self, row: int, invalid: Invalid) -> None:
        super().__init__(str(invalid))
        self.row = row
        self.field = invalid.field
        self.problem = invalid.problem


@dataclass(frozen=True, slots=True, eq=False)
class Field:
    """A value of a thing, for example the `state` of a sender."""

    name: str
    type: Type
    meaning: str
    """A sentence for references, help and forms, such as "When it was made."."""
    default: Any = REQUIRED
    """The Python value if the field is left out; or REQUIRED, or KEEP."""
    example: str = ""
    """A text that `parse` accepts, for documents and tests."""
    empty: str = ""
    """Shown in tables instead of an empty value, for example `(any)`."""
    scope: Scope | None = None
    """The scope that a request with this field needs, beside the operation's scope."""
    title: str = ""
    """The label in forms and tables, for example `Callback URL`. By default it is made from the name."""
    nullable: bool = False
    """True if the value may be null. Texts write null as `empty`, for example `default`."""
    must_be_typed: bool = False
    """True if a command requires the field despite its default, because the default is far-reaching: all numbers."""
    or_else: str = ""
    """With `must_be_typed`: the field that may be typed instead, for example `network` instead of `prefix`."""
    may_lack: bool = False
    """True if some rows lack it, for example a setting of another kind of connector."""
    names_request: bool = False
    """True if it names the request, so that a repetition changes nothing. The header `Idempotency-Key` of the admin API
    sets it, and commands and forms make a random name if it is left out."""
    is_secret: bool = False
    """True if a person types it hidden, and an answer shows it only once, for example a new password."""

    cell: Callable[[Mapping[str, Any]], str] | None = None
    """Returns its text in a table of a command or the console from the whole row, where its own value is not enough."""

    @property
    def label(self) -> str:
        return self.title or self.name.replace("_", " ").capitalize()

    @property
    def hint(self) -> str:
        """The meaning as forms show it: without a full stop and backticks, and with a word for an empty text."""
        return self.meaning.rstrip(".").replace("`", "").replace('"":', "empty:")

    def show(self, value: Any) -> Any:
        """Returns the JSON value of a Python value."""
        return None if value is None and self.nullable else self.type.show(value)

    def read(self, value: Any) -> Any:
        """Returns the Python value of a JSON value. Raises Invalid."""
        if value is None and self.nullable:
            return None
        try:
            return self.type.read(value)
        except RowInvalid as problem:
            raise Invalid(f"{self.name}[{problem.row}].{problem.field}", problem.problem) from None
        except ValueError as problem:
            raise Invalid(self.name, str(problem)) from None

    def may_be(self, value: Any) -> bool:
        """Returns whether a row may have a value that came in a cursor."""
        if isinstance(self.type, Whole | Moment):
            is_number = isinstance(value, int) and abs(value) <= MOST_IN_ROW
            return is_number or (value is None and self.nullable)
        try:
            return isinstance(value, str) and bool(self.type.read(value) == value)
        except ValueError:
            return False

    def parse(self, text: str) -> Any:
        """Returns the JSON value of a text. Raises Invalid."""
        if self.nullable and text == self.empty:
            return None
        try:
            return self.type.parse(text)
        except ValueError as problem:
            raise Invalid(self.name, str(problem)) from None

    def text(self, value: Any) -> str:
        """Returns the text of a JSON value for tables, `empty` if there is none."""
        return (self.type.text(value) if value is not None else "") or self.empty


@dataclass(frozen=True, slots=True)
class Text(Type):
    """A text that `reads` checks and normalises, for example a number without its `+`."""

    reads: Callable[[str], str] = str
    pattern: str = ""
    """The regular expression of all such texts, for the OpenAPI document."""
    is_long: bool = False
    """True if a form shows several lines for it."""

    def read(self, value: str) -> Any:
        return self.reads(value)


@dataclass(frozen=True, slots=True)
class Reference(Type):
    """The name of another thing, such as an account. Commands and forms offer the existing names."""

    to: str
    """The kind of the other thing: `account` or `connector`."""
    optional: bool = False
    """True if the name may be empty, which means any."""

    def read(self, value: str) -> str:
        try:
            return value if self.optional and not value else check_name(self.to, value)
        except Invalid as problem:
            raise ValueError(problem.problem) from None


@dataclass(frozen=True, slots=True)
class Whole(Type):
    """A whole number within bounds, both inclusive."""

    least: int = 0
    most: int = 10**18 - 1

    def read(self, value: int) -> int:
        if not self.least <= value <= self.most:
            raise ValueError(f"it must lie between {self.least} and {self.most}")
        return value

    def parse(self, text: str) -> int:
        return whole(self.least, self.most)(text)


@dataclass(frozen=True, slots=True)
class Decimal(Type):
    """A number from 0 to `most`, with a fraction if needed, for example 0.5 messages a second."""

    most: float

    def read(self, value: float) -> float:
        return decimal(self.most)(self.text(value))

    def parse(self, text: str) -> float:
        return decimal(self.most)(text)

    def text(self, value: Any) -> str:
        return written(value)


@dataclass(frozen=True, slots=True)
class Choice(Type):
    """A member of an enumeration, by its value, or a word of a list, for example `pending`."""

    of: type[StrEnum] | tuple[str, ...]

    @property
    def words(self) -> tuple[str, ...]:
        return tuple(str(each) for each in self.of)

    def read(self, value: str) -> str:
        if value not in self.words:
            raise ValueError(f"{value!r} is none of {', '.join(self.words)}")
        return value if isinstance(self.of, tuple) else self.of(value)

    def show(self, value: str) -> str:
        return str(value)


@dataclass(frozen=True, slots=True)
class Flag(Type):
    """True or false."""

    off: str = ""
    """The option of a command for false, for example `no-tls`; empty: only true has an option."""

    def parse(self, text: str) -> bool:
        return truth(text)

    def text(self, value: Any) -> str:
        return "yes" if value else "no"


_MOMENT = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?(Z|[+-]\d{2}:\d{2})").fullmatch


class Moment(Type):
    """A time: ms since the epoch inside, ISO 8601 in UTC outside."""

    def read(self, value: str) -> int:
        try:
            if _MOMENT(value) is not None:
                at = parse_utc(value)
                format_utc(at)  # a time beyond the year 9999 in UTC could not be shown again
                return at
        except (ValueError, OverflowError):
            pass
        raise ValueError("it is a time in ISO 8601 with Z or an offset, such as 2027-01-15T08:00:00Z")

    def show(self, value: int | None) -> str | None:
        return None if value is None else format_utc(value)

    def text(self, value: Any) -> str:
        return "" if value is None else f"{value[:19]}Z"


_DURATION = re.compile(r"([1-9][0-9]{0,5})([smhd])").fullmatch
_UNITS: Final = {"d": 86_400_000, "h": 3_600_000, "m": 60_000, "s": 1_000}


class Duration(Type):
    """A time span: ms inside, a number with a unit outside. For example 600000 and `10m`."""

    def read(self, value: str) -> int:
        found = _DURATION(value)
        if found is None:
            raise ValueError(f"{value!r} is not a time span; write a number with s, m, h or d, such as 10m")
        return int(found[1]) * _UNITS[found[2]]

    def show(self, value: int) -> str:
        unit = next(unit for unit, ms in _UNITS.items() if value % ms == 0)
        return f"{value // _UNITS[unit]}{unit}"


@dataclass(frozen=True, slots=True)
class Credits(Type):
    """An amount: micro-credits inside, exact decimal text outside. For example 35000 and `0.035`."""

    not_negative: str = ""
    """The error sentence for a negative amount; empty if negative amounts are allowed."""

    def read(self, value: str) -> int:
        micro = parse_credits(value)
        if micro < 0 and self.not_negative:
            raise ValueError(self.not_negative)
        return micro

    def show(self, value: int) -> str:
        return format_credits(value)


@dataclass(frozen=True, slots=True)
class Words(Type):
    """Several short texts, separated by commas for people: `ACME, AcmeCorp`. Repeated words are dropped."""

    reads: Callable[[str], str] = str
    """Checks a word, and returns it as it is kept."""
    most: int = 0
    """Words at most; 0: any number."""

    def read(self, value: list[str]) -> tuple[str, ...]:
        words = tuple(dict.fromkeys(self.reads(word) for each in value for word in self.parse(each)))
        if 0 < self.most < len(words):
            raise ValueError(f"there are {len(words):,}; give up to {self.most:,}")
        return words

    def show(self, value: tuple[str, ...]) -> list[str]:
        return list(value)

    def parse(self, text: str) -> list[str]:
        return [word.strip() for word in text.split(",") if word.strip()]

    def text(self, value: Any) -> str:
        return ", ".join(value)


class Warnings(Words):
    """Sentences beside an answer. A command prints them as notes."""


@dataclass(frozen=True, slots=True)
class Many(Type):
    """Several values of a field, such as all senders that a command registers."""

    of: Field
    most: int

    def read(self, value: list[Any]) -> list[Any]:
        if not 0 < len(value) <= self.most:
            raise ValueError(f"there are {len(value)}; give 1 to {self.most} at once")
        return [self.of.read(each) for each in value]

    def show(self, value: list[Any]) -> list[Any]:
        return [self.of.type.show(each) for each in value]

    def text(self, value: Any) -> str:
        return ", ".join(self.of.type.text(each) for each in value)


@dataclass(frozen=True, slots=True)
class Pairs(Type):
    """Values by name, such as the TLVs of a template; as text `entity=1101456780, template=1107161234`.

    `reads` checks them.
    """

    reads: Callable[[Mapping[str, str]], dict[str, str]] = dict

    def read(self, value: Mapping[str, str]) -> dict[str, str]:
        return self.reads(value)

    def parse(self, text: str) -> dict[str, str]:
        return self.parse_each(word for each in text.split(",") if (word := each.strip()))

    def parse_each(self, texts: Iterable[str]) -> dict[str, str]:
        """Returns the JSON value of pairs such as `entity=1101456780`; values may have commas. Raises ValueError."""
        pairs: dict[str, str] = {}
        for text in texts:
            name, equals, value = text.partition("=")
            if not equals:
                raise ValueError(f"{text!r} is not a name with a value, such as entity=1101456780")
            pairs[name.strip().lower()] = value.strip()
        return pairs

    def text(self, value: Mapping[str, str]) -> str:
        return ", ".join(f"{name}={each}" for name, each in value.items())


class Values(Type):
    """Values of any type by name, only in answers; as text `priority=2, strict=true`."""

    def text(self, value: Any) -> str:
        return ", ".join(f"{name}={written(each)}" for name, each in value.items())


@dataclass(frozen=True, slots=True)
class Rows(Type):
    """A list of things with these fields: the body of an import, or a part of an answer."""

    of: tuple[Field, ...]
    name: str
    """The name of a row in the OpenAPI document, such as `NewTemplate`."""
    most: int = 0
    """The most rows of a body."""
    is_table: bool = False
    """True if a command prints the rows as a separate table."""
    called: Callable[[Mapping[str, Any]], str] = str
    """Returns the name of a row for people, or "" to leave the row out."""

    def read(self, value: list[Mapping[str, Any]]) -> list[dict[str, Any]]:
        if not 0 < len(value) <= self.most:
            raise ValueError(f"there are {len(value)}; give 1 to {self.most} at once")
        return [self._read_row(number, row) for number, row in enumerate(value)]

    def _read_row(self, number: int, row: Mapping[str, Any]) -> dict[str, Any]:
        try:
            return {
                field.name: field.read(row[field.name]) if field.name in row else field.default
                for field in self.of
                if field.name in row or field.default is not KEEP
            }
        except Invalid as problem:
            raise RowInvalid(number, problem) from None

    def show(self, value: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
        return [{field.name: field.show(row[field.name]) for field in self.of} for row in value]

    def text(self, value: Any) -> str:
        return ", ".join(filter(None, map(self.called, value)))


@dataclass(frozen=True, slots=True)
class Item(Type):
    """A thing with these fields, as a part of an answer."""

    of: tuple[Field, ...]
    name: str
    """The name of the thing in the OpenAPI document, such as `Template`."""

    def show(self, value: Mapping[str, Any]) -> dict[str, Any]:
        return {field.name: field.show(value[field.name]) for field in self.of}


def singular(several: Field) -> Field:
    """Returns the field of a single value of `several`, such as `sender` for `senders`; else `several` itself."""
    return several.type.of if isinstance(several.type, Many) else several


def refers(fields: tuple[Field, ...]) -> bool:
    """Returns True if a field names another thing, such as an account, which may not exist."""
    return any(isinstance(singular(each).type, Reference | Rows) for each in fields)
