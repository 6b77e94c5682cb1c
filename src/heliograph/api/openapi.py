"""The OpenAPI 3.1 document of the customers' API, generated from its operations, fields, shapes and errors."""

from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from types import MappingProxyType
from typing import Any, NamedTuple

import msgspec

from heliograph import __version__
from heliograph.api import fields, shapes
from heliograph.api.fields import Field, Schema, Terms
from heliograph.api.operations import OPERATIONS, CustomerOperation
from heliograph.api.samples import ShownCall, programs
from heliograph.app.sending.refusal import in_doubt, unavailable
from heliograph.domain import error
from heliograph.domain.error import CATALOGUE, METHOD, UNAUTHENTICATED, Entry, Fault
from heliograph.domain.message.receipt import MAX_CODE_CHARS
from heliograph.domain.numbers import phone
from heliograph.reference.document import example_of

JSON, FORM = fields.MEDIA_TYPES

BASE = "https://sms.example.com"
USER = "acme"
SECRETS = {1: "API-KEY", 2: "PASSWORD"}
"""Examples of secrets, by API version."""

FAULTS: dict[Entry, Fault] = {
    fault.entry: fault
    for fault in (
        Fault(error.MALFORMED, "The JSON body must be one object."),
        error.missing("to"),
        error.invalid(
            "to",
            "The destination must not begin with +; give digits with the country code, such as 447700900123. "
            "It is '+491701234567'.",
        ),
        Fault(error.UNAUTHENTICATED, "The credentials are wrong; v1 takes the user name and the API key."),
        Fault(error.NO_CREDIT, "The credit is too low: this costs 0.07. Nothing was sent or charged; top up."),
        Fault(error.FORBIDDEN, "The account is suspended; ask the operator of the gateway."),
        Fault(error.NOT_FOUND, "There is no such message in this account."),
        Fault(error.METHOD, "The method is not allowed here; use GET, HEAD, POST."),
        Fault(error.CONFLICT, "The message is sent, cancelled or due; only a scheduled message can be cancelled."),
        Fault(error.TOO_LARGE, "The body is too large; it may have 1048576 octets."),
        Fault(error.MEDIA_TYPE, "Send application/json or application/x-www-form-urlencoded."),
        Fault(error.TOO_EARLY, "One list query is allowed every 10 seconds; wait before the next.", None, 10),
        unavailable(),
        in_doubt(),
        Fault(error.INTERNAL, "The gateway failed on this request; give its X-Request-Id to the operator."),
    )
}

SCHEMES = {1: "apiKey", 2: "password"}
"""The security scheme of each API version."""

_BODIES: tuple[tuple[str, tuple[Field, ...], int], ...] = (
    ("Send", fields.SEND[1], 1),
    ("SendV2", fields.SEND[2], 2),
    ("Reschedule", fields.RESCHEDULE, 1),
    ("Feedback", fields.FEEDBACK, 1),
)
"""The request bodies: the names of their schemas, their fields, the API version."""

_INTRODUCTION = """\
Send text messages, schedule them, look them up, and get their delivery receipts.

There are two versions: `/api/v1` signs in with user name and API key, `/api/v2` with user name and password, both by \
HTTP Basic. `/account/v1` has inbound messages, suppressions, notices and feedback of an account, and takes the \
credentials of v1. Bodies are JSON or forms, with at most {max_body:,} octets. Without a `Content-Type`, a body that \
begins with `{{` is read as JSON. Unknown fields are ignored. In JSON a field with `null` counts as absent. Answers \
are JSON.

HEAD works wherever GET does, and a path may end with a slash. Every answer has an `X-Request-Id`: yours, if it has \
at most 128 characters of `A-Z a-z 0-9 . _ ~ + / = : -`, otherwise a new id. Give it to the operator of the gateway \
when you ask about a request.

After an error nothing was stored or charged. An account may make a list query every {list_interval_s:g} seconds, \
unless it has its own interval."""

_RECEIPT = """\
Posted to the `dlr-url` once a message with a wanted receipt has its final state; as JSON if the account is set so. A \
message of several segments has a single receipt, with the worst of their states. With `progress` in the request, the \
states `ENROUTE` and `ACCEPTD` are posted before it, once each, if the operator reports them.

{webhook}"""

_INBOUND = """\
Posted to the account's `inbound_url` for each message from a phone; as JSON if the account is set so.

{webhook}

With the account setting `inbound_reply=body`, the text of a 2xx answer with `Content-Type: text/plain` is sent to the \
phone as a reply."""

_LOW_BALANCE = """\
Posted to the account's `callback_url` when the balance falls below its setting `low_balance`; always as JSON. It is \
posted again only if the balance falls after a top-up that raised it to `low_balance` or more: refunds do not count.

{webhook}"""

