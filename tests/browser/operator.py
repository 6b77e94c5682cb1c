"""Somebody who looks after the gateway, in a browser."""

from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

from playwright.sync_api import ConsoleMessage, Error, Locator, Page, Request, Response, expect

from heliograph.composition.dev import USER_NAME, USER_PASSWORD


class Operator:
    """`errors` is what went wrong beside what the test looks at: errors in the browser's console, requests that
    failed, pages of another host that were asked for."""

    def __init__(self, page: Page, url: str) -> None:
        self.page = page
        self.errors: list[str] = []
        self._url = url
        self._expected = 0
        self._overloaded = "nothing"
        self._watches = {
            "console": self._said,
            "pageerror": self._failed,
            "request": self._asked,
            "response": self._answered,
        }
        for event, watch in self._watches.items():
            page.on(event, watch)  # type: ignore[call-overload]

    def leave(self) -> None:
        """Leaves the page to another operator. What goes wrong on it from now on is not this one's."""
        for event, watch in self._watches.items():
            self.page.remove_listener(event, watch)

    def expect_refusal(self) -> None:
        """One more answer of 4xx is what the test is about."""
        self._expected += 1

    @contextmanager
    def overload(self, pieces: str) -> Iterator[None]:
        """The pieces of pages whose path ends so are answered 503 while it lasts."""
        self._overloaded = pieces  # for good: the last of these answers may come when it is over
        self.page.route(f"**{pieces}", lambda route: route.fulfill(status=503, body="Too busy."))
        yield
        self.page.unroute(f"**{pieces}")

    def go(self, path: str) -> Page:
        self.page.goto(f"{self._url}/console{path}")
        return self.page

    @contextmanager
    def turning(self) -> Iterator[None]:
        """What is done in it leads to another page. That has loaded when it ends: its script runs, so that keys and
        clicks are heeded, and nothing is found any more on the page before."""
        with self.page.expect_navigation():
            yield

    def follow(self, step: Locator) -> Page:
        """Clicks what leads to another page."""
        with self.turning():
            step.click()
        return self.page

    def answer(self, button: Locator, *, yes: bool) -> None:
        """Clicks a button that asks for confirmation. With `yes` it leads to another page."""
        button.click()
        dialog = self.page.get_by_role("dialog")
        expect(dialog.get_by_role("heading")).not_to_be_empty()
        if yes:
            self.follow(dialog.locator("[value=yes]"))
        else:
            dialog.get_by_role("button", name="Keep as it is").click()
            expect(dialog).not_to_be_visible()

    def stay_signed_in(self) -> None:
        """Signs in, unless the browser still has a session."""
        page = self.go("/")
        if not page.get_by_role("heading", name="Overview", level=1).count():
            self.sign_in()

    def sign_in(self, name: str = USER_NAME, password: str = USER_PASSWORD) -> None:
        page = self.go("/sign-in")
        page.get_by_label("Name").fill(name)
        page.get_by_label("Password").fill(password)
        self.follow(page.get_by_role("button", name="Sign in"))
        expect(page.get_by_role("heading", name="Overview", level=1)).to_be_visible()

    def _failed(self, error: Error) -> None:
        self.errors.append(str(error))

    def _said(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning") and not message.text.startswith("Failed to load resource"):
            self.errors.append(f"{message.type}: {message.text}")

    def _asked(self, request: Request) -> None:
        if urlsplit(request.url).netloc not in (urlsplit(self._url).netloc, ""):
            self.errors.append(f"{request.url} is somewhere else")

    def _answered(self, response: Response) -> None:
        if response.status < 400 or (response.status == 503 and response.url.endswith(self._overloaded)):
            return
        if self._expected and response.status < 500:
            self._expected -= 1
        else:
            self.errors.append(f"{response.status} {response.url}")
