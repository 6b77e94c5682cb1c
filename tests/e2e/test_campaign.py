"""A newcomer's first campaign: two thousand numbers in a row, with the settings that a new gateway has."""

from pathlib import Path

import pytest

from tests.e2e.test_watching import scrape, values
from tests.support.customer import Customer
from tests.support.process import Admin, GatewayProcess, SimulatorProcess, eventually

pytestmark = pytest.mark.slow

MESSAGES = 2_000

DEFAULT = {"HELIOGRAPH_MESSAGES_GUARD_YOUNG_DAYS": "30"}
"""Other tests keep the guard from accounts that they have just opened."""


def numbers(first: int) -> list[str]:
    return [str(number) for number in range(first, first + MESSAGES)]


def test_a_first_campaign_arrives(tmp_path: Path, admin: Admin, data: Path) -> None:
    listed, posted = numbers(491701230000), numbers(491701250000)
    table = tmp_path / "contacts.csv"
    table.write_text("to;name\n" + "".join(f"+{number};Ada\n" for number in listed))
    with SimulatorProcess(tmp_path, magic=False, receipt_delay_ms=20) as operator:
        account = admin.account("acme", str(2 * MESSAGES))
        admin.operator(operator.port)
        with (
            GatewayProcess(data, settings=DEFAULT) as gateway,
            Customer(gateway.url, "acme", account["api_key"]) as customer,
        ):
            credentials = ("--user", "acme", "--key", account["api_key"], "--url", gateway.url)
            sent = admin("send", "--file", str(table), "--from", "ACME", "--content", "Hello {name}", *credentials)
            assert (sent["accepted"], sent["failed"]) == (MESSAGES, 0)
            # Numbers in a row look like pumping: the guard tells of them, and holds nothing of what comes next.
            eventually(lambda: values(gateway.url)["heliograph_guard_suspicions"] == 1, "the guard tells of them")
            for at in range(0, MESSAGES, 1_000):
                text = {"to": posted[at : at + 1_000], "from": "ACME", "content": "Hello"}
                assert customer.document("/api/v1/messages", text).status == 200

            eventually(
                lambda: f'heliograph_messages_final_total{{state="DELIVRD"}} {2 * MESSAGES}' in scrape(gateway.url),
                "all are delivered",
            )
            assert values(gateway.url)["heliograph_held_messages"] == 0
            assert customer.balance() == "0"
            assert gateway.stop() == 0
        operator.until_left()
        assert sorted(operator.destinations()) == listed + posted
    admin.assert_books_right()
