"""Commands in this process, on a store in a directory of its own."""

import json
import re
import shlex
import socket
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import Result

from heliograph.app.resources import callbacks
from heliograph.app.resources.description import Asked
from heliograph.app.resources.desk import Desk
from heliograph.cli.command import Command, Group, Invocation
from heliograph.cli.main import heliograph
from heliograph.cli.remote.gateway import RemoteRefusal
from tests.support.cases import for_each

Run = Callable[..., Result]


def answer(result: Result) -> dict[str, Any]:
    assert result.exit_code == 0, result.stderr
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def every_command(command: click.Command, path: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], click.Command]]:
    found = [(path, command)]
    if isinstance(command, click.Group):
        for name, child in command.commands.items():
            found += every_command(child, (*path, name))
    return found


@for_each(("path", "command"), every_command(heliograph))
def test_every_command_takes_the_common_options_and_explains_itself(
    path: tuple[str, ...], command: click.Command, run: Run
) -> None:
    assert isinstance(command, Command | Group)
    result = run(*path, "--help")
    assert result.exit_code == 0
    for option in ("--data", "--config", "--json"):
        assert option in result.stdout
    assert command.help


@for_each("path", [path for path, command in every_command(heliograph) if isinstance(command, Group)])
def test_what_commands_are_for_fits_into_their_list(path: tuple[str, ...], run: Run) -> None:
    listed = run(*path, "--help").stdout.partition("Commands:\n")[2].partition("\n\n")[0]
    assert listed
    assert [line for line in listed.splitlines() if line.endswith("...")] == []


def test_the_common_options_may_stand_anywhere(tmp_path: Path, run: Run) -> None:
    other = str(tmp_path / "other")
    answer(run("--json", "--data", other, "account", "create", "one", "--credit", "1"))
    answer(run("account", "--json", "--data", other, "create", "two", "--credit", "1"))
    answer(run("account", "create", "three", "--credit", "1", "--json", "--data", other))
    names = [each["username"] for each in answer(run("--data", other, "account", "--json", "list"))["accounts"]]
    assert names == ["one", "three", "two"]
    assert run("account", "list", "--json").exit_code == 1
    nearest = run("--data", str(tmp_path / "far"), "account", "list", "--data", other, "--json")
    assert len(answer(nearest)["accounts"]) == 3


def test_an_account_from_opening_to_ledger(run: Run) -> None:
    made = answer(run("account", "create", "acme", "--credit", "25.50", "--timezone", "Europe/Berlin", "--json"))
    assert made["username"] == "acme"
    assert made["balance"] == "25.5"
    assert made["signing_secret"].startswith("whsec_")
    assert len({made["password"], made["api_key"], made["signing_secret"]}) == 3
    assert answer(run("account", "top-up", "acme", "-5.25", "--note", "back", "--json"))["balance"] == "20.25"
    ledger = answer(run("account", "ledger", "acme", "--json"))["entries"]
    assert [entry["amount"] for entry in ledger] == ["-5.25", "25.5"]
    assert ledger[0]["note"] == "back"
    older = answer(run("account", "ledger", "acme", "--before", str(ledger[0]["key"]), "--json"))["entries"]
    assert older == ledger[1:]
    assert answer(run("account", "suspend", "acme", "--json"))["suspended"] is True
    assert answer(run("account", "show", "acme", "--json"))["suspended"] is True
    assert answer(run("account", "resume", "acme", "--json"))["suspended"] is False
    changed = answer(run("account", "set", "acme", "rate=5", "senders=ACME", "--json"))
    assert (changed["rate"], changed["senders"]) == (5.0, ["ACME"])
    shown = run("account", "show", "acme").stdout
    assert "\nmax_waiting " in shown, "each name is the KEY of account set"
    assert shown.index("\nLimits\nrate ") < shown.index("\nmax_waiting ") < shown.index("\nRequests\nsmart ")
    assert "  Limits:\n    rate  " in run("account", "set", "--help").stdout
    assert re.search(r"\nhttp\.trusted_proxies .*\n +\nmessages\.max_destinations ", run("settings").stdout)
    assert answer(run("account", "set", "acme", "max-waiting=500", "--json"))["max_waiting"] == 500
    assert run("account", "set", "acme", "wx=1").stderr.startswith("error: wx: there is no such field\n")
    assert "max_waiting is given twice" in run("account", "set", "acme", "max-waiting=1", "max_waiting=2").stderr
    usage = "Usage: heliograph guard release --account NAME [OPTIONS] [PREFIX]\n"
    assert run("guard", "release", "acme", "49170").stderr.startswith(usage)
    assert "message export [OPTIONS] [TEXT]\n" in run("message", "export", "--help").stdout
    assert "20.25" in shown
    for secret in ("password", "api_key", "signing_secret"):
        assert made[secret] not in shown
    assert answer(run("audit", "--json")) == {"clean": True, "problems": []}


def test_secrets_are_replaced_and_keys_revoked(run: Run) -> None:
    made = answer(run("account", "create", "acme", "--credit", "0", "--json"))
    for command, secret in (
        ("new-password", "password"), ("smpp-password", "smpp_password"), ("new-signing-secret", "signing_secret"),
    ):  # fmt: skip
        replaced = answer(run("account", command, "acme", "--json"))
        assert replaced.keys() - {"length"} == {"username", "name", secret}
        assert replaced[secret] != made.get(secret)
    second = answer(run("key", "create", "acme", "--json"))
    answer(run("key", "revoke", "acme", made["key_id"], "--json"))
    keys = answer(run("key", "list", "acme", "--json"))["keys"]
    assert {key["id"]: key["revoked"] is None for key in keys} == {made["key_id"]: False, second["key_id"]: True}


