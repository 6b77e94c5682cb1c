"""The ASGI application of the admin API."""

import asyncio
from collections.abc import Mapping
from contextlib import ExitStack
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qsl

import msgspec

from heliograph.admin_api import PATH
from heliograph.admin_api.checks import respond_json
from heliograph.admin_api.dispatch import Dispatcher, NotAllowed, fault_of
from heliograph.admin_api.openapi import BASE, SECRET, document
from heliograph.admin_api.operation import AdminOperation
from heliograph.admin_api.operations import operations
from heliograph.admin_api.request import RETRY_AFTER_S, AdminServices, TooManyExports, decode, unknown_name
from heliograph.app.resources.description import WrittenFile
from heliograph.domain import error
from heliograph.domain.display import origin_of
from heliograph.domain.error import Fault
from heliograph.http.asgi import (
    BodyTooLarge,
    ClientGone,
    Headers,
    Receive,
    Scope,
    Send,
    read_body,
    respond,
    respond_in_pieces,
    unless_gone,
)

if TYPE_CHECKING:
    from heliograph.reference.page import Page

DOCUMENT_PATH = f"{PATH}/openapi.json"
PAGE_PATH = f"{PATH}/docs"

_encode = msgspec.json.encode

ENCODED_AT_ONCE: Final = 500
"""Rows of an answer that are encoded before the event loop serves others: some tenths of a millisecond."""


async def encoded(answer: Any) -> bytes:
    """Returns the JSON of an answer. Long lists in it are encoded in parts, between which the event loop serves others.

    A thread would not help: the encoder keeps the interpreter's lock until it has finished.
    """
    if not isinstance(answer, dict) or not any(map(_is_long, answer.values())):
        return _encode(answer)
    members = []
    for name, value in answer.items():
        if _is_long(value):
            parts = []
            for start in range(0, len(value), ENCODED_AT_ONCE):
                parts.append(_encode(value[start : start + ENCODED_AT_ONCE])[1:-1])
                await asyncio.sleep(0)
            octets = b"[" + b",".join(parts) + b"]"
        else:
            octets = _encode(value)
        members.append(_encode(name) + b":" + octets)
    return b"{" + b",".join(members) + b"}"


def _is_long(value: Any) -> bool:
    return isinstance(value, list) and len(value) > ENCODED_AT_ONCE


