"""Readiness of a gateway on this machine, asked over HTTP."""

from heliograph.cli.command import Failure, Invocation
from heliograph.config import parse_address

ANSWER_S = 4.0
"""Seconds for the answer; less than the timeout of the image's health check."""


def readiness_of(address: str) -> int | None:
    """Returns the status of `GET /health/ready` at an address to listen on, such as `0.0.0.0:8080`; None without an
    answer."""
    import http.client

    host, port = parse_address(address)
    near = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - to connect, not to listen
    connection = http.client.HTTPConnection(near, port, timeout=ANSWER_S)
    try:
        connection.request("GET", "/health/ready")
        return connection.getresponse().status
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()


def running_address(invocation: Invocation) -> str:
    """Returns the address of the gateway that runs on the data directory, or "" if none is known."""
    from heliograph.cli.live.control import ask_once

    try:
        return str(ask_once(invocation, {"ask": "address"}).get("url", "")).removeprefix("http://")
    except (Failure, OSError, ValueError):
        return ""
