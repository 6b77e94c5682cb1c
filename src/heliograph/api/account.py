"""The door `/account/v1`: messages from phones, notices, suppressions and feedback of an account."""

import re
from functools import partial

from heliograph.api import answer, decode, fields, operations
from heliograph.api.call import Call
from heliograph.api.checks import RequestChecks
from heliograph.api.door import json_handlers
from heliograph.api.messages import V1
from heliograph.api.services import Services
from heliograph.api.shapes import Done
from heliograph.app.inbound.pull import PARAMETERS, check_names, page_limit, pull_query, wait_seconds
from heliograph.app.records import ExportFormat
from heliograph.app.sending.feedback import DELIVERED
from heliograph.domain.error import TOO_EARLY, Fault, invalid
from heliograph.http.asgi import Receive
from heliograph.http.reply import Reply
from heliograph.runtime.listening import TooManyListen
from heliograph.runtime.long_polls import TooManyWait

_CURSOR = re.compile(fields.CURSOR).fullmatch


class AccountDoor:
    """Serves these operations."""

    def __init__(self, services: Services, checks: RequestChecks) -> None:
        self._pulling = services.pulling
        self._long_polls = services.long_polls
        self._suppressions = services.suppression_list
        self._listening = services.listening
        self._feedback = services.feedback
        self._browse = services.browse
        self._clock = services.clock
        self._checks = checks
        self.handlers = json_handlers(
            self,
            checks,
            V1,
            operations.ACCOUNT,
            {
                "pull_inbound": self._pull,
                "get_inbound": self._get,
                "listen_notices": self._listen,
                "list_suppressions": self._list_suppressions,
                "get_suppression": self._get_suppression,
                "add_suppression": self._add_suppression,
                "remove_suppression": self._remove_suppression,
                "give_feedback": self._give_feedback,
                "export_messages": self._export,
            },
        )

    def refuse(self, fault: Fault) -> Reply:
        return answer.of_fault(fault)

    async def _pull(self, call: Call, _: bytes) -> Reply:
        query, view = pull_query(decode.query(call.scope["query_string"])), call.who.view
        read = partial(self._pulling.page, view, query)
        if not query.wait:
            return answer.of_inbound_page(await read(), view.zone)
        try:
            found = await self._long_polls.first(view.account.id, query.wait, read, _gone(call.receive))
        except TooManyWait:
            problem = "Too many requests wait for inbound messages; end some, or ask without wait."
            raise Fault(TOO_EARLY, problem, None, 1) from None
        await self._checks.sign_in_again(call)
        return answer.of_inbound_page(found, view.zone)

    async def _get(self, call: Call, _: bytes) -> Reply:
        view = call.who.view
        return answer.of_inbound(await self._pulling.get(view, call.target), view.zone)

    async def _listen(self, call: Call, _: bytes) -> Reply:
        query, view = decode.query(call.scope["query_string"]), call.who.view
        check_names(query, PARAMETERS)
        after = query.get("after", "")
        if after and _CURSOR(after) is None:
            raise invalid("after", "The after is the cursor of an earlier answer.")
        limit, wait = page_limit(query), wait_seconds(query)
        try:
            page = await self._listening.page(view, after, limit, wait, _gone(call.receive))
        except TooManyListen:
            raise Fault(TOO_EARLY, "Too many requests listen to notices; end some.", None, 1) from None
        await self._checks.sign_in_again(call)
        return answer.of_notices(page, view.zone)

    async def _list_suppressions(self, call: Call, _: bytes) -> Reply:
        view = call.who.view
        found = await self._suppressions.page(view, decode.query(call.scope["query_string"]))
        return answer.of_suppressions(found, view.zone)

    async def _get_suppression(self, call: Call, _: bytes) -> Reply:
        view = call.who.view
        return answer.of_suppression(await self._suppressions.get(view, call.target), view.zone)

    async def _add_suppression(self, call: Call, _: bytes) -> Reply:
        view = call.who.view
        return answer.of_suppression(await self._suppressions.add(view, call.target), view.zone)

    async def _remove_suppression(self, call: Call, _: bytes) -> Reply:
        await self._suppressions.remove(call.who.view, call.target)
        return answer.of(Done("00"))

    async def _give_feedback(self, call: Call, body: bytes) -> Reply:
        given = decode.one_field(decode.media_type(call.content_type, body), body, DELIVERED)
        await self._feedback.keep(call.who.view, call.target, given)
        return answer.of(Done("00"))

    async def _export(self, call: Call, _: bytes) -> Reply:
        from heliograph.api.export import message_file

        query, view = decode.query(call.scope["query_string"]), call.who.view
        try:
            kind = ExportFormat(query.get("format") or ExportFormat.CSV)
        except ValueError:
            raise invalid("format", f"The format is {' or '.join(ExportFormat)}.") from None
        pages = await self._browse.export(view, query, self._clock.now())
        pieces = message_file(pages, self._browse.deliveries, view.zone, as_csv=kind is ExportFormat.CSV)
        disposition = b'attachment; filename="messages.%b"' % kind.encode()
        return Reply(200, b"", ((b"content-disposition", disposition),), kind.content_type.encode(), pieces)


async def _gone(receive: Receive) -> None:
    """Returns when the client has gone."""
    while (await receive())["type"] != "http.disconnect":
        pass
