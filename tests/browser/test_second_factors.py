"""A second factor in a real browser: an app's codes, and a passkey of the browser's virtual authenticator."""

from base64 import b32decode
from time import time

import pytest
from playwright.sync_api import Browser, Page, expect

from heliograph.composition.dev import USER_NAME, USER_PASSWORD
from heliograph.domain.security.one_time_code import STEP_MS, code
from tests.browser.conftest import PATIENCE_MS, Opener
from tests.browser.operator import Operator
from tests.browser.test_pages import SIZES, problems, wider_than_the_screen
from tests.support.process import Admin, GatewayProcess

pytestmark = [pytest.mark.peer, pytest.mark.slow]

AUTHENTICATOR = {
    "protocol": "ctap2",
    "transport": "internal",
    "hasResidentKey": True,
    "hasUserVerification": True,
    "isUserVerified": True,
    "automaticPresenceSimulation": True,
}


def give_authenticator(page: Page) -> None:
    """Lets the browser have an authenticator whose owner agrees to all."""
    tools = page.context.new_cdp_session(page)
    tools.send("WebAuthn.enable")
    tools.send("WebAuthn.addVirtualAuthenticator", {"options": AUTHENTICATOR})


def give_password(operator: Operator, name: str, password: str) -> Page:
    """Takes the first step of signing in; returns the page of the second one."""
    page = operator.go("/sign-in")
    page.get_by_label("Name").fill(name)
    page.get_by_label("Password").fill(password)
    return operator.follow(page.get_by_role("button", name="Sign in"))


def begin(operator: Operator, password: str, button: str, second: str = "") -> Page:
    """Begins to set up a factor; `second` is a recovery code, which it takes where there is a factor."""
    page = operator.go("/security")
    page.get_by_label("Your password").first.fill(password)
    operator.follow(page.get_by_role("button", name=button))
    if second:
        page.get_by_label("Code", exact=True).fill(second)
        operator.follow(page.get_by_role("button", name="Continue"))
    return page


def keep_codes(operator: Operator) -> list[str]:
    """Reads the recovery codes that are shown, and goes on."""
    page = operator.page
    expect(page.get_by_role("heading", name="Recovery codes")).to_be_visible()
    codes = page.locator("#codes").inner_text().split()
    operator.follow(page.get_by_role("link", name="I have stored them"))
    return codes


