"""`heliograph encryption`, in this process."""

import json
import sqlite3
from base64 import b64encode
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

KEY = "a master key of thirty-two characters"


@pytest.fixture
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HELIOGRAPH_ENCRYPTION_KEY", KEY)


def state(run: Any) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(run("encryption", "status", "--json").stdout)
    return told


def test_without_a_key_nothing_is_encrypted(run: Any) -> None:
    run("account", "create", "acme", "--credit", "1")
    refused = run("encryption", "on")
    assert refused.exit_code == 1
    assert "HELIOGRAPH_ENCRYPTION_KEY" in refused.stderr
    told = run("encryption", "status").stdout
    assert "plain" in told
    assert not state(run)["encrypted"]


def test_on_and_rotate_and_off(run: Any, key: None) -> None:
    on = run("encryption", "on")
    assert on.exit_code == 0
    assert "In 15 s, new rows are encrypted with the key 1" in on.stdout
    assert "encrypted already" in run("encryption", "on").stderr
    assert run("encryption", "rotate").exit_code == 0
    assert (state(run)["keys"], state(run)["newest_key"], state(run)["resealing"]) == (2, 2, "account")
    assert "at the table account" in run("encryption", "status").stdout
    assert run("encryption", "off").exit_code == 0
    assert not state(run)["encrypted"]
    assert "not encrypted" in run("encryption", "off").stderr
    assert "heliograph encryption on" in run("encryption", "rotate").stderr
    entries = json.loads(run("admin", "log", "--json").stdout)["entries"]
    assert [each["action"] for each in entries][:3] == ["encryption.off", "encryption.key", "encryption.key"]


def test_other_commands_need_the_key_too(run: Any, key: None, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("account", "create", "acme", "--credit", "1").exit_code == 0
    assert run("encryption", "on").exit_code == 0
    monkeypatch.setenv("HELIOGRAPH_ENCRYPTION_KEY", KEY[::-1])
    refused = run("account", "list")
    assert refused.exit_code == 1
    assert "another master key" in refused.stderr
    monkeypatch.delenv("HELIOGRAPH_ENCRYPTION_KEY")
    refused = run("account", "list")
    assert refused.exit_code == 1
    assert "the settings give no key" in refused.stderr


def test_the_master_key_is_changed(run: Any, key: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("encryption", "on").exit_code == 0
    file = tmp_path / "new.key"
    file.write_text("short")
    assert "5 characters" in run("encryption", "rotate", "--master", str(file)).stderr
    file.write_text(KEY[::-1])
    changed = run("encryption", "rotate", "--master", str(file))
    assert changed.exit_code == 0
    assert "for 1 data keys" in changed.stdout
    assert "another master key" in run("account", "list").stderr
    monkeypatch.setenv("HELIOGRAPH_ENCRYPTION_KEY", KEY[::-1])
    assert run("account", "list").exit_code == 0


def test_a_damaged_row_is_named(run: Any, key: None, tmp_path: Path) -> None:
    run("account", "create", "acme", "--credit", "1")
    operator = ("--host", "127.0.0.1", "--port", "2775", "--system-id", "id", "--password", "pw")
    assert run("connector", "add", "op", *operator).exit_code == 0
    assert run("audit", "--deep").exit_code == 0
    assert run("encryption", "on").exit_code == 0
    envelope = b"\xffHG\x01" + (1).to_bytes(4, "big") + bytes(40)
    with closing(sqlite3.connect(tmp_path / "data" / "heliograph.db")) as db, db:
        db.execute("UPDATE account SET signing_secret = ?", [envelope])
        db.execute("UPDATE connector SET settings = ?", [json.dumps({"": b64encode(envelope).decode()})])
    assert run("audit").exit_code == 0
    deep = run("audit", "--deep")
    assert deep.exit_code == 1
    assert "The value account.signing_secret of acme cannot be opened" in deep.stdout
    assert "The value connector.settings of op cannot be opened" in deep.stdout
    checked = {each["check"]: each for each in json.loads(run("doctor", "--json").stdout)["checks"]}
    assert checked["rows"]["result"] == "fail"
    assert "2 values cannot be opened" in checked["rows"]["detail"]
    assert json.loads(run("connector", "show", "op", "--json").stdout)["bind_state"] == "disabled"
    assert run("account", "new-signing-secret", "acme").exit_code == 0
    assert run("connector", "remove", "op").exit_code == 0
    assert run("audit", "--deep").exit_code == 0
