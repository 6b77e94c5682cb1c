"""Every page of the console: accessible, without errors, within the screen, in light and dark, on desktop and phone."""

import socket
import urllib.error
import urllib.request
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import DESKTOP, PHONE, Opener
from tests.browser.operator import Operator
from tests.browser.test_journeys import send_one
from tests.support.ports import free_port
from tests.support.process import Admin, GatewayProcess, eventually
from tests.support.smpplib_client import SmpplibClient

pytestmark = [pytest.mark.peer, pytest.mark.slow]

PAGES = (
    "/", "/find", "/find?q=4917", "/find?q=de", "/messages",
    "/messages?q=4917&account=demo", "/messages?live=yes&sender=heliograph", "/messages?direction=both",
    "/send", "/accounts", "/accounts-new", "/accounts/demo", "/accounts/demo/ledger",

    "/connectors", "/connectors-new", "/connectors/op-berlin", "/connectors/simulator",
    "/routing?number=4930123456&account=demo", "/prices?plan=gold&price_prefix=49&price=0.07",
    "/callbacks", "/callbacks?tab=pending", "/callbacks?tab=failed",
    "/people", "/audit", "/password", "/simulator", "/suppressions", "/suppressions?account=demo",
    "/suppressions?account=closed", "/recipients", "/inbound", "/inbound?account=-", "/numbers", "/templates",
    "/senders", "/networks", "/costs", "/plans", "/coverage", "/coverage?only=problems", "/guard",
    "/security", "/binds", "/queue", "/queue?connector=op-berlin&country=DE",
    "/conversation?account=demo&phone=447700909024", "/conversation?account=demo&phone=447700900123", "/refusals",
    "/reports", f"/margin?from={datetime.now(UTC).date() - timedelta(days=90)}", "/sender-rules", "/lists", "/lists/1",
    "/refusals?account=demo&hours=168", "/reports?range=1y&compare=yes&account=demo",
)  # fmt: skip

SIZES = {"desktop": DESKTOP, "phone": PHONE}

COLOURS = ["color-contrast", "link-in-text-block"]
"""The rules of axe-core that colours decide: all that differs between light and dark."""

TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]

HOLD_STILL = """
for (const part of document.querySelectorAll("[data-refresh]")) {
    Object.defineProperty(part, "innerHTML", {configurable: true, set() {}});  // again on the same page, too
};
"""


@pytest.fixture(scope="module")
def lived_in(gateway: GatewayProcess) -> Iterator[GatewayProcess]:
    """A gateway with something on every page."""
    admin = Admin(gateway.data)
    admin("connector", "add", "op-berlin", "--host", "127.0.0.1", "--port", "9", "--system-id", "a", "--password", "b")
    admin("route", "add", "--prefix", "4930", "--connector", "op-berlin")
    admin("price", "set", "--prefix", "49", "--price", "0.07")
    admin("account", "create", "closed", "--credit", "0")
    admin("account", "suspend", "closed")
    admin("suppression", "add", "491701239077", "447700900123", "--account", "demo")
    text = "Dear {#var#}, your bill of {#numeric#} is due on {#var#}. See {#url#}. Heliograph, with thanks"
    tlvs = ("--tlv", "entity=1101456780000012345", "--tlv", "template=1107161234567890123")
    admin("template", "add", "the-longest-name-of-a-template", "--text", text, "--sender", "HELIO", *tlvs)
    admin("admin", "create", "bob", "--role", "viewer")
    admin("admin", "token", "create", "billing", "--all-scopes")
    _be_refused(gateway)
    eventually(lambda: admin("refusals")["requests"], "a refused request to be written down", pause=0.5)
    client = SmpplibClient(gateway.smpp, "receiver")
    yield gateway
    client.close()


@pytest.fixture(scope="module")
def nobody() -> Iterator[str]:
    """The address of a receiver that is not there, at a port that receivers may have: taken, so that nobody comes."""
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", free_port()))
        yield f"127.0.0.1:{silent.getsockname()[1]}"


@pytest.fixture(params=["phone", pytest.param("desktop", marks=pytest.mark.extended)])
def operator(
    request: pytest.FixtureRequest, opened: Opener, lived_in: GatewayProcess, nobody: str, axe: str
) -> Operator:
    operator = opened(size=SIZES[request.param], script=axe)
    _send(operator, nobody)
    return operator


def _be_refused(gateway: GatewayProcess) -> None:
    request = urllib.request.Request(
        f"{gateway.url}/api/v1/messages",
        b"from=Heliograph&content=To+nobody",
        {"Authorization": "Basic ZGVtbzpkZW1vLWFwaS1rZXk=", "X-Request-Id": "r" * 128},
    )
    with pytest.raises(urllib.error.HTTPError, match="400"):
        urllib.request.urlopen(request)


def _send(operator: Operator, nobody: str) -> None:
    """A message whose receipt nobody takes, and one that waits."""
    page = operator.page
    for number, url in (("491701239001", f"http://{nobody}/"), ("4930123456", "")):
        message = {"to": number, "from": "Heliograph", "content": "Looked at", "dlr": "yes" if url else "no"}
        answered = page.request.post(
            page.url.split("/console")[0] + "/api/v1/messages",
            headers={"Authorization": "Basic ZGVtbzpkZW1vLWFwaS1rZXk="},
            form={**message, "dlr-url": url},
        )
        assert answered.ok
    _write_back(page)


def _write_back(page: Page) -> None:
    """A phone that answers; returns when the answer is there."""
    url, headers = page.url.split("/console")[0], {"Authorization": "Basic ZGVtbzpkZW1vLWFwaS1rZXk="}
    message: dict[str, str | float | bool] = {
        "to": "447700909024",
        "from": "3388",
        "content": "Shall we deliver on Friday?",
    }
    assert page.request.post(f"{url}/api/v1/messages", headers=headers, form=message).ok
    assert page.request.get(f"{url}/account/v1/inbound?wait=20", headers=headers).json()["count"] > 0


