"""Offers `compare_restored`: checks a store that was restored from a backup."""

import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.support.background_sink import BackgroundSink
from tests.support.customer import Customer
from tests.support.process import Admin, GatewayProcess, SimulatorProcess, eventually

CREDIT = 1_000_000


def compare_restored(
    data: Path,
    settings: Mapping[str, str],
    account: Mapping[str, Any],
    before: Mapping[str, str],
    all_: Mapping[str, str],
    simulator: SimulatorProcess,
    sink: BackgroundSink,
) -> None:
    """`before`: messages with a 200 before the backup began. `all_`: messages with a 200 before the loss. Both by
    destination. Some of the others are in the backup, too."""
    admin = Admin(data, settings)
    admin.assert_books_right()
    told = admin("restored")
    assert told["ends"] <= time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    assert len(told["unknown"]) == 6
    assert told["unsent"] + told["awaiting"] + told["pending"] > 0
    # the operator reads on for a moment, and its log lags behind
    simulator.until_left()
    sent_before = Counter(simulator.destinations())

    def sent_anew() -> Counter[str]:
        return Counter(simulator.destinations()) - sent_before

    with GatewayProcess(data, settings=settings, name="restored") as gateway:
        with Customer(gateway.url, "acme", account["api_key"]) as customer:
            statuses = {to: customer.get(f"/api/v1/messages/{id_}").status for to, id_ in all_.items()}
        known = {to for to, status in statuses.items() if status == 200}
        assert set(statuses.values()) == {200, 404}
        assert set(before) <= known
        # all known messages are sent, and messages without a known outcome were sent again
        eventually(lambda: known <= set(simulator.destinations()), "all are sent")
        eventually(lambda: admin("restored")["unsent"] == 0, "nothing is to be sent", pause=0.5)
        eventually(lambda: sum(sent_anew().values()) >= told["unsent"], "the operator has what was to be sent")
        # receipts of messages that are sent now come a moment later
        eventually(lambda: {all_[to] for to in known & sent_anew().keys()} <= sink.ids(), "they are posted")
        eventually(lambda: admin("restored")["pending"] == 0, "no receipt is owed", pause=0.5)
        assert gateway.stop() == 0
    simulator.until_left()
    again = sent_anew()
    assert sum(again.values()) == told["unsent"], told
    assert set(again) <= known
    # exactly the known messages were charged
    assert float(admin.balance()) == CREDIT - len(known)
    arrived = sink.ids()
    missing = [id_ for to, id_ in all_.items() if to in known and id_ not in arrived]
    # receipts that came after the backup are not repeated by the operator
    assert len(missing) <= told["awaiting"]
    admin.assert_books_right()
