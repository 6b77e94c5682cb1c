"""The installed program against operators that limit it by all that is known: `make pace`.

Each operator is a simulated one of its own, the gateway has no configured rate, and there is always more to send than
any of them takes. What counts is what operators saw and answered. With `--write` the table goes into docs/smpp.md.
"""

import argparse
import contextlib
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import smpplib.client
import smpplib.consts
import smpplib.exceptions

from tests.support.customer import Customer
from tests.support.process import Admin, GatewayProcess, SimulatorProcess, eventually
from tests.support.timeouts import COMMAND_S

PAGE = Path(__file__).parents[2] / "docs" / "smpp.md"
BEGIN = "<!-- pace: written by `make pace WRITE=1` -->"
END = "<!-- end of pace -->"

AT_ONCE = 4
"""Operators that are tried at the same time: more than the machine can serve say nothing."""

BATCH = 1_000
OTHERS_A_SECOND = 20


@dataclass(frozen=True)
class Limiter:
    """`takes` is what it lets through a second; `knobs` are the simulator's. `others`: somebody else sends as the same
    customer of the operator's, evenly."""

    name: str
    takes: float
    knobs: dict[str, Any]
    others: bool = False
    seconds: int = 60
    settled_s: int = 10
    """What comes before counts as learning."""


def _spans(kind: str, per_s: float, span_ms: float = 1_000, **knobs: Any) -> dict[str, Any]:
    return {"throttle_by": kind, "throttle_per_s": per_s, "throttle_span_ms": span_ms, **knobs}


def _bucket(burst: int, **knobs: Any) -> dict[str, Any]:
    return {"throttle_per_s": 50, "throttle_burst": burst, **knobs}


COUNTS_REFUSED = {"throttle_counts_refused": True}

LIMITERS = [
    Limiter("50 in any second", 50, _spans("sliding", 50)),
    Limiter("5 in any second", 5, _spans("sliding", 5)),
    Limiter("200 in any second", 200, _spans("sliding", 200)),
    Limiter("50 in each second of the clock", 50, _spans("calendar", 50)),
    Limiter("5 in each second of the clock", 5, _spans("calendar", 5)),
    Limiter("200 in each second of the clock", 200, _spans("calendar", 200)),
    Limiter("bucket of 10, or a queue of 10, 50 a second", 50, _bucket(10)),
    Limiter("bucket of 50, 50 a second", 50, _bucket(50)),
    Limiter("bucket of 1, 50 a second", 50, _bucket(1), settled_s=20),
    Limiter("10 in each 100 ms", 100, _spans("calendar", 100, 100), settled_s=20),
    Limiter("10 in any 100 ms", 100, _spans("sliding", 100, 100), settled_s=20),
    Limiter("50 in any second, others send 20", 30, _spans("sliding", 50), others=True, settled_s=20),
    Limiter("50 in any second, counts what it refuses", 50, _spans("sliding", 50, **COUNTS_REFUSED), settled_s=20),
    Limiter("bucket of 10, counts what it refuses", 50, _bucket(10, **COUNTS_REFUSED), settled_s=20),
    Limiter("600 in each minute of the clock", 10, _spans("calendar", 10, 60_000), seconds=300, settled_s=120),
    Limiter("600 in any minute", 10, _spans("sliding", 10, 60_000), seconds=300, settled_s=120),
]  # fmt: skip


@dataclass
class Seen:
    """What an operator answered, in seconds since it first took a part of ours."""

    taken: list[float] = field(default_factory=list)
    throttled: list[float] = field(default_factory=list)

    def goodput(self, since: float, until: float) -> float:
        return sum(since <= at < until for at in self.taken) / (until - since)

    def share_throttled(self, since: float, until: float) -> float:
        throttled = sum(since <= at < until for at in self.throttled)
        return throttled / max(1, throttled + sum(since <= at < until for at in self.taken))

    def settled(self, takes: float, until: float) -> int | None:
        """The first second from which on every ten had nine tenths of what the operator takes."""
        bad = [at for at in range(int(until) - 10) if self.goodput(at, at + 10) < 0.9 * takes]
        first = bad[-1] + 1 if bad else 0
        return first if first < until - 20 else None


class Others(threading.Thread):
    """PyPI's smpplib sends as the same system_id, evenly."""

    def __init__(self, port: int) -> None:
        super().__init__(daemon=True)
        self._over = threading.Event()
        self._client = smpplib.client.Client("127.0.0.1", port, timeout=5, allow_unknown_opt_params=True)
        self._client.set_message_sent_handler(lambda pdu: None)  # by that name
        self._client.set_error_pdu_handler(lambda _: None)
        self._client.connect()
        self._client.bind_transmitter(system_id="esme", password="secret")
        self._reader = threading.Thread(target=self._read, daemon=True)

    def _read(self) -> None:
        """Reads the answers beside what is sent, since that does not wait for them."""
        with contextlib.suppress(smpplib.exceptions.ConnectionError):
            while not self._over.is_set():
                self._client.read_once()

    def run(self) -> None:
        self._reader.start()
        due = time.monotonic()
        while not self._over.is_set():
            self._client.send_message(
                source_addr_ton=smpplib.consts.SMPP_TON_ALNUM, source_addr="Others", destination_addr="447700900000",
                short_message=b"x",
            )  # fmt: skip
            due += 1 / OTHERS_A_SECOND
            self._over.wait(max(0.0, due - time.monotonic()))
        self._reader.join(10)
        self._client.disconnect()

    def end(self) -> None:
        self._over.set()
        self.join(10)


