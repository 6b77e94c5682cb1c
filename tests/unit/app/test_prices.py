"""Administration of prices against the store in memory."""

from typing import Any

import pytest

from heliograph.app.configuration import Price
from heliograph.app.records import AuditQuery
from heliograph.app.resources import prices
from heliograph.app.resources.desk import Desk, Invalid, NoSuch
from heliograph.app.resources.prices import NEW, PRICES, SINCE, format_since
from heliograph.domain.money.amounts import MICRO
from tests.support.memory_store import MemoryStore
from tests.unit.app.test_connectors import StillClock

NOW = StillClock().now()
DAY = 86_400_000


@pytest.fixture
def desk() -> Desk:
    return Desk(MemoryStore(), StillClock(), "user:ada")


async def told(desk: Desk, *, past: bool = False) -> list[tuple[str, str, int, int]]:
    rows = (await prices.find(desk, past=past))["prices"]
    return [(each["plan"], each["prefix"], each["price"], each["since"] or 0) for each in rows]


def row(plan: str, prefix: str, price: int, since: int = 0) -> dict[str, Any]:
    return {"plan": plan, "prefix": prefix, "price": price, "since": since}


async def test_prices_are_set_replaced_and_removed(desk: Desk) -> None:
    await prices.set_price(desk, 65_000, "49")
    await prices.set_price(desk, 70_000, "49")
    assert (await prices.set_price(desk, 1, "", "gold"))["accounts"] == 0
    assert await told(desk) == [("default", "49", 70_000, 0), ("gold", "", 1, 0)]
    assert [each["plan"] for each in (await prices.find(desk, "gold"))["prices"]] == ["gold"]
    assert await prices.plans(desk) == ["default", "gold"]
    await prices.remove(desk, "49")
    with pytest.raises(NoSuch):
        await prices.remove(desk, "49")


async def test_networks_have_prices_of_their_own(desk: Desk) -> None:
    await prices.set_price(desk, 5)
    await prices.set_price(desk, 6, network="26201")
    await prices.set_price(desk, 7, network="26202", since=NOW + DAY)
    await prices.set_price(desk, 8, network="26201", plan="gold", inbound=0)
    found = (await prices.find(desk))["prices"]
    assert [(each["plan"], each["prefix"], each["network"], each["price"]) for each in found] == [
        ("default", "", "", 5), ("default", "", "26201", 6), ("default", "", "26202", 7), ("gold", "", "26201", 8),
    ]  # fmt: skip
    assert (await prices.find(desk))["built_in"] is None
    after = ("default", "", "26201", None)
    assert [each["price"] for each in (await prices.find(desk, after=after))["prices"]] == [7, 8]
    await prices.remove(desk, network="26201")
    with pytest.raises(NoSuch, match="for the network 26201 in the plan default"):
        await prices.remove(desk, network="26201")
    assert [each["price"] for each in (await prices.find(desk))["prices"]] == [5, 7, 8]
    lines = await desk.store.audit_log.find(AuditQuery(limit=9))
    removed = next(each for each in lines if each.action == "price.remove")
    assert (removed.target, removed.details["price"]) == ("26201", "0.000006")


async def test_a_network_alone_leaves_all_other_numbers_the_built_in_price(desk: Desk) -> None:
    await prices.set_price(desk, 6, network="26201")
    assert (await prices.find(desk))["built_in"] == MICRO


async def test_a_price_has_a_prefix_or_a_network_and_networks_no_inbound_price(desk: Desk) -> None:
    with pytest.raises(Invalid, match="network: a price has a prefix or a network, not both"):
        await prices.set_price(desk, 5, "49", network="26201")
    with pytest.raises(Invalid, match="network: a price has a prefix or a network, not both"):
        await prices.remove(desk, "49", network="26201")
    with pytest.raises(Invalid, match="inbound: messages from phones are priced by prefix"):
        await prices.set_price(desk, 5, network="26201", inbound=1)
    with pytest.raises(Invalid, match="inbound: "):
        await prices.put(desk, [row("gold", "", 1) | {"network": "26201", "inbound": 1}])
    assert await told(desk) == []


async def test_a_list_may_have_networks(desk: Desk) -> None:
    await prices.set_price(desk, 5, network="26201")
    wanted = [row("default", "", 5) | {"network": "26201"}, row("default", "", 6) | {"network": "26202"}]
    wanted += [row("default", "", 7)]
    assert await prices.put(desk, wanted) == {"added": 2, "changed": 0, "same": 1, "removed": 0, "note": ""}
    replaced = await prices.put(desk, wanted[1:2], replace=True)
    assert replaced == {"added": 0, "changed": 0, "same": 1, "removed": 2, "note": ""}
    assert [each["network"] for each in (await prices.find(desk))["prices"]] == ["26202"]


