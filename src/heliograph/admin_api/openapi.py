"""The OpenAPI 3.1 document of the admin API, generated from the operations and the types that they read and answer."""

import re
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

import msgspec

from heliograph import __version__
from heliograph.admin_api import shapes
from heliograph.admin_api.operation import ROOT, AdminOperation, QueryParameter
from heliograph.app.records import TOKEN_SCOPES
from heliograph.domain.error import (
    CATALOGUE,
    FORBIDDEN,
    INTERNAL,
    INVALID,
    MALFORMED,
    MEDIA_TYPE,
    MISSING,
    TOO_EARLY,
    TOO_LARGE,
    UNAUTHENTICATED,
    UNAVAILABLE,
    Entry,
)

_REF = "#/components/schemas/{name}"
_SUFFIXED = re.compile(rb"\b([A-Z][A-Za-z]+)Shape\b")
"""A suffix of types' names that the document leaves out."""

_EVERYWHERE = (MALFORMED, INVALID, UNAUTHENTICATED, FORBIDDEN, TOO_EARLY, INTERNAL, UNAVAILABLE)
_WITH_A_BODY = (MISSING, TOO_LARGE, MEDIA_TYPE)

_INTRODUCTION = """\
Administration over HTTP, for programs. Each request carries an admin token (`Authorization: Bearer hat_...`), made \
with `heliograph admin token create` or in the console, that has the scope which its operation names. Amounts are \
exact decimal text, times ISO 8601 in UTC. A running gateway heeds a change within five seconds; each one is noted in \
the audit log. Errors are those of the customers' API."""


def document(operations: Sequence[AdminOperation]) -> dict[str, Any]:
    kinds = {operation.answers for operation in operations} | {shapes.ProblemShape}
    kinds |= {operation.reads for operation in operations if operation.reads is not None}
    _, components = msgspec.json.schema_components(sorted(kinds, key=_schema_name), ref_template=_REF)
    schemas = msgspec.json.decode(_SUFFIXED.sub(rb"\1", msgspec.json.encode(components)))
    paths: dict[str, dict[str, Any]] = {}
    for operation in operations:
        paths.setdefault(ROOT + operation.path, {})[operation.method.lower()] = _operation(operation)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Heliograph admin API", "version": __version__, "description": _INTRODUCTION},
        "servers": [{"url": "/"}],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {
                "token": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "An admin token. Scopes: " + ", ".join(f"`{scope}`" for scope in TOKEN_SCOPES) + ".",
                }
            },
        },
        "tags": [{"name": name} for name in dict.fromkeys(operation.group for operation in operations)],
    }


def _operation(operation: AdminOperation) -> dict[str, Any]:
    found: dict[str, Any] = {
        "operationId": operation.id,
        "summary": operation.summary,
        "description": _scopes(operation),
        "tags": [operation.group],
        "security": [{"token": [operation.scope.value]}],
        "responses": {
            str(operation.status): {
                "description": (operation.answers.__doc__ or "The answer.").strip().splitlines()[0],
                "content": {"application/json": {"schema": _ref(operation.answers)}},
            },
            **_faults(operation),
        },
    }
    parameters: list[dict[str, Any]] = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in re.findall(r"{(\w+)}", operation.path)
    ]
    parameters += [_query_parameter(each) for each in operation.query]
    if parameters:
        found["parameters"] = parameters
    if operation.reads is not None:
        found["requestBody"] = {
            "required": not operation.may_be_bare,
            "content": {"application/json": {"schema": _ref(operation.reads)}},
        }
    return found


def _scopes(operation: AdminOperation) -> str:
    fields = [f"`{scope.value}` for `{field}`" for field, scope in operation.scopes.items()]
    return f"Takes the scope `{operation.scope.value}`" + "".join(f"; {each}" for each in fields) + "."


def _faults(operation: AdminOperation) -> dict[str, Any]:
    entries = {*_EVERYWHERE, *operation.faults, *(_WITH_A_BODY if operation.reads is not None else ())}
    if any(parameter.required for parameter in operation.query):
        entries.add(MISSING)
    by_status: dict[int, list[Entry]] = {}
    for entry in CATALOGUE:
        if entry in entries:
            by_status.setdefault(entry.http, []).append(entry)
    return {
        str(status): {
            "description": f"{HTTPStatus(status).phrase}: "
            + "; ".join(f"`{entry.code}` {entry.title.lower()}" for entry in found),
            "content": {"application/json": {"schema": _ref(shapes.ProblemShape)}},
        }
        for status, found in sorted(by_status.items())
    }


def _query_parameter(parameter: QueryParameter) -> dict[str, Any]:
    return {
        "name": parameter.name,
        "in": "query",
        "required": parameter.required,
        "description": parameter.meaning,
        "schema": parameter.schema,
    }


def _ref(kind: type) -> dict[str, str]:
    return {"$ref": _REF.format(name=_schema_name(kind))}


def _schema_name(kind: type) -> str:
    return kind.__name__.removesuffix("Shape")
