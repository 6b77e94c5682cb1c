"""Pages of others in a real browser: one asks for a passkey of the console, the name of one leads to the gateway."""

import json
import threading
from collections.abc import Iterator
from contextlib import closing
from html import unescape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect

from heliograph.composition.dev import USER_NAME, USER_PASSWORD
from tests.browser.conftest import FOREIGN_NAME
from tests.browser.operator import Operator
from tests.browser.test_second_factors import begin, give_authenticator, keep_codes
from tests.support.process import Admin, GatewayProcess
from tests.support.timeouts import PATIENCE_S

pytestmark = [pytest.mark.peer, pytest.mark.slow]

CONSOLE = "sms.localhost"
"""Name of the console; browsers resolve it to this machine, and take its pages for safe."""

ASK = """
async (options) => {
  try {
    const key = PublicKeyCredential.parseRequestOptionsFromJSON(options.publicKey || options);
    return { answer: (await navigator.credentials.get({ publicKey: key })).toJSON() };
  } catch (problem) {
    return { problem: problem.name };
  }
}
"""
"""Asks the visitor for a passkey, as the console's own script does."""


class Bare(BaseHTTPRequestHandler):
    """A page of somebody else."""

    def do_GET(self) -> None:
        body = b"<!doctype html><title>Win a phone</title>"
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def elsewhere() -> Iterator[int]:
    """The port of somebody else's server."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Bare)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_port
    server.shutdown()
    server.server_close()


class Phisher:
    """Somebody who has the password, and needs the passkey's answer."""

    def __init__(self, gateway: GatewayProcess, name: str, password: str) -> None:
        self._client = httpx.Client(
            base_url=f"{gateway.url}/console", headers={"Host": f"{CONSOLE}:{gateway.url.rpartition(':')[2]}"},
            timeout=PATIENCE_S,
        )  # fmt: skip
        page = self._client.post("/sign-in", data={"name": name, "password": password}).text
        self._ticket = unescape(page.partition('name="ticket" value="')[2].partition('"')[0])
        self.options: dict[str, Any] = json.loads(unescape(page.partition("data-passkey='")[2].partition("'")[0]))

    def close(self) -> None:
        self._client.close()

    def try_in(self, answer: dict[str, Any]) -> int:
        form = {"ticket": self._ticket, "passkey": json.dumps(answer)}
        return self._client.post("/sign-in/code", data=form).status_code


@pytest.fixture
def owner(chromium: Browser, gateway: GatewayProcess) -> Iterator[tuple[Page, str]]:
    """The browser of somebody who has a passkey, and the password."""
    name = "passkey-owner"
    admin = Admin(gateway.data)
    password = admin("admin", "create", name, "--role", "viewer")["password"]
    context = chromium.new_context()
    page = context.new_page()
    give_authenticator(page)
    operator = Operator(page, gateway.url.replace("127.0.0.1", CONSOLE))
    operator.sign_in(name, password)
    begin(operator, password, "Create a passkey")
    page.get_by_label("Name of the passkey").fill("Key ring")
    operator.follow(page.get_by_role("button", name="Create the passkey"))
    keep_codes(operator)
    context.clear_cookies()
    yield page, password
    context.close()
    admin("admin", "remove", name)


@pytest.mark.parametrize(
    "host",
    [
        f"evil.{CONSOLE}",
        *(pytest.param(host, marks=pytest.mark.extended) for host in (CONSOLE, "evil.localhost", "localhost")),
    ],
)
def test_a_page_elsewhere_gets_no_answer_of_a_passkey_that_signs_in(
    owner: tuple[Page, str], gateway: GatewayProcess, elsewhere: int, host: str
) -> None:
    page, password = owner
    port = gateway.url.rpartition(":")[2]
    with closing(Phisher(gateway, "passkey-owner", password)) as phisher:
        page.goto(f"http://{host}:{port}/console/sign-in" if host == CONSOLE else f"http://{host}:{elsewhere}/")
        got = page.evaluate(ASK, phisher.options)
        if host == CONSOLE:  # so that what is refused below is not refused for something else
            assert phisher.try_in(got["answer"]) == 303
        elif host == f"evil.{CONSOLE}":  # the browser lends passkeys to pages below the name they were made for
            assert phisher.try_in(got["answer"]) == 401
        else:
            assert got == {"problem": "SecurityError"}


FETCH = """
async ([path, method, body]) => {
  const form = { "Content-Type": "application/x-www-form-urlencoded" };
  const answer = await fetch(path, { method, body: body || undefined, headers: body ? form : {}, redirect: "manual" });
  return [answer.status, answer.type, await answer.text()];
}
"""


def test_a_page_whose_name_leads_to_the_gateway_gets_nothing_of_it(chromium: Browser, gateway: GatewayProcess) -> None:
    context = chromium.new_context()
    page = context.new_page()
    home = gateway.url.replace("127.0.0.1", FOREIGN_NAME)
    answer = page.goto(f"{home}/console/sign-in")
    assert answer is not None
    assert answer.status == 403
    expect(page.get_by_text("is not known by the name in this address")).to_be_visible()
    everybody = urlencode({"name": USER_NAME, "password": USER_PASSWORD})
    for path, method, body in (
        ("/console/sign-in", "POST", everybody), ("/console/", "GET", ""), ("/admin/v1/accounts", "GET", ""),
        ("/metrics", "GET", ""),
    ):  # fmt: skip
        status, kind, text = page.evaluate(FETCH, [path, method, body])
        assert (status, kind) == (403, "basic"), path
        assert "heliograph_" not in text
    assert context.cookies() == []
    context.close()


@pytest.mark.extended
def test_without_names_a_page_whose_name_leads_to_the_gateway_is_a_stranger(chromium: Browser, tmp_path: Path) -> None:
    with GatewayProcess(tmp_path / "data") as gateway:
        password = Admin(gateway.data)("admin", "create", "ada", "--role", "admin")["password"]
        context = chromium.new_context()
        operator = Operator(context.new_page(), gateway.url)
        operator.sign_in("ada", password)
        assert operator.page.evaluate(FETCH, ["/console/accounts", "GET", ""])[0] == 200
        page = context.new_page()
        page.goto(f"{gateway.url.replace('127.0.0.1', FOREIGN_NAME)}/console/sign-in")
        for path in ("/console/accounts", "/admin/v1/accounts", "/metrics"):
            status, kind, text = page.evaluate(FETCH, [path, "GET", ""])
            # what the browser keeps for the gateway's own address is not sent for this one
            assert (status, kind) in ((0, "opaqueredirect"), (401, "basic"), (403, "basic")), path
            assert "heliograph_" not in text
        assert page.evaluate(FETCH, ["/console/sign-out", "POST", "csrf=x"])[0] == 401
        assert operator.page.evaluate(FETCH, ["/console/accounts", "GET", ""])[0] == 200
        context.close()
