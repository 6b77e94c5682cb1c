"""Connects to the database: a single server, or several with a primary among them."""

import asyncio
import re
from typing import Any

import asyncpg

from heliograph.adapters.store.postgres.db import DatabaseLimits, Db
from heliograph.adapters.store.postgres.faults import describe, is_broken_off, translated
from heliograph.adapters.store.postgres.session import settle
from heliograph.app.ports import Unavailable

_STATEMENTS = 512

_HOSTS = re.compile(r"([^:/]+://(?:[^/?]*@)?+)([^/?@]*,[^/?@]*)(.*)", re.DOTALL)

GRACE_S = 0.3
"""Seconds to wait for other servers after the first that takes writes. Another may have become the primary later."""

_TIMELINE = "SELECT ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::bigint"
"""Reads the timeline: a number that grows each time a standby becomes the primary, for example 3."""


class Servers:
    """The hosts of a URL, separated by commas, such as `postgresql://db1,db2/heliograph`.

    Several hosts are asked at once, because a server on a dead machine never answers. The server that takes writes is
    used. A former primary that comes back after a standby has replaced it has a lower timeline, and is not used again.
    """

    def __init__(self, url: str, limits: DatabaseLimits) -> None:
        self.limits = limits
        self._urls = each_host(url)
        self.timeline = 0
        """The highest timeline seen; 0 with a single server."""

    async def connect(self, *, patient: bool = False, **settings: str) -> Db:
        """Opens a connection. Tries again if it breaks off. Raises Unavailable.

        `patient`: without time limits, for scans and migrations of whole tables.
        """
        for last in (False, True):
            try:
                if len(self._urls) == 1:
                    return await self._dial(self._urls[0], patient, settings)
                return await self._find(patient, settings)
            except Exception as fault:  # noqa: BLE001 - a driver's own kinds too; none of them may quote the URL
                if last or not is_broken_off(fault):
                    raise _unreachable(fault) from None
        raise AssertionError("not reached")

    async def _dial(self, url: str, patient: bool, settings: dict[str, str], **options: str) -> Db:
        limits = self.limits
        db: Db = await asyncpg.connect(
            url,
            timeout=limits.connect,
            command_timeout=None if patient else limits.silence,
            statement_cache_size=_STATEMENTS,
            max_cached_statement_lifetime=0,
            server_settings={"application_name": "heliograph"},
            **options,
        )
        try:
            async with asyncio.timeout(limits.connect):
                await settle(db, limits, patient=patient, **settings)
        except BaseException:
            db.terminate()
            raise
        return db

    async def _find(self, patient: bool, settings: dict[str, str]) -> Db:
        """Connects to the server that takes writes and became the primary last."""
        asked = [asyncio.create_task(self._ask(url, patient, settings)) for url in self._urls]
        chosen: Db | None = None
        try:
            await self._first(asked)
            answers = [task.result() for task in asked if task.done() and task.exception() is None]
            if not answers:
                raise _none_of([task.exception() for task in asked if task.done()])
            timeline, found = max(answers, key=lambda answer: answer[0])
            if timeline < self.timeline:
                raise Unavailable("the server that takes writes was replaced by another, which does not answer")
            self.timeline, chosen = timeline, found
        finally:
            for task in asked:
                task.cancel()
            for answer in await asyncio.gather(*asked, return_exceptions=True):
                if not isinstance(answer, BaseException) and answer[1] is not chosen:
                    answer[1].terminate()
        return chosen

    async def _ask(self, url: str, patient: bool, settings: dict[str, str]) -> tuple[int, Db]:
        db = await self._dial(url, patient, settings, target_session_attrs="read-write")
        try:
            async with asyncio.timeout(self.limits.connect):
                return await db.fetchval(_TIMELINE), db
        except BaseException:
            db.terminate()
            raise

    async def _first(self, asked: list[asyncio.Task[tuple[int, Db]]]) -> None:
        """Waits until a server that takes writes has answered and the others had GRACE_S, or all have failed."""
        pending: set[asyncio.Task[Any]] = set(asked)
        found = False
        while pending:
            wait = GRACE_S if found else None
            done, pending = await asyncio.wait(pending, timeout=wait, return_when=asyncio.FIRST_COMPLETED)
            if not done:
                return
            found = found or any(task.exception() is None for task in done)


def each_host(url: str) -> list[str]:
    """Splits a URL into a URL for each of its hosts."""
    parts = _HOSTS.fullmatch(url)
    if parts is None:
        return [url]
    before, hosts, after = parts.groups()
    return [f"{before}{host}{after}" for host in hosts.split(",")]


def _none_of(faults: list[BaseException | None]) -> Exception:
    for fault in faults:
        if isinstance(fault, ValueError | asyncpg.InterfaceError):
            return fault
    standby = asyncpg.exceptions.TargetServerAttributeNotMatched
    reasons = ["it is a standby" if isinstance(fault, standby) else describe(fault) for fault in faults if fault]
    return Unavailable(f"none of the database's servers takes writes: {', '.join(reasons)}")


def _unreachable(fault: Exception) -> Exception:
    if isinstance(fault, ValueError | asyncpg.InterfaceError):
        # their words may quote the URL, and a password with it
        return Unavailable("the database's URL is wrong; it looks like postgresql://user:password@host/database")
    return fault if isinstance(fault, Unavailable) else translated(fault)