def test_phones_that_opted_out(run: Run, tmp_path: Path) -> None:
    answer(run("account", "create", "acme", "--credit", "10", "--json"))
    of = ("--account", "acme")
    assert run("suppression", "list", *of).stdout == "No suppressed phones were found.\n"
    told = run("suppression", "add", "+4917012345678", "447700900123", "447700900123", *of).stdout
    assert told == "Suppressed for acme: 2 new, 1 known already.\n"
    first, second = answer(run("suppression", "list", *of, "--json"))["suppressions"]
    assert [each["number"] for each in (first, second)] == ["447700900123", "4917012345678"]
    assert first["source"] == "command"
    assert first["since"].endswith("Z")
    page = run("suppression", "list", *of, "--limit", "1")
    assert page.stdout.splitlines()[2].split()[1] == "447700900123"
    assert page.stderr == "There may be more: --after 447700900123\n"
    found = answer(run("suppression", "list", *of, "--after", "+447700900123", "--json"))
    assert found == {"suppressions": [second], "cursor": None}
    assert run("suppression", "list", *of, "--after", "9").stdout.startswith("No suppressed phones")
    assert answer(run("suppression", "remove", "+447700900123", *of, "--json")) == {
        "account": "acme",
        "number": "447700900123",
        "removed": True,
    }
    assert run("suppression", "remove", "4917012345678", *of).stdout == "acme may send to 4917012345678 again.\n"
    assert run("suppression", "add", "+49 (0)170 1234-5678", *of).exit_code == 0
    told = run("route", "explain", "0049 170-12345678", "--account", "acme").stdout
    assert "The number is suppressed for acme" in told
    assert run("suppression", "remove", "0049 170 12345678", *of).exit_code == 0
    audit = answer(run("admin", "log", "--json"))["entries"]
    assert [each["action"] for each in audit][:3] == ["suppression.remove", "suppression.add", "suppression.remove"]
    assert "4917012345678" not in json.dumps(audit)


def test_a_file_of_phones_is_imported(run: Run, tmp_path: Path) -> None:
    answer(run("account", "create", "acme", "--credit", "10", "--json"))
    of = ("--account", "acme")
    numbers = [str(491700000000 + n) for n in range(2_500)]
    file = tmp_path / "optouts.csv"
    file.write_text("phone;since\n" + "".join(f"{number};2026\n" for number in [*numbers, *numbers[:5]]), "utf-8")
    told = run("suppression", "import", str(file), *of)
    assert [line.split("  ")[-1].strip() for line in told.stdout.splitlines()] == ["2505", "2500", "5", "0"]
    again = answer(run("suppression", "import", str(file), *of, "--json"))
    assert again == {"numbers": 2_505, "added": 0, "known": 2_505, "skipped": []}
    listed = answer(run("suppression", "list", *of, "--limit", "10000", "--json"))["suppressions"]
    assert [(each["number"], each["source"]) for each in listed] == [(number, "import") for number in numbers]


def test_a_file_with_bad_lines_is_not_imported_unless_they_are_left_out(run: Run) -> None:
    answer(run("account", "create", "acme", "--credit", "10", "--json"))
    lines = "# from the old gateway\n447700900123\n0170 123\n\n12\n447700900124,Ada\n"
    refused = run("suppression", "import", "-", "--account", "acme", input=lines)
    assert refused.exit_code == 1
    assert [line.partition(":")[0] for line in refused.stderr.splitlines()[:3]] == ["line 3", "line 5", "error"]
    assert "2 lines of - cannot be used." in refused.stderr
    assert "Nothing was imported." in refused.stderr
    assert answer(run("suppression", "list", "--account", "acme", "--json"))["suppressions"] == []
    done = run("suppression", "import", "-", "--account", "acme", "--skip-bad", "--json", input=lines)
    assert {key: value for key, value in answer(done).items() if key != "skipped"} == {
        "numbers": 2,
        "added": 2,
        "known": 0,
    }
    assert [each["line"] for each in answer(done)["skipped"]] == [3, 5]
    assert done.stderr.startswith("line 3: The number must not begin with 0")


def test_the_help_on_prices_can_be_typed_as_it_stands(run: Run) -> None:
    answer(run("account", "create", "acme", "--credit", "10", "--json"))
    for command in ((), ("set",), ("list",), ("remove",)):
        told = run("price", *command, "--help").stdout.partition("Examples:")[2].splitlines()
        lines = [line.strip() for line in told if line.strip().startswith("heliograph ")]
        assert lines
        for line in lines:
            result = run(*shlex.split(line, comments=True)[1:])
            assert result.exit_code == 0, (line, result.stderr)
    listed = run("price", "list").stdout
    assert [row.split() for row in listed.splitlines()[2:]] == [
        ["default", "(all)", "0.05", "0"],
        ["default", "49", "0.065", "0.01"],
    ]


