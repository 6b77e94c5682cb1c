"""Series: counts by minute, hour and day."""

from dataclasses import replace

import pytest

from heliograph.app.configuration import Account, TrafficHold
from heliograph.app.facts import (
    Facts,
    InboundMessage,
    Message,
    MessageEnd,
    Queueing,
    Submission,
    Withdrawal,
)
from heliograph.app.observing.series_counter import SeriesCounter
from heliograph.app.ports import Store
from heliograph.app.ports.series import SeriesCell, SeriesQuery
from heliograph.domain.limits.pumping import range_of
from heliograph.domain.message.receipt import Delivery
from heliograph.domain.message.state import State
from heliograph.domain.series import WIDTH_MS, Cell, CellKey, Grain
from tests.support.store import CREDIT, HOUR, SECOND, START, Given

MINUTE = 60_000
BEGUN = START // MINUTE * MINUTE
EVER = (0, 1 << 50)
GERMANY, FRANCE, SPAIN = "4917012345678", "33612345678", "34612345678"


def cell(**counts: object) -> Cell:
    made = Cell()
    for name, value in counts.items():
        setattr(made, name, value)
    return made


def at(start: int, made: Cell, account: int = 1, connector: int = 1, country: str = "DE") -> SeriesCell:
    return SeriesCell(Grain.MINUTE, start, CellKey(account, connector, country), made)


async def test_sums_are_what_the_details_add_up_to(store: Store) -> None:
    day = Grain.DAY.start(BEGUN)
    made = [
        at(day, cell(failures={"UNDELIV 011": 2}, to_operator={5: 1}, to_receipt={40: 2, 41: 1})),
        at(day, cell(failures={"UNDELIV 011": 1, "EXPIRED": 1}, to_operator={5: 2, 7: 1}), account=2),
        at(day + HOUR, cell(refusals={"credit": 3}, to_receipt={300: 200}), connector=0, country=""),
        at(day + 2 * HOUR, cell(failures={"EXPIRED": 4}, to_operator={5: 1})),
        at(day + 2 * HOUR, cell(accepted=9)),
    ]
    await store.series.add(made)
    query = SeriesQuery(Grain.MINUTE, day, day + 3 * HOUR)
    sums = await store.series.sums(query)
    found = {key: (each.failures, each.refusals, each.to_operator, each.to_receipt) for key, each in sums}
    assert found == {
        CellKey(1, 1, "DE"): ({"UNDELIV 011": 2, "EXPIRED": 4}, {}, {5: 2}, {40: 2, 41: 1}),
        CellKey(2, 1, "DE"): ({"UNDELIV 011": 1, "EXPIRED": 1}, {}, {5: 2, 7: 1}, {}),
        CellKey(1, 0, ""): ({}, {"credit": 3}, {}, {300: 200}),
    }
    assert [key for key, _ in await store.series.sums(replace(query, account=2))] == [CellKey(2, 1, "DE")]
    assert await store.series.sums(replace(query, account=3)) == []
    delays = await store.series.delays(query, [day, day + 1, day + 2 * HOUR, day + 3 * HOUR])
    assert [(each.to_operator, each.to_receipt) for each in delays] == [
        ({5: 3, 7: 1}, {40: 2, 41: 1}),
        ({}, {300: 200}),
        ({5: 1}, {}),
    ]
    assert not any(each.failures or each.refusals or any(each.counts) for each in delays)


async def test_points_and_delays_are_those_of_the_cells_whatever_is_asked_for(store: Store) -> None:
    """Some answers come from sums that are kept beside the cells, others from the cells."""
    keys = [CellKey(*key) for key in ((1, 1, "DE", "26201"), (1, 2, "FR", "20801"), (2, 1, "DE", ""), (2, 0, "", ""))]
    filters: list[dict[str, object]] = [
        {}, {"account": 1}, {"connector": 1}, {"connector": 0}, {"country": "DE"}, {"network": "26201"},
        {"network": ""}, {"connector": 1, "country": "DE"}, {"account": 2, "connector": 1}, {"connector": 9},
    ]  # fmt: skip
    for grain in Grain:
        starts = [grain.start(BEGUN), grain.start(BEGUN) + grain.ms]
        made = [
            SeriesCell(grain, start, key, cell(accepted=1 + n, to_operator={n: 1, 9: 2}, to_receipt={300 * n: 70_000}))
            for start in starts
            for n, key in enumerate(keys)
        ]
        await store.series.add(made)
        await store.series.add(made[:3])
        for asked in filters:
            query = SeriesQuery(grain, *EVER, **asked)  # type: ignore[arg-type]
            points = dict(await store.series.points(query))
            delays = await store.series.delays(query, [0, *starts, EVER[1]])
            for start, found in zip(starts, delays[1:], strict=True):
                expected = Cell()
                for each in [*made, *made[:3]]:
                    if each.start == start and all(getattr(each.key, name) == value for name, value in asked.items()):
                        expected.add(each.cell)
                assert points.pop(start, Cell()).counts == expected.counts, (grain, asked)
                assert (found.to_operator, found.to_receipt) == (expected.to_operator, expected.to_receipt)
            assert not points
            assert (delays[0].to_operator, delays[0].to_receipt) == ({}, {})


