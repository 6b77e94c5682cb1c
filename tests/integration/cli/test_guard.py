"""Commands on what the pumping guard holds, in this process."""

import json
from typing import Any

import pytest


@pytest.fixture(autouse=True)
def account(run: Any) -> None:
    assert run("account", "create", "acme", "--credit", "1").exit_code == 0


def test_nothing_is_held_and_nothing_can_be_released(run: Any) -> None:
    assert "Nothing is held or suspected." in run("guard", "list").output
    assert json.loads(run("--json", "guard", "list").stdout) == {"holds": []}
    for verb in ("release", "refund"):
        refused = run("guard", verb, "49170", "--account", "acme")
        assert (refused.exit_code, "There is no hold of acme to 49170" in refused.stderr) == (1, True)
        assert run("guard", verb, "49170", "--account", "nobody").exit_code == 1


def test_an_account_without_holds_is_trusted_and_not_released(run: Any) -> None:
    refused = run("guard", "release", "--account", "acme")
    assert (refused.exit_code, "There is no hold of acme" in refused.stderr) == (1, True)
    trusted = run("guard", "release", "--account", "acme", "--trust")
    assert "0 messages of acme. The guard watches acme no longer." in trusted.output
    assert json.loads(run("--json", "account", "show", "acme").stdout)["guard"] == "off"


def test_the_guard_is_a_setting_of_accounts(run: Any) -> None:
    assert json.loads(run("--json", "account", "show", "acme").stdout)["guard"] is None
    assert run("account", "set", "acme", "guard=hold").exit_code == 0
    assert run("account", "set", "acme", "guard=default").exit_code == 0
    assert run("account", "set", "acme", "guard=off").exit_code == 0
    assert json.loads(run("--json", "account", "show", "acme").stdout)["guard"] == "off"
    assert run("account", "set", "acme", "guard=maybe").exit_code == 1
