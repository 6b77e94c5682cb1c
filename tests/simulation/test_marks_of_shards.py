"""Marks of several stores after a commit that reached only some of them: which mark counts, and why."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import pytest

from heliograph.app.facts import Accept, Facts, Message, Verdict
from heliograph.app.marks import AWAITING, CALLBACK, DISPATCH, attempted
from heliograph.domain.message.ids import first_key_at
from heliograph.domain.message.state import State
from heliograph.domain.message.way import Way
from tests.simulation.faults import Odds
from tests.simulation.world import Plan, Simulation
from tests.support.shards import SLOTS, Shards, slot_of
from tests.support.store import CREDIT, HOUR
from tests.support.virtual_time import run

ACCOUNT, CONNECTOR = 1, 1
OWN, OTHER = (1, 0) if slot_of(ACCOUNT) >= SLOTS // 2 else (0, 1)
"""Which of two stores has the account's rows."""

CALM_S = 30.0

Story = Callable[[Simulation], Awaitable[None]]


async def _accepted(simulation: Simulation) -> Message:
    """A durable message that no lane has taken up yet."""
    now = simulation.clock.now()
    message = Message(
        ACCOUNT, "15550000001", "Heliograph", 0, "Hello", 1, CREDIT, now, now + HOUR, State.SENT, CONNECTOR,
        wants_receipt=True, way=Way.WEBHOOK, callback_url="http://example.com/receipt", key=first_key_at(now), tail=1,
    )  # fmt: skip
    accept = Accept(ACCOUNT, [message], CREDIT, now, key=message.key, tail=message.tail)
    await simulation.store.commits.record(Facts(accepts=[accept]))
    assert accept.verdict is Verdict.ACCEPTED
    return message


async def sent_for_the_first_time(simulation: Simulation) -> None:
    """The commit that was to precede its sending reached the other store only, and the process died."""
    message = await _accepted(simulation)
    await simulation.stores[OTHER].commits.record(Facts(marks={attempted(CONNECTOR): message.key}))
    node = await simulation._start()
    await asyncio.sleep(CALM_S)
    assert simulation.operators[CONNECTOR].submits == {(message.key, 0): 1}
    await node.engine.stop(5.0)


async def accepted_below_a_mark(simulation: Simulation) -> None:
    """The marks of the account's own store come from a commit with refused requests and a lost other half. Then the
    clock was set back."""
    ahead = first_key_at(simulation.clock.now() + 2 * HOUR)
    marks = dict.fromkeys((DISPATCH, AWAITING, CALLBACK), ahead)
    await simulation.stores[OWN].commits.record(Facts(marks=marks))
    node = await simulation._start()
    for _ in range(20):
        simulation._send()
    await asyncio.sleep(CALM_S)
    assert simulation.told
    await node.engine.stop(5.0)


STORIES: dict[Story, tuple[Callable[[Sequence[int]], int], str]] = {
    sent_for_the_first_time: (max, "is sent, and by its mark it certainly was not"),
    accepted_below_a_mark: (min, "nothing will send the parts"),
}
"""With the wrong rule, and the finding that follows."""


def found(story: Story) -> list[str]:
    simulation = Simulation(1, Plan(shards=2), odds=Odds())

    async def play() -> None:
        simulation.store = simulation._open()
        await simulation._furnish()
        await story(simulation)

    run(play())
    return simulation.wrong


@pytest.mark.parametrize("story", STORIES)
def test_the_least_attempt_mark_counts_and_of_the_others_the_highest(story: Story) -> None:
    assert found(story) == []


@pytest.mark.parametrize("story", STORIES)
def test_by_the_other_rule_it_would_go_wrong(story: Story, monkeypatch: pytest.MonkeyPatch) -> None:
    rule, finding = STORIES[story]
    monkeypatch.setattr(Shards, "mark", staticmethod(lambda name, values: rule(values)))
    assert any(finding in sentence for sentence in found(story))
