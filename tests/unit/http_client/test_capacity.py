"""How connections, lines and addresses are shared out, without a network."""

import asyncio
from ipaddress import ip_address
from typing import cast

import pytest

from heliograph.adapters.webhook.local import WebhookLimits
from heliograph.http_client.capacity import AccountLoad, SharedCapacity, Slot
from heliograph.http_client.dial import Dialer
from heliograph.http_client.requester import Requester
from heliograph.http_client.resolver import LookupTurns
from tests.support.timeouts import PATIENCE_S

ADDRESS = ip_address("192.0.2.1")


def capacity(**limits: int) -> SharedCapacity:
    return SharedCapacity(WebhookLimits(**limits), cast("Dialer", None), cast("Requester", None))


class Origin:
    """Opens one connection whenever it may."""

    def __init__(self, shared: SharedCapacity, load: AccountLoad, name: str, fed: list[str]) -> None:
        self._shared = shared
        self._load = load
        self._name = name
        self._fed = fed
        self.wants_connection = True

    def pump(self) -> None:
        if self._shared.connection_room(self._load) > 0:
            self._shared.hold(self._load, 1, proven=True)
            self._fed.append(self._name)
            self.wants_connection = False
        else:
            self._shared.note_waiting(self._load, self)


def fill(shared: SharedCapacity, load: AccountLoad, *, proven: bool) -> int:
    while shared.origin_share(load, proven=proven):
        shared.hold(load, 1, proven=proven)
    return load.connections


@pytest.mark.parametrize("proven", [True, False])
def test_one_account_leaves_most_of_it_to_others(proven: bool) -> None:
    shared = capacity()
    most = 1_024 if proven else 512
    first = fill(shared, AccountLoad(1), proven=proven)
    assert most / 6 < first < most / 4
    second = fill(shared, AccountLoad(2), proven=proven)
    assert first > second > first / 2
    for account in range(3, 10):
        assert fill(shared, AccountLoad(account), proven=proven) > 0


def test_receivers_that_answer_find_half_of_it_whatever_others_do() -> None:
    shared = capacity()
    for account in range(1, 1_000):
        fill(shared, AccountLoad(account), proven=False)
    assert shared.connections == shared.unproven == 512
    assert fill(shared, AccountLoad(1_000), proven=True) > 64


def test_an_account_with_slow_receivers_has_room_for_another_of_its_own() -> None:
    shared = capacity()
    load = AccountLoad(1)
    for _ in range(10):
        share = shared.origin_share(load, proven=False)
        assert share > 0
        for _ in range(share):
            shared.hold(load, 1, proven=False)
    assert shared.origin_share(load, proven=True) > 0


def test_what_an_origin_did_of_late_moves_its_connections() -> None:
    shared = capacity()
    load = AccountLoad(1)
    shared.hold(load, 5, proven=True)
    shared.judge(load, 5)
    assert (shared.unproven, load.unproven, shared.connections) == (5, 5, 5)
    shared.judge(load, -5)
    shared.hold(load, -5, proven=True)
    assert (shared.unproven, load.unproven, shared.connections, load.connections) == (0, 0, 0, 0)


def test_waiting_origins_get_connections_an_account_in_turn() -> None:
    shared = capacity(connections=8)
    others = AccountLoad(9)
    shared.hold(others, 8, proven=True)
    first, second = AccountLoad(1), AccountLoad(2)
    fed: list[str] = []
    for name in ("a", "b", "c"):
        shared.note_waiting(first, Origin(shared, first, name, fed))
    shared.note_waiting(second, Origin(shared, second, "z", fed))
    shared.open_for_waiting()
    assert fed == []
    assert shared.wants_slot(others)
    shared.hold(others, -8, proven=True)
    shared.open_for_waiting()
    assert fed[:2] == ["a", "z"]
    assert sorted(fed) == ["a", "b", "z"], "two are a quarter of eight"
    assert not shared.wants_slot(others), "the account that waits has what it may have"


def test_what_needs_none_any_more_takes_no_turn() -> None:
    shared = capacity(connections=8)
    load = AccountLoad(1)
    fed: list[str] = []
    idle = Origin(shared, load, "idle", fed)
    idle.wants_connection = False
    shared.note_waiting(load, idle)
    shared.note_waiting(load, Origin(shared, load, "wants_connection", fed))
    shared.open_for_waiting()
    assert fed == ["wants_connection"]
    assert shared.waiting_accounts == 0


def test_an_address_is_shared_out_by_account_too() -> None:
    shared = capacity(connections_per_address=9)
    slots = [Slot(shared, AccountLoad(1)) for _ in range(9)]
    assert sum(slot.go_to(ADDRESS) for slot in slots) == 3
    other = AccountLoad(2)
    assert [Slot(shared, other).go_to(ADDRESS) for _ in range(3)] == [True, True, False]
    assert Slot(shared, AccountLoad(1)).go_to(ip_address("192.0.2.2"))
    for slot in slots:
        slot.leave_address()
    assert [Slot(shared, other).go_to(ADDRESS) for _ in range(3)] == [True, False, False]


def test_a_slot_counts_at_one_address() -> None:
    shared = capacity()
    slot = Slot(shared, AccountLoad(1))
    assert slot.go_to(ADDRESS)
    assert slot.go_to(ip_address("192.0.2.2"))
    assert list(shared._addresses) == [ip_address("192.0.2.2")]
    slot.leave_address()
    slot.leave_address()
    assert not shared._addresses


async def test_lookups_are_taken_in_turn() -> None:
    turns = LookupTurns(8)
    for _ in range(2):
        await turns.enter(1)
    waiting = [asyncio.ensure_future(turns.enter(1)) for _ in range(3)]
    await asyncio.sleep(0)
    assert not any(each.done() for each in waiting), "two are what one account may have of eight"
    await asyncio.wait_for(turns.enter(2), PATIENCE_S)
    turns.leave(1)
    await asyncio.wait_for(waiting[0], PATIENCE_S)
    waiting[1].cancel()
    await asyncio.sleep(0)
    turns.leave(1)
    await asyncio.wait_for(waiting[2], PATIENCE_S)
    for account in (1, 1, 2):
        turns.leave(account)
    assert (turns._free, turns._held, turns._waiting) == (8, {}, {})


async def test_a_turn_that_came_to_someone_who_gave_up_goes_on() -> None:
    turns = LookupTurns(1)
    await turns.enter(1)
    first, second = (asyncio.ensure_future(turns.enter(account)) for account in (2, 3))
    await asyncio.sleep(0)
    turns.leave(1)
    first.cancel()
    await asyncio.wait_for(second, PATIENCE_S)
    assert first.cancelled()
    turns.leave(3)
    assert turns._free == 1
