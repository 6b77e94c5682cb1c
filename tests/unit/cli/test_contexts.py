"""The file of contexts: it is replaced as a whole, also by a loss of power."""

import os
import stat
from pathlib import Path

import pytest

from heliograph.cli.remote.contexts import Contexts, GatewayContext, load, save

KNOWN = Contexts({"prod": GatewayContext("https://sms.example.net", "hat_1")}, "prod")


def test_contexts_are_on_disk_before_they_replace_the_earlier_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "heliograph" / "contexts.json"
    save(file, Contexts())
    earlier = file.stat().st_ino
    synced: list[tuple[int, int]] = []
    monkeypatch.setattr(os, "fsync", lambda number: synced.append((os.fstat(number).st_ino, file.stat().st_ino)))
    save(file, KNOWN)
    assert load(file) == KNOWN
    # each with the file that had the name at that moment
    assert synced[-2:] == [(file.stat().st_ino, earlier), (file.parent.stat().st_ino, file.stat().st_ino)]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_contexts_that_cannot_be_written_leave_the_earlier_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "contexts.json"
    save(file, KNOWN)

    def refuse(number: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(OSError, match="No space"):
        save(file, Contexts())
    assert load(file) == KNOWN
    assert list(tmp_path.iterdir()) == [file]