class AdminApi:
    """Mounted at PATH."""

    def __init__(self, services: AdminServices) -> None:
        self._services = services
        self._operations = operations(services.desk.kinds)
        self._dispatcher = Dispatcher(self._operations, services.desk)

    @cached_property
    def _document(self) -> bytes:
        """The OpenAPI document. Built on the first request for it: that takes as long as hundreds of other requests."""
        return _encode(document(self._operations))

    @cached_property
    def _page(self) -> "Page":
        from heliograph.reference.page import Credential, Look, render

        look = Look(
            BASE,
            ((DOCUMENT_PATH, "programs"),),
            (Credential("token", "Admin token", SECRET),),
            {"token": "token"},
            "Bearer",
            "a thing that you remove is gone.",
        )
        return render(document(self._operations), look)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers: Headers = []
        if scope["path"].rstrip("/") == PAGE_PATH and scope["method"] in ("GET", "HEAD"):
            page = await asyncio.to_thread(lambda: self._page)
            body = page.html.encode()
            own = [(b"content-length", b"%d" % len(body)), (b"x-content-type-options", b"nosniff")]
            await respond(scope, send, 200, [*page.headers, *own], body)
            return
        with ExitStack() as until_sent:
            answer: bytes | WrittenFile
            try:
                status, answer = await self._answer(scope, receive, until_sent)
            except ClientGone:
                return
            except Exception as problem:  # noqa: BLE001 - whatever it is, the client gets an answer
                fault = self._fault(problem, scope)
                status, answer = fault.entry.http, _encode(fault.body())
                if isinstance(problem, NotAllowed):
                    headers.append((b"allow", ", ".join(problem.allowed).encode()))
                elif fault.entry is error.UNAUTHENTICATED:
                    headers.append((b"www-authenticate", b'Bearer realm="Heliograph admin"'))
                elif fault.retry_after is not None:
                    headers.append((b"retry-after", b"%d" % fault.retry_after))
            if isinstance(answer, WrittenFile):
                await self._write(scope, receive, send, status, answer)
            else:
                await respond_json(scope, send, status, answer, headers)

    async def _write(self, scope: Scope, receive: Receive, send: Send, status: int, file: WrittenFile) -> None:
        """Sends a file while it is written."""
        headers = [
            (b"content-type", file.media_type.encode()),
            (b"content-disposition", f'attachment; filename="{file.name}"'.encode()),
            (b"cache-control", b"no-store"),
            (b"x-content-type-options", b"nosniff"),
        ]
        await respond_in_pieces(scope, receive, send, status, headers, file.pieces)

    async def _answer(self, scope: Scope, receive: Receive, until_sent: ExitStack) -> tuple[int, bytes | WrittenFile]:
        """Files and long answers count as exports `until_sent`."""
        path = scope["path"].rstrip("/")
        method = "GET" if scope["method"] == "HEAD" else scope["method"]
        if path == DOCUMENT_PATH:
            if method != "GET":
                raise NotAllowed(["GET"])
            return 200, self._document
        operation, values = self._dispatcher.find(method, path)
        given = dict(scope["headers"])
        client = scope.get("client")
        actor = await self._services.sign_in.bearer(given.get(b"authorization"), client[0] if client else "")
        actor.need(operation.scope)
        query = _query(scope["query_string"], operation)
        if "\0" in path or any("\0" in text for text in query.values()):
            # nothing here has one, and PostgreSQL takes none even to look for
            raise Fault(error.MALFORMED, "There is a NUL character in the path or the query; leave it out.")
        body = None
        if operation.reads is None:
            await _read_nothing(receive, operation)
        else:
            body = await _read(receive, operation, operation.reads, given)
            if operation.named_by and b"idempotency-key" in given:
                body = _named(body, operation.named_by, given[b"idempotency-key"])
        if operation.media_types or operation.is_long:
            self._count_export(until_sent)
        work = self._dispatcher.run(actor, operation, values, query, body)
        if operation.media_types:
            return operation.status, await work
        return operation.status, await encoded(await (unless_gone(receive, work) if operation.is_long else work))

    def _count_export(self, until_sent: ExitStack) -> None:
        """Raises Fault if there are too many exports."""
        exports = self._services.exports
        try:
            until_sent.enter_context(exports.counted())
        except TooManyExports:
            problem = f"At most {exports.most} exports may be written at a time; try again later."
            raise Fault(error.UNAVAILABLE, problem, None, RETRY_AFTER_S) from None

    def _fault(self, problem: Exception, scope: Scope) -> Fault:
        try:
            return fault_of(problem)
        except Exception:  # noqa: BLE001 - logged, not raised
            self._services.journal.log(
                "error",
                "admin.request_failed",
                method=scope["method"],
                **origin_of(problem),
            )
            return Fault(error.INTERNAL, "The gateway failed on this request; its log tells where.")


def _query(given: bytes, operation: AdminOperation) -> dict[str, str]:
    """Returns the parameters of the query. Raises Fault for a parameter that the operation does not have, or that comes
    twice: ignored, a slip in a name would widen what is done."""
    try:
        pairs = parse_qsl(given.decode("ascii"), keep_blank_values=True, errors="strict")
    except ValueError:
        raise Fault(error.MALFORMED, "The query cannot be read; it is UTF-8, percent-encoded.") from None
    known = [each.name for each in operation.query]
    query: dict[str, str] = {}
    for name, value in pairs:
        if name not in known:
            raise error.invalid(name[:64], f"There is no such parameter here{unknown_name(name, known)}")
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


def _named(body: msgspec.Struct, field: str, key: bytes) -> msgspec.Struct:
    """Returns the body with the name of the request from the header `Idempotency-Key`, with or without quotes: `"a-1"`.
    Raises Fault if the body gives another name."""
    name, given = key.decode("latin-1").strip().removeprefix('"').removesuffix('"'), getattr(body, field)
    if given and given != name:
        raise error.invalid(field, f"The header Idempotency-Key and the field {field} differ; give one of them.")
    return msgspec.structs.replace(body, **{field: name})


async def _read_nothing(receive: Receive, operation: AdminOperation) -> None:
    """Reads a body that must say nothing: none, or an empty object. Raises Fault, ClientGone.

    A body is meant to change the operation, so it is not ignored.
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
