"""One URL for several servers: which of them is used."""

import asyncio
import os
import ssl
import struct
import subprocess
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import pytest

from heliograph.adapters.store.postgres import PostgresStore
from heliograph.adapters.store.postgres.leases import SILENT
from heliograph.adapters.store.postgres.servers import Servers, each_host
from heliograph.app.configuration import TopUp
from heliograph.app.facts import Facts
from heliograph.app.marks import attempted
from heliograph.app.ports import Unavailable
from heliograph.runtime.past import PastKeeper
from tests.support.certificates import CertificateAuthority
from tests.support.gateway import MemoryJournal
from tests.support.peers import foreign_program
from tests.support.ports import free_port, listens
from tests.support.postgres import LIMITS, Server, server, urls
from tests.support.process import eventually
from tests.support.store import CREDIT, START, Given
from tests.support.switchable_relay import SwitchableRelay
from tests.support.timeouts import PATIENCE_S, until
from tests.support.virtual_time import VirtualClock

PATIENT = replace(LIMITS, statement=120.0)
"""Who waits for an answer waits for minutes, if nobody tells it that there will be none."""

PORT = "SELECT current_setting('port')::int"


@pytest.mark.parametrize(
    ("url", "each"),
    [
        ("postgresql://u:p@h/x", ["postgresql://u:p@h/x"]),
        ("postgresql://h1,h2", ["postgresql://h1", "postgresql://h2"]),
        ("postgresql://u:p%40,@h1:1,[::1]:2/x?a=b,c", ["postgresql://u:p%40,@h1:1/x?a=b,c", "postgresql://u:p%40,@[::1]:2/x?a=b,c"]),
        ("postgresql://u:a,b@h/x", ["postgresql://u:a,b@h/x"]),
        ("postgresql:///x?host=h1,h2", ["postgresql:///x?host=h1", "postgresql:///x?host=h2"]),
        (
            "postgresql://u:p@/x?host=h1,h2&port=1,2&sslmode=require",
            ["postgresql://u:p@/x?host=h1&port=1&sslmode=require", "postgresql://u:p@/x?host=h2&port=2&sslmode=require"],
        ),
    ],
)  # fmt: skip
def test_a_url_for_each_host(url: str, each: list[str]) -> None:
    assert each_host(url) == each


