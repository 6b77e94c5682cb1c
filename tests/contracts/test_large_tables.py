"""Rows of the large tables: those that may decide about a number decide as all rows do."""

from random import Random

import pytest

from heliograph.adapters.store.shared import lists
from heliograph.app.configuration import Account, Connector, Missing, Plan, Price, Route
from heliograph.app.ports import Store
from heliograph.app.routing.explain import deciding_keys, explain
from heliograph.domain.numbers.sender_rules import ANY_KIND, REPLACE, SenderRule
from tests.contracts.test_table_changes import NUMBERS, change
from tests.support.use_case_fakes import PortedServer

ACCOUNTS = [Account(1, "a", "", b"", plan="gold"), Account(2, "b", "", b""), Account(0, "", "", b"", plan="gold")]


class OnePorted(PortedServer):
    """Numbers of which one was ported."""

    def find(self, number: str) -> str:
        return "26202" if number == NUMBERS[0] else ""


@pytest.mark.parametrize("seed", range(3))
async def test_the_rows_of_a_number_decide_as_all_rows(
    store: Store, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lists, "FEW", 3)
    chance, ported = Random(seed), OnePorted()
    for name in ("a", "b", "c"):
        await store.network.add_connector(Connector(0, name))
    await store.plans.put(Plan("gold", routing="best", min_margin="1", min_quality=0))
    await store.sender_rules.add(SenderRule(0, "US", ANY_KIND, REPLACE, "ACME"))
    decided = 0
    for step in range(60):
        try:
            await change(store, chance, step)
        except Missing:
            continue
        if step % 4:
            continue
        whole, small = await store.network.tables(), await store.network.tables(large=False)
        for account in ACCOUNTS:
            for number, sender in ((each, chance.choice(["", "Shop", "ACME"])) for each in chance.sample(NUMBERS, 3)):
                now = chance.choice([0, 50, 100])
                keys = deciding_keys(number, account, whole.sender_rules, now, sender, ported.find(number))
                rows = await store.large_tables.deciding(keys)
                found = explain(number, account, rows.joined(small), {9: "test"}, now, sender, ported=ported)
                assert found == explain(number, account, whole, {9: "test"}, now, sender, ported=ported)
                decided += found.connector is not None
    assert decided > 20


async def test_rows_of_other_numbers_accounts_plans_and_senders_are_not_read(store: Store) -> None:
    connector = (await store.network.add_connector(Connector(0, "a"))).id
    kept = [Route(0, "49", connector), Route(0, "49", connector, sender="AC*", account=1), Route(0, "", connector)]
    others = [Route(0, "492", connector), Route(0, "4", connector, account=2), Route(0, "4", connector, plan="silver")]
    others += [Route(0, "49", connector, sender="SHOP"), Route(0, "", connector, network="26201")]
    await store.network.change_routes([*kept, *others], [])
    await store.network.set_prices([Price("gold", each, 1) for each in ("49", "33", "44")], [])
    await store.network.set_prices([Price("silver", "49", 1)], [])
    account = Account(1, "a", "", b"", plan="gold")
    rows = await store.large_tables.deciding(deciding_keys("4911111", account, [], 5, "ACME", ""))
    assert {each.rule for each in rows.routes} == {each.rule for each in kept}
    assert "49" in {each.prefix for each in rows.prices}
    assert len(rows.prices) <= 2, "one more proves that the plan has prices"
    assert {each.plan for each in rows.prices} == {"gold"}
