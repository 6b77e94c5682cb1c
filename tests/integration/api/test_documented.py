"""What the OpenAPI document and its page show is what a gateway does, example by example."""

import base64
import hashlib
import json
import re
import shlex
from collections.abc import Awaitable, Callable
from html.parser import HTMLParser
from typing import Any

import jsonschema_rs
import pytest

from heliograph.api import openapi
from heliograph.api.fields import Terms
from heliograph.api.narrow import WEBHOOKS
from heliograph.api.openapi import document
from heliograph.api.reference import DOCUMENT_PATH, NARROW_PATH, PAGE_PATH, PATHS, Reference
from heliograph.api.shapes import EXAMPLE_ID, EXAMPLE_INBOUND_ID, EXAMPLE_NUMBER
from heliograph.app.facts import Facts, InboundMessage, Submission
from heliograph.app.sending.directory import Directory
from heliograph.domain import error
from heliograph.domain.error import CATALOGUE, Entry
from heliograph.domain.message import ids
from tests.support.gateway import API_KEY, START, Gateway, Reply, basic, open_gateway, set_price

SEND = "/api/v1/messages"
JSON = {"Content-Type": "application/json"}
GOOD = {"to": "491701234567", "from": "Heliograph", "content": "Hello, world"}
API = document(Terms())
SAMPLES = [
    pytest.param(method.upper(), path, sample["source"], id=f"{operation['operationId']}-{number}")
    for path, methods in API["paths"].items()
    for method, operation in methods.items()
    for number, sample in enumerate(operation["x-codeSamples"])
    if sample["lang"] == "Shell"
]
"""Those in programming languages are run by tests/e2e/test_shown_programs.py."""


# --- examples


async def run_curl(gateway: Gateway, command: str) -> tuple[str, str, Reply]:
    """Method and path of the command, and what it is answered."""
    words = iter(shlex.split(command.replace("\\\n", "")))
    assert next(words) == "curl"
    method, url, data, headers, user = "", "", [], {}, ""
    for word in words:
        if word == "-X":
            method = next(words)
        elif word == "-u":
            user = next(words)
        elif word == "-H":
            name, _, value = next(words).partition(": ")
            headers[name] = value
        elif word == "-d":
            data.append(next(words))
        elif word == "--data-urlencode":
            name, _, value = next(words).partition("=")
            data.append(f"{name}={_encoded(value)}")
        else:
            url = word
    path, _, query = url.removeprefix(openapi.BASE).partition("?")
    assert user in ("", f"{openapi.USER}:{openapi.SECRETS[2 if 'v2' in path else 1]}")
    method = method or ("POST" if data else "GET")
    body = "&".join(data).encode()
    reply = await gateway.call(method, path, body, headers=headers, query=query, auth="acme" if user else None)
    return method, path, reply


def _encoded(value: str) -> str:
    return "".join(f"%{octet:02X}" for octet in value.encode())


@pytest.mark.parametrize(("method", "path", "command"), SAMPLES)
async def test_a_command_that_is_shown_works(gateway: Gateway, method: str, path: str, command: str) -> None:
    scheduled = await gateway.send(GOOD | {"time": "2027-01-15 08:30:00"})
    name = ids.parse(EXAMPLE_INBOUND_ID)
    assert name is not None
    message = InboundMessage(1, 1, "491701234567", "3388", "Hello", b"Hello", 0, 0, key=name[0], tail=name[1])
    key, _ = ids.parse(scheduled.json["Id"]) or (0, 0)
    taken = Submission(1, key, 0, 1, "a", 0, START)  # feedback needs an operator that took it
    await gateway.store.commits.record(Facts(inbound=[message], submissions=[taken]))
    await gateway.store.suppressions.suppress(1, [EXAMPLE_NUMBER], "message", START)
    used, where, reply = await run_curl(gateway, command.replace(EXAMPLE_ID, scheduled.json["Id"]))
    where = (
        where.replace(scheduled.json["Id"], "{id}")
        .replace(EXAMPLE_INBOUND_ID, "{id}")
        .replace(EXAMPLE_NUMBER, "{number}")
    )
    assert (used, where) == (method, path)
    assert reply.status == 200, reply.body
    operation = API["paths"][path][method.lower()]
    if operation["operationId"] == "export_messages":
        assert reply.body.startswith(b"id,from,")
        return
    schema = operation["responses"]["200"]["content"]["application/json"]["schema"]
    check = jsonschema_rs.validator_for({**API, **schema})
    answer = json.loads(reply.body)
    check.validate(answer)
    shown = [
        each["value"] for each in operation["responses"]["200"]["content"]["application/json"]["examples"].values()
    ]
    assert list(answer) in [list(each) for each in shown]


