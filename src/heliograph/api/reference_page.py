"""The OpenAPI document as a page for people."""

import base64
import hashlib
import json
import re
from collections.abc import Iterable
from functools import partial
from typing import Any, NamedTuple
from urllib.parse import urlencode

import jinja2
from markupsafe import Markup, escape

from heliograph.api import shapes
from heliograph.api.fields import NULL, Schema
from heliograph.api.openapi import BASE, SECRETS, USER, json_paths

_CODE = re.compile(r"`([^`]*)`")
_TYPES = {"string": "text", "integer": "whole number", "boolean": "true or false"}


class Page(NamedTuple):
    html: str
    policy: str
    """The Content-Security-Policy: only the page's own style and script, and calls of this gateway."""


def render(document: dict[str, Any]) -> Page:
    pages = jinja2.Environment(loader=jinja2.PackageLoader("heliograph.api", "pages"), autoescape=True)
    pages.filters |= {
        "inline": _inline, "paragraphs": _paragraphs, "type_words": _type_words, "choices": _choices,
        "code_list": _code_list, "json": partial(json.dumps, indent=2, ensure_ascii=False),
    }  # fmt: skip
    assert pages.loader is not None
    style, script = (pages.loader.get_source(pages, f"reference.{kind}")[0] for kind in ("css", "js"))
    html = pages.get_template("reference.html").render(
        **_view(document),
        base=BASE,
        user=USER,
        secrets=SECRETS,
        style=Markup(style),  # noqa: S704 - ours
        script=Markup(script),  # noqa: S704 - ours
    )
    return Page(
        html,
        f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    )


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


# --- the document in the form for the template


def _view(api: dict[str, Any]) -> dict[str, Any]:
    parts = api["components"]
    operations = [
        _operation_view(parts, path, method, operation)
        for path, methods in json_paths(api).items()
        for method, operation in methods.items()
    ]
    seen: set[int] = set()
    for error in api["x-errors"]:
        status = error["HTTP"]
        error["first"] = status not in seen
        seen.add(status)
        failure = parts["responses"][f"Error{status}"]["content"]["application/json"]
        error["example"] = failure["examples"][error["Status"]]["value"]
    posted = [shape.__name__ for shape in shapes.WEBHOOKS]
    answers = [name for name in parts["schemas"] if hasattr(shapes, name) and name not in posted]
    return {
        "api": api,
        "operations": operations,
        "webhooks": [_webhook_view(parts, webhook["post"]) for webhook in api["webhooks"].values()],
        "shapes": {name: parts["schemas"][name] for name in sorted(answers)},
    }


def _operation_view(parts: Schema, path: str, method: str, operation: Schema) -> dict[str, Any]:
    success = operation["responses"]["200"]
    content = success["content"]["application/json"]
    refs = content["schema"].get("anyOf", [content["schema"]])
    body = operation.get("requestBody")
    inputs = [each for each in operation["parameters"] if "$ref" not in each]
    schemes = [parts["securitySchemes"][name] for each in operation["security"] for name in each]
    return {
        "id": operation["operationId"],
        "summary": operation["summary"],
        "description": operation["description"],
        "method": method,
        "path": path,
        "scheme": schemes[0] if schemes else None,
        "parameters": _as_fields(inputs),
        "body": None if body is None else _without_null(parts, body["content"]["application/json"]["schema"]),
        "samples": operation["x-codeSamples"],
        "inputs": inputs,
        "example": None
        if body is None
        else next(iter(body["content"]["application/json"]["examples"].values()))["value"],
        "answer": {
            "description": success["description"],
            "examples": [each["value"] for each in content["examples"].values()],
            "shapes": [ref["$ref"].rpartition("/")[2] for ref in refs],
        },
        "failures": [status for status in operation["responses"] if status != "200"],
    }


def _webhook_view(parts: Schema, webhook: Schema) -> dict[str, Any]:
    content = webhook["requestBody"]["content"]["application/x-www-form-urlencoded"]
    head = "\n".join(f"{each['name']}: {each['example']}" for each in webhook["parameters"])
    body = urlencode(content["example"])
    return {
        **webhook,
        "url": "dlr-url" if webhook["tags"] == ["messages"] else "inbound_url",
        "headers": _as_fields(webhook["parameters"]),
        "body": _resolved(parts, content["schema"]),
        "example": f"{head}\n\n{body}",
    }


def _as_fields(parameters: Iterable[Schema]) -> Schema | None:
    """Returns the parameters in the form of an object's schema."""
    properties = {each["name"]: {**each["schema"], "description": each["description"]} for each in parameters}
    required = [each["name"] for each in parameters if each.get("required")]
    return {"properties": properties, "required": required} if properties else None


def _resolved(parts: Schema, schema: Schema) -> Schema:
    found: Schema = parts["schemas"][schema["$ref"].rpartition("/")[2]]
    return found


def _without_null(parts: Schema, reference: Schema) -> Schema:
    """Returns the schema of a JSON body without null in each field, which means absent and is described once."""
    schema = _resolved(parts, reference)
    properties = {
        name: {**part, "anyOf": [each for each in part["anyOf"] if each != NULL]} if "anyOf" in part else part
        for name, part in schema["properties"].items()
    }
    return {**schema, "properties": properties}


# --- filters


def _inline(text: str) -> Markup:
    """Converts a text with code between back quotes."""
    return Markup(_CODE.sub(r"<code>\1</code>", str(escape(text))))  # noqa: S704 - escaped


def _paragraphs(text: str) -> Markup:
    return Markup("\n").join(Markup("<p>{}</p>").format(_inline(each)) for each in text.split("\n\n"))


def _type_words(schema: Schema) -> str:
    """Returns the types of a value in words, for example "text or number"."""
    if "$ref" in schema:
        return str(schema["$ref"].rpartition("/")[2])
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(map(_type_words, schema["anyOf"])))
    if schema["type"] == "array":
        items = _type_words(schema["items"])
        return "list of them" if " or " in items else f"list of {items}"
    return _TYPES.get(schema["type"]) or str(schema["type"])


def _choices(schema: Schema) -> list[str]:
    """Returns the allowed texts of the value."""
    if "anyOf" in schema:
        return [word for each in schema["anyOf"] if each.get("type") == "string" for word in _choices(each)]
    return [word for word in schema.get("enum", ()) if word]


def _code_list(words: Iterable[str]) -> Markup:
    return Markup(", ").join(Markup("<code>{}</code>").format(word) for word in words)