def try_out(folder: Path, limiters: list[Limiter], latency_ms: float, seconds: float) -> list[Seen]:
    """One gateway sends to all of them for so long."""
    admin = Admin(folder / "data")
    key = admin.account("acme", "10000000")["api_key"]
    with contextlib.ExitStack() as stack:
        simulators = []
        for number, limiter in enumerate(limiters):
            knobs = {"magic": False, "latency_ms": latency_ms, **limiter.knobs}
            simulator = stack.enter_context(SimulatorProcess(folder, name=f"operator{number}", **knobs))
            window = str(20 + int(0.4 * latency_ms))
            admin.operator(simulator.port, f"operator{number}", _prefix(number), "--window", window)
            simulators.append(simulator)
        gateway = stack.enter_context(GatewayProcess(folder / "data", anew=True))
        others = []
        for limiter, simulator in zip(limiters, simulators, strict=True):
            if limiter.others:
                others.append(Others(simulator.port))
                others[-1].start()
        with Customer(gateway.url, "acme", key) as customer:
            for number, limiter in enumerate(limiters):
                for first in range(0, int(1.3 * limiter.takes * seconds) + BATCH, BATCH):
                    to = [f"{_prefix(number)}{first + each:08}" for each in range(BATCH)]
                    customer.document("/api/v1/messages", {"to": to, "from": "Pace", "content": "Hi"})
        eventually(lambda: all(simulator.submits() for simulator in simulators), "all are sent to", COMMAND_S)
        time.sleep(seconds)
        for each in others:
            each.end()
        gateway.kill()
        return [_seen(simulator) for simulator in simulators]


def _prefix(number: int) -> str:
    return f"4917{number}"


def _seen(simulator: SimulatorProcess) -> Seen:
    """Of those submits alone that were ours; when they came, not when they were answered."""
    ours: dict[tuple[int, int], float] = {}
    seen = Seen()
    begun = None
    for line in simulator.seen():
        pdu = line.get("pdu", {})
        if line["event"] == "request" and pdu["command"] == "submit_sm" and pdu["source_addr"] == "Pace":
            ours[line["link"], pdu["sequence"]] = datetime.fromisoformat(line["at"]).timestamp()
        elif (
            line["event"] == "answer"
            and pdu["command"] == "submit_sm_resp"  # receipts have answers too, and numbers of their own
            and (at := ours.get((line["link"], pdu["sequence"]))) is not None
        ):
            begun = at if begun is None else begun
            (seen.taken if pdu["status"] == "ESME_ROK" else seen.throttled).append(at - begun)
    return seen


def row(limiter: Limiter, latency_ms: float, seen: Seen) -> str:
    since, until = limiter.settled_s, limiter.seconds - 1
    settled = seen.settled(limiter.takes, until)
    cells = [
        limiter.name, f"{latency_ms:g} ms", f"{seen.goodput(since, until) / limiter.takes:.1%}",
        f"{seen.share_throttled(since, until):.2%}", str(sum(at < 10 for at in seen.throttled)),
        "not" if settled is None else f"{settled} s",
    ]  # fmt: skip
    return f"| {' | '.join(cells)} |"


def rounds(limiters: list[Limiter], latencies_ms: list[float]) -> Iterator[tuple[list[Limiter], float]]:
    for latency_ms in latencies_ms:
        for length in sorted({limiter.seconds for limiter in limiters}):
            alike = [limiter for limiter in limiters if limiter.seconds == length]
            for first in range(0, len(alike), AT_ONCE):
                yield alike[first : first + AT_ONCE], latency_ms


HEAD = (
    "| the operator takes | answers after | of that it got | throttled | in the first 10 s | settled after |\n"
    "|---|---|---|---|---|---|"
)


def main() -> None:
    options = argparse.ArgumentParser(prog="make pace", description=__doc__)
    options.add_argument("--latencies", default="0,50,500", help="milliseconds that operators take to answer")
    options.add_argument("--only", default="", help="those limiters alone whose name has this in it")
    options.add_argument("--write", action="store_true", help="write these rows into the table of docs/smpp.md")
    given = options.parse_args()
    chosen = [limiter for limiter in LIMITERS if given.only in limiter.name]
    if not chosen:
        sys.exit(f"no limiter has {given.only!r} in its name: {', '.join(limiter.name for limiter in LIMITERS)}")
    found: list[str] = []
    print(HEAD, flush=True)
    for limiters, latency_ms in rounds(chosen, [float(each) for each in given.latencies.split(",")]):
        with tempfile.TemporaryDirectory(prefix="pace-") as folder:
            seen = try_out(Path(folder), limiters, latency_ms, limiters[0].seconds)
        found += [row(limiter, latency_ms, each) for limiter, each in zip(limiters, seen, strict=True)]
        print("\n".join(found[-len(limiters) :]), flush=True)
    if given.write:
        write(found)


def write(found: list[str]) -> None:
    """Puts these rows into the table of the page, in the place of those that measured the same."""
    before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
    table, after = rest.split(END)
    rows = {_subject(line): line for line in (*table.strip().splitlines()[2:], *found)}
    order = {limiter.name: place for place, limiter in enumerate(LIMITERS)}
    ordered = [rows[subject] for subject in sorted(rows, key=lambda subject: (order[subject[0]], subject[1]))]
    PAGE.write_text("\n".join([before + BEGIN, "", HEAD, *ordered, "", END]) + after, encoding="utf-8")


def _subject(line: str) -> tuple[str, float]:
    """The operator and the milliseconds of a row."""
    name, latency, *_ = line.strip("| ").split(" | ")
    return name, float(latency.removesuffix(" ms"))


if __name__ == "__main__":
    main()
