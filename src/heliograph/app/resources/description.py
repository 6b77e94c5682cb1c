"""The form of a description: a `Resource` has fields, operations and presets.

Three doors are drawn from a description:

    Operation("add", "PUT /accounts/{name:account}/senders", put, ..., arguments=("senders",))
        admin API   PUT /admin/v1/accounts/acme/senders   {"senders": ["ACME"], "state": "approved"}
        command     heliograph sender add ACME --account acme --state approved
        console     a form, or with `confirm` a button beside each row

Commands and the console make the same request (`Operation.asked`) that a program sends over HTTP. The dispatcher of the
admin API checks it and calls `Operation.run`.
"""

import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
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
    """A request to the admin API, for example GET `/senders` with the query `{"state": "pending"}`."""

    method: str
    path: str
    """The path below `/admin/v1`."""
    query: Mapping[str, str]
    body: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class Page:
    """Rows of a list with a cursor. A use case returns it if the cursor is not the key of the last row."""

    rows: list[dict[str, Any]]
    cursor: str | None
    """The cursor of the next page, or None after the last page."""
    beside: Mapping[str, Any] = field(default_factory=dict)
    """Values of the operation's `beside`."""


class Answer(Enum):
    """Answers that are made from the fields of the resource."""

    EACH = auto()
    """A list of things, or a page of the list if the operation has a `page`."""
    ITEM = auto()
    """A thing."""
    DONE = auto()
    """Only `{"done": true}`."""
    FILE = auto()
    """A file, written while it is sent. `run` returns a `WrittenFile`. It has no command: commands read pages."""


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """A file that an operation answers with."""

    name: str
    """For example `messages.csv`."""
    media_type: str
    pieces: AsyncGenerator[bytes]


@dataclass(frozen=True, slots=True)
class Operation:
    """An action on things, such as adding a sender.

    `run` gets a desk, and the Python values of the path and of `reads` by the names of the fields. It returns rows, a
    row (values by the names of fields) or None, depending on `answers`.
    """

    name: str
    """The command's word, such as `add`."""
    at: str
    """The method and the path below `/admin/v1`, such as `DELETE /numbers/{id}`. `{id}` is a field. `{name:account}` is
    the field `account`, which the OpenAPI document calls `name`."""
    run: Callable[..., Awaitable[Any]]
    """The use case."""
    summary: str
    """A clause without a full stop, such as "Remove a number"."""
    answers: Answer | tuple[Field, ...] = Answer.DONE
    """The form of the answer, or its fields."""
    reads: tuple[Field, ...] = ()
    """The fields of the body, or of the query for GET and DELETE."""
    arguments: tuple[str, ...] | None = None
    """Fields that a command takes by position, in this order, as in `route remove 3`. None for the fields in the
    path."""
    more: str = ""
    """Further sentences of the command's help."""
    examples: tuple[str, ...] = ()
    """Command lines without `heliograph`, such as `sender list --state pending`."""
    done: str | Callable[[Mapping[str, Any], Mapping[str, Any]], str] = ""
    """The sentence for people afterwards: a format of the values given and answered, or a function of both. For
    example `Route {id} is removed.`"""
    verdict: str = ""
    """The flag in the answer that decides a question, such as `fits`. If it is false, a command exits with 1, and the
    console keeps the form."""
    is_command: bool = True
    """True if a command is drawn from it."""
    media_types: tuple[str, ...] = ()
    """The formats of a file."""
    is_long: bool = False
    """True if it may read the whole store: over HTTP it counts as an export, and ends when its client goes."""
    label: str = ""
    """The label of the console's button; empty if the console has no button."""
    confirm: str = ""
    """The console's question before the action, a format of the row. An operation with a question has a button beside
    each row. Other operations have a form."""
    page: int = 0
    """The most rows of a page; 0 if the list has no pages. `run` then takes `after`, the key of the last row of the
    previous page or "", and `limit`."""
    order: tuple[str, ...] = ()
    """The fields by which a list is sorted that may have a million rows. `run` then takes `after`, the values of these
    fields in the last row of the previous page or None, and `limit`. An answer has at most 10,000 rows."""
    cursor_has_time: bool = False
    """True if a cursor is the time and the key of a row, such as `1800000000000-17`. `run` then takes `after` as a pair
    or None."""
    rows: int = 100
    """The rows of a page if the request has no `limit`."""
    newest_first: bool = False
    """True if the list begins with the highest key. Its command then pages with `--before`, else with `--after`."""
    pairs: bool = False
    """True if its command takes fields as `KEY=VALUE`, and lists them in its help."""
    groups: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Titles of groups, each with the names of its fields, for a command's help and answer. Without groups the fields
    are a flat list."""
    rest: str = ""
    """The field that takes each `KEY=VALUE` of no other field, such as `options`. The command then takes the fields as
    options, too."""
    may_be_bare: bool = False
    """True if the body may be left out. Its fields may then be in the query."""
    also: Mapping[str, str] = field(default_factory=dict)
    """Further names in a command's `--json`, beside the resource's `also`. For example `password` for `secret`."""
    result: str = "removed"
    """The name in a command's `--json` that confirms the action, such as `revoked`."""
    beside: tuple[Field, ...] = ()
    """Fields of a list's answer beside its rows. `run` then returns the rows and these fields by name."""
    octets: int = 1 << 20
    """Octets. The largest body over HTTP."""
    is_found: bool = False
    """True if it may answer 404 although its path and fields name no other thing."""
    conflicts: bool = False
    """True if it may answer 409, because the thing exists already."""
    status: int = 200
    """The HTTP status of success."""
    id: str = ""
    """The `operationId` of the OpenAPI document; by default made from both names, such as `add_sender`."""
    read_name: str = ""
    """The name of its body in the OpenAPI document; by default such as `NewSender`."""
    answer_name: str = ""
    """The name of its answer in the OpenAPI document."""
    scope: Scope | None = None
    """The scope that it needs, if it is not the resource's scope."""

    @property
    def method(self) -> str:
        return self.at.partition(" ")[0]

    @property
    def path(self) -> str:
        return self.at.partition(" ")[2]

    @property
    def positional(self) -> tuple[str, ...]:
        return self.in_path if self.arguments is None else self.arguments

    @property
    def path_parameters(self) -> list[tuple[str, str]]:
        """The public names in the path, each with its field, or "" if the field has this name."""
        return _IN_PATH.findall(self.path)

    @property
    def in_path(self) -> tuple[str, ...]:
        """The fields in the path."""
        return tuple(alias or name for name, alias in self.path_parameters)

    @property
    def public_path(self) -> str:
        """The path in the OpenAPI document, for example `/accounts/{name}/senders`."""
        return _IN_PATH.sub(r"{\1}", self.path)

    @property
    def asks_by_query(self) -> bool:
        """True if `reads` are parameters of the query, False if they are fields of the body."""
        return self.method in ("GET", "DELETE")

    def renamed(self, values: Mapping[str, str]) -> dict[str, str]:
        """Returns the values of a public path by field: `{"name": "acme"}` becomes `{"account": "acme"}`."""
        return {alias or name: values[name] for name, alias in _IN_PATH.findall(self.path)}

    def asked(self, given: Mapping[str, Any]) -> Asked:
        """Returns the request for these JSON values. None is left out unless the field is nullable."""
        path = _IN_PATH.sub(lambda found: quote(str(given[found[2] or found[1]]), safe=""), self.path)
        nullable = {each.name for each in self.reads if each.nullable}
        rest = {
            name: each
            for name, each in given.items()
            if (each is not None or name in nullable) and name not in self.in_path
        }
        if self.asks_by_query:
            return Asked(self.method, path, {name: _parameter(each) for name, each in rest.items()}, None)
        return Asked(self.method, path, {}, rest if self.reads else None)


