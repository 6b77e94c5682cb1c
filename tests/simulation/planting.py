"""Registers the bugs that are planted, one at a time: `test_planted.py`, `bugs_of_nodes.py`."""

from collections.abc import Callable

import pytest

from tests.simulation.world import Plan

SEEDS = 6
"""Each bug is found within this many seeds, most with the first, unless the bug says otherwise."""

BRIEF = Plan(busy_s=12.0, lives=2)

Plant = Callable[[pytest.MonkeyPatch], None]

BUGS: dict[str, tuple[Plant, tuple[str, ...], Plan, int]] = {}
"""By name: the function that breaks it, the expected findings (regular expressions), the plan that shows it, and within
how many seeds."""

CANARIES: set[str] = set()
"""Bugs, each of another subject, that `make test` plants, too."""


def bug(*findings: str, plan: Plan = BRIEF, canary: bool = False, seeds: int = SEEDS) -> Callable[[Plant], Plant]:
    """Registers the decorated function as a bug."""

    def add(plant: Plant) -> Plant:
        BUGS[plant.__name__] = (plant, findings, plan, seeds)
        if canary:
            CANARIES.add(plant.__name__)
        return plant

    return add
