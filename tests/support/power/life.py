"""The life of a recorded gateway, with customers, an operator, a receiver and a user at the terminal; and its remains
after a power loss at any moment."""

import os
import random
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from decimal import Decimal
from http.client import HTTPException
from itertools import count
from pathlib import Path
from typing import Any

from tests.support.background_sink import BackgroundSink
from tests.support.crash import NUMBER, PHONES
from tests.support.customer import Customer
from tests.support.load import Load
from tests.support.peers import ROOT
from tests.support.power.disk import Disk, Fate, Rule, contents
from tests.support.power.recorder import Entry, Kind, Recorder
from tests.support.power.told import STORE_FILE, Told, broken
from tests.support.process import Admin, GatewayProcess, SimulatorProcess

WINDOW = 10
CREDIT = 1_000_000
PAUSE_S = 0.05
"""Seconds that a connection waits after an answer: there are more commits, of fewer messages each."""

DATA = "var/data"
"""Below the recorded root, which is not there either when the first command is run."""


@dataclass
class Life:
    """`told`: the promises that all sides had got when it ended."""

    root: Path
    entries: list[Entry]
    told: Told
    live: dict[str, bytes]
    """The files as they were in the end, by path from the root."""
    store: str = f"{DATA}/{STORE_FILE}"
    """Likewise."""
    before: dict[str, bytes] | None = None
    """The files at the start; None without a root."""

    def moment(self, cut: int) -> float:
        """Promises before this time were given before the power loss, right before the next entry."""
        return self.entries[cut].at / 1e9 if cut < len(self.entries) else float("inf")

    def that_lies(self, lies: Callable[[Entry], bool]) -> "Life":
        """The same on a disk that says of some syncs that they are done, and does nothing."""
        false = {entry.argument for entry in self.entries if entry.kind is Kind.SYNC and lies(entry)}
        honest = [e for e in self.entries if e.kind not in (Kind.SYNC, Kind.SYNCED) or e.argument not in false]
        return replace(self, entries=honest)


@dataclass(frozen=True, slots=True)
class Finding:
    """Made again by the same cut and seed of the same life."""

    cut: int
    seed: int
    problems: list[str]

    def __str__(self) -> str:
        return f"cut {self.cut}, seed {self.seed}: {len(self.problems)} problems: {'; '.join(self.problems[:5])}"


def first_start(folder: Path, **recorded: Any) -> Life:
    """A command that makes an account makes the directories, the file and its schema before."""
    recorder = Recorder(folder / "disk", folder / "log", **recorded)
    admin = Admin(recorder.root / DATA, recorder.settings)
    told = Told()
    admin.account("acme", "10")
    told.accounts["acme"] = time.time()
    return Life(recorder.root, recorder.entries(), told, contents(recorder.root))


def again(life: Life, cut: int, folder: Path, seed: int, **recorded: Any) -> Life:
    """The life after a cut. A command is the first to open the remains, so that a second cut may fall into the recovery
    from the first. `life`: of a gateway with a first command that had ended by the cut."""
    recorder = Recorder(folder / "again", folder / "log-of-again", **recorded)
    disk = Disk(life.root, life.entries, life.before)
    disk.advance(cut)
    disk.write(recorder.root, seed)
    before = contents(recorder.root)
    told = life.told.by(life.moment(cut))
    Admin(recorder.root / DATA, recorder.settings).account("again", "10")
    told.accounts["again"] = time.time()
    return Life(recorder.root, recorder.entries(), told, contents(recorder.root), before=before)


def keeping_house(folder: Path, **recorded: Any) -> Life:
    """A store that is used by tests.support.power.housekeeper: numbers are indexed, rows are moved and removed."""
    recorder = Recorder(folder / "disk", folder / "log", **recorded)
    recorder.root.mkdir()
    told, store = Told(), "store.db"
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.power.housekeeper", str(recorder.root / store)],
        check=True, cwd=ROOT, env=os.environ | dict(recorder.settings), capture_output=True, text=True,
    )  # fmt: skip
    for line in done.stdout.splitlines():
        to, id_, at = line.split()
        told.accepted[to] = (id_, float(at))
    return Life(recorder.root, recorder.entries(), told, contents(recorder.root), store, before={})


