"""Registries of sender IDs."""

from msgspec import Struct

from heliograph.admin_api import sender_shapes, shapes
from heliograph.admin_api.request import AdminRequest


async def list_senders(request: AdminRequest) -> Struct:
    account, state = request.query.get("account"), request.query.get("state")
    return sender_shapes.senders(await request.senders.senders(account, state))


async def put_senders(request: AdminRequest) -> Struct:
    body: sender_shapes.NewSenders = request.body
    new = await request.senders.put(request.path["name"], body.senders, body.state, body.note)
    return sender_shapes.PutSenders(new, len(set(body.senders)) - new)


async def remove_sender(request: AdminRequest) -> Struct:
    await request.senders.remove(request.path["name"], request.path["sender"])
    return shapes.DoneShape()
