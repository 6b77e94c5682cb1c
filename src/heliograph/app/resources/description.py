"""The words in which a thing is described: its fields, its operations, and the whole of it, a resource."""

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any
from urllib.parse import quote

from heliograph.app.records import Scope
from heliograph.app.resources.fields import OPEN, Field

_IN_PATH = re.compile(r"{(\w+)(?::(\w+))?}")


@dataclass(frozen=True, slots=True)
class Scopes:
    read: Scope
    write: Scope


@dataclass(frozen=True, slots=True)
class Asked:
    """A request to the admin API."""

    method: str
    path: str
    query: Mapping[str, str]
    body: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class Page:
    """Rows of a list, and the cursor that brings the next page, None if none follows. A use case returns it where the
    cursor is not the key of the last row."""

    rows: list[dict[str, Any]]
    cursor: str | None


class Answer(Enum):
    """Forms of answers that need no fields of their own."""

    EACH = auto()
    """A list of things; a page of it where the operation has a `page`."""
    ITEM = auto()
    """The thing."""
    DONE = auto()
    """Nothing but that it is done."""


@dataclass(frozen=True, slots=True)
class Operation:
    """Something that can be done. All doors draw on it, and call `run`.

    `run` is called with a desk and the values of the path and of `reads`, by the names of the fields. It returns rows,
    a row (values by the names of fields) or None, as `answers` says.
    """

    name: str
    """The command's word, such as `add`."""
    method: str
    path: str
    """Below the root of the admin API. `{sender}` is a field; `{name:account}` is the field `account` that the OpenAPI
    document calls `name`."""
    run: Callable[..., Awaitable[Any]]
    summary: str
    """A clause without a full stop: "Remove a number"."""
    answers: Answer | tuple[Field, ...] = Answer.DONE
    reads: tuple[Field, ...] = ()
    """Fields of the body; of a GET or DELETE parameters of the query."""
    arguments: tuple[str, ...] = ()
    """Fields that a command takes without their names, in this order."""
    more: str = ""
    """Further sentences of the command's help."""
    examples: tuple[str, ...] = ()
    """Command lines without `heliograph`."""
    done: str | Callable[[Mapping[str, Any], Mapping[str, Any]], str] = ""
    """The sentence for people after it: a format of all values given and answered, or a function of both."""
    verdict: str = ""
    """The flag in the answer of a question, such as `fits`: a command exits with 1 where it is false, and the console
    keeps the form."""
    is_command: bool = True
    """Whether a command is drawn from it."""
    label: str = ""
    """The console's button; without, the console has none."""
    confirm: str = ""
    """The console's question before it, a format of the row. An operation with a question has a button beside each
    row, others have a form."""
    page: int = 0
    """The most rows of a page, for a list in pages: `run` takes `after`, the key of the last row seen or "", and
    `limit`."""
    places: bool = False
    """Whether a cursor is the place of a row, a time and a key such as `1800000000000-17`: `run` then takes `after` as
    a pair or None."""
    rows: int = 100
    """Rows of a page where nobody says how many."""
    newest_first: bool = False
    """Whether the list begins with the highest key: a command then pages with `--before`, else with `--after`."""
    pairs: bool = False
    """Whether its command takes fields as `KEY=VALUE`, and lists them in its help."""
    may_be_bare: bool = False
    """Whether the body may be left out. Its fields may then stand in the query."""
    also: Mapping[str, str] = field(default_factory=dict)
    """Further names in a command's `--json`, beside those of the resource: `password` for `secret`."""
    result: str = "removed"
    """The name in a command's `--json` that says that it is done, such as `revoked`."""
    beside: tuple[Field, ...] = ()
    """Fields of a list's answer beside its rows: `run` returns all of them by name, as an object."""
    octets: int = 1 << 20
    """The largest body over HTTP."""
    is_found: bool = False
    """Whether it may be refused since there is no such thing, though its path and fields name none."""
    conflicts: bool = False
    """Whether it may be refused since something is there already."""
    status: int = 200
    id: str = ""
    """The `operationId` of the OpenAPI document; by default such as `add_sender`."""
    read_name: str = ""
    """The name of its body in the OpenAPI document, where that is not `NewThing`."""
    answer_name: str = ""
    scope: Scope | None = None
    """The scope that it takes, where that is not the resource's."""

    @property
    def in_path(self) -> tuple[str, ...]:
        """The fields in the path."""
        return tuple(alias or name for name, alias in _IN_PATH.findall(self.path))

    @property
    def public_path(self) -> str:
        """The path as the OpenAPI document has it."""
        return _IN_PATH.sub(r"{\1}", self.path)

    @property
    def asks_by_query(self) -> bool:
        """Whether `reads` are parameters of the query, not fields of the body."""
        return self.method in ("GET", "DELETE")

    def renamed(self, values: Mapping[str, str]) -> dict[str, str]:
        """Returns the values of a public path by the names of the fields."""
        return {alias or name: values[name] for name, alias in _IN_PATH.findall(self.path)}

    def asked(self, given: Mapping[str, Any]) -> Asked:
        """Returns the request for these JSON values; values that are None are left out."""
        path = _IN_PATH.sub(lambda found: quote(str(given[found[2] or found[1]]), safe=""), self.path)
        nullable = {each.name for each in self.reads if each.nullable}
        rest = {
            name: each
            for name, each in given.items()
            if (each is not None or name in nullable) and name not in self.in_path
        }
        if self.asks_by_query:
            return Asked(self.method, path, {name: str(each) for name, each in rest.items()}, None)
        return Asked(self.method, path, {}, rest if self.reads else None)


