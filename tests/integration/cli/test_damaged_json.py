"""JSON that a disk has changed, in a store without encryption: the gateway starts, and says what is damaged."""

import json
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.support.timeouts import PATIENCE_S

DAMAGED = ("{", "[]", '"host"', "", b'{"host": "\xe9"}')


@pytest.fixture
def filled(run: Any) -> Any:
    """Runs a command on a store with an account, a connector, a route, a number and a template."""
    for line in (
        "account create acme --credit 1",
        "connector add op --host 127.0.0.1 --port 9 --system-id id --password pw",
        "route add --prefix 49 --connector op",
        "number add 3388 --account acme",
        "template add welcome --text Welcome",
    ):
        done = run(*line.split())
        assert done.exit_code == 0, done.output
    return run


def damage(data: Path, table: str, column: str, text: str | bytes) -> None:
    with closing(sqlite3.connect(data / "data" / "heliograph.db")) as db, db:
        assert db.execute(f'UPDATE "{table}" SET "{column}" = CAST(? AS TEXT)', [text]).rowcount


def started(tmp_path: Path) -> tuple[bool, str]:
    """Starts a gateway and stops it once it is ready. Returns whether it was, and what it wrote."""
    command = [sys.executable, "-m", "heliograph", "--data", str(tmp_path / "data"), "--json", "serve"]
    with subprocess.Popen(
        [*command, "--listen", "127.0.0.1:0"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        is_ready = bool(process.stdout.readline())
        process.send_signal(signal.SIGTERM)
        _, log = process.communicate(timeout=PATIENCE_S)
    return is_ready, log


@pytest.mark.parametrize(("column", "row"), [("connector.settings", "op"), ("template.tlvs", "welcome")])
def test_a_gateway_starts_with_damaged_json(filled: Any, tmp_path: Path, column: str, row: str) -> None:
    table, _, name = column.partition(".")
    damage(tmp_path, table, name, "{")
    is_ready, log = started(tmp_path)
    assert is_ready, log
    assert "Traceback" not in log
    deep = filled("audit", "--deep")
    assert deep.exit_code == 1
    assert f"The value {column} of {row} cannot be opened" in deep.stdout
    checks = {each["check"]: each for each in json.loads(filled("doctor", "--json").stdout)["checks"]}
    assert f"{column} of {row}" in checks["rows"]["detail"]


@pytest.mark.parametrize("text", DAMAGED)
def test_a_connector_with_damaged_json_is_off_until_all_is_given_again(
    filled: Any, tmp_path: Path, text: str | bytes
) -> None:
    damage(tmp_path, "connector", "settings", text)
    shown: dict[str, Any] = json.loads(filled("connector", "show", "op", "--json").stdout)
    assert shown["bind_state"] == "disabled"
    again = ("host=127.0.0.1", "port=9", "system_id=id", "password=pw", "state=on")
    assert filled("connector", "set", "op", *again).exit_code == 0
    assert filled("audit", "--deep").exit_code == 0


@pytest.mark.parametrize(("was", "now"), [('"host"', '"hosu"'), ('"transceiver"', '"transceives"')])
def test_a_connector_with_a_damaged_name_or_value_is_off(filled: Any, tmp_path: Path, was: str, now: str) -> None:
    with closing(sqlite3.connect(tmp_path / "data" / "heliograph.db")) as db, db:
        (settings,) = db.execute("SELECT settings FROM connector").fetchone()
    assert was in settings
    damage(tmp_path, "connector", "settings", settings.replace(was, now))
    is_ready, log = started(tmp_path)
    assert is_ready, log
    assert "Traceback" not in log
    checks = {each["check"]: each for each in json.loads(filled("doctor", "--json").stdout)["checks"]}
    assert "its settings are damaged" in checks["connector op"]["detail"]


def test_damaged_json_of_an_account_refuses_a_start_and_says_where(filled: Any, tmp_path: Path) -> None:
    damage(tmp_path, "account", "networks", '"192.0.2.0/24"')
    sentence = "the value account.networks of acme cannot be read: its row is damaged."
    is_ready, log = started(tmp_path)
    assert not is_ready
    assert sentence in log
    assert "Traceback" not in log
    shown = filled("account", "show", "acme")
    assert shown.exit_code == 1
    assert sentence in shown.stderr
    assert "The value account.networks of acme cannot be opened" in filled("audit", "--deep").stdout
    checks = {each["check"]: each for each in json.loads(filled("doctor", "--json").stdout)["checks"]}
    assert sentence in checks["rows"]["detail"]


def test_no_text_fits_a_damaged_template(filled: Any, tmp_path: Path) -> None:
    damage(tmp_path, "template", "tlvs", "[1]")
    assert "welcome" in filled("template", "list").stdout
    refused = filled("template", "set", "welcome", "--text", "Hello")
    assert refused.exit_code == 1
    assert "give them again" in refused.stderr, "without its TLVs, operators would refuse the text"
    assert filled("template", "set", "welcome", "--tlv", "entity=1").exit_code == 0
    assert filled("audit", "--deep").exit_code == 0
