"""Administration takes effect within five seconds, without a restart."""

import time
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.background_sink import BackgroundSink
from tests.support.customer import Customer
from tests.support.ports import free_port
from tests.support.process import Admin, GatewayProcess, SimulatorProcess, eventually
from tests.support.slowness import Slowness
from tests.support.timeouts import PATIENCE_S

pytestmark = pytest.mark.slow

EFFECT_S = 5.0


def takes_effect(look: Callable[[], bool], what: str) -> None:
    began = time.monotonic()
    with Slowness() as slowness:
        eventually(look, what)
    assert time.monotonic() - began < slowness.within(EFFECT_S), what


def status(customer: Customer) -> int:
    return customer.request("POST", "/api/v1/account/balance").status


def not_bound(gateway: GatewayProcess) -> list[str]:
    """The connectors whose binds failed, in order."""
    return [line["connector"] for line in gateway.log() if line["event"] == "smpp.not_bound"]


def test_accounts_and_keys(data: Path, admin: Admin) -> None:
    with GatewayProcess(data) as gateway:
        account = admin.account("acme", "10")
        with (
            Customer(gateway.url, "acme", account["api_key"]) as customer,
            Customer(gateway.url, "acme", account["password"]) as by_password,
        ):
            takes_effect(lambda: status(customer) == 200, "the new account can be used")
            assert by_password.request("POST", "/api/v2/account/balance").status == 200

            admin("account", "suspend", "acme")
            takes_effect(lambda: status(customer) == 403, "the suspended account is refused")
            admin("account", "resume", "acme")
            takes_effect(lambda: status(customer) == 200, "the resumed account can be used")

            new = admin("key", "create", "acme")
            with Customer(gateway.url, "acme", new["api_key"]) as with_new_key:
                takes_effect(lambda: status(with_new_key) == 200, "the new key can be used")
                admin("key", "revoke", "acme", account["key_id"])
                takes_effect(lambda: status(customer) == 401, "the revoked key is refused")
                assert status(with_new_key) == 200

                admin("account", "top-up", "acme", "2.5")
                assert with_new_key.balance() == "12.5"

            changed = admin("account", "new-password", "acme")
            takes_effect(
                lambda: by_password.request("POST", "/api/v2/account/balance").status == 401,
                "the old password is refused",
            )
            with Customer(gateway.url, "acme", changed["password"]) as customer_again:
                assert customer_again.request("POST", "/api/v2/account/balance").status == 200
        assert gateway.stop() == 0


def test_connectors_routes_and_prices(tmp_path: Path, data: Path, admin: Admin, sink: BackgroundSink) -> None:
    account = admin.account("acme", "100")
    with (
        SimulatorProcess(tmp_path, name="one") as one,
        SimulatorProcess(tmp_path, name="two") as two,
        GatewayProcess(data) as gateway,
        Customer(gateway.url, "acme", account["api_key"]) as customer,
    ):
        body = {"to": "491700000001", "from": "Heliograph", "content": "Hi"}
        reply = customer.form("/api/v1/messages", body)
        assert (reply.status, reply.json["Field"]) == (400, "to")

        admin.operator(one.port, "one", "")
        takes_effect(lambda: customer.form("/api/v1/messages", body).status == 200, "the new route is used")
        eventually(lambda: one.destinations() == ["491700000001"], "the message at the new operator")

        def to_two(to: str) -> bool:
            customer.send(1, to=to, content="Hi")
            return eventually(lambda: to in one.destinations() + two.destinations(), to) and to in two.destinations()

        admin.operator(two.port, "two", "49")
        takes_effect(lambda: to_two("491700000002"), "the longer prefix is used")

        admin("price", "set", "--prefix", "49", "--price", "0.07")
        takes_effect(
            lambda: customer.form("/api/v1/messages/quote", {**body, "to": "491700000003"}).json["Rate"] == 0.07,
            "the price",
        )

        # what waits for an operator that is taken away goes to the next, without one it fails
        admin("connector", "set", "two", f"port={free_port()}")
        eventually(lambda: not_bound(gateway)[-1:] == ["two"], "the operator has gone")
        waiting = customer.send(1, to="491700000004", content="Waits")
        assert customer.events(waiting["Id"]) == ["Accepted", "Charged"]
        admin("connector", "remove", "two")
        takes_effect(lambda: "491700000004" in one.destinations(), "what waited goes to the other operator")

        admin("connector", "set", "one", f"port={free_port()}")
        eventually(lambda: not_bound(gateway)[-1:] == ["one"], "gone")
        doomed = customer.send(1, to="491700000005", content="Fails", dlr="1", **{"dlr-url": sink.url()})
        before = customer.balance()
        began = time.monotonic()
        with Slowness() as slowness:
            admin("connector", "remove", "one")
            form = sink.receipt(doomed["Id"]).form
        assert (form["message_status"], form["err"]) == ("REJECTD", "001")
        assert time.monotonic() - began < slowness.within(2 * EFFECT_S)
        assert customer.get(f"/api/v1/messages/{doomed['Id']}").json["Status"] == "Failed"
        assert Decimal(customer.balance()) == Decimal(before) + Decimal("0.07")
        assert gateway.stop() == 0
    admin.assert_books_right()


