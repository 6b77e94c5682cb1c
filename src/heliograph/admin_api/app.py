"""The ASGI application of the admin API."""

import re
import traceback
from collections.abc import Callable, Mapping
from urllib.parse import parse_qsl

import msgspec

from heliograph.admin_api import PATH
from heliograph.admin_api.answer import respond_json
from heliograph.admin_api.openapi import document
from heliograph.admin_api.operations import ROOT, AdminOperation, operations
from heliograph.admin_api.request import AdminRequest, AdminServices, decode
from heliograph.app.ports import Unavailable
from heliograph.app.resources.desk import AlreadyThere, Invalid, NoSuch
from heliograph.domain import error
from heliograph.domain.error import Fault
from heliograph.http.asgi import BodyTooLarge, ClientGone, Headers, Receive, Scope, Send, read_body

STORE_PAUSE_S = 2
"""Value of `Retry-After` while the store cannot be used."""

Found = tuple[AdminOperation, dict[str, str]]

_encode = msgspec.json.encode


class AdminApi:
    """Mounted at PATH."""

    def __init__(self, services: AdminServices) -> None:
        self._services = services
        known = operations(services.manage.kinds)
        self._document = _encode(document(known))
        self._patterns = [(_pattern(operation.path), operation) for operation in known]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers: Headers = []
        try:
            status, body = await self._answer(scope, receive, headers)
        except ClientGone:
            return
        except Exception as problem:  # noqa: BLE001 - whatever it is, the client gets an answer
            fault = self._fault(problem, scope)
            status, body = fault.entry.http, _encode(fault.body())
            if fault.entry is error.UNAUTHENTICATED:
                headers.append((b"www-authenticate", b'Bearer realm="Heliograph admin"'))
            elif fault.retry_after is not None:
                headers.append((b"retry-after", b"%d" % fault.retry_after))
        await respond_json(scope, send, status, body, headers)

    async def _answer(self, scope: Scope, receive: Receive, headers: Headers) -> tuple[int, bytes]:
        path = scope["path"].rstrip("/")
        method = "GET" if scope["method"] == "HEAD" else scope["method"]
        if path == f"{PATH}/openapi.json":
            if method != "GET":
                raise _not_allowed(["GET"], headers)
            return 200, self._document
        operation, values = self._find(path, method, headers)
        given = dict(scope["headers"])
        client = scope.get("client")
        actor = await self._services.sign_in.bearer(given.get(b"authorization"), client[0] if client else "")
        actor.need(operation.scope)
        query = _query(scope["query_string"], operation)
        if "\0" in path or any("\0" in text for text in query.values()):
            # nothing here has one, and PostgreSQL takes none even to look for
            raise Fault(error.MALFORMED, "There is a NUL character in the path or the query; leave it out.")
        request = AdminRequest(self._services, actor, values, query)
        if operation.reads is None:
            await _read_nothing(receive, operation)
        else:
            request.body = await _read(receive, operation, operation.reads, given)
            actor.need_all(request.given(), operation.scopes)
        return operation.status, _encode(await operation.run(request))

    def _find(self, path: str, method: str, headers: Headers) -> Found:
        found: dict[str, Found] = {}
        for pattern, operation in self._patterns:
            match = pattern(path)
            if match is not None and operation.method not in found:
                found[operation.method] = operation, match.groupdict()
        if not found:
            raise Fault(error.NOT_FOUND, f"There is no such path; {PATH}/openapi.json tells those there are.")
        if method not in found:
            raise _not_allowed(list(found), headers)
        return found[method]

    def _fault(self, problem: Exception, scope: Scope) -> Fault:
        match problem:
            case Fault():
                return problem
            case Invalid():
                return error.invalid(problem.field, str(problem))
            case NoSuch():
                return Fault(error.NOT_FOUND, f"{str(problem).capitalize()}.")
            case AlreadyThere():
                return Fault(error.CONFLICT, f"{str(problem).capitalize()}.")
            case Unavailable():
                sentence = "The store cannot be used at this moment; try again later."
                return Fault(error.UNAVAILABLE, sentence, None, STORE_PAUSE_S)
        self._services.journal.say(
            "error",
            "admin.request_failed",
            method=scope["method"],
            problem=type(problem).__name__,
            where=" < ".join(f"{at.name}:{at.lineno}" for at in reversed(traceback.extract_tb(problem.__traceback__))),
        )
        return Fault(error.INTERNAL, "The gateway failed on this request; its log tells where.")


def _query(given: bytes, operation: AdminOperation) -> dict[str, str]:
    """Returns the parameters of the query. Raises Fault for one that the operation does not have, or that comes twice:
    ignored, a slip in a name would widen what is done."""
    try:
        pairs = parse_qsl(given.decode("ascii"), keep_blank_values=True, errors="strict")
    except ValueError:
        raise Fault(error.MALFORMED, "The query cannot be read; it is UTF-8, percent-encoded.") from None
    known = [each.name for each in operation.query]
    query: dict[str, str] = {}
    for name, value in pairs:
        if name not in known:
            others = f"there are {', '.join(known)}" if known else "there are none"
            raise error.invalid(name[:64], f"There is no such parameter here; {others}.")
        if name in query:
            raise error.invalid(name, f"The parameter {name} is given more than once.")
        query[name] = value
    return query


async def _read(
    receive: Receive, operation: AdminOperation, kind: type[msgspec.Struct], headers: Mapping[bytes, bytes]
) -> msgspec.Struct:
    """Reads and decodes the body. Raises Fault, ClientGone."""
    try:
        body = await read_body(receive, operation.octets)
    except BodyTooLarge as problem:
        raise Fault(error.TOO_LARGE, str(problem)) from None
    if operation.may_be_bare and not body:
        return kind()
    media = headers.get(b"content-type", b"application/json").partition(b";")[0].strip().lower()
    if media != b"application/json":
        raise Fault(error.MEDIA_TYPE, "The body is to be JSON: application/json.")
    return decode(body, kind)


async def _read_nothing(receive: Receive, operation: AdminOperation) -> None:
    """Reads a body that must say nothing: none, or an empty object. Raises Fault, ClientGone.

    What somebody writes there is meant to change what is done; to do it regardless would be something else.
    """
    try:
        body = await read_body(receive, operation.octets)
    except BodyTooLarge:
        body = b"too much"
    if b"".join(body.split()) in (b"", b"{}"):
        return
    known = ", ".join(each.name for each in operation.query)
    advice = f"; its parameters stand in the query ({known})" if known else ""
    raise Fault(error.MALFORMED, f"This operation takes no body{advice}. Nothing was done.")


def _pattern(path: str) -> Callable[[str], re.Match[str] | None]:
    return re.compile(ROOT + re.sub(r"{(\w+)}", r"(?P<\1>[^/]+)", path)).fullmatch


def _not_allowed(allowed: list[str], headers: Headers) -> Fault:
    text = ", ".join(sorted([*allowed, "HEAD"] if "GET" in allowed else allowed))
    headers.append((b"allow", text.encode()))
    return Fault(error.METHOD, f"The method is not allowed here; use {text}.")
