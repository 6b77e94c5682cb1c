"""Fields of things, and their types.

A value has three forms: a Python value inside, a JSON value in the admin API, a text for people. `read` and `show` lead
from JSON to Python and back, `parse` and `text` from text to JSON and back. For example a `Moment` is 1800000000000,
`"2027-01-15T08:00:00.000Z"` and `2027-01-15T08:00:00Z`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from heliograph.app.records import Scope
from heliograph.app.resources.desk import Invalid, check_name
from heliograph.app.text_values import truth, whole
from heliograph.domain.calendar import format_utc, parse_utc
from heliograph.domain.money.amounts import format_credits, parse_credits

REQUIRED: Final = object()
"""The default of a field that must be given."""

KEEP: Final = object()
"""The default of a field that stays as it is where it is not given."""

OPEN: Final = (REQUIRED, KEEP, None)
"""Defaults that are no values of the field."""

MAX_NOTE_CHARS = 200


def note(text: str) -> str:
    """Reads a remark without line breaks, maybe empty. Raises ValueError."""
    if len(text) > MAX_NOTE_CHARS or not (text.isprintable() or not text):
        raise ValueError(f"it may have {MAX_NOTE_CHARS} printable characters in one line")
    return text


class Type:
    """The base of all types; its own values are texts that need no check."""

    def read(self, value: Any) -> Any:
        """Raises ValueError, with a sentence for people, for a value that cannot be used."""
        return value

    def show(self, value: Any) -> Any:
        return value

    def parse(self, text: str) -> Any:
        """Raises ValueError, with a sentence for people, for a text that is no such value."""
        return text

    def text(self, value: Any) -> str:
        return "" if value is None else str(value)


@dataclass(frozen=True, slots=True)
class Field:
    """A value of a thing, for example the `state` of a sender."""

    name: str
    type: Type
    meaning: str
    """A sentence for references, help and forms."""
    default: Any = REQUIRED
    """The Python value where none is given; or REQUIRED, or KEEP."""
    example: str = ""
    empty: str = ""
    """Shown in tables instead of an empty value, for example `any`."""
    scope: Scope | None = None
    """Scope that it takes where it is given, beside the operation's."""

    def read(self, value: Any) -> Any:
        """Returns the Python value of a JSON value. Raises Invalid."""
        try:
            return self.type.read(value)
        except ValueError as problem:
            raise Invalid(self.name, str(problem)) from None

    def parse(self, text: str) -> Any:
        """Returns the JSON value of a text. Raises Invalid."""
        try:
            return self.type.parse(text)
        except ValueError as problem:
            raise Invalid(self.name, str(problem)) from None

    def text(self, value: Any) -> str:
        """Returns what tables show of a JSON value."""
        return self.type.text(value) or self.empty


@dataclass(frozen=True, slots=True)
class Text(Type):
    """A text that `reads` checks and brings into its usual form, for example a number without its `+`."""

    reads: Callable[[str], str] = str
    pattern: str = ""
    """The regular expression of all such texts, for the OpenAPI document."""
    is_long: bool = False
    """Whether a form gives it several lines."""

    def read(self, value: str) -> str:
        return self.reads(value)


@dataclass(frozen=True, slots=True)
class Reference(Type):
    """The name of another thing: `account` or `connector`. Commands and forms offer the names that there are."""

    to: str
    optional: bool = False
    """Whether it may be empty, which is any."""

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
class Choice(Type):
    """A member of an enumeration, by its value."""

    of: type[StrEnum]

    def read(self, value: str) -> StrEnum:
        try:
            return self.of(value)
        except ValueError:
            raise ValueError(f"{value!r} is none of {', '.join(self.of)}") from None

    def show(self, value: StrEnum) -> str:
        return value.value


class Flag(Type):
    """True or false."""

    def parse(self, text: str) -> bool:
        return truth(text)

    def text(self, value: Any) -> str:
        return "yes" if value else "no"


class Moment(Type):
    """A time: milliseconds since the epoch inside, ISO 8601 in UTC outside."""

    def read(self, value: str) -> int:
        return parse_utc(value)

    def show(self, value: int | None) -> str | None:
        return None if value is None else format_utc(value)

    def text(self, value: Any) -> str:
        return "" if value is None else f"{value[:19]}Z"


class Credits(Type):
    """An amount: micro-credits inside, exact decimal text outside."""

    def read(self, value: str) -> int:
        return parse_credits(value)

    def show(self, value: int) -> str:
        return format_credits(value)


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
    """Values by name, such as the TLVs of a template; as text `entity=1101456780, template=1107161234`."""

    def parse(self, text: str) -> dict[str, str]:
        pairs: dict[str, str] = {}
        for word in filter(None, (word.strip() for word in text.split(","))):
            name, equals, value = word.partition("=")
            if not equals:
                raise ValueError(f"{word!r} is no name and value, such as entity=1101456780")
            pairs[name.strip().lower()] = value.strip()
        return pairs

    def text(self, value: Mapping[str, str]) -> str:
        return ", ".join(f"{name}={each}" for name, each in value.items())


@dataclass(frozen=True, slots=True)
class Rows(Type):
    """Several things at once, each with these fields: the body of an import."""

    of: tuple[Field, ...]
    name: str
    """The name of a row in the OpenAPI document, such as `NewTemplate`."""
    most: int

    def read(self, value: list[Mapping[str, Any]]) -> list[dict[str, Any]]:
        if not 0 < len(value) <= self.most:
            raise ValueError(f"there are {len(value)}; give 1 to {self.most} at once")
        return [{field.name: field.read(row[field.name]) for field in self.of} for row in value]


def singular(several: Field) -> Field:
    """Returns the field that `several` takes many values of, or `several` itself."""
    return several.type.of if isinstance(several.type, Many) else several


def refers(fields: tuple[Field, ...]) -> bool:
    """Says whether any field names another thing, such as an account, which may not exist."""
    return any(isinstance(singular(each).type, Reference | Rows) for each in fields)
