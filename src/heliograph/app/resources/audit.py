"""The audit log: each change with its actor, time and details."""

from typing import Any, Final

from heliograph.app.records import AuditQuery, Scope
from heliograph.app.resources.audit_proof import head
from heliograph.app.resources.description import Answer, Operation, Resource, Scopes
from heliograph.app.resources.desk import Desk
from heliograph.app.resources.fields import Field, Moment, Pairs, Text, Whole

PAGE: Final = 1_000


async def find(desk: Desk, actor: str, action: str, target: str, after: str, limit: int) -> list[dict[str, Any]]:
    """Returns entries before the key `after`, newest first. The filters match as in the fields of the operation."""
    query = AuditQuery(limit, int(after) if after else None, actor, action, target)
    return [
        {
            "key": each.key,
            "time": each.at,
            "actor": each.actor,
            "action": each.action,
            "target": each.target,
            "details": each.details,
            "address": each.address,
        }
        for each in await desk.store.audit_log.find(query)
    ]


async def tell_head(desk: Desk) -> dict[str, Any]:
    found = await head(desk)
    signature = found.signature.hex() or None
    return {"entries": found.entries, "hash": found.hash.hex(), "time": found.at, "signature": signature}


AUDIT = Resource(
    name="entry",
    plural="entries",
    summary="All changes by users, tokens and commands",
    more="`heliograph audit --log` proves that no entry was changed or removed.",
    nothing="There are no such entries.",
    key=("key",),
    called="action",
    path="/audit",
    title="Audit log",
    fields=(
        Field("key", Whole(), "Number of the entry."),
        Field("time", Moment(), "Time of the change."),
        Field(
            "actor",
            Text(),
            "The user, token or command, such as `user:ada`, `token:4f1a` or `cli:root`.",
            title="Who",
            example="user:ada",
        ),
        Field("action", Text(), "The action, for example `account.create`.", title="Action", example="account.create"),
        Field("target", Text(), "The changed thing, for example the account `acme`.", empty="-", example="acme"),
        Field("details", Pairs(), "Details by name, such as `credit=250`.", empty="-", example="credit=250"),
        Field("address", Text(), "Address of the client.", title="From", empty="-", example="192.0.2.9"),
    ),
    columns=("time", "actor", "action", "target", "details"),
    scopes=Scopes(Scope.READ_AUDIT, Scope.READ_AUDIT),
    answer_name="AuditEntry",
    operations=(
        Operation(
            "list",
            "GET /audit",
            find,
            "Changes with actor, action and target, newest first",
            reads=(
                Field(
                    "actor",
                    Text(),
                    "Only changes by this actor, such as user:ada.",
                    "",
                    title="Who",
                    example="user:ada",
                ),
                Field(
                    "action",
                    Text(),
                    "Only actions with this beginning, such as account.",
                    "",
                    title="Action begins with",
                    example="account.create",
                ),
                Field("target", Text(), "Only changes of this thing, such as acme.", "", example="acme"),
            ),
            answers=Answer.EACH,
            answer_name="Audit",
            id="audit",
            page=PAGE,
            rows=50,
            newest_first=True,
        ),
        Operation(
            "head",
            "GET /audit/head",
            tell_head,
            "The end of the audit log, to be kept elsewhere",
            answers=(
                Field("entries", Whole(), "The number of entries."),
                Field(
                    "hash",
                    Text(),
                    "SHA-256 in hexadecimal.",
                    example="9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
                ),
                Field("time", Moment(), "When it was read."),
                Field(
                    "signature",
                    Text(),
                    "HMAC-SHA256 with the secret in `audit.key_file`, or null.",
                    nullable=True,
                    example="5f2b",
                ),
            ),
            answer_name="AuditHead",
            id="audit_head",
            is_command=False,
        ),
    ),
)
