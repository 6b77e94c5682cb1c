"""Sends the messages of a file over several connections."""

import threading
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from decimal import Decimal

from heliograph.cli.lists.recipients_file import Row
from heliograph.cli.remote.client import HOPELESS, Client, SendOutcome
from heliograph.domain.money.amounts import MICRO

_PROBLEMS_KEPT = 10


@dataclass(slots=True)
class RunCounts:
    """Counts of the rows' results so far."""

    accepted: int = 0
    repeated: int = 0
    """Accepted rows that an earlier run had sent."""
    failed: int = 0
    credit: int = 0
    """Micro-credits that this run was charged."""
    problems: list[tuple[int, str]] = field(default_factory=list)
    """The first problems, by line."""
    stopped: str = ""
    """The reason why the remaining rows were not tried; empty if all were."""


class FileRun:
    """A run over a file. At most two rows for each connection are under way at a time."""

    def __init__(
        self, connect: Callable[[], Client], connections: int, settled: Callable[[Row, SendOutcome, str], None]
    ) -> None:
        """Calls `settled` in this thread for each tried row, with a result such as `sent` or `failed`."""
        self._connect = connect
        self._connections = connections
        self._settled = settled
        self._tally = RunCounts()
        self._own = threading.local()
        self._clients: list[Client] = []

    def send(self, rows: Iterable[Row]) -> RunCounts:
        """Sends all rows, or stops at an error that further rows would have too. Ctrl-C waits for rows under way."""
        waiting: dict[Future[SendOutcome], Row] = {}
        with ThreadPoolExecutor(self._connections) as pool:
            try:
                self._submit(rows, pool, waiting)
            except KeyboardInterrupt:
                self._tally.stopped = "stopped by Ctrl-C"
            for future in list(waiting):
                if self._tally.stopped and future.cancel():
                    del waiting[future]
            self._settle(waiting, wait(waiting).done)
        for client in self._clients:
            client.close()
        return self._tally

    def _submit(self, rows: Iterable[Row], pool: ThreadPoolExecutor, waiting: dict[Future[SendOutcome], Row]) -> None:
        for row in rows:
            if self._tally.stopped:
                return
            waiting[pool.submit(self._send_row, row)] = row
            if len(waiting) >= 2 * self._connections:
                self._settle(waiting, wait(waiting, return_when=FIRST_COMPLETED).done)

    def _send_row(self, row: Row) -> SendOutcome:
        """Runs in a thread of the pool. Each thread has its own connection."""
        client: Client | None = getattr(self._own, "client", None)
        if client is None:
            client = self._own.client = self._connect()
            self._clients.append(client)
        return client.send(row.fields)

    def _settle(self, waiting: dict[Future[SendOutcome], Row], done: set[Future[SendOutcome]]) -> None:
        for future in done:
            row, outcome = waiting.pop(future), future.result()
            self._settled(row, outcome, self._count(row, outcome))

    def _count(self, row: Row, outcome: SendOutcome) -> str:
        tally = self._tally
        if not outcome.sent:
            tally.failed += 1
            if len(tally.problems) < _PROBLEMS_KEPT:
                tally.problems.append((row.line, outcome.problem))
            if outcome.status in HOPELESS or outcome.status == 0:
                tally.stopped = tally.stopped or f"stopped at line {row.line}: {outcome.problem}"
            return "failed"
        tally.accepted += 1
        if outcome.repeated:
            tally.repeated += 1
            return "sent before"
        tally.credit += int(Decimal(str(outcome.body.get("Rate", 0))) * MICRO)
        return str(outcome.body.get("MessageStatus", "Sent")).lower()
