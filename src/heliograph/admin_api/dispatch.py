"""The dispatcher of the admin API: finds an operation, and runs it for an actor. The doors are HTTP (`app`), commands
on an open store, and the pages of the console."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import unquote

import msgspec

from heliograph.admin_api import PATH
from heliograph.admin_api.operation import ROOT, AdminOperation
from heliograph.admin_api.request import decode, given_fields
from heliograph.app.ports import Unavailable
from heliograph.app.resources.description import Asked
from heliograph.app.resources.desk import Actor, AlreadyThere, Desk, Invalid, NoSuch
from heliograph.domain import error
from heliograph.domain.error import Fault

STORE_PAUSE_S = 2
"""Value of `Retry-After` while the store cannot be used."""


class NotAllowed(Exception):
    """The path is there, the method is not; these are."""

    def __init__(self, allowed: list[str]) -> None:
        self.allowed = sorted([*allowed, "HEAD"] if "GET" in allowed else allowed)
        super().__init__(f"The method is not allowed here; use {', '.join(self.allowed)}.")


class Dispatcher:
    def __init__(self, operations: Sequence[AdminOperation], desk: Desk) -> None:
        self._patterns = [(_pattern(each.path), each) for each in operations]
        self._desk = desk

    def find(self, method: str, path: str) -> tuple[AdminOperation, dict[str, str]]:
        """Returns an operation and the values in its path. A path without values wins: `/networks/import` is no network
        of this name. Raises Fault, NotAllowed."""
        found: dict[str, tuple[AdminOperation, dict[str, str]]] = {}
        for pattern, operation in self._patterns:
            match = pattern(path)
            if match is not None and operation.method not in found:
                found[operation.method] = operation, match.groupdict()
        if any(not values for _, values in found.values()):
            found = {method: (operation, values) for method, (operation, values) in found.items() if not values}
        if not found:
            raise Fault(error.NOT_FOUND, f"There is no such path; {PATH}/openapi.json tells all paths.")
        if method not in found:
            raise NotAllowed(list(found))
        return found[method]

    async def run(
        self,
        actor: Actor,
        operation: AdminOperation,
        path: Mapping[str, str],
        query: Mapping[str, str],
        body: msgspec.Struct | None,
    ) -> Any:
        """Runs an operation. The actor has its scope. Raises Fault, and the exceptions that `fault_of` knows."""
        if body is not None:
            actor.need_all(given_fields(body), operation.scopes)
        return await operation.run(self._desk.acting_for(actor), path, query, body)

    async def ask(self, actor: Actor, asked: Asked) -> Any:
        """Runs an operation from within the process; returns the JSON object. Raises Fault."""
        operation, values = self.find(asked.method, ROOT + asked.path)
        actor.need(operation.scope)
        body = None
        try:
            if operation.reads is not None:
                body = decode(msgspec.json.encode(asked.body or {}), operation.reads)
            path = {name: unquote(value) for name, value in values.items()}
            return await self.run(actor, operation, path, asked.query, body)
        except (Invalid, NoSuch, AlreadyThere) as mistake:
            raise fault_of(mistake) from mistake


def fault_of(problem: Exception) -> Fault:
    """Returns how a problem is answered. Raises it again where it is no mistake of the client's."""
    match problem:
        case Fault():
            return problem
        case Invalid():
            return error.invalid(problem.field, str(problem))
        case NoSuch():
            return Fault(error.NOT_FOUND, f"{problem}.")
        case AlreadyThere():
            return Fault(error.CONFLICT, f"{problem}.")
        case NotAllowed():
            return Fault(error.METHOD, str(problem))
        case Unavailable():
            return Fault(
                error.UNAVAILABLE, "The store cannot be used at this moment; try again later.", None, STORE_PAUSE_S
            )
    raise problem


def _pattern(path: str) -> Callable[[str], re.Match[str] | None]:
    return re.compile(ROOT + re.sub(r"{(\w+)}", r"(?P<\1>[^/]+)", path)).fullmatch