def under_load(folder: Path, messages: int, commands: int = 1, **recorded: Any) -> Life:
    """Waits for this many rounds of commands and this many more messages with a 200, then kills the gateway."""
    recorder = Recorder(folder / "disk", folder / "log", **recorded)
    data = recorder.root / DATA
    admin = Admin(data, recorder.settings)
    told = Told()
    key = admin.account("acme", str(CREDIT))["api_key"]
    told.accounts["acme"] = time.time()
    with (
        BackgroundSink() as sink,
        SimulatorProcess(folder, magic=False, receipt_delay_ms=30, latency_ms=2, **PHONES) as simulator,
    ):
        admin("account", "set", "acme", f"inbound_url={sink.url('/mo')}")
        admin("number", "add", NUMBER, "--account", "acme")
        admin.operator(simulator.port, "operator", "", "--window", str(WINDOW))
        with (
            GatewayProcess(data, settings=recorder.settings) as gateway,
            Load(gateway.url, "acme", key, connections=8, dlr_url=sink.url(), pause=PAUSE_S) as load,
        ):
            planner = threading.Thread(target=_plan, args=(gateway.url, key, told))
            planner.start()
            for number in range(commands):
                _command(admin, number, told, recorder.root)
            load.wait_for(len(load.accepted) + messages)
            with recorder.between_entries():
                gateway.kill()
            planner.join()
        simulator.stop()
        told.hear_of(load, simulator, sink)
    return Life(recorder.root, recorder.entries(), told, contents(recorder.root))


def _command(admin: Admin, number: int, told: Told, root: Path) -> None:
    """The commands of a user at the terminal meanwhile."""
    name = f"account-{number}"
    admin.account(name, "10")
    told.accounts[name] = time.time()
    amount = Decimal(1000 + number)
    admin("account", "top-up", "acme", str(amount))
    told.top_ups.append(("acme", amount, time.time()))
    copy = f"copy-{number}.db"
    told.copies[copy] = time.time()
    admin("backup", str(root / copy))
    told.copied[copy] = time.time()


def _plan(url: str, key: str, told: Told) -> None:
    """A customer who schedules messages and cancels every second message, until the gateway is gone."""
    with suppress(OSError, HTTPException), Customer(url, "acme", key) as customer:
        for number in count(491_800_000_000):
            to = str(number)
            answer = customer.send(1, to=to, content="Later", time=int(time.time()) + 86_400)
            told.accepted[to] = (answer["Id"], time.time())
            if number % 2:
                reply = customer.request("DELETE", f"/api/v1/messages/{answer['Id']}")
                assert reply.status == 200, reply
                told.cancelled[to] = time.time()
            time.sleep(0.02)


# --- cuts


def choose(life: Life, cuts: int, seed: int) -> list[int]:
    """Moments in ascending order: a third right after a sync is done, a third right before, a third any."""
    chance = random.Random(seed)
    done = [number for number, entry in enumerate(life.entries) if entry.kind is Kind.SYNCED]
    chosen = []
    for number in range(cuts):
        kind = number % 3
        cut = chance.choice(done) if kind < 2 and done else chance.randrange(len(life.entries))
        chosen.append(cut + (kind == 0))
    return sorted(chosen)


def cut_power(
    life: Life, cuts: Sequence[int], folder: Path, seed: int = 0, *, fate: Fate | None = None, rule: Rule | None = None,
    stop: bool = False,
) -> list[Finding]:  # fmt: skip
    """Yields the broken promises after each of the cuts, in ascending order. `stop`: ends after the first finding."""
    disk = Disk(life.root, life.entries, life.before)
    findings = []
    for number, cut in enumerate(cuts):
        disk.advance(cut)
        target = folder / "image"
        disk.write(target, seed + number, fate=fate, rule=rule)
        told = life.told.by(life.moment(cut))
        problems = broken(target / life.store, told)
        for name in told.copied:
            before = life.told.by(told.copies[name])
            copy = target / name
            problems += [f"{name}: {problem}" for problem in _broken_copy(copy, before)]
        shutil.rmtree(target, ignore_errors=True)
        if problems:
            findings.append(Finding(cut, seed + number, problems))
            if stop:
                break
    return findings


def _broken_copy(copy: Path, told: Told) -> list[str]:
    return broken(copy, told) if copy.exists() else ["it was made, and is not there"]
