"""Alerts on a store in memory: each worry is told once, and once that it is over."""

import pytest

from heliograph.app.configuration import Account, ApiKey
from heliograph.app.ports import Unavailable
from heliograph.app.ports.surroundings import Attempt
from heliograph.app.resources.desk import Desk
from heliograph.runtime.alerts import MOST_LINES, PAUSES_S, ROUND_S, STEADY_ROUNDS, AlertWatch
from tests.support.gateway import START, Gateway, open_gateway

BROKE = "acme has no credit, so that its requests are refused"


class Pager:
    """Records alerts. The first destination takes them unless the pager `is_broken`, the second never."""

    def __init__(self) -> None:
        self.alerts: list[tuple[str, str, bool]] = []
        self.is_broken = False

    async def send(self, title: str, text: str, *, is_over: bool = False) -> list[Attempt]:
        self.alerts.append((title, text, is_over))
        refused = "it was not taken"
        return [Attempt("1, json", refused if self.is_broken else ""), Attempt("2, slack", refused)]


class Watched:
    """A gateway with a pager. Rounds have the right distance in time."""

    def __init__(self, gateway: Gateway) -> None:
        self.gateway = gateway
        self.store = gateway.store
        self.pager = Pager()
        self.has_job: bool | None = True
        self.restart()

    def restart(self) -> None:
        desk = Desk(self.store, self.gateway.clock)
        self.watch = AlertWatch(desk, self.pager, self.gateway.journal, "sms.example.com", self._has_job)

    async def _has_job(self) -> bool:
        if self.has_job is None:
            raise Unavailable("away")
        return self.has_job

    async def rounds(self, count: int = STEADY_ROUNDS) -> list[tuple[str, str, bool]]:
        """Does rounds, and returns their alerts."""
        self.pager.alerts.clear()
        for _ in range(count):
            self.gateway.clock.forward(ROUND_S)
            await self.watch.round()
        return self.pager.alerts.copy()

    async def pay(self, account: str, credit: int) -> None:
        """Changes the credit of an account to so many micro-credits."""
        found, balance = next(each for each in await self.store.accounts.all() if each[0].name == account)
        await self.store.accounts.add_credit(found.id, credit - balance, "test", START)


@pytest.fixture
async def watched() -> Watched:
    return Watched(await open_gateway())


async def test_a_worry_is_told_once_and_once_that_it_is_over(watched: Watched) -> None:
    assert await watched.rounds(3) == []
    await watched.pay("acme", 0)
    assert await watched.rounds(STEADY_ROUNDS - 1) == []
    assert await watched.rounds(1) == [("sms.example.com needs attention", f"{BROKE}: top it up.", False)]
    assert await watched.rounds(5) == []
    await watched.pay("acme", 5)
    over = "Over after 1 min 45 s: acme has no credit, so that its requests are refused."
    assert await watched.rounds() == [("sms.example.com is better", over, True)]
    assert await watched.rounds(5) == []
    assert await watched.store.upkeep.told_worries() == []


async def test_a_worry_that_passes_at_once_is_not_told(watched: Watched) -> None:
    for _ in range(4):
        await watched.pay("acme", 0)
        assert await watched.rounds(STEADY_ROUNDS - 1) == []
        await watched.pay("acme", 5)
        assert await watched.rounds(1) == []


async def test_a_restart_repeats_nothing_and_tells_of_ends(watched: Watched) -> None:
    await watched.pay("acme", 0)
    assert len(await watched.rounds()) == 1
    watched.restart()
    assert await watched.rounds(5) == []
    watched.restart()
    await watched.pay("acme", 5)
    ((_, text, is_over),) = await watched.rounds()
    assert is_over
    assert BROKE in text


async def test_a_restart_while_the_store_is_away_repeats_nothing_either(watched: Watched) -> None:
    await watched.pay("acme", 0)
    assert len(await watched.rounds()) == 1
    watched.restart()
    watched.store.broken = True
    assert ["The store" in text for _, text, _ in await watched.rounds()] == [True]
    watched.store.broken = False
    assert [(BROKE in text, is_over) for _, text, is_over in await watched.rounds(5)] == [(False, True)]
    assert [each.topic for each in await watched.store.upkeep.told_worries()] == ["credit"]


async def test_only_the_node_with_the_job_tells(watched: Watched) -> None:
    watched.has_job = False
    await watched.pay("acme", 0)
    assert await watched.rounds(5) == []
    watched.has_job = True
    assert len(await watched.rounds()) == 1
    watched.has_job = False
    await watched.rounds(1)
    await watched.store.upkeep.keep_told([])  # the other node told that it was over, and the worry came again
    watched.has_job = True
    assert len(await watched.rounds()) == 1


async def test_a_store_that_is_away_is_told_by_the_node_that_had_the_job(watched: Watched) -> None:
    await watched.pay("acme", 0)
    await watched.rounds()
    watched.store.broken, watched.has_job = True, None
    ((_, text, _),) = await watched.rounds()
    assert text == "The store does not take what is written: requests are refused. Look at the disk."
    assert await watched.rounds(5) == []
    watched.store.broken, watched.has_job = False, True
    ((_, text, is_over),) = await watched.rounds()
    assert (text.partition(": ")[2], is_over) == ("The store does not take what is written.", True)
    assert [each.topic for each in await watched.store.upkeep.told_worries()] == ["credit"]


async def test_an_alert_that_nobody_takes_is_tried_again_after_a_pause(watched: Watched) -> None:
    await watched.pay("acme", 0)
    watched.pager.is_broken = True
    assert len(await watched.rounds()) == 1
    assert len(await watched.rounds(int(PAUSES_S[0] / ROUND_S))) == 1
    assert len(await watched.rounds(int(PAUSES_S[1] / ROUND_S) - 1)) == 0
    watched.pager.is_broken = False
    assert len(await watched.rounds(1)) == 1
    assert await watched.rounds(5) == []
    logged = [fields["destination"] for _, event, fields in watched.gateway.journal.lines if event == "alert.unsent"]
    assert logged == ["1, json", "2, slack"] * 2 + ["2, slack"]


async def test_many_worries_are_a_single_alert_of_some_lines(watched: Watched) -> None:
    for number in range(MOST_LINES + 5):
        name = f"poor{number:02}"
        account = Account(0, name, "", bytes(32), created=START)
        await watched.store.accounts.create(account, ApiKey(name, 0, name.encode(), START), 0, [])
    ((_, text, _),) = await watched.rounds()
    lines = text.splitlines()
    assert len(lines) == MOST_LINES + 1
    assert lines[-1] == "And 5 more: heliograph attention"
    assert await watched.rounds(5) == []
