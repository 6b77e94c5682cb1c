"""What somebody who looks after the gateway does with the console, in a browser.

The tests share a gateway: each has numbers and names of its own, and looks for these.
"""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect
from smpplib.exceptions import PDUError

from heliograph.app.resources.account_settings import GROUPS
from heliograph.composition.dev import USER_NAME, USER_PASSWORD
from heliograph.console.pages.accounts import SETTINGS
from tests.browser.conftest import PHONE, Opener, SharedPages, opening
from tests.browser.operator import Operator
from tests.support.process import Admin, GatewayProcess, eventually
from tests.support.smpplib_client import SmpplibClient

pytestmark = [pytest.mark.peer, pytest.mark.slow]

TABLE = "mobile;name\n491701234571;Ada\n491701234572;Bob\n12;Eve\n"

COUNT_FETCHES = """
window.asked = 0;
const ask = window.fetch;
window.fetch = (...what) => { if (!String(what[0]).includes("/reports/points")) window.asked++; return ask(...what); };
"""
"""Counts what is fetched for the page's pieces; charts go on while a button is held over something else."""

PIECE = """
const piece = '<time datetime="2027-01-15T08:00:00.125Z">2027-01-15 08:00:00.125</time>';
document.querySelector("#main").innerHTML = piece;
"""

TYPE_AT_ONCE = """
(field, text) => {
    field.value = "";
    for (const letter of text) {
        field.value += letter;
        field.dispatchEvent(new InputEvent("input", {bubbles: true}));
    }
}
"""
"""Replaces a text without any pause between its letters, however busy the machine is."""


def send_one(operator: Operator, number: str, text: str, *, receipt: bool = True, time: str = "") -> Page:
    """Sends a message from the page Send; returns the page of its list."""
    page = operator.go("/send")
    page.get_by_label("Account that pays").select_option("demo")
    page.get_by_label("From").fill("Heliograph")
    page.get_by_label("To", exact=True).fill(number)
    page.get_by_label("Text", exact=True).fill(text)
    if receipt or time:
        page.get_by_text("More options", exact=True).click()
    if receipt:
        page.get_by_label("Ask for receipts").check()
    if time:
        page.get_by_label("Not before").fill(time)
    operator.follow(page.get_by_role("button", name="Preview"))
    operator.follow(page.get_by_role("button", name=re.compile("^(Send|Schedule) 1 message$")))
    expect(page.get_by_text("1 of 1 row handed in")).to_be_visible()
    return page


def reload_until(page: Page, there: Locator) -> None:
    """For pages that do not refresh themselves. A reload takes a browser a third of a second of processor time."""
    eventually(lambda: page.reload() and there.count(), str(there), pause=1.0)


def test_the_password_is_asked_for_and_a_wrong_one_is_told(opened: Opener) -> None:
    operator = opened(signed_in=False)
    page = operator.go("/accounts")
    expect(page.get_by_role("heading", name="Sign in to the console")).to_be_visible()
    page.get_by_label("Name").fill(USER_NAME)
    page.get_by_label("Password").fill("wrong")
    operator.expect_refusal()
    operator.follow(page.get_by_role("button", name="Sign in"))
    expect(page.get_by_role("alert")).to_have_text("The name or the password is wrong.")
    page.get_by_label("Password").fill(USER_PASSWORD)
    with operator.turning():
        page.get_by_label("Password").press("Enter")
    expect(page.get_by_role("heading", name="Accounts", level=1)).to_be_visible()
    operator.follow(page.get_by_role("button", name="Sign out"))
    expect(page.get_by_role("heading", name="Sign in to the console")).to_be_visible()


def test_a_message_is_sent_and_seen_to_arrive(opened: Opener) -> None:
    operator = opened()
    page = operator.go("/send")
    page.get_by_label("Account that pays").select_option("demo")
    page.get_by_label("From").fill("Heliograph")
    page.get_by_label("To", exact=True).fill("491701234567")
    page.get_by_label("Text", exact=True).fill("Grüße")
    quote = page.locator("#quote")
    expect(quote).to_contain_text("GSM-7")
    expect(quote).to_contain_text("1 credit")
    page.get_by_label("Text", exact=True).fill("Grüße ✓ " * 20)
    expect(quote).to_contain_text("UCS-2")
    expect(quote).to_contain_text("3 credits")
    send_one(operator, "491701234567", "Journey one")
    operator.follow(page.get_by_role("link", name="Its messages"))
    operator.follow(page.get_by_role("link", name="491701234567"))
    expect(page.get_by_text("Journey one")).to_be_visible()
    reload_until(page, page.locator(".head .badge.delivered"))
    expect(page.locator(".head .badge")).to_have_text("delivered")
    expect(page.locator(".timeline")).to_contain_text("Submitted to simulator as")
    expect(page.get_by_text("ESME_ROK")).to_be_visible()
    operator.go("/simulator")
    expect(page.get_by_role("cell", name="Journey one")).to_be_visible()


