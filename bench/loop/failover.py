"""An operator that dies under load, while another operator can take its messages."""

import sqlite3
import time
from collections.abc import Sequence
from contextlib import closing
from typing import Final

from bench.loop.figures import Journey, Refused, Request, read_journeys, read_requests
from bench.loop.gateways import TEXT, TO, WINDOW, Ask, Heliograph
from bench.loop.processes import until
from bench.loop.run import Bench, Load, Operator
from heliograph.composition.commands import STORE_FILE

HEADS = ("gateway", "parts a message", "offered/s", "accepted/s", "waiting rows, 15 s after the kill",
         "first to the other s", "rows moved s", "all sent s", "in doubt")  # fmt: skip

RATE: Final = 5_000.0
KILL_AFTER_S: Final = 3.0
FAILOVER_AFTER_S: Final = 15.0
"""The default of the connector option `failover_after_s`."""

AFTER_S: Final = 17.0
"""Seconds of load after the kill."""

MOST_S: Final = 90.0
"""Seconds from the kill until all messages must be sent."""


class HeliographTwo(Heliograph):
    """Ours with two operators, of which the dying operator has the route of higher priority."""

    name = "heliograph-two"

    def prepare_for(self, dying: Operator) -> None:
        """Sets it up on empty state."""
        self.prepare()
        self.command("connector", "set", "operator1", f"port={dying.smpp_port}")
        self.command("route", "add", "--prefix", "", "--connector", "operator1", "--priority", "1")

    def ask_for(self, parts: int) -> Ask:
        """Returns a request for a message of so many parts, with a receipt."""
        text = TEXT if parts == 1 else (TEXT * 10)[: 153 * parts]
        return self._send(to=TO, content=text, dlr="yes", dlr_url=self.callback_url())

    def waiting(self, connector: int) -> int:
        """Returns the number of rows that wait for a connector."""
        with closing(sqlite3.connect(f"file:{self.data / STORE_FILE}?mode=ro", uri=True)) as db:
            ((count,),) = db.execute("SELECT count(*) FROM queue WHERE connector = ?", (connector,))
            return int(count)


def measure(bench: Bench, gateway: HeliographTwo, rate: float, parts: int) -> Sequence[str]:
    """A run. Raises Refused if a message was doubled, split or lost."""
    folder = bench.folder / "dying"
    folder.mkdir(exist_ok=True)
    dying = Operator(bench.programs, folder)
    dying.start(100)
    gateway.prepare_for(dying)
    load = Load(seconds=KILL_AFTER_S + AFTER_S, rate=rate)
    try:
        bench.start(gateway, load.delay_ms, warm=False)
        until(lambda: dying.stats()["receiving"] >= 1, "the gateway has bound")
        customers = bench.customers(gateway, gateway.ask_for(parts), load).begin()
        time.sleep(KILL_AFTER_S)
        killed = time.monotonic_ns()
        first = read_journeys(dying.die())
        time.sleep(FAILOVER_AFTER_S - (time.monotonic_ns() - killed) / 1e9)
        waiting = gateway.waiting(2)
        until(lambda: gateway.waiting(2) <= WINDOW, "the rows have moved", MOST_S)
        moved = time.monotonic_ns()
        summary, data = customers.end()
        bench.drain(None, summary["good"] * parts, most_s=MOST_S)
        second = read_journeys(bench.operator.records())
    finally:
        bench.stop(gateway)
        dying.stop()
    if faults := gateway.audit():
        raise Refused(f"{gateway.name}: {faults}")
    doubt = _in_doubt(read_requests(data), first, second, parts)
    sent = [journey.submitted for journey in second if journey.submits]
    return (
        gateway.name, str(parts), f"{rate:.0f}", f"{summary['good'] / load.seconds:.0f}", str(waiting),
        *(f"{(at - killed) / 1e9:.1f}" for at in (min(sent), moved, max(sent))), str(doubt),
    )  # fmt: skip


def _in_doubt(requests: list[Request], first: list[Journey], second: list[Journey], parts: int) -> int:
    """Returns the number of accepted messages that the dead operator has in part at most, and the other not: those that
    were under way when it died. `first` are its records. Raises Refused if there are more of them than a window, or if
    a message was sent twice or to both."""
    doubt = twice = both = 0
    for number, request in enumerate(requests):
        one = first[number].submits if number < len(first) else 0
        other = second[number].submits if number < len(second) else 0
        twice += one > parts or other > parts
        both += bool(one and other)
        doubt += request.accepted and not other and one < parts
    if twice or both or doubt > WINDOW:
        raise Refused(f"{twice} messages were sent twice, {both} to both operators, and {doubt} are missing")
    return doubt
