"""The customers' pull interface to their inbound messages: pages behind a cursor, and long polls."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from heliograph.app.facts import InboundMessage
from heliograph.app.ports import Pulls
from heliograph.app.sending.directory import AccountView
from heliograph.app.sending.fields import SHOWN_CHARS, shown
from heliograph.domain.error import NOT_FOUND, Fault, invalid
from heliograph.domain.limits import defaults
from heliograph.domain.message import ids

_WHOLE = re.compile(r"[0-9]{1,9}").fullmatch

PARAMETERS = ("after", "limit", "wait")
"""Names of the parameters of a query."""


@dataclass(slots=True)
class PullQuery:
    """A page of inbound messages."""

    after: int = 0
    """Cursor: the key of the last message before the page; 0 for the first page."""
    limit: int = defaults.PULL_DEFAULT
    """Messages of the page, at most."""
    wait: int = 0
    """Seconds for which the answer may wait for the first message (long poll)."""


def pull_query(query: Mapping[str, str]) -> PullQuery:
    """Reads the parameters. An empty parameter counts as absent. Raises Fault (400)."""
    check_names(query, PARAMETERS)
    wanted = PullQuery(limit=page_limit(query))
    if after := query.get("after"):
        parsed = ids.parse(after)
        if parsed is None:
            problem = f"The after is the Id of an inbound message, a UUID with or without dashes, not {shown(after)}."
            raise invalid("after", problem)
        wanted.after, _ = parsed
    wanted.wait = wait_seconds(query)
    return wanted


def wait_seconds(query: Mapping[str, str]) -> int:
    """Returns the seconds for which an answer may wait. Raises Fault (400)."""
    wait = query.get("wait")
    if not wait:
        return 0
    if _WHOLE(wait) is None or int(wait) > defaults.PULL_WAIT_S:
        problem = f"The wait is a whole number of seconds from 0 to {defaults.PULL_WAIT_S}, not {shown(wait)}."
        raise invalid("wait", problem)
    return int(wait)


def check_names(query: Mapping[str, str], names: Sequence[str]) -> None:
    """Raises Fault (400) for a parameter with another name."""
    for name in query:
        if name not in names:
            problem = f"There is no parameter {shown(name)}; there are {', '.join(names)}."
            raise invalid(name[:SHOWN_CHARS], problem)


def page_limit(query: Mapping[str, str]) -> int:
    """Returns the number of rows of a page. Raises Fault (400)."""
    limit = query.get("limit")
    if not limit:
        return defaults.PULL_DEFAULT
    if _WHOLE(limit) is None or not 1 <= int(limit) <= defaults.PULL_LIMIT:
        raise invalid("limit", f"The limit is a whole number from 1 to {defaults.PULL_LIMIT}, not {shown(limit)}.")
    return int(limit)


class Pulling:
    """Answers queries of customers for their inbound messages."""

    def __init__(self, pulls: Pulls) -> None:
        self._pulls = pulls

    async def page(self, view: AccountView, query: PullQuery) -> list[InboundMessage]:
        """Returns the page as it is now."""
        return await self._pulls.page(view.account.id, query.after, query.limit)

    async def get(self, view: AccountView, text: str) -> InboundMessage:
        """Returns the message with the id that `text` is. Raises Fault (404)."""
        parsed = ids.parse(text)
        found = None if parsed is None else await self._pulls.find(view.account.id, *parsed)
        if found is None:
            raise Fault(NOT_FOUND, "There is no such inbound message in this account.")
        return found
