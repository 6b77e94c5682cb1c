"""Alerts: people are told of worries, each once when it appears and once when it is over.

    worry appears --> it stands for STEADY_ROUNDS rounds --> alert --> it is gone for as many rounds --> "over"

The rounds make a link that is bound again at once, or a start, send nothing. The store keeps the worries that people
were told about, so a restart repeats no alert, and tells of worries that ended meanwhile. Of several nodes, a single
node has the job. If no destination takes an alert, it is tried again after a pause.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from typing import Final

from heliograph.app.ports import AlertSender, Fenced, Journal, Unavailable
from heliograph.app.records import ToldWorry
from heliograph.app.resources.attention import STORE_FAILS, Worry, find_all
from heliograph.app.resources.desk import Desk
from heliograph.domain.display import counted, duration
from heliograph.runtime.tasks import Background, Watch

ROUND_S: Final = 15.0
"""Seconds between two rounds."""

STEADY_ROUNDS: Final = 2
"""Rounds in a row in which a worry stands before people are told, or is gone before they are told that it is over."""

PAUSES_S: Final = (30.0, 60.0, 120.0, 300.0)
"""Seconds until alerts are tried again after no destination took them; the last pause repeats."""

MOST_LINES: Final = 20
"""The most worries of an alert in words."""

Key = tuple[str, str]
"""Topic and subject of a worry."""


class AlertWatch:
    """The rounds of alerts."""

    def __init__(
        self,
        desk: Desk,
        sender: AlertSender,
        journal: Journal,
        name: str,
        has_job: Callable[[], Awaitable[bool]] | None = None,
    ) -> None:
        """`name` of the gateway, for example `sms.example.com`. `has_job`: returns whether this node sends alerts; None
        on a store with a single node. It may raise Unavailable."""
        self._desk = desk
        self._sender = sender
        self._journal = journal
        self._name = name
        self._has_job = has_job
        self._is_mine = has_job is None
        self._told: dict[Key, ToldWorry] = {}
        """The worries that people were told about."""
        self._is_read = False
        """Whether these of earlier runs and other nodes are among them."""
        self._is_kept = True
        """False while the store lacks a change of `_told`."""
        self._changing: dict[Key, int] = {}
        """Worries that people are to be told about, or that are gone, with the rounds since."""
        self._failures = 0
        self._again = 0.0
        self._task = Background("alerts", self._run)

    def start(self, watch: Watch) -> None:
        """Starts the rounds."""
        self._task.start(watch)

    async def stop(self) -> None:
        await self._task.stop()

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(ROUND_S)
            await self.round()

    async def round(self) -> None:
        """Does a round."""
        if self._has_job is not None:
            try:
                self._is_mine = await self._has_job()
            except Fenced:
                self._is_mine = False  # another node goes on
            except Unavailable:
                pass  # the node that had the job tells that the store is away
        if not self._is_mine:
            self._told, self._is_read = {}, False
            self._changing.clear()
            return
        knows_all = True
        try:
            if not self._is_read:
                kept = await self._desk.store.upkeep.told_worries()
                self._told = {(each.topic, each.subject): each for each in kept} | self._told
                self._is_read = True
            found = await find_all(self._desk)
        except Unavailable:
            found, knows_all = [STORE_FAILS], False
        await self._tell({(each.topic.value, each.subject): each for each in found}, knows_all=knows_all)

    async def _tell(self, found: dict[Key, Worry], *, knows_all: bool) -> None:
        told = self._told
        changing = [key for key in found if key not in told]
        changing += [key for key in told if key not in found] if knows_all else []
        self._changing = {key: self._changing.get(key, 0) + 1 for key in changing}
        if self._desk.clock.monotonic() < self._again:
            return
        steady = [key for key, rounds in self._changing.items() if rounds >= STEADY_ROUNDS]
        new = [found[key] for key in steady if key in found]
        over = [told[key] for key in steady if key in told]
        now = self._desk.now
        if new and await self._send("needs attention", [each.sentence for each in new], is_over=False):
            told |= {
                (each.topic.value, each.subject): ToldWorry(each.topic.value, each.subject, each.problem, now)
                for each in new
            }
            self._is_kept = False
        lines = [f"Over after {duration(now - each.since)}: {each.problem}." for each in over]
        if over and await self._send("is better", lines, is_over=True):
            for each in over:
                del told[each.topic, each.subject]
            self._is_kept = False
        if self._is_read and not self._is_kept:
            with suppress(Unavailable):  # kept in a later round
                await self._desk.store.upkeep.keep_told(list(told.values()))
                self._is_kept = True

    async def _send(self, what: str, lines: Sequence[str], *, is_over: bool) -> bool:
        text = "\n".join(_shortened(lines))
        attempts = await self._sender.send(f"{self._name} {what}", text, is_over=is_over)
        for each in attempts:
            if each.problem:
                self._journal.log("warning", "alert.unsent", destination=each.destination, problem=each.problem)
        sent = any(not each.problem for each in attempts)
        pause = PAUSES_S[min(self._failures, len(PAUSES_S) - 1)]
        self._failures = 0 if sent else self._failures + 1
        self._again = 0.0 if sent else self._desk.clock.monotonic() + pause
        return sent


def _shortened(lines: Sequence[str]) -> Iterable[str]:
    left = len(lines) - MOST_LINES
    return lines if left <= 0 else [*lines[:MOST_LINES], f"And {counted(left, 'more', 'more')}: heliograph attention"]