def test_the_command_line_answers_as_the_admin_api_does(data: Path, admin: Admin) -> None:
    with GatewayProcess(data) as gateway, SimulatorProcess(data.parent) as operator:
        admin.operator(operator.port, "op1")
        admin("price", "set", "--prefix", "49", "--price", "0.5")
        account = admin.account("acme", "10")
        secret = admin("admin", "token", "create", "mirror", "--all-scopes")["secret"]
        with Customer(gateway.url, "acme", account["api_key"]) as customer:
            asked = {"to": "491701234567", "from": "acme", "content": "Hello"}
            takes_effect(
                lambda: customer.form("/api/v1/messages/quote", asked).status == 200,
                "the account has a route and a price",
            )
            message = customer.send(1, to="491701234567", content="Hello", dlr="yes")["Id"]
            eventually(lambda: "Final" in customer.events(message), "a delivery")
            bearer = {"Authorization": f"Bearer {secret}"}

            def told(path: str) -> Any:
                return customer.request("GET", f"/admin/v1/{path}", headers=bearer).json

            username = {"username": "acme"}
            eventually(lambda: told("accounts/acme/keys")["keys"][0]["used"], "the key's use is noted")
            assert admin("account", "show", "acme") == username | told("accounts/acme")
            assert admin("account", "list") == {"accounts": [username | each for each in told("accounts")["accounts"]]}
            assert admin("account", "ledger", "acme")["entries"] == told("accounts/acme/ledger")["entries"]
            assert admin("key", "list", "acme")["keys"] == told("accounts/acme/keys")["keys"]
            # what is known of its state is a few seconds old, and becomes another between two questions
            eventually(lambda: admin("connector", "list") == told("connectors"), "both say the same of connectors")
            assert admin("route", "list") == told("routes")
            assert admin("price", "list") == told("prices")
            assert admin("message", "show", message) == told(f"messages/{message}")
            found = told("messages?number=4917")
            assert admin("message", "find", "4917") == found
            assert admin("admin", "log")["entries"] == told("audit")["entries"]
            # the gateway says every few seconds that it is bound, and what the links say changes by the second
            eventually(lambda: told("connectors/op1")["bind_state"] == "bound", "its state is known")
            shown, also = admin("connector", "show", "op1"), told("connectors/op1")
            assert shown.keys() == also.keys()
            assert [link.keys() for link in shown["links"]] == [link.keys() for link in also["links"]]
            assert shown["bind_state"] == also["bind_state"] == "bound"


def test_the_console_and_the_admin_api_are_asked_for_by_their_names_alone(data: Path, admin: Admin) -> None:
    secret = admin("admin", "token", "create", "reader", "--scope", "accounts:read")["secret"]
    with GatewayProcess(data, settings={"HELIOGRAPH_CONSOLE_NAMES": "sms.example.com"}) as gateway:
        bearer = {"Authorization": f"Bearer {secret}"}
        for host, allowed in (("sms.example.com", True), ("evil.example", False), ("127.0.0.1", True)):
            with httpx.Client(base_url=gateway.url, headers={"Host": host}, timeout=PATIENCE_S) as client:
                assert client.get("/console/sign-in").status_code == (200 if allowed else 403)
                assert client.get("/admin/v1/accounts", headers=bearer).status_code == (200 if allowed else 403)
                assert client.get("/health/live").status_code == 200
                assert client.post("/api/v1/account/balance").status_code == 401, "customers come by whatever name"
