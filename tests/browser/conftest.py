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


class SharedPages:
    """A page of each size, for one test after the other: a browser of its own takes each test two seconds of processor
    time. A test may find a session of the test before, and nothing else."""

    def __init__(self, chromium: Browser) -> None:
        self._chromium = chromium
        self._free: dict[tuple[int, int], Page] = {}
        self._taken: dict[Page, tuple[int, int]] = {}

    def take(self, size: tuple[int, int]) -> Page | None:
        """Returns the page of this size; None while the test has it already."""
        if size in self._taken.values():
            return None
        page = self._free.pop(size, None) or new_page(self._chromium, size)
        self._taken[page] = size
        return page

    def give_back(self, page: Page) -> None:
        page.unroute_all()
        if page.url.startswith("http"):
            page.evaluate("localStorage.clear(); sessionStorage.clear()")
        page.goto("about:blank")
        page.mouse.move(0, 0)
        self._free[self._taken.pop(page)] = page

    def has(self, page: Page) -> bool:
        return page in self._taken


def new_page(chromium: Browser, size: tuple[int, int], zone: str | None = None, script: str = "") -> Page:
    """Opens a browser of its own. `script` runs first on each page."""
    context = chromium.new_context(
        viewport={"width": size[0], "height": size[1]},
        timezone_id=zone,
        accept_downloads=True,
    )
    context.set_default_timeout(PATIENCE_MS)
    if script:
        context.add_init_script(script)
    return context.new_page()


@contextmanager
def opening(chromium: Browser, gateway: GatewayProcess, shared: SharedPages) -> Iterator[Opener]:
    """Opens browsers: `opened(size=PHONE)`. With a zone or a script, or `own`, or beside another of its size, a browser
    is new. Nothing may go wrong in any of them."""
    operators: list[Operator] = []

    def open_one(
        size: tuple[int, int] = DESKTOP,
        signed_in: bool = True,
        zone: str | None = None,
        own: bool = False,
        script: str = "",
    ) -> Operator:
        page = None if zone or own or script else shared.take(size)
        operator = Operator(page or new_page(chromium, size, zone, script), gateway.url)
        operators.append(operator)
        if signed_in and shared.has(operator.page):
            operator.stay_signed_in()
        elif signed_in:
            operator.sign_in()
        else:
            operator.page.context.clear_cookies()
        return operator

    try:
        yield open_one
    finally:
        for operator in operators:
            operator.leave()
            if shared.has(operator.page):
                shared.give_back(operator.page)
            else:
                operator.page.context.close()
    assert [error for operator in operators for error in operator.errors] == []


@pytest.fixture(scope="module")
def shared_pages(chromium: Browser, gateway: GatewayProcess) -> SharedPages:
    return SharedPages(chromium)


@pytest.fixture
def opened(chromium: Browser, gateway: GatewayProcess, shared_pages: SharedPages) -> Iterator[Opener]:
    with opening(chromium, gateway, shared_pages) as opened:
        yield opened
