"""Things that need attention, and the test of alerts, in this process."""

import json
from typing import Any

import pytest

from heliograph.app.resources.attention import Topic, Worry
from heliograph.cli.command import Invocation
from heliograph.composition.dev import open_demo_account
from tests.support.ports import free_port

SECRET = "aVerySecretToken"


def test_things_that_need_attention_are_listed(run: Any) -> None:
    assert run("account", "create", "acme").exit_code == 0
    listed = json.loads(run("attention", "--json").stdout)["attention"]
    assert listed == [
        {
            "topic": "no-connector",
            "subject": "",
            "sentence": "There is no connector yet: messages have nowhere to go.",
            "page": "/connectors-new",
            "command": "heliograph connector add --help",
        },
        {
            "topic": "credit",
            "subject": "acme",
            "sentence": "acme has no credit, so that its requests are refused: top it up.",
            "page": "/accounts/acme",
            "command": "heliograph account ledger acme",
        },
    ]
    printed = run("attention").stdout
    assert "acme has no credit, so that" in printed
    assert "heliograph account ledger acme" in printed


@pytest.mark.parametrize("topic", Topic)
@pytest.mark.parametrize("subject", ["", "acme"])
def test_the_command_of_each_worry_is_there(run: Any, topic: Topic, subject: str) -> None:
    program, *words = Worry(topic, "Something is wrong", subject=subject).command.split()
    assert program == "heliograph"
    assert run(*words, "--help").exit_code == 0


def test_commands_know_the_operator_and_the_receivers_of_a_development_run(run: Any) -> None:
    assert run("account", "create", "acme", "--credit", "1").exit_code == 0
    local = ("account", "set", "acme", f"callback_url=http://127.0.0.1:{free_port()}/")
    assert "it must not lead to 127.0.0.1" in run(*local).stderr
    assert json.loads(run("connector", "list", "--json").stdout)["simulated"] is None
    Invocation().at_desk(open_demo_account)
    assert run("connector", "list").stdout.splitlines()[1:] == [
        "The simulated operator of the development run takes all numbers without a route: simulator"
    ]
    assert json.loads(run("attention", "--json").stdout)["attention"] == []
    assert run(*local).exit_code == 0
    findings = {each["check"]: each for each in json.loads(run("doctor", "--json").stdout)["checks"]}
    assert findings["connectors"]["result"] == "ok"
    assert "cannot be reached" in findings["callbacks of acme"]["detail"]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # plugins of Apprise import modules that later Pythons lack
def test_the_command_sends_a_test_alert_to_each(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    nothing = run("attention", "test")
    assert (nothing.exit_code, "the setting alerts.urls is empty" in nothing.stderr) == (1, True)
    monkeypatch.setenv("HELIOGRAPH_ALERTS_URLS", f"json://ops:{SECRET}@127.0.0.1:{free_port()}?cto=1")
    sent = run("attention", "test", "--json")
    assert sent.exit_code == 1, sent.output
    assert json.loads(sent.stdout) == {"destinations": [{"destination": "1, json", "problem": "it was not taken"}]}
    assert SECRET not in run("settings").stdout
    monkeypatch.setenv("HELIOGRAPH_ALERTS_URLS", f"nosuch://{SECRET}")
    refused = run("attention", "test")
    assert "alerts.urls cannot be used: Apprise does not know URL 1, nosuch" in refused.stderr
    monkeypatch.setenv("HELIOGRAPH_ALERTS_URLS", SECRET)
    refused = run("attention", "test")
    assert "is wrong: number 1 is no URL of Apprise" in refused.stderr
    assert SECRET not in refused.output
