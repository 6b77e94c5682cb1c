"""`docs/admin-api.md`, drawn from the operations and their types."""

from collections.abc import Sequence
from typing import Any

import msgspec

from heliograph.admin_api.operation import ROOT, AdminOperation
from heliograph.app.records import TOKEN_SCOPES

_HEAD = """\
# Admin API

Administration over HTTP, for programs: accounts, keys, credit, connectors, routes, prices, messages, callbacks, and
the audit log. It mirrors the [commands](cli.md) and does what the [console](console.md) does. Its OpenAPI 3.1
document is served at `/admin/openapi.json`.

A running gateway shows this reference as a page at `/admin/docs`. The page has an example for curl of each operation, a
search, and forms that call the gateway with your token. Copied examples have the gateway's address and your token.

Make a token with the scopes that the program needs; it is shown once, and only its digest is kept:

```
heliograph admin token create billing --scope accounts:read --scope topups:write
```

```
curl -H "Authorization: Bearer $TOKEN" https://sms.example.com/admin/v1/accounts
curl -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' \\
     -d '{"amount": "250", "note": "invoice 2041"}' https://sms.example.com/admin/v1/accounts/acme/top-ups
```

Bodies are JSON. What is not known is refused rather than ignored: a field, a parameter, and any body but `{}` where an
operation reads none. Amounts are exact decimal text, times ISO 8601 in UTC. A list
that has more tells a `cursor`: give it back as the parameter `cursor` for what follows. Lists of accounts and other
settings come whole unless `limit` is given. An answer has 10,000 routes, prices or costs at most.
Errors have the status codes
and the body of the customers' API: `Status`, `Message`, and `Field` where one field is at fault. Wrong tokens are
slowed down by address. Every change is in the audit log under the token's id.

A running gateway heeds changes of accounts, connectors, routes and prices within five seconds. A search for
messages looks at 100,000 at once where it has no index (pending or submitted messages, the first few digits of a
number within an account): `reached` says how far it came then, and `cursor` goes on.

## Scopes

A token may do what its scopes name, and nothing else; what it lacks is answered 403, with the name of the scope. A
field in the table takes its scope beside that of its operation, where it is given and is not its default (an opening
`credit` of 0 takes none). No token can make admin users or tokens, or send. Amounts in the answers of `GET /coverage`
and `GET /decision`, and in `now` of `GET /messages/{id}`, are null without `prices:read`.

| scope | operations | fields |
|---|---|---|
"""


def page(operations: Sequence[AdminOperation]) -> str:
    parts = [_HEAD]
    for scope in TOKEN_SCOPES:
        whole = [f"`{each.method} {each.path}`" for each in operations if each.scope is scope]
        fields = dict.fromkeys(f"`{name}`" for each in operations for name, own in each.scopes.items() if own is scope)
        parts.append(f"| `{scope}` | {', '.join(whole) or '–'} | {', '.join(fields) or '–'} |\n")
    for group in dict.fromkeys(each.group for each in operations):
        parts.append(f"\n## {group.capitalize()}\n")
        parts += (_section(each) for each in operations if each.group == group)
    return "".join(parts)


def _section(operation: AdminOperation) -> str:
    beside = "".join(f", `{scope}` for `{name}`" for name, scope in operation.scopes.items())
    lines = [
        f"\n### {operation.method} {ROOT}{operation.path}\n",
        f"\n{operation.summary}. Scope `{operation.scope}`{beside}.\n",
    ]
    if operation.query:
        lines.append("\n| parameter | meaning |\n|---|---|\n")
        lines += [
            f"| `{each.name}`{' (required)' if each.required else ''} | {each.meaning} |\n" for each in operation.query
        ]
    if operation.reads is not None:
        bare = ", or no body" if operation.may_be_bare else ""
        lines.append("\nReads " + _fields(operation.reads) + bare + ".\n")
    answer = " or ".join(f"`{each}`" for each in operation.media_types)
    if operation.answers is not None:
        answer = _fields(operation.answers)
    lines.append(f"\nAnswers {operation.status} with {answer}.\n")
    return "".join(lines)


def _fields(kind: type[msgspec.Struct]) -> str:
    told = []
    for each in msgspec.structs.fields(kind):
        optional = "" if each.required else "?"
        told.append(f"`{each.encode_name}{optional}`{_inner(each.type)}")
    return ", ".join(told)


def _inner(kind: Any) -> str:
    """The fields of the objects in a list."""
    kind = kind.__origin__ if hasattr(kind, "__metadata__") else kind
    arguments: tuple[Any, ...] = getattr(kind, "__args__", ())
    if getattr(kind, "__origin__", None) is list and isinstance(arguments[0], type):
        item = arguments[0]
        if issubclass(item, msgspec.Struct):
            return f" (each {_fields(item)})"
    return ""
