"""Administration of prices against the store in memory."""

import pytest

from heliograph.app.admin.prices import ManagePrices, PriceChanges, format_since, parse_since
from heliograph.app.configuration import Price
from heliograph.app.records import AuditQuery
from heliograph.app.resources.desk import Invalid, NoSuch
from heliograph.domain.money.amounts import MICRO
from tests.support.memory_store import MemoryStore
from tests.unit.app.test_manage import StillClock

NOW = StillClock().now()
DAY = 86_400_000


@pytest.fixture
def manage() -> ManagePrices:
    return ManagePrices(MemoryStore(), StillClock())


async def told(manage: ManagePrices, *, past: bool = False) -> list[tuple[str, str, int, int]]:
    return [(each.plan, each.prefix, each.price, each.since) for each in await manage.prices(past=past)]


async def test_prices_are_set_replaced_and_removed(manage: ManagePrices) -> None:
    await manage.set("49", 65_000)
    await manage.set("49", 70_000)
    await manage.set("", 1, "gold")
    assert await told(manage) == [("default", "49", 70_000, 0), ("gold", "", 1, 0)]
    assert [price.plan for price in await manage.prices("gold")] == ["gold"]
    assert await manage.plans() == ["default", "gold"]
    await manage.remove("49")
    with pytest.raises(NoSuch):
        await manage.remove("49")


@pytest.mark.parametrize(
    ("price", "field"),
    [
        (("49", -1), "price"),
        (("+49", 1), "prefix"),
        (("49", 1, "no such name!"), "plan"),
        (("49", 1, "gold", -1), "inbound"),
        (("49", 1, "gold", 1, -1), "since"),
    ],
)
async def test_what_is_no_price_is_refused(manage: ManagePrices, price: tuple[str, int], field: str) -> None:
    with pytest.raises(Invalid) as refused:
        await manage.set(*price)
    assert refused.value.field == field
    assert await manage.prices() == []


async def test_prices_that_hold_no_longer_are_past(manage: ManagePrices) -> None:
    for price, since in ((1, 0), (2, NOW - DAY), (3, NOW), (4, NOW + DAY)):
        await manage.set("49", price, since=since)
    assert [price for *_, price, _ in await told(manage)] == [3, 4]
    assert [price for *_, price, _ in await told(manage, past=True)] == [1, 2, 3, 4]
    await manage.remove("49", since=NOW)
    assert [price for *_, price, _ in await told(manage)] == [2, 4]
    with pytest.raises(NoSuch):
        await manage.remove("49", since=NOW)
    await manage.remove("49")
    assert await told(manage, past=True) == []


async def test_the_built_in_price_holds_until_all_numbers_have_one(manage: ManagePrices) -> None:
    await manage.set("", 5, since=NOW + 1)
    assert await manage.built_in() == MICRO
    await manage.set("", 5, since=NOW)
    assert await manage.built_in() is None


async def test_a_list_is_compared_then_taken_whole(manage: ManagePrices) -> None:
    await manage.set("49", 5, inbound=2)
    await manage.set("44", 6)
    await manage.set("33", 7, "gold")
    wanted = [Price("default", "49", 5, None), Price("default", "44", 8), Price("default", "1", 9, since=NOW)]
    assert await manage.put(wanted, dry_run=True) == PriceChanges(added=1, changed=1, same=1)
    assert len(await manage.prices()) == 3
    assert await manage.put(wanted, replace=True) == PriceChanges(added=1, changed=1, same=1)
    assert await told(manage) == [
        ("default", "1", 9, NOW), ("default", "44", 8, 0), ("default", "49", 5, 0), ("gold", "33", 7, 0),
    ]  # fmt: skip
    assert await manage.put(wanted[1:2], replace=True) == PriceChanges(same=1, removed=2)
    assert await told(manage) == [("default", "44", 8, 0), ("gold", "33", 7, 0)]


async def test_one_wrong_price_of_a_list_leaves_all_out(manage: ManagePrices) -> None:
    for wanted, field in (
        ([Price("default", "49", 1), Price("default", "+1", 1)], "prices[1].prefix"),
        ([Price("default", "49", 1), Price("default", "49", 2)], "prices"),
        ([], "prices"),
    ):
        with pytest.raises(Invalid) as refused:
            await manage.put(wanted)
        assert refused.value.field == field
    assert await manage.prices() == []


async def test_the_audit_log_has_one_line_for_a_list() -> None:
    store = MemoryStore()
    manage = ManagePrices(store, StillClock(), "user:ada")
    await manage.put([Price("gold", str(prefix), 1) for prefix in range(1, 10)])
    (line,) = await store.audit_log.find(AuditQuery(limit=9))
    assert (line.actor, line.action, line.target) == ("user:ada", "price.import", "gold")
    assert line.details == {"prices": "9", "added": "9", "changed": "0"}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", ""),
        ("2027-01-15", "2027-01-15"),
        ("2027-01-15T00:00:00Z", "2027-01-15"),
        ("2027-01-15 08:30:00", "2027-01-15T08:30:00Z"),
        ("2027-01-15T08:30:00+01:00", "2027-01-15T07:30:00Z"),
    ],
)
def test_dates_are_read_as_they_are_written(text: str, told: str) -> None:
    since = parse_since(text)
    assert format_since(since) == told
    assert parse_since(told) == since


@pytest.mark.parametrize("text", ["tomorrow", "2027-13-01", "2027-02-30", "15.01.2027"])
def test_what_is_no_date_is_refused(text: str) -> None:
    with pytest.raises(Invalid, match=r"since: .* is no date"):
        parse_since(text)
