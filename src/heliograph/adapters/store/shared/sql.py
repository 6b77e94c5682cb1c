"""Named SQL statements in files, filled in for an engine when they are read.

A file is a list of statements, each below a line `-- name: One sentence.`, with parameters written `:name`. A statement
without text has no rows: its engine does not need it. Words in braces are filled in: members of the domain's enums
(`{State.SENT}`), sets of states (`{LISTED}`), the states before and after a step of a message
(`{before(Trigger.CANCEL)}`, `{after(Trigger.CANCEL)}`), the message of a notice (`{subject(r.key)}`), and words that
each engine spells in its own way (`{among(keys)}`).

A statement with `{listed.table}` is expanded for each table of `listed_tables`: `drop_sided` becomes
`drop_sided_price`, `drop_sided_cost` and so on.

A statement over `({rows})` is expanded with each statement `rows_...`: for example, `page` over `rows_by_key` becomes
`page_by_key`, and `{order}` in it is the order of these rows.

A statement with `{up}` behind the columns of its order is expanded to both directions: `list_prices` to
`list_prices_up` and `list_prices_down`. A column with `{down}` has the opposite direction.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path
from typing import Any, Final

from heliograph.adapters.store.shared.listed_tables import LISTED_TABLES
from heliograph.app.facts import LOW_BALANCE, MOST_MOVES, MOST_PROGRESS, NO_ANSWER, NOT_SENT, CallbackEnd, Verdict
from heliograph.app.marks import AWAITING, CALLBACK, DISPATCH
from heliograph.domain.limits.allowance import UNCOUNTED
from heliograph.domain.limits.gate import FIRST_RANGE, OF_ADMINISTRATOR, OF_SUSPENDED
from heliograph.domain.message.opt_out import Wish
from heliograph.domain.message.receipt import NO_CODE, Delivery
from heliograph.domain.message.retention import REDACTED_CODING
from heliograph.domain.message.state import ENDED, LISTED, OPEN, WAITING, Kind, State, Trigger, after, before
from heliograph.domain.message.way import Way
from heliograph.domain.money.amounts import EntryKind
from heliograph.domain.numbers.country import HEAD

_ENUMS: Final[dict[str, type[Enum]]] = {
    each.__name__: each for each in (CallbackEnd, Delivery, EntryKind, Kind, State, Trigger, Verdict, Way, Wish)
}
_CONSTANTS: Final[dict[str, Any]] = {
    "AWAITING": AWAITING,
    "CALLBACK": CALLBACK,
    "DISPATCH": DISPATCH,
    "ENDED": ENDED,
    "FIRST_RANGE": FIRST_RANGE,
    "HEAD": HEAD,
    "LISTED": LISTED,
    "LOW_BALANCE": LOW_BALANCE,
    "MOST_MOVES": MOST_MOVES,
    "MOST_PROGRESS": MOST_PROGRESS,
    "NOT_SENT": NOT_SENT,
    "NO_CODE": NO_CODE,
    "NO_ANSWER": NO_ANSWER,
    "OF_ADMINISTRATOR": OF_ADMINISTRATOR,
    "OF_SUSPENDED": OF_SUSPENDED,
    "OPEN": OPEN,
    "REDACTED_CODING": REDACTED_CODING,
    "STATES": tuple(State),
    "UNCOUNTED": UNCOUNTED,
    "WAITING": WAITING,
}
_CALLS: Final = {
    # `+ 0`, because almost all sides are 0. By its statistics PostgreSQL would expect a single row with another side
    # than the hidden, read all rows of a table for a page, and sort them.
    "present": "side + 0 <> (SELECT hidden FROM list_import WHERE kind = '{0}')",
    "subject": "CASE WHEN {0} < 0 THEN -{0} / 2 ELSE {0} END",
}
"""Fragments with a parameter: whether a row of a table with long lists holds; the message of a notice with this key."""
_STEPS: Final[dict[str, Callable[[Trigger], Any]]] = {"before": before, "after": after}

_HEAD = re.compile(r"^-- (\w+): .*\n", re.MULTILINE)
_SHAPE = re.compile(r"SELECT \{(\w+)\}")
_FRAGMENT = re.compile(r"\{([\w.]+)(?:\(([\w.]*)\))?\}")
_PARAMETER = re.compile(r"'[^']*'|\"[^\"]*\"|--[^\n]*|::|:([a-z]\w*)")


@dataclass(frozen=True)
class SqlDialect:
    """Fragments that an engine spells in its own way. `words` replace `{name}`; `calls` replace `{name(parameter)}` and
    contain `{}` for the parameter."""

    words: Mapping[str, str] = field(default_factory=dict)
    calls: Mapping[str, str] = field(default_factory=dict)
    numbered: bool = False
    """Whether parameters are `$1`, `$2`, ... rather than `:name`."""


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement in the form of its engine, and its parameters in their order."""

    text: str
    parameters: tuple[str, ...]
    shape: str = ""
    """The word in braces that its columns begin with: `message` for SELECT {message}, ..."""