def test_an_smpp_client_is_seen_and_dropped(opened: Opener, gateway: GatewayProcess) -> None:
    client = SmpplibClient(gateway.smpp)
    client.submit("Hello", to="12")
    with pytest.raises(PDUError, match="Invalid Destination Address"):
        client.until(lambda: False, "its refusal")
    operator = opened()
    page = operator.go("/binds")
    row = page.get_by_role("row").filter(has_text="transceiver")
    reload_until(page, row.get_by_text("ESME_RINVDSTADR"))
    expect(row).to_contain_text("demo")
    expect(row).to_contain_text("127.0.0.1:")
    operator.answer(row.get_by_role("button", name="Drop"), yes=True)
    expect(page.get_by_role("status")).to_contain_text("ends within five seconds.")
    reload_until(page, page.get_by_text("No SMPP client is bound."))
    client.close()


@pytest.mark.extended
def test_waiting_messages_are_held_moved_and_sent(opened: Opener, gateway: GatewayProcess) -> None:
    admin = Admin(gateway.data)
    admin("connector", "add", "away", "--host", "127.0.0.1", "--port", "9", "--system-id", "a", "--password", "b")
    admin("connector", "add", "spare", "--host", "127.0.0.1", "--port", "9", "--system-id", "a", "--password", "b")
    admin("route", "add", "--prefix", "4940", "--connector", "away")
    operator = opened()
    numbers = [f"49401234{n}" for n in range(3)]
    for number in numbers:
        send_one(operator, number, "Journey of a queue")
    page = operator.go("/queue")
    page.get_by_label("Connector").select_option("away")
    operator.follow(page.get_by_role("button", name="Show"))
    operator.answer(page.get_by_role("button", name="Hold"), yes=True)
    expect(page.get_by_role("status")).to_contain_text("Held: 3 messages.")
    expect(page.get_by_role("heading", name="3 messages over away, 3 held")).to_be_visible()
    operator.go("/messages?status=held")
    expect(page.get_by_role("row").filter(has_text="held")).to_have_count(3)
    operator.go("/queue?connector=away")
    operator.follow(page.get_by_role("link", name="Select away demo DE"))
    page.get_by_label("New connector").select_option("spare")
    operator.answer(page.get_by_role("button", name="Move"), yes=True)
    expect(page.get_by_role("status")).to_contain_text("Moved: 3 messages to spare.")
    operator.go("/queue?connector=spare")
    operator.answer(page.get_by_role("button", name="Release"), yes=True)
    expect(page.get_by_role("status")).to_contain_text("Released: 3 messages.")
    operator.answer(page.get_by_role("button", name="Cancel and refund"), yes=True)
    expect(page.get_by_role("status")).to_contain_text("Cancelled and refunded: 3 messages.")
    operator.go(f"/messages?q={numbers[0]}")
    expect(page.locator(".badge.cancelled")).to_be_visible()


@pytest.mark.extended
def test_why_a_message_failed_is_found(opened: Opener) -> None:
    operator = opened()
    send_one(operator, "491701239001", "This one fails")
    page = operator.go("/messages")
    page.get_by_label("Id, number or reference").fill("+49 170 1239001")
    operator.follow(page.get_by_role("button", name="Search"))
    row = page.get_by_role("row").filter(has=page.get_by_role("link", name="491701239001"))
    reload_until(page, row.get_by_text("UNDELIV 001"))
    expect(row.locator(".badge.undelivered")).to_be_visible()
    operator.follow(row.get_by_role("link", name="491701239001"))
    expect(page.locator(".timeline")).to_contain_text("UNDELIV 001")


def test_a_file_that_is_not_utf_8_is_refused_before_it_is_sent(opened: Opener, tmp_path: Path) -> None:
    file = tmp_path / "contacts.csv"
    file.write_bytes("to;name\n491701234571;Jürgen\n".encode("cp1252"))
    page = opened().go("/send")
    chosen = page.get_by_label("Or a CSV file")
    chosen.set_input_files(file)
    to = page.get_by_label("To", exact=True)
    page.wait_for_function("() => document.querySelector('#recipients').validity.customError")
    assert "CSV UTF-8" in to.evaluate("field => field.validationMessage")
    expect(to).to_have_value("")
    file.write_text(TABLE, encoding="utf-8-sig")
    chosen.set_input_files(file)
    expect(to).to_have_value(TABLE)
    assert to.evaluate("field => field.checkValidity()")
    file.write_text(TABLE, encoding="utf-16")
    chosen.set_input_files(file)
    expect(to).to_have_value(TABLE)


