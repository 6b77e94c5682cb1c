"""Imports of long lists whose process is killed: the old list or the new holds, and the next start cleans up."""

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from heliograph.adapters.store.shared.listed_tables import LISTED_TABLES
from heliograph.adapters.store.sqlite import SqliteStore
from heliograph.app.configuration import Connector
from tests.contracts.test_long_lists import KINDS

pytestmark = pytest.mark.extended

IMPORT = """
import asyncio, sys
from pathlib import Path
from heliograph.adapters.store.shared import lists
from heliograph.adapters.store.sqlite import SqliteStore
from tests.contracts.test_long_lists import KINDS

lists.FEW, lists.BATCH, lists.LEASE_MS = 1, 3, -1  # a lease ends at once
tidy_all, swap = lists.LongList._tidy_all, lists.LongList._swap

async def pause():
    print("written", flush=True)
    await asyncio.Event().wait()

async def swap_or_pause(self, *arguments):
    await (pause() if stage == "before" else swap(self, *arguments))

async def tidy_or_pause(self, ticket, *, is_last=False):
    await (pause() if is_last else tidy_all(self, ticket))

async def main():
    lists.LongList._swap, lists.LongList._tidy_all = swap_or_pause, tidy_or_pause
    store = await SqliteStore.open(Path(file))
    await KINDS[name].put(store, KINDS[name].new, True)

file, name, stage = sys.argv[1:]
asyncio.run(main())
"""


def kinds_with_sides(file: Path) -> set[str]:
    """The kinds of lists with rows that an import has to tidy."""
    with closing(sqlite3.connect(file)) as db:
        return {
            kind
            for kind, of in LISTED_TABLES.items()
            if db.execute(f"SELECT 1 FROM {of.name} WHERE side > 0").fetchone()
        }


@pytest.mark.parametrize("stage", ["before", "after"])
@pytest.mark.parametrize("name", KINDS)
async def test_a_killed_import_leaves_the_old_list_or_the_new(tmp_path: Path, name: str, stage: str) -> None:
    file, kind = tmp_path / "heliograph.db", KINDS[name]
    store = await SqliteStore.open(file)
    await store.network.add_connector(Connector(0, "one"))
    await kind.put(store, kind.old, False)
    await store.close()
    command = [sys.executable, "-c", IMPORT, str(file), name, stage]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as importing:  # noqa: ASYNC220
        assert importing.stdout is not None
        assert importing.stdout.readline() == b"written\n"
        importing.kill()
    expected = kind.old if stage == "before" else kind.replaced
    assert kinds_with_sides(file) == {name}
    store = await SqliteStore.open(file)
    assert await kind.read(store) == expected
    await store.upkeep.tidy_lists()
    assert await kind.read(store) == expected
    assert kinds_with_sides(file) == set()
    await store.close()
