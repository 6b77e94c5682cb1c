"""The installed program under siege: `make siege`.

Hostile clients have addresses of their own on loopback (127.0.0.66 and on), a good client has another one. What counts
is what the good client sees: it sends message after message on one connection, and asks for health on a new connection
each time. With `--write` the table goes into docs/security.md.
"""

import argparse
import base64
import contextlib
import json
import multiprocessing
import selectors
import socket
import ssl
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from multiprocessing.synchronize import Event
from pathlib import Path

from tests.support.certificates import CertificateAuthority
from tests.support.process import Admin, GatewayProcess, SimulatorProcess

PAGE = Path(__file__).parents[2] / "docs" / "security.md"
BEGIN = "<!-- siege: written by `make siege WRITE=1` -->"
END = "<!-- end of siege -->"

GOOD = "127.0.0.1"
HOSTILE = "127.0.0.66"

HALF_HELLO = b"\x16\x03\x01\x02\x00\x01"
"""The record header of a TLS ClientHello, and its first octet (RFC 8446, 5.1)."""

HALF = b"POST /console/sign-in HTTP/1.1\r\nHost: x\r\nContent-Length: 500\r\n\r\n1"

PAUSE_S = 0.005
"""Seconds between an answer to the good client and what it asks next."""

SETTLE_S = 3.0
"""Seconds of an attack before the good client is measured."""

TIMEOUT_S = 10.0


@dataclass
class Seen:
    """Seconds that the good client waited, for messages and for health on new connections; and what failed."""

    sends: list[float] = field(default_factory=list)
    healths: list[float] = field(default_factory=list)
    failed: int = 0


@dataclass(frozen=True)
class Attack:
    name: str
    run: Callable[[int, str, Event], None]
    """Given a port, an Authorization header and what ends it."""
    by_tls: bool = False
    """Whether it is against the port of TLS, and the good client there, too."""


def half_requests(port: int, _: str, over: Event, count: int = 4_200, host: str = HOSTILE, half: bytes = HALF) -> None:
    """Keeps that many connections open, each with half of what it has to say; opens anew what is closed."""
    selector = selectors.DefaultSelector()
    while not over.is_set():
        for _number in range(min(100, count - len(selector.get_map()))):
            with contextlib.suppress(OSError):
                opened = socket.create_connection(("127.0.0.1", port), TIMEOUT_S, source_address=(host, 0))
                opened.sendall(half)
                opened.setblocking(False)
                selector.register(opened, selectors.EVENT_READ)
        for key, _events in selector.select(0.01):
            with contextlib.suppress(OSError):
                if key.fileobj.recv(4_096):  # type: ignore[union-attr]
                    continue
            selector.unregister(key.fileobj)
            key.fileobj.close()  # type: ignore[union-attr]


