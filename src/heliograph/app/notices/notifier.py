"""Callbacks: telling customers of final states, until they have heard or time is up."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol
from urllib.parse import quote_plus
from zoneinfo import ZoneInfo

from heliograph.app.configuration import Account
from heliograph.app.facts import CallbackDone, CallbackEnd, CallbackRetry, Facts, Final, Message, Owed
from heliograph.app.marks import CALLBACK
from heliograph.app.notices.job import Job, Sent
from heliograph.app.ports import Clock, Gathering, Sender, Store, Unavailable
from heliograph.domain.calendar import format_local
from heliograph.domain.ids import first_key_at, time_of, to_uuid
from heliograph.domain.limits import CALLBACK_RETRY_HOURS, RECEIPT_TEXT_CHARS
from heliograph.domain.receipt import Delivery
from heliograph.domain.retry import next_pause

IN_THE_AIR = 10_000
"""Callbacks that are with the sender at once; what comes beyond waits in its rows."""

CLAIM = 1_000
"""Callbacks that are claimed from their rows at once."""

KEEP_MS = 30_000
"""A callback of a message older than this has a row from the start. Milliseconds."""

BUSY_PAUSE_MS = (2_000, 60_000)
"""Before a callback that was not tried, since its receiver had too many waiting, is offered again where nobody knows
when there will be room: a quarter of the time that it has been owed, within these limits; up to twice as long.
Milliseconds."""

UNREADABLE_PAUSE_MS = 60_000
"""Before a callback is taken up again whose account could not be read. Milliseconds."""

HOUR_MS = 3_600_000
HTTP_GONE = 410

FORM = "application/x-www-form-urlencoded"
JSON = "application/json"


_STATUSES: dict[Delivery, str] = {state: state.name for state in Delivery}


class Receivers(Protocol):
    """What the notifier must know of accounts; None for one that is not in memory."""

    def known(self, account: int) -> tuple[Account, ZoneInfo] | None: ...

    async def learn(self, account: int) -> None:
        """Brings the account to memory, if there is such an account."""


@dataclass(slots=True)
class Flight:
    """A callback that is with the sender."""

    account: int
    body: bytes
    attempts: int
    first: int
    rowed: bool
    since: int


class Notifier:
    """Owes each callback until it is done: in memory while it is fresh, by a row of the store otherwise."""

    def __init__(
        self,
        gathering: Gathering,
        clock: Clock,
        sender: Sender,
        receivers: Receivers,
        jitter: Callable[[], float],
        *,
        mark: int = 0,
        retry_hours: float = CALLBACK_RETRY_HOURS,
        encode_json: Callable[[dict[str, str]], bytes],
        keeps: Callable[[int], bool] = lambda _: True,
    ) -> None:
        """`jitter` gives numbers from 0 up to 1. `keeps` says by the message's key whether a fresh callback may be in
        memory alone: where it is not this node that would recover it, it has its row from the start."""
        self._gathering = gathering
        self._clock = clock
        self._sender = sender
        self._receivers = receivers
        self._jitter = jitter
        self._encode_json = encode_json
        self._keeps = keeps
        self._retry_ms = int(retry_hours * HOUR_MS)
        self.mark = mark
        self._flights: dict[int, Flight] = {}
        self._next: list[tuple[Message, Final, bool]] = []
        self._committing: list[tuple[Message, Final, bool]] = []
        """Callbacks that a commit makes true, and whether they have a row."""
        sender.on_sent(self._on_sent)
        sender.on_lost(self._on_lost)

    @property
    def room(self) -> int:
        """How many callbacks may still be taken up."""
        return max(0, IN_THE_AIR - len(self._flights) - len(self._next) - len(self._committing))

    @property
    def in_the_air(self) -> int:
        """How many callbacks are with the sender."""
        return len(self._flights)

    def owe(self, message: Message, final: Final) -> None:
        """A final state for which a callback is owed is among the facts being gathered."""
        now = self._clock.now()
        key = message.key
        if self.room == 0 or not self._keeps(key):
            self._leave_to_rows(message, final.at)
            return
        rowed = key <= self.mark or now - time_of(key) > KEEP_MS
        if rowed:
            self._hold(self._gathering.facts, message, final.at)
        self._next.append((message, final, rowed))

    # --- around a commit

    def prepare(self) -> None:
        """Right before a commit."""
        self._committing += self._next
        self._next = []

    def spill(self, facts: Facts, now: int, last_key: int) -> None:
        """Once a second, right before a commit: what has been in the air for long gets its row, and so does what the
        commit before did not get rid of; the mark moves on.

        It never passes `last_key`, the highest key that was given: the clock may have been ahead of itself.
        """
        mark = max(self.mark, min(first_key_at(now - 2 * KEEP_MS), last_key))
        for key, flight in self._flights.items():
            if not flight.rowed and (key <= mark or now - flight.since > KEEP_MS):
                flight.rowed = True
                facts.callback_retries.append(
                    CallbackRetry(flight.account, key, now, flight.attempts, flight.body, "", flight.first, held=True)
                )
        for at, (message, final, rowed) in enumerate(self._committing):
            if message.key <= mark and not rowed:
                self._hold(facts, message, final.at)
                self._committing[at] = message, final, True
        if mark > self.mark:
            self.mark = facts.marks[CALLBACK] = mark

    def committed(self) -> None:
        """What was gathered is durable: customers are told."""
        if not self._committing:
            return
        now = self._clock.now()
        jobs: list[Job] = []
        committed, self._committing = self._committing, []
        for message, final, rowed in committed:
            job = self._job(message, final.state, final.err, final.at, b"")
            if job is None:
                self._leave_to_rows(message, final.at)
                continue
            jobs.append(job)
            self._flights[message.key] = Flight(message.account, job.body, 0, final.at, rowed, now)
        if jobs:
            self._sender.post(jobs)

    # --- from the rows

    async def next_due(self, store: Store) -> int | None:
        """When there is something to take up: a time in ms, or None. While the air is full, a second from now."""
        return self._clock.now() + 1_000 if self.room == 0 else await store.next_callback_due()

    async def take_up(self, store: Store, node: int) -> bool:
        """Claims callbacks that are due and sends them; True if there may be more."""
        limit = min(self.room, CLAIM)
        claimed = await store.claim_callbacks(limit, self._clock.now(), node)
        for owed in claimed:
            if self._receivers.known(owed.message.account) is None:
                # What is claimed is not left lying: without its account it goes back to its row.
                with suppress(Unavailable):
                    await self._receivers.learn(owed.message.account)
        self.resume(claimed, rowed=True)
        return 0 < limit == len(claimed)

    def resume(self, claimed: list[Owed], rowed: bool) -> None:
        """Sends callbacks that the rows say are owed."""
        now = self._clock.now()
        jobs: list[Job] = []
        for owed in claimed:
            account, key = owed.message.account, owed.message.key
            if key in self._flights:
                continue
            job = self._job(owed.message, owed.state, owed.err, owed.at, owed.body)
            if job is None:
                due = now + UNREADABLE_PAUSE_MS
                problem = "the account cannot be read"
                self._later(account, key, due, owed.attempts, owed.body, problem, owed.first_tried)
                continue
            jobs.append(job)
            self._flights[key] = Flight(account, job.body, owed.attempts, owed.first_tried, rowed, now)
        if jobs:
            self._sender.post(jobs)

    # --- results

    def _on_sent(self, results: list[Sent]) -> None:
        now = self._clock.now()
        facts = self._gathering.facts
        for sent in results:
            flight = self._flights.pop(sent.key, None)
            if flight is None:
                continue
            if sent.busy:
                self._again(sent.key, flight, sent.problem, now, sent.room)
                continue
            attempts = flight.attempts + 1
            if 200 <= sent.code < 300:
                facts.callbacks.append(_done(sent.key, flight, CallbackEnd.DELIVERED, sent.code, attempts, now))
            elif sent.code == HTTP_GONE:
                facts.callbacks.append(_done(sent.key, flight, CallbackEnd.GONE, sent.code, attempts, now))
            else:
                due = now + next_pause(attempts, self._jitter())
                if due - flight.first > self._retry_ms:
                    facts.callbacks.append(_done(sent.key, flight, CallbackEnd.GIVEN_UP, sent.code, attempts, now))
                else:
                    problem = sent.problem or f"HTTP {sent.code}"
                    self._later(flight.account, sent.key, due, attempts, flight.body, problem, flight.first)
        self._gathering.wake()

    def _on_lost(self) -> None:
        now = self._clock.now()
        flights, self._flights = self._flights, {}
        for key, flight in flights.items():
            self._again(key, flight, "the sender stopped", now)
        self._gathering.wake()

    def _again(self, key: int, flight: Flight, problem: str, now: int, room: float = 0.0) -> None:
        """It was not tried, or nobody knows whether it was: it is offered again a little later, or when there is
        `room`, in so many seconds."""
        if room > 0:
            due = now + int(room * 1000)
        else:
            shortest, longest = BUSY_PAUSE_MS
            pause = min(max((now - flight.first) // 4, shortest), longest)
            due = now + pause + int(pause * self._jitter())
        if flight.attempts and due - flight.first > self._retry_ms:
            done = _done(key, flight, CallbackEnd.GIVEN_UP, 0, flight.attempts, now)
            self._gathering.facts.callbacks.append(done)
        else:
            self._later(flight.account, key, due, flight.attempts, flight.body, problem, flight.first)

    # --- inside

    def _later(self, account: int, key: int, due: int, attempts: int, body: bytes, problem: str, first: int) -> None:
        self._gathering.facts.callback_retries.append(CallbackRetry(account, key, due, attempts, body, problem, first))
        self._gathering.wake()

    def _leave_to_rows(self, message: Message, at: int) -> None:
        """A callback that was never tried, owed since `at`: it is due at once."""
        self._later(message.account, message.key, at, 0, b"", "", at)

    @staticmethod
    def _hold(facts: Facts, message: Message, at: int) -> None:
        """A row for a callback that is about to be tried here."""
        facts.callback_retries.append(CallbackRetry(message.account, message.key, at, 0, b"", "", at, held=True))

    def _job(self, message: Message, state: Delivery, err: str, at: int, body: bytes) -> Job | None:
        known = self._receivers.known(message.account)
        if known is None:
            return None
        account, zone = known
        uuid = to_uuid(message.key, message.tail)
        as_json = account.callback_format == "json"
        if not body:
            fields = receipt_fields(message, uuid, state, err, at, zone)
            body = self._encode_json(fields) if as_json else receipt_form(fields)
        # A body made before the account changed its format keeps its own.
        content_type = JSON if body.startswith(b"{") else FORM
        return Job(message.key, f"dlr_{uuid}", message.callback_url, body, content_type, (account.signing_secret,))


def _done(key: int, flight: Flight, end: CallbackEnd, code: int, attempts: int, now: int) -> CallbackDone:
    return CallbackDone(flight.account, key, end, code, attempts, now, now - flight.first)


def receipt_fields(message: Message, uuid: str, state: Delivery, err: str, at: int, zone: ZoneInfo) -> dict[str, str]:
    """The six parameters of a delivery receipt, in the order of the contract."""
    return {
        "id": uuid,
        "message_status": _STATUSES[state],
        "subdate": format_local(message.time, zone),
        "donedate": format_local(at, zone),
        "err": err,
        "text": message.content[:RECEIPT_TEXT_CHARS],
    }


def receipt_form(fields: dict[str, str]) -> bytes:
    """The parameters form-encoded; what of them needs no quoting is known."""
    return (
        f"id={fields['id']}&message_status={fields['message_status']}&subdate={_quoted(fields['subdate'])}"
        f"&donedate={_quoted(fields['donedate'])}&err={fields['err']}&text={_quoted(fields['text'])}"
    ).encode()


_quoted = lru_cache(maxsize=4_096)(quote_plus)
"""Many receipts have their seconds, and many messages their first words, in common."""
