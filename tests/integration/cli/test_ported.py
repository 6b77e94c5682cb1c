"""The settings of ported numbers, in commands."""

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from heliograph.adapters.system import number_lookup
from tests.support.timeouts import PATIENCE_S


def test_a_ported_number_is_explained_by_its_network(run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "ported.csv"
    file.write_text("491701234567,26202\n", encoding="ascii")
    monkeypatch.setenv("HELIOGRAPH_ROUTING_PORTED_FILE", str(file))
    assert run("network", "set", "4917", "--mccmnc", "26201").exit_code == 0
    networks = [
        json.loads(run("route", "explain", number, "--json").stdout)["network"]
        for number in ("491701234567", "491701234568")
    ]
    assert networks == ["26202", "26201"]
    file.write_text("nonsense\nnonsense\n", encoding="ascii")
    refused = run("route", "explain", "491701234567")
    assert (refused.exit_code, "routing.ported_file" in refused.stderr) == (1, True)


class Networks(BaseHTTPRequestHandler):
    """A server that knows the network of any number."""

    def do_GET(self) -> None:
        self.send_response(200 if self.headers["Authorization"] == "Bearer secret" else 403)
        self.end_headers()
        self.wfile.write(b'{"mccmnc": "26203"}')

    def log_message(self, *_: object) -> None:
        """Writes no log."""


def test_a_server_is_asked_about_a_number_that_is_explained(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Networks)
    Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setattr(number_lookup, "WAIT_S", PATIENCE_S)
    monkeypatch.setenv("HELIOGRAPH_ROUTING_LOOKUP_URL", f"http://127.0.0.1:{server.server_port}/{{number}}")
    monkeypatch.setenv("HELIOGRAPH_ROUTING_LOOKUP_AUTHORIZATION", "Bearer secret")
    assert run("network", "set", "4917", "--mccmnc", "26201").exit_code == 0
    found = json.loads(run("route", "explain", "491701234567", "--json").stdout)
    assert found["network"] == "26203"
    assert "The number is of the network 26203 by the look-up of numbers." in found["reasons"]
    assert doctor(run)["result"] == "ok"
    monkeypatch.setenv("HELIOGRAPH_ROUTING_LOOKUP_AUTHORIZATION", "wrong")
    explained = run("route", "explain", "491701234567", "--json")
    assert "The number is of the network 26201 by its prefix." in json.loads(explained.stdout)["reasons"]
    assert explained.stderr == "note: lookup.failed: HTTP 403\n"
    assert (doctor(run)["result"], "HTTP 403" in doctor(run)["detail"]) == ("fail", True)
    server.shutdown()
    server.server_close()


def doctor(run: Any) -> dict[str, str]:
    checks = json.loads(run("doctor", "--no-binds", "--json").stdout)["checks"]
    return next(each for each in checks if each["check"] == "number look-up")


@pytest.mark.parametrize(
    "url", ["ftp://a/{number}", "http://a/", "http://{number}/", "http://u:p@a/{number}", "http:///{number}"]
)
def test_a_url_without_a_place_for_the_number_is_refused(run: Any, monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("HELIOGRAPH_ROUTING_LOOKUP_URL", url)
    refused = run("route", "list")
    assert (refused.exit_code, "routing.lookup_url" in refused.stderr) == (1, True)
