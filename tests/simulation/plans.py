"""Plans for the simulated gateway. A plan with a seed is a world that repeats exactly."""

import random
import traceback
from contextlib import ExitStack
from types import ModuleType
from typing import Any
from unittest.mock import patch

from heliograph.adapters.smpp_server import connection
from heliograph.app.dispatch import claims, dispatcher, lane
from heliograph.app.notices import notifier
from heliograph.app.receipts import awaiting
from heliograph.domain.pace import breaker
from heliograph.runtime import group_commit, retention, upkeep
from tests.simulation import esmes
from tests.simulation.nodes import Nodes
from tests.simulation.world import Plan, Simulation
from tests.support.virtual_time import run

_TOGETHER: dict[str, Any] = {
    "validity_ms": 60_000,
    "busy_s": 60.0,
    "requests_s": 5.0,
    "troubles": 0.05,
    "phones": 0.3,
    "doubts": True,
    "kinds": ("kill", "kill", "stop", "pause", "pause", "pause", "sleep", "cut", "cut", "outage", "outage"),
}
"""The plans with several nodes have this in common."""

PLANS: dict[str, Plan] = {
    "crashes": Plan(lives=4),
    "stops": Plan(graceful=True),
    "clock": Plan(clock_jumps=True),
    "rerouting": Plan(remove_connector=True),
    "ids": Plan(ids_again=True),
    "rate": Plan(rate=8.0, requests_s=4.0),
    "waiting": Plan(unknown_wait_s=30.0),
    "whole": Plan(whole=True),
    "late": Plan(validity_ms=5_000, longest_outage_s=15.0),
    "order": Plan(recipients=4, lives=4, graceful=True),
    "memory": Plan(requests_s=15.0, short_memory=True, recipients=6),
    "shards": Plan(shards=2, lives=4),
    "shards-memory": Plan(shards=2, requests_s=15.0, short_memory=True, recipients=6, lives=4),
    "unfit": Plan(unfit=0.05, lives=4),
    "shards-unfit": Plan(unfit=0.1, shards=2, graceful=True),
    "doubts": Plan(doubts=True, lives=4),
    "doubts-memory": Plan(doubts=True, requests_s=15.0, short_memory=True, recipients=6, lives=4, graceful=True),
    "inbound": Plan(phones=0.6, lives=4),
    "inbound-stops": Plan(phones=0.6, graceful=True),
    "inbound-clock": Plan(phones=0.6, clock_jumps=True),
    "inbound-memory": Plan(phones=0.8, requests_s=15.0, short_memory=True, lives=4, graceful=True),
    "inbound-replies": Plan(phones=0.6, replies=True, lives=4),
    "opt-outs": Plan(phones=0.6, opt_outs=True, lives=4),
    "opt-outs-stops": Plan(phones=0.6, opt_outs=True, graceful=True),
    "opt-outs-memory": Plan(phones=0.8, opt_outs=True, requests_s=15.0, short_memory=True, lives=4, graceful=True),
    "days": Plan(day_s=6.0, lives=4),
    "days-stops": Plan(day_s=4.0, graceful=True),
    "days-clock": Plan(day_s=6.0, clock_jumps=True),
    "days-unfit": Plan(day_s=6.0, unfit=0.05, lives=4),
    "days-shards": Plan(day_s=6.0, shards=2, lives=4),
    "redacting": Plan(retain_s=(1.0, 2.0, 0.0), lives=4),
    "dropping": Plan(retain_s=(2.0, 20.0, 90.0), busy_s=120.0, requests_s=3.0, lives=4),
    "dropping-phones": Plan(retain_s=(0.0, 0.0, 90.0), busy_s=120.0, requests_s=3.0, lives=4, phones=0.4),
    "suspensions": Plan(suspensions=0.03, lives=4),
    "suspensions-stops": Plan(suspensions=0.03, graceful=True),
    "suspensions-memory": Plan(suspensions=0.03, requests_s=15.0, short_memory=True, recipients=6, lives=4),
    "suspensions-phones": Plan(suspensions=0.03, phones=0.6, opt_outs=True, lives=4),
    "suspensions-shards": Plan(suspensions=0.03, shards=2, lives=4),
    "esme": Plan(esmes=0.5, requests_s=4.0, lives=4, graceful=True),
    "esme-crashes": Plan(esmes=0.8, requests_s=3.0, lives=5),
    "esme-memory": Plan(esmes=0.8, requests_s=6.0, short_memory=True, lives=4, graceful=True),
    "esme-phones": Plan(esmes=0.5, phones=0.6, requests_s=4.0, lives=4, graceful=True),
    "failover": Plan(failover=0.04, busy_s=80.0, lives=4),
    "failover-stops": Plan(failover=0.04, busy_s=80.0, graceful=True, lives=4),
    "failover-memory": Plan(failover=0.04, busy_s=80.0, requests_s=15.0, short_memory=True, lives=4, graceful=True),
    "failover-unknown": Plan(failover=0.04, busy_s=80.0, failover_unknown=True, lives=4, graceful=True),
    "failover-waiting": Plan(failover=0.04, busy_s=80.0, unknown_wait_s=10.0, lives=4),
    "failover-whole": Plan(failover=0.04, busy_s=80.0, whole=True, lives=4, graceful=True),
    "failover-late": Plan(failover=0.04, busy_s=80.0, validity_ms=20_000, longest_outage_s=15.0, lives=4),
    "failover-receipts": Plan(failover=0.06, busy_s=80.0, failover_receipts=True, lives=4, graceful=True),
    "failover-receipts-memory": Plan(
        failover=0.06, busy_s=80.0, failover_receipts=True, requests_s=6.0, short_memory=True, lives=4, graceful=True
    ),
    "failover-receipts-waiting": Plan(
        failover=0.06, busy_s=80.0, failover_receipts=True, unknown_wait_s=10.0, whole=True, lives=4
    ),
    "failover-shards": Plan(failover=0.04, busy_s=80.0, shards=2, lives=4),
    "nodes": Plan(nodes=2, **_TOGETHER),
    "nodes-three": Plan(nodes=3, **_TOGETHER),
    "nodes-skew": Plan(nodes=3, skew_ms=20_000, **_TOGETHER),
    "nodes-memory": Plan(nodes=2, short_memory=True, **_TOGETHER | {"requests_s": 12.0}),
    "nodes-losses": Plan(nodes=2, **_TOGETHER | {"kinds": ("loss", "loss", "kill", "outage")}),
    "memory-stops": Plan(requests_s=15.0, short_memory=True, recipients=6, graceful=True),
}

