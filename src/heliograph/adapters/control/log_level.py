"""The log's level while the gateway runs; on debug, the events of each message are logged too."""

import logging
import re
from collections.abc import Callable, Mapping
from typing import Any

from heliograph.adapters.control.event_stream import shown_details
from heliograph.adapters.control.server import Send
from heliograph.app.observing.events import EventFeed, MessageEvent
from heliograph.app.ports import Journal
from heliograph.domain.message import ids

LEVELS = ("debug", "info", "warning", "error")

#: The logger of all of the gateway's lines, to which `adapters.system.journal` writes.
LOGGER = "heliograph"


Overheard = Callable[[bytes, int, bytes], None]
"""Request id, status and body of an answer."""

_ID = re.compile(rb'\{"Status":"00","Id":"([0-9a-f]{32})"').match


class LogLevelControl:
    """Changes the log's level, and logs events while it is debug."""

    def __init__(
        self,
        journal: Journal,
        feed: EventFeed,
        connector_name: Callable[[int], str],
        overhear: Callable[[Overheard | None], None],
    ) -> None:
        """`connector_name` returns a connector's name by its id. `overhear` registers a listener for each answer of the
        API; None removes it.
        """
        self._journal = journal
        self._overhear = overhear
        self._feed = feed
        self._connector_name = connector_name
        self._heed()

    @property
    def level(self) -> str:
        return logging.getLevelName(logging.getLogger(LOGGER).level).lower()

    async def answer(self, request: Mapping[str, Any], send: Send) -> None:
        """Changes the level if the request has a level. Answers with the level before and after."""
        wanted, was = request.get("level"), self.level
        if wanted is not None:
            self.change(str(wanted))
        await send({"level": self.level, "was": was})

    def change(self, level: str) -> None:
        """Sets the level until the next change or the gateway's end. Raises ValueError."""
        if level not in LEVELS:
            raise ValueError(f"a level is one of {', '.join(LEVELS)}")
        was = self.level
        logging.getLogger(LOGGER).setLevel(level.upper())
        self._heed()
        if level != was:
            # as a warning, so that a reader of the quiet log knows why it is quiet
            self._journal.log("warning", "log.level_changed", to_level=level, was=was)

    def _heed(self) -> None:
        self._feed.unsubscribe(self._write)
        self._overhear(None)
        if self.level == "debug":
            self._feed.subscribe(self._write)
            self._overhear(self._answered)

    def _answered(self, request_id: bytes, status: int, body: bytes) -> None:
        """Logs both ids on a line: the id that a customer quotes, and the id in other lines."""
        found = _ID(body)
        message = {} if found is None else {"message": found[1].decode()}
        self._journal.log("debug", "http.response", request_id=request_id.decode(), status=status, **message)

    def _write(self, events: list[MessageEvent]) -> None:
        for event in events:
            fields: dict[str, Any] = {}
            message = event.message
            if message is not None:
                fields["message"] = ids.to_hex(message.key, message.tail)
            elif event.key:
                fields["message_key"] = event.key
            if event.segment is not None:
                fields["segment"] = event.segment
            if event.connector is not None:
                fields["connector"] = self._connector_name(event.connector)
            fields |= shown_details(event)
            self._journal.log("debug", f"message.{event.event}", **fields)
