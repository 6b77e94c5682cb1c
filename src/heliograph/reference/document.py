"""OpenAPI documents: their operations in JSON, and instances of their schemas."""

from collections.abc import Mapping
from typing import Any

Schema = Mapping[str, Any]

JSON = "application/json"

PLACEHOLDER = "TEXT"

FEW = 2
"""Optional fields in the example of an object, unless all of them are asked for."""


def example_of(schema: Schema, schemas: Mapping[str, Schema], *, whole: bool) -> Any:
    """Returns an instance of a schema. `schemas` has the schemas that it refers to, by name.

    `whole` includes all optional fields. A text without an example is `PLACEHOLDER`.
    """
    if "$ref" in schema:
        return example_of(schemas[schema["$ref"].rpartition("/")[2]], schemas, whole=whole)
    if "examples" in schema:
        return schema["examples"][0]
    if "anyOf" in schema:
        return example_of(schema["anyOf"][0], schemas, whole=whole)
    if "enum" in schema:
        return schema["enum"][0]
    if "properties" in schema:
        names = schema["properties"] if whole else _names(schema)
        return {name: example_of(schema["properties"][name], schemas, whole=whole) for name in names}
    match schema["type"]:
        case "array":
            return [example_of(schema["items"], schemas, whole=whole)]
        case "object":
            return {}
        case "boolean":
            return True
        case "integer" | "number":
            return max(1, schema.get("minimum", 0))
    return PLACEHOLDER


def _names(schema: Schema) -> list[str]:
    """Returns the required fields; if there are none, a few others, preferably with an example."""
    shown = [name for name, each in schema["properties"].items() if each.get("examples", [""]) != [""]]
    return schema.get("required") or (shown or [*schema["properties"]])[:FEW]


def json_paths(document: dict[str, Any]) -> dict[str, Any]:
    """Returns the paths that answer in JSON. Clients are generated for these only."""
    return {
        path: methods
        for path, methods in document["paths"].items()
        if all(JSON in success_of(each).get("content", {}) for each in methods.values())
    }


def success_of(operation: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the answer of success."""
    found: dict[str, Any] = next(each for status, each in operation["responses"].items() if status.startswith("2"))
    return found
