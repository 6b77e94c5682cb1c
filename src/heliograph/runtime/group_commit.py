"""Group commit: facts that arise during a transaction are written by the next transaction.

    requests (accept) ----+
    operators' answers ---+--> Facts being gathered --> [interval] --> one transaction --> committed hooks:
    receipts, callbacks --+        ^                                        |             HTTP answers, receipts
                                   +---- on failure: all but requests <-----+             acknowledged, parts sent

1. All callers add to the `Facts` being gathered. Nobody waits with a task or a future.
2. A commit starts after the interval (`commit_interval`), or at once if all expected facts are there.
3. Facts that arise meanwhile gather for the next commit.
4. If a commit fails, its facts go into the next commit. Its requests do so only if the store is away for a moment;
   else they get 503. Requests that may have been written are *in doubt*: they wait until a later commit finds out.
5. If no commit succeeds for HOLD_S, the store is *away*: all waiting requests get 503, and so does each new request at
   once, until a commit succeeds. Requests in doubt get 504: a 503 says that nothing was charged.
6. If the store rejects a value, the commit is bisected (`app.commit.isolate`).
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Final

from heliograph.app.commit.isolate import Bisection, PieceFate, RejectedPiece
from heliograph.app.facts import Accept, Facts, InboundMessage, Verdict, leave_out_contested
from heliograph.app.ports import HOLD_S, Away, Clock, Commits, Fenced, Ids, Journal, StoreRejected, Unavailable, Watcher
from heliograph.domain.display import origin_of
from heliograph.domain.message.ids import IdSequence, to_hex
from heliograph.runtime.commit_interval import INTERVAL_S, CommitInterval
from heliograph.runtime.outage import Outage

WAITING_MESSAGES = 10_000
"""Most messages that wait for a commit; beyond that, requests get 503 and must retry."""

COMMIT_PARTS = 80
"""Parts of new messages in a commit, or of a single request if that has more. Must stay below
`app.dispatch.lane.PARTS_A_COMMIT`. Otherwise acceptance outruns sending and the backlog grows under load. Requests
beyond this limit wait for the next interval, so that the event loop gets a turn to read receipts in between.
"""

SPILL_S = 1.0
"""Seconds between two moves of the durable marks."""

RETRY_S = (0.05, 1.0)
"""Seconds before a failed commit is tried again: the first pause, and the longest."""

HELD_RETRY_S = 0.25
"""Seconds. The longest pause while requests wait: a longer one would be a part of the outage that customers see."""

Then = Callable[[Accept], None]

# Each access to a member of an enum costs a lookup.
_ACCEPTED: Final = Verdict.ACCEPTED
_IN_DOUBT: Final = Verdict.IN_DOUBT
_UNAVAILABLE: Final = Verdict.UNAVAILABLE

REFUSED_LINES = 60
"""Log lines a minute about facts that the store rejected. Further facts are only counted; the next line has their
number."""


@dataclass(slots=True)
class Hooks:
    """Callbacks around a commit. All are called on the event loop and must not raise."""

    prepare: Callable[[Facts, int], None]
    """Called right before a commit: may add facts. Called again, with more facts, if the commit fails."""
    spill: Callable[[Facts, int, int], None]
    """Called right before a commit, about once a second: moves the durable marks; its third argument is the highest key
    given."""
    committed: Callable[[], None]
    """Called right after a commit, when its requests have their answers."""
    refused: Callable[[], None]
    """Called after a failed commit. Its facts are in the next commit, without its requests."""


class RefusedFacts:
    """Counts and logs the rejected facts of a run."""

    def __init__(self, clock: Clock, journal: Journal) -> None:
        self.counts: Counter[PieceFate] = Counter()
        self._clock = clock
        self._journal = journal
        self._until = 0.0
        self._logged = 0
        self._unlogged = 0

    def note(self, piece: RejectedPiece) -> None:
        self.counts[piece.fate] += 1
        now = self._clock.monotonic()
        if now >= self._until:
            self._until, self._logged = now + 60.0, 0
        if self._logged == REFUSED_LINES:
            self._unlogged += 1
            return
        self._logged += 1
        before, self._unlogged = self._unlogged, 0
        self._journal.log("error", "store.refused", **piece.shown(), **({"unsaid": before} if before else {}))


class GroupCommit:
    """Records all facts, with a single commit at a time. Implements the ports `Gathering` and `Intake`.

    If a commit fails, all its facts but requests stay for the next attempt: a full disk never loses an operator's
    answer or a callback's result. If the store is away, requests stay, too, for HOLD_S. If the store rejects a fact,
    only that fact is left out (`app.commit.isolate`).
    """

    def __init__(
        self,
        commits: Commits,
        worker: int,
        last_key: int,
        ids: Ids,
        clock: Clock,
        journal: Journal,
        outage: Outage,
        watchers: Sequence[Watcher] = (),
    ) -> None:
        """`last_key`: the highest key in the store; new keys are above it."""
        self._commits = commits
        self._sequence = IdSequence(worker, last_key)
        self._last_key = last_key
        self._ids = ids
        self._clock = clock
        self._journal = journal
        self._outage = outage
        self._watchers = watchers
        self._stumbled: list[Watcher] = []
        self.facts = Facts()
        """The facts being gathered."""
        self._thens: list[tuple[Accept, Then]] = []
        self._in_doubt: list[tuple[Accept, Then]] = []
        """Requests of a commit that may have been done. The store takes no other commit before it knows."""
        self._found: list[Accept] = []
        """Requests in doubt that turned out to be accepted: for the watchers, with the next commit."""
        self._waiting = 0
        self._open = True
        self._work = asyncio.Event()
        self._feeder_event = asyncio.Event()
        self._lookup_event = asyncio.Event()
        self._idle = asyncio.Event()
        self._awaiting: list[asyncio.Future[None]] = []
        """Callers of `committed` that wait for a commit to begin."""
        self._ending: list[asyncio.Future[None]] = []
        """Callers of `committed` that wait for the end of the commit under way."""
        self._hooks: Hooks | None = None
        self._interval = CommitInterval()
        self._waiter: asyncio.Future[None] | None = None
        self._last_spill = 0.0
        self._woken = False
        self._later: asyncio.TimerHandle | None = None
        self.healthy = True
        """Whether the last commit worked."""
        self.away = False
        """True if no commit has worked for HOLD_S. Requests are refused at once."""
        self._troubled = 0.0
        """Beginning of the first commit since the last that worked."""
        self.failures = 0
        """Commits that failed."""
        self.refused_facts = RefusedFacts(clock, journal)

    def attach(self, hooks: Hooks) -> None:
        """Must be called before `run`."""
        self._hooks = hooks

    # --- the ports

    def wake(self) -> None:
        if not self._woken:
            self._woken = True
            self._work.set()

    def wake_later(self) -> None:
        """Starts a commit within an interval, for facts that no caller waits for. Facts that come until then share it:
        a commit of these alone would delay the answers and receipts that are read next.
        """
        if not self._woken and self._later is None:
            self._later = asyncio.get_running_loop().call_later(INTERVAL_S, self.wake)

    def wake_feeder(self) -> None:
        self._feeder_event.set()

    def wake_lookups(self) -> None:
        self._lookup_event.set()

    def accept(self, accept: Accept, then: Then) -> bool:
        count = len(accept.messages)
        if self.away or not self._open or self._waiting + count > WAITING_MESSAGES:
            return False
        self._waiting += count
        self.facts.accepts.append(accept)
        self._thens.append((accept, then))
        self.wake()
        if self._waiter is not None:
            if self._interval.probing:
                self._interval.came(self._clock.monotonic())
            elif self._interval.at_capacity(len(self._thens)):
                self._end_wait()
        return True

    # --- life

    async def feeder_woken(self, seconds: float) -> None:
        """Waits until there is something to claim, or for so many seconds."""
        try:
            async with asyncio.timeout(seconds):
                await self._feeder_event.wait()
        except TimeoutError:
            pass
        self._feeder_event.clear()

    async def lookups_woken(self) -> None:
        """Waits until there is a receipt to look up."""
        await self._lookup_event.wait()
        self._lookup_event.clear()

    def shut(self) -> None:
        """Accepts no more requests; waiting requests are still answered."""
        self._open = False

    def give_up_store(self) -> None:
        """Refuses the waiting requests and all new requests, until a commit works; begins a commit that finds out."""
        self.healthy, self.away = False, True
        self.refuse_waiting()
        self.wake()

    def lapse(self) -> None:
        """Gives up the store because the node's lease has lapsed. Requests of a commit under way still have their
        HOLD_S: a lease lapses 3.5 to 5 s after its last renewal, and a switchover may take longer."""
        if self.healthy and self._idle.is_set():
            self.give_up_store()

    def refuse_waiting(self) -> None:
        """Refuses the requests that no commit has taken up, and answers the requests in doubt as such."""
        accepts, self.facts.accepts = self.facts.accepts, []
        for accept in accepts:
            accept.verdict = Verdict.UNAVAILABLE
        thens, self._thens = self._in_doubt + self._thens, []
        self._in_doubt = []
        self._reply(thens)

    async def flushed(self) -> None:
        """Waits until nothing waits for a commit."""
        while self._woken or not self._idle.is_set():
            self._idle.clear()
            await self._idle.wait()

    async def committed(self) -> None:
        """Waits for the end of a commit that begins from now on."""
        end = asyncio.get_running_loop().create_future()
        self._awaiting.append(end)
        self.wake()
        await end

    async def run(self) -> None:
        """Commits until cancelled, or until the node is fenced (raises Fenced); then refuses the waiting requests."""
        assert self._hooks is not None
        try:
            await self._commit_all(self._hooks)
        except Fenced:
            self.shut()
            self.refuse_waiting()
            raise

    async def _commit_all(self, hooks: Hooks) -> None:
        pause = RETRY_S[0]
        while True:
            self._idle.set()
            await self._work.wait()
            self._idle.clear()
            began = await self._wait_for_more()
            facts, thens = self._take(hooks, began)
            start = self._clock.monotonic()
            try:
                if facts or self._in_doubt or not self.healthy:
                    await self._record(facts, start)
                else:
                    await asyncio.sleep(0)
            except Unavailable as problem:
                self._fail(hooks, facts, thens, problem)
                if isinstance(problem, Fenced):
                    raise
                await asyncio.sleep(pause)
                pause = min(2 * pause, HELD_RETRY_S if self._thens else RETRY_S[1])
                self.wake()
                continue
            if not self.healthy:
                self._outage.found_there("commit")
                self.healthy, self.away = True, False
            seconds = self._clock.monotonic() - start
            pause = RETRY_S[0]
            self._answer(thens)
            if self._in_doubt:
                self.wake()
            hooks.committed()
            if self._ending:
                self._end_calls()
            answers = len(facts.submissions) + len(facts.finals) + len(facts.callbacks) + len(facts.parts)
            from_outside = len(facts.accepts) + answers + len(facts.inbound)
            self._interval.tally(self._clock.monotonic(), from_outside)
            if self._found:
                facts.accepts += self._found
                self._found = []
            leave_out_contested(facts)
            if facts:
                self._show(facts, seconds)

    # --- a commit

    async def _record(self, facts: Facts, start: float) -> None:
        if self.healthy:
            self._troubled = start
        patience = asyncio.get_running_loop().call_later(self._troubled + HOLD_S - start, self._find_away)
        try:
            await self._commits.record(facts)
        except StoreRejected:
            patience.cancel()  # the store answers, however long the search for the value takes
            self._troubled = self._clock.monotonic()
            await Bisection(self._commits, facts, self.refused_facts.note).record()
        finally:
            patience.cancel()

    def _find_away(self) -> None:
        if not self.away:
            self._outage.found_away("commit", TimeoutError())
            self.give_up_store()

    async def _wait_for_more(self) -> float:
        """Waits for more facts; ends early when no more requests can come. Returns the time of its end."""
        left = self._interval.left(self._clock.monotonic())
        if left and not self._interval.at_capacity(len(self._thens)):
            loop = asyncio.get_running_loop()
            self._waiter = loop.create_future()
            timer = loop.call_later(left, self._end_wait)
            try:
                await self._waiter
            finally:
                timer.cancel()
                self._waiter = None
        began = self._clock.monotonic()
        self._interval.begin(began, len(self._thens))
        return began

    def _end_calls(self) -> None:
        for end in self._ending:
            if not end.done():
                end.set_result(None)
        self._ending.clear()

    def _end_wait(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _take(self, hooks: Hooks, began: float) -> tuple[Facts, list[tuple[Accept, Then]]]:
        self._woken = False
        self._work.clear()
        if self._awaiting:
            self._ending += self._awaiting
            self._awaiting.clear()
        if self._later is not None:
            self._later.cancel()
            self._later = None
        now = self._clock.now()
        facts, thens = self.facts, self._thens
        taken = self._within_limit(facts.accepts)
        later = Facts(accepts=facts.accepts[taken:])
        del facts.accepts[taken:]
        for accept in facts.accepts:
            self._name(accept, now)
        if facts.inbound:
            self._name_inbound(facts.inbound, now)
        hooks.prepare(facts, now)
        if began - self._last_spill >= SPILL_S:
            self._last_spill = began
            hooks.spill(facts, now, self._last_key)
        self.facts, self._thens = later, thens[taken:]
        if later.accepts:
            self.wake()
        return facts, thens[:taken]

    @staticmethod
    def _within_limit(accepts: list[Accept]) -> int:
        """Returns the number of waiting requests for this commit."""
        parts = 0
        for count, accept in enumerate(accepts):
            for message in accept.messages:
                parts += message.segments
            if parts > COMMIT_PARTS and count:
                return count
        return len(accepts)

    def _name(self, accept: Accept, now: int) -> None:
        """Assigns the keys: a batch's own key first, then the keys of its messages. All of them share a tail: a receipt
        over a bind names the batch by its message's tail.
        """
        next_key, accept.tail = self._sequence.next, self._ids.tail()
        if accept.batch:
            accept.key = next_key(now)
        for message in accept.messages:
            message.key, message.tail = next_key(now), accept.tail
            message.batch = accept.key if accept.batch else 0
        if not accept.batch:
            accept.key = accept.messages[0].key
        self._last_key = accept.messages[-1].key

    def _name_inbound(self, messages: list[InboundMessage], now: int) -> None:
        """Assigns keys to messages without a key; messages of a failed commit already have theirs."""
        for message in messages:
            if not message.key:
                message.key, message.tail = self._sequence.next(now), self._ids.tail()
                self._last_key = message.key
                if message.reply is not None:
                    self._name(message.reply, now)

    def _answer(self, thens: list[tuple[Accept, Then]]) -> None:
        """Answers the requests of a commit, and of an earlier commit whose outcome is known now.

        Requests in doubt wait, unless the store is away.
        """
        if self._in_doubt:
            earlier, self._in_doubt = self._in_doubt, []
            self._found += [accept for accept, _ in earlier if accept.verdict is _ACCEPTED]
            thens = (earlier if self.away else self._try_again(earlier)) + thens
        if not self.away and any(accept.verdict is _IN_DOUBT for accept, _ in thens):
            self._in_doubt = [each for each in thens if each[0].verdict is _IN_DOUBT]
            thens = [each for each in thens if each[0].verdict is not _IN_DOUBT]
        self._reply(thens)

    def _try_again(self, thens: list[tuple[Accept, Then]]) -> list[tuple[Accept, Then]]:
        """Puts requests that are not in the store in front of the waiting ones. Returns the others."""
        again = [each for each in thens if each[0].verdict is _UNAVAILABLE]
        if again:
            self.facts.accepts[:0] = [accept for accept, _ in again]
            self._thens[:0] = again
            self.wake()
        return [each for each in thens if each[0].verdict is not _UNAVAILABLE]

    def _reply(self, thens: list[tuple[Accept, Then]]) -> None:
        for accept, then in thens:
            self._waiting -= len(accept.messages)
            try:
                then(accept)
            except Exception as problem:  # noqa: BLE001 - one customer's answer must not stop the others'
                message = to_hex(accept.key, accept.tail)
                self._journal.log("error", "answer.failed", message=message, **origin_of(problem))

    def _fail(self, hooks: Hooks, facts: Facts, thens: list[tuple[Accept, Then]], problem: Unavailable) -> None:
        self.failures += 1
        self.healthy = False
        self._outage.found_away("commit", problem)
        facts.accepts = []
        hooks.refused()
        # Facts gathered meanwhile come after the facts that failed.
        newer = self.facts
        for each in fields(Facts):
            if each.name == "marks":
                facts.marks.update(newer.marks)
            else:
                getattr(facts, each.name).extend(getattr(newer, each.name))
        if facts.callbacks and facts.callback_retries:
            # A callback may have ended during the failed commit that would have given it a row: it needs no row any
            # more.
            ended = {done.key for done in facts.callbacks}
            facts.callback_retries = [retry for retry in facts.callback_retries if retry.key not in ended]
        self.facts = facts
        is_over = self._clock.monotonic() - self._troubled >= HOLD_S
        if isinstance(problem, Away) and not is_over and not self.away:
            thens = self._try_again(thens)
        self._answer(thens)
        if is_over:
            self.give_up_store()

    def _show(self, facts: Facts, seconds: float) -> None:
        now = self._clock.now()
        for watcher in self._watchers:
            try:
                watcher.committed(facts, now, seconds)
            except Exception as problem:  # noqa: BLE001 - an observer must not stop the commits
                if watcher not in self._stumbled:  # it may fail at every commit
                    self._stumbled.append(watcher)
                    self._journal.log("error", "watcher.failed", **origin_of(problem))
