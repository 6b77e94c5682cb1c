"""Accounts, their keys and their credit."""

from msgspec import UNSET, Struct

from heliograph.admin_api import account_shapes, serialize, shapes
from heliograph.admin_api.request import AdminRequest, credits_of, texts_of
from heliograph.app.records import AuditQuery
from heliograph.domain.calendar import format_utc
from heliograph.domain.error import invalid
from heliograph.domain.money.amounts import format_credits

PAGE = 1_000
MAX_DAYS = 31


async def list_accounts(request: AdminRequest) -> Struct:
    return account_shapes.AccountsShape([serialize.account(*each) for each in await request.manage.accounts()])


async def open_account(request: AdminRequest) -> Struct:
    body: account_shapes.NewAccountShape = request.body
    made = await request.manage.create_account(
        body.name,
        credits_of("credit", body.credit),
        texts_of(body, but=("name", "credit", "price")),
        None if body.price is UNSET else credits_of("price", body.price),
    )
    return account_shapes.OpenedAccount(
        made.account.name, made.password, made.api_key, made.key_id, made.signing_secret, format_credits(made.balance)
    )


async def get_account(request: AdminRequest) -> Struct:
    return serialize.account_with_keys(await request.manage.account(request.path["name"]))


async def set_account(request: AdminRequest) -> Struct:
    await request.manage.set_account(request.path["name"], texts_of(request.body))
    return await get_account(request)


async def top_up(request: AdminRequest) -> Struct:
    body: account_shapes.TopUp = request.body
    balance = await request.manage.top_up(request.path["name"], credits_of("amount", body.amount), body.note)
    return account_shapes.BalanceShape(format_credits(balance))


async def ledger(request: AdminRequest) -> Struct:
    limit = request.number("limit", 50, PAGE)
    entries = await request.manage.ledger(request.path["name"], limit, request.key("cursor"))
    more = str(entries[-1].key) if len(entries) == limit else None
    return account_shapes.Ledger(
        [serialize.entry(entry) for entry in entries],
        more,
    )


async def usage(request: AdminRequest) -> Struct:
    days = request.number("days", 1, MAX_DAYS)
    view = await request.manage.account(request.path["name"])
    period = await request.views.usage(view.account.id, days)
    return account_shapes.UsageOfAccount(
        [
            account_shapes.Span(
                format_utc(each.at),
                each.requests,
                format_credits(each.charged),
                format_credits(each.refunded),
                format_credits(each.inbound),
            )
            for each in period.spans
        ]
    )


async def new_password(request: AdminRequest) -> Struct:
    return account_shapes.NewSecret(await request.manage.new_password(request.path["name"]))


async def new_smpp_password(request: AdminRequest) -> Struct:
    length = request.body.length
    return account_shapes.NewSecret(await request.manage.new_smpp_password(request.path["name"], length))


async def new_signing_secret(request: AdminRequest) -> Struct:
    return account_shapes.NewSecret(await request.manage.new_signing_secret(request.path["name"]))


async def list_keys(request: AdminRequest) -> Struct:
    return account_shapes.Keys([serialize.key(key) for key in await request.manage.keys(request.path["name"])])


async def create_key(request: AdminRequest) -> Struct:
    body: account_shapes.NewApiKey = request.body
    if body.expires is not None and "expires" in request.query:
        raise invalid("expires", "The end of the key is given twice: in the body and in the query. Give it once.")
    expires = request.query.get("expires", "") if body.expires is None else body.expires
    made = await request.manage.create_key(request.path["name"], expires)
    return account_shapes.CreatedKey(made.key_id, made.api_key, serialize.maybe_moment(made.expires))


async def revoke_key(request: AdminRequest) -> Struct:
    await request.manage.revoke_key(request.path["name"], request.path["id"])
    return shapes.DoneShape()


async def audit_head(request: AdminRequest) -> Struct:
    return shapes.AuditHeadShape(**(await request.services.audit_proof.head()).as_object())


async def audit(request: AdminRequest) -> Struct:
    limit = request.number("limit", 50, PAGE)
    query = AuditQuery(
        limit,
        request.key("cursor"),
        request.query.get("actor", ""),
        request.query.get("action", ""),
        request.query.get("target", ""),
    )
    entries = await request.manage.audit_log(query)
    more = str(entries[-1].key) if len(entries) == limit else None
    return shapes.Audit(
        [serialize.audit_entry(each) for each in entries],
        more,
    )
