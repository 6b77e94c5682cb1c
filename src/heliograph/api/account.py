"""The operations below `/account/v1`: what an account has beside the messages that it sends."""

import re
from collections.abc import Awaitable, Callable, Mapping
from functools import partial

from heliograph.api import answer, decode, fields
from heliograph.api.call import Call
from heliograph.api.shapes import Done
from heliograph.app.inbound.pull import PARAMETERS, Pulling, check_names, page_limit, pull_query, wait_seconds
from heliograph.app.inbound.suppression_list import SuppressionList
from heliograph.domain.error import TOO_EARLY, Fault, invalid
from heliograph.http.asgi import Receive
from heliograph.http.reply import Reply
from heliograph.runtime.listening import NoticeListeners, TooManyListen
from heliograph.runtime.long_polls import LongPolls, TooManyWait

_PLACE = re.compile(fields.PLACE).fullmatch


class AccountRoot:
    """Serves these operations; `operations` has them by name."""

    def __init__(
        self,
        pulling: Pulling,
        long_polls: LongPolls,
        suppressions: SuppressionList,
        listening: NoticeListeners,
        readmit: Callable[[Call], Awaitable[None]],
    ) -> None:
        """`readmit` checks whether a request that has waited may still be answered, and raises Fault if not."""
        self._pulling = pulling
        self._long_polls = long_polls
        self._suppressions = suppressions
        self._listening = listening
        self._readmit = readmit
        self.operations: Mapping[str, Callable[[Call, bytes], Awaitable[Reply]]] = {
            "pull_inbound": self._pull,
            "get_inbound": self._get,
            "listen_notices": self._listen,
            "list_suppressions": self._list_suppressions,
            "get_suppression": self._get_suppression,
            "add_suppression": self._add_suppression,
            "remove_suppression": self._remove_suppression,
        }

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
        await self._readmit(call)
        return answer.of_inbound_page(found, view.zone)

    async def _get(self, call: Call, _: bytes) -> Reply:
        view = call.who.view
        return answer.of_inbound(await self._pulling.get(view, call.target), view.zone)

    async def _listen(self, call: Call, _: bytes) -> Reply:
        query, view = decode.query(call.scope["query_string"]), call.who.view
        check_names(query, PARAMETERS)
        after = query.get("after", "")
        if after and _PLACE(after) is None:
            raise invalid("after", "The after is the cursor of an earlier answer.")
        limit, wait = page_limit(query), wait_seconds(query)
        try:
            page = await self._listening.page(view, after, limit, wait, _gone(call.receive))
        except TooManyListen:
            raise Fault(TOO_EARLY, "Too many requests listen to notices; end some.", None, 1) from None
        await self._readmit(call)
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


async def _gone(receive: Receive) -> None:
    """Ends when the client has gone."""
    while (await receive())["type"] != "http.disconnect":
        pass
