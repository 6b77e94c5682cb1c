"""The health of connectors: which cannot send at the moment, so that messages take another candidate.

Every LOOK_S each connector is looked at:

    no bind for `failover_after_s`         "down for more than 15 s"
    breaker open                           "failing most messages"
    oldest message too old                 "overloaded: messages wait for more than 30 s"
    no rate at this time of day            "not sending at this time of day"
    a cap is reached                       "at its cap for today"

Nodes without the binds of a connector believe the reports of the nodes that have them.
"""

import asyncio
from collections.abc import Sequence
from typing import Final

from heliograph.app.dispatch.dispatcher import Dispatcher
from heliograph.app.dispatch.failover import OVERLOADED
from heliograph.app.dispatch.lane import Lane
from heliograph.app.ports import Clock, ConnectorReport, Journal, Series
from heliograph.app.ports.series import DAY_MS
from heliograph.app.routing.health import FAILING, reported_obstacles
from heliograph.app.routing.receipt_doubts import doubt_query, find_doubts
from heliograph.app.sending.directory import Directory

LOOK_S: Final = 0.25
"""Seconds between two looks. With a second, messages behind a dead operator waited for up to 1.5 s more, because
housekeeping under load takes its time as well."""


class ConnectorHealth:
    """Keeps the directory's obstacles in line with the state of the connectors."""

    def __init__(self, directory: Directory, dispatcher: Dispatcher, clock: Clock, journal: Journal) -> None:
        self._directory = directory
        self._dispatcher = dispatcher
        self._clock = clock
        self._journal = journal
        self._obstacles: dict[int, str] = {}
        self.reports: Sequence[ConnectorReport] = ()
        """The newest reports of other nodes."""

    async def run(self) -> None:
        """Looks at the connectors until cancelled."""
        while True:
            self.look()
            await asyncio.sleep(LOOK_S)

    def look(self) -> None:
        """Looks at each connector."""
        now, monotonic = self._clock.now(), self._clock.monotonic()
        obstacles = {}
        told = reported_obstacles(self.reports, now)
        tests = []
        for connector in self._directory.connectors():
            lane = self._dispatcher.lanes.get(connector.id)
            if lane is None or lane.closed:
                obstacle = told.get(connector.id, "")
            else:
                obstacle = self._obstacle(lane, now, monotonic)
                breaker = lane.window.breaker
                if obstacle == FAILING and breaker.may_test(monotonic) and lane.idle:
                    tests.append(connector.id)
            if obstacle:
                obstacles[connector.id] = obstacle
        self._tell(obstacles)
        self._directory.heed(obstacles, tests)
        self._dispatcher.divert()

    def _obstacle(self, lane: Lane, now: int, monotonic: float) -> str:
        policy, window = lane.policy.failover, lane.window
        if window.cap:
            return window.cap
        if window.off:
            return "not sending at this time of day"
        if window.capacity:
            window.down_since = None
        elif monotonic - window.note_down(monotonic) >= policy.after_s:
            return f"down for more than {policy.after_s:g} s"
        if window.breaker.is_open:
            return FAILING
        if policy.overflow_after_s and lane.oldest_wait_s(now) > policy.overflow_after_s:
            return f"{OVERLOADED}: messages wait for more than {policy.overflow_after_s:g} s"
        return ""

    def _tell(self, obstacles: dict[int, str]) -> None:
        """Logs the connectors that cannot send any more, or can again."""
        for number in obstacles.keys() | self._obstacles.keys():
            was, now = self._obstacles.get(number, ""), obstacles.get(number, "")
            connector = self._directory.connector(number)
            if was != now and connector is not None:
                if now:
                    self._journal.log("warning", "connector.unusable", connector=connector.name, why=now)
                else:
                    self._journal.log("info", "connector.usable", connector=connector.name, was=was)
        self._obstacles = obstacles


class ReceiptDoubts:
    """Logs why an operator's receipts are too good to be true: each reason once a day."""

    def __init__(self, series: Series, directory: Directory, clock: Clock, journal: Journal) -> None:
        self._series = series
        self._directory = directory
        self._clock = clock
        self._journal = journal
        self._logged: dict[tuple[int, str], int] = {}
        """Time (ms) of the last line by connector and sign."""

    async def look(self) -> None:
        """Looks at the receipts of the last day. Raises Unavailable."""
        now = self._clock.now()
        query = doubt_query(now)
        found = find_doubts(await self._series.totals(query), await self._series.details(query))
        for number, doubts in found.items():
            connector = self._directory.connector(number)
            if connector is None:
                continue
            for sign, why in doubts.items():
                if now - self._logged.get((number, sign), now - DAY_MS) >= DAY_MS:
                    self._logged[number, sign] = now
                    self._journal.log("warning", "connector.receipts_doubted", connector=connector.name, why=why)
