"""A newer version brings the schema up to date while nodes of the older one are at work."""

import asyncio
import re
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import asyncpg
import pytest

import heliograph.adapters.store
from heliograph.adapters.store.postgres import PostgresStore
from heliograph.adapters.store.postgres import schema as versions
from heliograph.adapters.store.postgres.schema import shipped
from heliograph.adapters.store.shared.schema import Schema
from heliograph.app.ports import Unavailable
from tests.support.background_sink import BackgroundSink
from tests.support.load import Load
from tests.support.ports import free_port
from tests.support.postgres import LIMITS, Server, server
from tests.support.process import Admin, GatewayProcess, SimulatorProcess, eventually
from tests.support.schema_versions import later
from tests.support.store import CREDIT, Given
from tests.support.timeouts import COMMAND_S

CREDITS = 1_000_000

EXPANDING = (
    "ALTER TABLE message ADD COLUMN new_nullable text;",
    "ALTER TABLE account ADD COLUMN new_with_default bigint NOT NULL DEFAULT 7;",
    "ALTER TABLE queue ADD COLUMN new_first bigint; ALTER TABLE final ADD COLUMN new_first bigint;",
    "ALTER TABLE sent ADD COLUMN new_one smallint NOT NULL DEFAULT 0;",
    "CREATE TABLE new_table (key bigint PRIMARY KEY); CREATE INDEX new_index ON message (connector, key);",
    "CREATE FUNCTION record_marks(p_worker smallint, p_new text) RETURNS void LANGUAGE sql AS 'SELECT';",
)


@pytest.mark.slow
def test_nodes_of_the_older_version_go_on(own_server: Server, tmp_path: Path) -> None:
    settings = {"HELIOGRAPH_DATABASE_URL": own_server.url()}
    admin = Admin(tmp_path / "old", settings)
    account = admin.account("acme", str(CREDITS))
    with BackgroundSink() as sink, SimulatorProcess(tmp_path, magic=False, latency_ms=2) as simulator:
        admin.operator(simulator.port, "operator")
        with (
            GatewayProcess(tmp_path / "old", settings=settings, name="old") as old,
            Load(old.url, "acme", account["api_key"], connections=4, dlr_url=sink.url(), pause=0.01) as load,
        ):
            load.wait_for(100)
            for upto in range(1, len(EXPANDING) + 1):
                asyncio.run(_open_and_close(own_server.url(), later(shipped(), *EXPANDING[:upto])))
                load.wait_for(len(load.accepted) + 50)
            load.stop()
            ids = set(load.accepted.values())
            eventually(lambda: ids <= sink.ids(), f"receipts for {len(ids)} messages", COMMAND_S, pause=0.2)
            # one that starts now would not understand what is there
            late = Admin(tmp_path / "late", settings).run("serve", "--listen", "127.0.0.1:0")
            assert late.returncode == 1
            assert f"version {shipped().version + 1} (later_{shipped().version + 1})" in late.stderr
            assert "newer version" in late.stderr
            assert old.stop() == 0
        simulator.until_left()
        sent = Counter(simulator.destinations())
    assert load.refused == []
    assert sent == Counter(load.accepted.keys())
    asyncio.run(_prove(own_server.url(), CREDITS - len(sent)))


@pytest.mark.slow
@pytest.mark.extended
def test_two_nodes_go_to_the_next_version_and_not_back(own_server: Server, tmp_path: Path) -> None:
    """The drill of docs/high-availability.md: one node after the other under load, and a try to go back in between."""
    settings = {"HELIOGRAPH_DATABASE_URL": own_server.url()}
    newer = settings | {"PYTHONPATH": str(_next_version(tmp_path))}
    admin = Admin(tmp_path / "admin", settings)
    account = admin.account("acme", str(CREDITS))
    ports = {"one": free_port(), "two": free_port()}

    def node(name: str, version: dict[str, str]) -> GatewayProcess:
        return GatewayProcess(tmp_path / name, port=ports[name], settings=version, name=name)

    with BackgroundSink() as sink, SimulatorProcess(tmp_path, magic=False, latency_ms=2) as simulator:
        admin.operator(simulator.port, "operator", "", "--binds", "2")
        urls = [f"http://127.0.0.1:{port}" for port in ports.values()]
        with ExitStack() as nodes:
            one, two = (nodes.enter_context(node(name, settings)) for name in ports)
            load = nodes.enter_context(
                Load(urls, "acme", account["api_key"], connections=4, dlr_url=sink.url(), pause=0.01)
            )

            def goes_on() -> None:
                load.wait_for(len(load.accepted) + 200, COMMAND_S)

            goes_on()
            assert two.stop() == 0
            two = nodes.enter_context(node("two", newer))  # it changes the schema
            goes_on()
            assert two.stop() == 0
            back = Admin(tmp_path / "two", settings).run("serve", "--listen", f"127.0.0.1:{ports['two']}")
            assert back.returncode == 1
            assert f"version {shipped().version + 1} (made_up)" in back.stderr
            assert "run the newer version, or restore a backup" in back.stderr
            goes_on()  # on the node of the older version, which has not been stopped
            two = nodes.enter_context(node("two", newer))
            goes_on()
            assert one.stop() == 0
            one = nodes.enter_context(node("one", newer))
            goes_on()
            load.stop()
            ids = set(load.accepted.values())
            eventually(lambda: ids <= sink.ids(), f"receipts for {len(ids)} messages", COMMAND_S, pause=0.2)
            assert [one.stop(), two.stop()] == [0, 0]
        simulator.until_left()
        sent = Counter(simulator.destinations())
    assert {status for status, _ in load.refused} <= {503}
    assert load.accepted.keys() <= sent.keys() <= load.accepted.keys() | set(load.unanswered)
    assert sent.total() == len(sent), "none was sent twice"
    asyncio.run(_prove(own_server.url(), CREDITS - len(sent), EXPANDING[:1], "made_up"))


