"""Connectors and routes."""

from typing import Any

from msgspec import UNSET, Struct

from heliograph.admin_api import serialize, shapes
from heliograph.admin_api.request import AdminRequest, texts_of
from heliograph.app.admin.manage import ConnectorChange
from heliograph.app.connector_kind import SMPP
from heliograph.domain.error import missing


async def list_connectors(request: AdminRequest) -> dict[str, Any]:
    reports, now = await request.manage.link_states(), request.manage.now
    manage = request.manage
    found = await manage.connectors()
    return {"connectors": [serialize.connector(manage.kind_of(each), each, reports, now) for each in found]}


async def get_connector(request: AdminRequest) -> dict[str, Any]:
    found = await request.manage.connector(request.path["name"])
    manage = request.manage
    kind, reports = manage.kind_of(found), await manage.link_states()
    return serialize.connector_with_links(kind, found, reports, await manage.backlog(), manage.now)


async def add_connector(request: AdminRequest) -> dict[str, Any]:
    body = request.body
    options = {} if body.options is UNSET else body.options
    texts = texts_of(body, but=("name", "kind", "options"))
    kind = SMPP if body.kind is UNSET else body.kind
    return await _changed(request, await request.manage.add_connector(body.name, texts, options, kind))


async def set_connector(request: AdminRequest) -> dict[str, Any]:
    body = request.body
    options = {} if body.options is UNSET else body.options
    texts = texts_of(body, but=("options",))
    return await _changed(request, await request.manage.set_connector(request.path["name"], texts, options))


async def _changed(request: AdminRequest, change: ConnectorChange) -> dict[str, Any]:
    reports, kind = await request.manage.link_states(), request.manage.kind_of(change.connector)
    return serialize.connector(kind, change.connector, reports, request.views.now, change.warnings)


async def remove_connector(request: AdminRequest) -> Struct:
    await request.manage.remove_connector(request.path["name"])
    return shapes.DoneShape()


async def pause_connector(request: AdminRequest) -> dict[str, Any]:
    return await _changed(request, await request.manage.set_connector(request.path["name"], {"enabled": "false"}))


async def resume_connector(request: AdminRequest) -> dict[str, Any]:
    return await _changed(request, await request.manage.set_connector(request.path["name"], {"enabled": "true"}))


async def test_connector(request: AdminRequest) -> Struct:
    found = await request.manage.connector(request.path["name"])
    probed = await request.services.probe(found)
    await request.manage.note("connector.test", found.name, {"ok": "true" if probed.ok else "false"})
    return shapes.Probe(probed.ok, [shapes.ProbeStep(*step) for step in probed.steps])


async def decide(request: AdminRequest) -> Struct:
    for name in ("number", "account"):
        if not request.query.get(name):
            raise missing(name)
    return serialize.decision(await request.views.decide(request.query["number"], request.query["account"]))