def test_lists_of_prices_are_imported_whole_and_exported_again(run: Run, tmp_path: Path) -> None:
    rates = "prefix;price;since\n49;0.05;\n44;0.06;2100-03-01\n"
    told = answer(run("price", "import", "-", "--plan", "gold", "--dry-run", "--json", input=rates))
    note = "No account has the plan gold yet."
    assert told == {"prices": 2, "added": 2, "changed": 0, "same": 0, "removed": 0, "note": note, "dry_run": True}
    assert "would be added" in run("price", "import", "-", "--dry-run", input=rates).stdout
    tried = run("price", "import", "-", "--plan", "defualt", "--dry-run", input=rates)
    assert tried.stderr == "No account has the plan defualt yet; did you mean default?\n"
    assert answer(run("price", "list", "--json"))["prices"] == []
    answer(run("price", "import", "-", "--plan", "gold", "--json", input=rates))
    exported = run("price", "export").stdout
    assert exported == "plan,mccmnc,prefix,price,inbound,since\ngold,,44,0.06,0,2100-03-01\ngold,,49,0.05,0,\n"
    assert run("price", "list").stdout.splitlines()[2].split() == ["gold", "44", "0.06", "0", "2100-03-01"]
    again = answer(run("price", "import", "-", "--replace", "--json", input=exported))
    assert (again["same"], again["removed"]) == (2, 0)
    other = run("price", "import", "-", "--json", input="country;prefix;price\nDE;49;0,05\n")
    assert (answer(other)["added"], other.stderr) == (1, "Ignored: the column country.\n")
    answer(run("price", "remove", "--prefix", "49", "--json"))
    bad = run("price", "import", "-", input="prefix,price\n33,1\nx,1\n33,2\n")
    assert bad.exit_code == 1
    assert bad.stderr.startswith("line 3: prefix: 'x' is not a prefix")
    assert "line 4: line 2 has the same plan, destination and date" in bad.stderr
    assert "2 lines of - cannot be used." in bad.stderr
    file = tmp_path / "rates.csv"
    assert answer(run("price", "export", "-o", str(file), "--json")) == {"file": str(file), "prices": 2}
    assert file.read_text("utf-8") == exported
    assert run("price", "import", str(tmp_path / "none.csv")).exit_code == 1
    assert "--since: 'soon' is not a date" in run("price", "import", str(file), "--since", "soon").stderr


def test_the_price_of_a_network_is_set_listed_exported_and_removed(run: Run) -> None:
    told = run("price", "set", "--network", "26201", "--price", "0.07").stdout
    assert told.startswith("Numbers of the network 26201 cost 0.07 credits a segment in the plan default.")
    assert run("price", "list").stdout.splitlines()[2].split() == ["default", "26201", "0.07", "0"]
    exported = run("price", "export").stdout
    assert exported == "plan,mccmnc,prefix,price,inbound,since\ndefault,26201,,0.07,,\n"
    again = answer(run("price", "import", "-", "--json", input=exported + "default,26202,,0.08,,\n"))
    assert (again["added"], again["same"]) == (1, 1)
    both = run("price", "set", "--network", "26201", "--prefix", "49", "--price", "1")
    assert "a price has a prefix or a network, not both" in both.stderr
    for command in (["price", "set", "--price", "1"], ["price", "remove"]):
        neither = run(*command)
        assert neither.exit_code == 2
        assert "'--prefix' or '--network'" in neither.stderr
    told = run("price", "remove", "--network", "26201").stdout
    assert told == "The price of the network 26201 in the plan default is removed.\n"
    assert "There is no price for the network 26201" in run("price", "remove", "--network", "26201").stderr


