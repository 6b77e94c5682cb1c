"""The OpenAPI document as a page for people."""

import base64
import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple
from urllib.parse import urlencode

import jinja2
from markupsafe import Markup, escape

from heliograph.reference.document import JSON, json_paths, success_of

Schema = dict[str, Any]

NULL: Schema = {"type": "null"}

_CODE = re.compile(r"`([^`]*)`")
_TYPES = {"string": "text", "integer": "whole number", "boolean": "true or false"}


class Credential(NamedTuple):
    """An input for the page's forms, such as the API key."""

    id: str
    label: str
    sample: str
    """Its text in the examples, such as `API-KEY`."""
    is_secret: bool = True


class Look(NamedTuple):
    """The words of a page that are not in its document."""

    base: str
    """The address of the gateway in the examples, such as `https://sms.example.com`."""
    documents: tuple[tuple[str, str], ...]
    """The paths of documents for programs, each with its purpose."""
    credentials: tuple[Credential, ...]
    secrets: dict[str, str]
    """The ids of the inputs with the secrets, by security schemes."""
    scheme: str
    """The scheme of `Authorization`: `Basic` with the input `user`, or `Bearer`."""
    warning: str
    """The end of a sentence on calls from the page, such as `a message that you send is charged.`"""
    urls: Mapping[str, str] = MappingProxyType({})
    """The settings with the URLs of webhooks, by the webhooks' names."""


class Page(NamedTuple):
    html: str
    policy: str
    """The Content-Security-Policy: only the page's own style and script, and calls of this gateway."""

    @property
    def headers(self) -> tuple[tuple[bytes, bytes], ...]:
        return (
            (b"content-type", b"text/html; charset=utf-8"),
            (b"content-security-policy", self.policy.encode()),
            (b"referrer-policy", b"no-referrer"),
        )


def render(document: dict[str, Any], look: Look) -> Page:
    pages = jinja2.Environment(loader=jinja2.PackageLoader("heliograph.reference", "pages"), autoescape=True)
    pages.filters |= {
        "inline": _inline, "paragraphs": _paragraphs, "type_words": _type_words, "choices": _choices,
        "code_list": _code_list, "json": partial(json.dumps, indent=2, ensure_ascii=False),
    }  # fmt: skip
    assert pages.loader is not None
    style, script = (pages.loader.get_source(pages, f"reference.{kind}")[0] for kind in ("css", "js"))
    html = pages.get_template("reference.html").render(
        **_view(document, look),
        look=look,
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


def _view(api: dict[str, Any], look: Look) -> dict[str, Any]:
    parts = api["components"]
    groups = {each["name"]: each["description"] for each in api["tags"]}
    operations = [
        _operation_view(parts, path, method, operation, look)
        for path, methods in json_paths(api).items()
        for method, operation in methods.items()
    ]
    seen: set[int] = set()
    for error in api["x-errors"]:
        error["first"] = error["HTTP"] not in seen
        seen.add(error["HTTP"])
    webhooks = api.get("webhooks", {})
    posted = {_named(_content(webhook["post"]["requestBody"])["schema"]) for webhook in webhooks.values()}
    bodies = {each["body_name"] for each in operations}
    bodies |= {name for name in parts["schemas"] if name.endswith(("Request", "Form"))}
    return {
        "api": api,
        "groups": [
            (name, told, [each for each in operations if each["group"] == name]) for name, told in groups.items()
        ],
        "operations": operations,
        "webhooks": [_webhook_view(parts, webhook["post"], look.urls[name]) for name, webhook in webhooks.items()],
        "shapes": {name: parts["schemas"][name] for name in sorted(parts["schemas"].keys() - posted - bodies)},
    }


def _content(body: Schema) -> Schema:
    found: Schema = body["content"][JSON]
    return found


def _named(reference: Schema) -> str:
    """Returns the name of a schema that is referred to."""
    return str(reference["$ref"].rpartition("/")[2])


def _examples(content: Schema) -> list[Any]:
    return [each["value"] for each in content["examples"].values()] if "examples" in content else [content["example"]]


def _operation_view(parts: Schema, path: str, method: str, operation: Schema, look: Look) -> dict[str, Any]:
    success = success_of(operation)
    content = _content(success)
    refs = content["schema"].get("anyOf", [content["schema"]])
    body = _content(operation["requestBody"]) if "requestBody" in operation else None
    inputs = [each for each in operation.get("parameters", ()) if "$ref" not in each]
    schemes = [name for each in operation["security"] for name in each]
    return {
        "id": operation["operationId"],
        "group": operation["tags"][0],
        "summary": operation["summary"],
        "description": operation["description"],
        "method": method,
        "path": path,
        "scheme": parts["securitySchemes"][schemes[0]] if schemes else None,
        "secret": look.secrets[schemes[0]] if schemes else "",
        "parameters": _as_fields(inputs),
        "body": None if body is None else _without_null(parts, body["schema"]),
        "body_name": "" if body is None else _named(body["schema"]),
        "samples": operation["x-codeSamples"],
        "inputs": inputs,
        "example": None if body is None else _examples(body)[0],
        "answer": {
            "description": success["description"],
            "examples": _examples(content),
            "shapes": [_named(ref) for ref in refs],
        },
        "failures": [status for status in operation["responses"] if not status.startswith("2")],
    }


def _webhook_view(parts: Schema, webhook: Schema, url: str) -> dict[str, Any]:
    formats = webhook["requestBody"]["content"]
    content = _content(webhook["requestBody"])
    head = "\n".join(f"{each['name']}: {each['example']}" for each in webhook["parameters"])
    body = json.dumps(content["example"]) if list(formats) == [JSON] else urlencode(content["example"])
    return {
        **webhook,
        "url": url,
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
    found: Schema = parts["schemas"][_named(schema)]
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
        return _named(schema)
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(map(_type_words, schema["anyOf"])))
    if schema.get("type") == "array":
        items = _type_words(schema["items"])
        return "list of them" if " or " in items else f"list of {items}"
    kind = schema.get("type", "string")
    return _TYPES.get(kind) or str(kind)


def _choices(schema: Schema) -> list[str]:
    """Returns the allowed texts of the value."""
    if "anyOf" in schema:
        return [word for each in schema["anyOf"] if each.get("type", "string") == "string" for word in _choices(each)]
    return [word for word in schema.get("enum", ()) if word]


def _code_list(words: Iterable[str]) -> Markup:
    return Markup(", ").join(Markup("<code>{}</code>").format(word) for word in words)