@pytest.mark.parametrize(
    ("field", "value"), [("price", "-1"), ("prefix", "+49"), ("plan", "no such name!"), ("inbound", "-1")]
)
def test_a_value_that_cannot_be_used_is_refused(field: str, value: str) -> None:
    with pytest.raises(Invalid) as refused:
        next(each for each in NEW if each.name == field).read(value)
    assert refused.value.field == field


async def test_prices_that_hold_no_longer_are_past(desk: Desk) -> None:
    for price, since in ((1, 0), (2, NOW - DAY), (3, NOW), (4, NOW + DAY)):
        await prices.set_price(desk, price, "49", since=since)
    assert [price for *_, price, _ in await told(desk)] == [3, 4]
    assert [price for *_, price, _ in await told(desk, past=True)] == [1, 2, 3, 4]
    await prices.remove(desk, "49", since=NOW)
    assert [price for *_, price, _ in await told(desk)] == [2, 4]
    with pytest.raises(NoSuch):
        await prices.remove(desk, "49", since=NOW)
    await prices.remove(desk, "49")
    assert await told(desk, past=True) == []


async def test_the_built_in_price_holds_until_all_numbers_have_one(desk: Desk) -> None:
    await prices.set_price(desk, 5, since=NOW + 1)
    assert (await prices.find(desk))["built_in"] == MICRO
    await prices.set_price(desk, 5, since=NOW)
    assert (await prices.find(desk))["built_in"] is None


async def test_a_list_is_compared_then_taken_whole(desk: Desk) -> None:
    await prices.set_price(desk, 5, "49", inbound=2)
    await prices.set_price(desk, 6, "44")
    await prices.set_price(desk, 7, "33", "gold")
    wanted = [row("default", "49", 5), row("default", "44", 8), row("default", "1", 9, NOW)]
    changes = {"added": 1, "changed": 1, "same": 1, "removed": 0, "note": ""}
    assert await prices.put(desk, wanted, dry_run=True) == changes
    assert len(await told(desk)) == 3
    assert await prices.put(desk, wanted, replace=True) == changes
    assert await told(desk) == [
        ("default", "1", 9, NOW), ("default", "44", 8, 0), ("default", "49", 5, 0), ("gold", "33", 7, 0),
    ]  # fmt: skip
    replaced = await prices.put(desk, wanted[1:2], replace=True)
    assert replaced == {"added": 0, "changed": 0, "same": 1, "removed": 2, "note": ""}
    assert await told(desk) == [("default", "44", 8, 0), ("gold", "33", 7, 0)]


async def test_a_list_of_many_plans_is_gone_through_once(desk: Desk) -> None:
    class Wanted(dict[prices.Key, Price]):
        walks = 0

        def values(self) -> Any:
            self.walks += 1
            return super().values()

    made = [Price(f"p{plan}", "49", MICRO) for plan in range(50)]
    wanted = Wanted({prices._key(each): each for each in made})
    assert (await prices._compared(desk, wanted))["added"] == 50
    assert wanted.walks == 1


async def test_a_list_with_the_same_price_twice_or_none_is_refused(desk: Desk) -> None:
    for wanted in ([row("default", "49", 1), row("default", "49", 2)], []):
        with pytest.raises(Invalid, match="prices: "):
            await prices.put(desk, wanted)
    assert await told(desk) == []


def test_a_value_of_a_list_is_named_by_its_row() -> None:
    (wanted, *_) = PRICES.operation("import").reads
    with pytest.raises(Invalid) as refused:
        wanted.read([{"prefix": "49", "price": "1"}, {"prefix": "+1", "price": "1"}])
    assert refused.value.field == "prices[1].prefix"


async def test_the_audit_log_has_one_line_for_a_list(desk: Desk) -> None:
    await prices.put(desk, [row("gold", str(prefix), 1) for prefix in range(1, 10)])
    (line,) = await desk.store.audit_log.find(AuditQuery(limit=9))
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
    since = SINCE.read(text)
    assert format_since(since) == told
    assert SINCE.read(told) == since


@pytest.mark.parametrize(
    "text",
    ["tomorrow", "2027-13-01", "2027-02-30", "15.01.2027", "9999-12-31T23:59:59-14:00", "253402300800"],
)
def test_what_is_no_date_is_refused(text: str) -> None:
    with pytest.raises(Invalid, match=r"since: .* is not a date"):
        SINCE.read(text)