Provoke = Callable[[Gateway, pytest.MonkeyPatch], Awaitable[Reply]]


async def _conflict(gateway: Gateway, _: pytest.MonkeyPatch) -> Reply:
    sent = await gateway.send(GOOD)
    return await gateway.call("DELETE", f"{SEND}/{sent.json['Id']}")


async def _no_credit(gateway: Gateway, _: pytest.MonkeyPatch) -> Reply:
    await set_price(gateway, "49", "0.07")
    poor = await open_gateway(credit="0.05")
    await set_price(poor, "49", "0.07")
    return await poor.send(GOOD)


async def _suspended(gateway: Gateway, _: pytest.MonkeyPatch) -> Reply:
    await gateway.change_account(suspended=True)
    return await gateway.send(GOOD)


async def _too_early(gateway: Gateway, _: pytest.MonkeyPatch) -> Reply:
    await gateway.call("GET", SEND)
    return await gateway.call("GET", SEND)


async def _broken_store(gateway: Gateway, _: pytest.MonkeyPatch) -> Reply:
    gateway.store.broken = True
    return await gateway.send(GOOD)


async def _fault_of_ours(gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> Reply:
    monkeypatch.setattr(Directory, "route", None)
    return await gateway.send(GOOD)


async def _in_doubt(gateway: Gateway, _: pytest.MonkeyPatch) -> Reply:
    gateway.intake.loses_answers = True
    return await gateway.send(GOOD)


PROVOKED: dict[Entry, Provoke] = {
    error.MALFORMED: lambda gateway, _: gateway.call("POST", SEND, b"[]", headers=JSON),
    error.MISSING: lambda gateway, _: gateway.send({}),
    error.INVALID: lambda gateway, _: gateway.send(GOOD | {"to": "+491701234567"}),
    error.UNAUTHENTICATED: lambda gateway, _: gateway.send(GOOD, auth=basic("acme", f"no {API_KEY}")),
    error.NO_CREDIT: _no_credit,
    error.FORBIDDEN: _suspended,
    error.NOT_FOUND: lambda gateway, _: gateway.call("GET", f"{SEND}/{EXAMPLE_ID}"),
    error.METHOD: lambda gateway, _: gateway.call("PATCH", SEND),
    error.CONFLICT: _conflict,
    error.TOO_LARGE: lambda gateway, _: gateway.call("POST", SEND, bytes(2**20 + 1)),
    error.MEDIA_TYPE: lambda gateway, _: gateway.call("POST", SEND, b"x", headers={"Content-Type": "text/plain"}),
    error.TOO_EARLY: _too_early,
    error.UNAVAILABLE: _broken_store,
    error.IN_DOUBT: _in_doubt,
    error.INTERNAL: _fault_of_ours,
}


@pytest.mark.parametrize("entry", CATALOGUE, ids=lambda entry: entry.code)
async def test_an_error_that_is_shown_is_a_real_one(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch, entry: Entry
) -> None:
    reply = await PROVOKED[entry](gateway, monkeypatch)
    response = API["components"]["responses"][f"Error{entry.http}"]
    assert reply.status == entry.http
    assert reply.json == response["content"]["application/json"]["examples"][entry.code]["value"]
    assert {name.lower() for name in response["headers"]} <= reply.headers.keys()
    told = {"x-request-id", "retry-after", "www-authenticate", "allow"} & reply.headers.keys()
    assert told == {name.lower() for name in response["headers"]}


@pytest.mark.parametrize(
    ("path", "parameter", "value"),
    [(SEND, each, "x") for each in ("start", "end", "index", "limit", "pending", "order")]
    + [(f"{SEND}/{EXAMPLE_ID}", each, "-1") for each in ("index", "limit")],
)
async def test_a_parameter_that_is_told_is_heeded(gateway: Gateway, path: str, parameter: str, value: str) -> None:
    told = API["paths"][path.replace(EXAMPLE_ID, "{id}")]["get"]["parameters"]
    assert parameter in [each.get("name") for each in told]
    assert (await gateway.call("GET", path, query=f"{parameter}={value}")).fault == (400, "03", parameter)


# --- the two paths


async def look(method: str, path: str, tag: str = "", request_id: str = "") -> tuple[int, dict[str, str], bytes]:
    """Asks a gateway that has the reference mounted, as the program has it."""
    gateway = await open_gateway()
    reference = Reference(Terms())
    for each in PATHS:
        gateway.app.mount(each, reference)
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": b""}

    async def send(message: Any) -> None:
        sent.append(message)

    headers = [(b"if-none-match", tag.encode())] if tag else []
    headers += [(b"x-request-id", request_id.encode())] if request_id else []
    await gateway.app({"type": "http", "method": method, "path": path, "headers": headers}, receive, send)
    named = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return sent[0]["status"], named, b"".join(each.get("body", b"") for each in sent[1:])


async def test_the_document_is_served() -> None:
    status, headers, body = await look("GET", DOCUMENT_PATH)
    assert (status, headers["content-type"]) == (200, "application/json")
    assert json.loads(body) == API
    assert body == json.dumps(API, ensure_ascii=False, separators=(",", ":")).encode()


@pytest.mark.parametrize("path", [DOCUMENT_PATH, PAGE_PATH, f"{DOCUMENT_PATH}/", f"{PAGE_PATH}/"])
async def test_each_is_read_with_get_and_head_and_only_once(path: str) -> None:
    status, headers, body = await look("GET", path)
    assert (status, int(headers["content-length"])) == (200, len(body))
    assert headers["x-request-id"]
    assert await look("HEAD", path) == (200, headers, b"")
    for tag in (headers["etag"], f'"other", W/{headers["etag"]}', "*"):
        status, again, body = await look("GET", path, tag)
        assert (status, body, again["etag"]) == (304, b"", headers["etag"])
    assert (await look("GET", path, '"other"'))[0] == 200


@pytest.mark.parametrize(("given", "kept"), [("mine-1", True), ("not mine", False)])
async def test_a_request_is_named_there_too(given: str, kept: bool) -> None:
    _, headers, _ = await look("GET", PAGE_PATH, request_id=given)
    assert (headers["x-request-id"] == given) is kept


@pytest.mark.parametrize("path", PATHS)
async def test_nothing_else_can_be_done_there(path: str) -> None:
    status, headers, body = await look("POST", path)
    assert (status, headers["allow"], json.loads(body)["Status"]) == (405, "GET, HEAD", "08")
    status, headers, body = await look("GET", f"{path}/x")
    assert (status, json.loads(body)["Status"]) == (404, "07")
    assert headers["x-request-id"]


class Page(HTMLParser):
    """Checks that what is opened is closed, and collects what the page refers to."""

    EMPTY = frozenset({"meta", "br", "link", "img", "input", "hr"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        named = dict(attrs)
        assert not any(name == "style" or name.startswith("on") for name in named)
        if "id" in named:
            self.ids.append(str(named["id"]))
        self.links += [str(named[name]) for name in ("href", "src") if name in named]
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


async def test_the_page_needs_nothing_but_itself() -> None:
    _, headers, body = await look("GET", PAGE_PATH)
    text = body.decode()
    page = Page(text)
    assert not page.tags & {"link", "img", "iframe"}
    assert len(set(page.ids)) == len(page.ids)
    assert {link for link in page.links if not link.startswith("#")} == {DOCUMENT_PATH, NARROW_PATH}
    assert {link[1:] for link in page.links if link.startswith("#")} <= set(page.ids)
    policy = headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "connect-src 'self';" in policy
    assert "unsafe" not in policy
    for kind in ("style", "script"):
        [inner] = re.findall(rf"<{kind}>(.*?)</{kind}>", text, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(inner.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy
    forms = re.findall(r"<form[^>]*>", text)
    assert forms
    assert all(" hidden" in form for form in forms), "what takes the script is not shown without it"
    assert not re.search(r"url\(|@import", text.partition("</style>")[0])


async def test_the_page_has_all_that_the_document_has() -> None:
    _, _, body = await look("GET", PAGE_PATH)
    text = body.decode()
    page = Page(text)
    for path, methods in API["paths"].items():
        for operation in methods.values():
            is_json = "application/json" in operation["responses"]["200"]["content"]
            assert (operation["operationId"] in page.ids) is is_json  # a file is too large to try in a page
            assert path in text or not is_json
    for entry in CATALOGUE:
        assert f"<code>{entry.code}</code>" in text
    for name, schema in API["components"]["schemas"].items():
        if not name.endswith(("Request", "Form")) and name not in WEBHOOKS:
            assert f"shape-{name}" in page.ids
        for field in schema["properties"]:
            assert f"<code>{field}</code>" in text
