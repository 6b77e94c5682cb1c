"""Sends lists of messages in the background, at the pace that the gateway and the account allow.

The row of a list in the store has its progress, and what administrators want of it: see `app.ports.sending_lists`. A
process that ends before its list has ended gives up the rest.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from zoneinfo import ZoneInfo

from heliograph.app.facts import Accept, Verdict
from heliograph.app.observing.refusals import Asked, Refusals
from heliograph.app.ports import Clock, SendingLists, Unavailable
from heliograph.app.ports.sending_lists import LIST_PREFIX, ListState, SendingList, references_of
from heliograph.app.records import Hit
from heliograph.app.resources.desk import Desk
from heliograph.app.resources.messages import of_references
from heliograph.app.sending.directory import AccountView, Directory
from heliograph.app.sending.fields import Fields
from heliograph.app.sending.principal import Door, Principal
from heliograph.app.sending.refusal import refusal_of
from heliograph.app.sending.send import Sending
from heliograph.domain.calendar import TimeProblem, parse_time
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

REPORT_MS = 1_000
"""Milliseconds between two reports of a list's progress, each with a look at its wanted state."""

PAUSED_S = 0.3
"""Seconds between two looks of a paused list."""

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


CONSOLE = Door("console", own_prefix=LIST_PREFIX)
"""The console's way in; nobody proves who they are by it, since the console knows."""

ROWS_AT_ONCE = 2_000
"""Rows of a list that are looked for at once."""


class GivenUp(Exception):
    """The rest of a list is not sent, because somebody cancelled it."""


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


@dataclass(slots=True)
class ListRun:
    """A list that this process sends or sent. `template` has the fields that all messages share."""

    row: SendingList
    account: str
    template: Fields
    orders: list[ListRow]
    outcomes: list[RowOutcome | None] = field(default_factory=list)
    again: list[int] | None = field(default_factory=list)
    """Indices of rows that the store could not write, or may have written, to be handed in once more; None while they
    are. Their references make that safe."""
    idle: asyncio.Event = field(default_factory=asyncio.Event)
    """Set while no row waits for its commit."""
    _pending: int = 0

    def __post_init__(self) -> None:
        self.outcomes = [None] * len(self.orders)
        self.idle.set()

    def expect(self, rows: int) -> None:
        """Counts rows that wait for their commit: 1 more, or -1."""
        self._pending += rows
        (self.idle.clear if self._pending else self.idle.set)()

    @property
    def id(self) -> int:
        return self.row.id

    def is_overdue(self, zone: ZoneInfo, now: int) -> bool:
        """True if the time of a scheduled list has come since it was sent: at the account's rate, that may be early."""
        try:
            return self.row.created < parse_time(self.template.time or "", zone) <= now
        except TimeProblem:
            return False

    def problems(self, limit: int) -> Sequence[tuple[str, int]]:
        """Returns the problems with their frequencies, the most frequent first."""
        counted = Counter(outcome.problem for outcome in self.outcomes if outcome is not None and outcome.problem)
        return counted.most_common(limit)


def result(run: ListRun | None, found: Mapping[int, Hit]) -> Iterator[bytes]:
    """The lines of a CSV file with the result of each row. `found`: the messages by row, counted from 1.

    A process that does not send the list itself knows the accepted rows alone.
    """
    yield csv_line("row", "number", "status", "id", "price", "problem")
    rows = sorted(found) if run is None else range(1, len(run.orders) + 1)
    for row in rows:
        hit = found.get(row)
        if hit is not None:
            message = hit.message
            ident = ids.to_hex(message.key, message.tail)
            price = format_credits(message.price)
            yield csv_line(str(row), message.destination, hit.status.value, ident, price, "")
        elif run is not None:
            number, outcome = run.orders[row - 1].number, run.outcomes[row - 1]
            if outcome is None:
                yield csv_line(str(row), number, "not sent", "", "", "")
            elif outcome.id:
                yield csv_line(str(row), number, "accepted", outcome.id, format_credits(outcome.price), "")
            else:
                yield csv_line(str(row), number, "refused", "", "", outcome.problem)


async def messages_of(desk: Desk, found: SendingList, account: str) -> dict[int, Hit]:
    """Returns the messages of a list by row, counted from 1."""
    beginning, hits = references_of(found.id), dict[int, Hit]()
    for first in range(1, found.rows + 1, ROWS_AT_ONCE):
        rows = range(first, min(first + ROWS_AT_ONCE, found.rows + 1))
        for hit in await of_references(desk, account, [f"{beginning}{row}" for row in rows]):
            hits[int((hit.message.reference or "").removeprefix(beginning))] = hit
    return hits


