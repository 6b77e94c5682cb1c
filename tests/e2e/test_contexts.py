"""Commands on a gateway elsewhere do and say what they do and say on its own machine."""

import json
import stat
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from heliograph.cli.main import heliograph
from tests.support.customer import Customer
from tests.support.process import Admin, GatewayProcess, SimulatorProcess, eventually

pytestmark = pytest.mark.slow


class Desk:
    """Somebody who administers one gateway, here and from elsewhere."""

    def __init__(self, data: Path, url: str, token: str) -> None:
        self.data, self.url, self.token = data, url, token

    def here(self, *arguments: str, **options: Any) -> dict[str, Any]:
        return told(typed("--data", str(self.data), *arguments, "--json", **options))

    def elsewhere(self, *arguments: str, **options: Any) -> dict[str, Any]:
        return told(typed("--context", "prod", *arguments, "--json", **options))

    def same(self, *arguments: str) -> dict[str, Any]:
        """Asks both ways; the answers must be equal, and people must be shown the same."""
        # between two questions a minute may begin, or the gateway write down what it has counted
        return eventually(lambda: self._same(*arguments), f"the same answer to {' '.join(arguments)}", pause=0.3)

    def _same(self, *arguments: str) -> dict[str, Any] | None:
        there, here = self.elsewhere(*arguments), self.here(*arguments)
        shown = [typed(*where, *arguments) for where in (("--context", "prod"), ("--data", str(self.data)))]
        assert [each.exit_code for each in shown] == [0, 0]
        return there if (there, shown[0].stdout) == (here, shown[1].stdout) else None


def typed(*arguments: str, **options: Any) -> Result:
    return CliRunner().invoke(heliograph, list(arguments), prog_name="heliograph", **options)


def told(result: Result) -> dict[str, Any]:
    assert result.exit_code == 0, result.stderr
    found: dict[str, Any] = json.loads(result.stdout)
    return found


