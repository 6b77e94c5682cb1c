"""Sends lists of messages in the background, at the pace that the gateway and the account allow."""

import asyncio
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace

from heliograph.app.facts import Accept, Verdict
from heliograph.app.observing.refusals import Asked, Refusals
from heliograph.app.ports import Clock
from heliograph.app.records import AuditEntry, AuditQuery, Hit
from heliograph.app.resources.desk import Desk
from heliograph.app.resources.messages import of_references
from heliograph.app.sending.directory import Directory
from heliograph.app.sending.fields import Fields
from heliograph.app.sending.principal import Door, Principal
from heliograph.app.sending.refusal import refusal_of
from heliograph.app.sending.send import Sending
from heliograph.domain.csv_lines import csv_line
from heliograph.domain.error import TOO_EARLY, UNAVAILABLE, Fault
from heliograph.domain.message import ids
from heliograph.domain.money.amounts import format_credits

JOBS = 20
"""Jobs that are remembered; of more, the oldest that has ended is forgotten."""

UNDER_WAY = 256
"""Messages of a job that wait for their commit at once."""

BREATH = 50
"""Messages after which the loop is left to others."""

LOOKED_UP = 200
"""Messages of which the networks are found together: a server that answers in 50 ms then delays none by more than
that."""

FULL_PAUSE_S = 0.1
"""Before the gateway is asked again when too much waits already."""

_REFUSALS = {
    Verdict.TOO_LITTLE_CREDIT: "The credit is too low.",
    Verdict.SUSPENDED: "The account is suspended.",
    Verdict.SUPPRESSED: "The recipient opted out.",
    Verdict.DAILY_MESSAGES: "The account has sent its messages of the day.",
    Verdict.DAILY_SPEND: "The account has spent its credits of the day.",
    Verdict.WAITING: "Too many messages of the account wait already.",
    Verdict.UNAVAILABLE: "The store could not write it; nothing was charged.",
    Verdict.IN_DOUBT: "The store was lost meanwhile. It may be stored and charged: look for it under *Messages*.",
}


CONSOLE = Door("console")
"""The console's way in; nobody proves who they are by it, since the console knows."""

ROWS_AT_ONCE = 2_000
"""Rows of an earlier list that are looked for at once."""


def reference_of(job: str, place: int) -> str:
    """Returns the reference of the message of a row, counted from 0."""
    return f"list-{job}-{place + 1}"


@dataclass(slots=True)
class ListRow:
    """A message to send."""

    number: str
    text: str


@dataclass(slots=True)
class RowOutcome:
    """Result of a row: the id of the message, or why there is none."""

    id: str = ""
    price: int = 0
    problem: str = ""

    @property
    def key(self) -> int:
        """The key of the message; 0 if there is none."""
        found = ids.parse(self.id)
        return 0 if found is None else found[0]


@dataclass(slots=True)
class ListRun:
    """A list that this process sends or sent. `template` has the fields that all messages share."""

    id: str
    actor: str
    account: str
    template: Fields
    orders: list[ListRow]
    started: int
    outcomes: list[RowOutcome | None] = field(default_factory=list)
    accepted: int = 0
    refused: int = 0
    charged: int = 0
    ended: int | None = None
    stopped: bool = False
    problem: str = ""
    """Why it ended early."""

    @property
    def total(self) -> int:
        return len(self.orders)

    @property
    def done(self) -> int:
        return self.accepted + self.refused

    @property
    def keys(self) -> list[int]:
        """The keys of the messages that were accepted."""
        return [outcome.key for outcome in self.outcomes if outcome is not None and outcome.id]

    def problems(self, limit: int) -> list[tuple[str, int]]:
        """Returns the problems with their frequencies, the most frequent first."""
        counted = Counter(outcome.problem for outcome in self.outcomes if outcome is not None and outcome.problem)
        return counted.most_common(limit)

    def result(self, held: Collection[int]) -> Iterator[bytes]:
        """The lines of a CSV file with the result of each row. `held`: the keys of its held messages."""
        yield csv_line("number", "status", "id", "price", "problem")
        for order, outcome in zip(self.orders, self.outcomes, strict=True):
            if outcome is None:
                yield csv_line(order.number, "not sent", "", "", "")
            elif outcome.id:
                status = "held" if outcome.key in held else "accepted"
                yield csv_line(order.number, status, outcome.id, format_credits(outcome.price), "")
            else:
                yield csv_line(order.number, "refused", "", "", outcome.problem)


@dataclass(slots=True)
class EarlierList:
    """A list known from the audit log and its messages only: another node sends it, the gateway was restarted since, or
    it is too old to be remembered."""

    id: str
    actor: str
    account: str
    total: int
    started: int
    hits: list[Hit] = field(default_factory=list)

    @property
    def charged(self) -> int:
        return sum(hit.message.price for hit in self.hits)

    def result(self, _: Collection[int]) -> Iterator[bytes]:
        """The lines of a CSV file: the messages that were accepted, in the order of the list."""
        yield csv_line("row", "number", "status", "id", "price")
        for hit in sorted(self.hits, key=self._row):
            message = hit.message
            ident = ids.to_hex(message.key, message.tail)
            price = format_credits(message.price)
            yield csv_line(str(self._row(hit)), message.destination, hit.status.value, ident, price)

    @staticmethod
    def _row(hit: Hit) -> int:
        return int((hit.message.reference or "").rpartition("-")[2] or 0)


