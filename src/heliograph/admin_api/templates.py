"""Texts that a registry of operators has."""

from msgspec import UNSET, Struct

from heliograph.admin_api import serialize, shapes, template_shapes
from heliograph.admin_api.request import AdminRequest
from heliograph.app.admin.templates import TemplateView


async def list_templates(request: AdminRequest) -> Struct:
    account, sender = request.query.get("account") or None, request.query.get("sender") or None
    found = await request.templates.templates(account, sender)
    return template_shapes.TemplatesShape([serialize.template(each) for each in found])


async def get_template(request: AdminRequest) -> Struct:
    return serialize.template(await request.templates.template(request.path["name"]))


async def add_template(request: AdminRequest) -> Struct:
    return serialize.template(await request.templates.add(_view(request.body)))


async def put_templates(request: AdminRequest) -> Struct:
    wanted = [_view(each) for each in request.body.templates]
    new = await request.templates.put(wanted)
    return template_shapes.PutTemplates(new, len(wanted) - new)


async def set_template(request: AdminRequest) -> Struct:
    body: template_shapes.TemplateSettings = request.body
    changes = {name: getattr(body, name) for name in ("text", "sender", "account", "tlvs")}
    given = {name: value for name, value in changes.items() if value is not UNSET}
    return serialize.template(await request.templates.set(request.path["name"], **given))


async def remove_template(request: AdminRequest) -> Struct:
    await request.templates.remove(request.path["name"])
    return shapes.DoneShape()


async def check_text(request: AdminRequest) -> Struct:
    body: template_shapes.TextToCheck = request.body
    return serialize.template_check(await request.templates.check(body.sender, body.text, body.account or None))


def _view(body: template_shapes.NewTemplate) -> TemplateView:
    return TemplateView(body.name, body.text, body.sender, body.account, body.tlvs)