_WEBHOOK = """\
Answer any 2xx within {callback_timeout_s:g} seconds. After any other answer, or none, it is retried: after about 5 \
seconds, then twice as long each time, at most an hour apart, for {callback_retry_hours:g} hours. Redirects \
are not followed. It may come more than once, with the same `webhook-id` and body.

The signature is of Standard Webhooks: HMAC-SHA256, keyed with the octets of the account's signing secret, over \
`webhook-id`, `webhook-timestamp` and the body, joined with full stops."""


class Section(NamedTuple):
    """The part of the document that describes some doors."""

    tags: list[dict[str, str]]
    paths: dict[str, Any]
    schemas: Mapping[str, Schema] = MappingProxyType({})
    security_schemes: Mapping[str, Schema] = MappingProxyType({})


def document(terms: Terms) -> dict[str, Any]:
    """The document for a gateway with these settings."""
    sections = [make(terms) for make in SECTIONS]
    schemas = {name: schema for each in sections for name, schema in each.schemas.items()}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Heliograph",
            "version": __version__,
            "summary": "An SMS gateway",
            "description": _filled(_INTRODUCTION, terms),
            "license": {"name": "Apache License 2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/", "description": "This gateway"}],
        "tags": [tag for each in sections for tag in each.tags],
        "paths": {path: methods for each in sections for path, methods in each.paths.items()},
        "webhooks": _webhooks(terms, schemas),
        "components": {
            "schemas": schemas,
            "responses": {_name(status): _failure(status) for status in dict.fromkeys(e.http for e in CATALOGUE)},
            "parameters": {"RequestId": _REQUEST_ID},
            "headers": _HEADERS,
            "securitySchemes": {name: scheme for each in sections for name, scheme in each.security_schemes.items()},
        },
        "x-errors": [
            {"Status": each.code, "HTTP": each.http, "title": each.title, "when": each.when, "retry": each.retry}
            | {"example": FAULTS[each].body()}
            for each in CATALOGUE
        ],
    }


def _own_doors(terms: Terms) -> Section:
    """Makes the sections of our own doors, all with JSON and Basic credentials, from their operations."""
    _, schemas = msgspec.json.schema_components(shapes.SHAPES, ref_template="#/components/schemas/{name}")
    for name, body, version in _BODIES:
        schemas[f"{name}Request"] = fields.json_body(body, terms, version)
        schemas[f"{name}Form"] = fields.form_body(body, terms, version)
    basic = {"type": "http", "scheme": "basic"}
    paths: dict[str, Any] = {}
    for operation in OPERATIONS:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _operation(operation, terms, schemas)
    return Section(
        [
            {"name": "messages", "description": "Sending messages, and their states."},
            {"name": "inbound", "description": "Messages from phones to your numbers."},
            {"name": "suppressions", "description": "Phones that opted out of your messages."},
            {"name": "account", "description": "Your account."},
            {"name": "health", "description": "For load balancers and monitors; without credentials."},
        ],
        paths,
        schemas,
        {
            SCHEMES[1]: basic | {"description": "v1: user name and API key, in UTF-8."},
            SCHEMES[2]: basic | {"description": "v2: user name and password, in UTF-8."},
        },
    )


SECTIONS: list[Callable[[Terms], Section]] = [_own_doors]
"""Makers of the document's sections. A door in another style than ours adds its own maker."""


_HEADERS: dict[str, Any] = {
    "X-Request-Id": {
        "description": "Finds the request in the gateway's log.",
        "required": True,
        "schema": {"type": "string", "pattern": "^[A-Za-z0-9._~+/=:\\-]{1,128}$"},
    },
    "Idempotency-Replayed": {
        "description": "`true` if the request was accepted before, under the same reference: this is the first answer, \
and nothing was sent or charged now.",
        "schema": {"type": "string", "enum": ["true"]},
    },
    "Retry-After": {
        "description": "Seconds to wait before the same request may succeed.",
        "required": True,
        "schema": {"type": "integer", "minimum": 1},
    },
    "WWW-Authenticate": {"description": "Basic.", "required": True, "schema": {"type": "string"}},
    "Allow": {"description": "The allowed methods.", "required": True, "schema": {"type": "string"}},
}


def _filled(text: str, terms: Terms) -> str:
    return text.replace("{webhook}", _WEBHOOK).format(
        max_body=terms.max_body,
        list_interval_s=terms.list_interval_s,
        callback_timeout_s=terms.callback_timeout_s,
        callback_retry_hours=terms.callback_retry_hours,
    )


def _name(status: int) -> str:
    return f"Error{status}"


