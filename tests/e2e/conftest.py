"""What every end-to-end test has: a data directory that is not there yet, commands on it, a receiver of callbacks."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.background_sink import BackgroundSink
from tests.support.process import Admin


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def admin(data: Path) -> Admin:
    return Admin(data)


@pytest.fixture
def sink() -> Iterator[BackgroundSink]:
    with BackgroundSink() as background:
        yield background
