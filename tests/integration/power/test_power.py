"""The power goes at any moment of a gateway's life: what anybody was told by then is on the disk."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.power.disk import Disk, Fate, Rule
from tests.support.power.life import DATA, Life, again, choose, cut_power, first_start, keeping_house, under_load
from tests.support.power.recorder import Entry
from tests.support.power.restarts import lose_power_under_load

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1200),
    pytest.mark.skipif(sys.platform != "linux", reason="the recorder is for Linux"),
]

MESSAGES = 250
CUTS = 45
RESTARTS = 2
SEED = 1


@pytest.fixture(scope="module")
def life(tmp_path_factory: pytest.TempPathFactory) -> Life:
    return under_load(tmp_path_factory.mktemp("life"), MESSAGES)


@pytest.mark.extended
def test_under_load(life: Life, tmp_path: Path) -> None:
    told = life.told
    assert all((told.cancelled, told.submitted, told.receipted, told.posted, told.from_phones))
    assert all((told.top_ups, told.copied))
    assert_whole(life)
    assert cut_power(life, choose(life, CUTS, SEED), tmp_path, SEED) == []
    # and with nothing on the disk but what was synced
    assert cut_power(life, [len(life.entries)], tmp_path, fate=Fate.LOST, rule=Rule.POSIX) == []
    # once more, while the first command after a cut is at work
    later = again(life, len(life.entries) * 2 // 3, tmp_path, SEED)
    assert len(later.told.accepted) > 10
    assert_whole(later)
    assert cut_power(later, [*choose(later, CUTS // 3, SEED), len(later.entries)], tmp_path, SEED) == []


def assert_whole(life: Life) -> None:
    """The log has all that was written."""
    disk = Disk(life.root, life.entries, life.before)
    disk.advance(len(life.entries))
    recorded = {name: content for name, content in disk.live().items() if not name.endswith("-shm")}
    assert life.store in recorded
    others = {name: difference(life.live[name], content) for name, content in recorded.items()}
    assert not {name: at for name, at in others.items() if at is not None}, "files that are not as recorded, from where"


def difference(one: bytes, other: bytes) -> int | None:
    """The offset of the first octet in which the two are not the same."""
    if one == other:
        return None
    return next(
        (at for at, (mine, yours) in enumerate(zip(one, other, strict=False)) if mine != yours),
        min(len(one), len(other)),
    )


LIES: dict[str, Callable[[Entry], bool]] = {
    "synchronous=OFF": lambda sync: True,
    "synchronous=NORMAL": lambda sync: sync.path.endswith("-wal"),
    "the file is not synced before its log is used again": lambda sync: sync.path.endswith(".db"),
    "directories are not synced": lambda sync: sync.inode == 0,
    "a new directory's own name is not synced": lambda sync: sync.inode == 0 and not sync.path.endswith(DATA),
    "a copy is not synced": lambda sync: sync.path.endswith(".part"),
    "a copy's name is not synced": lambda sync: sync.path.endswith("/disk"),
}


@pytest.mark.extended
def test_a_sync_that_is_missing_is_found(life: Life, tmp_path: Path) -> None:
    for what, lies in LIES.items():
        lying = life.that_lies(lies)
        assert len(lying.entries) < len(life.entries)
        findings = cut_power(lying, choose(lying, CUTS, SEED), tmp_path, SEED, stop=True)
        assert findings, what


def test_the_first_start(tmp_path: Path) -> None:
    life = first_start(tmp_path)
    assert_whole(life)
    assert cut_power(life, [*choose(life, CUTS, SEED), len(life.entries)], tmp_path, SEED) == []
    # the command had said that the account is there
    for rule in Rule:
        assert cut_power(life, [len(life.entries)], tmp_path, fate=Fate.LOST, rule=rule) == []


def test_a_disk_that_lies_is_found_out(tmp_path: Path) -> None:
    """Not a log that was changed: the recorder itself swallows the syncs, and SQLite does not know."""
    life = first_start(tmp_path, lies="all")
    [finding] = cut_power(life, [len(life.entries)], tmp_path, fate=Fate.LOST)
    assert finding.problems == ["the account acme was made, and is not there"]


def test_while_keeping_house(tmp_path: Path) -> None:
    life = keeping_house(tmp_path)
    assert_whole(life)
    assert cut_power(life, choose(life, CUTS, SEED), tmp_path, SEED) == []


def test_the_main_job_goes_on_after_it(tmp_path: Path) -> None:
    toll = lose_power_under_load(tmp_path, RESTARTS, load=40)
    assert toll.faults() == []
    assert toll.answered >= 40 * RESTARTS
    assert toll.receipts == toll.answered <= toll.taken
