"""A node's lease, and its bind slots, on a virtual clock."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from heliograph.app.configuration import OFF, ON, Connector
from heliograph.app.ports import Fenced, SingleJob, Unavailable
from heliograph.runtime.bind_slots import BindSlots
from heliograph.runtime.lease import LATE_S, LEASE_S, MARGIN_S, RENEW_S, Lease
from heliograph.runtime.outage import Outage
from tests.support.connectors import smpp_connector
from tests.support.virtual_time import VirtualClock, run


class Register:
    """`app.ports.Leases`, for one node that is looked at and others that only have slots."""

    def __init__(self, clock: VirtualClock | None = None) -> None:
        self._clock = clock or VirtualClock()
        self.until: list[int] = []
        self.away = False
        self.hangs = False
        self.gone = False
        self.released: list[int] = []
        self.lasts: list[int] = []
        self.ago: list[int] = []
        self.worker: int | None = 3
        self.others = 0
        self.numbers: list[int] | None = None
        """The slots that no other node has, if not the lowest."""
        self.asked: list[tuple[int, int]] = []

    async def heartbeat(self, node: int, lasts: int) -> int | None:
        if self.hangs:
            await asyncio.sleep(1_000)
        if self.away:
            raise Unavailable("away")
        self.lasts.append(lasts)
        self.until.append(self._clock.now() + lasts)
        return None if self.gone else self._clock.now()

    async def release_dead(self, deadline: int, ago: int = 0) -> list[int]:
        if self._clock.now() > deadline:
            return []
        self.ago.append(ago)
        self.released.append(self._clock.now() - ago)
        return [7]

    async def lease_worker(self, node: int) -> int | None:
        return self.worker

    async def gathered(self, start: int, end: int) -> tuple[list[int], int]:
        raise NotImplementedError

    async def lease_binds(self, connector: int, node: int, binds: int, want: int) -> list[int]:
        self.asked.append((connector, want))
        free = range(binds - self.others) if self.numbers is None else [n for n in self.numbers if n < binds]
        return list(free)[:want]

    async def lease_job(self, job: SingleJob, node: int) -> bool:
        raise NotImplementedError


class SharedRegister(Register):
    """The same for several nodes: `release_dead` gives up every node that has not renewed in time."""

    def __init__(self, clock: VirtualClock) -> None:
        super().__init__(clock)
        self.ends: dict[int, int] = {}
        self.delay = 0.0
        """Seconds until a call of `release_dead` reaches the store."""

    async def heartbeat(self, node: int, lasts: int) -> int | None:
        renewed = await super().heartbeat(node, lasts)
        self.ends[node] = self.until[-1]
        return renewed

    async def release_dead(self, deadline: int, ago: int = 0) -> list[int]:
        await asyncio.sleep(self.delay)
        if self._clock.now() > deadline:
            return []
        return [node for node, until in self.ends.items() if until < self._clock.now() - ago]


class Quiet:
    def log(self, level: str, event: str, **fields: object) -> None: ...


def scenario(story: Callable[[Register, Lease, VirtualClock, list[float]], Awaitable[None]]) -> None:
    async def play() -> None:
        clock = VirtualClock()
        register = Register(clock)
        lapses: list[float] = []
        outage = Outage(clock, Quiet())
        lease = Lease(register, 1, clock, Quiet(), outage, lambda: lapses.append(clock.monotonic()))
        assert not lease.holds
        assert await lease.begin() == 3
        await story(register, lease, clock, lapses)

    run(play())


def _settled(lease: Lease) -> bool:
    return lease.settled


def _held(lease: Lease) -> bool:
    return lease.holds


def test_a_lease_that_is_renewed_holds_for_ever() -> None:
    async def story(register: Register, lease: Lease, clock: VirtualClock, lapses: list[float]) -> None:
        keeping = asyncio.create_task(lease.keep())
        for _ in range(400):
            await asyncio.sleep(0.25)
            assert lease.holds
            assert register.until[-1] - clock.now() > MARGIN_S * 1000
        assert not lapses
        keeping.cancel()

    scenario(story)


def test_a_node_that_was_stopped_gives_up_no_other_before_it_has_renewed_its_lease() -> None:
    """The database may have been away meanwhile, so that the others could not renew theirs."""

    async def story(register: Register, lease: Lease, clock: VirtualClock, lapses: list[float]) -> None:
        keeping = asyncio.create_task(lease.keep())
        await asyncio.sleep(20.1)
        assert lease.settled
        keeping.cancel()
        await asyncio.sleep(LATE_S)
        assert lease.holds
        assert await lease.release_dead() == []

    scenario(story)


@pytest.mark.parametrize("how", ["away", "hangs"])
def test_one_that_is_not_renewed_ends_before_others_may_take_over_and_can_come_back(how: str) -> None:
    async def story(register: Register, lease: Lease, clock: VirtualClock, lapses: list[float]) -> None:
        keeping = asyncio.create_task(lease.keep())
        await asyncio.sleep(20.1)
        setattr(register, how, True)
        until = register.until[-1]
        await asyncio.sleep((until - clock.now()) / 1000 - MARGIN_S + 0.05)
        assert not lease.holds
        assert len(lapses) == 1
        assert clock.now() < until
        await asyncio.sleep(60.0)
        assert len(lapses) == 1
        setattr(register, how, False)
        await asyncio.sleep(2 * RENEW_S + 0.1)
        assert _held(lease)
        # the others may not have had the time to come back
        assert await lease.release_dead() == []
        await asyncio.sleep(LEASE_S)
        assert await lease.release_dead() == [7]
        keeping.cancel()

    scenario(story)


@pytest.mark.parametrize("away", [1.0, 4.25, 4.5, 5.0, 9.0])
@pytest.mark.parametrize("phase", [0.0, 0.3, 0.6, 0.9, 1.2])
def test_no_node_gives_up_another_after_an_outage_that_hit_both(away: float, phase: float) -> None:
    """The lease of one node may hold throughout the outage while that of the other lapses."""

    async def play() -> None:
        clock = VirtualClock()
        register = SharedRegister(clock)
        leases = [Lease(register, node, clock, Quiet(), Outage(clock, Quiet()), lambda: None) for node in (1, 2)]
        keeping = []
        for lease in leases:
            await lease.begin()
            keeping.append(asyncio.create_task(lease.keep()))
            await asyncio.sleep(0.8)
        await asyncio.sleep(20.0 * RENEW_S + phase)
        register.hangs = True
        await asyncio.sleep(away)
        register.hangs = False
        for _ in range(300):
            for lease in leases:
                assert await lease.release_dead() == []
            await asyncio.sleep(0.05)
        assert all(lease.settled for lease in leases)
        for task in keeping:
            task.cancel()

    run(play())


@pytest.mark.parametrize("slept", [0.0, 2.0, 3.0, 5.0, 5.9, 9.0, 60.0])
@pytest.mark.parametrize("phase", [0.0, 0.4, 0.8, 1.2])
def test_no_node_gives_up_another_after_a_sleep_of_all_machines(slept: float, phase: float) -> None:
    """The sleep begins when the call is on its way to the store, and the lease was renewed long enough before it. On
    waking, the call may be carried out after the caller's own renewal, and before those of the others."""

    async def play() -> None:
        clock = VirtualClock()
        register = SharedRegister(clock)
        leases = [Lease(register, node, clock, Quiet(), Outage(clock, Quiet()), lambda: None) for node in (1, 2)]
        keeping = []
        for lease in leases:
            await lease.begin()
            keeping.append(asyncio.create_task(lease.keep()))
            await asyncio.sleep(0.8)
        await asyncio.sleep(20.0 * RENEW_S + phase)
        register.delay = 0.01
        calls = [asyncio.create_task(lease.release_dead()) for lease in leases]
        await asyncio.sleep(0)
        asyncio.get_running_loop()._virtual.now += slept  # type: ignore[attr-defined]
        assert await asyncio.gather(*calls) == [[], []]
        for task in keeping:
            task.cancel()

    run(play())


