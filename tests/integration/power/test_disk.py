"""The recorder, and the disk that is made of its log: what was synced is there, and anything may be of the rest."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.power.disk import SECTOR, Disk, Fate, Rule, contents
from tests.support.power.recorder import Entry, Kind, Recorder

ROOT = Path("/r")
SEEDS = range(40)

PROGRAM = """
import os, sys
from pathlib import Path
root = Path(sys.argv[1])
root.mkdir()
(root / "below").mkdir()
with (root / "one").open("wb") as file:
    file.write(b"1" * 3000)
with (root / "one").open("r+b") as file:
    file.seek(1000)
    file.write(b"2" * 100)
    file.truncate(2000)
with (root / "one").open("ab") as file:
    file.write(b"3")
number = os.open(root / "below" / "two", os.O_CREAT | os.O_RDWR)
os.pwrite(number, b"4" * 10, 5000)
os.fsync(number)
os.close(number)
os.rename(root / "below" / "two", root / "below" / "three")
(root / "gone").write_bytes(b"5")
(root / "gone").unlink()
os.chdir(root)
Path("relative").write_bytes(b"6")
folder = os.open(".", os.O_RDONLY)
os.fsync(folder)
os.close(folder)
"""


def recorded(folder: Path, program: str, lies: str = "") -> tuple[Recorder, subprocess.CompletedProcess[bytes]]:
    recorder = Recorder(folder / "root", folder / "log", lies)
    done = subprocess.run(
        [sys.executable, "-c", program, str(recorder.root)], env=os.environ | dict(recorder.settings), check=True
    )
    return recorder, done


def entry(kind: Kind, path: str = "", *, inode: int = 0, argument: int = 0, data: bytes = b"") -> Entry:
    return Entry(kind, 0, inode, argument, path, data)


def made(name: str, inode: int) -> Entry:
    return entry(Kind.OPEN, f"/r/{name}", inode=inode, argument=1)


def synced(token: int, path: str, inode: int = 0) -> list[Entry]:
    return [entry(Kind.SYNC, path, inode=inode, argument=token), entry(Kind.SYNCED, argument=token)]


def images(
    folder: Path, entries: list[Entry], *, fate: Fate | None = None, rule: Rule | None = None
) -> list[dict[str, bytes]]:
    """By seeds, of a root that was there before."""
    found = []
    disk = Disk(ROOT, entries, {})
    disk.advance(len(entries))
    for seed in SEEDS:
        target = folder / f"image{seed}"
        disk.write(target, seed, fate=fate, rule=rule)
        found.append(contents(target))
    return found


recording = pytest.mark.skipif(sys.platform != "linux", reason="the recorder is for Linux")


@recording
def test_the_log_has_all_that_a_program_did(tmp_path: Path) -> None:
    recorder, _ = recorded(tmp_path, PROGRAM)
    entries = recorder.entries()
    disk = Disk(recorder.root, entries)
    disk.advance(len(entries))
    there = contents(recorder.root)
    assert there.keys() == {"one", "below/three", "relative"}
    assert disk.live() == there
    # everything that was not synced may have reached the disk all the same
    disk.write(tmp_path / "image", 0, fate=Fate.KEPT)
    assert contents(tmp_path / "image") == there
    assert [each.at for each in entries] == sorted(each.at for each in entries)


@recording
def test_of_what_was_not_synced_nothing_may_be_left(tmp_path: Path) -> None:
    recorder, _ = recorded(tmp_path, PROGRAM)
    entries = recorder.entries()
    disk = Disk(recorder.root, entries)
    disk.advance(len(entries))
    # nobody synced the directory above the root
    disk.write(tmp_path / "strict", 0, fate=Fate.LOST, rule=Rule.POSIX)
    assert not (tmp_path / "strict").exists()
    disk.write(tmp_path / "image", 0, fate=Fate.LOST, rule=Rule.JOURNAL)
    found = contents(tmp_path / "image")
    assert found == {"one": b"", "below/three": bytes(5000) + b"4" * 10, "relative": b""}


@recording
def test_a_sync_that_lies_is_not_one(tmp_path: Path) -> None:
    recorder, _ = recorded(tmp_path, PROGRAM, lies="all")
    assert {each.kind for each in recorder.entries()} & {Kind.SYNC, Kind.SYNCED} == set()


@recording
@pytest.mark.parametrize(
    "call",
    [
        "import mmap; f = open(root + '/f', 'w+b'); f.truncate(4096); mmap.mmap(f.fileno(), 4096)",
        "import os; os.link(root + '/there', root + '/link')",
        "import os; os.truncate(root + '/there', 0)",
        "import os; os.posix_fallocate(os.open(root + '/there', os.O_RDWR), 0, 10)",
        "import os; os.writev(os.open(root + '/there', os.O_RDWR), [b'x'])",
        "import shutil; open(root + '/there', 'w').write('x'); shutil.copyfile(root + '/there', root + '/copy')",
        "import os; os.rename(root + '/there', root + '/../elsewhere')",
    ],
)
def test_what_cannot_be_followed_is_not_passed_over(tmp_path: Path, call: str) -> None:
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "there").touch()
    recorder, _ = recorded(tmp_path, f"import sys; root = sys.argv[1]; {call}")
    entries = recorder.entries()
    with pytest.raises(AssertionError, match="cannot follow"):
        Disk(recorder.root, entries, {"there": b""}).advance(len(entries))


def test_what_was_synced_stays_whatever_becomes_of_the_rest(tmp_path: Path) -> None:
    entries = [
        made("file", 7),
        entry(Kind.WRITE, inode=7, data=b"a" * 4 * SECTOR),
        *synced(1, "/r/file", 7),
        *synced(2, "/r"),
        entry(Kind.WRITE, inode=7, argument=2 * SECTOR, data=b"b" * 4 * SECTOR),
    ]
    found = images(tmp_path, entries)
    for image in found:
        assert image["file"][: 2 * SECTOR] == b"a" * 2 * SECTOR
        assert len(image["file"]) <= 6 * SECTOR
    contents_seen = {image["file"][2 * SECTOR :] for image in found}
    assert b"a" * 2 * SECTOR in contents_seen, "lost"
    assert b"b" * 4 * SECTOR in contents_seen, "kept"
    mixed = {each for each in contents_seen if {each[0:1], each[SECTOR : SECTOR + 1]} == {b"a", b"b"}}
    assert mixed, "torn"
    # a sector is whole
    assert all(len(set(each[at : at + SECTOR])) == 1 for each in mixed for at in (0, SECTOR))


def test_a_sync_covers_what_was_written_before_it_began(tmp_path: Path) -> None:
    entries = [
        made("file", 7),
        *synced(1, "/r"),
        entry(Kind.WRITE, inode=7, data=b"a"),
        entry(Kind.SYNC, "/r/file", inode=7, argument=2),
        entry(Kind.WRITE, inode=7, argument=1, data=b"b"),
        entry(Kind.SYNCED, argument=2),
    ]
    (lost,) = {image["file"] for image in images(tmp_path, entries, fate=Fate.LOST)}
    assert lost == b"a"


def test_a_sync_that_is_not_done_covers_nothing(tmp_path: Path) -> None:
    entries = [
        made("file", 7),
        *synced(1, "/r"),
        entry(Kind.WRITE, inode=7, data=b"a"),
        entry(Kind.SYNC, "/r/file", inode=7, argument=2),
    ]
    assert images(tmp_path, entries, fate=Fate.LOST)[0] == {"file": b""}


def test_writes_reach_the_disk_in_any_order(tmp_path: Path) -> None:
    entries = [
        made("file", 7),
        *synced(1, "/r"),
        *(entry(Kind.WRITE, inode=7, argument=at * SECTOR, data=b"ab"[at : at + 1] * SECTOR) for at in (0, 1)),
    ]
    assert any(image["file"][:1] != b"a" and image["file"][-1:] == b"b" for image in images(tmp_path, entries))


def test_a_sector_is_as_it_was_at_some_time(tmp_path: Path) -> None:
    entries = [
        made("file", 7),
        entry(Kind.WRITE, inode=7, data=b"0" * SECTOR),
        *synced(1, "/r/file", 7),
        *synced(2, "/r"),
        entry(Kind.WRITE, inode=7, data=b"1" * 10),
        entry(Kind.WRITE, inode=7, argument=5, data=b"2" * 10),
    ]
    allowed = {b"0" * 15, b"1" * 10 + b"0" * 5, b"1" * 5 + b"2" * 10}
    assert {image["file"][:15] for image in images(tmp_path, entries, fate=Fate.TORN)} == allowed


def test_a_file_that_was_cut_and_grew_again_has_nothing_of_before(tmp_path: Path) -> None:
    entries = [
        made("file", 7),
        entry(Kind.WRITE, inode=7, data=b"a" * 3 * SECTOR),
        *synced(1, "/r"),
        entry(Kind.TRUNCATE, inode=7, argument=100),
        entry(Kind.TRUNCATE, inode=7, argument=2 * SECTOR),
        *synced(2, "/r/file", 7),
    ]
    assert all(image["file"] == b"a" * 100 + bytes(2 * SECTOR - 100) for image in images(tmp_path, entries))


def test_a_name_needs_a_sync_of_its_directory(tmp_path: Path) -> None:
    entries = [made("file", 7), entry(Kind.WRITE, inode=7, data=b"a"), *synced(1, "/r/file", 7)]
    found = images(tmp_path, entries, rule=Rule.POSIX)
    assert {} in found
    assert {"file": b"a"} in found
    (tmp_path / "more").mkdir()
    assert {} not in images(tmp_path / "more", entries, rule=Rule.JOURNAL)


def test_names_change_as_a_whole(tmp_path: Path) -> None:
    entries = [
        made("old", 7),
        made("new", 8),
        entry(Kind.WRITE, inode=7, data=b"7"),
        *synced(1, "/r/old", 7),
        *synced(2, "/r"),
        entry(Kind.RENAME, "/r/old\0/r/new"),
    ]
    found = images(tmp_path, entries)
    assert all(image in ({"old": b"7", "new": b""}, {"new": b"7"}) for image in found)
    assert {"new": b"7"} in found
    assert {"old": b"7", "new": b""} in found


def test_a_name_that_was_taken_away_may_be_back(tmp_path: Path) -> None:
    entries = [made("file", 7), *synced(1, "/r"), entry(Kind.UNLINK, "/r/file")]
    found = images(tmp_path, entries)
    assert {} in found
    assert {"file": b""} in found
    (tmp_path / "more").mkdir()
    assert {"file": b""} not in images(tmp_path / "more", [*entries, *synced(2, "/r")])


def test_an_inode_that_is_used_again_is_another_file(tmp_path: Path) -> None:
    entries = [
        made("one", 7),
        entry(Kind.WRITE, inode=7, data=b"1"),
        entry(Kind.UNLINK, "/r/one"),
        made("two", 7),
        entry(Kind.WRITE, inode=7, data=b"2"),
        *synced(1, "/r/two", 7),
        *synced(2, "/r"),
    ]
    assert all(image == {"two": b"2"} for image in images(tmp_path, entries))


def test_a_seed_is_an_image(tmp_path: Path) -> None:
    entries = [made("file", 7), *(entry(Kind.WRITE, inode=7, argument=at * 700, data=b"x" * 700) for at in range(9))]
    (tmp_path / "again").mkdir()
    assert images(tmp_path, entries) == images(tmp_path / "again", entries)
