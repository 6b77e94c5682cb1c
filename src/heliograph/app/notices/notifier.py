"""The notifier: keeps each notice until its account has received it, or its time is over. See `app.notice`."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial

from heliograph.app.facts import CallbackDone, CallbackEnd, CallbackRetry, Facts
from heliograph.app.marks import CALLBACK
from heliograph.app.notice import Deliverer, KnownAccounts, Notice, TriedNotice
from heliograph.app.ports import Clock, Gathering, Notices, Unavailable
from heliograph.domain.message.ids import first_key_at, time_of
from heliograph.domain.message.retry import next_pause
from heliograph.domain.message.way import Way

IN_THE_AIR = 10_000
"""Most notices in memory; further notices wait in their rows. An account may have half as many as are free: by itself,
a third of all.
"""

CLAIM = 1_024
"""The most notices that are claimed from their rows at once."""

ACCOUNTS_ASKED = 200
"""Most accounts with pending rows that are checked in a turn. The next turn continues behind them."""

NOBODY = -1
"""A number below the id of any account."""

KEEP_MS = 30_000
"""A notice whose key is older than this has a row from the start. Milliseconds."""

BUSY_PAUSE_MS = (2_000, 60_000)
"""Milliseconds, shortest and longest. Pause of a notice that was not attempted because its receiver had too many
waiting, or is left alone after failures, if the time of a free slot is unknown. It is a quarter of the notice's age,
within these limits, plus as much jitter.
"""

BUSY_SHARE = 50
"""Divisor of an old notice's age that gives its pause, if that is longer. Each of a day's notices of a dead receiver
would otherwise be claimed and written once a minute."""

UNREADABLE_PAUSE_MS = 60_000
"""Milliseconds. Pause of a notice with an account that could not be read."""

ABSENT_PAUSE_MS = 3_600_000
"""Milliseconds before this node looks again at a notice of a way that it does not have. The notice is parked: another
node that has the way claims it before."""

UNTRIED_MS = 720 * 3_600_000
"""Milliseconds after which a notice that was never tried ends as failed: its way is not on this node, or its receiver
is dead and was tried with other notices. It is the most that `retry_hours` may be. Without an end its message would
stay pending, and retention would never erase it."""

UNREADABLE = "the message's row is damaged: its text cannot be opened"
"""The reason for people why a notice was not tried. A replay tries it again, for example after the row was restored."""

UNREACHABLE = "the account cannot be reached by its way"
"""The reason for people why a notice is parked."""


class Notifier:
    """Keeps each notice until it is done: in memory while it is fresh, by a row of the store otherwise."""

    def __init__(
        self,
        gathering: Gathering,
        clock: Clock,
        deliverers: Mapping[Way, Deliverer],
        accounts: KnownAccounts,
        jitter: Callable[[], float],
        *,
        mark: int = 0,
        keeps: Callable[[int], bool] = lambda _: True,
    ) -> None:
        """`jitter`: returns numbers from 0 up to 1.

        `keeps`: tells by its key whether a new notice may be in memory only. If another node would recover it, it gets
        a row from the start.
        """
        self._gathering = gathering
        self._clock = clock
        self._deliverers = dict(deliverers)
        self._accounts = accounts
        self._jitter = jitter
        self._keeps = keeps
        self.mark = mark
        self._flights: dict[int, Notice] = {}
        """Notices that are being tried, by key."""
        self._held: dict[int, int] = {}
        """Numbers of notices in memory, by account."""
        self._taken = 0
        """The number of notices in memory."""
        self._asked_up_to = NOBODY
        """The account behind which the next turn begins."""
        self._next: list[Notice] = []
        """Notices owed by the facts being gathered."""
        self._committing: list[Notice] = []
        """Notices owed by the facts being committed."""
        for deliverer in self._deliverers.values():
            deliverer.on_tried(self._on_tried)
            deliverer.on_lost(partial(self._on_lost, deliverer))

    @property
    def room(self) -> int:
        """The number of notices that may still be taken up."""
        return max(0, IN_THE_AIR - self._taken)

    @property
    def in_the_air(self) -> int:
        """The number of notices that are being tried."""
        return len(self._flights)

    def owe(self, notice: Notice) -> None:
        """Adds a notice with a subject among the facts being gathered."""
        # an account may always have a third, so its share is only worked out beyond that
        if (3 * self._taken >= IN_THE_AIR and self._room_of(notice.account) <= 0) or not self._keeps(notice.key):
            self._leave_to_rows(notice)
            return
        self._take(notice)
        if notice.key <= self.mark or notice.first - time_of(notice.key) > KEEP_MS:
            self._hold(self._gathering.facts, notice)
        self._next.append(notice)

    # --- around a commit

    def prepare(self) -> None:
        """Must be called right before a commit."""
        self._committing += self._next
        self._next = []

    def spill(self, facts: Facts, now: int, last_key: int) -> None:
        """Gives a row to each notice that has been in flight for long or was left by the commit before, and moves the
        mark on. Once a second, right before a commit.

        The mark never passes `last_key`, the highest key that was given: the clock may have been ahead of itself.
        """
        mark = max(self.mark, min(first_key_at(now - 2 * KEEP_MS), last_key))
        for key, flight in self._flights.items():
            if not flight.rowed and (key <= mark or now - flight.since > KEEP_MS):
                flight.rowed = True
                facts.callback_retries.append(
                    CallbackRetry(
                        flight.account, key, now, flight.attempts, flight.body, "", flight.first, True, flight.way
                    )
                )
        for notice in self._committing:
            if notice.key <= mark and not notice.rowed and not notice.is_overtaken:
                self._hold(facts, notice)
        if mark > self.mark:
            self.mark = facts.marks[CALLBACK] = mark

    def committed(self) -> None:
        """Must be called right after a commit: attempts the notices with subjects that are now durable."""
        if not self._committing:
            return
        committed, self._committing = self._committing, []
        standing = [notice for notice in committed if not notice.is_overtaken]
        if len(standing) < len(committed):
            self._drop_overtaken(committed)
        for notice in self._deliver(standing):
            self._leave_to_rows(notice)

    def _drop_overtaken(self, notices: Sequence[Notice]) -> None:
        """Drops the notices of subjects that do not count, because another node was faster. That node owes the notice.
        If both nodes have written the row of an end, the row is free again, and tells the end that stands."""
        for notice in notices:
            if notice.is_overtaken:
                self._give_back(notice)
                if notice.rowed and notice.end is not None:
                    self._leave_to_rows(notice)

    # --- from the rows

    async def next_due(self, notices: Notices) -> int | None:
        """Returns the time (ms) of the next due notice, or None. That is now if parked notices may be reachable, and a
        second from now while no more notices may be in flight."""
        if self.room == 0:
            return self._clock.now() + 1_000
        if any(deliverer.reachable() for deliverer in self._deliverers.values()):
            return self._clock.now()
        return await notices.next_due()

    async def take_up(self, notices: Notices, node: int) -> bool:
        """Claims notices that are due and tries them, as many of each account; returns whether there may be more."""
        parked = await self._take_up_parked(notices, node)
        now = self._clock.now()
        waiting = await notices.accounts(self._asked_up_to, ACCOUNTS_ASKED)
        further = len(waiting) == ACCOUNTS_ASKED
        self._asked_up_to = waiting[-1][0] if further else NOBODY
        room = self.room
        due = [account for account, at in waiting if at <= now and self._room_of(account) > 0][:room]
        if not due:
            return further or parked
        limit = max(1, min(min(CLAIM, room) // len(due), *(self._room_of(account) for account in due)))
        claimed = await notices.claim(limit, now, node, due)
        await self._resume_claimed(claimed)
        return further or parked or len(claimed) >= limit

    async def _take_up_parked(self, notices: Notices, node: int) -> bool:
        """Claims parked notices of accounts that can be reached now; returns whether there may be more."""
        more = False
        for way, deliverer in self._deliverers.items():
            accounts = [account for account in deliverer.reachable() if self._room_of(account) > 0][: self.room]
            if not accounts:
                continue
            share = max(1, min(CLAIM, self.room) // len(accounts))
            alike: dict[int, list[int]] = {}
            for account in accounts:
                most = min(deliverer.capacity(account), self._room_of(account), share)
                alike.setdefault(most.bit_length(), []).append(account)
            # a claim takes equally many of each account, so accounts with about the same capacity are claimed together
            for bits, group in alike.items():
                if bits:
                    limit = 1 << bits - 1
                    claimed = await notices.claim_parked(way, limit, node, group)
                    await self._resume_claimed(claimed)
                    more = more or len(claimed) >= limit
        return more

    async def _resume_claimed(self, claimed: Sequence[Notice]) -> None:
        for notice in claimed:
            if self._accounts.known(notice.account) is None:
                # If this fails, `resume` puts the notice back to its row, so that its claim is not lost.
                with suppress(Unavailable):
                    await self._accounts.learn(notice.account)
        self.resume(claimed, rowed=True)

    def resume(self, notices: Sequence[Notice], rowed: bool) -> None:
        """Tries notices that are owed by their rows. `rowed`: they have rows in `callback_retry`."""
        landed = []
        for notice in notices:
            if notice.key in self._flights:
                continue
            notice.rowed = rowed
            if notice.is_unreadable:
                self._later(notice, self._clock.now(), UNREADABLE, claimed=True)
                self._gathering.facts.callbacks.append(_done(notice, CallbackEnd.FAILED, 0, self._clock.now()))
                continue
            if not rowed and self._room_of(notice.account) <= 0:
                self._leave_to_rows(notice)
                continue
            self._take(notice)
            landed.append(notice)
        for notice in self._deliver(landed):
            self._later(notice, self._clock.now() + UNREADABLE_PAUSE_MS, "the account cannot be read")

    # --- results

    def _on_tried(self, results: list[TriedNotice]) -> None:
        now = self._clock.now()
        flights, callbacks = self._flights, self._gathering.facts.callbacks
        for result in results:
            notice = flights.pop(result.key, None)
            if notice is None:
                continue
            self._give_back(notice)
            if result.busy and not result.away:
                self._put_off(notice, result.problem, now, result.room)
                continue
            notice.attempts += not result.busy
            end = result.end
            if result.away and now - notice.first <= self._deliverers[notice.way].retry_ms:
                ends = notice.first + self._deliverers[notice.way].retry_ms
                self._later(notice, ends, result.problem, parked=True)
                continue
            if end is None:
                due = now + next_pause(notice.attempts, self._jitter())
                if due - notice.first <= self._deliverers[notice.way].retry_ms:
                    self._later(notice, due, result.problem)
                    continue
                end = CallbackEnd.FAILED
                # Its row keeps the cause. It is claimed, because no further try follows.
                self._later(notice, now, result.problem, claimed=True)
            callbacks.append(_done(notice, end, result.code, now))
        self._gathering.wake()

    def _on_lost(self, deliverer: Deliverer) -> None:
        now = self._clock.now()
        lost = [notice for notice in self._flights.values() if self._deliverers[notice.way] is deliverer]
        for notice in lost:
            del self._flights[notice.key]
            self._give_back(notice)
            self._put_off(notice, "the sender stopped", now)
        self._gathering.wake()

    def _put_off(self, notice: Notice, problem: str, now: int, room: float = 0.0) -> None:
        """Puts off a notice that was not tried, or perhaps not tried, for `room` seconds or a short pause. `problem` is
        the reason; if earlier tries failed, their row keeps the cause of the last one instead."""
        if room > 0:
            due = now + int(room * 1000)
        else:
            age, (shortest, longest) = now - notice.first, BUSY_PAUSE_MS
            pause = min(max(age // 4, shortest), max(age // BUSY_SHARE, longest))
            due = now + pause + int(pause * self._jitter())
        if due - notice.first > (self._deliverers[notice.way].retry_ms if notice.attempts else UNTRIED_MS):
            self._gathering.facts.callbacks.append(_done(notice, CallbackEnd.FAILED, 0, now))
        else:
            self._later(notice, due, "" if notice.attempts else problem)

    # --- inside

    def _deliver(self, notices: Sequence[Notice]) -> list[Notice]:
        """Starts an attempt of each notice by its way. Returns the notices with an account that is not in memory."""
        now = self._clock.now()
        flights = self._flights
        by_way: dict[Way, list[Notice]] = {}
        for notice in notices:
            if notice.key in flights:  # its row, which another node has written, was claimed during the commit
                self._give_back(notice)
                continue
            notice.since = now
            flights[notice.key] = notice
            by_way.setdefault(notice.way, []).append(notice)
        left: list[Notice] = []
        for way, mine in by_way.items():
            deliverer = self._deliverers.get(way)
            if deliverer is None:
                for notice in mine:
                    if now - notice.first > UNTRIED_MS:
                        self._give_up(notice, now)
                    else:
                        self._park(notice, now + ABSENT_PAUSE_MS)
            else:
                left += deliverer.deliver(self._within_reach(deliverer, mine, now))
        for notice in left:
            self._leave(notice)
        return left

    def _within_reach(self, deliverer: Deliverer, notices: list[Notice], now: int) -> list[Notice]:
        """Returns the notices that the deliverer has capacity for; parks the others."""
        left = {account: deliverer.capacity(account) for account in {notice.account for notice in notices}}
        if min(left.values()) >= len(notices):
            return notices
        near: list[Notice] = []
        for notice in notices:
            left[notice.account] -= 1
            if left[notice.account] >= 0:
                near.append(notice)
            elif (ends := notice.first + deliverer.retry_ms) > now:
                self._park(notice, ends)
            else:
                self._give_up(notice, now)
        return near

    def _give_up(self, notice: Notice, now: int) -> None:
        """Ends a notice with an account that could not be reached until the notice's time was over."""
        self._leave(notice)
        self._gathering.facts.callbacks.append(_done(notice, CallbackEnd.FAILED, 0, now))
        self._gathering.wake()

    def _park(self, notice: Notice, due: int) -> None:
        """Parks a notice in its row until its account can be reached, or until `due` (ms)."""
        self._leave(notice)
        self._later(notice, due, UNREACHABLE, parked=True)

    def _leave(self, notice: Notice) -> None:
        """Removes a notice from the notices in flight."""
        del self._flights[notice.key]
        self._give_back(notice)

    def _room_of(self, account: int) -> int:
        """Returns how many more notices of the account may be in memory. Afterwards it has at most half as many as are
        free."""
        return (2 * ((IN_THE_AIR - self._taken + 1) // 2 - self._held.get(account, 0)) + 2) // 3

    def _take(self, notice: Notice) -> None:
        """Counts the notice among the notices in memory."""
        self._taken += 1
        self._held[notice.account] = self._held.get(notice.account, 0) + 1

    def _give_back(self, notice: Notice) -> None:
        """Removes the notice from the count."""
        self._taken -= 1
        left = self._held[notice.account] - 1
        if left:
            self._held[notice.account] = left
        else:
            del self._held[notice.account]

    def _later(self, notice: Notice, due: int, problem: str, *, parked: bool = False, claimed: bool = False) -> None:
        retry = CallbackRetry(
            notice.account,
            notice.key,
            due,
            notice.attempts,
            notice.body,
            problem,
            notice.first,
            claimed,
            notice.way,
            parked,
        )
        self._gathering.facts.callback_retries.append(retry)
        self._gathering.wake()

    def _leave_to_rows(self, notice: Notice) -> None:
        """Gives a row to a notice that was never tried; any node may take it up at once."""
        self._later(notice, notice.first, "")

    @staticmethod
    def _hold(facts: Facts, notice: Notice) -> None:
        """Gives a row to a notice that is about to be tried here."""
        notice.rowed = True
        first = notice.first
        facts.callback_retries.append(
            CallbackRetry(notice.account, notice.key, first, 0, b"", "", first, claimed=True, way=notice.way)
        )


def _done(notice: Notice, end: CallbackEnd, code: int, now: int) -> CallbackDone:
    return CallbackDone(notice.account, notice.key, end, code, notice.attempts, now, now - notice.first)
