"""Holds of the pumping guard."""

from msgspec import Struct

from heliograph.admin_api import guard_shapes
from heliograph.admin_api.request import AdminRequest


async def list_holds(request: AdminRequest) -> Struct:
    return guard_shapes.holds(await request.guard.holds())


async def release_hold(request: AdminRequest) -> Struct:
    return guard_shapes.HeldNumber(await request.guard.release(request.body.account, request.body.prefix))


async def refund_hold(request: AdminRequest) -> Struct:
    return guard_shapes.HeldNumber(await request.guard.refund(request.body.account, request.body.prefix))
