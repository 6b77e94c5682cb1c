"""A development run, and headless Chromium to look at it with."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.browser.operator import Operator
from tests.support.peers import CHROMIUM, NODE_MODULES, foreign_file
from tests.support.process import GatewayProcess
from tests.support.timeouts import PATIENCE_S

FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--no-first-run", "--host-resolver-rules=MAP rebound.test 127.0.0.1",
]  # fmt: skip

FOREIGN_NAME = "rebound.test"
"""The name of somebody else's page, which the browser finds on this machine."""

PATIENCE_MS = PATIENCE_S * 1000
"""For all that Playwright waits for."""

DESKTOP, PHONE = (1280, 860), (390, 844)

Opener = Callable[..., Operator]


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """For one module: while it is there, no test with an event loop of its own can run in this process."""
    program = foreign_file(CHROMIUM, "Debian's chromium")
    expect.set_options(timeout=PATIENCE_MS)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=FLAGS, timeout=PATIENCE_MS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def axe() -> str:
    """The source of axe-core."""
    path = NODE_MODULES / "axe-core" / "axe.min.js"
    return foreign_file(path, "npm's axe-core").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewayProcess]:
    """A development run, for the tests of one module: each of them finds what others left, in no certain order."""
    settings = {"HELIOGRAPH_SMPP_SERVER_LISTEN": "127.0.0.1:0"}
    with GatewayProcess(tmp_path_factory.mktemp("console") / "data", dev=True, settings=settings) as gateway:
        yield gateway


@contextmanager
def opening(chromium: Browser, gateway: GatewayProcess) -> Iterator[Opener]:
    """Opens browsers of their own: `opened(size=PHONE)`. Nothing may go wrong in any of them."""
    operators: list[Operator] = []

    def open_one(size: tuple[int, int] = DESKTOP, signed_in: bool = True, zone: str | None = None) -> Operator:
        context = chromium.new_context(
            viewport={"width": size[0], "height": size[1]},
            timezone_id=zone,
            accept_downloads=True,
        )
        context.set_default_timeout(PATIENCE_MS)
        page: Page = context.new_page()
        operator = Operator(page, gateway.url)
        operators.append(operator)
        if signed_in:
            operator.sign_in()
        return operator

    try:
        yield open_one
    finally:
        for operator in operators:
            operator.page.context.close()
    assert [error for operator in operators for error in operator.errors] == []


@pytest.fixture
def opened(chromium: Browser, gateway: GatewayProcess) -> Iterator[Opener]:
    with opening(chromium, gateway) as opened:
        yield opened
