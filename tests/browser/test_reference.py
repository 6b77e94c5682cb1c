"""The pages of both APIs in a browser: examples, a search, calls with a key or a token."""

import re
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Locator, Page, expect

from heliograph.composition.dev import DEMO_API_KEY, DEMO_NAME, USER_PASSWORD
from tests.browser.conftest import DESKTOP, PHONE, Opener
from tests.browser.operator import Operator

pytestmark = [pytest.mark.peer, pytest.mark.slow]


def reference(opened: Opener, size: tuple[int, int] = DESKTOP) -> Operator:
    operator = opened(size=size, signed_in=False)
    operator.go("/../docs")
    return operator


def section(page: Page, operation: str) -> Locator:
    return page.locator(f"section[aria-labelledby={operation}]")


@pytest.mark.extended
def test_one_choice_of_a_language_holds_for_all_examples_and_the_next_visit(opened: Opener) -> None:
    page = reference(opened).page
    send, balance = section(page, "send_message"), section(page, "get_balance")
    expect(send.get_by_role("tabpanel")).to_contain_text("curl -u acme:API-KEY")
    send.get_by_role("tab", name="Java", exact=True).click()
    expect(balance.get_by_role("tabpanel")).to_contain_text("HttpClient.newHttpClient()")
    send.get_by_role("tab", name="Java", exact=True).press("ArrowLeft")
    expect(balance.get_by_role("tabpanel")).to_contain_text("curl_init")
    page.reload()
    expect(send.get_by_role("tabpanel")).to_contain_text("curl_init")


@pytest.mark.extended
def test_fields_and_errors_are_found_by_keyboard(opened: Opener) -> None:
    page = reference(opened).page
    page.keyboard.press("/")
    page.keyboard.type("reschedule")
    expect(page.get_by_label("Found").get_by_role("link").first).to_have_text("Reschedule")
    page.get_by_label("Search").fill("dlr-url")
    expect(page.get_by_label("Found").get_by_role("link").first).to_contain_text("dlr-url (Send")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("#row-send_message"))
    page.get_by_label("Search").fill("qqqq")
    expect(page.get_by_text("Nothing found")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("link", name="Errors", exact=True)).to_be_visible()


def test_a_phone_shows_the_text_before_the_contents(opened: Opener) -> None:
    page = reference(opened, PHONE).page
    expect(page.get_by_role("heading", level=1)).to_be_in_viewport()
    errors = page.get_by_role("link", name="Errors", exact=True)
    expect(errors).to_be_hidden()
    page.get_by_text("Contents", exact=True).click()
    expect(errors).to_be_visible()


def test_operations_are_called_with_ones_own_key(opened: Opener) -> None:
    operator = reference(opened)
    page = operator.page
    send = section(page, "send_message")
    send.get_by_text("Try it here").click()
    quote = section(page, "quote_message")
    quote.get_by_text("Try it here").click()
    operator.expect_refusal()
    quote.get_by_role("button", name="Call it").click()
    expect(quote.get_by_role("status")).to_contain_text("401 Unauthorized")
    page.get_by_label("User name").fill(DEMO_NAME)
    page.get_by_label("API key, for v1").fill(DEMO_API_KEY)
    quote.get_by_role("button", name="Call it").click()
    expect(quote.get_by_role("status")).to_contain_text("200 OK")
    expect(quote.get_by_role("status")).to_contain_text("x-request-id")
    send.get_by_role("button", name="Call it").click()
    expect(send.get_by_role("status")).to_contain_text('"Status": "00"')
    send.get_by_label("Body", exact=True).evaluate("each => each.value = each.value.replace('Hello', 'Hi')")
    send.get_by_role("button", name="Call it").click()
    expect(send.get_by_role("button", name="Call it")).to_be_enabled()
    expect(send.get_by_role("status")).to_contain_text("200 OK")
    message = send.get_by_role("status").inner_text().partition('"Id": "')[2][:32]
    get = section(page, "get_message")
    get.get_by_text("Try it here").click()
    get.get_by_label("id", exact=True).fill(message)
    get.get_by_role("button", name="Call it").click()
    expect(get.get_by_role("status")).to_contain_text(message)


