"""The rounds of the pumping guard: who is watched, what is held, and that it stays a matter of people then."""

from dataclasses import replace
from typing import Any

import pytest

from heliograph.app.facts import Accept, Facts, MessageEnd
from heliograph.app.observing.traffic import MOST, MOST_OPEN, TrafficWatch
from heliograph.app.ports import Unavailable
from heliograph.domain.calendar import DAY_MS
from heliograph.domain.limits.pumping import QUIET_MS, GuardMode
from heliograph.domain.message.receipt import Delivery
from heliograph.runtime.traffic_guard import HISTORY_MS, TrafficGuard
from tests.support.gateway import START, Gateway, open_gateway

GOOD = {"to": "447700900123", "from": "Helio", "content": "Hello"}


class Guarded:
    """A gateway with a guard."""

    def __init__(self, gateway: Gateway, young_days: float, mode: GuardMode = GuardMode.HOLD) -> None:
        self.gateway = gateway
        self.watch = TrafficWatch()
        store = gateway.store
        self.guard = TrafficGuard(
            self.watch,
            store.guard,
            store.accounts,
            gateway.directory,
            gateway.clock,
            gateway.journal,
            mode,
            young_days,
        )

    async def send(self, *numbers: str) -> list[Accept]:
        """Sends to each, shows the watcher what was accepted, and lets the guard do a round."""
        known = len(self.gateway.intake.accepted)
        for number in numbers:
            assert (await self.gateway.send({**GOOD, "to": number})).status == 200
        accepts = self.gateway.intake.accepted[known:]
        self.watch.committed(Facts(accepts=list(accepts)), self.gateway.clock.now(), 0.0)
        await self.guard.round()
        await self.gateway.directory.refresh()
        return accepts

    async def end(self, accepts: list[Accept], state: Delivery) -> None:
        finals = [MessageEnd(1, accept.key, state, "", START, owed=False) for accept in accepts]
        self.watch.committed(Facts(finals=finals), self.gateway.clock.now(), 0.0)
        await self.guard.round()

    async def held(self) -> list[str]:
        return [each.hold.prefix for each in await self.gateway.store.guard.holds(10) if not each.hold.is_observed]


async def guarded(young_days: float = 30.0, mode: GuardMode = GuardMode.HOLD, **changes: Any) -> Guarded:
    gateway = await open_gateway()
    if changes:
        await gateway.change_account(**changes)
    made = Guarded(gateway, young_days, mode)
    await made.guard.round()
    return made


def row(first: int, count: int) -> list[str]:
    return [str(first + place) for place in range(count)]


async def test_a_surge_of_numbers_in_a_row_is_held_and_what_follows_waits() -> None:
    made = await guarded(guard="hold")
    await made.send(*row(447700900000, 59))
    assert await made.held() == []
    await made.send(*row(447700900059, 2))
    assert await made.held() == ["44770"]
    assert [fields for _, event, fields in made.gateway.journal.lines if event == "guard.held"] == [
        {
            "account": "acme",
            "prefix": "44770",
            "problem": "61 messages this hour, usually 0; 98 % to neighbouring numbers",
        }
    ]
    (accept,) = await made.send("447700900999")
    assert accept.messages[0].queued
    (free,) = await made.send("491701234567")
    assert not free.messages[0].queued
    assert made.gateway.directory.claim_policy(1) is not None


async def test_a_first_campaign_of_numbers_in_a_row_goes_out_and_is_told() -> None:
    made = await guarded(mode=GuardMode.OBSERVE)
    for first in range(447700900000, 447700900900, 300):
        accepts = await made.send(*row(first, 300))
        assert not any(accept.messages[0].queued for accept in accepts)
    assert await made.held() == []
    (told,) = [fields for _, event, fields in made.gateway.journal.lines if event == "guard.suspected"]
    assert (told["account"], told["prefix"]) == ("acme", "44770")
    (suspicion,) = await made.gateway.store.guard.holds(10)
    assert suspicion.is_listed(made.gateway.clock.now())
    assert not suspicion.is_listed(made.gateway.clock.now() + QUIET_MS)


@pytest.mark.parametrize(("mode", "left"), [("observe", [("44770", True)]), ("off", [])])
async def test_a_mode_that_holds_nothing_ends_holds(mode: str, left: list[tuple[str, bool]]) -> None:
    made = await guarded()
    await made.send(*row(447700900000, 70))
    assert await made.held() == ["44770"]
    await made.gateway.change_account(guard=mode)
    await made.guard.round()
    found = await made.gateway.store.guard.holds(10)
    assert [(each.hold.prefix, each.hold.is_observed) for each in found] == left
    await made.gateway.change_account(guard="hold")
    await made.guard.round()
    await made.send(*row(447700900100, 70))
    assert await made.held() == ["44770"]


async def test_holds_end_though_the_store_was_away_at_that_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    made = await guarded()
    await made.send(*row(447700900000, 70))
    await made.gateway.change_account(guard="off")

    async def away(*_: object) -> None:
        raise Unavailable("away")

    with monkeypatch.context() as patch:
        patch.setattr(made.gateway.store.guard, "holds", away)
        with pytest.raises(Unavailable):
            await made.guard.round()
    await made.guard.round()
    assert await made.held() == []


