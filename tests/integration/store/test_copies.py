"""Copies of the store are their owner's alone from their first octet on."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from heliograph.adapters.store.sqlite import SqliteStore
from heliograph.adapters.store.sqlite.backup import back_up
from heliograph.adapters.store.sqlite.connection import create_file


@pytest.fixture
def open_to_all() -> Iterator[None]:
    """No umask takes any right away."""
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.fixture
async def path(tmp_path: Path) -> Path:
    path = tmp_path / "store.db"
    await (await SqliteStore.open(path)).close()
    return path


@pytest.mark.usefixtures("open_to_all")
def test_a_new_file_is_its_owners_alone_and_nobody_elses(tmp_path: Path) -> None:
    create_file(tmp_path / "new", new=True)
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o600
    (tmp_path / "there").write_text("kept")
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    for name in ("there", "link"):
        with pytest.raises(FileExistsError):
            create_file(tmp_path / name, new=True)
    assert (tmp_path / "there").read_text() == "kept"
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.usefixtures("open_to_all")
def test_what_lies_in_the_way_of_a_copy_is_not_written_to(path: Path, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("kept")
    victim.chmod(0o644)
    (tmp_path / "copy.db.part").symlink_to(victim)
    back_up(path, tmp_path / "copy.db")
    assert victim.read_text() == "kept"
    assert not (tmp_path / "copy.db").is_symlink()
    assert stat.S_IMODE((tmp_path / "copy.db").stat().st_mode) == 0o600
    assert not (tmp_path / "copy.db.part").exists()


def test_a_copy_that_somebody_else_is_making_is_left_to_them(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    half = tmp_path / "copy.db.part"
    unlink = Path.unlink

    def put_there_meanwhile(removed: Path, missing_ok: bool = False) -> None:
        unlink(removed, missing_ok)
        removed.write_text("another's")

    monkeypatch.setattr(Path, "unlink", put_there_meanwhile)
    with pytest.raises(FileExistsError):
        back_up(path, tmp_path / "copy.db")
    assert half.read_text() == "another's"
    assert not (tmp_path / "copy.db").exists()