@dataclass(frozen=True, slots=True)
class Preset:
    """An operation with some values given: a command of its own, and a button beside each row that differs."""

    name: str
    of: str
    """The operation's name."""
    sets: Mapping[str, Any]
    """JSON values by the names of fields."""
    summary: str
    examples: tuple[str, ...] = ()
    label: str = ""
    done: str = ""
    """The sentence for people after it, where that is not the operation's."""


@dataclass(frozen=True, slots=True, eq=False)
class Resource:
    """A thing that is administered."""

    name: str
    """The command's word, such as `sender`."""
    plural: str
    """The name of lists of it in the admin API, and of the console's page."""
    summary: str
    """A clause for the list of commands."""
    more: str
    """Sentences for the command's help and the head of the console's page."""
    nothing: str
    """The sentence for people where there is none."""
    key: tuple[str, ...]
    fields: tuple[Field, ...]
    scopes: Scopes
    operations: tuple[Operation, ...]
    presets: tuple[Preset, ...] = ()
    answer_name: str = ""
    """The name of the thing in the OpenAPI document, where that is not `name` with a capital."""
    called: str = ""
    """The field that people call it by, where that is not the last of the key."""
    examples: tuple[str, ...] = ()
    """Command lines without `heliograph`, for the help of the group of commands."""
    link: str = ""
    """A page of the console about a row, a format of the row: `/inbound?q={number}`."""
    is_local: bool = False
    """Whether only commands on the machine and the console have it, not the admin API over HTTP."""
    path: str = ""
    """The console's page, where that is not named after `plural`."""
    title: str = ""
    """The head of that page, where that is not `plural`."""
    within: tuple[Field, ...] = ()
    """Fields of paths that rows lack, for example the account of an API key."""
    columns: tuple[str, ...] = ()
    """The fields that a command's table has, where these are not all."""
    also: Mapping[str, str] = field(default_factory=dict)
    """Further names of fields in a command's `--json`: `username` for `name`."""

    def operation(self, name: str) -> Operation:
        return next(each for each in self.operations if each.name == name)

    def scope_of(self, operation: Operation) -> Scope:
        return operation.scope or (self.scopes.read if operation.method == "GET" else self.scopes.write)

    def field(self, name: str) -> Field:
        return next(each for each in (*self.fields, *self.within) if each.name == name)

    @property
    def title_field(self) -> Field:
        return self.field(self.called or self.key[-1])

    def fields_of(self, operation: Operation) -> tuple[Field, ...]:
        """The fields in the path of an operation, then the fields that it reads."""
        return *(self.field(name) for name in operation.in_path), *operation.reads

    def told(
        self, operation: Operation, given: Mapping[str, Any], answer: Mapping[str, Any], preset: Preset | None = None
    ) -> str:
        """Returns the sentence for people after an operation, of JSON values given and answered; maybe empty."""
        if not isinstance(operation.done, str):
            return operation.done(given, answer)
        known = (*self.fields, *self.fields_of(operation))
        texts = {each.name: each.text(each.type.show(each.default)) for each in known if each.default not in OPEN}
        fields = {each.name: each for each in known}
        for name, value in {**given, **answer}.items():
            texts[name] = fields[name].text(value) if name in fields else str(value)
        return ((preset and preset.done) or operation.done).format_map(texts)

    def listed(self, operation: Operation, rows: list[dict[str, Any]], limit: int) -> str | None:
        """Returns the cursor after a page: the key of its last row, None where no page follows."""
        return str(rows[-1][self.key[-1]]) if operation.page and len(rows) == limit else None
