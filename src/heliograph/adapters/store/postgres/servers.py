"""Connects to the database: a single server, or several with a primary among them."""

import asyncio
import re
import ssl
from functools import partial
from typing import Any
from urllib.parse import parse_qsl, urlencode

import asyncpg

from heliograph.adapters.store.postgres.db import DatabaseLimits, Db
from heliograph.adapters.store.postgres.driver import drive
from heliograph.adapters.store.postgres.faults import (
    FAULTS,
    LASTING_CODES,
    SESSION_LOST,
    code_of,
    describe,
    is_broken_off,
    translated,
)
from heliograph.adapters.store.postgres.session import settle
from heliograph.adapters.store.shared.past import find_past
from heliograph.app.ports import Away, PastGuard, Unavailable
from heliograph.domain.past import FoundPast

_STATEMENTS = 512

_HOSTS = re.compile(r"([^:/]+://(?:[^/?]*@)?+)([^/?@]*,[^/?@]*)(.*)", re.DOTALL)

_HOSTLESS = re.compile(r"([^:/]+://(?:[^/?]*@)?(?:/[^?]*)?)\?(.*)", re.DOTALL)
"""A URL without hosts before its path; they may be parameters, as in `postgresql:///heliograph?host=db1,db2`."""

_UNKNOWN_PARAMETER = "42704"
"""SQLSTATE of a parameter that neither the driver nor the server knows, such as libpq's `connect_timeout`."""

_SESSION = "SELECT pg_backend_pid()"

GRACE_S = 0.3
"""Seconds to wait for other servers after the first that takes writes. Another may have become the primary later."""

_STANDBY = asyncpg.exceptions.TargetServerAttributeNotMatched

_WRONG_URL = (ValueError, asyncpg.InterfaceError)

_TIMELINE = "SELECT ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::bigint"
"""Reads the timeline: a number that grows each time a standby becomes the primary, for example 3."""

_STUCK = """
SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND usename = current_user AND wait_event = 'SyncRep'
  AND state_change < now() - make_interval(secs => $1)
"""

STUCK_S = 5.0
"""Seconds after which a commit that no standby confirms counts as stuck."""

MOST_STUCK = 30
"""Stuck commits at which no gateway connects any more. A commit that a gateway has given up keeps its connection on the
server until a standby confirms it: without a limit, the tries of some minutes would take all that a server has."""


class Servers:
    """The hosts of a URL, separated by commas, such as `postgresql://db1,db2/heliograph`.

    Several hosts are asked at once, because a server on a dead machine never answers. The server that takes writes is
    used. A former primary that comes back after a standby has replaced it has a lower timeline, and is not used again.
    """

    def __init__(self, url: str, limits: DatabaseLimits, guard: PastGuard | None = None) -> None:
        """`guard` refuses a server that lost confirmed commits."""
        self.limits = limits
        self.guard = guard
        self._urls = each_host(url)
        self.timeline = 0
        """The highest timeline seen."""
        self.writer = self.commits = 0
        """The last confirmed commit of facts: the row of its connection in `writer`, and its number there."""

    async def connect(self, *, patient: bool = False, **settings: str) -> Db:
        """Opens a connection. Tries again if it breaks off. Raises Unavailable.

        `patient`: without time limits, for scans and migrations of whole tables.
        """
        for last in (False, True):
            try:
                return await self._find(patient, settings)
            except Exception as fault:  # noqa: BLE001 - a driver's own kinds too; none of them may quote the URL
                if last or not is_broken_off(fault):
                    raise _unreachable(fault) from None
        raise AssertionError("not reached")

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
            if self.guard is not None:
                await self._judge(self.guard, timeline, found)
                await self._refuse_stuck(found)
            if timeline < self.timeline:
                raise Away("the server that takes writes was replaced by another, which does not answer")
            self.timeline, chosen = timeline, found
        finally:
            for task in asked:
                task.cancel()
            for answer in await asyncio.gather(*asked, return_exceptions=True):
                if not isinstance(answer, BaseException) and answer[1] is not chosen:
                    answer[1].terminate()
        return chosen

    async def _ask(self, url: str, patient: bool, settings: dict[str, str]) -> tuple[int, Db]:
        limits = self.limits
        db: Db = await asyncpg.connect(
            url,
            timeout=limits.connect,
            command_timeout=None if patient else limits.silence,
            statement_cache_size=_STATEMENTS,
            max_cached_statement_lifetime=0,
            server_settings={"application_name": "heliograph"},
            target_session_attrs="read-write",
        )
        try:
            async with asyncio.timeout(limits.connect):
                await settle(db, limits, patient=patient, **settings)
                return await db.fetchval(_TIMELINE), db
        except BaseException:
            db.terminate()
            raise

    async def _judge(self, guard: PastGuard, timeline: int, db: Db) -> None:
        """Raises PastLost if the server lost confirmed commits, and Fenced if a person accepted that."""
        self.note_commits()
        known = guard.known
        if not known.moves:
            return
        try:
            async with asyncio.timeout(self.limits.connect):
                found = await drive(db, partial(find_past, known))
        except asyncpg.UndefinedTableError:
            found = FoundPast(timeline=timeline)
        guard.judge(found, known)

    async def _refuse_stuck(self, db: Db) -> None:
        """Raises Away if many commits wait for a standby in vain."""
        async with asyncio.timeout(self.limits.connect):
            stuck = await db.fetchval(_STUCK, STUCK_S)
        if stuck >= MOST_STUCK:
            raise Away(f"no synchronous standby confirms commits: {stuck} of them wait")

    def note_commits(self) -> None:
        """Passes the last confirmed commit on to the guard."""
        if self.guard is not None and self.writer:
            self.guard.note_commits(self.writer, self.commits)

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
    if parts := _HOSTS.fullmatch(url):
        before, hosts, after = parts.groups()
        return [f"{before}{host}{after}" for host in hosts.split(",")]
    if parts := _HOSTLESS.fullmatch(url):
        before, query = parts.groups()
        named = dict(parse_qsl(query))
        hosts, ports = named.get("host", "").split(","), named.get("port", "").split(",")
        if len(hosts) == len(ports):
            return [f"{before}?{urlencode(named | {'host': h, 'port': p})}" for h, p in zip(hosts, ports, strict=True)]
        if len(hosts) > 1:
            return [f"{before}?{urlencode(named | {'host': host})}" for host in hosts]
    return [url]


