"""A newer version brings the schema up to date while nodes of the older one are at work."""

import asyncio
import re
from collections import Counter
from collections.abc import Iterator
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


async def _open_and_close(url: str, schema: Schema) -> None:
    await (await PostgresStore.open(url, schema=schema)).close()


async def _prove(url: str, credits_left: int) -> None:
    store = await PostgresStore.open(url, schema=later(shipped(), *EXPANDING))
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
