"""The use cases of administration on a gateway elsewhere, as far as its admin API has them.

Each class has the methods of one of `app.admin` that commands call, by the same names, and gives back the same values;
what an answer of the API does not tell (ids, digests) is empty in them, and no command shows it.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import asdict

from heliograph.admin_api import (
    guard_shapes,
    shapes,
    template_shapes,
)
from heliograph.app.admin.guard import HoldView
from heliograph.app.admin.templates import TemplateCheck, TemplateView
from heliograph.app.records import AuditEntry, AuditQuery
from heliograph.cli.failure import Failure
from heliograph.cli.remote import RemoteGateway
from heliograph.domain.calendar import parse_utc
from heliograph.domain.message import ids
from heliograph.domain.money.amounts import parse_credits


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


class RemoteTemplates(RemoteUseCases):
    """The methods of `ManageTemplates`."""

    async def templates(self, account: str | None = None, sender: str | None = None) -> list[TemplateView]:
        found = self.gateway.get(template_shapes.TemplatesShape, "templates", account=account, sender=sender)
        return [_template(each) for each in found.templates]

    async def template(self, name: str) -> TemplateView:
        return _template(self.gateway.get(template_shapes.TemplateShape, "templates", name))

    async def add(self, wanted: TemplateView) -> TemplateView:
        body = _template_body(wanted)
        return _template(self.gateway.ask("POST", template_shapes.TemplateShape, "templates", body=body))

    async def put(self, wanted: Sequence[TemplateView]) -> int:
        body = {"templates": [_template_body(each) for each in wanted]}
        return self.gateway.ask("PUT", template_shapes.PutTemplates, "templates", body=body).added

    async def set(
        self, name: str, text: str | None, sender: str | None, account: str | None, tlvs: Mapping[str, str]
    ) -> TemplateView:
        given = {"text": text, "sender": sender, "account": account, "tlvs": dict(tlvs) or None}
        body = {field: value for field, value in given.items() if value is not None}
        return _template(self.gateway.ask("PATCH", template_shapes.TemplateShape, "templates", name, body=body))

    async def remove(self, name: str) -> None:
        self.gateway.ask("DELETE", shapes.DoneShape, "templates", name)

    async def check(self, sender: str, text: str, account: str | None = None) -> TemplateCheck:
        body = {"sender": sender, "text": text, "account": account or ""}
        told = self.gateway.ask("POST", template_shapes.TemplateCheckShape, "template-check", body=body)
        return TemplateCheck(told.fits, None if told.template is None else _template(told.template), told.problem)


class RemoteViews(RemoteUseCases):
    """The methods of `Views` that change messages."""

    async def cancel(self, key: int, tail: int) -> None:
        self.gateway.ask("POST", shapes.DoneShape, "messages", ids.to_hex(key, tail), "cancel")

    async def reschedule(self, key: int, tail: int, time: str) -> int:
        name = ids.to_hex(key, tail)
        self.gateway.ask("POST", shapes.DoneShape, "messages", name, "reschedule", body={"time": time})
        return parse_utc(self.gateway.get(shapes.MessageInFull, "messages", name).time)


class RemoteGuard(RemoteUseCases):
    """The methods of `ManageGuard`."""

    async def holds(self) -> list[HoldView]:
        return [
            HoldView(
                each.account, each.prefix, parse_utc(each.since), each.why, each.messages, parse_credits(each.price)
            )
            for each in self.gateway.get(guard_shapes.HoldsShape, "guard").holds
        ]

    async def release(self, account: str, prefix: str) -> int:
        return self._change("release", account, prefix)

    async def refund(self, account: str, prefix: str) -> int:
        return self._change("refund", account, prefix)

    def _change(self, how: str, account: str, prefix: str) -> int:
        body = {"account": account, "prefix": prefix}
        return self.gateway.ask("POST", guard_shapes.HeldNumber, "guard", how, body=body).messages


def needs_the_machine(context: str) -> Failure:
    return Failure(
        f"this command needs the machine of the gateway; the context {context} is one elsewhere.",
        "Run it there, or with --context local if you mean the gateway of this machine.",
    )


def _template(found: template_shapes.TemplateShape) -> TemplateView:
    return TemplateView(**asdict(found))


def _template_body(wanted: TemplateView) -> dict[str, Any]:
    return {
        "name": wanted.name,
        "text": wanted.text,
        "sender": wanted.sender,
        "account": wanted.account,
        "tlvs": wanted.tlvs,
    }
