"""The ledger of an account in the console: its filter, its balances, and statements as CSV."""

import csv
import io
import re
from html import unescape
from itertools import pairwise

import pytest

from heliograph.app.configuration import LedgerQuery
from heliograph.console.pages import ledger
from heliograph.domain.money.amounts import format_credits
from tests.integration.console.test_console import sent, text_of
from tests.support.admin import AdminHouse, Answered, Browser

LEDGER = "/accounts/acme/ledger"


def table(answered: Answered) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(answered.body.decode(), newline="")))


async def lived_in(house: AdminHouse, ada: Browser) -> None:
    for _ in range(3):
        await sent(house)
        house.gateway.clock.ms += 60_000
    await ada.post("/accounts/acme/top-up", {"amount": "7.5", "note": "=bank"})


async def test_entries_are_shown_with_the_balance_after_each(house: AdminHouse, ada: Browser) -> None:
    await lived_in(house, ada)
    assert LEDGER in (await ada.get("/accounts/acme")).text
    page = await ada.get(LEDGER)
    balance = await house.gateway.store.customers.balance(1)
    cells = re.findall(r'<td class="number two end">([^<]*)</td>', page.text)
    assert [cell.replace(",", "") for cell in cells[:2]] == [
        format_credits(balance), format_credits(balance - 7_500_000),
    ]  # fmt: skip
    assert "Statement as CSV" in page.text


async def test_entries_are_narrowed_by_kind_and_time(house: AdminHouse, ada: Browser) -> None:
    await lived_in(house, ada)
    text = text_of(await ada.get(LEDGER, "kind=charge"))
    assert "=bank" not in text
    assert text.count("charge") == 4  # three, and the choice of the form
    assert "There are no such entries." in text_of(await ada.get(LEDGER, "start=2099-01-01T00:00"))
    assert (await ada.get(LEDGER, "start=yesterday")).status == 400
    assert (await ada.get("/accounts/nobody/ledger")).status == 404


async def test_a_long_ledger_has_pages(house: AdminHouse, ada: Browser) -> None:
    for _ in range(60):
        await sent(house)
    page = await ada.get(LEDGER, "kind=charge")
    match = re.search(r'href="/console/accounts/acme/ledger\?([^"]*before=[^"]*)"', page.text)
    assert match is not None
    assert (await ada.get(LEDGER, unescape(match[1]))).text.count('scope="row"') == 10


async def test_a_statement_adds_up_and_has_no_formula(house: AdminHouse, ada: Browser) -> None:
    await lived_in(house, ada)
    answered = await ada.get(f"{LEDGER}.csv")
    assert answered.header("content-disposition") == 'attachment; filename="statement-acme.csv"'
    rows = table(answered)
    assert (rows[0]["entry"], rows[0]["amount"], rows[0]["note"]) == ("top-up", "7.5", "'=bank")
    assert rows[1]["amount"] == "-1"
    for newer, older in pairwise(rows):
        assert round(float(newer["balance"]) - float(newer["amount"]), 6) == float(older["balance"])
    assert float(rows[-1]["balance"]) == float(rows[-1]["amount"])
    assert [row["balance"] for row in table(await ada.get(f"{LEDGER}.csv", "kind=top-up"))] == ["", ""]
    deeds = [(entry.action, entry.target, entry.details) for entry in await house.entries()]
    assert deeds[-1] == ("account.statement", "acme", {"kind": "top-up"})


async def test_a_statement_has_all_entries(house: AdminHouse, ada: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    await lived_in(house, ada)
    whole = [piece async for piece in ledger.statement_file(house.admin.desk, 1, LedgerQuery())]
    monkeypatch.setattr(ledger, "ROWS_AT_ONCE", 2)
    pieces = [piece async for piece in ledger.statement_file(house.admin.desk, 1, LedgerQuery())]
    assert [piece.count(b"\n") for piece in pieces] == [1, 2, 2, 1]
    assert b"".join(pieces) == b"".join(whole)