def _next_version(folder: Path) -> Path:
    """Copies the program, with one more step of the schema. Returns the folder that the package is in."""
    package = folder / "newer" / "heliograph"
    shutil.copytree(Path(heliograph.__path__[0]), package, ignore=shutil.ignore_patterns("__pycache__"))
    migrations = package / "adapters/store/postgres/migrations"
    migrations.mkdir(exist_ok=True)
    (migrations / f"{shipped().version + 1:04d}_made_up.sql").write_text(EXPANDING[0])
    return package.parent


async def _open_and_close(url: str, schema: Schema) -> None:
    await (await PostgresStore.open(url, schema=schema)).close()


async def _prove(url: str, credits_left: int, steps: Sequence[str] = EXPANDING, name: str = "") -> None:
    schema = later(shipped(), *steps)
    if name:
        *before, last = schema.migrations
        schema = replace(schema, migrations=(*before, replace(last, name=name)))
    store = await PostgresStore.open(url, schema=schema)
    assert await store.upkeep.audit() == []
    assert Decimal(await store.customers.balance(1)) == credits_left * CREDIT
    await store.close()


@pytest.mark.extended
async def test_a_migration_that_has_to_wait_lets_others_get_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody reads a table for long, as a dump does: what changes that table would hold up everybody behind it."""
    url = await server().fresh()
    store = await PostgresStore.open(url, limits=LIMITS)
    given = Given(store)
    account = await given.account()
    reader = await asyncpg.connect(url, server_settings={"search_path": "heliograph"})
    await reader.execute("BEGIN; SELECT count(*) FROM message")
    migrating = asyncio.create_task(_open_and_close(url, later(shipped(), EXPANDING[0])))
    for _ in range(20):
        await given.sent(account.id)
        await asyncio.sleep(0.1)
    assert not migrating.done()
    await reader.execute("COMMIT")
    await migrating
    await given.sent(account.id)

    monkeypatch.setattr(versions, "TRIES", 2)
    monkeypatch.setattr(versions, "PATIENCE_MS", 50)
    await reader.execute("BEGIN; SELECT count(*) FROM account")
    with pytest.raises(Unavailable, match="lock timeout"):
        await _open_and_close(url, later(shipped(), *EXPANDING[:2]))
    await reader.close()
    await store.close()


def _statements() -> Iterator[tuple[str, str]]:
    for path in sorted(Path(heliograph.adapters.store.__path__[0]).rglob("*")):
        if path.suffix in (".py", ".sql"):
            yield path.name, path.read_text()


@pytest.mark.parametrize(
    ("what", "unnamed"),
    [
        ("rows are read by their columns' names", r"(?<!LATERAL \()SELECT\s+(?:\w+\.)?\*(?!\s+FROM unnest\()[^\n]*"),
        ("rows are written by them", r"INSERT INTO \w+\s+(?:VALUES|SELECT)[^\n]*"),
        ("variables are columns, not whole rows", r"\w+%ROWTYPE"),
    ],
)
def test_what_a_newer_version_adds_is_not_stumbled_over(what: str, unnamed: str) -> None:
    found = [(name, match) for name, text in _statements() for match in re.findall(unnamed, text, re.IGNORECASE)]
    # the one row of a table of single values, made with the table
    assert [each for each in found if not each[1].endswith("VALUES (0);")] == [], what