def _parameter(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


@dataclass(frozen=True, slots=True)
class Preset:
    """An operation with given values, such as `sender approve`.

    It is a separate command, and a button beside each row that does not have these values yet.
    """

    name: str
    of: str
    """The operation's name."""
    sets: Mapping[str, Any]
    """JSON values by the names of fields, such as `{"state": "approved"}`."""
    summary: str
    examples: tuple[str, ...] = ()
    label: str = ""
    done: str = ""
    """The sentence for people afterwards, if it is not the operation's sentence."""


@dataclass(frozen=True, slots=True, eq=False)
class Resource:
    """The description of a thing that is administered, such as a sender."""

    name: str
    """The command's word, such as `sender`."""
    plural: str
    """The name of lists in the admin API, and of the console's page, such as `senders`."""
    summary: str
    """A clause for the list of commands."""
    more: str
    """Sentences for the command's help and the head of the console's page."""
    nothing: str
    """The sentence for people if a list is empty."""
    key: tuple[str, ...]
    """The names of the fields that identify a row, such as `account` and `sender`."""
    fields: tuple[Field, ...]
    """The fields of a row."""
    scopes: Scopes
    operations: tuple[Operation, ...]
    presets: tuple[Preset, ...] = ()
    answer_name: str = ""
    """The name of the thing in the OpenAPI document; by default `name` with a capital."""
    called: str = ""
    """The field that names a row for people; by default the last field of the key."""
    examples: tuple[str, ...] = ()
    """Command lines without `heliograph`, for the help of the group of commands."""
    link: str = ""
    """The console's page about a row, a format of the row such as `/inbound?q={number}`."""
    is_local: bool = False
    """True if the admin API over HTTP lacks it. Commands on the machine and the console have it."""
    path: str = ""
    """The path of the console's page; by default made from `plural`."""
    title: str = ""
    """The heading of that page; by default made from `plural`."""
    within: tuple[Field, ...] = ()
    """Fields of paths that rows lack, for example the account of an API key."""
    columns: tuple[str, ...] = ()
    """The columns of tables; by default all fields."""
    also: Mapping[str, str] = field(default_factory=dict)
    """Further names of fields in a command's `--json`, for example `username` for `name`."""

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

    def format_done(
        self, operation: Operation, given: Mapping[str, Any], answer: Mapping[str, Any], preset: Preset | None = None
    ) -> str:
        """Returns the sentence for people after an operation, possibly empty. For example "Route 3 is removed."

        `given` and `answer` are JSON values by the names of the fields.
        """
        if not isinstance(operation.done, str):
            return operation.done(given, answer)
        known = (*self.fields, *self.fields_of(operation))
        texts = {each.name: each.text(each.type.show(each.default)) for each in known if each.default not in OPEN}
        fields = {each.name: each for each in known}
        for name, value in {**given, **answer}.items():
            texts[name] = fields[name].text(value) if name in fields else str(value)
        return ((preset and preset.done) or operation.done).format_map(texts)

    def is_cut(self, operation: Operation) -> bool:
        """True if a list comes whole unless a request sets a `limit`, or up to 10,000 rows if it has an `order`. Rows
        without the whole key, such as the keys of an account, are few, and always come whole.
        """
        there = {each.name for each in self.fields}
        is_list = operation.answers is Answer.EACH and operation.method == "GET"
        return is_list and not operation.page and there.issuperset(self.key)

    def next_cursor(self, operation: Operation, rows: list[dict[str, Any]], limit: int) -> str | None:
        """Returns the cursor after a page: the key of its last row, or None after the last page."""
        return str(rows[-1][self.key[-1]]) if operation.page and len(rows) == limit else None
