"""Phones that opted out of an account's messages."""

from msgspec import Struct

from heliograph.admin_api import serialize, shapes, suppression_shapes
from heliograph.admin_api.request import AdminRequest

PAGE = 1_000
DEFAULT = 100


async def list_suppressions(request: AdminRequest) -> Struct:
    name, limit = request.path["name"], request.number("limit", DEFAULT, PAGE)
    request.key("cursor")
    number = request.query.get("number")
    if number:
        found = await request.suppressions.find(name, number)
        return suppression_shapes.SuppressionsShape([] if found is None else [serialize.suppression(found)], None)
    return serialize.suppressions(await request.suppressions.page(name, request.query.get("cursor", ""), limit), limit)


async def add_suppressions(request: AdminRequest) -> Struct:
    numbers = request.body.numbers
    added = await request.suppressions.add(request.path["name"], numbers, "api")
    return suppression_shapes.SuppressedShape(added, len(numbers) - added)


async def remove_suppression(request: AdminRequest) -> Struct:
    await request.suppressions.remove(request.path["name"], request.path["number"])
    return shapes.DoneShape()