def test_a_list_out_of_a_file_is_sent_and_its_result_is_kept(opened: Opener, tmp_path: Path) -> None:
    file = tmp_path / "contacts.csv"
    file.write_text(TABLE, encoding="utf-8-sig")
    operator = opened()
    page = operator.go("/send")
    page.get_by_label("Account that pays").select_option("demo")
    page.get_by_label("From").fill("Heliograph")
    page.get_by_label("Or a CSV file").set_input_files(file)
    expect(page.get_by_label("To", exact=True)).to_have_value(TABLE)
    page.get_by_label("Text", exact=True).fill("Hi {name}, your code is 7")
    operator.follow(page.get_by_role("button", name="Preview"))
    expect(page.get_by_text("Hi Ada, your code is 7")).to_be_visible()
    expect(page.get_by_role("alert")).to_contain_text("1 of 3 rows cannot be sent")
    page.get_by_label("Column with the numbers").select_option("name")
    operator.follow(page.get_by_role("button", name="Use this column"))
    expect(page.get_by_text("3 of 3 rows cannot be sent")).to_be_visible()
    page.get_by_label("Column with the numbers").select_option("mobile")
    operator.follow(page.get_by_role("button", name="Use this column"))
    operator.follow(page.get_by_role("button", name="Send 2 messages"))
    expect(page.get_by_text("3 of 3 rows handed in")).to_be_visible()
    statuses = page.get_by_role("region", name="Messages by status")
    expect(statuses.locator(".figure", has_text="Delivered").get_by_text("2")).to_be_visible()
    with page.expect_download() as download:
        page.get_by_role("link", name="Result file").click()
    lines = Path(download.value.path()).read_text(encoding="utf-8").splitlines()
    assert [line.split(",")[1:3] for line in lines[1:]] == [
        ["491701234571", "delivered"], ["491701234572", "delivered"], ["12", "refused"],
    ]  # fmt: skip


def test_messages_are_followed_live_and_cancelled_together(opened: Opener) -> None:
    later = f"{datetime.now(UTC) + timedelta(days=90):%Y-%m-%dT%H:%M}"
    operator = opened()
    send_one(operator, "491701234581", "Together one", receipt=False, time=later)
    page = operator.go("/messages?status=scheduled&country=DE&q=49170123458")
    with operator.turning():
        page.get_by_label("Live").check()
    other = opened()
    send_one(other, "491701234582", "Together two", receipt=False, time=later)
    expect(page.get_by_role("link", name="491701234582")).to_be_visible()
    page.get_by_label("Select all that can be cancelled").check()
    page.get_by_role("button", name="Cancel selected").click()
    dialog = page.get_by_role("dialog", name="Cancel and refund the selected messages?")
    expect(dialog.locator("dl")).to_have_text("Selected2")
    page.keyboard.press("Escape")
    expect(dialog).not_to_be_visible()
    operator.answer(page.get_by_role("button", name="Cancel selected"), yes=True)
    expect(page.get_by_role("status")).to_have_text("2 messages are cancelled and refunded.")
    expect(page.get_by_label("Country")).to_have_value("DE")
    page = operator.go("/messages?q=49170123458")
    with page.expect_download() as download:
        page.get_by_role("link", name="Export as CSV").click()
    assert Path(download.value.path()).read_text(encoding="utf-8").count("cancelled") == 2


def test_a_scheduled_message_is_moved_and_cancelled(opened: Opener) -> None:
    later, latest = (datetime.now(UTC) + timedelta(days=days) for days in (100, 131))
    operator = opened()
    send_one(operator, "491701234568", "Later", receipt=False, time=f"{later:%Y-%m-%dT%H:%M}")
    page = operator.go("/messages?status=scheduled")
    operator.follow(page.get_by_role("link", name="491701234568"))
    page.get_by_label("New time (UTC)").fill(f"{latest:%Y-%m-%dT%H:%M}")
    operator.follow(page.get_by_role("button", name="Reschedule"))
    expect(page.get_by_role("status")).to_have_text("The message has a new time.")
    expect(page.locator(".facts").first).to_contain_text(f"{latest:%Y-%m-%d %H:%M}:00")
    operator.answer(page.get_by_role("button", name="Cancel and refund"), yes=False)
    page.reload()
    expect(page.locator(".head .badge")).to_have_text("scheduled")
    operator.answer(page.get_by_role("button", name="Cancel and refund"), yes=True)
    expect(page.locator(".head .badge")).to_have_text("cancelled")
    expect(page.get_by_role("region", name="Ledger entries")).to_contain_text("refund")


