"""Asks a server over HTTP for the networks of numbers, which number portability changes.

    number --> in the file of ported numbers, or answered lately?  --yes--> its network is known at once
                  | no
                  v
               GET routing.lookup_url
                  |
                  +-- 200 {"mccmnc": "26202"}               kept for routing.lookup_kept_s
                  +-- 200 {"mccmnc": ""}, null, or 404      the same: the network by the prefix is right
                  +-- nothing usable within WAIT_S          kept for SILENT_S: the network by the prefix
                  +-- left out                              not kept: the network by the prefix

What can go wrong: the server is dead or slow. After FAILURES in a row the circuit breaker of the client leaves it
alone, for 5 s at first and 60 s at most. Numbers are then left out at once, and a single number tests the server again.
So only the first messages wait for it. More than MOST_WAITING numbers are left out too.
"""

import asyncio
import json
import re
from collections.abc import Callable, Sequence
from time import monotonic
from typing import Any, Final

from heliograph.app.observing.counters import LookupCounters
from heliograph.app.ports import Journal, PortedNumbers
from heliograph.http_client.client import HttpClient
from heliograph.http_client.requester import AnswerBody
from heliograph.http_client.settings import ClientLimits, ClientSettings

WAIT_S: Final = 0.3
"""Seconds. The longest time for which a request waits for networks: people notice a delay from about a third of a
second on."""

SILENT_S: Final = 30.0
"""Seconds for which a number without an answer counts by its prefix, before the server is asked again."""

KEPT: Final = 100_000
"""Most numbers in memory, about 25 MB. Beyond that the oldest answers go."""

FAILURES: Final = 10
"""Questions in a row without an answer, after which the server is left alone."""

MOST_WAITING: Final = 2_000
"""Most numbers that wait for a connection: a batch of 1,000 numbers, and room for others."""

LOG_AGAIN_S: Final = 60.0
"""Seconds between two lines of the log about a server that does not answer."""

NUMBER: Final = "{number}"
"""Place of the number in the URL."""

_MCCMNC: Final = re.compile("[0-9]{5,6}").fullmatch


class Question:
    """A number that the server is asked about."""

    __slots__ = ("account", "begun", "done", "number", "url", "wants_reply")

    def __init__(self, number: str, url: str, begun: float, done: "asyncio.Future[None]") -> None:
        self.number = number
        self.url = url
        self.begun = begun
        self.done = done
        self.account = 0
        self.wants_reply = True


