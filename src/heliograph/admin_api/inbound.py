"""Messages from phones."""

from msgspec import Struct

from heliograph.admin_api import serialize, shapes
from heliograph.admin_api.request import AdminRequest
from heliograph.app.admin.inbound import ManageInbound
from heliograph.app.records import InboundQuery, InboundRecord
from heliograph.domain.error import invalid

PAGE = 100


async def search_inbound(request: AdminRequest) -> Struct:
    limit = request.number("limit", 50, PAGE)
    number = request.query.get("number", "").removeprefix("+")
    query = InboundQuery(None, number, request.key("cursor"), limit)
    unrouted = request.query.get("unrouted", "false")
    if unrouted not in ("true", "false"):
        raise invalid("unrouted", "The parameter unrouted is true or false.")
    if unrouted == "true":
        query.account = 0
    found = await request.inbound.find(query, request.query.get("account") or None)
    more = str(found[-1].message.key) if len(found) == limit else None
    return shapes.InboundMessages(await _told(request.inbound, found), more)


async def get_inbound(request: AdminRequest) -> Struct:
    return (await _told(request.inbound, [await request.inbound.show(*request.message_id())]))[0]


async def route_inbound(request: AdminRequest) -> Struct:
    routed = await request.inbound.route(*request.message_id(), request.body.account)
    return (await _told(request.inbound, [routed]))[0]


async def replay_inbound(request: AdminRequest) -> Struct:
    await request.inbound.replay(*request.message_id())
    return shapes.DoneShape()


async def _told(manage: ManageInbound, records: list[InboundRecord]) -> list[shapes.InboundShape]:
    accounts, connectors = await manage.account_names(), await manage.connector_names()
    return [serialize.inbound(record, accounts, connectors) for record in records]
