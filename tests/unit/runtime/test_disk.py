"""What has to be there after a loss of power is synced, its name too."""

import errno
import os
import stat
from pathlib import Path

import pytest

from heliograph.runtime.disk import keep_from_others, make_folder, sync


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The inodes of what was synced, in order."""
    inodes: list[int] = []
    monkeypatch.setattr(os, "fsync", lambda number: inodes.append(os.fstat(number).st_ino))
    return inodes


def test_each_new_name_is_synced(tmp_path: Path, synced: list[int]) -> None:
    make_folder(tmp_path / "one" / "two" / "three")
    assert stat.S_IMODE((tmp_path / "one" / "two" / "three").stat().st_mode) == 0o700
    holders = (tmp_path, tmp_path / "one", tmp_path / "one" / "two")
    assert set(synced) == {holder.stat().st_ino for holder in holders}


def test_a_name_that_is_there_is_synced_again(tmp_path: Path, synced: list[int]) -> None:
    (tmp_path / "one").mkdir()
    make_folder(tmp_path / "one")
    assert synced == [tmp_path.stat().st_ino]


def test_where_directories_cannot_be_synced_they_are_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(number: int) -> None:
        raise OSError(22, "Invalid argument")

    monkeypatch.setattr(os, "fsync", refuse)
    make_folder(tmp_path / "one" / "two")
    assert (tmp_path / "one" / "two").is_dir()


def test_where_directories_cannot_be_synced_their_files_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, code = tmp_path / "file", errno.EINVAL
    file.touch()

    def refuse(number: int) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "fsync", refuse)
    sync(tmp_path)
    with pytest.raises(OSError, match="Invalid"):
        sync(file)
    code = errno.EIO
    with pytest.raises(OSError, match="error"):
        sync(tmp_path)


def test_what_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match="file"):
        make_folder(tmp_path / "file" / "below")


def test_a_file_that_is_not_there_cannot_be_synced(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        sync(tmp_path / "nothing")


@pytest.mark.parametrize(("before", "after"), [(0o755, 0o750), (0o777, 0o770), (0o2775, 0o2770), (0o604, 0o600)])
def test_what_others_may_read_is_closed_to_them(tmp_path: Path, before: int, after: int) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    folder.chmod(before)
    assert keep_from_others(folder) == (before, after)
    assert stat.S_IMODE(folder.stat().st_mode) == after
    assert keep_from_others(folder) is None


def test_what_is_closed_or_not_there_stays_so(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir(mode=0o700)
    assert keep_from_others(tmp_path / "data") is None
    assert keep_from_others(tmp_path / "nothing") is None


def test_what_cannot_be_closed_is_told_with_its_mode(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a volume of somebody else."""
    tmp_path.chmod(0o755)

    def refuse(path: Path, mode: int) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(Path, "chmod", refuse)
    assert keep_from_others(tmp_path) == (0o755, 0o755)
