"""One hostile address does not keep the others out, and the operator learns of it."""

import contextlib
import socket
import urllib.request
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path

import pytest

from tests.e2e.siege import GOOD, HALF, HOSTILE
from tests.support.ports import free_port
from tests.support.process import GatewayProcess, eventually
from tests.support.timeouts import PATIENCE_S

pytestmark = [pytest.mark.slow, pytest.mark.extended]

SHARES = {
    "HELIOGRAPH_HTTP_CONNECTIONS": "40",
    "HELIOGRAPH_HTTP_CONNECTIONS_PER_ADDRESS": "20",
    "HELIOGRAPH_HTTP_UNFINISHED_PER_ADDRESS": "5",
}


@contextlib.contextmanager
def halves(port: int, count: int, host: str = HOSTILE) -> Iterator[list[socket.socket]]:
    """Opens that many connections from one address, each with half a request."""
    with contextlib.ExitStack() as stack:
        opened = []
        for _ in range(count):
            each = socket.create_connection(("127.0.0.1", port), PATIENCE_S, source_address=(host, 0))
            opened.append(stack.enter_context(each))
            with contextlib.suppress(OSError):
                each.sendall(HALF)
        yield opened


def is_open(each: socket.socket) -> bool:
    each.setblocking(False)
    try:
        return each.recv(4_096) != b""
    except BlockingIOError:
        return True
    except OSError:
        return False


def healthy(port: int) -> int:
    connection = HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S, source_address=(GOOD, 0))
    with contextlib.closing(connection):
        connection.request("GET", "/health/live")
        return connection.getresponse().status


def turned_away(url: str) -> dict[str, float]:
    with urllib.request.urlopen(f"{url}/metrics", timeout=PATIENCE_S) as page:
        lines = page.read().decode().splitlines()
    found = [line.split("heliograph_http_turned_away_total", 1)[1] for line in lines if "turned_away_total{" in line]
    return {line.split('"')[1]: float(line.split()[-1]) for line in found}


def test_half_requests_of_one_address_leave_room_for_the_others(data: Path) -> None:
    with GatewayProcess(data, settings=SHARES) as gateway, halves(gateway.port, 100) as opened:
        for _ in range(10):
            assert healthy(gateway.port) == 200
        eventually(lambda: sum(map(is_open, opened)) == 5, "the slow ones are closed")
        counted = turned_away(gateway.url)
        # where opening them takes longer than a request may be unfinished, some come in for those that have to go
        assert counted["connections"] + counted["unfinished"] == 95
        assert 15 <= counted["unfinished"] < 95
        told = [line for line in gateway.log() if line["event"] == "http.turned_away"]
        assert sorted((line["reason"], line["client"]) for line in told) == [
            ("connections", HOSTILE),
            ("unfinished", HOSTILE),
        ], "one line, not one a connection"


def test_a_full_server_makes_room_for_whoever_comes(data: Path) -> None:
    with contextlib.ExitStack() as stack:
        gateway = stack.enter_context(GatewayProcess(data, settings={**SHARES, "HELIOGRAPH_HTTP_CONNECTIONS": "16"}))
        for number in range(4):
            stack.enter_context(halves(gateway.port, 4, f"127.0.1.{number}"))
        for _ in range(10):
            assert healthy(gateway.port) == 200


def test_health_and_metrics_have_a_listener_of_their_own(data: Path) -> None:
    port = free_port()
    with GatewayProcess(data, settings={"HELIOGRAPH_HTTP_HEALTH_LISTEN": f"127.0.0.1:{port}"}) as gateway:
        assert (healthy(port), healthy(gateway.port)) == (200, 200)
        assert turned_away(f"http://127.0.0.1:{port}")["full"] == 0
        for path in ("/", "/api/v1/messages", "/console/", "/healthy", "/nowhere"):
            connection = HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
            connection.request("GET", path)
            assert connection.getresponse().status == 404, path
            connection.close()
        connection = HTTPConnection("127.0.0.1", gateway.port, timeout=PATIENCE_S)
        connection.request("GET", "/metrics")  # as a proxy might that says nothing of itself
        assert connection.getresponse().status == 403
        connection.close()
        assert gateway.stop() == 0
