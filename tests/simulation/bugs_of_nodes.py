"""Bugs of nodes that share a store, for `test_planted.py`. Each shows in worlds with two or three nodes."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from heliograph.app.facts import Accept, Verdict
from heliograph.app.inbound.repeats import Arrival, Repeats
from heliograph.app.receipts.lookup import ReceiptLookup
from heliograph.domain.past import PastState
from heliograph.runtime import past
from heliograph.runtime.engine import Engine
from heliograph.runtime.group_commit import GroupCommit
from heliograph.runtime.lease import Lease
from tests.simulation import faults
from tests.simulation.planting import bug
from tests.simulation.world import Plan
from tests.support.memory_delivery import MemoryCommits, MemoryQueue
from tests.support.memory_leases import MemoryLeases
from tests.support.memory_rows import Rows

TWO = Plan(nodes=2, busy_s=40.0, requests_s=4.0, validity_ms=20_000, troubles=0.1, doubts=True, kinds=("kill", "pause"))
PAUSES = replace(TWO, kinds=("pause",), busy_s=120.0)
OUTAGES = replace(TWO, kinds=("outage",), troubles=0.05, requests_s=3.0, busy_s=120.0)
SLEEPS = replace(TWO, kinds=("sleep",), troubles=0.05, requests_s=3.0)
STOPS = replace(TWO, nodes=3, kinds=("stop",), troubles=0.3, requests_s=8.0)
LOSSES = replace(TWO, kinds=("loss",))
DOUBTS = replace(TWO, requests_s=15.0, busy_s=60.0)
TEXTS = replace(TWO, kinds=("kill",), requests_s=6.0, busy_s=60.0, phones=1.0, troubles=0.2)


@bug("is written by the node .*, which was given up", plan=PAUSES, seeds=16)
def a_process_that_continues_goes_on_sending(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Engine, "_may_act", True)


@bug("was given up by .*, and was neither stopped nor cut off", plan=OUTAGES)
def a_node_gives_up_others_as_soon_as_its_lease_holds(patch: pytest.MonkeyPatch) -> None:
    """After an outage the others had no time to renew their leases."""
    patch.setattr(Lease, "settled", property(lambda self: self.holds))


@bug("was given up by .*, and was neither stopped nor cut off", plan=SLEEPS)
def a_call_that_slept_on_its_way_gives_up_others(patch: pytest.MonkeyPatch) -> None:
    """The call was right when it was made. Since then no node could renew its lease."""
    release_dead = MemoryLeases.release_dead

    async def broken(self: MemoryLeases, deadline: int, ago: int = 0) -> list[int]:
        return await release_dead(self, self._now(), ago)

    patch.setattr(MemoryLeases, "release_dead", broken)


@bug("was accepted and is not there", plan=LOSSES)
def a_database_that_lost_commits_is_worked_on(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(past, "compare", lambda *_: PastState.WHOLE)


@bug("and its row is claimed by", plan=replace(TWO, short_memory=True))
def rows_that_another_node_has_are_claimed(patch: pytest.MonkeyPatch) -> None:
    def broken(self: MemoryQueue, rows: Rows, connector: int, now: int) -> list[int]:
        due = [(row.due, key) for key, row in rows.queue.items() if row.connector == connector and row.due <= now]
        return [key for _, key in sorted(due)]

    patch.setattr(MemoryQueue, "_due", broken)


@bug(r"the operator \S+ has \d+ links, and allows", plan=TWO, canary=True)
def each_node_has_all_binds(patch: pytest.MonkeyPatch) -> None:
    async def broken(self: MemoryLeases, connector: int, node: int, binds: int, want: int) -> list[int]:
        return list(range(min(want, binds)))

    patch.setattr(MemoryLeases, "lease_binds", broken)


@bug("was refused and is stored", plan=DOUBTS)
def a_request_with_a_503_is_not_undone(patch: pytest.MonkeyPatch) -> None:
    """The store tells that the request is not there, and leaves it."""
    patch.setattr(faults, "void", lambda *_: True)
    patch.setattr(GroupCommit, "_try_again", lambda self, thens: thens)


@bug(r"is stored \S+ times", plan=DOUBTS)
def a_reference_is_forgotten(patch: pytest.MonkeyPatch) -> None:
    accept = MemoryCommits._accept

    def broken(self: MemoryCommits, rows: Rows, accepted: Accept) -> None:
        accept(self, rows, accepted)
        rows.references.clear()

    patch.setattr(MemoryCommits, "_accept", broken)


@bug("was repeated, and has no result", plan=DOUBTS)
def a_repeat_has_no_result(patch: pytest.MonkeyPatch) -> None:
    accept = MemoryCommits._accept

    def broken(self: MemoryCommits, rows: Rows, accepted: Accept) -> None:
        accept(self, rows, accepted)
        if accepted.verdict is Verdict.REPLAYED:
            accepted.verdict = Verdict.UNAVAILABLE

    patch.setattr(MemoryCommits, "_accept", broken)


@bug(r"has the ids \[\d+, \d+", plan=TEXTS)
def a_text_that_another_node_may_answer_is_taken(patch: pytest.MonkeyPatch) -> None:
    ask = Repeats._ask

    async def broken(self: Repeats, arrivals: Sequence[Arrival]) -> Any:
        lost, _ = await ask(self, arrivals)
        return lost, set()

    patch.setattr(Repeats, "_ask", broken)


@bug("has no final state", plan=STOPS, seeds=16)
def the_other_parts_of_a_message_are_not_read_at_a_planned_end(patch: pytest.MonkeyPatch) -> None:
    """The last part of a message ended at the node just before, and its other parts had ended at another node."""

    async def broken(self: ReceiptLookup) -> None:
        del self

    patch.setattr(ReceiptLookup, "finish", broken)
