"""The OpenAPI document is complete, sound, and says what the code and the guide say."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import jsonschema_rs
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.api import answer, decode, fields, shapes
from heliograph.api.fields import Terms
from heliograph.api.messages import V1
from heliograph.api.openapi import FAULTS, document
from heliograph.api.operations import OPERATIONS
from heliograph.api.send_fields import send_fields
from heliograph.app.facts import Accept, InboundMessage, Message, Verdict
from heliograph.app.notices.inbound_form import inbound_fields
from heliograph.app.notices.receipt_form import receipt_fields
from heliograph.app.sending import optional_fields
from heliograph.app.sending.compose import SendRules
from heliograph.app.sending.principal import Principal
from heliograph.domain import calendar
from heliograph.domain.error import CATALOGUE, METHOD
from heliograph.domain.message import ids
from heliograph.domain.message.opt_out import Wish
from heliograph.domain.message.receipt import Delivery
from heliograph.domain.message.state import Kind, State
from heliograph.domain.numbers import phone
from tests.support.gateway import open_gateway

GUIDE = (Path(__file__).parents[3] / "docs" / "api.md").read_text(encoding="utf-8")
API = document(Terms())
SCHEMAS = API["components"]["schemas"]


def documented() -> list[tuple[str, str, dict[str, Any]]]:
    return [(method.upper(), path, each) for path, methods in API["paths"].items() for method, each in methods.items()]


def parts(value: Any) -> Iterator[dict[str, Any]]:
    """Every object of a document."""
    if isinstance(value, dict):
        yield value
        for each in value.values():
            yield from parts(each)
    elif isinstance(value, list):
        for each in value:
            yield from parts(each)


def validator(name: str) -> jsonschema_rs.Validator:
    return jsonschema_rs.validator_for({**API, "$ref": f"#/components/schemas/{name}"})


# --- the document in itself


def test_every_schema_is_one() -> None:
    for schema in SCHEMAS.values():
        jsonschema_rs.meta.validate({"$schema": "https://json-schema.org/draft/2020-12/schema", **schema})


def test_every_reference_leads_somewhere_and_every_component_is_used() -> None:
    used = set()
    for part in parts(API):
        if "$ref" in part:
            found: Any = API
            for step in part["$ref"].removeprefix("#/").split("/"):
                found = found[step]
            used.add(part["$ref"])
    components = {f"#/components/{kind}/{name}" for kind, named in API["components"].items() for name in named}
    schemes = {
        f"#/components/securitySchemes/{name}"
        for _, _, each in documented()
        for need in each["security"]
        for name in need
    }
    # nothing that is documented is answered 405, which is for the methods that are not
    assert components - used - schemes == {"#/components/responses/Error405"}


def test_operation_ids_are_unique() -> None:
    names = [each["operationId"] for _, _, each in documented()]
    assert len(set(names)) == len(names) == len(OPERATIONS)


def test_every_example_is_valid() -> None:
    seen = 0
    for method, path, each in documented():
        for content in each.get("requestBody", {"content": {}})["content"].values():
            for example in content["examples"].values():
                name = content["schema"]["$ref"].rpartition("/")[2]
                validator(name).validate(example["value"])
                seen += 1
        for content in each["responses"]["200"]["content"].values():
            if "examples" not in content:  # a file
                continue
            check = jsonschema_rs.validator_for({**API, **content["schema"]})
            for example in content["examples"].values():
                assert check.is_valid(example["value"]), (method, path, example)
                seen += 1
    for response in API["components"]["responses"].values():
        for example in response["content"]["application/json"]["examples"].values():
            validator("Problem").validate(example["value"])
            seen += 1
    for webhook, name in (("receipt", "Receipt"), ("inbound", "InboundNotice")):
        posted = API["webhooks"][webhook]["post"]["requestBody"]["content"]
        assert len(posted) == 2
        for content in posted.values():
            validator(name).validate(content["example"])
    assert seen > 35


def test_every_error_has_its_example() -> None:
    assert list(FAULTS) == list(CATALOGUE)
    for entry in CATALOGUE:
        response = API["components"]["responses"][f"Error{entry.http}"]
        example = response["content"]["application/json"]["examples"][entry.code]
        assert example["value"]["Status"] == entry.code
        assert ("Retry-After" in response["headers"]) is (FAULTS[entry].retry_after is not None)
    assert "Allow" in API["components"]["responses"][f"Error{METHOD.http}"]["headers"]


def test_the_settings_in_force_are_told() -> None:
    text = json.dumps(document(Terms(SendRules(77, 3, 55), 4321, 7.5, 2.5, 36)))
    for told in ("at most 77 ", '"maxItems": 77', "at most 3 segments: 459 ", "at most 55 days", "4,321 octets",
                 "every 7.5 seconds", "within 2.5 seconds", "for 36 hours"):  # fmt: skip
        assert told in text


# --- the document and the guide


def test_the_guide_has_every_operation_and_no_other() -> None:
    table = GUIDE.partition("| operation | request |")[2].partition("\n\n")[0]
    listed = set(re.findall(r"`([A-Z]+) (/[^`]*)`", table))
    assert listed == {(method, path) for method, path, _ in documented()}


def test_the_guides_table_of_errors_is_the_catalogue() -> None:
    rows = re.findall(r"^\| (\d{3}) \| `(\d\d)` \| (.*) \|$", GUIDE, re.MULTILINE)
    assert rows == [(str(entry.http), entry.code, entry.when) for entry in CATALOGUE]


def test_the_guide_has_every_field_and_every_parameter() -> None:
    rows = re.findall(r"^\| ((?:`[a-z-]+`(?:, )?)+) \|", GUIDE, re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"`([a-z-]+)`", row)}
    assert named == {field.name for field in fields.SEND[1]} | {
        each.name for each in fields.LIST + fields.PULL + fields.SUPPRESSIONS
    }


# --- the document and the code


async def test_reading_takes_the_fields_that_are_told() -> None:
    gateway = await open_gateway()
    view = await gateway.directory.account("acme")
    assert view is not None
    who = Principal(view, V1)
    attributes = ("to", "sender", "content", "time", "kind", "wants_receipt", "url", "reference")
    told = [field.name for field in fields.SEND[1]]
    usual, wished = told[: -len(optional_fields.NAMES)], told[-len(optional_fields.NAMES) :]
    every = {name: f"value of {name}" for name in usual} | {"type": "flash", "dlr": "yes"}
    given = {name: f"value of {name}" for name in wished if name != "tlvs"} | {"tlvs": {"0x1400": "x"}}
    assert tuple(wished) == optional_fields.NAMES
    assert send_fields(decode.JSON, json.dumps({**every, **given}).encode(), who).given == given
    body = json.dumps({**every, "other": "x"}).encode()
    read = send_fields(decode.JSON, body, who)
    expected = [value for name, value in every.items() if name not in ("to", "type", "dlr")]
    assert read.to == ["value of to"]
    assert (read.kind, read.wants_receipt) == (Kind.FLASH, True)
    assert [getattr(read, name) for name in attributes if name not in ("to", "kind", "wants_receipt")] == expected
    form = "&".join(f"{name}={value.replace(' ', '+')}" for name, value in every.items()).encode()
    assert send_fields(decode.FORM, form, who) == read
    assert decode.one_field(decode.JSON, body, "time") == every["time"]


@given(st.text(max_size=17) | st.from_regex(r"[0-9]{1,17}"))
def test_the_patterns_are_the_checks(text: str) -> None:
    assert bool(re.search(shapes.NUMBER, text)) is phone.is_destination(text) or text.endswith("\n")
    one_or_several = fields.TO.text(1)["pattern"]
    several = [part.strip(" ") for part in text.split(",")]
    taken = phone.is_destination(text) or (len(several) > 1 and all(map(phone.is_destination, several)))
    assert bool(re.search(one_or_several, text)) is taken or text.endswith("\n")
    for version in (1, 2):
        good = phone.sender_problem(text, version == 1) is None
        assert bool(re.search(fields.FROM.text(version)["pattern"], text)) is good or text.endswith("\n")


@given(st.from_regex(fields.TIME.replace("$", r"\Z")))
def test_a_time_of_the_pattern_is_read_unless_there_is_no_such_moment(text: str) -> None:
    problem = ""
    try:
        calendar.parse_time(text, ZoneInfo("Europe/Berlin"))
    except calendar.TimeProblem as refusal:
        problem = str(refusal)
    assert not problem or re.search("does not exist|skipped|out of range", problem)


@given(key=st.integers(0, 2**ids.KEY_BITS - 1), tail=st.integers(0, 2**ids.TAIL_BITS - 1), upper=st.booleans())
def test_every_id_has_its_pattern(key: int, tail: int, upper: bool) -> None:
    path = API["paths"]["/api/v1/messages/{id}"]["get"]["parameters"][0]["schema"]["pattern"]
    for text, pattern in ((ids.to_hex(key, tail), shapes.HEX_ID), (ids.to_uuid(key, tail), shapes.UUID)):
        assert re.search(pattern, text)
        assert re.search(path, text.upper() if upper else text)


@pytest.mark.parametrize(("scheduled", "reference"), [(False, None), (True, 'a "quoted" one')])
def test_the_answer_that_is_written_out_is_a_send_result(scheduled: bool, reference: str | None) -> None:
    message = Message(
        1, "491701234567", "Helio", 0, "Hello", 1, 35_000, 0, 0, State.SENT, 1, False, "", None, 0, scheduled
    )
    message.key, message.tail = 5, 7
    accept = Accept(1, [message], 35_000, 0, scheduled, False, reference)
    accept.verdict = Verdict.ACCEPTED
    expected = shapes.SendResult(
        "00", ids.to_hex(5, 7), msgspec.Raw(b"0.035"), reference, "Scheduled" if scheduled else "Sent"
    )
    assert answer.of_accept(accept).body == msgspec.json.encode(expected)


def test_a_receipt_is_what_is_told() -> None:
    message = Message(1, "491701234567", "Helio", 0, "Hello " * 9, 1, 0, 0, 0, State.SENT, 1, True, "", None, 0, False)
    assert SCHEMAS["Receipt"]["properties"]["message_status"]["enum"] == [state.name for state in Delivery]
    names = [*SCHEMAS["Receipt"]["properties"]]
    for state in Delivery:
        receipt = receipt_fields(message, ids.to_uuid(5, 7), state, "011", 1_800_000_000_000, ZoneInfo("UTC"))
        assert [*receipt, "network"] == names
        validator("Receipt").validate(receipt)


@pytest.mark.parametrize("wish", Wish)
def test_a_message_from_a_phone_is_what_is_told(wish: Wish) -> None:
    message = InboundMessage(1, 1, "491701234567", "3388", "STOP it", b"STOP it", 0, 1_800_000_000_000, wish=wish)
    posted = inbound_fields(message, ids.to_uuid(5, 7), ZoneInfo("UTC"))
    names = [*SCHEMAS["InboundNotice"]["properties"]]
    assert [*posted] == (names if wish is Wish.SUSPECTED else names[:-1])
    validator("InboundNotice").validate(posted)