class NumberLookup:
    """Implements `app.ports.PortedNumbers`: the requester of an `HttpClient`. Must be made while the loop runs. Logs
    and metrics have no numbers."""

    def __init__(
        self,
        url: str,
        authorization: str,
        kept_s: float,
        journal: Journal,
        file: PortedNumbers | None = None,
        counters: LookupCounters | None = None,
        now: Callable[[], float] = monotonic,
        wait_s: float | None = None,
    ) -> None:
        """`url` contains NUMBER. `authorization`: the value of this header, or empty. A number of the `file` is not
        asked about."""
        self._url = url
        self._head = f"Authorization: {authorization}\r\n\r\n" if authorization else "\r\n"
        self._kept_s = kept_s
        self._journal = journal
        self._file = file
        self._counters = counters or LookupCounters()
        self._now = now
        self._wait_s = wait_s = WAIT_S if wait_s is None else wait_s
        limits = ClientLimits(
            try_seconds=wait_s,
            wait_seconds=wait_s,
            connect_seconds=wait_s,
            reply_octets=4_096,
            waiting_per_origin=MOST_WAITING,
            breaker_failures=FAILURES,
        )
        # The operator of the gateway names the server, and only digits join its URL: any address will do.
        anywhere = ClientSettings(allowed=("0.0.0.0/0", "::/0"), ports=("1-65535",), limits=limits)
        self._client = HttpClient(anywhere, self)
        self._known: dict[str, tuple[str, float]] = {}
        """Network, or empty, and the end of the time for which it is kept; in the order of the answers."""
        self._open: dict[str, Question] = {}
        self._log_at = 0.0
        self.problem = ""
        """The reason of the last number without an answer; empty after an answer."""

    # --- as PortedNumbers

    def find(self, number: str) -> str:
        listed = "" if self._file is None else self._file.find(number)
        if listed:
            return listed
        network, until = self._known.get(number, ("", 0.0))
        return network if until > self._now() else ""

    def source(self, number: str) -> str:
        if self._file is not None and self._file.find(number):
            return self._file.source(number)
        return "the look-up of numbers"

    def unknown(self, numbers: Sequence[str]) -> Sequence[str]:
        now, known, file = self._now(), self._known, self._file
        return [
            number
            for number in numbers
            if (number not in known or known[number][1] <= now) and (file is None or not file.find(number))
        ]

    async def ask(self, numbers: Sequence[str]) -> None:
        now, loop = self._now(), asyncio.get_running_loop()
        new = [
            Question(number, self._url.replace(NUMBER, number), now, loop.create_future())
            for number in dict.fromkeys(numbers)  # a list of the console may repeat a number
            if number not in self._open
        ]
        self._open.update((question.number, question) for question in new)
        waiting = [self._open[number].done for number in numbers]
        self._client.send(new)
        if not all(done.done() for done in waiting):
            await asyncio.wait(waiting, timeout=self._wait_s)

    async def refresh(self) -> None:
        if self._file is not None:
            await self._file.refresh()

    async def close(self) -> None:
        await self._client.close()
        if self._file is not None:
            await self._file.close()

    # --- as the requester of the client

    def octets(self, job: Question, path: str, standing: str) -> bytes:  # noqa: ARG002 - the protocol's signature
        return f"GET {path}{standing}{self._head}".encode("ascii")

    def wants_body(self, job: Question, code: int, answer: AnswerBody) -> bool:  # noqa: ARG002 - the same
        return code == 200

    def answered(self, job: Question, code: int, answer: AnswerBody | None) -> None:
        network = "" if code == 404 else None if answer is None else read_network(answer)
        if network is None:
            self._is_silent(job, f"HTTP {code}" if code != 200 else "the answer names no network: it is not usable")
            return
        self.problem = ""
        self._end(job, "found" if network else "unknown", network, self._kept_s)

    def failed(self, job: Question, problem: str) -> None:
        self._is_silent(job, problem)

    def put_off(self, job: Question, problem: str, room: float) -> None:  # noqa: ARG002 - the same
        self._counters.results["left_out"] += 1
        self._open.pop(job.number).done.set_result(None)

    def _is_silent(self, job: Question, problem: str) -> None:
        self.problem = problem
        now = self._now()
        if now >= self._log_at:
            self._log_at = now + LOG_AGAIN_S
            self._journal.log("warning", "lookup.failed", problem=problem)
        self._end(job, "silent", "", SILENT_S)

    def _end(self, job: Question, result: str, network: str, kept_s: float) -> None:
        now, known = self._now(), self._known
        self._counters.results[result] += 1
        self._counters.took.observe(int((now - job.begun) * 1000))
        known.pop(job.number, None)
        known[job.number] = network, now + kept_s
        if len(known) > KEPT:
            del known[next(iter(known))]
        self._open.pop(job.number).done.set_result(None)


def read_network(answer: AnswerBody) -> str | None:
    """Returns the MCCMNC of an answer such as `{"mccmnc": "26202"}`, empty if it names no network, and None if it is
    not usable."""
    if answer.is_too_long:
        return None
    try:
        found: Any = json.loads(bytes(answer.body))
    except (ValueError, RecursionError):
        return None
    network = found.get("mccmnc", 0) if isinstance(found, dict) else 0
    if network is None or network == "":
        return ""
    return network if isinstance(network, str) and _MCCMNC(network) else None
