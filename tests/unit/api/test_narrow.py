"""The document for generators says only what the whole document says, in words that they all know."""

from collections.abc import Iterator
from typing import Any

import jsonschema_rs
import pytest

from heliograph.api.fields import Terms
from heliograph.api.narrow import narrowed
from heliograph.api.openapi import document

WHOLE = document(Terms())
NARROW = narrowed(WHOLE)
SCHEMAS = NARROW["components"]["schemas"]


def parts(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
        for each in value.values():
            yield from parts(each)
    elif isinstance(value, list):
        for each in value:
            yield from parts(each)


def test_it_has_every_operation() -> None:
    whole, narrow = (
        {
            (path, method, each["operationId"])
            for path, methods in api["paths"].items()
            for method, each in methods.items()
        }
        for api in (WHOLE, NARROW)
    )
    files = {("/account/v1/messages", "get", "export_messages")}  # clients are generated for answers in JSON
    assert whole - files == narrow


def test_no_schema_is_of_several_types_or_uses_words_of_later_versions() -> None:
    assert NARROW["openapi"] == "3.0.3"
    for schema in parts({"schemas": SCHEMAS, "paths": NARROW["paths"]}):
        assert not {"anyOf", "oneOf", "allOf", "if", "examples", "const"} & {
            name for name, value in schema.items() if isinstance(value, (dict, list))
        }
        assert not isinstance(schema.get("type"), list)
        assert schema.get("type") != "null"


def test_every_reference_leads_somewhere_and_every_schema_is_used() -> None:
    used = {part["$ref"].rpartition("/")[2] for part in parts(NARROW) if isinstance(part.get("$ref"), str)}
    assert used <= set(SCHEMAS)
    assert set(SCHEMAS) - used == set()


@pytest.mark.parametrize("name", ["SendRequest", "SendV2Request", "RescheduleRequest"])
def test_what_it_has_clients_send_is_taken(name: str) -> None:
    strict = jsonschema_rs.validator_for({**WHOLE, "$ref": f"#/components/schemas/{name}"})
    properties = SCHEMAS[name]["properties"]
    assert set(properties) == set(WHOLE["components"]["schemas"][name]["properties"])
    whole = {field: schema["example"] for field, schema in properties.items()}
    for left_out in ((), ("coding",), ("time",)):
        body = {field: value for field, value in whole.items() if field not in left_out or name.startswith("R")}
        if "coding" in body:
            body |= {"type": "binary", "content": "0102"}
        strict.validate(body)


@pytest.mark.parametrize("name", ["SendResult", "QuoteResult", "RecordList", "InboundPage", "NoticePage", "Problem"])
def test_what_is_answered_fits_it(name: str) -> None:
    known = WHOLE["components"]["schemas"][name]
    assert set(SCHEMAS[name]["properties"]) == set(known["properties"])
    assert set(SCHEMAS[name].get("required", ())) == set(known.get("required", ()))
    assert not [part for part in parts(SCHEMAS[name]) if "enum" in part]