class ListRuns:
    """Lists that are being sent by this process, or were."""

    def __init__(
        self, directory: Directory, sending: Sending, clock: Clock, refusals: Refusals, lists: SendingLists
    ) -> None:
        """`refusals` counts rows that are refused."""
        self._directory = directory
        self._sending = sending
        self._clock = clock
        self._refusals = refusals
        self._lists = lists
        self._runs: dict[int, ListRun] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def check_room(self) -> None:
        """Raises OverflowError if too many lists are being sent."""
        running = sum(each.row.ended is None for each in self._runs.values())
        if running >= JOBS:
            raise OverflowError(f"{running} lists are being sent already")

    def start(self, run: ListRun) -> None:
        """Begins to send a list, and forgets the oldest that has ended if there are too many."""
        for old in [name for name, each in self._runs.items() if each.row.ended is not None][
            : len(self._runs) - JOBS + 1
        ]:
            del self._runs[old]
        self._runs[run.id] = run
        task = asyncio.get_running_loop().create_task(self._run(run), name=f"sending list {run.id}")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def find(self, id: int) -> ListRun | None:
        return self._runs.get(id)

    async def stop(self) -> None:
        """Ends the messages under way. The rest of each list is not sent."""
        for task in list(self._tasks):
            task.cancel()
        for task in list(self._tasks):
            with suppress(asyncio.CancelledError):
                await task

    async def _run(self, run: ListRun) -> None:
        room = asyncio.Semaphore(UNDER_WAY)
        try:
            await self._send_rows(run, range(len(run.orders)), room)
            again, run.again = run.again or (), None
            await self._send_rows(run, again, room)
        except GivenUp:
            pass
        except asyncio.CancelledError:
            run.row.ended = self._clock.now()  # for this process alone: the store learns that it was interrupted
            await self._report(replace(run.row, ended=None), silent=True)
            raise
        run.row.ended = self._clock.now()
        await self._report(run.row)

    async def _send_rows(self, run: ListRun, rows: Sequence[int], room: asyncio.Semaphore) -> None:
        """Sends rows by their indices, and waits for their commits."""
        for number, index in enumerate(rows):
            await self._obey(run)
            if number % LOOKED_UP == 0:
                await self._find_networks(run, rows[number : number + LOOKED_UP])
            await room.acquire()
            await self._send(run, index, run.orders[index], room)
            if number % BREATH == 0:
                await asyncio.sleep(0)  # refused ones wait for nothing, and others want to be served
        await run.idle.wait()

    async def _view(self, run: ListRun) -> AccountView | None:
        """Returns the account; waits while the store is away. Raises GivenUp."""
        while True:
            try:
                return await self._directory.account(run.account)
            except Unavailable:
                await asyncio.sleep(FULL_PAUSE_S)
                await self._obey(run)

    async def _obey(self, run: ListRun) -> None:
        """Reports once a second, and waits while the list is paused. Raises GivenUp."""
        found = run.row
        if self._clock.now() - found.reported < REPORT_MS:
            return
        wanted = await self._report(found)
        while wanted is not found.heard:
            await run.idle.wait()
            found.heard = wanted
            if wanted is ListState.CANCELLED:
                raise GivenUp
            wanted = await self._report(found)
            while wanted is ListState.PAUSED:
                await asyncio.sleep(PAUSED_S)
                wanted = await self._report(found)

    async def _report(self, found: SendingList, *, silent: bool = False) -> ListState:
        """Writes the progress, and returns the wanted state. A `silent` report is that of a process that ends."""
        found.reported = 0 if silent else self._clock.now()
        try:
            return await self._lists.report(found) or found.state
        except Unavailable:
            return found.heard

    async def _send(self, run: ListRun, index: int, order: ListRow, room: asyncio.Semaphore) -> None:
        reference = f"{references_of(run.id)}{index + 1}"
        fields = replace(run.template, to=[order.number], content=order.text, reference=reference)
        view = await self._view(run)
        if view is None:
            self._settle(run, index, RowOutcome(problem="The account is gone."))
            room.release()
            return
        who = Principal(view, CONSOLE)

        def note(fault: Fault) -> None:
            row = Asked("LIST", f"/lists/{run.id}", "", reference)
            self._refusals.note(who.view.account, fault, row, self._clock.now())

        def then(accept: Accept) -> None:
            run.expect(-1)
            if accept.verdict in (Verdict.UNAVAILABLE, Verdict.IN_DOUBT) and run.again is not None:
                run.again.append(index)
                room.release()
                return
            message = accept.messages[0]
            if accept.verdict in (Verdict.ACCEPTED, Verdict.REPLAYED):
                outcome = RowOutcome(ids.to_hex(message.key, message.tail), accept.total)
            else:
                outcome = RowOutcome(problem=_REFUSALS.get(accept.verdict, "It was refused."))
                note(refusal_of(accept))
            self._settle(run, index, outcome)
            room.release()

        try:
            await self._hand_in(run, who, fields, then)
        except Fault as fault:
            note(fault)
            self._settle(run, index, RowOutcome(problem=fault.message))
            room.release()

    async def _find_networks(self, run: ListRun, rows: Sequence[int]) -> None:
        """Finds the networks of the next numbers together, since each message alone would wait for its own."""
        view = await self._view(run)
        if view is not None:
            to = [run.orders[index].number for index in rows]
            await self._sending.find_networks(Principal(view, CONSOLE), Fields(to))

    async def _hand_in(self, run: ListRun, who: Principal, fields: Fields, then: Callable[[Accept], None]) -> None:
        """Waits as long as the account's rate asks for, and while the gateway is busy. A row that is overdue by then is
        sent at once. Raises Fault and GivenUp."""
        while True:
            try:
                run.expect(1)
                self._sending.send(who, fields, then)
            except Fault as fault:
                run.expect(-1)
                if fault.entry is TOO_EARLY:
                    await asyncio.sleep(min(float(fault.retry_after or 1), 1.0))
                elif fault.entry is UNAVAILABLE:
                    await asyncio.sleep(FULL_PAUSE_S)
                elif fault.field == "time" and run.is_overdue(who.view.zone, self._clock.now()):
                    fields = replace(fields, time=None)
                else:
                    raise
                await self._obey(run)
            else:
                return

    @staticmethod
    def _settle(run: ListRun, index: int, outcome: RowOutcome) -> None:
        run.outcomes[index] = outcome
        run.row.handed_in += 1
        if not outcome.id:
            run.row.refused += 1
            run.row.problem = run.row.problem or outcome.problem
