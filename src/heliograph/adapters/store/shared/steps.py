"""Operations as generators, and decorators that make them methods of a port."""

from collections.abc import Callable, Coroutine, Generator, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from functools import partial, wraps
from typing import Any, Concatenate, Final, ParamSpec, Protocol, TypeVar

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S", bound="Operations")

Row = tuple[Any, ...]
Rows = Sequence[Row]


@dataclass(frozen=True, slots=True)
class Query:
    """A statement by its name, and the values of its parameters. A list is for `{among(...)}` and similar fragments."""

    name: str
    values: dict[str, Any]


Steps = Generator[Query, Rows, R]
"""Yields queries, receives the rows of each, and returns an R. It runs again if its transaction does, so it must not
change anything outside."""


class _Queries:
    def __getattr__(self, name: str) -> Callable[..., Query]:
        return lambda **values: Query(name, values)


Q: Final = _Queries()
"""`Q.add_route(prefix="49")` is the statement `add_route` with that parameter."""


def first(query: Query) -> Steps[Row | None]:
    """The first row, or None."""
    rows = yield query
    return rows[0] if rows else None


class RunMode(Enum):
    """Ways to run an operation. A transaction sees a single snapshot."""

    WRITE = auto()
    """Runs in a transaction, again from the start after a conflict. All of it is durable, or none."""
    BATCH = auto()
    """Like WRITE, a part of a change that a later WRITE completes."""
    CLAIM = auto()
    """Like WRITE, and gives rows to this node. If the answer to its commit is lost, the operation waits for the
    database and returns the rows. After an error the node would not know them, and no other node may claim them."""
    READ = auto()
    """Several statements in a transaction that reads."""
    LOOKUP = auto()
    """A statement that reads."""
    GLANCE = auto()
    """A statement that reads a row or two by key; runs on the event loop if the disk is fast."""
    BROWSE = auto()
    """Like READ, for people. It may be slow, because the gateway's own reads do not wait for it."""
    LISTING = auto()
    """Like LOOKUP, for people."""
    SCAN = auto()
    """Like READ, of whole tables, on a connection of its own and without a time limit."""


class Runner(Protocol):
    """Runs operations on a database."""

    async def run(self, mode: RunMode, operation: Callable[[], Steps[R]]) -> R:
        """Raises Unavailable, Fenced, and the exceptions of the operation; then nothing was done."""


class Operations:
    """A port's operations; a subclass for each port."""

    def __init__(self, runner: Runner) -> None:
        self.runner = runner


class _Decorator(Protocol):
    def __call__(
        self, operation: Callable[Concatenate[S, P], Steps[R]]
    ) -> Callable[Concatenate[S, P], Coroutine[Any, Any, R]]: ...


def _run_as(mode: RunMode) -> _Decorator:
    def method(operation: Callable[Concatenate[S, P], Steps[R]]) -> Callable[Concatenate[S, P], Coroutine[Any, Any, R]]:
        @wraps(operation)
        def run(self: S, /, *args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, R]:
            return self.runner.run(mode, partial(operation, self, *args, **kwargs))

        return run

    return method


write: Final = _run_as(RunMode.WRITE)
batch: Final = _run_as(RunMode.BATCH)
claiming: Final = _run_as(RunMode.CLAIM)
read: Final = _run_as(RunMode.READ)
lookup: Final = _run_as(RunMode.LOOKUP)
glance: Final = _run_as(RunMode.GLANCE)
browse: Final = _run_as(RunMode.BROWSE)
listing: Final = _run_as(RunMode.LISTING)
scan: Final = _run_as(RunMode.SCAN)
