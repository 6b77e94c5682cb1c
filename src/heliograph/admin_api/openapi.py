"""The OpenAPI 3.1 document of the admin API, generated from the operations and the types that they read and answer."""

import json
import re
import shlex
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any
from urllib.parse import quote, urlencode

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
from heliograph.reference.document import example_of

_REF = "#/components/schemas/{name}"
_SUFFIXED = re.compile(rb"\b([A-Z][A-Za-z]+)Shape\b")
"""A suffix of types' names that the document leaves out."""

_EVERYWHERE = (MALFORMED, INVALID, UNAUTHENTICATED, FORBIDDEN, TOO_EARLY, INTERNAL, UNAVAILABLE)
_WITH_A_BODY = (MISSING, TOO_LARGE, MEDIA_TYPE)

BASE = "https://sms.example.com"
SECRET = "$TOKEN"  # noqa: S105 - it stands for a token in examples

_INTRODUCTION = """\
Administration over HTTP, for programs. Each request carries an admin token (`Authorization: Bearer hat_...`), made \
with `heliograph admin token create` or in the console, that has the scope which its operation names. Amounts are \
exact decimal text, times ISO 8601 in UTC. A running gateway heeds a change within five seconds; each one is noted in \
the audit log. Errors are those of the customers' API."""


def document(operations: Sequence[AdminOperation]) -> dict[str, Any]:
    kinds = {operation.answers for operation in operations if operation.answers is not None} | {shapes.ProblemShape}
    kinds |= {operation.reads for operation in operations if operation.reads is not None}
    _, components = msgspec.json.schema_components(sorted(kinds, key=_schema_name), ref_template=_REF)
    schemas = msgspec.json.decode(_SUFFIXED.sub(rb"\1", msgspec.json.encode(components)))
    paths: dict[str, dict[str, Any]] = {}
    for operation in operations:
        paths.setdefault(ROOT + operation.path, {})[operation.method.lower()] = _operation(operation, schemas)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Heliograph admin API",
            "version": __version__,
            "description": _INTRODUCTION,
            "license": {"name": "Apache License 2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/", "description": "This gateway"}],
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
        "x-errors": [
            {
                "Status": each.code,
                "HTTP": each.http,
                "title": each.title,
                "when": each.when,
                "retry": each.retry,
                "example": {"Status": each.code, "Message": each.when},
            }
            for each in CATALOGUE
        ],
        "tags": [{"name": name, "description": subject} for name, subject in _subjects(operations).items()],
    }


def _subjects(operations: Sequence[AdminOperation]) -> dict[str, str]:
    """Returns the sentence of each group: that of the things by its name, otherwise of its first operation."""
    found: dict[str, str] = {}
    for each in operations:
        if each.things == each.group:
            found[each.group] = each.subject
        found.setdefault(each.group, each.subject)
    return found


def _operation(operation: AdminOperation, schemas: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {
        "operationId": operation.id,
        "summary": operation.summary,
        "description": _scopes(operation),
        "tags": [operation.group],
        "security": [{"token": [operation.scope.value]}],
        "responses": {
            str(operation.status): _success(operation, schemas),
            **_faults(operation),
        },
    }
    parameters = [_parameter(each, "path") for each in operation.in_path]
    parameters += [_parameter(each, "query") for each in operation.query]
    if parameters:
        found["parameters"] = parameters
    if operation.reads is not None:
        found["requestBody"] = {
            "required": not operation.may_be_bare,
            "content": _content(operation.reads, schemas, whole=False),
        }
    found["x-codeSamples"] = [{"lang": "Shell", "label": "curl", "source": _command(operation, found)}]
    return found


def _success(operation: AdminOperation, schemas: dict[str, Any]) -> dict[str, Any]:
    if operation.answers is None:
        content = {media: {"schema": {"type": "string"}} for media in operation.media_types}
        return {"description": f"{operation.summary}.", "content": content}
    return {
        "description": (operation.answers.__doc__ or "The answer.").strip().splitlines()[0],
        "content": _content(operation.answers, schemas, whole=True),
    }


def _command(operation: AdminOperation, documented: dict[str, Any]) -> str:
    """Returns a command with curl that calls the operation with its required parameters and its example body."""
    path, query = operation.path, {}
    for each in operation.in_path:
        path = path.replace(f"{{{each.name}}}", quote(each.example, safe=""))
    for each in operation.query:
        if each.required:
            query[each.name] = each.example
    url = f"{BASE}{ROOT}{path}" + (f"?{urlencode(query)}" if query else "")
    lines = [f'curl -H "Authorization: Bearer {SECRET}"']
    usual = "GET" if operation.reads is None else "POST"
    if operation.method != usual:
        lines[0] += f" -X {operation.method}"
    if operation.reads is not None:
        body = json.dumps(documented["requestBody"]["content"]["application/json"]["example"], ensure_ascii=False)
        lines += ["-H 'Content-Type: application/json'", f"-d {shlex.quote(body)}"]
    return " \\\n     ".join([*lines, shlex.quote(url)])


def _content(kind: type, schemas: dict[str, Any], *, whole: bool) -> dict[str, Any]:
    """Returns a body with its example."""
    schema = _ref(kind)
    return {"application/json": {"schema": schema, "example": example_of(schema, schemas, whole=whole)}}


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
            "content": {
                "application/json": {
                    "schema": _ref(shapes.ProblemShape),
                    "examples": {
                        entry.code: {"summary": entry.title, "value": {"Status": entry.code, "Message": entry.when}}
                        for entry in found
                    },
                }
            },
        }
        for status, found in sorted(by_status.items())
    }


def _parameter(parameter: QueryParameter, place: str) -> dict[str, Any]:
    example = {"example": parameter.example} if parameter.example else {}
    return {
        "name": parameter.name,
        "in": place,
        "required": parameter.required,
        "description": parameter.meaning,
        "schema": parameter.schema,
        **example,
    }


def _ref(kind: type) -> dict[str, str]:
    return {"$ref": _REF.format(name=_schema_name(kind))}


def _schema_name(kind: type) -> str:
    return kind.__name__.removesuffix("Shape")