def test_a_node_that_was_stopped_for_less_than_its_lease_gives_up_no_other_at_once() -> None:
    """A pause of the machine stops all nodes on it."""

    async def story(register: Register, lease: Lease, clock: VirtualClock, lapses: list[float]) -> None:
        keeping = asyncio.create_task(lease.keep())
        await asyncio.sleep(20.1)
        assert lease.settled
        asyncio.get_running_loop()._virtual.now += 3.5  # type: ignore[attr-defined]
        await asyncio.sleep(RENEW_S)
        assert lease.holds
        assert not _settled(lease)
        await asyncio.sleep(LEASE_S)
        assert _settled(lease)
        assert not lapses
        keeping.cancel()

    scenario(story)


def test_what_the_time_is_matters_to_nobody() -> None:
    """A node whose clock is ten minutes ahead must not take all others for dead, nor one behind be taken for it."""

    async def story(register: Register, lease: Lease, clock: VirtualClock, lapses: list[float]) -> None:
        del lapses
        keeping = asyncio.create_task(lease.keep())
        await asyncio.sleep(2 * LEASE_S)
        for ahead in (600_000, -600_000):
            clock.ahead = ahead
            await asyncio.sleep(2 * LEASE_S)
            assert lease.holds
        await lease.release_dead()
        assert set(register.lasts) == {LEASE_S * 1000}
        assert register.ago == [0]
        keeping.cancel()

    scenario(story)


def test_time_that_passes_unnoticed_ends_it_too() -> None:
    """Such as that of a process that was stopped, and whose timers have not run yet."""

    async def story(register: Register, lease: Lease, clock: VirtualClock, lapses: list[float]) -> None:
        del register, lapses
        asyncio.get_running_loop()._virtual.now += LEASE_S  # type: ignore[attr-defined]
        assert clock.monotonic() >= LEASE_S
        assert not lease.holds

    scenario(story)