@pytest.mark.extended
def test_an_account_is_opened_and_topped_up(opened: Opener) -> None:
    operator = opened()
    page = operator.go("/accounts")
    operator.follow(page.get_by_role("link", name="Open an account"))
    page.get_by_label("Name").fill("no name")
    operator.expect_refusal()
    operator.follow(page.get_by_role("button", name="Open the account"))
    expect(page.locator("#trouble")).to_be_focused()
    page.get_by_label("Name").fill("acme")
    page.get_by_label("Opening credit").fill("25")
    page.get_by_label("Time zone").select_option("Europe/Berlin")
    operator.follow(page.get_by_role("button", name="Open the account"))
    expect(page.get_by_text("whsec_")).to_be_visible()
    operator.follow(page.get_by_role("link", name="Continue to acme"))
    expect(page.get_by_label("Time zone")).to_have_value("Europe/Berlin")
    page.get_by_label("Top up by").fill("10.5")
    page.get_by_label("Note").fill("invoice 7")
    operator.follow(page.get_by_role("button", name="Top up"))
    expect(page.get_by_role("status")).to_have_text("The balance of acme is now 35.5 credits.")
    expect(page.get_by_role("region", name="Ledger")).to_contain_text("invoice 7")
    operator.go("/audit?action=account.top-up")
    expect(page.get_by_role("region", name="Audit log")).to_contain_text("user:admin")


@pytest.mark.extended
def test_a_setting_is_found_among_many(opened: Opener) -> None:
    operator = opened()
    page = operator.go("/accounts/demo")
    form = page.locator("form#settings")
    find = page.get_by_label("Find a setting")
    find.fill("max_wait")
    expect(form.locator(".field:visible label")).to_have_text(["Waiting at most"])
    expect(form.locator("fieldset:visible legend")).to_have_text(["Limits"])
    find.fill("smpp window")
    expect(form.locator(".field:visible label")).to_have_text(["SMPP window"])
    find.fill("no such thing")
    expect(form.locator(".field:visible")).to_have_count(0)
    expect(page.get_by_text("There is no such setting.")).to_be_visible()
    find.fill("")
    expect(form.locator("fieldset:visible")).to_have_count(len(GROUPS))
    expect(form.locator(".field:visible")).to_have_count(len(SETTINGS))


@pytest.mark.extended
def test_a_connector_is_added_tested_and_paused_and_a_number_routed(opened: Opener) -> None:
    operator = opened()
    page = operator.go("/connectors-new")
    for label, text in (("Name", "op1"), ("Host", "127.0.0.1"), ("Port", "1"), ("System id", "acme")):
        page.get_by_role("textbox", name=label).fill(text)
    page.get_by_label("Password").fill("secret")
    page.get_by_text("Texts", exact=True).click()
    page.get_by_label("concatenation").select_option("sar")
    operator.follow(page.get_by_role("button", name="Add", exact=True))
    page.get_by_text("Texts 1 set").click()
    expect(page.get_by_label("concatenation")).to_have_value("sar")
    operator.follow(page.get_by_role("button", name="Test the bind"))
    expect(page.locator(".steps")).to_contain_text("failed")
    operator.go("/routing")
    added = page.locator("#add")
    added.get_by_label("Prefix").fill("4930")
    added.get_by_label("Connector").select_option("op1")
    operator.follow(added.get_by_role("button", name="Add", exact=True))
    page.get_by_label("Number").fill("+49 30 123456")
    page.get_by_label("For the account").select_option("demo")
    operator.follow(page.get_by_role("button", name="Try it"))
    expect(page.locator(".decision")).to_contain_text("4930123456 → op1")
    operator.go("/connectors/op1")
    operator.answer(page.get_by_role("button", name="Pause"), yes=True)
    expect(page.locator(".head .badge").first).to_have_text("paused")
    operator.answer(page.get_by_role("button", name="Remove the connector"), yes=True)
    expect(page.get_by_role("status")).to_contain_text("op1 and its routes are removed")


