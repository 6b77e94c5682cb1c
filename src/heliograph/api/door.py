"""Doors: ways into the API over HTTP, such as `/api/v2` or `/account/v1`. A door is made of operations.

A door has paths. It parses its clients' requests into `Fields`, passes them to the use cases in `app`, and formats the
results for its clients. `app.Api` finds the door of a request, names the request and counts its answer.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import NamedTuple, Protocol

from heliograph.api.call import Call
from heliograph.api.checks import RequestChecks
from heliograph.api.operations import CustomerOperation
from heliograph.app.sending.principal import Door
from heliograph.domain.error import Fault
from heliograph.http.reply import Reply

Run = Callable[[Call], Awaitable[Reply]]
"""Serves an operation, from the credentials on. Raises Fault, Unavailable or ClientGone."""

Operation = Callable[[Call, bytes], Awaitable[Reply]]
"""Serves an operation, after the checks of credentials and body."""


class Handler(NamedTuple):
    """The handler of an operation, and its door."""

    run: Run
    door: "HttpDoor"


class HttpDoor(Protocol):
    """A way into the API over HTTP."""

    @property
    def handlers(self) -> Mapping[tuple[str, str], Handler]:
        """The operations by method and path. A path may have a name in braces, such as `/api/v1/messages/{id}`.
        `call.target` then has that part. HEAD is served wherever GET is."""

    def refuse(self, fault: Fault) -> Reply:
        """Returns the answer to a request that ended in the Fault."""


def json_handlers(
    door: HttpDoor,
    checks: RequestChecks,
    rules: Door | None,
    operations: Iterable[CustomerOperation],
    run: Mapping[str, Operation],
) -> dict[tuple[str, str], Handler]:
    """Returns the handlers of a door for JSON or forms in, JSON out, with Basic credentials.

    `rules` are None for a door without credentials. `run` serves the operations, by their names."""
    # No base class: an interpreted door could not derive from a compiled one.
    return {
        (each.method, each.path): Handler(JsonOperation(checks, rules, each, run[each.name]).serve, door)
        for each in operations
    }


class JsonOperation:
    """An operation of such a door."""

    def __init__(self, checks: RequestChecks, rules: Door | None, operation: CustomerOperation, run: Operation) -> None:
        self._checks = checks
        self._rules = rules
        self._reads = bool(operation.body)
        self._run = run

    async def serve(self, call: Call) -> Reply:
        """Checks in this order: credentials, rate, size; then the operation checks media type, syntax and fields."""
        if self._rules is not None:
            await self._checks.sign_in(self._rules, call)
        return await self._run(call, await self._checks.body(call) if self._reads else b"")
