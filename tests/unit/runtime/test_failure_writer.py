"""Failures outlive the process, and other nodes learn of them."""

from heliograph.app.sending.failure_register import DAILY, DAY_S, REFRESHED_MS, UNWRITTEN, FailureRegister
from heliograph.runtime.failure_writer import LATE_MS, PLACE_DAYS, FailureWriter
from tests.support.gateway import HandClock, unwatched
from tests.support.memory_store import MemoryStore


class OneNode:
    """A process with its registers of both kinds of door."""

    def __init__(self, store: MemoryStore, clock: HandClock, node: int) -> None:
        self.clock = clock
        self.customers = FailureRegister("customers", 60, b"k" * 32, clock.now)
        self.console = FailureRegister("console", 300, b"k" * 32, clock.now)
        self.codes = FailureRegister(DAILY, DAY_S, b"k" * 32, clock.now)
        self.writer = FailureWriter(
            [self.customers, self.console, self.codes], store.sign_ins, clock, node, shared=True
        )

    def fail(self, register: FailureRegister, name: str, times: int = 1) -> None:
        for _ in range(times):
            register.note_failure([register.user(name)], self.clock.monotonic())

    def count(self, register: FailureRegister, name: str) -> int:
        return register.counts.count(register.user(name), self.clock.monotonic())


async def test_a_restart_forgets_nothing() -> None:
    store, clock = MemoryStore(), HandClock()
    before = OneNode(store, clock, 1)
    before.fail(before.console, "ada", 4)
    before.fail(before.customers, "ada", 2)
    before.console.note_success(before.console.pair("ada", "192.0.2.1"))
    await before.writer.stop()
    clock.forward(59)
    after = OneNode(store, clock, 2)
    await after.writer.start(unwatched)
    assert after.count(after.console, "ada") == 4
    assert after.count(after.customers, "ada") == 2
    assert after.console.knows(after.console.pair("ada", "192.0.2.1"))
    assert not after.customers.knows(after.customers.pair("ada", "192.0.2.1"))
    clock.forward(1)
    assert after.count(after.customers, "ada") == 0
    clock.forward(240)
    assert after.count(after.console, "ada") == 0
    await after.writer.stop()


async def test_wrong_codes_are_counted_for_a_day_over_restarts() -> None:
    store, clock = MemoryStore(), HandClock()
    before = OneNode(store, clock, 1)
    before.fail(before.codes, "ada", 3)
    before.fail(before.console, "ada", 3)
    await before.writer.stop()
    clock.forward(DAY_S - 1)
    await before.writer.forget()
    after = OneNode(store, clock, 2)
    await after.writer.start(unwatched)
    assert (after.count(after.codes, "ada"), after.count(after.console, "ada")) == (3, 0)
    await after.writer.stop()
    clock.forward(7)
    await after.writer.forget()
    assert await store.sign_ins.failures(0, 0, 0, 10) == []


async def test_nodes_learn_of_each_others_failures_once() -> None:
    store, clock = MemoryStore(), HandClock()
    one, other = OneNode(store, clock, 1), OneNode(store, clock, 2)
    for second in range(8):
        one.fail(one.console, "ada")
        await one.writer.write()
        await other.writer.read()
        await other.writer.read()
        await one.writer.read()
        assert (one.count(one.console, "ada"), other.count(other.console, "ada")) == (second + 1, second + 1)
        clock.forward(1)


async def test_what_comes_late_counts_all_the_same() -> None:
    store, clock = MemoryStore(), HandClock()
    one, other = OneNode(store, clock, 1), OneNode(store, clock, 2)
    one.fail(one.console, "ada")
    clock.ms -= LATE_MS - 1_000
    await one.writer.write()
    clock.ms += LATE_MS - 1_000
    await other.writer.read()
    assert other.count(other.console, "ada") == 1


async def test_a_store_that_is_away_is_no_reason_to_stop_counting() -> None:
    store, clock = MemoryStore(), HandClock()
    one = OneNode(store, clock, 1)
    one.fail(one.console, "ada")
    store.broken = True
    await one.writer.write()
    store.broken = False
    await one.writer.write()
    assert one.count(one.console, "ada") == 1


async def test_a_second_writes_so_many_names_at_most() -> None:
    store, clock = MemoryStore(), HandClock()
    one = OneNode(store, clock, 1)
    for number in range(UNWRITTEN + 10):
        one.fail(one.customers, f"nobody {number}")
    await one.writer.write()
    assert len(await store.sign_ins.failures(0, 0, 0, 10_000)) == UNWRITTEN
    assert one.count(one.customers, f"nobody {UNWRITTEN + 5}") == 1


async def test_a_known_place_is_written_once_a_day() -> None:
    store, clock = MemoryStore(), HandClock()
    one = OneNode(store, clock, 1)
    pair = one.console.pair("ada", "192.0.2.1")
    one.console.note_success(pair)
    await one.writer.write()
    (known,) = await store.sign_ins.places(10)
    clock.ms += 1_000
    one.console.note_success(pair)
    assert one.console.take().places == {}
    clock.ms = known.at + REFRESHED_MS
    one.console.note_success(pair)
    assert one.console.take().places == {pair: known.at + REFRESHED_MS}


async def test_what_counts_no_more_is_deleted() -> None:
    store, clock = MemoryStore(), HandClock()
    one = OneNode(store, clock, 1)
    one.fail(one.console, "ada")
    one.console.note_success(one.console.pair("ada", "192.0.2.1"))
    await one.writer.write()
    clock.forward(601)
    await one.writer.forget()
    assert await store.sign_ins.failures(0, 0, 0, 10) == []
    assert len(await store.sign_ins.places(10)) == 1
    clock.forward(PLACE_DAYS * 86_400)
    await one.writer.forget()
    assert await store.sign_ins.places(10) == []


def test_what_is_kept_tells_neither_names_nor_addresses() -> None:
    register = FailureRegister("console", 300, b"k" * 32, HandClock().now)
    other = FailureRegister("console", 300, b"l" * 32, HandClock().now)
    assert b"ada" not in register.user("ada")
    names = [register.place("192.0.2.1"), register.pair("ada", "192.0.2.1"), register.user("ada"), other.user("ada")]
    assert len(set(names)) == 4
    assert register.place("2001:db8::1") == register.place("2001:db8::ffff") != register.place("2001:db8:0:1::1")