def earlier(entry: AuditEntry) -> EarlierList | None:
    """Returns the list that an entry of the audit log is about, None if it is about none."""
    kind, _, job = entry.target.partition(" ")
    total = entry.details.get("messages", "")
    if entry.action != "message.send" or kind != "list" or not total.isdigit():
        return None
    return EarlierList(job, entry.actor, entry.details.get("account", ""), int(total), entry.at)


async def find_earlier(desk: Desk, job: str) -> EarlierList | None:
    """Returns the list with its accepted messages, None if there is none of this id."""
    if not job.isalnum():
        return None  # no list is called so, and a store may not even take it for text
    entries = await desk.store.audit_log.find(AuditQuery(1, action="message.send", target=f"list {job}"))
    found = earlier(entries[0]) if entries else None
    if found is None:
        return None
    for first in range(0, found.total, ROWS_AT_ONCE):
        places = range(first, min(first + ROWS_AT_ONCE, found.total))
        found.hits += await of_references(desk, found.account, [reference_of(job, place) for place in places])
    return found


class ListRuns:
    """Lists that are being sent by this process, or were."""

    def __init__(self, directory: Directory, sending: Sending, clock: Clock, refusals: Refusals) -> None:
        """`refusals` counts rows that are refused."""
        self._directory = directory
        self._sending = sending
        self._clock = clock
        self._refusals = refusals
        self._jobs: dict[str, ListRun] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def reserve(self, job: ListRun) -> None:
        """Takes a place for what `start` or `forget` is called of next. Raises OverflowError if there is none."""
        running = sum(each.ended is None for each in self._jobs.values())
        if running >= JOBS:
            raise OverflowError(f"{running} lists are being sent already")
        for old in [name for name, each in self._jobs.items() if each.ended is not None][: len(self._jobs) - JOBS + 1]:
            del self._jobs[old]
        job.outcomes = [None] * len(job.orders)
        self._jobs[job.id] = job

    def forget(self, job: ListRun) -> None:
        """Gives up a reserved place."""
        del self._jobs[job.id]

    def start(self, job: ListRun) -> None:
        """Begins to send what has its place."""
        task = asyncio.get_running_loop().create_task(self._run(job), name=f"job {job.id}")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def find(self, job: str) -> ListRun | None:
        return self._jobs.get(job)

    def all(self) -> list[ListRun]:
        """The latest first."""
        return list(self._jobs.values())[::-1]

    async def stop(self) -> None:
        """Ends the messages under way. The rest of each list is not sent."""
        for task in list(self._tasks):
            task.cancel()
        for task in list(self._tasks):
            with suppress(asyncio.CancelledError):
                await task

    async def _run(self, job: ListRun) -> None:
        room = asyncio.Semaphore(UNDER_WAY)
        try:
            for place, order in enumerate(job.orders):
                if job.stopped:
                    job.problem = "It was stopped."
                    break
                if place % LOOKED_UP == 0:
                    await self._find_networks(job, place)
                await room.acquire()
                await self._send(job, place, order, room)
                if place % BREATH == 0:
                    await asyncio.sleep(0)  # refused ones wait for nothing, and others want to be served
            for _ in range(UNDER_WAY):
                await room.acquire()
        finally:
            job.ended = self._clock.now()

    async def _send(self, job: ListRun, place: int, order: ListRow, room: asyncio.Semaphore) -> None:
        fields = replace(job.template, to=[order.number], content=order.text, reference=reference_of(job.id, place))
        view = await self._directory.account(job.account)
        if view is None:
            self._settle(job, place, RowOutcome(problem="The account is gone."))
            room.release()
            return
        who = Principal(view, CONSOLE)

        def note(fault: Fault) -> None:
            row = Asked("LIST", f"/send/lists/{job.id}", "", reference_of(job.id, place))
            self._refusals.note(who.view.account, fault, row, self._clock.now())

        def then(accept: Accept) -> None:
            message = accept.messages[0]
            if accept.verdict is Verdict.ACCEPTED:
                outcome = RowOutcome(ids.to_hex(message.key, message.tail), accept.total)
            else:
                outcome = RowOutcome(problem=_REFUSALS.get(accept.verdict, "It was refused."))
                note(refusal_of(accept))
            self._settle(job, place, outcome)
            room.release()

        try:
            await self._hand_in(who, fields, then)
        except Fault as fault:
            note(fault)
            self._settle(job, place, RowOutcome(problem=fault.message))
            room.release()

    async def _find_networks(self, job: ListRun, place: int) -> None:
        """Finds the networks of the next numbers together, since each message alone would wait for its own."""
        view = await self._directory.account(job.account)
        if view is not None:
            to = [order.number for order in job.orders[place : place + LOOKED_UP]]
            await self._sending.find_networks(Principal(view, CONSOLE), Fields(to))

    async def _hand_in(self, who: Principal, fields: Fields, then: Callable[[Accept], None]) -> None:
        """Waits as long as the account's rate asks for, and while the gateway is busy. Raises Fault."""
        while True:
            try:
                self._sending.send(who, fields, then)
            except Fault as fault:
                if fault.entry is TOO_EARLY:
                    await asyncio.sleep(min(float(fault.retry_after or 1), 1.0))
                elif fault.entry is UNAVAILABLE:
                    await asyncio.sleep(FULL_PAUSE_S)
                else:
                    raise
            else:
                return

    @staticmethod
    def _settle(job: ListRun, place: int, outcome: RowOutcome) -> None:
        job.outcomes[place] = outcome
        if outcome.id:
            job.accepted += 1
            job.charged += outcome.price
        else:
            job.refused += 1
