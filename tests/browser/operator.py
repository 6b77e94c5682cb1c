"""Somebody who looks after the gateway, in a browser."""

from urllib.parse import urlsplit

from playwright.sync_api import ConsoleMessage, Page, Request, Response

from heliograph.dev import OPERATOR_NAME, OPERATOR_PASSWORD


class Operator:
    """`errors` is what went wrong beside what the test looks at: errors in the browser's console, requests that
    failed, pages of another host that were asked for."""

    def __init__(self, page: Page, url: str) -> None:
        self.page = page
        self.errors: list[str] = []
        self._url = url
        self._expected = 0
        page.on("console", self._said)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("request", self._asked)
        page.on("response", self._answered)

    def expect_refusal(self) -> None:
        """One more answer of 4xx is what the test is about."""
        self._expected += 1

    def go(self, path: str) -> Page:
        self.page.goto(f"{self._url}/console{path}")
        return self.page

    def sign_in(self, name: str = OPERATOR_NAME, password: str = OPERATOR_PASSWORD) -> None:
        page = self.go("/sign-in")
        page.get_by_label("Name").fill(name)
        page.get_by_label("Password").fill(password)
        page.get_by_role("button", name="Sign in").click()
        page.get_by_role("heading", name="Overview", level=1).wait_for()

    def _said(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning") and not message.text.startswith("Failed to load resource"):
            self.errors.append(f"{message.type}: {message.text}")

    def _asked(self, request: Request) -> None:
        if urlsplit(request.url).netloc not in (urlsplit(self._url).netloc, ""):
            self.errors.append(f"{request.url} is somewhere else")

    def _answered(self, response: Response) -> None:
        if response.status < 400:
            return
        if self._expected and response.status < 500:
            self._expected -= 1
        else:
            self.errors.append(f"{response.status} {response.url}")
