"""The OpenAPI 3.0 document for client generators: the content of the 3.1 document in the vocabulary that they all know.

Requests are narrower than the parser accepts: only JSON, and a single type for each field. Answers are wider: values
that may get more members are not enumerations, and a value with two possible shapes has the fields of both.
"""

from collections.abc import Callable
from typing import Any, Final

from heliograph.api import shapes
from heliograph.api.fields import MEDIA_TYPES, Schema
from heliograph.domain.limits.defaults import LIST_LIMIT
from heliograph.domain.message.state import KIND_NAMES
from heliograph.domain.numbers.phone import MAX_DIGITS, MIN_DIGITS
from heliograph.reference.document import json_paths

_JSON: Final = MEDIA_TYPES[0]

WEBHOOKS: Final = frozenset(shape.__name__ for shape in shapes.WEBHOOKS)
"""Shapes of requests to customers, which no client sends."""

_NAMES: Final = {"Record": "MessageRecord", "Done": "Confirmation"}
"""Shapes with names that have another meaning in a language of generated clients."""

_LICENSE_URL: Final = "https://www.apache.org/licenses/LICENSE-2.0"

_EITHER: Final = "MessageOrBatch"
"""The answer that is either a message or the list of a batch."""

_FIELDS: Final[dict[str, Callable[[Schema], Schema]]] = {
    "to": lambda was: {
        "type": "array",
        "items": {"type": "string", "minLength": MIN_DIGITS, "maxLength": MAX_DIGITS},
        "minItems": 1,
        "example": [was["examples"][0]],
    },
    "type": lambda _: {"type": "string", "enum": sorted(KIND_NAMES.values()), "example": "text"},
    "dlr": lambda _: {"type": "boolean", "example": True},
    "progress": lambda _: {"type": "boolean", "example": False},
    "validity": lambda _: {"type": "integer", "format": "int64", "minimum": 60, "example": 600},
    "delivered": lambda _: {"type": "boolean", "example": True},
    "priority": lambda _: {"type": "integer", "minimum": 0, "maximum": 3, "example": 1},
    "coding": lambda _: {"type": "integer", "minimum": 0, "maximum": 255, "example": 245},
    "tlvs": lambda was: {"type": "object", "additionalProperties": True, "example": was["examples"][0]},
}
"""Fields of requests for which the narrow document uses another type than the first type in the whole document."""


def narrowed(document: dict[str, Any]) -> dict[str, Any]:
    """Returns the document for generators, made from the complete document."""
    schemas: dict[str, Schema] = document["components"]["schemas"]
    bodies = {name: _body(schema) for name, schema in schemas.items() if name.endswith("Request")}
    answers = {
        _NAMES.get(name, name): _answer(schema)
        for name, schema in schemas.items()
        if not name.endswith(("Request", "Form")) and name not in WEBHOOKS
    }
    for name in _null_or_shape(schemas):
        answers[name]["nullable"] = True
    answers[_EITHER] = {
        "type": "object",
        "description": f"A message; or, of a batch, `count` and up to {LIST_LIMIT} `messages`.",
        "properties": {**answers["MessageRecord"]["properties"], **answers["RecordList"]["properties"]},
    }
    info = {name: value for name, value in document["info"].items() if name not in ("summary", "license")}
    return {
        "openapi": "3.0.3",
        "info": info | {"license": {"name": document["info"]["license"]["name"], "url": _LICENSE_URL}},
        "servers": document["servers"],
        "tags": document["tags"],
        "paths": {
            path: {method: _operation(each, document) for method, each in methods.items()}
            for path, methods in json_paths(document).items()
        },
        "components": {
            "schemas": bodies | answers,
            "securitySchemes": document["components"]["securitySchemes"],
        },
    }


def _operation(operation: dict[str, Any], document: dict[str, Any]) -> dict[str, Any]:
    kept = {name: operation[name] for name in ("operationId", "tags", "summary", "description", "security")}
    kept["parameters"] = [_parameter(each, document) for each in operation["parameters"]]
    if "requestBody" in operation:
        schema = operation["requestBody"]["content"][_JSON]["schema"]
        kept["requestBody"] = {"required": True, "content": {_JSON: {"schema": schema}}}
    kept["responses"] = {status: _response(response, document) for status, response in operation["responses"].items()}
    return kept


def _parameter(parameter: dict[str, Any], document: dict[str, Any]) -> dict[str, Any]:
    if "$ref" in parameter:
        parameter = document["components"]["parameters"][parameter["$ref"].rpartition("/")[2]]
    schema = parameter["schema"]
    narrow: Schema = {"type": "boolean"} if "anyOf" in schema else _plain(schema)
    return {name: value for name, value in parameter.items() if name != "allowEmptyValue"} | {"schema": narrow}


def _response(response: dict[str, Any], document: dict[str, Any]) -> dict[str, Any]:
    if "$ref" in response:
        response = document["components"]["responses"][response["$ref"].rpartition("/")[2]]
    schema = response["content"][_JSON]["schema"]
    if "anyOf" in schema:
        schema = {"$ref": f"#/components/schemas/{_EITHER}"}
    return {"description": response["description"], "content": {_JSON: {"schema": _renamed(schema)}}}


def _body(schema: Schema) -> Schema:
    properties = {}
    for name, was in schema["properties"].items():
        first = was["anyOf"][0] if "anyOf" in was else was
        narrow = _FIELDS[name](was) if name in _FIELDS else {**_plain(first), "example": was["examples"][0]}
        properties[name] = {"description": was["description"], **narrow}
    return {"type": "object", "required": schema["required"], "properties": properties}


def _null_or_shape(schemas: dict[str, Schema]) -> set[str]:
    """Returns the shapes that stand in a field which may be null."""
    properties = [each for schema in schemas.values() for each in schema.get("properties", {}).values()]
    choices = [each["anyOf"] for each in properties if {"type": "null"} in each.get("anyOf", ())]
    return {each["$ref"].rpartition("/")[2] for choice in choices for each in choice if "$ref" in each}


def _answer(schema: Schema) -> Schema:
    """Returns the schema of an answer, or of a part of it."""
    if "$ref" in schema:
        return _renamed(schema)
    nullable = "anyOf" in schema and {"type": "null"} in schema["anyOf"]
    if nullable:
        [only] = [each for each in schema["anyOf"] if each != {"type": "null"}]
        if "$ref" in only:
            # nothing may stand beside a reference: the shape itself may be null
            return _renamed(only)
        schema = {**{name: value for name, value in schema.items() if name != "anyOf"}, **only}
    plain = _plain({name: value for name, value in schema.items() if name not in ("enum", "title")})
    if "properties" in schema:
        plain["properties"] = {name: _answer(each) for name, each in schema["properties"].items()}
    if "items" in schema:
        plain["items"] = _answer(schema["items"])
    if nullable:
        plain["nullable"] = True
    return plain


def _plain(schema: Schema) -> Schema:
    """Returns the schema in the vocabulary of OpenAPI 3.0."""
    plain = {
        name: value
        for name, value in schema.items()
        if name not in ("examples", "default", "anyOf", "allOf", "pattern")
    }
    if schema.get("examples"):
        plain["example"] = schema["examples"][0]
    if schema.get("type") == "integer" and (schema.get("maximum") or 0) > 2**31:
        plain |= {"format": "int64", "maximum": min(schema["maximum"], 2**53)}
    return plain


def _renamed(schema: Schema) -> Schema:
    name = schema["$ref"].rpartition("/")[2]
    return {"$ref": f"#/components/schemas/{_NAMES.get(name, name)}"}