def test_a_node_that_was_given_up_is_told_and_holds_nothing() -> None:
    async def story(register: Register, lease: Lease, clock: VirtualClock, lapses: list[float]) -> None:
        del clock
        register.gone = True
        with pytest.raises(Fenced):
            await lease.keep()
        assert not lease.holds
        assert len(lapses) == 1

    scenario(story)


def test_what_is_given_back_was_over_long_ago_so_that_no_other_node_is_given_up_with_it() -> None:
    async def story(register: Register, lease: Lease, clock: VirtualClock, lapses: list[float]) -> None:
        del lapses
        await lease.give_back()
        assert register.released == [register.until[-1]]
        assert clock.now() - register.until[-1] >= 3_600_000

    scenario(story)


def test_a_start_while_the_store_hangs_finds_it_unavailable() -> None:
    async def play() -> None:
        register, clock = Register(), VirtualClock()
        register.hangs = True
        with pytest.raises(Unavailable):
            await Lease(register, 1, clock, Quiet(), Outage(clock, Quiet()), lambda: None).begin()
        assert clock.monotonic() == RENEW_S

    run(play())


def test_there_is_no_number_for_one_node_too_many() -> None:
    async def play() -> None:
        register = Register()
        register.worker = None
        clock = VirtualClock()
        with pytest.raises(Unavailable):
            await Lease(register, 1, clock, Quiet(), Outage(clock, Quiet()), lambda: None).begin()

    run(play())


# --- bind slots


def connector(number: int = 1, binds: int = 4, *, state: str = ON) -> Connector:
    return smpp_connector(number, "op", "", 0, "", "", binds=binds, rate=100.0, state=state)


async def test_a_node_has_the_binds_that_are_free_and_their_share_of_the_rate() -> None:
    register = Register()
    register.others = 3
    slots = BindSlots(register, 1, 0)
    await slots.share_out([connector()], lambda _, __: True)
    assert slots.of(1) == 1
    assert (slots.part(connector()).binds, slots.part(connector()).rate) == (1, 25.0)
    register.others = 0
    await slots.share_out([connector()], lambda _, __: True)
    assert slots.of(1) == 4
    asked = len(register.asked)
    await slots.share_out([connector()], lambda _, __: True)
    assert len(register.asked) == asked


async def test_a_node_has_the_turn_of_its_slots_keys() -> None:
    register = Register()
    register.others = 1
    slots = BindSlots(register, 1, 0)
    await slots.share_out([connector()], lambda _, __: True)
    turns = sum(slots.has_turn(1, key, 4) for key in range(1 << 40, (1 << 40) + 4_000))
    assert 2_800 < turns < 3_200, "three of four"
    slots.lose()
    assert not any(slots.has_turn(1, key, 4) for key in range(100))


async def test_no_more_binds_than_the_node_is_to_take() -> None:
    slots = BindSlots(Register(), 1, 2)
    await slots.share_out([connector()], lambda _, __: True)
    assert slots.of(1) == 2


@pytest.mark.parametrize("now", [[connector(state=OFF)], [connector(binds=1)], []], ids=["off", "fewer", "gone"])
async def test_slots_are_given_back_only_when_their_links_are_down(now: list[Connector]) -> None:
    register = Register()
    slots = BindSlots(register, 1, 0)
    await slots.share_out([connector()], lambda _, __: True)
    left = sum(each.binds for each in now if each.enabled)
    register.asked.clear()
    await slots.share_out(now, lambda _, __: False)
    assert slots.of(1) == left
    assert register.asked == []
    await slots.share_out(now, lambda _, binds: binds == left)
    assert register.asked == [(1, left)]


async def test_slots_beyond_a_connectors_new_number_of_binds_are_given_back() -> None:
    """Another node has the lower slots, and sends over as many binds as the connector has left."""
    register = Register()
    register.numbers = [2, 3]
    slots = BindSlots(register, 1, 2)
    await slots.share_out([connector()], lambda _, __: True)
    assert (slots.of(1), slots.part(connector()).rate) == (2, 50.0)
    register.asked.clear()
    await slots.share_out([connector(binds=2)], lambda _, __: False)
    assert slots.of(1) == 0
    assert register.asked == []
    await slots.share_out([connector(binds=2)], lambda _, binds: binds == 0)
    assert register.asked == [(1, 2)]
    assert slots.of(1) == 0


async def test_after_a_lapse_nothing_is_this_nodes_until_it_has_asked_again() -> None:
    register = Register()
    slots = BindSlots(register, 1, 0)
    await slots.share_out([connector()], lambda _, __: True)
    slots.lose()
    assert slots.of(1) == 0
    await slots.share_out([connector()], lambda _, __: True)
    assert slots.of(1) == 4
