"""A door of another gateway's words, made here: a module with its parsing, answers and section of the document."""

import asyncio
from urllib.parse import parse_qs

import pytest

from heliograph.api import openapi
from heliograph.api.app import Api
from heliograph.api.call import Call
from heliograph.api.door import Handler
from heliograph.api.fields import Terms
from heliograph.api.narrow import narrowed
from heliograph.api.openapi import Section, document
from heliograph.api.reference import render_page
from heliograph.app.facts import Accept
from heliograph.app.sending.authenticate import ClientCredentials
from heliograph.app.sending.fields import Fields
from heliograph.app.sending.principal import Door, Secret
from heliograph.domain.error import Fault
from heliograph.http.reply import Reply
from tests.support.gateway import PASSWORD, Gateway, open_gateway

RULES = Door("plain", Secret.PASSWORD)
TEXT = b"text/plain"


class PlainDoor:
    """`GET /cgi-bin/sendsms` with credentials in the query, answered in plain text."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self.handlers = {("GET", "/cgi-bin/sendsms"): Handler(self._send, self)}

    def refuse(self, fault: Fault) -> Reply:
        return Reply(fault.entry.http, f"3: {fault.entry.title}".encode(), content_type=TEXT)

    async def _send(self, call: Call) -> Reply:
        octets = call.scope["query_string"]
        query = {name: values[0] for name, values in parse_qs(octets.decode()).items()}
        credentials = ClientCredentials(query["username"], query["password"], octets)
        await self._api.checks.sign_in_with(RULES, call, credentials)
        fields = Fields()
        fields.to, fields.sender, fields.content = [query["to"]], query["from"], query["text"]
        stored: asyncio.Future[Accept] = asyncio.get_running_loop().create_future()
        self._api.services.sending.send(call.who, fields, stored.set_result)
        await stored
        return Reply(202, b"0: Accepted for delivery", content_type=TEXT)


@pytest.fixture
async def gateway() -> Gateway:
    gateway = await open_gateway()
    gateway.app.add(PlainDoor(gateway.app))
    return gateway


QUERY = "username=acme&password={}&to=447700900123&from=Helio&text=Hello"


async def test_a_door_sends_and_answers_in_its_own_words(gateway: Gateway) -> None:
    reply = await gateway.call("GET", "/cgi-bin/sendsms", auth=None, query=QUERY.format(PASSWORD))
    assert (reply.status, reply.body, reply.headers["content-type"]) == (202, b"0: Accepted for delivery", "text/plain")
    assert [
        (each["To"], each["Content"]) for each in (await gateway.call("GET", "/api/v1/messages")).json["messages"]
    ] == [("447700900123", "Hello")]


async def test_a_door_refuses_in_its_own_words(gateway: Gateway) -> None:
    wrong = await gateway.call("GET", "/cgi-bin/sendsms", auth=None, query=QUERY.format("wrong"))
    assert (wrong.status, wrong.body) == (401, b"3: The credentials are missing or wrong")
    other = await gateway.call("DELETE", "/cgi-bin/sendsms", auth=None)
    assert (other.status, other.headers["allow"], other.headers["content-type"]) == (405, "GET, HEAD", "text/plain")


def test_its_section_is_in_the_document_and_not_for_generators(monkeypatch: pytest.MonkeyPatch) -> None:
    operation = {
        "operationId": "sendsms",
        "tags": ["plain"],
        "summary": "Send as Kannel does",
        "responses": {"202": {"description": "Accepted", "content": {"text/plain": {"schema": {"type": "string"}}}}},
    }
    own = Section([{"name": "plain", "description": "Plain."}], {"/cgi-bin/sendsms": {"get": operation}})
    monkeypatch.setattr(openapi, "SECTIONS", [*openapi.SECTIONS, lambda _: own])
    whole = document(Terms())
    assert whole["paths"]["/cgi-bin/sendsms"]["get"] == operation
    assert whole["tags"][-1]["name"] == "plain"
    assert "/cgi-bin/sendsms" not in narrowed(whole)["paths"]
    assert "Send or schedule" in render_page(whole).html
