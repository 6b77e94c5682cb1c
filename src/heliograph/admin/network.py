"""Connectors, routes and prices."""

import json
from typing import Any

from msgspec import UNSET, Struct

from heliograph.admin import shapes
from heliograph.admin.call import Call, credits_of, moment, texts_of
from heliograph.app import accounts, oversee
from heliograph.app.administer import RouteView
from heliograph.app.directory import DEFAULT_PLAN
from heliograph.domain.error import missing
from heliograph.domain.money import format_credits


def _values(connector: accounts.Connector) -> dict[str, Any]:
    return {
        "name": connector.name,
        "host": connector.host,
        "port": connector.port,
        "system_id": connector.system_id,
        "bind": connector.bind,
        "binds": connector.binds,
        "window": connector.window,
        "rate": connector.rate,
        "tls": connector.tls,
        "enabled": connector.enabled,
        "options": connector.options,
        "created": moment(connector.created),
    }


async def list_connectors(call: Call) -> Struct:
    return shapes.Connectors([shapes.Connector(**_values(each)) for each in await call.administration.connectors()])


async def get_connector(call: Call) -> Struct:
    found = await call.administration.connector(call.path["name"])
    states = [state for state in await call.oversight.store.link_states() if state.connector == found.id]
    links = [shapes.Link(moment(state.at), json.loads(state.state)) for state in states]
    return shapes.ConnectorWithLinks(**_values(found), links=links)


async def add_connector(call: Call) -> Struct:
    body: shapes.NewConnector = call.body
    options = {} if body.options is UNSET else body.options
    change = await call.administration.add_connector(body.name, texts_of(body, but=("name", "options")), options)
    return shapes.Connector(**_values(change.connector), warnings=change.warnings)


async def set_connector(call: Call) -> Struct:
    body: shapes.ConnectorSettings = call.body
    options = {} if body.options is UNSET else body.options
    change = await call.administration.set_connector(call.path["name"], texts_of(body, but=("options",)), options)
    return shapes.Connector(**_values(change.connector), warnings=change.warnings)


async def remove_connector(call: Call) -> Struct:
    await call.administration.remove_connector(call.path["name"])
    return shapes.Done()


async def pause_connector(call: Call) -> Struct:
    change = await call.administration.set_connector(call.path["name"], {"enabled": "false"})
    return shapes.Connector(**_values(change.connector))


async def resume_connector(call: Call) -> Struct:
    change = await call.administration.set_connector(call.path["name"], {"enabled": "true"})
    return shapes.Connector(**_values(change.connector))


async def test_connector(call: Call) -> Struct:
    found = await call.administration.connector(call.path["name"])
    probed = await call.desk.probe(found)
    await call.administration.note("connector.test", found.name, {"ok": "true" if probed.ok else "false"})
    return shapes.Probe(probed.ok, [shapes.ProbeStep(*step) for step in probed.steps])


def _route(route: RouteView) -> shapes.Route:
    return shapes.Route(route.id, route.prefix, route.connector, route.priority)


async def list_routes(call: Call) -> Struct:
    return shapes.Routes([_route(each) for each in await call.administration.routes()])


async def add_route(call: Call) -> Struct:
    body: shapes.NewRoute = call.body
    return _route(await call.administration.add_route(body.prefix, body.connector, body.priority))


async def remove_route(call: Call) -> Struct:
    text = call.path["id"]
    await call.administration.remove_route(int(text) if text.isdigit() and len(text) < 19 else 0)
    return shapes.Done()


def decision_of(decision: oversee.Decision) -> shapes.Decision:
    price = None if decision.price is None else format_credits(decision.price)
    return shapes.Decision(decision.number, decision.connector, price, decision.reasons)


async def decide(call: Call) -> Struct:
    for name in ("number", "account"):
        if not call.query.get(name):
            raise missing(name)
    return decision_of(await call.oversight.decide(call.query["number"], call.query["account"]))


def _price(price: accounts.Price) -> shapes.Price:
    return shapes.Price(price.plan, price.prefix, format_credits(price.price))


async def list_prices(call: Call) -> Struct:
    return shapes.Prices([_price(each) for each in await call.administration.prices(call.query.get("plan") or None)])


async def set_price(call: Call) -> Struct:
    body: shapes.NewPrice = call.body
    return _price(await call.administration.set_price(body.prefix, credits_of("price", body.price), body.plan))


async def remove_price(call: Call) -> Struct:
    await call.administration.remove_price(call.query.get("prefix", ""), call.query.get("plan") or DEFAULT_PLAN)
    return shapes.Done()