@pytest.fixture
def desk(tmp_path: Path, data: Path, admin: Admin, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("HELIOGRAPH_CONTEXT", raising=False)
    monkeypatch.delenv("HELIOGRAPH_TOKEN", raising=False)
    monkeypatch.chdir(tmp_path)
    token = admin("admin", "token", "create", "all", "--all-scopes")["secret"]
    with GatewayProcess(data) as gateway:
        added = typed("context", "add", "prod", "--server", gateway.url, "--json", input=f"{token}\n")
        assert told(added) == {"name": "prod", "server": gateway.url, "current": True}
        assert token not in added.output
        yield Desk(data, gateway.url, token)


def test_accounts_and_what_they_pay(desk: Desk, tmp_path: Path) -> None:
    made = desk.elsewhere(
        "account", "create", "acme", "--credit", "12.5", "--timezone", "Europe/Berlin", "--list-interval", "3"
    )
    assert (made["balance"], made["timezone"], made["plan"]) == ("12.5", "Europe/Berlin", "default")
    assert {"password", "api_key", "signing_secret", "key_id", "username"} <= set(made)
    changes = ("credit_limit=2.5", "senders=ACME,Acme2", "networks=127.0.0.0/8", "list_interval=default", "rate=5")
    desk.elsewhere("account", "set", "acme", *changes)
    shown = desk.same("account", "show", "acme")
    assert (shown["credit_limit"], shown["senders"], shown["list_interval"]) == ("2.5", ["ACME", "Acme2"], None)
    assert desk.elsewhere("account", "top-up", "acme", "-1.25", "--note", "less")["balance"] == "11.25"
    assert [each["amount"] for each in desk.same("account", "ledger", "acme")["entries"]] == ["-1.25", "12.5"]
    assert desk.elsewhere("account", "ledger", "acme", "--limit", "1")["entries"][0]["amount"] == "-1.25"
    desk.elsewhere("account", "suspend", "acme")
    assert desk.same("account", "list")["accounts"][0]["suspended"]
    desk.elsewhere("account", "resume", "acme")
    key = desk.elsewhere("key", "create", "acme")
    desk.elsewhere("key", "revoke", "acme", made["key_id"])
    assert [each["revoked"] is None for each in desk.same("key", "list", "acme")["keys"]].count(True) == 1
    assert desk.elsewhere("account", "new-password", "acme")["password"]
    assert desk.elsewhere("account", "new-signing-secret", "acme")["signing_secret"].startswith("whsec_")
    with Customer(desk.url, "acme", key["api_key"]) as customer:
        assert customer.balance() == "11.25"
    desk.elsewhere("price", "set", "--prefix", "49", "--price", "0.05", "--inbound", "0.01")
    desk.elsewhere("price", "set", "--prefix", "49", "--price", "0.06", "--since", "2100-01-01")
    rates = tmp_path / "rates.csv"
    rates.write_text("prefix,price,since\n44,0.07,\n44,0.08,2100-01-01\n")
    assert desk.elsewhere("price", "import", str(rates), "--dry-run")["added"] == 2
    assert desk.elsewhere("price", "import", str(rates))["added"] == 2
    assert len(desk.same("price", "list")["prices"]) == 4
    exported = [
        typed(*where, "price", "export").stdout for where in (("--context", "prod"), ("--data", str(desk.data)))
    ]
    assert exported[0] == exported[1]
    desk.elsewhere("price", "remove", "--prefix", "44", "--since", "")
    assert [each["price"] for each in desk.same("price", "list")["prices"]] == ["0.08", "0.05", "0.06"]
    actors = {each["actor"].partition(":")[0] for each in desk.same("admin", "log", "--limit", "1000")["entries"]}
    assert actors == {"token", "cli"}


def test_the_network_and_what_phones_write_to(desk: Desk, tmp_path: Path) -> None:
    desk.elsewhere("account", "create", "acme", "--credit", "5")
    with SimulatorProcess(tmp_path, name="one") as one:
        bind = ("--host", "127.0.0.1", "--port", str(one.port), "--system-id", "acme", "--password", "longer than 8")
        added = typed(
            "--context",
            "prod",
            "connector",
            "add",
            "op1",
            *bind,
            "--window",
            "20",
            "--option",
            "system_type=X",
            "--json",
        )
        assert told(added)["options"] == {"system_type": "X"}
        assert "note: the password has 13 characters" in added.stderr
        changed = desk.elsewhere("connector", "set", "op1", "rate=10", "system_type=", "--window", "5")
        assert (changed["rate"], changed["window"], changed["options"]) == (10.0, 5, {})
        assert desk.elsewhere("connector", "list")["connectors"][0]["name"] == "op1"
        assert desk.elsewhere("connector", "show", "op1")["host"] == "127.0.0.1"
        assert desk.elsewhere("connector", "test", "op1")["ok"]
    route = desk.elsewhere("route", "add", "--prefix", "44", "--connector", "op1", "--priority", "-3")
    assert route.pop("note") == ""
    assert desk.same("route", "list")["routes"] == [route]
    desk.elsewhere("route", "remove", str(route["id"]))
    number = desk.elsewhere("number", "add", "3388", "--account", "acme", "--keyword", "PIZZA")
    assert desk.same("number", "list")["numbers"] == [number]
    desk.elsewhere("number", "remove", str(number["id"]))
    assert desk.same("inbound", "list")["messages"] == []
    assert desk.elsewhere("suppression", "add", "491701234567", "447700900123", "--account", "acme")["added"] == 2
    assert len(desk.same("suppression", "list", "--account", "acme")["suppressions"]) == 2
    desk.elsewhere("suppression", "remove", "491701234567", "--account", "acme")
    desk.elsewhere("template", "add", "otp", "--text", "Your code is {#numeric#}.", "--tlv", "entity=1")
    desk.elsewhere("template", "set", "otp", "--sender", "HELIO")
    assert desk.same("template", "show", "otp")["sender"] == "HELIO"
    assert desk.same("template", "list")["templates"]
    assert desk.same("template", "check", "--sender", "HELIO", "--text", "Your code is 4711.")["fits"]
    desk.elsewhere("template", "remove", "otp")
    desk.elsewhere("connector", "remove", "op1")
    assert desk.same("connector", "list")["connectors"] == []


def test_messages_and_callbacks(desk: Desk, tmp_path: Path) -> None:
    made = desk.elsewhere("account", "create", "acme", "--credit", "5")
    with SimulatorProcess(tmp_path, name="one") as one, Customer(desk.url, "acme", made["api_key"]) as customer:
        bind = ("--host", "127.0.0.1", "--port", str(one.port), "--system-id", "acme", "--password", "secret")
        desk.elsewhere("connector", "add", "op1", *bind)
        desk.elsewhere("route", "add", "--prefix", "", "--connector", "op1")
        body = {"to": "491701234567", "from": "ACME", "content": "Hi", "reference": "a-1"}
        send = lambda: customer.form("/api/v1/messages", body | {"time": _in_a_day()}).json.get("Id")  # noqa: E731
        message = str(eventually(send, "the route is there"))
    for search in (
        (),
        (message,),
        ("4917",),
        ("a-1",),
        ("--account", "acme", "--status", "scheduled"),
        ("--connector", "op1", "--sender", "acme"),
        ("--country", "DE"),
        (message, "--country", "DE"),
    ):
        assert [each["id"] for each in desk.same("message", "find", *search)["messages"]] == [message]
        if "--status" not in search:
            assert desk.same("message", "find", "--held", *search)["messages"] == []
    for search in (("--error", "011"), ("--country", "GB"), (message, "--error", "UNDELIV"), ("a-1", "--sender", "x")):
        assert desk.same("message", "find", *search)["messages"] == []
    assert "There is no connector op9" in typed("--context", "prod", "message", "find", "--connector", "op9").stderr
    assert desk.same("message", "show", message)["content"] == "Hi"
    moved = desk.elsewhere("message", "reschedule", message, _in_a_day("12:00:00"))
    assert moved["time"].endswith("T12:00:00.000Z")
    assert desk.elsewhere("message", "cancel", message) == {"id": message, "cancelled": True}
    again = typed("--context", "prod", "message", "cancel", message)
    assert again.exit_code == 1
    assert "error: " in again.stderr
    assert desk.same("callbacks", "status") == {"pending": 0, "failed": 0, "receivers": []}
    assert desk.elsewhere("callbacks", "replay", "--all") == {"replayed": 0}
    assert desk.elsewhere("refusals")["requests"] >= 0


@pytest.mark.extended
def test_senders_holds_reports_and_phones(desk: Desk, tmp_path: Path) -> None:
    made = desk.elsewhere("account", "create", "acme", "--credit", "5")
    assert desk.elsewhere("sender", "add", "ACME", "PayPal", "--account", "acme")["new"] == 2
    desk.elsewhere("sender", "approve", "ACME", "--account", "acme", "--note", "seen")
    desk.elsewhere("sender", "refuse", "PayPal", "--account", "acme")
    assert [each["state"] for each in desk.same("sender", "list", "--account", "acme")["senders"]] == [
        "approved", "refused",
    ]  # fmt: skip
    assert desk.same("sender", "list", "--state", "pending")["senders"] == []
    desk.elsewhere("sender", "remove", "PayPal", "--account", "acme")
    assert desk.same("guard", "list")["holds"] == []
    missing = typed("--context", "prod", "guard", "release", "49170", "--account", "acme")
    assert "no hold of acme to 49170" in missing.stderr
    with Customer(desk.url, "acme", made["api_key"]) as customer:
        customer.form("/api/v1/messages", {"to": "491701234567", "content": "Hi"})
    eventually(lambda: desk.here("report", "--range", "1h")["total"]["refused"], "the series to be written", pause=0.3)
    for by in ("account", "connector", "country", "time", "reason", "code"):
        desk.same("report", "--range", "24h", "--by", by, "--compare")
        eventually(lambda by=by: same_table(desk, by), "the same table", pause=0.3)  # type: ignore[misc]
    assert "acme" in typed("--context", "prod", "report", "--by", "account").stdout
    assert "no account nobody" in typed("--context", "prod", "report", "--account", "nobody").stderr
    assert desk.same("erase", "491701234567", "--dry-run")["dry_run"] is True
    exported = typed("--context", "prod", "export-recipient", "491701234567", "-")
    assert json.loads(exported.stdout)["number"] == "491701234567"
    file = tmp_path / "phone.json"
    assert desk.elsewhere("export-recipient", "491701234567", str(file))["messages"] == 0
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def same_table(desk: Desk, by: str) -> bool:
    wheres = (("--context", "prod"), ("--data", str(desk.data)))
    there, here = (typed(*where, "report", "--by", by, "--csv").stdout for where in wheres)
    return there == here


def test_what_a_context_cannot_do_is_said(desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for command in (
        ("audit",),
        ("top",),
        ("doctor",),
        ("admin", "list"),
        ("receipts", "unmatched"),
        ("log-level", "debug"),
    ):
        result = typed(*command)
        assert result.exit_code == 1, command
        assert "this command works only on the gateway's machine; the context prod" in result.stderr
    assert typed("--context", "prod", "settings").exit_code == 1
    assert typed("settings").exit_code == 0
    assert "give only one" in typed("--context", "prod", "--data", "x", "account", "list").stderr
    assert "there is no context x" in typed("--context", "x", "account", "list").stderr
    assert "There is no account nobody" in typed("account", "show", "nobody").stderr
    told(typed("context", "use", "local", "--json"))
    assert told(typed("--data", str(desk.data), "account", "list", "--json"))["accounts"] == []
    monkeypatch.setenv("HELIOGRAPH_CONTEXT", "prod")
    assert told(typed("account", "list", "--json"))["accounts"] == []
    assert told(typed("--data", str(desk.data), "account", "list", "--json"))["accounts"] == []


def test_a_token_is_kept_for_its_user_alone_and_never_sent_in_the_clear(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "config/heliograph/contexts.json"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert "letters and digits" in typed("context", "add", "other", "--server", desk.url, input="a b\n").stderr
    monkeypatch.setenv("HELIOGRAPH_TOKEN", "hat_wrong")
    wrong = typed("context", "add", "other", "--server", desk.url)
    assert wrong.exit_code == 1
    assert "Nothing was saved" in wrong.stderr
    clear = typed("context", "add", "other", "--server", "http://sms.example.net")
    assert "without encryption" in clear.stderr
    assert "is not the URL" in typed("context", "add", "other", "--server", "sms.example.net").stderr
    kept = told(typed("context", "add", "other", "--server", "https://sms.example.net", "--unchecked", "--json"))
    assert not kept["current"]
    assert [each["name"] for each in told(typed("context", "list", "--json"))["contexts"]] == ["other", "prod"]
    told(typed("context", "remove", "prod", "--json"))
    assert "there is no context prod" in typed("context", "use", "prod").stderr
    file.write_text("{")
    assert "cannot be read" in typed("context", "list").stderr


def _in_a_day(time: str = "10:00:00") -> str:
    return f"{(datetime.now(UTC) + timedelta(days=2)).date()} {time}"
