"""The stores that benchmarks begin with: made without the gateway, so its own audit must find no fault with them."""

import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest
from bench.loop.fill import SPAN_MS, TAIL, add_history, add_queue, known_key, known_path
from bench.loop.gateways import NUMBER, Heliograph

from heliograph.composition.commands import STORE_FILE
from heliograph.domain.message.ids import to_hex
from heliograph.runtime.upkeep import NUMBERS_BLOCK

SIZE = 50


@pytest.fixture
def gateway(tmp_path: Path) -> Heliograph:
    gateway = Heliograph(tmp_path / "gateway", smpp_port=1, sink_port=1)
    gateway.prepare()
    return gateway


def count(gateway: Heliograph, table: str) -> int:
    with closing(sqlite3.connect(gateway.data / STORE_FILE)) as db:
        (rows,) = db.execute(f"SELECT count(*) FROM {table}").fetchone()
    return int(rows)


@pytest.mark.parametrize("top", [0x0190, 0x019B, 0x0200, 0x1000])
def test_a_stored_message_has_its_number_in_its_path_whatever_the_clock_shows(top: int) -> None:
    now = (top + 2) * SPAN_MS + 12_345
    for number in (0, 7, 12_345_678):
        path = known_path(now).replace(NUMBER, f"{number:08}")
        assert path == "/api/v1/messages/" + to_hex(known_key(number, now), TAIL)


@pytest.mark.slow
def test_a_history_is_a_sound_one(gateway: Heliograph) -> None:
    size = NUMBERS_BLOCK + SIZE
    add_history(gateway, "bench", size, int(time.time() * 1000))
    assert [count(gateway, table) for table in ("message", "final", "callback")] == [size] * 3
    assert count(gateway, "number_block") == 1, "a gateway on it would index numbers while it is measured"
    assert gateway.audit() == []


@pytest.mark.slow
@pytest.mark.parametrize("late_ms", [None, pytest.param(60_000, marks=pytest.mark.extended)])
def test_a_queue_is_a_sound_one(gateway: Heliograph, late_ms: int | None) -> None:
    now = int(time.time() * 1000)
    add_queue(gateway, "bench", SIZE, now, late_ms and now + late_ms)
    assert count(gateway, "queue") == SIZE
    assert gateway.audit() == []
