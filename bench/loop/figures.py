"""Computes figures from the records of a run. Pure: no clock, no files, no processes."""

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from statistics import median

SETTLE_S = 1.0
"""Seconds at the start of a load that the rates leave out."""

DRAIN_S = 1.0
"""Seconds. A rate holds only if the last callback comes within this time after the end of the load."""

TOLERANCE = 0.01
"""Share by which a rate that holds may be below the offered rate, because the edges of the window are not sharp."""

NS = 1_000_000_000

REQUEST_WORDS = 3
MESSAGE_WORDS = 4


@dataclass(slots=True)
class Window:
    """The load's beginning and end, in ns of the monotonic clock."""

    begun: int
    ended: int

    @property
    def settled(self) -> int:
        """From when on is counted."""
        return min(self.begun + int(SETTLE_S * NS), (self.begun + self.ended) // 2)

    @property
    def seconds(self) -> float:
        return (self.ended - self.settled) / NS


@dataclass(slots=True)
class Request:
    """A request of the load; times in ns, 0 for never."""

    sent: int
    answered: int
    status: int
    expected: bool

    @property
    def accepted(self) -> bool:
        return 200 <= self.status < 300 and self.expected


@dataclass(slots=True)
class Journey:
    """The records of operator and receiver about a message; times in ns, 0 for never."""

    submitted: int
    receipt: int
    called_back: int
    submits: int
    callbacks: int


@dataclass(slots=True)
class Counts:
    """Messages by forbidden outcome."""

    accepted: int = 0
    never_submitted: int = 0
    never_called_back: int = 0
    submitted_twice: int = 0
    called_back_twice: int = 0
    submitted_unaccepted: int = 0
    """Submitted although the request was refused. Requests without an answer may be either."""


@dataclass(slots=True)
class Run:
    """A run of a scenario on a gateway. Rates are messages a second, latencies (p50, p99) ms."""

    gateway: str
    offered: float = 0.0
    """Messages a second; 0 in a closed loop."""
    accepted: float = 0.0
    submitted: float = 0.0
    called_back: float = 0.0
    drain_s: float = 0.0
    to_answer: tuple[float, float] | None = None
    to_submit: tuple[float, float] | None = None
    to_callback: tuple[float, float] | None = None
    counts: Counts = field(default_factory=Counts)
    refused_requests: int = 0
    """Answered with something else than was expected."""
    broken_requests: int = 0
    """Without an answer."""
    cpu_us: dict[str, float] = field(default_factory=dict)
    """Microseconds of CPU a message, by process."""
    memory_mib: float = 0.0
    audit: list[str] = field(default_factory=list)
    """Findings of the audit."""
    with_receipts: bool = True
    killed: bool = False

    @property
    def cpu(self) -> float:
        return sum(self.cpu_us.values())


class Refused(Exception):
    """A run without valid figures."""


def problems(run: Run) -> list[str]:
    """Returns the reason why a run may not be reported; empty if it may.

    After a SIGKILL parts in flight may be sent again, because their outcome is unknown. No message may be missing.
    """
    counts = run.counts
    found = {
        "accepted messages never submitted": counts.never_submitted,
        "callbacks that never came": counts.never_called_back if run.with_receipts else 0,
        "messages submitted twice": 0 if run.killed else counts.submitted_twice,
        "callbacks made twice": 0 if run.killed else counts.called_back_twice,
        "messages submitted whose request was refused": counts.submitted_unaccepted,
    }
    told = [f"{number} {what}" for what, number in found.items() if number]
    if not counts.accepted:
        told.append("no message was accepted")
    return told + [f"audit: {line}" for line in run.audit]


def demand_sound(run: Run) -> Run:
    """The run itself. Raises Refused if a message was lost or doubled, or the audit is not clean."""
    if found := problems(run):
        raise Refused(f"{run.gateway}: {'; '.join(found)}")
    return run


def holds(run: Run) -> bool:
    """Whether the offered rate is a capacity: everything keeps up with it, and nothing piles up."""
    least = run.offered * (1 - TOLERANCE)
    keeps_up = run.accepted >= least and run.submitted >= least
    if run.with_receipts:
        keeps_up = keeps_up and run.called_back >= least
    return keeps_up and run.drain_s <= DRAIN_S and not run.refused_requests and not run.broken_requests


def percentiles(durations_ns: Iterable[int]) -> tuple[float, float] | None:
    """p50 and p99 in ms; None of nothing."""
    ordered = sorted(durations_ns)
    if not ordered:
        return None
    at = [ordered[min(len(ordered) - 1, int(len(ordered) * share))] for share in (0.50, 0.99)]
    return at[0] / 1e6, at[1] / 1e6


def read_requests(data: bytes) -> list[Request]:
    """Reads the records of the load generator."""
    words = array("Q")
    words.frombytes(data)
    return [
        Request(words[i], words[i + 1], words[i + 2] & 0xFFFFFFFF, bool(words[i + 2] >> 32))
        for i in range(0, len(words), REQUEST_WORDS)
    ]


def read_journeys(data: bytes) -> list[Journey]:
    """Reads the records of the operator, by message number."""
    words = array("Q")
    words.frombytes(data)
    return [
        Journey(words[i], words[i + 1], words[i + 2], words[i + 3] & 0xFFFFFFFF, words[i + 3] >> 48)
        for i in range(0, len(words), MESSAGE_WORDS)
    ]


NOTHING = Journey(0, 0, 0, 0, 0)


def journeys_of(requests: Sequence[Request], journeys: Sequence[Journey], span: int, start: int = 0) -> list[Journey]:
    """The journeys of all messages of the requests, in order; `span` messages each, from number `start` on."""
    wanted = list(journeys[start : start + len(requests) * span])
    return wanted + [NOTHING] * (len(requests) * span - len(wanted))


def count(requests: Sequence[Request], journeys: Sequence[Journey], span: int, *, numbered: bool) -> Counts:
    """Follows each message. With `numbered` unset callbacks do not say which message they are about."""
    counts = Counts()
    for index, journey in enumerate(journeys):
        request = requests[index // span]
        if request.accepted:
            counts.accepted += 1
            counts.never_submitted += not journey.submits
            counts.never_called_back += numbered and not journey.callbacks
        elif request.answered and journey.submits:
            counts.submitted_unaccepted += 1
        counts.submitted_twice += journey.submits > 1
        counts.called_back_twice += journey.callbacks > 1
    return counts


def rates(
    requests: Sequence[Request], journeys: Sequence[Journey], span: int, window: Window
) -> tuple[float, float, float]:
    """Messages a second that were accepted, submitted and called back within the settled part of the load."""
    start, end = window.settled, window.ended
    accepted = span * sum(request.accepted and start <= request.answered < end for request in requests)
    submitted = sum(start <= journey.submitted < end for journey in journeys)
    called_back = sum(start <= journey.called_back < end for journey in journeys)
    return accepted / window.seconds, submitted / window.seconds, called_back / window.seconds


def latencies(
    requests: Sequence[Request], journeys: Sequence[Journey], span: int
) -> tuple[tuple[float, float] | None, tuple[float, float] | None]:
    """From a request's first octet to its message's submit_sm; from a receipt to its callback."""
    to_submit = percentiles(
        journey.submitted - requests[index // span].sent for index, journey in enumerate(journeys) if journey.submitted
    )
    to_callback = percentiles(
        journey.called_back - journey.receipt for journey in journeys if journey.called_back and journey.receipt
    )
    return to_submit, to_callback


def answer_latencies(requests: Sequence[Request]) -> tuple[float, float] | None:
    """Returns the times from a request's first octet to its answer, of accepted requests."""
    return percentiles(request.answered - request.sent for request in requests if request.accepted)


def middle(runs: Sequence[Run]) -> Run:
    """Returns the medians of a gateway's runs, figure by figure."""
    first = runs[0]
    return Run(
        gateway=first.gateway,
        offered=median(run.offered for run in runs),
        accepted=median(run.accepted for run in runs),
        submitted=median(run.submitted for run in runs),
        called_back=median(run.called_back for run in runs),
        drain_s=median(run.drain_s for run in runs),
        to_answer=_middle_pair([run.to_answer for run in runs]),
        to_submit=_middle_pair([run.to_submit for run in runs]),
        to_callback=_middle_pair([run.to_callback for run in runs]),
        counts=Counts(accepted=int(median(run.counts.accepted for run in runs))),
        refused_requests=max(run.refused_requests for run in runs),
        broken_requests=max(run.broken_requests for run in runs),
        cpu_us={name: median(run.cpu_us.get(name, 0.0) for run in runs) for name in first.cpu_us},
        memory_mib=median(run.memory_mib for run in runs),
        with_receipts=first.with_receipts,
        killed=first.killed,
    )


def _middle_pair(pairs: Sequence[tuple[float, float] | None]) -> tuple[float, float] | None:
    there = [pair for pair in pairs if pair is not None]
    if not there:
        return None
    return median(pair[0] for pair in there), median(pair[1] for pair in there)


def ratio(ours: float, theirs: float) -> float | None:
    """How many times theirs ours is; None where theirs is nothing."""
    return ours / theirs if theirs else None


THREADS_APART = 0.04
"""Share of the CPU that the store's threads take, by which two runs that committed in the same way differ at most."""


def alike(run: Run, other: Run) -> bool:
    """Returns whether the event loop, or the store's thread, made the commits of both runs for the same time.

    If a disk is slow for a moment, the loop leaves commits to the thread for a while, and a message costs 20 % more.
    That would hide smaller differences.
    """
    return abs(_threads_share(run) - _threads_share(other)) < THREADS_APART


def _threads_share(run: Run) -> float:
    return run.cpu_us.get("store", 0.0) / run.cpu if run.cpu else 0.0


def next_rate(low: float, high: float, step: float) -> float | None:
    """Returns the next rate to try between `low`, which holds, and `high`, which does not. None if they differ by less
    than `step`, a share of `low`. A `high` of 0 is unknown."""
    if not high:
        return low * 1.5
    return None if high - low <= low * step else (low + high) / 2


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Markdown, with its columns in line."""
    cells = [list(heads), *(list(row) for row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(heads))]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |" for row in cells
    ]
    return "\n".join([lines[0], "|" + "|".join("-" * (width + 2) for width in widths) + "|", *lines[1:]])


def pair(value: tuple[float, float] | None) -> str:
    return "-" if value is None else f"{value[0]:.1f} / {value[1]:.1f}"


def times(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}x"
