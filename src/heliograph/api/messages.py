"""The doors `/api/v1` and `/api/v2`: sending messages, reading their states, and the credit."""

import asyncio
from functools import partial
from typing import Final

from heliograph.api import answer, decode, operations
from heliograph.api.call import Call
from heliograph.api.checks import RequestChecks
from heliograph.api.door import json_handlers
from heliograph.api.send_fields import send_fields, time_text
from heliograph.api.services import Services
from heliograph.api.shapes import Done
from heliograph.app.facts import Accept
from heliograph.app.sending.browse import wants_delivery
from heliograph.app.sending.fields import Fields
from heliograph.app.sending.principal import Door, Secret
from heliograph.app.sending.reschedule import no_such_message
from heliograph.domain.error import Fault
from heliograph.domain.message import ids
from heliograph.http.reply import Reply

V1: Final = Door("v1")

V2: Final = Door("v2", Secret.PASSWORD, schedules=False, numeric_senders=False, default_callback=False)

BY_VERSION: Final[dict[int, Door]] = {1: V1, 2: V2}


class MessagesDoor:
    """The door of an API version."""

    def __init__(self, services: Services, checks: RequestChecks, version: int) -> None:
        self._services = services
        self._sending = services.sending
        self._clock = services.clock
        self.handlers = json_handlers(
            self,
            checks,
            BY_VERSION[version],
            operations.MESSAGES_V1 if version == 1 else operations.MESSAGES_V2,
            {
                "send_message": self._send,
                "send_message_v2": self._send,
                "quote_message": self._quote,
                "list_messages": self._list,
                "get_message": self._get,
                "reschedule_message": self._reschedule,
                "cancel_message": self._cancel,
                "list_message_events": self._history,
                "get_balance": self._balance,
                "get_balance_v2": self._balance,
            },
        )

    def refuse(self, fault: Fault) -> Reply:
        return answer.of_fault(fault)

    async def _send(self, call: Call, body: bytes) -> Reply:
        fields = self._fields(call, body)
        await self._sending.find_networks(call.who, fields)
        stored: asyncio.Future[Accept] = asyncio.get_running_loop().create_future()
        try:
            self._sending.send(call.who, fields, partial(_settle, stored))
        except Fault as fault:
            if not self._sending.may_be_replayed(fields, fault):
                raise
            call.begun = 0.0
            first = await self._sending.replay(call.who, fields, fault)
            self._services.refusals.replayed += 1
            return answer.of_accept(first)
        call.wait_for_commit()
        return answer.of_accept(await stored)

    def _fields(self, call: Call, body: bytes) -> Fields:
        call.begun = self._clock.monotonic()
        return send_fields(decode.media_type(call.content_type, body), body, call.who, self._services.bounds)

    async def _quote(self, call: Call, body: bytes) -> Reply:
        fields = self._fields(call, body)
        accept = await self._sending.quote(call.who, fields)
        longest = max(accept.messages, key=lambda message: message.segments)
        return answer.of_quote(accept, longest, self._sending.split(longest), fields.content)

    async def _list(self, call: Call, _: bytes) -> Reply:
        query = decode.query(call.scope["query_string"])
        with_delivery = wants_delivery(query)
        messages = await self._services.browse.list(call.who.view, query, self._clock.now())
        deliveries = await self._services.browse.deliveries(messages) if with_delivery else None
        return answer.of_page(messages, call.who.view.zone, deliveries)

    async def _get(self, call: Call, _: bytes) -> Reply:
        query = decode.query(call.scope["query_string"])
        key, tail = _message_id(call)
        with_delivery = wants_delivery(query)
        found = await self._services.browse.get(call.who.view, key, tail, query)
        messages = found if isinstance(found, list) else [found]
        deliveries = await self._services.browse.deliveries(messages) if with_delivery else None
        if isinstance(found, list):
            return answer.of_page(found, call.who.view.zone, deliveries)
        return answer.of_message(found, call.who.view.zone, deliveries)

    async def _history(self, call: Call, _: bytes) -> Reply:
        record = await self._services.browse.trace(call.who.view, *_message_id(call))
        return answer.of_history(record, call.who.view.zone)

    async def _reschedule(self, call: Call, body: bytes) -> Reply:
        media = decode.media_type(call.content_type, body)
        view, now = call.who.view, self._clock.now()
        rescheduling = self._services.rescheduling
        call.begun = self._clock.monotonic()
        given = decode.one_field(media, body, "time")
        time = rescheduling.new_time(view, None if given is None else time_text(given), now)
        call.begun = 0.0
        return answer.of_rescheduled(await rescheduling.reschedule(view, *_message_id(call), time, now))

    async def _cancel(self, call: Call, _: bytes) -> Reply:
        await self._services.rescheduling.cancel(call.who.view, *_message_id(call), self._clock.now())
        return answer.of(Done("00"))

    async def _balance(self, call: Call, _: bytes) -> Reply:
        return answer.of_balance(await self._services.browse.balance(call.who.view))


def _message_id(call: Call) -> tuple[int, int]:
    found = ids.parse(call.target)
    if found is None:
        raise no_such_message()
    return found


def _settle(stored: "asyncio.Future[Accept]", accept: Accept) -> None:
    if not stored.done():  # the client may have gone
        stored.set_result(accept)
