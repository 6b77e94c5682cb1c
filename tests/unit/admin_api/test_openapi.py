"""The OpenAPI document of the admin API: examples and words for all that a program gives and gets."""

from typing import Any

import jsonschema_rs
import msgspec
import pytest

from heliograph.admin_api.openapi import document
from heliograph.admin_api.operations import operations
from heliograph.composition.connectors import KINDS
from heliograph.reference.document import PLACEHOLDER

API: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(document(operations(KINDS))))
OPERATIONS = [(f"{method} {path}", each) for path, methods in API["paths"].items() for method, each in methods.items()]


@pytest.mark.parametrize(("name", "operation"), OPERATIONS, ids=lambda each: each if isinstance(each, str) else "")
def test_every_body_has_a_valid_example(name: str, operation: dict[str, Any]) -> None:
    bodies = [each["content"] for each in operation["responses"].values()]
    bodies += [operation["requestBody"]["content"]] if "requestBody" in operation else []
    for body in bodies:
        content = body["application/json"]
        examples = [each["value"] for each in content["examples"].values()] if "examples" in content else None
        for example in examples or [content["example"]]:
            assert example
            assert PLACEHOLDER not in str(example), "a field needs an example"
            jsonschema_rs.validator_for({**API, **content["schema"]}).validate(example)


def test_every_parameter_has_its_meaning() -> None:
    for _, operation in OPERATIONS:
        for each in operation.get("parameters", ()):
            assert each["description"]
            assert each["in"] == "query" or each["example"]


def test_every_group_has_its_sentence() -> None:
    assert {each["name"] for each in API["tags"]} == {tag for _, operation in OPERATIONS for tag in operation["tags"]}
    assert all(each["description"].endswith(".") for each in API["tags"])
