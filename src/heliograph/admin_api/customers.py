"""Accounts, their keys and their credit."""

from msgspec import UNSET, Struct

from heliograph.admin_api import shapes, views
from heliograph.admin_api.call import Call, credits_of, texts_of
from heliograph.admin_api.views import moment
from heliograph.app.admin.oversight import AuditQuery
from heliograph.domain.calendar import DAY_MS
from heliograph.domain.money import format_credits

PAGE = 1_000
MAX_DAYS = 31
HOUR_MS = 3_600_000
SHORT_DAYS = 2
"""Usage of so many days is told by the hour, of more by the day."""


async def list_accounts(call: Call) -> Struct:
    return shapes.Accounts([views.account(*each) for each in await call.administration.accounts()])


async def open_account(call: Call) -> Struct:
    body: shapes.NewAccount = call.body
    made = await call.administration.create_account(
        body.name,
        credits_of("credit", body.credit),
        texts_of(body, but=("name", "credit", "price")),
        None if body.price is UNSET else credits_of("price", body.price),
    )
    return shapes.OpenedAccount(
        made.account.name, made.password, made.api_key, made.key_id, made.signing_secret, format_credits(made.balance)
    )


async def get_account(call: Call) -> Struct:
    return views.account_with_keys(await call.administration.account(call.path["name"]))


async def set_account(call: Call) -> Struct:
    await call.administration.set_account(call.path["name"], texts_of(call.body))
    return await get_account(call)


async def top_up(call: Call) -> Struct:
    body: shapes.TopUp = call.body
    balance = await call.administration.top_up(call.path["name"], credits_of("amount", body.amount), body.note)
    return shapes.Balance(format_credits(balance))


async def ledger(call: Call) -> Struct:
    limit = call.number("limit", 50, PAGE)
    entries = await call.administration.ledger(call.path["name"], limit, call.key("cursor"))
    more = str(entries[-1].key) if len(entries) == limit else None
    return shapes.Ledger(
        [views.entry(entry) for entry in entries],
        more,
    )


async def usage(call: Call) -> Struct:
    days = call.number("days", 1, MAX_DAYS)
    step = HOUR_MS if days <= SHORT_DAYS else DAY_MS
    view = await call.administration.account(call.path["name"])
    end = (call.oversight.now // step + 1) * step
    spans = await call.oversight.store.usage(view.account.id, end - days * DAY_MS, end, step)
    return shapes.UsageOfAccount(
        [
            shapes.Span(moment(each.at), each.requests, format_credits(each.charged), format_credits(each.refunded))
            for each in spans
        ]
    )


async def new_password(call: Call) -> Struct:
    return shapes.NewSecret(await call.administration.new_password(call.path["name"]))


async def new_signing_secret(call: Call) -> Struct:
    return shapes.NewSecret(await call.administration.new_signing_secret(call.path["name"]))


async def list_keys(call: Call) -> Struct:
    return shapes.Keys([views.key(key) for key in await call.administration.keys(call.path["name"])])


async def create_key(call: Call) -> Struct:
    made = await call.administration.create_key(call.path["name"])
    return shapes.CreatedKey(made.key_id, made.api_key)


async def revoke_key(call: Call) -> Struct:
    await call.administration.revoke_key(call.path["name"], call.path["id"])
    return shapes.Done()


async def audit(call: Call) -> Struct:
    limit = call.number("limit", 50, PAGE)
    query = AuditQuery(
        limit,
        call.key("cursor"),
        call.query.get("actor", ""),
        call.query.get("action", ""),
        call.query.get("target", ""),
    )
    deeds = await call.oversight.deeds(query)
    more = str(deeds[-1].key) if len(deeds) == limit else None
    return shapes.Audit(
        [views.deed(each) for each in deeds],
        more,
    )