@pytest.mark.extended
def test_a_list_is_paused_resumed_and_cancelled_and_a_dialog_tells_what_is_at_stake(opened: Opener) -> None:
    operator = opened()
    page = send_one(
        operator,
        "491701234599",
        "Not yet",
        receipt=False,
        time=f"{datetime.now(UTC) + timedelta(days=1):%Y-%m-%dT%H:%M}",
    )
    scheduled = page.get_by_role("link", name="1", exact=True)
    expect(scheduled).to_be_visible()
    operator.answer(page.get_by_role("button", name="Cancel the rest"), yes=False)
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_role("dialog")).to_contain_text("Scheduled messages1")
    operator.follow(page.get_by_role("dialog").get_by_role("button", name="Pause"))
    expect(page.get_by_role("status")).to_have_text("Paused and held: 1 message.")
    operator.follow(page.get_by_role("button", name="Resume"))
    expect(page.get_by_role("status")).to_have_text("Resumed and released: 1 message.")
    operator.answer(page.get_by_role("button", name="Cancel the rest"), yes=True)
    expect(page.get_by_role("status")).to_have_text("Cancelled and refunded: 1 message.")
    expect(page.get_by_role("button", name="Pause")).to_have_count(0)


def test_a_price_list_out_of_a_file_is_previewed_and_imported(opened: Opener, tmp_path: Path) -> None:
    file = tmp_path / "prices.csv"
    file.write_text("prefix;price\n39;0.05\n3933;0.06\n", encoding="utf-8-sig")
    operator = opened()
    page = operator.go("/prices")
    page.get_by_label("Or a file").set_input_files(file)
    expect(page.get_by_label("CSV with the columns")).to_have_value("prefix;price\n39;0.05\n3933;0.06\n")
    page.get_by_label("Since (UTC)").last.fill("2100-01-01")
    operator.follow(page.get_by_role("button", name="Preview"))
    expect(page.get_by_role("status", name="Preview of the list")).to_contain_text("Added2")
    operator.follow(page.get_by_role("button", name="Import"))
    expect(page.get_by_role("status")).to_have_text("The list was imported: 2 added, 0 changed.")
    page.get_by_label("Number or prefix").fill("+39 33 1234567")
    operator.follow(page.get_by_role("button", name="Search"))
    operator.follow(page.get_by_role("link", name="Edit the price of default for 3933"))
    expect(page.get_by_label("Credits")).to_have_value("0.06")
    page.get_by_label("Credits").fill("0.055")
    operator.follow(page.get_by_role("button", name="Set", exact=True))
    row = page.get_by_role("row").filter(has_text="3933")
    expect(row).to_contain_text("0.055")
    expect(row).to_contain_text("(future)")
    operator.answer(row.get_by_role("button", name="Remove"), yes=True)
    expect(page.get_by_role("status")).to_have_text("The price is removed.")


@pytest.mark.extended
def test_a_phone_is_suppressed_and_comes_back(opened: Opener) -> None:
    operator = opened()
    later = (datetime.now(UTC) + timedelta(days=50)).strftime("%Y-%m-%dT%H:%M")
    send_one(operator, "491701239301", "Not wanted", receipt=False, time=later)
    page = operator.go("/suppressions")
    page.get_by_label("Account").select_option("demo")
    operator.follow(page.get_by_role("button", name="Show"))
    page.get_by_label("Number *", exact=True).fill("+49 170 1239301")
    operator.follow(page.get_by_role("button", name="Suppress", exact=True))
    expect(page.get_by_role("status")).to_have_text("491701239301 is suppressed now for demo.")
    row = page.get_by_role("row").filter(has_text="491701239301")
    expect(row).to_contain_text("console")
    operator.follow(row.get_by_role("link", name="491701239301"))
    expect(page.get_by_text("demo must not send to this phone")).to_be_visible()
    expect(page.locator(".badge.cancelled")).to_have_count(1)
    page = operator.go("/suppressions?account=demo")
    page.get_by_label("Numbers, each on its own line").fill("number,name\n491701239302,Ada\n12,Eve\n")
    operator.expect_refusal()
    operator.follow(page.get_by_role("button", name="Suppress all"))
    expect(page.get_by_text("Line 3")).to_be_visible()
    page.get_by_label("Skip lines without a number").check()
    operator.follow(page.get_by_role("button", name="Suppress all"))
    expect(page.get_by_role("status")).to_contain_text("1 number new, 0 suppressed already, 1 line skipped.")
    page.get_by_label("Number or its beginning").fill("4917012393")
    operator.follow(page.get_by_role("button", name="Show"))
    expect(page.get_by_role("link", name="491701239302")).to_be_visible()
    button = page.get_by_role("button", name="Remove the suppression of 491701239301")
    operator.answer(button, yes=False)
    operator.answer(button, yes=True)
    expect(page.get_by_role("status")).to_have_text("demo may send to 491701239301 again.")
    expect(page.get_by_role("link", name="491701239301")).to_have_count(0)