async def test_sums_are_forgotten_with_their_cells(store: Store) -> None:
    kept = BEGUN + 5 * MINUTE
    await store.series.add([at(BEGUN + n * MINUTE, cell(accepted=1, to_operator={5: 1})) for n in range(6)])
    while await store.series.forget(Grain.MINUTE, kept, 2):
        pass
    query = SeriesQuery(Grain.MINUTE, *EVER)
    for asked in (query, replace(query, connector=1), replace(query, country="DE"), replace(query, network="")):
        assert [start for start, _ in await store.series.points(asked)] == [kept]
        assert [each.to_operator for each in await store.series.delays(asked, [0, kept, EVER[1]])] == [{}, {5: 1}]


async def test_counts_add_up_and_are_found_by_what_they_are_of(store: Store) -> None:
    await store.series.add(
        [
            at(BEGUN, cell(accepted=2, segments=3, spend=5, resent=1, confirmed=2, denied=3)),
            at(BEGUN, cell(accepted=1, spend=1), connector=2),
            at(BEGUN + MINUTE, cell(delivered=1), country="FR"),
            at(BEGUN + MINUTE, cell(refused=4), account=2, connector=0, country=""),
        ]
    )
    await store.series.add([at(BEGUN, cell(accepted=1, inbound=7, spend=-2, denied=-1))])
    query = SeriesQuery(Grain.MINUTE, *EVER)
    first, second = await store.series.points(query)
    assert (first[0], first[1].counts) == (BEGUN, (4, 3, 0, 0, 0, 0, 7, 0, 4, 1, 2, 2))
    assert (second[0], second[1].counts) == (BEGUN + MINUTE, (0, 0, 0, 1, 0, 0, 0, 4, 0, 0, 0, 0))
    totals = dict(await store.series.totals(query))
    assert list(totals) == [CellKey(1, 1, "DE"), CellKey(1, 1, "FR"), CellKey(1, 2, "DE"), CellKey(2, 0, "")]
    assert totals[CellKey(1, 1, "DE")].counts == (3, 3, 0, 0, 0, 0, 7, 0, 3, 1, 2, 2)

    async def starts(**fields: object) -> list[int]:
        return [start for start, _ in await store.series.points(SeriesQuery(Grain.MINUTE, *EVER, **fields))]  # type: ignore[arg-type]

    assert await starts(account=2) == [BEGUN + MINUTE]
    assert await starts(connector=2) == [BEGUN]
    assert await starts(connector=0) == [BEGUN + MINUTE]
    assert await starts(country="FR") == [BEGUN + MINUTE]
    assert await starts(country="") == [BEGUN + MINUTE]
    assert [each for each, _ in await store.series.points(SeriesQuery(Grain.MINUTE, BEGUN + 1, *EVER[1:]))] == [
        BEGUN + MINUTE
    ]
    assert await store.series.points(SeriesQuery(Grain.MINUTE, 0, BEGUN)) == []
    assert await store.series.points(SeriesQuery(Grain.HOUR, *EVER)) == []


async def test_networks_are_counted_apart(store: Store) -> None:
    keys = [CellKey(1, 1, "DE", network) for network in ("26201", "26202", "")]
    cells = [SeriesCell(Grain.MINUTE, BEGUN, key, cell(accepted=n, failures={"x": n})) for n, key in enumerate(keys, 1)]
    await store.series.add(cells)
    await store.series.add(cells[:1])
    query = SeriesQuery(Grain.MINUTE, *EVER)
    assert {key: each.accepted for key, each in await store.series.totals(query)} == dict(
        zip(keys, (2, 2, 3), strict=True)
    )
    of_one = SeriesQuery(Grain.MINUTE, *EVER, network="26201")
    assert [each.accepted for _, each in await store.series.points(of_one)] == [2]
    assert [(each.key, each.cell.failures) for each in await store.series.details(of_one)] == [(keys[0], {"x": 2})]
    assert await store.series.forget(Grain.MINUTE, BEGUN + 1, 10) == 3


