"""The lock of the data directory."""

from pathlib import Path

import pytest

from heliograph.runtime.data_directory import LOCK_FILE, AlreadyRunning, only_engine


def test_a_second_gateway_is_refused_until_the_first_has_ended(tmp_path: Path) -> None:
    with only_engine(tmp_path), pytest.raises(AlreadyRunning, match="another gateway runs"), only_engine(tmp_path):
        pass
    with only_engine(tmp_path):
        pass


def test_only_the_gateways_user_may_open_the_lock(tmp_path: Path) -> None:
    """Another user with the lock could keep the gateway from starting. A file of an earlier version is mended."""
    lock = tmp_path / LOCK_FILE
    for _ in range(2):
        with only_engine(tmp_path):
            assert lock.stat().st_mode & 0o777 == 0o600
        lock.chmod(0o644)
