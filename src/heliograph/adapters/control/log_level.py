"""The log's level while the gateway runs; on debug, what happens to each message is logged too."""

import logging
import re
from collections.abc import Callable, Mapping
from typing import Any

from heliograph.adapters.control.event_stream import shown_details
from heliograph.adapters.control.server import Say
from heliograph.app.observing.events import Happening, Narrator
from heliograph.app.ports import Journal
from heliograph.domain import ids

LEVELS = ("debug", "info", "warning", "error")

#: The logger of all of the gateway's lines; what `adapters.system.journal` writes to.
LOGGER = "heliograph"


Overheard = Callable[[bytes, int, bytes], None]
"""Request id, status and body of an answer."""

_ID = re.compile(rb'\{"Status":"00","Id":"([0-9a-f]{32})"').match


class Logbook:
    """`connector_name` gives a connector's name by its id."""

    def __init__(
        self,
        journal: Journal,
        narrator: Narrator,
        connector_name: Callable[[int], str],
        overhear: Callable[[Overheard | None], None],
    ) -> None:
        """`overhear` is given what is to be told of each answer of the API, or None when nothing is."""
        self._journal = journal
        self._overhear = overhear
        self._narrator = narrator
        self._connector_name = connector_name
        self._heed()

    @property
    def level(self) -> str:
        return logging.getLevelName(logging.getLogger(LOGGER).level).lower()

    async def answer(self, request: Mapping[str, Any], say: Say) -> None:
        """Changes the level if one is given; tells what it is and was."""
        wanted, was = request.get("level"), self.level
        if wanted is not None:
            self.change(str(wanted))
        await say({"level": self.level, "was": was})

    def change(self, level: str) -> None:
        """Until the next change, or the gateway's end. Raises ValueError."""
        if level not in LEVELS:
            raise ValueError(f"a level is one of {', '.join(LEVELS)}")
        was = self.level
        logging.getLogger(LOGGER).setLevel(level.upper())
        self._heed()
        if level != was:
            # as a warning, so that whoever reads a quiet log learns that it is one
            self._journal.say("warning", "log.level_changed", to_level=level, was=was)

    def _heed(self) -> None:
        self._narrator.leave(self._write)
        self._overhear(None)
        if self.level == "debug":
            self._narrator.listen(self._write)
            self._overhear(self._answered)

    def _answered(self, request_id: bytes, status: int, body: bytes) -> None:
        """Both ids on one line: what a customer quotes, and what the gateway's own lines name."""
        found = _ID(body)
        message = {} if found is None else {"message": found[1].decode()}
        self._journal.say("debug", "http.answered", request_id=request_id.decode(), status=status, **message)

    def _write(self, happenings: list[Happening]) -> None:
        for happening in happenings:
            fields: dict[str, Any] = {}
            message = happening.message
            if message is not None:
                fields["message"] = ids.to_hex(message.key, message.tail)
            elif happening.key:
                fields["message_key"] = happening.key
            if happening.segment is not None:
                fields["segment"] = happening.segment
            if happening.connector is not None:
                fields["connector"] = self._connector_name(happening.connector)
            fields |= shown_details(happening)
            self._journal.say("debug", f"message.{happening.event}", **fields)