def _ref(kind: str, name: str) -> Schema:
    return {"$ref": f"#/components/{kind}/{name}"}


def _failure(status: int) -> dict[str, Any]:
    """Returns the response of an HTTP status, with an example of each error that has it."""
    entries = [entry for entry in CATALOGUE if entry.http == status]
    headers = ["X-Request-Id"]
    if any(entry.retry for entry in entries):
        headers.append("Retry-After")
    headers += ["WWW-Authenticate"] if UNAUTHENTICATED in entries else ["Allow"] if METHOD in entries else []
    examples = {entry.code: {"summary": entry.title, "value": FAULTS[entry].body()} for entry in entries}
    return {
        "description": " ".join(
            f"{entry.title} (`{entry.code}`): {entry.when[0].lower()}{entry.when[1:]}" for entry in entries
        ),
        "headers": {name: _ref("headers", name) for name in headers},
        "content": {JSON: {"schema": _ref("schemas", "Problem"), "examples": examples}},
    }


def _operation(operation: CustomerOperation, terms: Terms, schemas: dict[str, Schema]) -> dict[str, Any]:
    found: dict[str, Any] = {
        "operationId": operation.name,
        "tags": [operation.tag],
        "summary": operation.summary,
        "description": operation.meaning,
        "security": [{SCHEMES[operation.version]: []}] if operation.version else [],
    }
    parameters = [_path_parameter(operation)] if "{" in operation.path else []
    parameters.append(_ref("parameters", "RequestId"))
    parameters += [
        {
            "name": each.name,
            "in": "query",
            "description": each.meaning(terms),
            "allowEmptyValue": True,
            "schema": each.schema,
            "example": each.example,
        }
        for each in operation.query
    ]
    found["parameters"] = parameters
    if operation.body:
        found["requestBody"] = _body(operation, terms)
    statuses = sorted({entry.http for entry in operation.faults})
    failures = {str(status): _ref("responses", _name(status)) for status in statuses}
    found["responses"] = {"200": _success(operation, schemas)} | failures
    found["x-codeSamples"] = [
        {"lang": each.language, "label": each.label, "source": each.source} for each in programs(_call(operation))
    ]
    return found


_REQUEST_ID: dict[str, Any] = {
    "name": "X-Request-Id",
    "in": "header",
    "description": "Your id for this request. The answer repeats it if it is valid.",
    "schema": {"type": "string"},
    "example": "checkout-7f3a",
}

_ID: dict[str, Any] = {
    "name": "id",
    "in": "path",
    "required": True,
    "description": "The `Id` of a message or of a batch, also as a UUID with dashes, in upper or lower case.",
    "schema": {"type": "string", "pattern": fields.ANY_ID},
    "example": shapes.EXAMPLE_ID,
}

_INBOUND_ID: dict[str, Any] = _ID | {
    "description": "The `Id` of a message from a phone, with or without dashes; in any case.",
    "example": shapes.EXAMPLE_INBOUND_ID,
}

_NUMBER: dict[str, Any] = {
    "name": "number",
    "in": "path",
    "required": True,
    "description": f"{phone.MIN_DIGITS} to {phone.MAX_DIGITS} digits with the country code; a leading `+` is dropped.",
    "schema": {"type": "string", "pattern": fields.ANY_NUMBER},
    "example": shapes.EXAMPLE_NUMBER,
}


def _path_parameter(operation: CustomerOperation) -> dict[str, Any]:
    """The parameter in its path."""
    return {"inbound": _INBOUND_ID, "suppressions": _NUMBER}.get(operation.tag, _ID)


def _examples(operation: CustomerOperation) -> list[dict[str, Any]]:
    """The examples of its body."""
    required = tuple(field.name for field in operation.body if field.required)
    examples = {field.name: field.example for field in operation.body}
    return [{name: examples[name] for name in names} for names in operation.shown or (required,)]


def _body(operation: CustomerOperation, terms: Terms) -> dict[str, Any]:
    [name] = [name for name, body, _ in _BODIES if body is operation.body]
    examples = {", ".join(each): {"value": each} for each in _examples(operation)}
    content: dict[str, Any] = {
        JSON: {"schema": _ref("schemas", f"{name}Request"), "examples": examples},
        FORM: {"schema": _ref("schemas", f"{name}Form"), "examples": examples},
    }
    repeated = {field.name: {"style": "form", "explode": True} for field in operation.body if field.repeats}
    if repeated:
        content[FORM]["encoding"] = repeated
    return {"required": True, "description": f"At most {terms.max_body:,} octets.", "content": content}