def load(dialect: SqlDialect, *folders: Path) -> dict[str, Statement]:
    """Returns the statements of the `.sql` files in these folders by name. A later folder replaces statements of an
    earlier.

    Raises ValueError for a name that stands twice in a folder, and for an unknown fragment.
    """
    texts: dict[str, str] = {}
    for folder in folders:
        own: dict[str, str] = {}
        for file in sorted(folder.glob("*.sql")):
            for name, text in split(file.read_text("utf-8")):
                if name in own:
                    raise ValueError(f"{file}: the statement {name} is there twice")
                own[name] = text
        texts |= own
    statements = {}
    for name, text in texts.items():
        begins = _SHAPE.search(text)
        for expanded, words in _expansions(name, texts, dialect):
            filled = fill(text, replace(dialect, words={**dialect.words, **words}))
            statements[expanded] = _statement(filled, begins[1] if begins else "", numbered=dialect.numbered)
    return statements


def _expansions(name: str, texts: Mapping[str, str], dialect: SqlDialect) -> Iterator[tuple[str, dict[str, str]]]:
    """Yields the statements that a text stands for: the name of each, and the words that it has by itself."""
    text = texts[name]
    if "{rows}" in text:
        for of, rows in texts.items():
            if of.startswith("rows_"):
                # rows without a time are in the order of their keys
                has_time = not rows.startswith("SELECT 0 AS time")
                order = "looked.time DESC, looked.key DESC" if has_time else "looked.key DESC"
                yield name + of.removeprefix("rows"), {"rows": fill(rows, dialect), "order": order}
    elif "{listed." in text:
        for kind, table in LISTED_TABLES.items():
            yield f"{name}_{kind}", table.words(kind, dialect.words.get("row"))
    elif "{up}" in text:
        yield f"{name}_up", {"up": "ASC", "down": "DESC"}
        yield f"{name}_down", {"up": "DESC", "down": "ASC"}
    elif not name.startswith("rows_"):
        yield name, {}


def split(text: str) -> Iterator[tuple[str, str]]:
    """The names and the texts of the statements in a file."""
    heads = list(_HEAD.finditer(text))
    ends = [head.start() for head in heads[1:]] + [len(text)]
    for head, end in zip(heads, ends, strict=True):
        yield head[1], text[head.end() : end].strip().removesuffix(";")


def fill(text: str, dialect: SqlDialect | None = None) -> str:
    """Returns the text with its fragments filled in, from the domain's enums and from the dialect if there is any.

    Raises ValueError for an unknown fragment.
    """
    dialect = dialect or SqlDialect()

    def filled(fragment: re.Match[str]) -> str:
        name, argument = fragment.groups()
        if argument is None:
            return dialect.words[name] if name in dialect.words else _literal(_value(name))
        if name in _STEPS:
            return _literal(_STEPS[name](Trigger(_value(argument))))
        if name in _CALLS:
            return _CALLS[name].format(argument)
        if name in dialect.calls:
            return dialect.calls[name].format(argument)
        raise ValueError(f"SQL has the unknown fragment {fragment[0]}")

    return _FRAGMENT.sub(filled, text)


def _value(name: str) -> Any:
    if name in _CONSTANTS:
        return _CONSTANTS[name]
    kind, _, member = name.partition(".")
    if kind not in _ENUMS or member not in _ENUMS[kind].__members__:
        raise ValueError(f"SQL has the unknown fragment {{{name}}}")
    return _ENUMS[kind][member].value


def _literal(value: Any) -> str:
    if isinstance(value, tuple):
        return f"({', '.join(map(_literal, value))})"
    return f"'{value}'" if isinstance(value, str) else str(int(value))


def _statement(text: str, shape: str, *, numbered: bool) -> Statement:
    names: list[str] = []

    def numbered_as(found: re.Match[str]) -> str:
        name = found[1]
        if name is None:
            return found[0]
        if name not in names:
            names.append(name)
        return f"${names.index(name) + 1}" if numbered else found[0]

    text = _PARAMETER.sub(numbered_as, text)
    return Statement(text, tuple(names), shape)