def test_ten_thousand_prices_are_imported_at_once(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "rates.csv"
    file.write_text("prefix,price\n" + "".join(f"{prefix},0.0{prefix % 9 + 1}\n" for prefix in range(10_000, 20_000)))
    assert answer(run("price", "import", str(file), "--json"))["added"] == 10_000
    assert len(run("price", "export").stdout.splitlines()) == 10_001


def test_lists_of_routes_are_imported_whole(run: Run) -> None:
    bind = ["--host", "smsc.example.net", "--port", "2775", "--system-id", "acme", "--password", "secret"]
    for name in ("op1", "op2"):
        answer(run("connector", "add", name, *bind, "--json"))
    rows = "prefix;network;connector;priority;note\n49;;op1;5;x\n;26201;;;\n"
    told = run("route", "import", "-", "--connector", "op2", "--dry-run", "--json", input=rows)
    assert answer(told) == {"routes": 2, "added": 2, "changed": 0, "same": 0, "removed": 0, "dry_run": True}
    assert told.stderr == "Ignored: the column note.\n"
    assert answer(run("route", "list", "--json"))["routes"] == []
    assert run("route", "import", "-", "--connector", "op2", input=rows).stdout.split() == [
        "added", "2", "changed", "0", "unchanged", "0", "removed", "0",
    ]  # fmt: skip
    other = answer(run("route", "import", "-", "--replace", "--json", input="prefix,connector,share\n44,op2,3\n"))
    assert (other["added"], other["removed"]) == (1, 1)
    listed = answer(run("route", "list", "--json"))["routes"]
    assert [(each["prefix"], each["connector"], each["share"]) for each in listed] == [
        ("44", "op2", 3), ("49", "op1", 1),
    ]  # fmt: skip
    bad = run("route", "import", "-", input="prefix,connector\nx,op1\n33,op1\n33,op1\n")
    assert bad.exit_code == 1
    assert "line 2: prefix: 'x' is not a prefix" in bad.stderr
    assert "line 4: line 3 has the same route" in bad.stderr
    unknown = run("route", "import", "-", input="prefix,connector,account\n\n33,op1,\n34,op1,nobody\n")
    assert unknown.exit_code == 1
    assert "line 4: account: there is no account nobody" in unknown.stderr
    assert answer(run("route", "list", "--json"))["routes"] == listed


def test_a_list_of_networks_is_compared_or_imported(run: Run) -> None:
    answer(run("network", "set", "49151", "--mccmnc", "26201", "--json"))
    rows = "prefix,mccmnc\n49170,26201\n"
    told = answer(run("network", "import", "-", "--replace", "--dry-run", "--json", input=rows))
    assert told == {"networks": 1, "added": 1, "changed": 0, "same": 0, "removed": 1, "dry_run": True}
    assert "would be added" in run("network", "import", "-", "--dry-run", input=rows).stdout
    assert [each["prefix"] for each in answer(run("network", "list", "--json"))["networks"]] == ["49151"]
    told = answer(run("network", "import", "-", "--replace", "--json", input=rows))
    assert (told["added"], told["removed"], told["dry_run"]) == (1, 1, False)
    assert [each["prefix"] for each in answer(run("network", "list", "--json"))["networks"]] == ["49170"]


def test_an_explanation_of_a_refused_number_names_no_connector(run: Run) -> None:
    run("connector", "add", "op1", "--host", "h", "--port", "1", "--system-id", "id", "--password", "pw")
    run("route", "add", "--prefix", "1", "--connector", "op1")
    run("sender-rule", "add", "--country", "US", "--action", "refuse", "--value", "BRAND")
    asked = ("route", "explain", "12025550123", "--from")
    assert run(*asked, "ACME").stdout.startswith("12025550123 goes to op1, for 1 credit a segment.")
    assert run(*asked, "BRAND").stdout.startswith("12025550123 goes nowhere; its price is 1 credit a segment.")


def test_a_route_of_a_network_is_not_the_route_of_all_numbers(run: Run) -> None:
    run("connector", "add", "op1", "--host", "h", "--port", "1", "--system-id", "id", "--password", "pw")
    run("route", "add", "--network", "26201", "--connector", "op1")
    assert "(all)" not in run("route", "list").stdout
    assert run("route", "remove", "--prefix", "").stderr.startswith("error: No route matches.")
    run("route", "add", "--prefix", "", "--connector", "op1")
    assert run("route", "remove", "--prefix", "").stdout == "Route 2 is removed.\n"


def test_an_added_route_says_which_routes_it_shares_the_numbers_with(run: Run) -> None:
    for name in ("op1", "op2"):
        run("connector", "add", name, "--host", "h", "--port", "1", "--system-id", "id", "--password", "pw")
    assert run("route", "add", "--prefix", "49", "--connector", "op1").stdout == (
        "Route 1 of the prefix 49 to op1 with priority 0.\n"
    )
    told = " ".join(run("route", "add", "--prefix", "49", "--connector", "op2").stdout.split())
    assert told == (
        "Route 2 of the prefix 49 to op2 with priority 0. "
        "It shares the prefix 49 with op1; for failover, give the routes different priorities."
    )
    added = answer(run("route", "add", "--prefix", "49", "--connector", "op2", "--priority", "1", "--json"))
    assert added["note"].startswith("op2 now has routes for the prefix 49 with the priorities 0, 1: ")


def test_a_table_of_coverage_that_cannot_be_written_is_an_error(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "absent" / "coverage.csv"
    failed = run("route", "coverage", "--csv", str(file))
    assert (failed.exit_code, failed.stderr) == (1, f"error: {file} cannot be written: No such file or directory\n")


@pytest.mark.parametrize("rate", ["EUR", "EUR=x", "EUR=0", "EUR=-1.08", "EUR=nan", "EUR=inf", "=1.08"])
def test_a_rate_of_exchange_is_a_positive_number(run: Run, rate: str) -> None:
    failed = run("cost", "import", "-", "--connector", "op1", "--exchange", rate, input="prefix,price_submit\n49,1\n")
    assert (failed.exit_code, failed.stderr.splitlines()[0]) == (1, f"error: --exchange: {rate!r} is no rate.")


def test_a_list_of_costs_for_an_unknown_connector_says_so_first(run: Run) -> None:
    run("account", "create", "acme")
    failed = run("cost", "import", "-", "--connector", "nosuch", input="prefix,price_submit\nx,1\n")
    assert (failed.exit_code, failed.stderr.splitlines()[0]) == (1, "error: There is no connector nosuch.")


def test_a_cost_has_an_end(run: Run) -> None:
    run("connector", "add", "op1", "--host", "h", "--port", "1", "--system-id", "id", "--password", "pw")
    of = ["cost", "set", "--connector", "op1", "--submitted", "0.03"]
    refused = run(*of, "--prefix", "49", "--since", "2096-03-01", "--until", "2096-03-01")
    assert refused.exit_code == 1
    assert "the cost would end before it holds; write a date later than 2096-03-01" in refused.stderr
    assert "later than 1970-01-01" in run(*of, "--prefix", "49", "--until", "1969-01-01").stderr
    found = answer(run(*of, "--prefix", "49", "--since", "2096-03-01", "--until", "2096-07-01", "--json"))
    assert (found["since"], found["until"]) == ("2096-03-01T00:00:00.000Z", "2096-07-01T00:00:00.000Z")
    assert "2096-07-01" in run("cost", "list").stdout
    table = "mccmnc,price_submit,effective,until\n26201,0.02,2096-03-01,2096-07-01\n26202,0.02,,\n"
    run("cost", "import", "-", "--connector", "op1", input=table)
    listed = answer(run("cost", "list", "--json"))["costs"]
    assert [each["until"] for each in listed] == [found["until"], found["until"], None]
    failed = run("cost", "import", "-", "--connector", "op1", input=table.replace("2096-07-01", "2096-02-01"))
    assert failed.exit_code == 1
    assert "line 2: until: the cost would end before it holds" in failed.stderr


def test_waiting_messages_are_counted_above_their_table(run: Run) -> None:
    run("account", "create", "acme")
    assert run("queue", "messages").stdout == "No messages wait.\n"


def test_connectors_routes_and_prices(run: Run) -> None:
    bind = ["--host", "smsc.example.net", "--port", "2775", "--system-id", "acme", "--password", "longer than 8"]
    added = run("connector", "add", "op1", *bind, "--window", "50", "--option", "system_type=SMPP", "--tls", "--json")
    assert answer(added)["options"] == {"system_type": "SMPP"}
    assert answer(added)["tls"] is True
    assert "note: the password has 13 characters" in added.stderr
    assert "longer than 8" not in added.output
    changed = answer(run("connector", "set", "op1", "--rate", "10", "window=20", "--no-tls", "--json"))
    assert (changed["rate"], changed["window"], changed["tls"]) == (10.0, 20, False)
    route = answer(run("route", "add", "--prefix", "", "--connector", "op1", "--json"))
    answer(run("route", "add", "--prefix", "44", "--connector", "op1", "--priority", "-3", "--json"))
    assert [each["prefix"] for each in answer(run("route", "list", "--json"))["routes"]] == ["", "44"]
    answer(run("route", "remove", str(route["id"]), "--json"))
    answer(run("route", "remove", "--prefix", "44", "--json"))
    assert answer(run("route", "list", "--json"))["routes"] == []
    assert (
        answer(run("price", "set", "--prefix", "49", "--price", "0.065", "--plan", "gold", "--json"))["accounts"] == 0
    )
    prices = [{"plan": "gold", "prefix": "49", "network": "", "price": "0.065", "inbound": "0.01", "since": None}]
    told = run("price", "set", "--prefix", "49", "--price", "0.065", "--plan", "gold", "--inbound", "0.01").stdout
    assert told == (
        "Numbers with the prefix 49 cost 0.065 credits a segment in the plan gold, "
        "messages from them 0.01 credits each. No account has the plan gold yet.\n"
    )
    assert answer(run("price", "list", "--json")) == {"prices": prices, "built_in": "1"}
    assert run("price", "list").stdout.splitlines()[-1].startswith("Built-in price of numbers")
    answer(run("price", "set", "--prefix", "", "--price", "2", "--json"))
    assert answer(run("price", "list", "--json"))["built_in"] is None
    answer(run("price", "remove", "--prefix", "", "--json"))
    answer(run("price", "remove", "--prefix", "49", "--plan", "gold", "--json"))
    shown = answer(run("connector", "show", "op1", "--json"))
    assert "password" not in shown
    assert shown["links"] == []
    answer(run("connector", "remove", "op1", "--json"))
    assert answer(run("connector", "list", "--json"))["connectors"] == []


@pytest.mark.parametrize(
    ("arguments", "message", "advice"),
    [
        (["account", "show", "x"], "There is no account x", "heliograph account list"),
        (["account", "create", "acme", "--credit", "1"], "The account acme exists already", "heliograph account list"),
        (["account", "create", "Acme"], "The account acme exists already; Acme differs", "heliograph account list"),
        (["account", "create", "b", "--credit", "1e3"], "credit: '1e3' is not an amount", "account create --help"),
        (["account", "create", "b c", "--credit", "1"], "name: 'b c' is not a name", "Nothing was changed."),
        (["account", "set", "acme", "contry=DE"], "contry: there is no such field; did you mean country?", "--help"),
        (["account", "set", "acme", "rate"], "'rate' is not KEY=VALUE", ""),
        (["account", "set", "acme", "rate=1", "rate=2"], "rate is given twice", ""),
        (["account", "top-up", "acme", "0"], "changes nothing", ""),
        (["account", "top-up", "acme", "-2"], "may not fall below 0", ""),
        (["key", "revoke", "acme", "zz"], "zz", "heliograph key list"),
        (["connector", "add", "op1", "--host", "h", "--port", "1"], "system_id: it is required for a bind", ""),
        (["connector", "set", "op1"], "There is nothing to change", "heliograph connector set op1"),
        (["connector", "test", "op1"], "There is no connector op1", "heliograph connector list"),
        (["route", "add", "--prefix", "4", "--connector", "op1"], "There is no connector op1", "connector list"),
        (["route", "remove"], "Give the route's id or --prefix.", "heliograph route list"),
        (["route", "remove", "--prefix", "4"], "No route matches", "heliograph route list"),
        (["price", "set", "--prefix", "+4", "--price", "1"], "prefix: '+4' is not a prefix", ""),
        (["price", "remove", "--prefix", "4"], "There is no price for the prefix 4", "heliograph price list"),
        (["suppression", "add", "49 170", "--account", "acme"], "The number is too short", "Nothing was changed."),
        (
            ["suppression", "remove", "447700900123", "--account", "acme"],
            "There is no suppression of 447700900123 in acme",
            "heliograph suppression list --account NAME",
        ),
        (["suppression", "list", "--account", "x"], "There is no account x", "heliograph account list"),
        (["suppression", "import", "none.csv", "--account", "acme"], "none.csv cannot be read: No such file", ""),
        (["message", "show", "x"], "id of a message", "heliograph message find"),
        (
            ["message", "show", "0198c5f2a1b37c4d8e9f001122334455"],
            "There is no such message.",
            "heliograph message find",
        ),
        (["callbacks", "replay"], "Choose the callbacks to retry", ""),
        (["callbacks", "replay", "--message", "1"], "is not an id of a message", ""),
        (["serve", "--listen", "here"], "http.listen in --listen is wrong: 'here' is not HOST:PORT", "serve"),
        (["serve", "--dev", "--listen", "0.0.0.0:0"], "beyond loopback", "--dev-anywhere"),
        (
            ["serve", "--roles", "api,cook"],
            "node.roles in --roles is wrong: 'cook' is none of api, dispatch",
            "serve --roles",
        ),
        (["serve", "--roles", ","], "none is named", "serve --roles"),
        (["serve", "--roles", "api"], "a gateway with an embedded store has a single node", "--database-url"),
        (["simulator", "--listen", "here"], "--listen: 'here' is not HOST:PORT", "heliograph simulator"),
        (["simulator", "--latency-ms", "x"], "--latency-ms: 'x' is not", "heliograph simulator --help"),
        (["simulator", "--inbound-rate", "5"], "--inbound-rate: phones need a number to write to", "simulator --help"),
        (["simulator", "--inbound-to", "3388", "--inbound-to", "3-8"], "--inbound-to: '3-8' is not 3 to 15 digits", ""),
        (["send", "--to", "447700900123"], "The account's name and API key are missing.", "HELIOGRAPH_API_KEY"),
        (["send", "--user", "u", "--key", "k"], "--to is missing.", "heliograph send --help"),
        (["send", "--user", "u", "--key", "k", "--url", "gateway"], "is not an http or https URL", ""),
    ],
)
def test_failures_say_what_was_wrong_and_what_to_do(run: Run, arguments: list[str], message: str, advice: str) -> None:
    answer(run("account", "create", "acme", "--credit", "1", "--json"))
    result = run(*arguments, "--json")
    assert result.exit_code == 1
    assert result.stdout == ""
    assert message in result.stderr
    assert advice in result.stderr
    assert "Traceback" not in result.stderr


def test_the_doctor_looks_at_the_certificate_of_the_smpp_server(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HELIOGRAPH_SMPP_SERVER_TLS_LISTEN", "127.0.0.1:0")
    monkeypatch.setenv("HELIOGRAPH_SMPP_SERVER_CERT_FILE", "/nowhere.pem")
    checks = json.loads(run("doctor", "--no-binds", "--json").stdout)["checks"]
    (found,) = [each for each in checks if "certificate" in each["check"]]
    assert (found["check"], found["result"]) == ("SMPP certificate", "fail")
    assert "/nowhere.pem cannot be read" in found["detail"]


def test_the_doctor_looks_at_the_certificate_that_an_operator_is_shown(run: Run) -> None:
    operator = ("--host", "127.0.0.1", "--port", "1", "--system-id", "id", "--password", "pw", "--tls")
    assert run("connector", "add", "op", *operator).exit_code == 0
    assert run("connector", "set", "op", "cert_file=/nowhere.pem").exit_code == 0
    checks = json.loads(run("doctor", "--no-binds", "--json").stdout)["checks"]
    (found,) = [each for each in checks if "certificate" in each["check"]]
    assert (found["check"], found["result"]) == ("certificate for op", "fail")
    assert "/nowhere.pem cannot be read" in found["detail"]
    assert "next bind" in found["advice"]


@pytest.mark.parametrize("setting", ["HTTP_LISTEN", "HTTP_TLS_LISTEN", "SMPP_SERVER_LISTEN", "SMPP_SERVER_TLS_LISTEN"])
def test_a_development_run_listens_at_no_address_beyond_loopback(
    run: Run, setting: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"HELIOGRAPH_{setting}", "192.0.2.1:0")  # an address that no machine has
    result = run("serve", "--dev")
    assert result.exit_code == 1
    assert "192.0.2.1:0 is beyond loopback" in result.stderr


@pytest.mark.parametrize("arguments", [["acount"], ["account", "create"], ["account", "list", "--jsn"], ["key"]])
def test_command_lines_that_are_none_end_with_2(run: Run, arguments: list[str]) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr


def test_a_bad_setting_stops_a_command_before_it_does_anything(run: Run, tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text("[http]\nlisen = 1\n")
    result = run("account", "list", "--config", "bad.toml", "--json")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "there is no setting http.lisen (bad.toml); did you mean http.listen?" in result.stderr
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize(
    ("words", "code", "error", "more"),
    [
        (["account", "show", "acme"], 1, "There is no account acme.", {"try": "heliograph account list"}),
        (["account", "list", "--context", "x"], 1, "there is no context x", {"try": "heliograph context list"}),
        (
            ["account", "set", "acme", "contry=DE"],
            1,
            "contry: there is no such field; did you mean country?",
            {"hint": "Nothing was changed.", "try": "heliograph account set --help"},
        ),
        (["account", "create"], 2, "Missing argument 'NAME'", {"try": "heliograph account create --help"}),
        (["account", "create", "acme", "--crdit", "1"], 2, "--credit", {"try": "heliograph account create --help"}),
        (["--colour"], 2, "No such option", {"try": "heliograph --help"}),
    ],
)
def test_failures_are_json_objects_with_json(
    run: Run, words: list[str], code: int, error: str, more: dict[str, str]
) -> None:
    run("plan", "set", "default", "routing=share")
    result = run(*words, "--json")
    assert (result.exit_code, result.stdout) == (code, "")
    told = json.loads(result.stderr)
    assert error in told.pop("error")
    assert told == more
    assert not run(*words).stderr.startswith("{")


def test_a_store_that_cannot_be_used_is_told_of(run: Run, tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file where the directory should be")
    result = run("account", "list", "--json")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "the store in" in result.stderr
    assert "heliograph doctor" in result.stderr


def test_settings_in_force_and_their_example(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HELIOGRAPH_MESSAGES_MAX_SEGMENTS", "3")
    shown = answer(run("settings", "--json"))
    assert shown["settings"]["messages.max_segments"] == 3
    assert "HELIOGRAPH_MESSAGES_MAX_SEGMENTS" in run("settings").stdout
    (tmp_path / "example.toml").write_text(run("settings", "--example").stdout)
    assert answer(run("settings", "--config", "example.toml", "--json"))["settings"] == shown["settings"]


def test_lists_are_tables_for_people(run: Run) -> None:
    run("plan", "set", "default", "routing=share")
    assert "heliograph account create" in run("account", "list").stdout
    run("account", "create", "acme", "--credit", "0.000001")
    lines = run("account", "list").stdout.splitlines()
    assert lines[0].split() == ["NAME", "BALANCE", "PLAN", "TIMEZONE", "SUSPENDED"]
    assert lines[2].split() == ["acme", "0.000001", "default", "UTC", "no"]


def test_the_doctor_finds_nothing_wrong_in_a_fresh_directory(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HELIOGRAPH_HTTP_LISTEN", "127.0.0.1:0")
    assert answer(run("doctor", "--json"))["healthy"] is True
    run("account", "create", "acme", "--credit", "1")
    report = answer(run("doctor", "--json"))
    checks = {each["check"]: each["result"] for each in report["checks"]}
    assert checks["store"] == checks["books"] == checks["clock"] == checks["listen"] == "ok"
    assert checks["connectors"] == "note"


def test_health_asks_the_address_of_the_settings(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    class Answering(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if self.path == "/health/ready" else 404)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Nothing is logged."""

    with HTTPServer(("127.0.0.1", 0), Answering) as server:
        monkeypatch.setenv("HELIOGRAPH_HTTP_HEALTH_LISTEN", f"0.0.0.0:{server.server_port}")
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        ready = run("health")
        thread.join()
    assert (ready.exit_code, ready.stdout) == (0, f"0.0.0.0:{server.server_port} is ready.\n")
    gone = run("health", "--json")
    assert (gone.exit_code, json.loads(gone.stdout)["ready"]) == (1, False)


def test_the_doctor_judges_receivers_as_the_sender_does(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HELIOGRAPH_HTTP_LISTEN", "127.0.0.1:0")
    # an address of the whole internet, for those who do not see the loopback inside it
    with monkeypatch.context() as before:
        before.setenv("HELIOGRAPH_CALLBACKS_ALLOWED_NETWORKS", "127.0.0.0/8")
        run("account", "create", "acme", "--credit", "1", "--callback-url", "http://[64:ff9b::7f00:1]:1025/dlr")
    result = run("doctor", "--no-binds", "--json")
    checks = {each["check"]: each for each in json.loads(result.stdout)["checks"]}
    assert checks["callbacks of acme"]["result"] == "fail"
    assert "refused" in checks["callbacks of acme"]["detail"]


def test_the_doctor_says_what_to_do(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HELIOGRAPH_HTTP_LISTEN", "127.0.0.1:0")
    with monkeypatch.context() as before:
        before.setenv("HELIOGRAPH_CALLBACKS_ALLOWED_NETWORKS", "127.0.0.0/8")
        run("account", "create", "acme", "--credit", "1", "--callback-url", "http://127.0.0.1:1025/dlr")
    refused = run("account", "set", "acme", "callback_url=http://127.0.0.1:1025/dlr")
    assert refused.exit_code == 1
    assert "must not lead to 127.0.0.1 (loopback)" in refused.stderr
    # nobody listens on a reserved port
    bind = ["--host", "127.0.0.1", "--port", "1", "--system-id", "a", "--password", "b"]
    run("connector", "add", "op1", *bind)
    (tmp_path / "data").chmod(0o755)
    result = run("doctor", "--no-binds", "--json")
    assert result.exit_code == 1
    checks = {each["check"]: each for each in json.loads(result.stdout)["checks"]}
    assert checks["data directory"]["advice"].startswith("chmod 700")
    assert (checks["connector op1"]["result"], checks["connector op1"]["detail"]) == (
        "fail", "127.0.0.1:1 cannot be reached: Connection refused",
    )  # fmt: skip
    assert "firewall" in checks["connector op1"]["advice"]
    assert checks["callbacks of acme"]["result"] == "fail"
    assert "allowed_networks" in checks["callbacks of acme"]["advice"]
    unwell = run("doctor", "--config", "missing.toml", "--json")
    assert unwell.exit_code == 1
    assert json.loads(unwell.stdout)["checks"][0]["result"] == "fail"


def test_the_doctor_does_not_send_anybody_to_the_firewall_for_a_name_that_is_none(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HELIOGRAPH_HTTP_LISTEN", "127.0.0.1:0")
    resolve = socket.getaddrinfo

    def without_operator(host: Any, *rest: Any, **options: Any) -> Any:
        if host == "smsc.example.net":
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return resolve(host, *rest, **options)

    monkeypatch.setattr(socket, "getaddrinfo", without_operator)
    run(
        "connector", "add", "op1", "--host", "smsc.example.net", "--port", "2775", "--system-id", "a", "--password", "b"
    )
    checks = json.loads(run("doctor", "--json").stdout)["checks"]
    (found,) = [each for each in checks if each["check"] == "connector op1" and each["result"] == "fail"]
    assert "Name or service not known" in found["detail"]
    assert "DNS" in found["advice"]
    assert "firewall" not in found["advice"]


def test_a_new_store_is_announced(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mistyped = tmp_path / "heliogarph"
    made = run("--data", str(mistyped), "account", "create", "acme", "--credit", "1")
    assert f"A new store is made in {mistyped}; there was none." in made.stderr
    assert run("--data", str(mistyped), "account", "list").stderr == ""
    monkeypatch.delenv("HELIOGRAPH_DATA")
    made = run("account", "create", "acme", "--credit", "1", "--json")
    assert answer(made)["name"] == "acme"
    assert f"A new store is made in {tmp_path / 'heliograph-data'}; for another directory, use --data" in made.stderr


@pytest.mark.parametrize(
    "words",
    [
        ["account", "list"],
        ["account", "top-up", "acme", "5"],
        ["number", "remove", "1"],
        ["admin", "list"],
        ["message", "show", "0198c5f2a1b37c4d8e9f001122334455"],
        ["report"],
        ["audit"],
        ["encryption", "status"],
        ["backup", "copy.db"],
        ["compact"],
        ["doctor", "--no-binds"],
        ["callbacks", "status"],
    ],
    ids=" ".join,
)
def test_no_store_is_made_to_be_read(run: Run, tmp_path: Path, words: list[str]) -> None:
    mistyped = tmp_path / "heliogarph"
    result = run("--data", str(mistyped), *words)
    assert not mistyped.exists()
    assert str(mistyped) in result.output
    if words[0] not in ("backup", "compact", "doctor"):
        assert result.exit_code == 1
        assert f"there is no store in {mistyped}." in result.stderr
        assert "Correct its directory with --data" in result.stderr
        assert f"try:   heliograph account create NAME --credit 100 --data {mistyped}" in result.stderr


def test_receivers_that_fail_are_named(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    run("account", "create", "acme", "--credit", "1")
    assert answer(run("callbacks", "status", "--json")) == {"pending": 0, "failed": 0, "receivers": []}

    async def failing(_: Desk, account: str | None) -> list[dict[str, Any]]:
        host = {"host": "hooks.example.net", "pending": 7, "attempts": 4, "problem": "connection refused"}
        return [{**host, "due": 1_800_000_000_000}]

    monkeypatch.setattr(callbacks, "failing_hosts", failing)
    assert (
        "hooks.example.net   7         4       2027-01-15T08:00:00Z   connection refused"
        in run("callbacks", "status").stdout
    )
    assert answer(run("callbacks", "status", "--json"))["receivers"] == [
        {
            "receiver": "hooks.example.net", "pending": 7, "tries": 4, "next": "2027-01-15T08:00:00Z",
            "problem": "connection refused",
        }
    ]  # fmt: skip


def test_a_top_up_without_an_answer_can_be_repeated(
    run: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Silent:
        def send(self, asked: Asked) -> None:
            assert asked.body is not None
            self.reference = asked.body["reference"]
            raise RemoteRefusal(0, "no answer from sms.example.com")

    silent = Silent()
    monkeypatch.setattr(Invocation, "gateway", lambda _: silent)
    result = run("account", "top-up", "acme", "250")
    assert result.exit_code == 1
    assert len(silent.reference) == 16
    assert f"without doing it twice, add --reference {silent.reference}" in result.stderr


@pytest.mark.parametrize(
    "command",
    [
        "message find \udcff", "message export --sender \udcff", "callbacks drop --message \udcff",
        "connector set op source_addr_\udcff=1", "template set welcome --tlv entity=\udcff",
    ],
)  # fmt: skip
def test_octets_of_another_encoding_are_refused_by_the_name_of_their_argument(command: str, run: Run) -> None:
    assert run("account", "create", "acme").exit_code == 0

    result = run(*command.split(" "))

    assert result.exit_code == 1
    assert "it has octets that are not UTF-8" in result.stderr
