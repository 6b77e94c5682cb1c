"""`/openapi.json`, the same for generators, and `/docs`: a page for people without external hosts, with scripts only
for its search and its forms.
"""

import asyncio
import hashlib
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from heliograph.api import answer
from heliograph.api.fields import Terms
from heliograph.http.asgi import Receive, Scope, Send, respond
from heliograph.http.reply import Reply

if TYPE_CHECKING:
    from heliograph.reference.page import Page

DOCUMENT_PATH = "/openapi.json"
NARROW_PATH = "/openapi-3.0.json"
PAGE_PATH = "/docs"
PATHS = (DOCUMENT_PATH, NARROW_PATH, PAGE_PATH)


class Document(NamedTuple):
    """The document at a path."""

    body: bytes
    headers: tuple[tuple[bytes, bytes], ...]
    tag: bytes
    """The document's entity tag (RFC 9110, 8.8.3)."""


class Reference:
    """An ASGI application for `PATHS`. Each document is made in a thread on its first request, and jinja2 is imported
    only then."""

    def __init__(self, terms: Terms) -> None:
        self._make = {
            DOCUMENT_PATH: partial(_document, terms),
            NARROW_PATH: partial(_narrow, terms),
            PAGE_PATH: partial(_page, terms),
        }
        self._contents: dict[str, Document] = {}

    async def __call__(self, scope: Scope, _: Receive, send: Send) -> None:
        path = scope["path"].removesuffix("/")
        if path not in self._make:
            await _answer(scope, answer.of_fault(answer.no_such_path()), send)
            return
        if scope["method"] not in ("GET", "HEAD"):
            methods = ("GET", "HEAD")
            reply = answer.of_fault(answer.not_allowed(methods))
            reply.headers = (answer.allow(methods),)
            await _answer(scope, reply, send)
            return
        content = self._contents.get(path)
        if content is None:
            content = self._contents[path] = await asyncio.to_thread(self._make[path])
        headers = [(b"etag", content.tag), (b"cache-control", b"no-cache"), *content.headers]
        if _has(scope, content.tag):
            await respond(scope, send, 304, headers, b"")
            return
        headers.append((b"content-length", b"%d" % len(content.body)))
        await respond(scope, send, 200, headers, content.body)


async def _answer(scope: Scope, reply: Reply, send: Send) -> None:
    headers = [
        (b"content-type", b"application/json"), (b"content-length", b"%d" % len(reply.body)), *reply.headers,
    ]  # fmt: skip
    await respond(scope, send, reply.status, headers, reply.body)


def _has(scope: Scope, tag: bytes) -> bool:
    """True if the client already has the document (If-None-Match, compared weakly: RFC 9110, 13.1.2)."""
    for name, value in scope["headers"]:
        if name == b"if-none-match":
            given = [each.strip().removeprefix(b"W/") for each in value.split(b",")]
            return tag in given or b"*" in given
    return False


def _content(body: bytes, *headers: tuple[bytes, bytes]) -> Document:
    tag = b'"%b"' % hashlib.sha256(body).hexdigest()[:32].encode()
    return Document(body, (*headers, (b"x-content-type-options", b"nosniff")), tag)


def _document(terms: Terms) -> Document:
    from heliograph.api import openapi

    return _content(msgspec.json.encode(openapi.document(terms)), (b"content-type", b"application/json"))


def _narrow(terms: Terms) -> Document:
    from heliograph.api import narrow, openapi

    document = narrow.narrowed(openapi.document(terms))
    return _content(msgspec.json.encode(document), (b"content-type", b"application/json"))


def _page(terms: Terms) -> Document:
    from heliograph.api import openapi

    page = render_page(openapi.document(terms))
    return _content(page.html.encode(), *page.headers)


def render_page(document: dict[str, Any]) -> "Page":
    from heliograph.api import openapi
    from heliograph.reference.page import Credential, Look, render

    look = Look(
        openapi.BASE,
        ((DOCUMENT_PATH, "programs"), (NARROW_PATH, "generators of clients")),
        (
            Credential("user", "User name", openapi.USER, is_secret=False),
            Credential("key", "API key, for v1", openapi.SECRETS[1]),
            Credential("password", "Password, for v2", openapi.SECRETS[2]),
        ),
        {openapi.SCHEMES[1]: "key", openapi.SCHEMES[2]: "password"},
        "Basic",
        "a message that you send is sent, and charged.",
        {"receipt": "dlr-url", "inbound": "inbound_url", "low_balance": "callback_url"},
    )
    return render(document, look)
