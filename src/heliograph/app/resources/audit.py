"""The audit log: who changed what."""

from typing import Any, Final

from heliograph.app.records import AuditQuery, Scope
from heliograph.app.resources.description import Answer, Operation, Resource, Scopes
from heliograph.app.resources.desk import Desk
from heliograph.app.resources.fields import Field, Moment, Pairs, Text, Whole

PAGE: Final = 1_000


async def find(desk: Desk, actor: str, action: str, target: str, after: str, limit: int) -> list[dict[str, Any]]:
    """Returns entries, the newest first, from the entry before `after` on."""
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


AUDIT = Resource(
    name="entry",
    plural="entries",
    summary="Every change by a user, a token or a command",
    more="`heliograph audit --log` proves that no entry was changed or removed.",
    nothing="Nothing was changed yet.",
    key=("key",),
    called="action",
    path="/audit",
    title="Audit log",
    fields=(
        Field("key", Whole(), "Its number."),
        Field("time", Moment(), "When it was made."),
        Field("actor", Text(), "Who made it, for example `user:ada`, `token:4f1a` or `cli:root`.", title="Who"),
        Field("action", Text(), "What was done, for example `account.create`.", title="What"),
        Field("target", Text(), "What it was done to, for example an account.", empty="-"),
        Field("details", Pairs(), "More about it, by name.", empty="-"),
        Field("address", Text(), "The address that the request came from.", title="From", empty="-"),
    ),
    columns=("time", "actor", "action", "target", "details"),
    scopes=Scopes(Scope.READ_AUDIT, Scope.READ_AUDIT),
    answer_name="AuditEntry",
    operations=(
        Operation(
            "list",
            "GET",
            "/audit",
            find,
            "Who changed what, the newest first",
            reads=(
                Field(
                    "actor",
                    Text(),
                    "Only changes by this actor, such as user:ada.",
                    "",
                    title="Who",
                ),
                Field("action", Text(), "Only actions that begin so, such as account.", "", title="Action begins with"),
                Field("target", Text(), "Only changes of this target, such as acme.", ""),
            ),
            answers=Answer.EACH,
            answer_name="Audit",
            id="audit",
            page=PAGE,
            rows=50,
            newest_first=True,
        ),
    ),
)
