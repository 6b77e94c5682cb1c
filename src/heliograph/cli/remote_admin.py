"""The use cases of administration on a gateway elsewhere, as far as its admin API has them.

Each class has the methods of one of `app.admin` that commands call, by the same names, and gives back the same values;
what an answer of the API does not tell (ids, digests) is empty in them, and no command shows it.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import asdict

from heliograph.admin_api import (
    account_shapes,
    guard_shapes,
    price_shapes,
    shapes,
    template_shapes,
)
from heliograph.app.admin.guard import HoldView
from heliograph.app.admin.keys import NewKey
from heliograph.app.admin.manage import AccountDetails, NewAccount
from heliograph.app.admin.prices import BuiltIn, PriceChanges, format_since
from heliograph.app.admin.templates import TemplateCheck, TemplateView
from heliograph.app.admin.views import FailingHost
from heliograph.app.configuration import Account, ApiKey, LedgerEntry, Price, SmppTerms
from heliograph.app.records import AuditEntry, AuditQuery
from heliograph.cli.failure import Failure
from heliograph.cli.remote import RemoteGateway
from heliograph.domain.calendar import parse_utc
from heliograph.domain.message import ids
from heliograph.domain.money.amounts import EntryKind, format_credits, parse_credits

_AMOUNTS = ("credit_limit", "daily_spend")
"""Fields of an account that are credits."""


class RemoteUseCases:
    """The base of these classes. A method that the admin API has no operation for needs the machine."""

    def __init__(self, gateway: RemoteGateway) -> None:
        self.gateway = gateway

    def __getattr__(self, name: str) -> Any:
        raise needs_the_machine(self.gateway.name)


class RemoteManage(RemoteUseCases):
    """The methods of `Manage`."""

    async def create_account(
        self, name: str, credit: int, settings: Mapping[str, str], price: int | None = None
    ) -> NewAccount:
        body = {"name": name, "credit": format_credits(credit), **account_values(settings)}
        if price is not None:
            body["price"] = format_credits(price)
        made = self.gateway.ask("POST", account_shapes.OpenedAccount, "accounts", body=body)
        account = (await self.account(name)).account
        return NewAccount(
            account, parse_credits(made.balance), made.password, made.api_key, made.key_id, made.signing_secret
        )

    async def accounts(self) -> list[tuple[Account, int]]:
        found = self.gateway.get(account_shapes.AccountsShape, "accounts").accounts
        return [(_account(each), parse_credits(each.balance)) for each in found]

    async def account(self, name: str) -> AccountDetails:
        found = self.gateway.get(account_shapes.AccountWithKeys, "accounts", name)
        return AccountDetails(_account(found), parse_credits(found.balance), [_key(each) for each in found.keys])

    async def set_account(self, name: str, texts: Mapping[str, str]) -> None:
        self.gateway.ask("PATCH", account_shapes.AccountWithKeys, "accounts", name, body=account_values(texts))

    async def top_up(self, name: str, micro: int, note: str) -> int:
        body = {"amount": format_credits(micro), "note": note}
        return parse_credits(
            self.gateway.ask("POST", account_shapes.BalanceShape, "accounts", name, "top-ups", body=body).balance
        )

    async def suspend(self, name: str, suspended: bool) -> None:
        self.gateway.ask("PATCH", account_shapes.AccountWithKeys, "accounts", name, body={"suspended": suspended})

    async def ledger(self, name: str, limit: int, before: int | None = None) -> list[LedgerEntry]:
        kinds = {kind.label: kind for kind in EntryKind}
        entries: list[LedgerEntry] = []
        cursor = None if before is None else str(before)
        while len(entries) < limit:
            wanted = min(1_000, limit - len(entries))
            page = self.gateway.get(account_shapes.Ledger, "accounts", name, "ledger", limit=wanted, cursor=cursor)
            entries += [
                LedgerEntry(
                    each.key, 0, kinds[each.kind], parse_credits(each.amount), 0, parse_utc(each.time), each.note
                )
                for each in page.entries
            ]
            cursor = page.cursor
            if cursor is None:
                break
        return entries

    async def new_password(self, name: str) -> str:
        return self.gateway.ask("POST", account_shapes.NewSecret, "accounts", name, "password").secret

    async def new_smpp_password(self, name: str, length: int = 8) -> str:
        body = {"length": length}
        return self.gateway.ask("POST", account_shapes.NewSecret, "accounts", name, "smpp-password", body=body).secret

    async def new_signing_secret(self, name: str) -> str:
        return self.gateway.ask("POST", account_shapes.NewSecret, "accounts", name, "signing-secret").secret

    async def keys(self, name: str) -> list[ApiKey]:
        return [_key(each) for each in self.gateway.get(account_shapes.Keys, "accounts", name, "keys").keys]

    async def create_key(self, name: str, expires: str = "") -> NewKey:
        query = {"expires": expires or None}
        made = self.gateway.ask("POST", account_shapes.CreatedKey, "accounts", name, "keys", query=query)
        return NewKey(name, made.key_id, made.api_key, _maybe_ms(made.expires))

    async def revoke_key(self, name: str, key_id: str) -> None:
        self.gateway.ask("DELETE", shapes.DoneShape, "accounts", name, "keys", key_id)

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


class RemotePrices(RemoteUseCases):
    """The methods of `ManagePrices`."""

    async def set(self, prefix: str, price: int, plan: str, inbound: int | None = None, since: int = 0) -> Price:
        body = _price_body(Price(plan, prefix, price, inbound, since))
        return _price(self.gateway.ask("PUT", price_shapes.PriceShape, "prices", body=body))

    async def prices(self, plan: str | None = None, *, past: bool = False) -> list[Price]:
        return [_price(each) for each in self._all(plan, past=past).prices]

    async def built_in(self) -> BuiltIn:
        built_in = self._all(None, past=False).built_in
        return None if built_in is None else parse_credits(built_in)

    async def remove(self, prefix: str, plan: str, since: int | None = None) -> None:
        given = {"prefix": prefix, "plan": plan, "since": None if since is None else format_since(since)}
        self.gateway.ask("DELETE", shapes.DoneShape, "prices", query=given)

    async def put(self, wanted: Sequence[Price], *, replace: bool = False, dry_run: bool = False) -> PriceChanges:
        body = {"prices": [_price_body(each) for each in wanted], "replace": replace, "dry_run": dry_run}
        return PriceChanges(
            **asdict(self.gateway.ask("POST", price_shapes.PriceChangesShape, "prices", "import", body=body))
        )

    def _all(self, plan: str | None, *, past: bool) -> price_shapes.Prices:
        return self.gateway.get(price_shapes.Prices, "prices", plan=plan, past="true" if past else None)


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
    """The methods of `Views` that change messages and callbacks, or count them."""

    async def cancel(self, key: int, tail: int) -> None:
        self.gateway.ask("POST", shapes.DoneShape, "messages", ids.to_hex(key, tail), "cancel")

    async def reschedule(self, key: int, tail: int, time: str) -> int:
        name = ids.to_hex(key, tail)
        self.gateway.ask("POST", shapes.DoneShape, "messages", name, "reschedule", body={"time": time})
        return parse_utc(self.gateway.get(shapes.MessageInFull, "messages", name).time)

    async def callback_totals(self) -> tuple[int, int]:
        found = self.gateway.get(shapes.Overview, "overview")
        return found.callbacks_pending, found.callbacks_failed

    async def failing_hosts(self) -> list[FailingHost]:
        found = self.gateway.get(shapes.FailingHosts, "callbacks", "hosts").hosts
        return [
            FailingHost(each.host, each.pending, each.attempts, each.problem, parse_utc(each.due), []) for each in found
        ]

    async def replay_account(self, account: str | None) -> int:
        return self.gateway.ask("POST", shapes.Count, "callbacks", "replay", body={"account": account}).count

    async def replay_callback(self, key: int, tail: int) -> None:
        self.gateway.ask("POST", shapes.DoneShape, "messages", ids.to_hex(key, tail), "replay-callback")


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


def account_values(texts: Mapping[str, str]) -> dict[str, Any]:
    """Converts texts for fields of an account to the values of the admin API. Raises Invalid."""
    from heliograph.app.admin import fields

    names = {attribute: name for name, attribute in fields.TERMS.items()}
    values = {names.get(name, name): value for name, value in fields.parse_changes(fields.ACCOUNT, texts).items()}
    if "smpp_status" in values:
        values["smpp_status"] = fields.status_texts(values["smpp_status"])
    return values | {name: format_credits(values[name]) for name in _AMOUNTS if name in values}


def _account(found: account_shapes.AccountShape) -> Account:
    from heliograph.app.admin import fields

    given = {name: value for name, value in asdict(found).items() if name not in ("balance", "keys")}
    given |= {name: tuple(value) for name, value in given.items() if isinstance(value, list)}
    given |= {name: parse_credits(given[name]) for name in _AMOUNTS}
    given["created"] = parse_utc(found.created)
    terms = {attribute.partition(".")[2]: given.pop(name) for name, attribute in fields.TERMS.items()}
    terms["statuses"] = fields.statuses_of(",".join(terms["statuses"]))
    return Account(id=0, password_hash="", signing_secret=b"", smpp=SmppTerms(**terms), **given)


def _key(found: account_shapes.Key) -> ApiKey:
    moments = (_maybe_ms(each) for each in (found.revoked, found.expires, found.used))
    return ApiKey(found.id, 0, b"", parse_utc(found.created), *moments)


def _maybe_ms(moment: str | None) -> int | None:
    return None if moment is None else parse_utc(moment)


def _price(found: price_shapes.PriceShape) -> Price:
    since = 0 if found.since is None else parse_utc(found.since)
    return Price(found.plan, found.prefix, parse_credits(found.price), parse_credits(found.inbound), since)


def _price_body(price: Price) -> dict[str, str]:
    body = {"plan": price.plan, "prefix": price.prefix, "price": format_credits(price.price)}
    if price.inbound is not None:
        body["inbound"] = format_credits(price.inbound)
    return body | ({"since": format_since(price.since)} if price.since else {})


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