REPEATING = frozenset({
    "memory", "shards", "unfit", "doubts", "inbound", "inbound-stops", "inbound-clock", "inbound-memory", "opt-outs",
    "opt-outs-stops", "days", "days-stops", "days-unfit", "dropping", "suspensions", "suspensions-stops", "esme",
    "failover", "failover-stops", "failover-memory", "failover-waiting", "failover-whole", "failover-receipts",
    "memory-stops",
})  # fmt: skip
"""Plans that only `make test-all` and `make sim` try: each of their features is in another plan, together with others.
For example, "shards-memory" has all of "shards", and "opt-outs-memory" all of "inbound-memory"."""

_OFTEN: list[tuple[ModuleType, str, float]] = [
    (retention, "PASS_S", 0.7),
    (retention, "RETRY_PASSES", 2),
    (retention, "LEAST", 4),
    (retention, "MOST", 8),
    (retention, "QUIET_S", 5.0),
]
"""Retention has small steps, and looks again all the time."""

_SHORT: list[tuple[ModuleType, str, int]] = [
    (lane, "FAST_MESSAGES", 12),
    (lane, "FAST_MESSAGES_PER_ACCOUNT", 8),
    (lane, "SLOW_MESSAGES", 6),
    (lane, "PARTS_A_COMMIT", 3),
    (claims, "SLOW_MESSAGES", 6),
    (claims, "DIVERTED_ROWS", 4),
    (claims, "RETURN_ROWS", 30),
    (dispatcher, "SLOW_MESSAGES", 6),
    (awaiting, "KEEP_PARTS", 6),
    (notifier, "IN_THE_AIR", 4),
    (notifier, "CLAIM", 3),
    (upkeep, "BATCH", 5),
    (upkeep, "RESUMED_BATCHES", 2_000),
    (group_commit, "COMMIT_PARTS", 2),
]
"""Limits of memory, so low that they are met all the time."""


_BRIEF_MEMORY = [("LATEST", 10), ("_ALL", (1 << 10) - 1)]
"""Breakers look at ten answers, so that they open often."""


def live(plan: Plan, seed: int) -> Simulation:
    """A world from its beginning to its end; its `wrong` has the findings."""
    simulation = Simulation(seed, plan) if plan.nodes == 1 else Nodes(seed, plan)
    with ExitStack() as limits:
        for where, name, most in _SHORT if plan.short_memory else []:
            limits.enter_context(patch.object(where, name, most))
        for where, name, number in _OFTEN if any(plan.retain_s) else []:
            limits.enter_context(patch.object(where, name, number))
        for name, number in _BRIEF_MEMORY if plan.failover else []:
            limits.enter_context(patch.object(breaker, name, number))
        if plan.esmes:
            for name, limit in esmes.patched(random.Random(seed)).items():
                limits.enter_context(patch.object(connection, name, limit))
        try:
            run(simulation.run())
        except Exception:  # noqa: BLE001 - whatever it is, it is found, beside what was found before
            simulation.wrong.append(traceback.format_exc())
    return simulation