@pytest.mark.extended
def test_a_phone_writes_and_is_answered(opened: Opener) -> None:
    operator = opened()
    page = operator.go("/numbers")
    page.get_by_label("Number *").fill("3399")
    page.get_by_label("Account").select_option("demo")
    operator.follow(page.get_by_role("button", name="Add"))
    expect(page.get_by_role("status")).to_contain_text("Messages to 3399 now go to demo")
    page = operator.go("/simulator")
    page.get_by_label("From (the phone)").fill("491701239401")
    page.get_by_label("To (your number)").fill("4000")
    page.get_by_label("Text *").fill("Is anybody there?")
    operator.follow(page.get_by_role("button", name="Send", exact=True))
    expect(page.get_by_role("status")).to_have_text("The phone's message went to the gateway in 1 part.")
    page = operator.go("/inbound?account=-")
    reload_until(page, page.get_by_role("link", name="491701239401"))
    operator.follow(page.get_by_role("link", name="491701239401"))
    expect(page.get_by_text("No entry under Numbers matches 4000.")).to_be_visible()
    page.get_by_label("Account").select_option("demo")
    operator.follow(page.get_by_role("button", name="Assign to this account"))
    expect(page.get_by_role("status")).to_have_text("The message is demo's now.")
    operator.follow(page.get_by_role("link", name="All messages between demo and 491701239401"))
    expect(page.get_by_label("From")).to_have_value("4000")
    page.get_by_label("Text").fill("Yes, we are.")
    expect(page.locator("#quote")).to_contain_text("1 credit")
    operator.follow(page.get_by_role("button", name="Send", exact=True))
    expect(page.get_by_role("status")).to_have_text("Sent: 1 segment, 1 credit.")
    expect(page.locator(".conversation li")).to_contain_text(["Yes, we are.", "Is anybody there?"])
    operator.answer(page.get_by_role("button", name="Suppress"), yes=True)
    expect(page.get_by_text("demo must not send to this phone")).to_be_visible()
    operator.answer(page.get_by_role("button", name="Let demo send again"), yes=True)
    expect(page.get_by_text("demo may send to this phone.")).to_be_visible()
    page = operator.go("/numbers")
    operator.answer(page.get_by_role("button", name="Remove 3399"), yes=True)
    expect(page.get_by_role("row").filter(has_text="3399")).to_have_count(0)


@pytest.mark.extended
def test_the_overview_lives(chromium: Browser, tmp_path: Path) -> None:
    # a gateway of its own: what was sent before would drop out of the five minutes while one looks
    with (
        GatewayProcess(tmp_path / "data", dev=True) as gateway,
        opening(chromium, gateway, SharedPages(chromium)) as opened,
    ):
        operator, other = opened(), opened()
        accepted = operator.go("/").locator(".tile.accepted")
        expect(accepted).to_contain_text(re.compile(r"\b0 in 5 minutes"))
        send_one(other, "491701234569", "A beat")
        expect(accepted).to_contain_text(re.compile(r"\b1 in 5 minutes"))


def test_what_refreshes_itself_stays_under_a_held_button_and_when_it_has_ended(opened: Opener) -> None:
    operator = opened(own=True)  # its clock would stay with the page
    page = operator.page
    page.clock.install()
    page.add_init_script(COUNT_FETCHES)
    tile = operator.go("/").get_by_role("heading", name="Accepted")
    tile.hover()
    page.mouse.down()
    page.evaluate("asked = 0")
    page.clock.run_for(10_000)
    assert page.evaluate("asked") == 0
    page.mouse.up()
    eventually(lambda: page.evaluate("asked"), "a refresh after the button is let go")
    send_one(operator, "491701234570", "Over at once")
    reload_until(page, page.locator("[data-settled]"))  # ten seconds after its end: the guard may hold it until then
    page.evaluate("asked = 0")
    page.clock.run_for(10_000)
    assert page.evaluate("asked") == 0


@pytest.mark.extended
def test_what_cannot_be_refreshed_says_how_old_it_is(opened: Opener) -> None:
    operator = opened()
    page = operator.go("/")
    warning = page.get_by_role("alert").filter(has_text="What stands here is of")
    with operator.overload("/live"):
        expect(warning).to_be_visible()
        expect(page.locator(".stale")).to_be_visible()
    expect(warning).to_have_count(0)
    expect(page.locator(".stale")).to_have_count(0)


@pytest.mark.extended
def test_the_theme_is_chosen_and_kept(opened: Opener) -> None:
    operator = opened()
    page = operator.go("/")
    light = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.get_by_label("Colours").select_option("dark")
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert light != dark
    operator.go("/accounts")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == dark
    page.get_by_label("Colours").select_option("")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == light


