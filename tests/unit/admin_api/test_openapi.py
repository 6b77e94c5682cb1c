"""The OpenAPI document of the admin API: examples and words for all that a program gives and gets."""

from typing import Any

import jsonschema_rs
import msgspec

from heliograph.admin_api.openapi import document
from heliograph.admin_api.operations import operations
from heliograph.composition.connectors import KINDS
from heliograph.reference.document import PLACEHOLDER

API: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(document(operations(KINDS))))
OPERATIONS = [(f"{method} {path}", each) for path, methods in API["paths"].items() for method, each in methods.items()]


def test_every_body_has_a_valid_example() -> None:
    """All in a single validator: it would take longer to read the schemas again for each of them."""
    schemas: dict[str, Any] = {}
    found: dict[str, Any] = {}
    for name, operation in OPERATIONS:
        bodies = {status: each["content"] for status, each in operation["responses"].items()}
        if "requestBody" in operation:
            bodies["request"] = operation["requestBody"]["content"]
        for part, body in bodies.items():
            if "application/json" not in body:
                continue  # a file
            content = body["application/json"]
            examples = [each["value"] for each in content["examples"].values()] if "examples" in content else None
            for number, example in enumerate(examples or [content["example"]]):
                place = f"{name} {part} {number}"
                assert example, place
                assert PLACEHOLDER not in str(example), f"{place}: a field needs an example"
                schemas[place], found[place] = content["schema"], example
    validator = jsonschema_rs.validator_for({**API, "type": "object", "properties": schemas})
    assert len(found) > len(OPERATIONS)
    assert [f"{error.instance_path}: {error.message}" for error in validator.iter_errors(found)] == []


def test_every_parameter_has_its_meaning() -> None:
    for _, operation in OPERATIONS:
        for each in operation.get("parameters", ()):
            assert each["description"]
            assert each["in"] == "query" or each["example"]


def test_every_group_has_its_sentence() -> None:
    assert {each["name"] for each in API["tags"]} == {tag for _, operation in OPERATIONS for tag in operation["tags"]}
    assert all(each["description"].endswith(".") for each in API["tags"])
