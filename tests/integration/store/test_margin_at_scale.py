"""The margin report of very many messages, over a change of price and of costs at noon, against exact fractions."""

from collections import Counter
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Final

import pytest

from heliograph.adapters.store.sqlite import SqliteStore
from heliograph.app.configuration import Connector, Cost, Price
from heliograph.app.facts import Facts, MessageEnd, Submission
from heliograph.app.resources.desk import Desk
from heliograph.app.resources.report_margin import MARGIN_BY, margin
from heliograph.domain.message.receipt import Delivery
from heliograph.domain.money.amounts import parse_credits
from heliograph.domain.money.pricing import price_table
from tests.support.store import HOUR, START, Given
from tests.support.use_case_fakes import SetClock

MESSAGES: Final = 100_000
COMMIT: Final = 1_000
"""Messages of a commit."""

DAY: Final = START - START % (24 * HOUR)
NOON: Final = DAY + 12 * HOUR
PRICES: Final = {("49", 0): "0.065301", ("49", NOON): "0.070703", ("33", 0): "0.049999", ("33", NOON): "0.05"}
COSTS: Final = {
    (1, "49", 0): ("0.030007", "0.0051"), (1, "49", NOON): ("0.041003", "0.000007"), (1, "33", 0): ("0.06", "0"),
    (2, "49", 0): ("0.000001", "0.012345"),
}  # fmt: skip
"""Submitted and delivered, by connector, prefix and start. Connector 2 has no cost for 33."""


@pytest.mark.extended
async def test_the_margin_of_a_day_is_exact_to_the_last_digit(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path / "heliograph.db")
    for name in ("one", "two"):
        await store.network.add_connector(Connector(0, name))
    prices = [Price("default", prefix, parse_credits(text), 0, since) for (prefix, since), text in PRICES.items()]
    await store.network.set_prices(prices, [])
    await store.costs.put(
        [
            Cost(of, prefix, "", parse_credits(submitted), parse_credits(delivered), since)
            for (of, prefix, since), (submitted, delivered) in COSTS.items()
        ]
    )
    given, chance = Given(store, DAY), Random(5)
    account = await given.account(credit=10**15)
    tariffs = {since: price_table(prices, since).tariff("default") for since in (0, NOON)}
    revenue, cost, counts = Fraction(0), Fraction(0), Counter[str]()
    for start in range(0, MESSAGES, COMMIT):
        accepts, submissions, finals = [], [], []
        for number in range(start, start + COMMIT):
            given.now = DAY + number * 24 * HOUR // MESSAGES
            prefix, connector = chance.choice(["49", "33"]), chance.choice([1, 2])
            segments, is_delivered = chance.choice([1, 1, 3]), chance.random() < 0.9
            destination = f"{prefix}{700_000_000 + number}"
            price = tariffs[NOON if given.now >= NOON else 0].price(destination, "")
            assert price is not None
            message = given.message(account.id, destination=destination, segments=segments, price=price * segments)
            message.connector = connector
            accepts.append(given.accept(message))
            taken = given.now + chance.randrange(2 * HOUR // MESSAGES, 20_000)  # some are taken after noon only
            submissions += [
                Submission(account.id, message.key, each, connector, f"{number}-{each}", 0, taken)
                for each in range(segments)
            ]
            state = Delivery.DELIVRD if is_delivered else Delivery.UNDELIV
            finals.append(MessageEnd(account.id, message.key, state, "000", taken + 9, owed=False))
            charged = PRICES[prefix, NOON if given.now >= NOON else 0]
            costs = COSTS.get((connector, prefix, NOON if taken >= NOON else 0)) or COSTS.get((connector, prefix, 0))
            revenue += Fraction(charged) * segments
            if costs is not None:
                cost += segments * (Fraction(costs[0]) + Fraction(costs[1]) * is_delivered)
            counts.update(messages=1, segments=segments, delivered=segments * is_delivered)
            counts.update(unknown=0 if costs else segments)
        await given.recorded(*accepts)
        await store.commits.record(Facts(submissions=submissions, finals=finals))
    report = await margin(Desk(store, SetClock()), ",".join(MARGIN_BY), **{"from": DAY, "to": DAY + 24 * HOUR})
    await store.close()
    total = report["total"]
    assert {name: total[name] for name in counts} == counts
    million = 1_000_000
    assert (Fraction(total["revenue"], million), Fraction(total["cost"], million)) == (revenue, cost)
    assert Fraction(total["margin"], million) == revenue - cost
    for name in ("revenue", "cost", "margin"):
        assert sum(row[name] for row in report["rows"]) == total[name] == sum(at[name] for at in report["points"])