async def check_session(servers: Servers) -> None:
    """Raises Unavailable if a pooler gives each transaction another session: locks and settings would be lost.

    While a second connection is in a transaction, such a pooler cannot give its session to the first.
    """
    db, other = await servers.connect(), await servers.connect()
    try:
        session = await db.fetchval(_SESSION)
        async with other.transaction():
            await other.fetchval(_SESSION)
            if await db.fetchval(_SESSION) != session:
                raise Unavailable(SESSION_LOST)
    except FAULTS as fault:
        raise translated(fault) from fault
    finally:
        db.terminate()
        other.terminate()


def _none_of(faults: list[BaseException | None]) -> BaseException:
    """Returns the fault if all servers have it: there is one server, or the URL is wrong. Else names all faults."""
    found = [fault for fault in faults if fault is not None]
    certificates = [fault for fault in found if isinstance(fault, ssl.SSLCertVerificationError)]
    if len(found) in (1, len(certificates)):
        return found[0]
    for fault in found:
        if code_of(fault) == _UNKNOWN_PARAMETER or (isinstance(fault, _WRONG_URL) and fault not in certificates):
            return fault
    reasons = ["it is a standby, or read-only" if isinstance(fault, _STANDBY) else describe(fault) for fault in found]
    kind = Unavailable if any(code_of(fault) in LASTING_CODES for fault in found) else Away
    return kind(f"none of the database's servers takes writes: {', '.join(reasons)}")


def _unreachable(fault: Exception) -> Exception:
    if isinstance(fault, _STANDBY):
        return Unavailable(
            "the database's server takes no writes: it is a standby, or read-only. Name the primary in the URL, or all "
            "servers, such as postgresql://user:password@one,two/database"
        )
    if isinstance(fault, ssl.SSLCertVerificationError):
        return Unavailable(
            f"the database's certificate is refused: {fault.verify_message}. Check the host in the URL, and that "
            "sslrootcert in it is the file of the CA that signed the certificate"
        )
    if isinstance(fault, ValueError) and "root certificate file" in str(fault):
        return Unavailable(
            "there is no root certificate to verify the database's with. Add &sslrootcert=/path/ca.pem to the URL, or "
            "write the certificate to ~/.postgresql/root.crt"
        )
    if code_of(fault) == _UNKNOWN_PARAMETER and isinstance(fault, asyncpg.PostgresError):
        return Unavailable(f"a parameter of the database's URL is unknown: {fault.args[0]}. Remove it from the URL")
    if isinstance(fault, _WRONG_URL):
        # their words may quote the URL, and a password with it
        return Unavailable("the database's URL is wrong; it looks like postgresql://user:password@host/database")
    return fault if isinstance(fault, Unavailable) else translated(fault)
