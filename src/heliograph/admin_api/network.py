"""Connectors, routes and prices."""

from msgspec import UNSET, Struct

from heliograph.admin_api import shapes, views
from heliograph.admin_api.call import Call, credits_of, texts_of
from heliograph.app.admin.manage import ConnectorChange
from heliograph.app.sending.directory import DEFAULT_PLAN
from heliograph.domain.error import missing


async def list_connectors(call: Call) -> Struct:
    states = await call.oversight.store.link_states()
    found = await call.administration.connectors()
    return shapes.Connectors([views.connector(each, states, call.oversight.now) for each in found])


async def get_connector(call: Call) -> Struct:
    found = await call.administration.connector(call.path["name"])
    store, now = call.oversight.store, call.oversight.now
    return views.connector_with_links(found, await store.link_states(), await store.standing(now), now)


async def add_connector(call: Call) -> Struct:
    body: shapes.NewConnector = call.body
    options = {} if body.options is UNSET else body.options
    texts = texts_of(body, but=("name", "options"))
    return await _changed(call, await call.administration.add_connector(body.name, texts, options))


async def set_connector(call: Call) -> Struct:
    body: shapes.ConnectorSettings = call.body
    options = {} if body.options is UNSET else body.options
    texts = texts_of(body, but=("options",))
    return await _changed(call, await call.administration.set_connector(call.path["name"], texts, options))


async def _changed(call: Call, change: ConnectorChange) -> Struct:
    states = await call.oversight.store.link_states()
    return views.connector(change.connector, states, call.oversight.now, change.warnings)


async def remove_connector(call: Call) -> Struct:
    await call.administration.remove_connector(call.path["name"])
    return shapes.Done()


async def pause_connector(call: Call) -> Struct:
    return await _changed(call, await call.administration.set_connector(call.path["name"], {"enabled": "false"}))


async def resume_connector(call: Call) -> Struct:
    return await _changed(call, await call.administration.set_connector(call.path["name"], {"enabled": "true"}))


async def test_connector(call: Call) -> Struct:
    found = await call.administration.connector(call.path["name"])
    probed = await call.desk.probe(found)
    await call.administration.note("connector.test", found.name, {"ok": "true" if probed.ok else "false"})
    return shapes.Probe(probed.ok, [shapes.ProbeStep(*step) for step in probed.steps])


async def list_routes(call: Call) -> Struct:
    return shapes.Routes([views.route(each) for each in await call.administration.routes()])


async def add_route(call: Call) -> Struct:
    body: shapes.NewRoute = call.body
    return views.route(await call.administration.add_route(body.prefix, body.connector, body.priority))


async def remove_route(call: Call) -> Struct:
    text = call.path["id"]
    await call.administration.remove_route(int(text) if text.isdigit() and len(text) < 19 else 0)
    return shapes.Done()


async def decide(call: Call) -> Struct:
    for name in ("number", "account"):
        if not call.query.get(name):
            raise missing(name)
    return views.decision(await call.oversight.decide(call.query["number"], call.query["account"]))


async def list_prices(call: Call) -> Struct:
    prices = await call.administration.prices(call.query.get("plan") or None)
    return views.prices(prices, await call.administration.built_in_price())


async def set_price(call: Call) -> Struct:
    body: shapes.NewPrice = call.body
    return views.price(await call.administration.set_price(body.prefix, credits_of("price", body.price), body.plan))


async def remove_price(call: Call) -> Struct:
    await call.administration.remove_price(call.query.get("prefix", ""), call.query.get("plan") or DEFAULT_PLAN)
    return shapes.Done()