def test_everything_can_be_done_with_the_keyboard_alone(opened: Opener) -> None:
    operator = opened(signed_in=False)
    page = operator.go("/sign-in")
    expect(page.get_by_label("Name")).to_be_focused()
    page.keyboard.type(USER_NAME)
    page.keyboard.press("Tab")
    expect(page.get_by_label("Password")).to_be_focused()
    page.keyboard.type(USER_PASSWORD)

    def enter(heading: str | re.Pattern[str]) -> None:
        """Presses what has the focus, which leads to the page of this heading."""
        with operator.turning():
            page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name=heading, level=1)).to_be_visible()

    enter("Overview")
    page.keyboard.press("Tab")
    expect(page.locator(".skip")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()

    def tab_to(reached: Locator) -> None:
        expect(reached).to_be_visible()
        for _ in range(60):
            page.keyboard.press("Tab")
            if reached.evaluate("element => element === document.activeElement"):
                assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
                return
        raise AssertionError(f"{reached} is not reached")

    page.reload()
    tab_to(page.get_by_role("link", name="Send", exact=True))
    enter("Send")
    tab_to(page.get_by_label("Account that pays"))
    page.keyboard.type("demo")
    expect(page.get_by_label("Account that pays")).to_have_value("demo")
    tab_to(page.get_by_label("From"))
    page.keyboard.type("Keys")
    tab_to(page.get_by_label("To", exact=True))
    page.keyboard.type("491701234560")
    tab_to(page.get_by_label("Text", exact=True))
    page.keyboard.type("By keyboard")
    tab_to(page.get_by_role("button", name="Preview"))
    enter("Preview")
    tab_to(page.get_by_role("button", name="Send 1 message"))
    enter(re.compile("^Keys "))
    expect(page.get_by_text("1 of 1 row handed in")).to_be_visible()
    tab_to(page.get_by_role("link", name="Its messages"))
    enter("Messages")
    expect(page.get_by_role("link", name="491701234560")).to_be_visible()


def test_keys_search_lead_to_pages_and_go_along_rows(opened: Opener) -> None:
    operator = opened()
    send_one(operator, "491701234591", "Keys one", receipt=False)
    send_one(operator, "491701234592", "Keys two", receipt=False)
    page = operator.page

    def press(*keys: str) -> None:
        with operator.turning():
            for key in keys:
                page.keyboard.press(key)

    page.keyboard.press("?")
    shortcuts = page.get_by_role("dialog", name="Keyboard shortcuts")
    expect(shortcuts).to_be_visible()
    page.keyboard.press("Escape")
    expect(shortcuts).not_to_be_visible()
    press("g", "m")
    expect(page.get_by_role("heading", name="Messages", level=1)).to_be_visible()
    for key, number in (("j", "491701234592"), ("j", "491701234591"), ("k", "491701234592")):
        page.keyboard.press(key)
        expect(page.get_by_role("link", name=number)).to_be_focused()
    page.keyboard.press("/")
    search = page.get_by_role("combobox", name="Search everything")
    expect(search).to_be_focused()
    page.keyboard.type("g m ? demo")
    press("Enter")
    expect(page.get_by_role("heading", name="Search for “g m ? demo”")).to_be_visible()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if "/find/suggest" in request.url else None)
    page.keyboard.press("/")
    search.evaluate(TYPE_AT_ONCE, "demo")
    option = page.get_by_role("option", name="demo Account")
    expect(option).to_be_visible()
    assert len(asked) == 1, "a request for each key"
    page.keyboard.press("ArrowDown")
    expect(option).to_have_attribute("aria-selected", "true")
    expect(search).to_have_attribute("aria-activedescendant", "suggestion-1")
    page.keyboard.press("Escape")
    expect(page.get_by_role("listbox")).not_to_be_visible()
    expect(search).to_be_focused()
    page.keyboard.type(" ")
    expect(option).to_be_visible()
    page.keyboard.press("ArrowDown")
    press("Enter")
    expect(page.get_by_role("heading", name="demo", level=1)).to_be_visible()
    page.keyboard.press("?")
    shortcuts.get_by_label("Use single-key shortcuts in this browser").uncheck()
    page.keyboard.press("Escape")
    page.reload()
    page.keyboard.press("?")
    expect(shortcuts).not_to_be_visible()
    page.get_by_role("button", name="Keyboard shortcuts").click()
    expect(shortcuts).to_be_visible()


