"""Many lives of the gateway, each from one seed: `SIM_SEEDS=1000 pytest tests/simulation` tries more of them.

A seed that fails fails again: nothing here depends on the machine, the time or the order of tests.
"""

import os
from types import ModuleType

import pytest

from heliograph.app import dispatch, lane, notify, report
from heliograph.runtime import engine
from tests.simulation.faults import Odds
from tests.simulation.world import Plan, Simulation
from tests.support.virtual_time import run

SEEDS = int(os.environ.get("SIM_SEEDS", "5"))
FIRST = int(os.environ.get("SIM_FIRST", "0"))

SHORT: list[tuple[ModuleType, str, object]] = [
    (lane, "FAST_MESSAGES", 12),
    (lane, "FAST_MESSAGES_PER_ACCOUNT", 8),
    (lane, "SLOW_MESSAGES", 6),
    (dispatch, "SLOW_MESSAGES", 6),
    (report, "KEEP_PARTS", 6),
    (notify, "IN_THE_AIR", 4),
    (notify, "CLAIM", 3),
    (engine, "BATCH", 5),
]
"""Limits of memory, so low that they are met all the time."""

PLANS: dict[str, Plan] = {
    "crashes": Plan(lives=4),
    "stops": Plan(graceful=True),
    "clock": Plan(clock_jumps=True),
    "rerouting": Plan(remove_connector=True),
    "ids": Plan(ids_again=True),
    "rate": Plan(rate=8.0, requests_s=4.0),
    "waiting": Plan(unknown_wait_s=30.0),
    "late": Plan(validity_ms=5_000, longest_outage_s=15.0),
}


@pytest.mark.parametrize("seed", range(FIRST, FIRST + SEEDS))
@pytest.mark.parametrize("plan", PLANS)
def test_whatever_goes_wrong_every_promise_is_kept(plan: str, seed: int) -> None:
    assert run(Simulation(seed, PLANS[plan]).run()) == []


@pytest.mark.parametrize("seed", range(FIRST, FIRST + SEEDS))
def test_where_memory_is_short_the_rows_carry_it_all(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for where, name, most in SHORT:
        monkeypatch.setattr(where, name, most)
    plan = Plan(requests_s=15.0, graceful=seed % 2 == 0)
    assert run(Simulation(seed, plan).run()) == []


def test_without_faults_everything_goes_out_once() -> None:
    simulation = Simulation(1, Plan(lives=1), odds=Odds())
    assert run(simulation.run()) == []
    for operator in simulation.operators.values():
        assert set(operator.submits.values()) == {1}