def _success(operation: CustomerOperation, schemas: dict[str, Schema]) -> dict[str, Any]:
    if operation.media_types:
        return {
            "description": "The file.",
            "headers": {"X-Request-Id": _ref("headers", "X-Request-Id")},
            "content": {each: {"schema": {"type": "string"}} for each in operation.media_types},
        }
    names = [answer.__name__ for answer in operation.answers]
    headers = ["X-Request-Id", *(["Idempotency-Replayed"] if operation.replays else [])]
    refs = [_ref("schemas", name) for name in names]
    examples = {name: {"value": example_of(schemas[name], schemas, whole=False)} for name in names}
    for name in names:
        if set(schemas[name]["properties"]) != set(schemas[name]["required"]):
            whole = example_of(schemas[name], schemas, whole=True)
            examples[f"{name}Whole"] = {"summary": "With all that it may have", "value": whole}
    return {
        "description": " Or: ".join(schemas[name]["description"] for name in names),
        "headers": {name: _ref("headers", name) for name in headers},
        "content": {JSON: {"schema": refs[0] if len(refs) == 1 else {"anyOf": refs}, "examples": examples}},
    }


def _call(operation: CustomerOperation) -> ShownCall:
    """Returns the request of the operation's samples."""
    parameter = _path_parameter(operation)
    examples = _examples(operation) if operation.body else [None]
    shown = {name for names in operation.shown for name in names}
    return ShownCall(
        operation.method,
        BASE + operation.path.replace(f"{{{parameter['name']}}}", parameter["example"]),
        {
            each.name: "true" if each.example is True else str(each.example)
            for each in operation.query
            if each.name in shown
        },
        USER if operation.version else "",
        SECRETS.get(operation.version, ""),
        body=examples[0],
        form=examples[-1],
        is_file=bool(operation.media_types),
    )


def _webhooks(terms: Terms, schemas: dict[str, Schema]) -> dict[str, Any]:
    code = (
        "heliograph-operator-code", "The operator's own code, unchanged; absent if it gave none.",
        {"type": "string", "maxLength": MAX_CODE_CHARS}, "0x22",
    )  # fmt: skip
    receipt, inbound, low_balance = (
        example_of(schemas[shape.__name__], schemas, whole=False)
        for shape in (shapes.Receipt, shapes.InboundNotice, shapes.LowBalanceNotice)
    )
    posted = {
        "receipt": (
            "messages", "Delivery receipt", _RECEIPT, _headers(f"dlr_{receipt['id']}", code),
            _posted(shapes.Receipt, receipt),
        ),
        "inbound": (
            "inbound", "Message from a phone", _INBOUND, _headers(f"mo_{inbound['id']}"),
            _posted(shapes.InboundNotice, inbound),
        ),
        "low_balance": (
            "account", "Low balance", _LOW_BALANCE, _headers("low_17_1800000000000"),
            _posted(shapes.LowBalanceNotice, low_balance, (JSON,)),
        ),
    }  # fmt: skip
    return {
        name: {
            "post": {
                "operationId": f"receive_{name}",
                "tags": [tag],
                "summary": summary,
                "description": _filled(text, terms),
                "security": [],
                "parameters": headers,
                "requestBody": body,
                "responses": _RESPONSES,
            }
        }
        for name, (tag, summary, text, headers, body) in posted.items()
    }


_RESPONSES: dict[str, Any] = {
    "2XX": {"description": "Accepted. The body does not matter, except for replies to phones."},
    str(HTTPStatus.GONE.value): {"description": "Never send it again."},
    "default": {"description": "Not accepted: it is tried again."},
}


def _headers(webhook_id: str, *more: tuple[str, str, Schema, Any]) -> list[dict[str, Any]]:
    """Returns the headers of a webhook: those of Standard Webhooks, and optional headers."""
    headers = (
        ("webhook-id", "The id; the same in each try.", {"type": "string"}, webhook_id),
        ("webhook-timestamp", "The time of this try, in Unix seconds. Refuse a try with a time minutes away from now.",
         {"type": "integer"}, 1800000004),
        ("webhook-signature", "A signature, or several, separated by spaces: `v1,` and base64.",
         {"type": "string"}, "v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4="),
        *more,
    )  # fmt: skip
    return [
        {
            "name": name,
            "in": "header",
            "required": name.startswith("webhook-"),
            "description": text,
            "schema": kind,
            "example": value,
        }
        for name, text, kind, value in headers
    ]


def _posted(shape: type[msgspec.Struct], shown: Any, formats: Sequence[str] = (FORM, JSON)) -> dict[str, Any]:
    schema = _ref("schemas", shape.__name__)
    return {"required": True, "content": {media: {"schema": schema, "example": shown} for media in formats}}
