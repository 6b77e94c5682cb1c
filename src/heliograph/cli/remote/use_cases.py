"""The use cases of administration on a gateway elsewhere, as far as its admin API has them.

Each class has the methods of one of `app.admin` that commands call, by the same names, and gives back the same values;
what an answer of the API does not tell (ids, digests) is empty in them, and no command shows it.
"""

from typing import Any

from heliograph.admin_api import (
    shapes,
)
from heliograph.app.records import AuditEntry, AuditQuery
from heliograph.cli.failure import Failure
from heliograph.cli.remote.gateway import RemoteGateway
from heliograph.domain.calendar import parse_utc
from heliograph.domain.message import ids


class RemoteUseCases:
    """The base of these classes. A method that the admin API has no operation for needs the machine."""

    def __init__(self, gateway: RemoteGateway) -> None:
        self.gateway = gateway

    def __getattr__(self, name: str) -> Any:
        raise needs_the_machine(self.gateway.name)


class RemoteManage(RemoteUseCases):
    """The methods of `Manage`."""

    async def remove_connector(self, name: str) -> None:
        self.gateway.ask("DELETE", shapes.DoneShape, "connectors", name)

    async def audit_log(self, query: AuditQuery) -> list[AuditEntry]:
        entries: list[AuditEntry] = []
        cursor: str | None = None
        while len(entries) < query.limit:
            page = self.gateway.get(
                shapes.Audit, "audit", limit=min(1_000, query.limit - len(entries)), cursor=cursor,
                actor=query.actor or None, action=query.action or None, target=query.target or None,
            )  # fmt: skip
            entries += [
                AuditEntry(
                    parse_utc(each.time), each.actor, each.action, each.target, each.details, each.address, each.key
                )
                for each in page.entries
            ]
            cursor = page.cursor
            if cursor is None:
                break
        return entries


class RemoteInbound(RemoteUseCases):
    """The methods of `ManageInbound`, of which the admin API has others."""


class RemoteViews(RemoteUseCases):
    """The methods of `Views` that change messages."""

    async def cancel(self, key: int, tail: int) -> None:
        self.gateway.ask("POST", shapes.DoneShape, "messages", ids.to_hex(key, tail), "cancel")

    async def reschedule(self, key: int, tail: int, time: str) -> int:
        name = ids.to_hex(key, tail)
        self.gateway.ask("POST", shapes.DoneShape, "messages", name, "reschedule", body={"time": time})
        return parse_utc(self.gateway.get(shapes.MessageInFull, "messages", name).time)


def needs_the_machine(context: str) -> Failure:
    return Failure(
        f"this command needs the machine of the gateway; the context {context} is one elsewhere.",
        "Run it there, or with --context local if you mean the gateway of this machine.",
    )
