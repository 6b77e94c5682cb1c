"""An operation of the admin API: path, scope, bodies, and the function that runs it."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from msgspec import Struct

from heliograph.app.records import Scope
from heliograph.app.resources.desk import Desk
from heliograph.domain.error import Entry

ROOT = "/admin/v1"


@dataclass(frozen=True, slots=True)
class QueryParameter:
    """A parameter of the query or the path."""

    name: str
    meaning: str
    schema: Mapping[str, Any] = field(default_factory=lambda: {"type": "string"})
    required: bool = False
    example: str = ""


@dataclass(frozen=True, slots=True)
class AdminOperation:
    method: str
    path: str
    """Below ROOT; `{name}` stands for one segment."""
    scope: Scope
    summary: str
    run: Callable[[Desk, Mapping[str, str], Mapping[str, str], Struct | None], Awaitable[Any]]
    """Takes a desk, the values of the path and of the query, and the body. Returns a JSON object or a `WrittenFile`."""
    answers: type[Struct] | None
    """The JSON object; None for a file."""
    reads: type[Struct] | None = None
    query: tuple[QueryParameter, ...] = ()
    faults: tuple[Entry, ...] = ()
    """Beside the faults that every operation has."""
    status: int = 200
    octets: int = 1 << 20
    """The largest body."""
    scopes: Mapping[str, Scope] = field(default_factory=dict)
    """Scopes that fields of the body take beside `scope`, where they are given and not left at their default."""
    may_be_bare: bool = False
    """Whether the body may be left out. It is then read as an object without fields."""
    in_path: tuple[QueryParameter, ...] = ()
    things: str = ""
    """The things that it is about, such as `senders`."""
    subject: str = ""
    """A sentence on them."""
    id: str = ""
    """The `operationId` of the OpenAPI document."""
    media_types: tuple[str, ...] = ()
    """The formats of a file."""
    is_long: bool = False
    """True if it counts as an export while it runs."""
    named_by: str = ""
    """The field that names a request, so that a repetition changes nothing. `Idempotency-Key` sets it too."""

    @property
    def group(self) -> str:
        return self.path.split("/")[1]
