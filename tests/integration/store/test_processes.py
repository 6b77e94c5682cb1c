"""Several processes on one file, and processes that end without a word."""

import asyncio
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from heliograph.adapters.store.sqlite import SqliteStore
from heliograph.adapters.system.clock import SystemClock
from heliograph.app.configuration import Account
from heliograph.app.marks import attempted
from heliograph.app.resources.audit_proof import faults
from heliograph.app.resources.desk import Desk
from tests.support.store import CREDIT, NODE, START, Given

TOP_UP = """
import asyncio, sys
from pathlib import Path
from heliograph.adapters.store.sqlite import SqliteStore

async def main() -> None:
    store = await SqliteStore.open(Path(sys.argv[1]))
    print("ready", flush=True)
    for number in range(int(sys.argv[2])):
        await store.accounts.add_credit(1, 1, "", 1_700_000_000_000)
    await store.close()

asyncio.run(main())
"""

SEND = """
import asyncio, sys
from pathlib import Path
from heliograph.adapters.store.sqlite import SqliteStore
from heliograph.app.facts import Facts, Submission
from heliograph.app.marks import attempted
from tests.support.store import Given

async def main() -> None:
    store = await SqliteStore.open(Path(sys.argv[1]))
    given = Given(store)
    await store.commits.recover(0, 1)
    for _ in range(100_000):
        given.now += 1
        message = given.message(1, price=1)
        await store.commits.record(Facts(accepts=[given.accept(message)], marks={attempted(1): message.key}))
        print("accepted", message.key, message.tail, flush=True)
        if message.key % 3 == 0:
            await store.commits.record(Facts(submissions=[Submission(1, message.key, 0, 1, "id", 0, given.now)]))
            print("submitted", message.key, message.tail, flush=True)

asyncio.run(main())
"""


NOTE = """
import asyncio, sys
from pathlib import Path
from heliograph.adapters.store.sqlite import SqliteStore
from heliograph.app.records import AuditEntry

async def main() -> None:
    store = await SqliteStore.open(Path(sys.argv[1]))
    print("ready", flush=True)
    for number in range(int(sys.argv[2])):
        await store.audit_log.append(AuditEntry(number, "cli:" + sys.argv[3], "account.set", "acme", {}))
    await store.close()

asyncio.run(main())
"""


async def start(script: str, *arguments: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable, "-c", script, *arguments, stdout=subprocess.PIPE, cwd=Path(__file__).parents[3]
    )


@pytest.mark.slow
async def test_two_processes_write_at_once(path: Path) -> None:
    store = await SqliteStore.open(path)
    account = await Given(store).account(credit=0)
    processes = [await start(TOP_UP, str(path), "100") for _ in range(2)]
    for process in processes:
        assert process.stdout is not None
        await process.stdout.readline()
    for _ in range(100):
        await store.accounts.add_credit(account.id, 1, "", START)
    for process in processes:
        assert await process.wait() == 0
    assert await store.customers.balance(account.id) == 300
    assert len({entry.key for entry in await store.accounts.ledger(account.id, 1_000)}) == 300
    assert await store.table_changes.revision() == 301
    assert await store.upkeep.audit() == []
    await store.close()


async def test_a_change_of_one_process_is_seen_by_the_other(store: SqliteStore, account: Account, path: Path) -> None:
    other = await SqliteStore.open(path)
    before = await store.table_changes.revision()
    await other.accounts.update(account.id, {"suspended": True})
    assert await store.table_changes.revision() == before + 1
    found = await store.accounts.by_id(account.id)
    assert found is not None
    assert found.suspended
    await other.close()


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 17, 60])
async def test_a_killed_process_loses_nothing_that_it_told(path: Path, count: int) -> None:
    store = await SqliteStore.open(path)
    account = await Given(store).account()
    await store.close()
    process = await start(SEND, str(path))
    assert process.stdout is not None
    told = [await process.stdout.readline() for _ in range(count)]
    process.send_signal(signal.SIGKILL)
    told += [line for line in (await process.stdout.read()).splitlines(keepends=True) if line.endswith(b"\n")]
    await process.wait()

    accepted = {int(line.split()[1]): int(line.split()[2]) for line in told if line.startswith(b"accepted")}
    submitted = {int(line.split()[1]) for line in told if line.startswith(b"submitted")}
    store = await SqliteStore.open(path)
    recovery = await store.commits.recover(0, NODE)
    assert await store.upkeep.audit() == []
    for key, tail in accepted.items():
        assert await store.customers.message(account.id, key, tail) is not None
    stored = 100 * CREDIT - await store.customers.balance(account.id)
    assert len(accepted) <= stored <= len(accepted) + 1
    unsent = {queued.message.key: queued.attempted for queued in recovery.unsent}
    assert not unsent.keys() & submitted
    assert accepted.keys() - submitted - {max(accepted)} <= unsent.keys()
    assert all(unsent.values())
    assert recovery.marks[attempted(1)] == recovery.last_key >= max(accepted)
    await store.close()


async def test_processes_at_once_write_one_chain_of_the_audit_log(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    store = await SqliteStore.open(path)
    processes = [await start(NOTE, str(path), "25", str(number)) for number in range(3)]
    codes = await asyncio.gather(*(process.wait() for process in processes))
    assert codes == [0, 0, 0]
    assert (await store.audit_log.head()).key == 75
    assert await faults(Desk(store, SystemClock())) == []
    await store.close()
