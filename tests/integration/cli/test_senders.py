"""Commands on sender registries, in this process."""

import json
from typing import Any

import pytest


@pytest.fixture(autouse=True)
def account(run: Any) -> None:
    assert run("account", "create", "acme", "--credit", "1").exit_code == 0


def test_senders_are_registered_approved_refused_and_removed(run: Any) -> None:
    assert "There is none" in run("sender", "list").output
    added = run("sender", "add", "ACME", "News", "--account", "acme", "--note", "asked")
    assert (added.exit_code, added.stdout) == (0, "2 senders of acme are pending; 2 new.\n")
    assert run("sender", "approve", "ACME", "--account", "acme").stdout == "1 sender of acme is approved; 0 new.\n"
    assert run("sender", "refuse", "News", "--account", "acme", "--note", "not theirs").exit_code == 0
    listed = json.loads(run("--json", "sender", "list", "--account", "acme").stdout)["senders"]
    assert [(each["sender"], each["state"], each["note"]) for each in listed] == [
        ("ACME", "approved", ""),
        ("News", "refused", "not theirs"),
    ]
    assert "News" not in run("sender", "list", "--state", "approved").stdout
    assert run("sender", "remove", "News", "--account", "acme").exit_code == 0
    gone = run("sender", "remove", "News", "--account", "acme")
    assert (gone.exit_code, "there is no sender News of acme" in gone.stderr) == (1, True)


def test_what_cannot_be_a_sender_is_refused_with_all_others(run: Any) -> None:
    refused = run("sender", "add", "ACME", "much too long for one", "--account", "acme")
    assert (refused.exit_code, "much too long for one" in refused.stderr) == (1, True)
    assert run("sender", "add", "ACME", "--account", "nobody").exit_code == 1
    assert "There is none" in run("sender", "list").output
