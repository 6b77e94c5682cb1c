"""Completion of names in the shell, from a store and from a gateway elsewhere."""

import json
import os
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from heliograph.adapters.store import names as stored
from heliograph.cli.command import COMPLETES
from heliograph.cli.names import _Bash, complete_names
from tests.support.timeouts import COMMAND_S

Run = Callable[..., Result]


@pytest.fixture
def filled(run: Run) -> Run:
    """A store with a thing of each kind."""
    for line in (
        "account create acme --credit 1",
        "account create acorn --credit 1",
        "account create big_one --credit 1 --plan gold",
        "account suspend acorn",
        "connector add op1 --host 127.0.0.1 --port 2775 --system-id a --password b",
        "route add --prefix 49 --connector op1",
        "number add 3388 --account acme --keyword PIZZA",
        "template add code --text {#var#} --sender ACME",
        "sender-rule add --country IN --kind alpha --action allow",
        "admin token create grafana --all-scopes",
    ):
        assert run(*line.split()).exit_code == 0, line
    return run


def values(line: str, kind: str, begin: str = "") -> list[tuple[str, str]]:
    return complete_names(line.split(), kind, begin)


@pytest.mark.usefixtures("filled")
def test_names_of_every_kind_come_from_the_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    line = "account show"
    assert values(line, "account") == [("acme", ""), ("acorn", "suspended"), ("big_one", "")]
    assert values(line, "account", "ac") == [("acme", ""), ("acorn", "suspended")]
    # _ and % are letters like others
    assert (values(line, "account", "big_"), values(line, "account", "%")) == ([("big_one", "")], [])
    assert values(line, "connector") == [("op1", "on")]
    assert values(line, "plan") == [("default", ""), ("gold", "")]
    assert values(line, "template") == [("code", "ACME")]
    assert values(line, "route") == [("1", "49 by op1")]
    assert values(line, "number") == [("1", "3388 pizza of acme")]
    assert values(line, "sender-rule") == [("1", "IN alpha allow ")]
    assert [hint for _, hint in values(line, "token")] == ["grafana"]
    assert (values(line, "user"), values(line, "sending-list")) == ([], [])
    endless = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i, $1 FROM n WHERE i < 0"
    monkeypatch.setitem(stored._STATEMENTS, "account", endless)
    with pytest.raises(sqlite3.OperationalError, match="interrupted"):
        stored.names_in_file(tmp_path / "data" / "heliograph.db", "account", "", 0.05)


def complete(word: str, *before: str, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Presses the tabulator in zsh. The last line of the error output has the imported modules."""
    words = ["heliograph", *before, word]
    program = (
        "import sys; from heliograph.cli.main import main; import atexit;"
        "atexit.register(lambda: print(*sys.modules, file=sys.stderr)); main()"
    )
    shell = {COMPLETES: "zsh_complete", "COMP_WORDS": " ".join(words), "COMP_CWORD": str(len(words) - 1)}
    return subprocess.run(
        [sys.executable, "-c", program], env={**os.environ, **environment, **shell},
        capture_output=True, text=True, timeout=COMMAND_S, check=False,
    )  # fmt: skip


def test_a_key_press_imports_no_command_and_says_nothing_of_errors(run: Run, tmp_path: Path) -> None:
    for name in ("acme", "acorn"):
        assert run("account", "create", name, "--credit", "1").exit_code == 0
    done = complete("ac", "account", "show", environment={"HELIOGRAPH_DATA": str(tmp_path / "data")})
    assert done.stdout.split("\n")[:6] == ["plain", "acme", "_", "plain", "acorn", "_"]
    imported = done.stderr.split()
    slow = (
        "heliograph.app.resources",
        "heliograph.app.ports",
        "heliograph.cli.commands.",
        "heliograph.adapters.store.sqlite",
        "asyncio",
        "rich",
    )
    assert [each for each in imported if each.startswith(slow)] == []
    nothing = complete("ac", "account", "show", "--data", str(tmp_path / "none"), environment={})
    assert (nothing.stdout.strip(), nothing.returncode) == ("", 0)
    assert nothing.stderr.count("\n") == 1
    assert not (tmp_path / "none").exists()


def test_the_keys_of_settings_are_completed(tmp_path: Path) -> None:
    data = {"HELIOGRAPH_DATA": str(tmp_path / "data")}
    done = complete("ra", "account", "set", "acme", "plan=gold", environment=data)
    assert done.stdout.split("\n")[:3] == ["plain", "rate=", "Messages a second; 0: no limit"]
    assert "compopt -o nospace" in _Bash.source_template


class AdminApi(BaseHTTPRequestHandler):
    """Answers with two accounts and two routes."""

    def do_GET(self) -> None:
        assert self.headers["Authorization"] == "Bearer hat_1"
        answers = {
            "/admin/v1/accounts": {"accounts": [{"name": "acme"}, {"name": "bell"}]},
            "/admin/v1/routes": {"routes": [{"id": 7}, {"id": 71}]},
        }
        body = json.dumps(answers[self.path]).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Stays silent."""


def test_names_come_from_the_gateway_of_a_context(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    server = HTTPServer(("127.0.0.1", 0), AdminApi)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    file = tmp_path / "heliograph" / "contexts.json"
    file.parent.mkdir()
    url = f"http://127.0.0.1:{server.server_port}"
    known = {"prod": {"server": url, "token": "hat_1"}, "test": {"server": "https://x", "token": "t"}}
    file.write_text(json.dumps({"current": "prod", "contexts": known}))
    try:
        monkeypatch.setattr("heliograph.cli.names.WITHIN_S", COMMAND_S)
        assert values("account show", "account", "b") == [("bell", "")]
        assert values("route remove --context prod", "route", "7") == [("7", ""), ("71", "")]
        assert values("admin remove", "user") == []
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    assert values("context use", "context", "t") == [("test", "https://x")]