def test_times_are_those_of_the_viewer_and_what_is_typed_too(opened: Opener) -> None:
    day = datetime.now(UTC) + timedelta(days=80)
    utc, dubai = f"{day:%Y-%m-%d} 20:00", f"{day + timedelta(days=1):%Y-%m-%d} 00:00"
    operator = opened(zone="Asia/Dubai")
    send_one(operator, "491701234541", "When is it?", receipt=False, time=utc.replace(" ", "T"))
    page = operator.go("/messages?q=491701234541")
    time = page.locator("tbody time")
    expect(time).to_have_text(f"{dubai}:00")
    expect(time).to_have_attribute("title", f"{utc}:00 UTC")
    expect(page.locator("footer")).to_contain_text("Times are in Asia/Dubai.")
    page.get_by_label("From (Asia/Dubai)").fill(dubai.replace(" ", "T"))
    page.get_by_label("To (Asia/Dubai)").fill(dubai.replace(" ", "T"))
    page.get_by_label("Account").select_option("demo")
    operator.follow(page.get_by_role("button", name="Search", exact=True))
    assert f"start={day:%Y-%m-%d}T20%3A00" in page.url
    expect(page.get_by_label("From (Asia/Dubai)")).to_have_value(dubai.replace(" ", "T"))
    expect(page.get_by_role("link", name="491701234541")).to_be_visible()
    page.get_by_label("Times").select_option("UTC")
    expect(time).to_have_text(f"{utc}:00")
    expect(page.get_by_label("From (UTC)")).to_have_value(utc.replace(" ", "T"))
    page.reload()
    expect(time).to_have_text(f"{utc}:00")
    expect(page.get_by_label("To (UTC)")).to_have_value(utc.replace(" ", "T"))
    page.get_by_label("Times").select_option("Asia/Dubai")
    # a piece that was fetched anew
    page.evaluate(PIECE)
    expect(page.locator("main time")).to_have_text("2027-01-15 12:00:00.125")


@pytest.mark.extended
def test_a_field_for_a_time_shows_that_it_has_the_focus(opened: Opener) -> None:
    """The focus is in a part of the field, so that no rule for what has the focus holds."""
    page = opened().go("/messages")
    page.get_by_label("State").focus()
    page.keyboard.press("Tab")
    field = page.get_by_label("From (UTC)")
    assert field.evaluate("field => [field.matches(':focus-within'), getComputedStyle(field).outlineStyle]") == [
        True, "solid",
    ]  # fmt: skip


@pytest.mark.extended
def test_a_chart_shows_a_single_value(opened: Opener) -> None:
    operator = opened()
    send_one(operator, "491701234590", "A single one", receipt=False)
    page = operator.go("/reports?range=24h")
    figure = page.locator("figure", has=page.get_by_role("heading", name="Delivery share", exact=True))
    painted = """canvas => {
        const green = document.createElement("canvas").getContext("2d");
        green.fillStyle = getComputedStyle(document.documentElement).getPropertyValue("--good");
        green.fillRect(0, 0, 1, 1);
        const wanted = green.getImageData(0, 0, 1, 1).data.join();
        const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
        let found = 0;
        for (let at = 0; at < data.length; at += 4) found += data.slice(at, at + 4).join() === wanted;
        return found;
    }"""
    eventually(lambda: page.reload() and figure.locator("canvas").count(), "the series are written", pause=0.5)
    assert figure.locator("canvas").evaluate(painted) > 10


@pytest.mark.extended
def test_reports_are_in_the_zone_of_who_looks(opened: Opener) -> None:
    operator = opened(zone="Asia/Dubai")
    page = operator.go("/reports?range=90d")
    main = page.locator("main")
    expect(main).to_contain_text("Times are in Asia/Dubai. The 90 days before are in UTC")
    page.get_by_label("Times").select_option("UTC")
    expect(main).not_to_contain_text("Dubai")
    # a chart that is drawn while there is nothing yet
    operator.go("/")
    expect(page.locator(".u-legend")).to_contain_text("Time, UTC")
    page.get_by_label("Times").select_option("Asia/Dubai")
    expect(page.locator(".u-legend")).to_contain_text("Time, Asia/Dubai")


@pytest.mark.extended
def test_a_phone_has_a_menu(opened: Opener) -> None:
    operator = opened(size=PHONE)
    page = operator.go("/")
    accounts = page.get_by_role("link", name="Accounts")
    expect(accounts).not_to_be_visible()
    page.get_by_role("button", name="Menu").click()
    expect(accounts).to_be_visible()
    page.keyboard.press("Escape")
    expect(accounts).not_to_be_visible()
    expect(page.get_by_role("button", name="Menu")).to_be_focused()
    page.get_by_role("button", name="Menu").click()
    operator.follow(accounts)
    expect(page.get_by_role("heading", name="Accounts", level=1)).to_be_visible()
