"""Requests to the gateway that runs on the data directory; see `heliograph.runtime.data_directory`."""

import json
import socket
from collections.abc import Iterator
from typing import Any

from heliograph.cli.command import Failure, Invocation, listing


def ask(invocation: Invocation, request: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yields the lines of the answer as they arrive.

    Raises Failure if no gateway runs, or if the answer is an error.
    """
    with _connect(invocation) as connection:
        connection.sendall(json.dumps(request).encode() + b"\n")
        with connection.makefile("rb") as lines:
            try:
                for line in lines:
                    answer = json.loads(line)
                    if "problem" in answer and "event" not in answer:
                        raise Failure(answer["problem"], command=listing(answer["problem"], invocation))
                    yield answer
            except OSError as error:
                raise Failure(f"the gateway ended meanwhile: {error}", command=invocation.typed("doctor")) from error


def ask_once(invocation: Invocation, request: dict[str, Any]) -> dict[str, Any]:
    """Returns the first line of the answer. Raises Failure."""
    for answer in ask(invocation, request):
        return answer
    raise Failure("the gateway ended before it answered", command=invocation.typed("doctor"))


def _connect(invocation: Invocation) -> socket.socket:
    from heliograph.runtime.data_directory import socket_path

    invocation.need_the_machine()
    data = invocation.settings().data
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with socket_path(data) as path:
            connection.connect(path)
    except PermissionError as error:
        connection.close()
        raise Failure(f"you may not read {data}", "Run the command as the user of the gateway.") from error
    except OSError as error:
        connection.close()
        raise Failure(
            f"no gateway runs on {data}", "Start it, or give its data directory with --data.", invocation.typed("serve")
        ) from error
    return connection


ANSWER_S = 4.0
"""Seconds for the answer; less than the timeout of the image's health check."""


def readiness_of(address: str) -> int | None:
    """Returns the status of `GET /health/ready` at an address to listen on, such as `0.0.0.0:8080`; None without an
    answer."""
    import http.client

    from heliograph.config import parse_address

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
    try:
        return str(ask_once(invocation, {"ask": "address"}).get("url", "")).removeprefix("http://")
    except (Failure, OSError, ValueError):
        return ""