async def test_no_connection_joins_many_stuck_commits(
    own_server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server keeps a connection whose commit waits for a standby, also when its client has gone."""
    monkeypatch.setattr("heliograph.adapters.store.postgres.servers.STUCK_S", 0.0)
    monkeypatch.setattr("heliograph.adapters.store.postgres.servers.MOST_STUCK", 3)
    gateway = Servers(own_server.url(), LIMITS, PastKeeper(tmp_path, VirtualClock(), MemoryJournal()))
    await own_server.execute("ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
    await own_server.execute("SELECT pg_reload_conf()")
    stuck = [await Servers(own_server.url(), LIMITS).connect() for _ in range(3)]
    commits = [asyncio.create_task(db.execute("SELECT pg_logical_emit_message(true, 'trial', '')")) for db in stuck]

    async def refusal() -> str:
        try:
            (await gateway.connect()).terminate()
        except Unavailable as problem:
            return str(problem)
        return ""

    assert "no synchronous standby confirms commits: 3 of them wait" in await until(refusal, "a refusal")
    (await Servers(own_server.url(), LIMITS).connect()).terminate()  # a command is not refused
    await own_server.execute("ALTER SYSTEM RESET synchronous_standby_names")
    await own_server.execute("SELECT pg_reload_conf()")
    await asyncio.gather(*commits)
    (await gateway.connect()).terminate()
    for db in stuck:
        db.terminate()


@pytest.fixture
def pair(own_server: Server) -> Iterator[tuple[Server, Server]]:
    """A primary, and a standby."""
    standby = own_server.standby()
    yield own_server, standby
    standby.remove()


async def port_of(servers: Servers) -> int:
    db = await servers.connect()
    try:
        port: int = await db.fetchval(PORT)
        return port
    finally:
        db.terminate()


@pytest.mark.slow
async def test_the_one_that_takes_writes_is_used(pair: tuple[Server, Server]) -> None:
    """The order in the URL says nothing; and one that was replaced is not used again, whoever else is there."""
    primary, standby = pair
    there = Servers(urls(primary.port, standby.port), LIMITS)
    back = Servers(urls(standby.port, primary.port), LIMITS)
    nobody = Servers(urls(standby.port, free_port()), LIMITS)
    assert [await port_of(servers) for servers in (there, back)] == [primary.port] * 2
    with pytest.raises(Unavailable, match=r"it is a standby.*ConnectionRefused|ConnectionRefused.*it is a standby"):
        await port_of(nobody)
    await asyncio.to_thread(standby.promote)
    # both take writes now
    assert [await port_of(servers) for servers in (there, back, nobody)] == [standby.port] * 3
    await asyncio.to_thread(standby.kill)
    for servers in (there, back):
        with pytest.raises(Unavailable, match="was replaced"):
            await port_of(servers)
    # one that has seen nothing of it cannot know
    assert await port_of(Servers(urls(standby.port, primary.port), LIMITS)) == primary.port


@pytest.mark.slow
@pytest.mark.extended
async def test_one_that_was_told_to_take_no_writes_is_left_though_its_connections_stay(
    pair: tuple[Server, Server],
) -> None:
    """As somebody does who plans to go over to the standby."""
    primary, standby = pair
    store = await PostgresStore.open(urls(primary.port, standby.port), limits=LIMITS)
    given = Given(store)
    account = await given.account()
    await asyncio.gather(given.sent(account.id), store.customers.balance(account.id))
    await primary.execute("ALTER SYSTEM SET default_transaction_read_only = on")
    await primary.fetch("SELECT pg_reload_conf()")
    await until_refused(store.upkeep.probe)
    await until_refused(lambda: store.commits.record(Facts(marks={attempted(1): 1})))
    await asyncio.to_thread(standby.promote)
    await given.sent(account.id)
    assert await store.accounts.add_credit(account.id, 1, "", START) == TopUp(98 * CREDIT + 1)
    await store.upkeep.probe()
    assert await store.upkeep.audit() == []
    await store.close()


IDLE = b"SFATAL\0VFATAL\0C57P05\0Mterminating connection due to idle-session timeout\0\0"
READY = b"Z\0\0\0\5I"


@asynccontextmanager
async def impatient(times: int) -> AsyncIterator[int]:
    """Relays to the server; the first so many connections are ended as soon as they are ready, before anything was
    asked. Gives the port."""
    left = times

    async def relay(client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        nonlocal left
        answers, to_server = await asyncio.open_connection("127.0.0.1", server().port)
        ends, left = left > 0, left - 1

        async def ask() -> None:
            while octets := await client.read(65_536):
                to_server.write(octets)
            to_server.close()

        asking = asyncio.create_task(ask())
        while octets := await answers.read(65_536):
            to_client.write(octets)
            if ends and octets.endswith(READY):
                to_client.write(b"E" + struct.pack(">I", len(IDLE) + 4) + IDLE)
                break
        to_client.close()
        await asking

    listener = await asyncio.start_server(relay, "127.0.0.1", 0)
    yield listener.sockets[0].getsockname()[1]
    listener.close()


@pytest.mark.extended
async def test_a_connection_that_is_ended_before_anything_was_asked_is_made_once_more() -> None:
    for times in (1, 2):
        async with impatient(times) as port:
            servers = Servers(urls(port), LIMITS)
            if times == 1:
                assert await port_of(servers) == server().port
                continue
            with pytest.raises(Unavailable, match="cannot be used"):
                await port_of(servers)


async def until_refused(call: Callable[[], Awaitable[None]]) -> None:
    """Each connection learns of it by itself."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            try:
                await call()
            except Unavailable as problem:
                assert "read-only" in str(problem) or "takes writes" in str(problem)  # noqa: PT017
                return


async def refusal(url: str) -> str:
    with pytest.raises(Unavailable) as refused:
        await port_of(Servers(url, LIMITS))
    return str(refused.value)


@pytest.mark.slow
async def test_a_standby_alone_is_named_as_such(pair: tuple[Server, Server]) -> None:
    _, standby = pair
    assert "it is a standby, or read-only. Name the primary in the URL, or all servers" in await refusal(standby.url())


async def test_an_unknown_parameter_is_named() -> None:
    url = f"{server().url()}?connect_timeout=2"
    for each in (url, url.replace("127.0.0.1", f"127.0.0.1:{free_port()},127.0.0.1")):
        told = await refusal(each)
        assert '"connect_timeout"' in told
        assert "Remove it from the URL" in told


async def test_missing_and_wrong_certificates_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server has a certificate of its own, which no CA has signed."""
    monkeypatch.setenv("HOME", str(tmp_path))
    issued = CertificateAuthority(tmp_path).issue("127.0.0.1")
    other = CertificateAuthority(tmp_path, "other")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(issued.certificate, issued.key)

    async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(8)  # SSLRequest
        writer.write(b"S")
        with suppress(OSError):
            await writer.start_tls(context)
        writer.close()

    async with await asyncio.start_server(greet, "127.0.0.1", 0) as listener:
        port = listener.sockets[0].getsockname()[1]
        url = f"{urls(port)}?sslmode=verify-full"
        assert "no root certificate" in await refusal(url)
        wrong = f"{urls(port, port)}?sslmode=verify-full&sslrootcert={other.certificate}"
        for each in (wrong, wrong.replace(f",127.0.0.1:{port}", "")):
            told = await refusal(each)
            assert "the database's certificate is refused: unable to get local issuer certificate" in told
            assert "sslrootcert" in told


@contextmanager
def pooler(mode: str) -> Iterator[int]:
    """Yields the port of a PgBouncer in front of the server."""
    program, port = foreign_program("pgbouncer"), free_port()
    ini = server().folder / f"{mode}.ini"
    ini.write_text(
        f"[databases]\n* = host=127.0.0.1 port={server().port} user=postgres\n[pgbouncer]\nlisten_addr = 127.0.0.1\n"
        f"listen_port = {port}\nunix_socket_dir =\nauth_type = any\npool_mode = {mode}\n"
        "ignore_startup_parameters = extra_float_digits\nlogfile =\npidfile =\n"
    )
    user = 65534 if os.geteuid() == 0 else None  # it refuses to run as root
    with subprocess.Popen([program, "-q", str(ini)], user=user, cwd="/") as process:
        try:
            eventually(lambda: listens(port), "PgBouncer listens")
            yield port
        finally:
            process.kill()


@pytest.mark.slow
@pytest.mark.peer
async def test_a_pooler_must_keep_sessions() -> None:
    url = await server().fresh()
    for mode in ("session", "transaction"):
        with pooler(mode) as port:
            opening = PostgresStore.open(url.replace(f":{server().port}/", f":{port}/"), limits=LIMITS, serves=True)
            if mode == "session":
                await (await opening).close()
            else:
                with pytest.raises(Unavailable, match="pool_mode = session"):
                    await opening


@pytest.mark.slow
async def test_one_whose_machine_is_gone_is_not_waited_for(pair: tuple[Server, Server]) -> None:
    primary, standby = pair
    with SwitchableRelay(standby.port) as cable:
        cable.unplug()
        start = time.monotonic()
        assert await port_of(Servers(urls(cable.port, primary.port), LIMITS)) == primary.port
        assert time.monotonic() - start < LIMITS.connect


@pytest.mark.slow
@pytest.mark.extended
async def test_what_waits_for_a_server_that_is_gone_is_cut_off_by_heartbeats(pair: tuple[Server, Server]) -> None:
    """Once without an answer, and the next one goes to the new server; what waited for the old one does then too."""
    primary, standby = pair
    with SwitchableRelay(primary.port) as cable:
        store = await PostgresStore.open(urls(cable.port, standby.port), limits=PATIENT)
        given = Given(store)
        account = await given.account()
        await given.sent(account.id)
        assert await store.leases.heartbeat(1, 1)
        cable.unplug()
        start = time.monotonic()
        waiting = [asyncio.create_task(given.sent(account.id)), asyncio.create_task(store.upkeep.backlog())]
        await asyncio.to_thread(standby.promote)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2):
                await store.leases.heartbeat(1, 1)
        assert await store.leases.heartbeat(1, 1)
        await asyncio.gather(*waiting)
        assert time.monotonic() - start < PATIENT.silence / 2
        assert await store.customers.balance(account.id) == 98 * CREDIT
        assert await store.upkeep.audit() == []
        await store.close()


@pytest.mark.slow
@pytest.mark.extended
async def test_after_some_silence_nothing_is_waited_for_any_longer(own_server: Server) -> None:
    """The one address of the database leads to another server now, or will lead there again."""
    with SwitchableRelay(own_server.port) as cable:
        store = await PostgresStore.open(urls(cable.port), limits=PATIENT)
        given = Given(store)
        account = await given.account()
        await given.sent(account.id)
        cable.unplug()
        waiting = asyncio.create_task(given.sent(account.id))
        start = time.monotonic()
        for _ in range(SILENT):
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.2):
                    await store.leases.heartbeat(1, 1)
        cable.plug_in()
        await waiting
        assert time.monotonic() - start < PATIENT.silence / 2
        assert await store.customers.balance(account.id) == 98 * CREDIT
        assert await store.upkeep.audit() == []
        await store.close()