async def test_codes_reasons_and_delays_are_merged(store: Store) -> None:
    one = cell(failed=1, failures={"UNDELIV 001": 1}, to_operator={3: 2, 200: 1})
    two = cell(
        failed=2, failures={"UNDELIV 001": 1, "EXPIRED": 1}, refusals={"credit": 4}, to_operator={3: 1},
        to_receipt={0: 300},
    )  # fmt: skip
    await store.series.add([at(BEGUN, one), at(BEGUN, cell(accepted=1), connector=2)])
    await store.series.add([at(BEGUN, two)])
    (found,) = await store.series.details(SeriesQuery(Grain.MINUTE, *EVER))
    assert (found.start, found.key) == (BEGUN, CellKey(1, 1, "DE"))
    assert found.cell.failures == {"UNDELIV 001": 2, "EXPIRED": 1}
    assert found.cell.refusals == {"credit": 4}
    assert found.cell.to_operator == {3: 3, 200: 1}
    assert found.cell.to_receipt == {0: 300}


async def test_what_is_old_is_forgotten_some_at_a_time(store: Store) -> None:
    await store.series.add([at(BEGUN + n * MINUTE, cell(accepted=1)) for n in range(5)])
    await store.series.add([SeriesCell(Grain.HOUR, BEGUN // HOUR * HOUR, CellKey(1, 1, "DE"), cell(accepted=5))])
    forget = store.series.forget
    assert [await forget(Grain.MINUTE, BEGUN + 3 * MINUTE, 2) for _ in range(3)] == [2, 1, 0]
    left = await store.series.points(SeriesQuery(Grain.MINUTE, *EVER))
    assert [start for start, _ in left] == [BEGUN + 3 * MINUTE, BEGUN + 4 * MINUTE]
    assert len(await store.series.points(SeriesQuery(Grain.HOUR, *EVER))) == 1


class Life:
    """Commits of a gateway, and its series."""

    def __init__(self, store: Store, given: Given) -> None:
        self.store = store
        self.given = given
        self.counter = SeriesCounter()

    async def commit(self, facts: Facts) -> None:
        await self.store.commits.record(facts)
        self.counter.committed(facts, self.given.now, 0.0)

    async def write(self) -> None:
        """Adds the counts, and those of the rows."""
        tally = self.counter.take()
        await self.store.series.add(
            [SeriesCell(grain, *slot, made) for grain in Grain for slot, made in tally.widened(grain).items()]
        )
        while await self.store.series.settle(2):
            pass


def submission(message: Message, at: int, **fields: object) -> Submission:
    return Submission(message.account, message.key, 0, 2, "a", 0, at, 5, 5, message=message, **fields)


def final(message: Message, state: Delivery, err: str, at: int, **fields: object) -> MessageEnd:
    return MessageEnd(message.account, message.key, state, err, at, False, message=message, connector=2, **fields)  # type: ignore[arg-type]


async def play(life: Life, account: Account, *, write: bool) -> None:
    """Lets happen what a gateway sees; with `write` counts are added after each step."""
    given, store = life.given, life.store

    async def then(facts: Facts | None = None) -> None:
        if facts is not None:
            await life.commit(facts)
        if write:
            await life.write()

    def made(number: str, **fields: object) -> Message:
        return given.message(account.id, destination=number, **fields)

    one, two, three, four = made(GERMANY), made(FRANCE, segments=3, price=3 * CREDIT), made(GERMANY), made(GERMANY)
    await then(Facts(accepts=[given.accept(one), given.accept(two)]))
    batch = given.batch(account.id, 2, destination=SPAIN)
    await then(Facts(accepts=[given.accept(three), batch, given.accept(four)]))
    refused = made(GERMANY, price=100_000 * CREDIT)
    given.now += 2 * MINUTE
    later = given.now
    await then(Facts(accepts=[given.accept(refused)], submissions=[submission(one, later), submission(two, later)]))
    await then(Facts(finals=[final(one, Delivery.DELIVRD, "000", later + 7, waited=7)]))
    await then(Facts(submissions=[submission(three, later + 9)]))
    await then(Facts(finals=[final(two, Delivery.UNDELIV, "003", later + 11, waited=11)]))
    await then(
        Facts(
            finals=[
                final(four, Delivery.EXPIRED, "", later + 12, failed=True, refund=four.price),
                final(three, Delivery.DELIVRD, "000", later + 12, waited=3),
            ]
        )
    )
    scheduled = made(FRANCE, time=given.now + HOUR, expires=given.now + 2 * HOUR, state=State.SCHEDULED)
    await then(Facts(accepts=[given.accept(scheduled)]))
    given.now += SECOND
    await store.customers.cancel(account.id, scheduled.key, scheduled.tail, given.now)
    await then()
    withdrawn = made(GERMANY)
    await then(Facts(accepts=[given.accept(withdrawn)]))
    await then(Facts(withdrawals=[Withdrawal(account.id, withdrawn.key, withdrawn.price, given.now)]))
    mo = InboundMessage(
        account.id, 2, GERMANY, "4900", "hello", b"hello", 0, given.now, price=5, key=given.key(), tail=1
    )
    await then(Facts(inbound=[mo]))
    waiting = made(FRANCE, time=given.now + HOUR, expires=given.now + 2 * HOUR, state=State.SCHEDULED)
    await then(Facts(accepts=[given.accept(waiting)]))
    await store.suppressions.suppress(account.id, [FRANCE], "api", given.now)
    await then()
    mixed = given.batch(account.id, 1, destination=GERMANY)
    mixed.messages.append(made(FRANCE, batch=mixed.key))
    mixed.total += mixed.messages[1].price
    await then(Facts(accepts=[mixed]))


async def check(life: Life, account: Account) -> None:
    """The series count what the steps made true, each once."""
    store = life.store
    await life.write()
    for grain in Grain:
        total = Cell()
        query = SeriesQuery(grain, *EVER)
        for start, point in await store.series.points(query):
            assert start % WIDTH_MS[grain] == 0
            total.add(point)
        for detail in await store.series.details(query):
            total.add(detail.cell)
        assert total.accepted == 11
        assert total.segments == 13
        assert total.submitted == 3
        assert total.delivered == 2
        assert total.failed == 3
        assert total.failures == {"UNDELIV 003": 1, "EXPIRED": 1, "REJECTD": 1}
        assert total.cancelled == 3
        assert total.inbound == 1
        assert sum(total.to_operator.values()) == 3
        assert sum(total.to_receipt.values()) == 2
        # what the ledger says
        assert total.spend == 100 * CREDIT - await store.customers.balance(account.id)
    totals = dict(await store.series.totals(SeriesQuery(Grain.DAY, *EVER)))
    german, french = totals[CellKey(account.id, 2, "DE")], totals[CellKey(account.id, 2, "FR")]
    assert (german.delivered, french.delivered, french.submitted, german.inbound) == (2, 0, 1, 1)


@pytest.fixture
async def life(store: Store, given: Given) -> Life:
    return Life(store, given)


@pytest.mark.parametrize("write", [False, True])
async def test_each_thing_is_counted_once(life: Life, account: Account, *, write: bool) -> None:
    await play(life, account, write=write)
    await check(life, account)


async def test_what_the_guard_refunds_and_what_is_erased_counts_as_cancelled(life: Life, account: Account) -> None:
    given, store = life.given, life.store
    assert await store.guard.hold(TrafficHold(account.id, range_of(GERMANY), given.now, "a surge"), 0)
    held, forgotten = (given.message(account.id, destination=to, queued=True) for to in (GERMANY, FRANCE))
    await life.commit(Facts(accepts=[given.accept(held), given.accept(forgotten)]))
    row = Queueing(account.id, held.key, 1, held.time, held.expires, False, False, range_of(GERMANY))
    await store.commits.record(Facts(queueings=[row]))
    assert await store.guard.refund(account.id, range_of(GERMANY), given.now, 10) == 1
    assert (await store.recipients.erase(account.id, [forgotten.key], given.now)).cancelled == 1
    await life.write()
    total = Cell()
    for _, point in await store.series.points(SeriesQuery(Grain.DAY, *EVER)):
        total.add(point)
    assert (total.accepted, total.cancelled, total.spend) == (2, 2, 0)
    assert await store.customers.balance(account.id) == 100 * CREDIT