@pytest.mark.extended
def test_an_app_is_set_up_and_its_code_signs_in(opened: Opener, gateway: GatewayProcess) -> None:
    password = Admin(gateway.data)("admin", "create", "ada", "--role", "viewer")["password"]
    operator = opened(signed_in=False)
    operator.sign_in("ada", password)
    page = begin(operator, password, "Set up an app")
    expect(page.locator(".qr-code svg")).to_be_visible()
    secret = b32decode(page.locator("#secret-1").inner_text())
    page.get_by_label("Code from the app").fill(code(secret, round(time() * 1000) // STEP_MS))
    operator.follow(page.get_by_role("button", name="Add the app"))
    codes = keep_codes(operator)
    assert len(codes) == 10
    other = opened(signed_in=False)
    page = give_password(other, "ada", password)
    page.get_by_label("Code", exact=True).fill(codes[0])
    other.follow(page.get_by_role("button", name="Sign in"))
    expect(page.get_by_role("heading", name="Overview", level=1)).to_be_visible()


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.extended
def test_its_pages_are_accessible_and_fit(opened: Opener, gateway: GatewayProcess, axe: str, size: str) -> None:
    name = f"eve-{size}"
    password = Admin(gateway.data)("admin", "create", name, "--role", "viewer")["password"]
    operator = opened(size=SIZES[size], signed_in=False)
    found: list[str] = []

    def look(what: str) -> None:
        found.extend(f"{what}: {problem}" for problem in problems(operator.page, axe))
        if wider_than_the_screen(operator.page):
            found.append(f"{what}: wider than the screen")

    operator.sign_in(name, password)
    page = operator.go("/security")
    look("without a factor")
    page = begin(operator, password, "Set up an app")
    look("an app")
    secret = b32decode(page.locator("#secret-1").inner_text())
    page.get_by_label("Code from the app").fill(code(secret, round(time() * 1000) // STEP_MS))
    operator.follow(page.get_by_role("button", name="Add the app"))
    look("recovery codes")
    (kept, *_) = keep_codes(operator)
    operator.go("/security")
    look("with a factor")
    begin(operator, password, "Create a passkey")
    look("the code of a change")
    begin(operator, password, "Create a passkey", kept)
    look("a passkey")
    operator.page.context.clear_cookies()
    give_password(operator, name, password)
    look("the code")
    assert found == []


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.extended
def test_an_admin_proves_who_it_is_to_help_somebody(
    opened: Opener, gateway: GatewayProcess, axe: str, size: str
) -> None:
    name = f"nils-{size}"
    password = Admin(gateway.data)("admin", "create", name, "--role", "viewer")["password"]
    lost = opened(size=SIZES[size], signed_in=False)
    lost.sign_in(name, password)
    page = begin(lost, password, "Set up an app")
    secret = b32decode(page.locator("#secret-1").inner_text())
    page.get_by_label("Code from the app").fill(code(secret, round(time() * 1000) // STEP_MS))
    lost.follow(page.get_by_role("button", name="Add the app"))
    admin = opened(size=SIZES[size])
    page = admin.go("/people")
    admin.answer(page.get_by_role("button", name=f"Reset the second factor of {name}"), yes=True)
    expect(page.get_by_role("heading", name=f"Reset the second factor of {name}")).to_be_visible()
    assert problems(page, axe) == []
    assert not wider_than_the_screen(page)
    page.get_by_label("Your password").fill(USER_PASSWORD)
    admin.follow(page.get_by_role("button", name="Continue"))
    expect(page.get_by_text(f"{name} signs in with the password alone now.")).to_be_visible()
    lost.sign_in(name, password)
    expect(lost.page.get_by_text(f"{USER_NAME} removed your second factors on")).to_be_visible()


def test_a_passkey_is_made_and_signs_in(chromium: Browser, gateway: GatewayProcess) -> None:
    password = Admin(gateway.data)("admin", "create", "bob", "--role", "viewer")["password"]
    context = chromium.new_context()
    context.set_default_timeout(PATIENCE_MS)
    page = context.new_page()
    # a passkey belongs to a name, and an address is none
    operator = Operator(page, gateway.url.replace("127.0.0.1", "localhost"))
    give_authenticator(page)
    operator.sign_in("bob", password)
    begin(operator, password, "Create a passkey")
    page.get_by_label("Name of the passkey").fill("Key ring")
    operator.follow(page.get_by_role("button", name="Create the passkey"))
    (kept, *others) = keep_codes(operator)
    assert len(others) == 9
    expect(page.get_by_role("listitem").filter(has_text="Key ring")).to_contain_text("passkey")
    begin(operator, password, "Create a passkey", kept)
    page.get_by_role("button", name="Create the passkey").click()
    expect(page.get_by_role("alert")).to_contain_text("has a passkey for you already")
    context.clear_cookies()
    give_password(operator, "bob", password)
    operator.follow(page.get_by_role("button", name="Use a passkey"))
    expect(page.get_by_role("heading", name="Overview", level=1)).to_be_visible()
    begin(operator, password, "New recovery codes")
    operator.follow(page.get_by_role("button", name="Use a passkey"))
    assert not {kept, *others} & set(keep_codes(operator))
    operator.go("/security")
    page.locator("#p-remove").fill(password)
    operator.follow(page.get_by_role("button", name="Remove"))
    operator.follow(page.get_by_role("button", name="Use a passkey"))
    expect(page.get_by_text("The second factor is removed.")).to_be_visible()
    expect(page.get_by_text("You sign in with only your password.")).to_be_visible()
    assert operator.errors == []
    context.close()