def test_copied_examples_have_the_gateways_address_and_the_credentials(opened: Opener) -> None:
    operator = reference(opened)
    page = operator.page
    page.evaluate("navigator.clipboard.writeText = async (text) => { window.copied = text }")
    balance = section(page, "get_balance")
    page.get_by_label("User name").fill(DEMO_NAME)
    page.get_by_label("API key, for v1").fill(DEMO_API_KEY)
    origin = page.evaluate("location.origin")
    expect(balance.get_by_role("tabpanel")).to_contain_text(f"curl -u {DEMO_NAME}:•••••••• -X POST {origin}/api/v1/")
    balance.get_by_role("button", name="Copy").first.click()
    command = f"curl -u {DEMO_NAME}:{DEMO_API_KEY} -X POST {origin}/api/v1/account/balance"
    assert page.evaluate("window.copied") == command
    expect(balance.get_by_role("button", name="Copied")).to_be_visible()
    page.get_by_label("API key, for v1").fill('it\'s "quoted"')
    expect(balance.get_by_role("tabpanel")).to_contain_text(f"{DEMO_NAME}:API-KEY")


def test_the_admin_api_is_called_with_a_token_that_the_console_made(opened: Opener) -> None:
    operator = opened()
    page = operator.go("/people")
    page.get_by_label("Name of a new token").fill("browser")
    page.get_by_label("accounts:read", exact=True).check()
    operator.follow(page.get_by_role("button", name="Create the token"))
    page.get_by_label("Your password").fill(USER_PASSWORD)
    operator.follow(page.get_by_role("button", name="Continue"))
    token = page.locator("#secret-1").inner_text()
    operator.follow(page.locator("footer").get_by_role("link", name="admin API"))
    assert urlsplit(page.url).path == "/admin/docs"
    page.evaluate("navigator.clipboard.writeText = async (text) => { window.copied = text }")
    get = section(page, "get_account")
    get.get_by_text("Try it here").click()
    get.get_by_label("name", exact=True).fill(DEMO_NAME)
    operator.expect_refusal()
    get.get_by_role("button", name="Call it").click()
    expect(get.get_by_role("status")).to_contain_text("401 Unauthorized")
    page.get_by_label("Admin token").fill(token)
    get.get_by_role("button", name="Call it").click()
    expect(get.get_by_role("status")).to_contain_text("200 OK")
    expect(get.get_by_role("status")).to_contain_text(f'"name": "{DEMO_NAME}"')
    expect(get.get_by_role("tabpanel")).to_contain_text('"Authorization: Bearer ••••••••"')
    get.get_by_role("button", name="Copy").first.click()
    origin = page.evaluate("location.origin")
    command = f'curl -H "Authorization: Bearer {token}" \\\n     {origin}/admin/v1/accounts/acme'
    assert page.evaluate("window.copied") == command


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.extended
@pytest.mark.parametrize("path", ["/../docs", "/../admin/docs"], ids=["customers", "admin"])
def test_axe_finds_nothing_on_the_page(opened: Opener, axe: str, scheme: str, path: str) -> None:
    page = opened(size=PHONE, signed_in=False).go(path)
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    for each in page.get_by_text("Try it here").all()[1:3]:
        each.click()
    # The template of all sections is the same. With a hundred sections axe takes minutes.
    page.evaluate("[...document.querySelectorAll('main > section')].slice(8, -2).forEach((each) => each.remove())")
    page.evaluate("[...document.querySelectorAll('#answers > :nth-child(n+20)')].forEach((each) => each.remove())")
    page.evaluate(axe)
    found = page.evaluate("axe.run()")["violations"]
    assert [(each["id"], [node["html"][:200] for node in each["nodes"]]) for each in found] == []