def escapes(port: int, authorization: str, over: Event) -> None:
    """Posts a mebibyte of escapes as the text of a message, again and again: it is refused, and costs nothing."""
    body = b"to=447700900123&from=Siege&content=" + b"%25" * (((1 << 20) - 40) // 3)
    _post(port, authorization, over, body, "application/x-www-form-urlencoded")


def numbers(port: int, authorization: str, over: Event) -> None:
    """Posts a mebibyte of numbers as destinations."""
    body = b'{"from":"Siege","content":"x","to":[' + b",".join([b"1.5"] * 260_000) + b"]}"
    _post(port, authorization, over, body, "application/json")


def _post(port: int, authorization: str, over: Event, body: bytes, media: str) -> None:
    connection = HTTPConnection("127.0.0.1", port, timeout=TIMEOUT_S, source_address=(HOSTILE, 0))
    while not over.is_set():
        try:
            connection.request(
                "POST", "/api/v1/messages", body, {"Authorization": authorization, "Content-Type": media}
            )
            connection.getresponse().read()
        except (OSError, HTTPException):
            connection.close()


def wrong_logins(port: int, _: str, over: Event, clients: int = 64) -> None:
    """Signs in with wrong passwords from that many addresses, at the API and the console by turns, with made-up names
    and with the good account's."""
    import threading

    def guess(client: int) -> None:
        connection = HTTPConnection("127.0.0.1", port, timeout=TIMEOUT_S, source_address=(f"127.0.7.{client + 1}", 0))
        tries = 0
        while not over.is_set():
            tries += 1
            name = "good" if tries % 2 else f"nobody{tries}"
            with contextlib.suppress(OSError, HTTPException):
                if tries % 4 < 2:
                    word = base64.b64encode(f"{name}:wrong {tries}".encode()).decode()
                    connection.request("POST", "/api/v2/account/balance", None, {"Authorization": f"Basic {word}"})
                else:
                    form = f"name={name}&password=wrong+{tries}"
                    media = {"Content-Type": "application/x-www-form-urlencoded"}
                    connection.request("POST", "/console/sign-in", form, media)
                connection.getresponse().read()
                continue
            connection.close()

    threads = [threading.Thread(target=guess, args=(client,)) for client in range(clients)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()


def _together(attack: Callable[[int, str, Event], None], count: int) -> Callable[[int, str, Event], None]:
    def run(port: int, authorization: str, over: Event) -> None:
        import threading

        threads = [threading.Thread(target=attack, args=(port, authorization, over)) for _ in range(count)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()

    return run


ATTACKS = [
    Attack("no attack", lambda port, authorization, over: None),
    Attack("4,200 connections with half a request each", half_requests),
    Attack("8 connections that post 1 MiB of `%25`", _together(escapes, 8)),
    Attack("8 connections that post 1 MiB of JSON numbers", _together(numbers, 8)),
    Attack("64 addresses that sign in with wrong passwords, without a pause", wrong_logins),
    Attack("no attack, TLS", lambda port, authorization, over: None, by_tls=True),
    Attack("4,200 TLS handshakes that never end", partial(half_requests, half=HALF_HELLO), by_tls=True),
]


@contextmanager
def attacked(attack: Attack, port: int, authorization: str) -> Iterator[None]:
    """Runs the attack in a process of its own."""
    over = multiprocessing.Event()
    process = multiprocessing.Process(target=attack.run, args=(port, authorization, over), daemon=True)
    process.start()
    try:
        yield
    finally:
        over.set()
        process.join(TIMEOUT_S)
        process.kill()
        process.join()


def watch(port: int, authorization: str, seconds: float, trusted: ssl.SSLContext | None = None) -> Seen:
    """Measures for so long what the good client sees, by TLS where it has something to trust."""

    def connected() -> HTTPConnection:
        if trusted is None:
            return HTTPConnection("127.0.0.1", port, timeout=TIMEOUT_S, source_address=(GOOD, 0))
        return HTTPSConnection("127.0.0.1", port, timeout=TIMEOUT_S, source_address=(GOOD, 0), context=trusted)

    seen = Seen()
    headers = {"Authorization": authorization, "Content-Type": "application/json"}
    connection = connected()
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        body = b'{"to":"447700900123","from":"Good","content":"Hello"}'
        _timed(seen, seen.sends, connection, "POST", "/api/v1/messages", body, headers)
        time.sleep(PAUSE_S)
        fresh = connected()
        _timed(seen, seen.healths, fresh, "GET", "/health/live", None, {})
        fresh.close()
        time.sleep(PAUSE_S)
    connection.close()
    return seen


def _timed(
    seen: Seen, times: list[float], connection: HTTPConnection, method: str, path: str, body: bytes | None,
    headers: dict[str, str],
) -> None:  # fmt: skip
    begun = time.perf_counter()
    try:
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        answer.read()
        seen.failed += answer.status != 200
    except (OSError, HTTPException):
        connection.close()
        seen.failed += 1
    times.append(time.perf_counter() - begun)


def row(attack: Attack, seen: Seen) -> str:
    return row_of(attack, (seen.sends, seen.healths), seen.failed)


def row_of(attack: Attack, waits: Iterable[list[float]], failed: int) -> str:
    """Returns a row of the table: median and p99 of each kind of wait, given in seconds; `-` of fewer than two."""
    cells = [attack.name]
    for times in waits:
        if len(times) < 2:
            cells += ["-", "-"]
            continue
        hundredths = statistics.quantiles(times, n=100, method="inclusive")
        cells += [f"{hundredths[49] * 1000:.1f}", f"{hundredths[98] * 1000:.1f}"]
    return f"| {' | '.join(cells)} | {failed} |"


def read_options(program: str, about: str | None) -> argparse.Namespace:
    options = argparse.ArgumentParser(prog=program, description=about)
    options.add_argument("--seconds", type=float, default=15.0, help="how long each attack is watched")
    options.add_argument("--only", default="", help="only attacks whose name has this in it")
    options.add_argument("--write", action="store_true", help="write the table into docs/security.md")
    return options.parse_args()


def write_table(begin: str, end: str, rows: Iterable[str]) -> None:
    """Replaces the text between two marks of docs/security.md."""
    before, rest = PAGE.read_text(encoding="utf-8").split(begin)
    PAGE.write_text("\n".join([before + begin, "", *rows, "", end]) + rest.split(end)[1], encoding="utf-8")


HEAD = (
    "| attack | send: median, ms | send: p99 | new connection: median, ms | new connection: p99 | failed |\n"
    "|---|---|---|---|---|---|"
)


def main() -> None:
    given = read_options("make siege", __doc__)
    multiprocessing.set_start_method("fork")
    found: list[str] = []
    print(HEAD, flush=True)
    with tempfile.TemporaryDirectory(prefix="siege-") as name, contextlib.ExitStack() as stack:
        folder = Path(name)
        admin = Admin(folder / "data")
        keys = {who: admin.account(who, "1000000")["api_key"] for who in ("good", "hostile")}
        good, hostile = ("Basic " + base64.b64encode(f"{who}:{key}".encode()).decode() for who, key in keys.items())
        admin.operator(stack.enter_context(SimulatorProcess(folder, magic=False, logged=False)).port)
        authority = CertificateAuthority(folder)
        shown = authority.issue()
        settings = {
            "HELIOGRAPH_HTTP_TLS_LISTEN": "127.0.0.1:0",
            "HELIOGRAPH_HTTP_CERT_FILE": str(shown.certificate),
            "HELIOGRAPH_HTTP_KEY_FILE": str(shown.key),
        }
        gateway = stack.enter_context(GatewayProcess(folder / "data", settings=settings, anew=True))
        tls_port = int(json.loads(gateway.first_line())["tls_url"].rpartition(":")[2])
        for attack in (each for each in ATTACKS if given.only in each.name):
            port, trusted = (tls_port, authority.client()) if attack.by_tls else (gateway.port, None)
            with attacked(attack, port, hostile):
                time.sleep(SETTLE_S)
                found.append(row(attack, watch(port, good, given.seconds, trusted)))
            print(found[-1], flush=True)
    if given.write:
        write_table(BEGIN, END, [HEAD, *found])


if __name__ == "__main__":
    main()
