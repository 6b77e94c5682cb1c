"""Many lives of the gateway, each from a seed. `make sim SEEDS=1000` tries more.

A seed that fails fails again: nothing here depends on the machine, the time or the order of tests.
"""

import os
import random
from dataclasses import fields

import pytest

from heliograph.app.facts import CallbackRetry, Facts, Verdict
from heliograph.app.ports import Unavailable
from tests.simulation import checks
from tests.simulation.bugs_of_nodes import TWO
from tests.simulation.faults import FaultyStore, Odds
from tests.simulation.plans import PLANS, REPEATING, live
from tests.simulation.world import Plan, Simulation
from tests.support.memory_rows import Rows
from tests.support.store import Given
from tests.support.virtual_time import run

SEEDS = int(os.environ.get("SIM_SEEDS", "3"))
"""Each planted bug is found within this many seeds of all plans; `make sim` tries others."""
FIRST = int(os.environ.get("SIM_FIRST", "0"))


@pytest.mark.parametrize(
    "seed",
    [pytest.param(seed, marks=pytest.mark.extended if seed > FIRST else ()) for seed in range(FIRST, FIRST + SEEDS)],
)
@pytest.mark.parametrize(
    "plan",
    [
        pytest.param(name, marks=pytest.mark.extended if name in REPEATING or plan.nodes > 1 else ())
        for name, plan in PLANS.items()
    ],
)
def test_whatever_goes_wrong_every_promise_is_kept(plan: str, seed: int) -> None:
    assert live(PLANS[plan], seed).wrong == []


def test_plans_that_are_tried_with_each_change_have_every_feature() -> None:
    def features(plan: Plan) -> set[str]:
        return {each.name for each in fields(Plan) if getattr(plan, each.name) != each.default}

    tried = [features(plan) for name, plan in PLANS.items() if name not in REPEATING and plan.nodes == 1]
    assert PLANS.keys() >= REPEATING
    assert set().union(*tried) == set().union(*(features(plan) for plan in PLANS.values() if plan.nodes == 1))


def test_two_nodes_keep_every_promise() -> None:
    simulation = live(TWO, 1)
    assert simulation.wrong == []
    assert len(simulation.told) > 50


@pytest.mark.parametrize("plan", ["crashes", pytest.param("nodes", marks=pytest.mark.extended)])
def test_a_seed_happens_again_the_same_way(plan: str) -> None:
    first, second = live(PLANS[plan], 11), live(PLANS[plan], 11)
    assert first.rows.messages == second.rows.messages
    assert first.rows.sent == second.rows.sent
    assert first.rows.ledger == second.rows.ledger
    assert first.arrived == second.arrived


def test_without_faults_everything_goes_out_once() -> None:
    simulation = Simulation(1, Plan(lives=1), odds=Odds())
    assert run(simulation.run()) == []
    for operator in simulation.operators.values():
        assert set(operator.submits.values()) == {1}


async def test_a_row_that_was_claimed_after_a_lost_answer_stays_claimed() -> None:
    odds = Odds(store_fails_after=1.0)
    rows = Rows()
    store = FaultyStore(rows, random.Random(1), odds)
    facts = Facts(callback_retries=[CallbackRetry(1, 2, 0, 1, b"", "", 0)])
    with pytest.raises(Unavailable):
        await store.commits.record(facts)
    rows.retries[2].node = 7
    odds.stop()
    facts.callback_retries.append(CallbackRetry(1, 3, 0, 1, b"", "", 0))
    await store.commits.record(facts)
    assert [(key, row.node) for key, row in rows.retries.items()] == [(2, 7), (3, None)]


async def test_a_repeat_with_a_lost_answer_keeps_its_own_key() -> None:
    """A commit has a request and its repeat. Only the first is stored, so the repeat may be refused as unavailable."""
    odds = Odds(store_fails_after=1.0)
    rows = Rows()
    store = FaultyStore(rows, random.Random(1), odds, doubts=True)
    given = Given(store)
    account = (await given.account()).id
    first, again = (given.accept(given.message(account, reference="order 1")) for _ in range(2))
    key = again.key
    with pytest.raises(Unavailable):
        await store.commits.record(Facts(accepts=[first, again]))
    assert (first.verdict, again.verdict) == (Verdict.IN_DOUBT, Verdict.IN_DOUBT)
    odds.stop()
    await store.commits.record(Facts())
    assert (first.verdict, again.verdict) == (Verdict.ACCEPTED, Verdict.UNAVAILABLE)
    assert list(rows.messages) == [first.key]
    assert (again.key, again.messages[0].key) == (key, key)
    assert checks.refused([rows], again) == []