async def test_a_surge_whose_messages_fail_is_held() -> None:
    made = await guarded(guard="hold")
    accepts = await made.send(*[str(447700000000 + 997 * place) for place in range(70)])
    assert await made.held() == []
    await made.end(accepts[:10], Delivery.DELIVRD)
    await made.end(accepts[10:25], Delivery.UNDELIV)
    assert await made.held() == ["44770"]


async def test_a_campaign_that_arrives_is_not_held() -> None:
    made = await guarded(guard="hold")
    accepts = await made.send(*[str(447700000000 + 997 * place) for place in range(200)])
    await made.end(accepts, Delivery.DELIVRD)
    assert await made.held() == []


@pytest.mark.parametrize(
    ("setting", "age_days", "young_days", "watched"),
    [
        (None, 29, 30, True),
        (None, 31, 30, False),
        (None, 1, 0, False),
        ("hold", 99, 0, True),
        ("off", 1, 30, False),
    ],
)
async def test_young_accounts_are_watched_and_others_as_they_are_set(
    setting: str | None, age_days: int, young_days: float, watched: bool
) -> None:
    gateway = await open_gateway()
    await gateway.change_account(guard=setting)
    gateway.store._place.rows.accounts[1].created = START - age_days * DAY_MS
    made = Guarded(gateway, young_days)
    await made.guard.round()
    assert (1 in made.watch.watched) is watched
    await made.send(*row(447700900000, 100))
    assert await made.held() == (["44770"] if watched else [])


async def test_what_was_released_is_not_held_again_for_a_day() -> None:
    made = await guarded(guard="hold")
    await made.send(*row(447700900000, 70))
    await made.gateway.store.guard.release(1, "44770", made.gateway.clock.now())
    await made.gateway.directory.refresh()
    await made.send(*row(447700900100, 70))
    assert await made.held() == []
    made.gateway.clock.forward(max(QUIET_MS, HISTORY_MS) / 1000 + 1)
    await made.send(*row(447700900200, 70))
    assert await made.held() == ["44770"]


async def test_two_nodes_see_together_what_each_sees_half_of() -> None:
    made = await guarded(guard="hold")
    other = Guarded(made.gateway, 30)
    await other.guard.round()
    await made.send(*row(447700900000, 40))
    assert await made.held() == []
    await other.send(*row(447700900040, 40))
    assert await made.held() == ["44770"]


async def test_what_is_gathered_is_bounded() -> None:
    watch = TrafficWatch()
    watch.watched = frozenset({1})
    made = await guarded(guard="hold")
    accepts = await made.send("447700900000")
    for _ in range(3):
        watch.committed(Facts(accepts=accepts * MOST), START, 0.0)
    (count,) = watch.take(START)
    assert count.messages == MOST
    assert watch.take(START) == []
    assert MOST_OPEN >= MOST


async def test_the_traffic_of_accounts_that_nobody_watches_leaves_room_for_that_of_others() -> None:
    made = await guarded(guard="hold")
    accepts = await made.send(*row(447700900000, 2))
    finals = [MessageEnd(1, accept.key, Delivery.UNDELIV, "", START, owed=False) for accept in accepts]
    others = [replace(accept, account=2) for accept in accepts] * MOST
    watch = TrafficWatch()
    watch.watched = frozenset({1})
    watch.committed(Facts(accepts=others, finals=[replace(finals[0], account=2)] * MOST), START, 0.0)
    watch.committed(Facts(accepts=accepts, finals=finals), START, 0.0)
    (count,) = watch.take(START)
    assert (count.account, count.messages, count.near, count.ended, count.failed) == (1, 2, 1, 2, 2)


async def test_of_large_requests_no_more_is_counted_in_one_round() -> None:
    made = await guarded(guard="hold")
    (accept,) = await made.send("447700900000")
    watch = TrafficWatch()
    watch.watched = frozenset({1})
    watch.committed(Facts(accepts=[replace(accept, messages=accept.messages * 1_000)] * 50), START, 0.0)
    (count,) = watch.take(START)
    assert count.messages == MOST


async def test_of_what_is_remembered_the_oldest_is_forgotten() -> None:
    made = await guarded(guard="hold")
    (accept,) = await made.send("447700900000")
    (message,) = accept.messages
    watch = TrafficWatch()
    watch.watched = frozenset({1})
    for first in range(0, MOST_OPEN + MOST, MOST):
        accepts = [replace(accept, messages=[replace(message, key=key)]) for key in range(first, first + MOST)]
        watch.committed(Facts(accepts=accepts), START, 0.0)
        watch.take(START)
    assert MOST_OPEN - MOST_OPEN // 8 <= len(watch._open) <= MOST_OPEN
    assert min(watch._open) > 0
    finals = [MessageEnd(1, key, Delivery.DELIVRD, "", START, owed=False) for key in (0, MOST_OPEN + MOST - 1)]
    watch.committed(Facts(finals=finals), START, 0.0)
    (count,) = watch.take(START)
    assert (count.messages, count.ended) == (0, 1)