def problems(page: Page, axe: str = "") -> list[str]:
    """Returns what axe-core finds, a line each, in light and in dark. `axe` is its source, unless it runs on each page
    anyway. What refreshes itself holds still: axe looks at what it found at the start."""
    page.evaluate(HOLD_STILL)
    if axe:
        page.evaluate(axe)
    found = _run(page, "light", {"type": "tag", "values": TAGS})
    return found + _run(page, "dark", {"type": "rule", "values": COLOURS})


def _run(page: Page, scheme: Literal["light", "dark"], rules: dict[str, Any]) -> list[str]:
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")  # or colours would be on their way
    options = {"runOnly": rules, "resultTypes": ["violations"]}  # or it would describe all that is right, too
    violations = page.evaluate("options => axe.run(document, options).then((found) => found.violations)", options)
    return [
        f"{scheme}: {violation['id']}: {node['target']} {node['failureSummary']}"
        for violation in violations
        for node in violation["nodes"]
    ]


def wider_than_the_screen(page: Page) -> bool:
    return bool(page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth"))


@pytest.mark.minutes
def test_every_page_is_accessible_and_fits(operator: Operator, nobody: str) -> None:
    eventually(lambda: operator.go("/callbacks?tab=pending").get_by_text(nobody).count(), "a callback that fails")
    send_one(operator, "491701239003", "A list", receipt=False)
    found = []
    for path in PAGES:
        page = operator.go(path)
        expect(page.locator("[aria-busy]")).to_have_count(0)
        found += [f"{path}: {problem}" for problem in problems(page)]
        if wider_than_the_screen(page):
            found.append(f"{path}: wider than the screen")
    page = operator.go("/")
    page.get_by_role("combobox", name="Search everything").press_sequentially("de")
    suggestions = page.get_by_role("listbox", name="Suggestions").get_by_role("option")
    expect(suggestions.first).to_be_visible()
    page.keyboard.press("ArrowDown")
    expect(suggestions.and_(page.get_by_role("option", selected=True))).to_have_count(1)
    found += [f"suggestions: {problem}" for problem in problems(page)]
    if wider_than_the_screen(page):
        found.append("suggestions: wider than the screen")
    page = operator.go("/messages?q=491701239001")
    operator.follow(page.locator("tbody th a").first)
    found += [f"a message: {problem}" for problem in problems(page)]
    if wider_than_the_screen(page):
        found.append("a message: wider than the screen")
    assert found == []


def test_figures_that_take_a_while_come_after_the_page(operator: Operator) -> None:
    page = operator.go("/margin?country=yes")
    expect(page.get_by_role("heading", name="By country")).to_be_visible()
    expect(page.get_by_role("group", name="Chart: Margin").locator("canvas")).to_be_visible()
    page.route("**/margin/figures*", lambda route: route.abort())
    operator.page.reload()
    expect(page.get_by_role("alert")).to_have_text("The gateway gives no figures. Reload the page to try again.")


def test_the_page_to_sign_in_is_accessible_too(opened: Opener, lived_in: GatewayProcess, axe: str) -> None:
    for size in SIZES.values():
        operator = opened(size=size, signed_in=False, script=axe)
        page = operator.go("/sign-in")
        assert problems(page) == []
        assert not wider_than_the_screen(page)
        operator.expect_refusal()
        page.goto(page.url.replace("/sign-in", "/assets/nothing"))
        assert problems(page) == []


@pytest.mark.extended
def test_what_goes_wrong_is_accessible_too(opened: Opener, lived_in: GatewayProcess, axe: str) -> None:
    operator = opened(script=axe)
    page = operator.go("/accounts/demo")
    page.get_by_label("Top up by").fill("much")
    operator.expect_refusal()
    operator.follow(page.get_by_role("button", name="Top up"))
    expect(page.get_by_role("alert")).to_be_visible()
    assert problems(page) == []
    page = operator.go("/suppressions?account=demo")
    page.get_by_label("Numbers, each on its own line").fill("491701239078\n0170 12")
    operator.expect_refusal()
    operator.follow(page.get_by_role("button", name="Suppress all"))
    expect(page.get_by_text("Line 2")).to_be_visible()
    assert problems(page) == []
    page = operator.go("/prices")
    page.get_by_label("CSV with the columns").fill("prefix,price\n0,1\n49,much\n")
    operator.expect_refusal()
    operator.follow(page.get_by_role("button", name="Preview"))
    expect(page.get_by_text("Line 3")).to_be_visible()
    assert problems(page) == []
    page = operator.go("/connectors/op-berlin")
    page.get_by_text("Other fields of a message").click()
    page.get_by_label("priority").fill("9")
    operator.expect_refusal()
    operator.follow(page.get_by_role("button", name="Save"))
    expect(page.get_by_label("priority")).to_be_visible()
    assert problems(page) == []
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()
    assert problems(page) == []
    page = operator.go("/send")
    page.get_by_label("Account that pays").select_option("demo")
    page.get_by_label("From").fill("Heliograph")
    page.get_by_label("To", exact=True).fill("number;name\n491701234567;Ada\n12;Eve")
    page.get_by_label("Text", exact=True).fill("Hi {name}")
    operator.follow(page.get_by_role("button", name="Preview"))
    expect(page.get_by_role("heading", name="Preview")).to_be_visible()
    assert problems(page) == []
    operator.follow(page.get_by_role("button", name="Send 1 message"))
    expect(page.get_by_role("link", name="Result file")).to_be_visible()
    assert problems(page) == []
