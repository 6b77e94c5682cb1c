"""Group commit, on a virtual clock: how long a commit takes is up to the test."""

import asyncio
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any

import pytest

from heliograph.app.commit.isolate import PieceFate
from heliograph.app.dispatch.lane import PARTS_A_COMMIT, Lane
from heliograph.app.facts import (
    Accept,
    Attempt,
    CallbackDone,
    CallbackEnd,
    CallbackRetry,
    Facts,
    InboundMessage,
    Verdict,
)
from heliograph.app.ports import HOLD_S, Away, Fenced, StoreRejected, Unavailable
from heliograph.domain.message.ids import to_hex
from heliograph.runtime import group_commit
from heliograph.runtime.commit_interval import BUSY_FACTS_PER_S, INTERVAL_S, PROBE_INTERVALS, REST_S
from heliograph.runtime.group_commit import GroupCommit, Hooks
from heliograph.runtime.outage import Outage
from tests.support.memory_store import MemoryStore
from tests.support.store import START
from tests.support.use_case_fakes import LONG, Messages, NotedCarrier, SetClock, accept_of
from tests.support.virtual_time import VirtualClock, run

COMMIT_S = 0.01


class SlowStore(MemoryStore):
    """Accepts everything; fails as often as it is told."""

    def __init__(self) -> None:
        super().__init__()
        self.written: list[Facts] = []
        self.failures = 0
        self.problem = Unavailable("the disk is full")
        self.loses_answers = False
        """It writes what it is told, and nobody learns of it: the requests are in doubt."""
        self.doubtful: list[Accept] = []
        self.stay = True
        """Whether requests in doubt turn out to be accepted, once it can be asked."""
        self.unfit: set[int] = set()
        """Keys of attempts, and totals of requests, that it will not have."""
        self.under_way = 0

    async def commits_record(self, facts: Facts) -> None:
        self.under_way += 1
        assert self.under_way == 1, "one commit at a time"
        try:
            await asyncio.sleep(COMMIT_S)
        finally:
            self.under_way -= 1
        if self.failures:
            self.failures -= 1
            raise self.problem
        for accept in self.doubtful:
            if accept.verdict is Verdict.IN_DOUBT:
                accept.verdict = Verdict.ACCEPTED if self.stay else Verdict.UNAVAILABLE
        self.doubtful = []
        if self.loses_answers:
            self.loses_answers, self.doubtful = False, facts.accepts
            for accept in facts.accepts:
                accept.verdict = Verdict.IN_DOUBT
            raise Unavailable("the connection was lost")
        if any(attempt.key in self.unfit for attempt in facts.attempts) or any(
            accept.total in self.unfit for accept in facts.accepts
        ):
            raise StoreRejected("it is too large")
        for accept in facts.accepts:
            accept.verdict = Verdict.ACCEPTED
        self.written.append(facts)


class Journal:
    def __init__(self) -> None:
        self.said: list[str] = []
        self.fields: list[dict[str, object]] = []

    def log(self, level: str, event: str, **fields: object) -> None:
        self.said.append(event)
        self.fields.append(fields)


class Tails:
    def tail(self) -> int:
        return 1


class Rig:
    """A gatherer with hooks that take notes, running."""

    def __init__(self) -> None:
        self.store = SlowStore()
        self.clock = VirtualClock()
        self.journal = Journal()
        outage = Outage(self.clock, self.journal)
        self.gatherer = GroupCommit(self.store.commits, 0, 0, Tails(), self.clock, self.journal, outage)
        self.log: list[str] = []
        self.spills: list[tuple[float, int]] = []
        self.on_prepare: Callable[[Facts], None] = lambda _: None
        self.gatherer.attach(
            Hooks(self._prepare, self._spill, lambda: self.log.append("committed"), lambda: self.log.append("refused"))
        )
        self.task = asyncio.create_task(self.gatherer.run())
        self.message = Messages(SetClock())

    def _prepare(self, facts: Facts, now: int) -> None:
        self.log.append("prepare")
        self.on_prepare(facts)

    def _spill(self, facts: Facts, now: int, last_key: int) -> None:
        self.spills.append((self.clock.monotonic(), last_key))

    def send(self, count: int = 1, content: str = "Hello") -> Accept:
        accept = accept_of(*(self.message(content, key=1) for _ in range(count)))
        assert self.gatherer.accept(accept, lambda each: self.log.append(each.verdict.name))
        return accept

    def attempt(self, key: int) -> None:
        self.gatherer.facts.attempts.append(Attempt(1, key, 0, 1, 0, START))
        self.gatherer.wake()

    @property
    def attempts(self) -> list[list[int]]:
        return [[attempt.key for attempt in facts.attempts] for facts in self.store.written]


def is_away(rig: Rig) -> bool:
    return rig.gatherer.away


def scenario(story: Callable[[Rig], Awaitable[Any]]) -> None:
    async def play() -> None:
        rig = Rig()
        try:
            await story(rig)
        finally:
            rig.task.cancel()
            await asyncio.gather(rig.task, return_exceptions=True)

    run(play())


def test_requests_are_answered_after_their_commit_and_before_anything_else() -> None:
    async def story(rig: Rig) -> None:
        one, batch = rig.send(), rig.send(3)
        await rig.gatherer.flushed()
        assert rig.log == ["prepare", "ACCEPTED", "ACCEPTED", "committed"]
        keys = [one.key, batch.key, *(message.key for message in batch.messages)]
        assert keys == sorted(set(keys))
        assert one.key == one.messages[0].key
        assert {message.batch for message in batch.messages} == {batch.key}

    scenario(story)


def test_messages_from_phones_have_keys_after_those_of_requests_and_keep_them() -> None:
    async def story(rig: Rig) -> None:
        phones = [InboundMessage(0, 1, "491", "3388", "Hi", b"Hi", 0, START) for _ in range(2)]
        named: list[list[int]] = []
        rig.on_prepare = lambda facts: named.append([message.key for message in facts.inbound])
        rig.store.failures = 1
        accept = rig.send()
        rig.gatherer.facts.inbound.append(phones[0])
        await asyncio.sleep(COMMIT_S / 2)
        rig.gatherer.facts.inbound.append(phones[1])
        await rig.gatherer.flushed()
        assert rig.log == ["prepare", "refused", "UNAVAILABLE", "prepare", "committed"]
        keys = [phones[0].key, phones[1].key]
        assert 0 < accept.key < keys[0] < keys[1]
        assert named == [keys[:1], keys]
        await asyncio.sleep(group_commit.SPILL_S)
        rig.attempt(1)
        await rig.gatherer.flushed()
        assert rig.spills[-1][1] == keys[1], "marks may go as far"
        assert [message.tail for message in phones] == [1, 1]

    scenario(story)


def test_what_happens_while_a_commit_is_written_shares_the_next_one() -> None:
    async def story(rig: Rig) -> None:
        rig.attempt(1)
        await asyncio.sleep(COMMIT_S / 2)
        rig.attempt(2)
        await asyncio.sleep(COMMIT_S / 4)
        rig.attempt(3)
        await rig.gatherer.flushed()
        assert rig.attempts == [[1], [2, 3]]

    scenario(story)


def test_one_commit_takes_so_many_messages_and_the_rest_follow_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_commit, "COMMIT_PARTS", 3)

    async def story(rig: Rig) -> None:
        accepts = [rig.send(number) for number in (2, 1, 1, 4, 5, 1)]
        rig.attempt(1)
        await rig.gatherer.flushed()
        commits = [["ACCEPTED"] * number for number in (2, 1, 1, 1, 1)]
        assert rig.log == [each for commit in commits for each in ("prepare", *commit, "committed")]
        assert rig.attempts[0] == [1], "what is not a message waits for nothing"
        keys = [key for accept in accepts for key in (accept.key, *(message.key for message in accept.messages))]
        assert keys == sorted(keys)

    scenario(story)


def test_of_long_messages_one_commit_takes_fewer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_commit, "COMMIT_PARTS", 4)

    async def story(rig: Rig) -> None:
        for content in ("short", LONG, "short", LONG):
            rig.send(content=content)
        await rig.gatherer.flushed()
        commits = [["ACCEPTED"] * number for number in (2, 2)]
        assert rig.log == [each for commit in commits for each in ("prepare", *commit, "committed")]

    scenario(story)


def test_no_more_is_accepted_than_is_sent_however_many_customers_there_are() -> None:
    """Each of three hundred sends the next message when the one before has its answer."""

    async def story(rig: Rig) -> None:
        lane, carrier = Lane(1, rate=1_000_000.0), NotedCarrier(capacity=1_000)
        lane.window.carrier = carrier
        accepted = sent = 0

        def prepare(facts: Facts, now: int) -> None:
            for accept in facts.accepts:
                lane.admit(accept, accept.messages[0])
            lane.prepare(facts, rig.clock.monotonic(), now)

        def committed() -> None:
            nonlocal sent
            lane.committed()
            lane.window.pump(rig.clock.monotonic())
            for part in carrier.take():
                lane.window.answered(part)
                lane.forget(part.owner)
                sent += 1
            if lane.can_send(rig.clock.monotonic()):
                rig.gatherer.wake()

        def answered(accept: Accept) -> None:
            nonlocal accepted
            assert accept.verdict == Verdict.ACCEPTED
            accepted += 1
            asyncio.get_running_loop().call_soon(ask)

        def ask() -> None:
            rig.gatherer.accept(accept_of(rig.message(key=1)), answered)

        rig.gatherer.attach(Hooks(prepare, lambda *_: None, committed, lambda: None))
        for _ in range(300):
            ask()
        await asyncio.sleep(100 * COMMIT_S)
        assert accepted > 5_000
        assert accepted - sent <= PARTS_A_COMMIT

    scenario(story)


def test_no_call_is_lost_whenever_it_comes() -> None:
    async def story(rig: Rig) -> None:
        for number in range(200):
            rig.attempt(number)
            await asyncio.sleep(number % 23 * COMMIT_S / 11)
        await asyncio.sleep(1.0)
        assert [key for keys in rig.attempts for key in keys] == list(range(200))

    scenario(story)


def test_a_failed_commit_refuses_its_requests_and_keeps_the_rest_in_order() -> None:
    async def story(rig: Rig) -> None:
        rig.store.failures = 2
        rig.attempt(1)
        refused = rig.send()
        await asyncio.sleep(COMMIT_S / 2)
        rig.attempt(2)
        kept = rig.send()
        await asyncio.sleep(COMMIT_S)
        assert refused.verdict is Verdict.UNAVAILABLE
        assert not rig.gatherer.healthy
        rig.attempt(3)
        await rig.gatherer.flushed()
        assert rig.attempts == [[1, 2, 3]]
        assert kept.verdict is Verdict.UNAVAILABLE, "the second try failed too"
        assert rig.log == [
            "prepare", "refused", "UNAVAILABLE", "prepare", "refused", "UNAVAILABLE", "prepare", "committed",
        ]  # fmt: skip
        assert rig.store.written[0].accepts == []
        assert rig.journal.said == ["store.unavailable", "store.recovered"]

    scenario(story)


def test_while_the_store_fails_it_is_tried_ever_more_seldom() -> None:
    async def story(rig: Rig) -> None:
        rig.store.failures = 1_000
        rig.attempt(1)
        await asyncio.sleep(60.0)
        assert 50 < rig.log.count("prepare") < 75
        rig.store.failures = 0
        await rig.gatherer.flushed()
        assert rig.attempts == [[1]]

    scenario(story)


def test_a_store_that_does_not_answer_refuses_requests_after_a_while_and_then_at_once() -> None:
    """Requests of the first seconds wait, so that no customer sees a short outage."""

    async def story(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
        record, there = rig.store.commits.record, asyncio.Event()

        async def hang(facts: Facts) -> None:
            await there.wait()
            await record(facts)

        monkeypatch.setattr(rig.store.commits, "record", hang)
        rig.attempt(1)
        await asyncio.sleep(0.1)
        waiting = rig.send()
        await asyncio.sleep(HOLD_S - 0.2)
        assert not is_away(rig)
        assert rig.log == ["prepare"]
        await asyncio.sleep(0.2)
        assert waiting.verdict is Verdict.UNAVAILABLE
        assert is_away(rig)
        assert not rig.gatherer.accept(accept_of(rig.message()), lambda _: None)
        there.set()
        await asyncio.sleep(0.1)
        assert not is_away(rig)
        accepted = rig.send()
        await rig.gatherer.flushed()
        assert accepted.verdict is Verdict.ACCEPTED
        assert rig.journal.said == ["store.unavailable", "store.recovered"]

    with pytest.MonkeyPatch.context() as monkeypatch:
        scenario(lambda rig: story(rig, monkeypatch))


def test_requests_are_held_though_the_lease_lapses_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests before the lapse, and after it: the customer sees nothing of a switchover that is over in time."""

    async def story(rig: Rig) -> None:
        record, there = rig.store.commits.record, asyncio.Event()

        async def hang(facts: Facts) -> None:
            await there.wait()
            await record(facts)

        monkeypatch.setattr(rig.store.commits, "record", hang)
        held = [rig.send()]
        await asyncio.sleep(HOLD_S - 1.5)
        rig.gatherer.lapse()
        assert not is_away(rig)
        held.append(rig.send())
        await asyncio.sleep(1.0)
        there.set()
        await rig.gatherer.flushed()
        assert [each.verdict for each in held] == [Verdict.ACCEPTED] * 2
        there.clear()
        await asyncio.sleep(1.0)
        rig.gatherer.lapse()
        assert is_away(rig), "nothing was under way"
        there.set()
        await asyncio.sleep(1.0)
        assert not is_away(rig)

    scenario(story)


def test_a_store_that_fails_without_facts_is_asked_until_it_works() -> None:
    """The refused requests were all that waited, and only a commit shows that the store is back."""

    async def story(rig: Rig) -> None:
        rig.store.failures = 1_000
        rig.send()
        await asyncio.sleep(HOLD_S + 1.0)
        assert is_away(rig)
        rig.store.failures = 0
        await asyncio.sleep(2.0)
        assert not is_away(rig)
        assert rig.gatherer.healthy

    scenario(story)


@pytest.mark.parametrize("stay", [True, False])
def test_a_request_in_doubt_waits_for_its_outcome(*, stay: bool) -> None:
    """It is never told a 503 that may prove wrong. If it was undone, it goes into the next commit."""

    async def story(rig: Rig) -> None:
        rig.store.loses_answers, rig.store.stay = True, stay
        shown: list[Facts] = []
        rig.gatherer._watchers = [SimpleNamespace(committed=lambda facts, now, seconds: shown.append(facts))]
        doubtful = rig.send()
        await asyncio.sleep(COMMIT_S * 1.5)
        rig.store.failures = 2
        assert rig.log == ["prepare", "refused"]
        assert not is_away(rig)
        await rig.gatherer.flushed()
        assert doubtful.verdict is Verdict.ACCEPTED
        assert rig.log.count("ACCEPTED") == 1
        assert "UNAVAILABLE" not in rig.log
        assert [facts.accepts for facts in shown] == [[doubtful]], "it is counted with the others"
        assert len(rig.store.written) == (1 if stay else 2), "what was undone is written anew"

    scenario(story)


def test_requests_are_tried_again_while_the_store_is_away_for_a_moment() -> None:
    """As in a switchover, in which servers refuse connections. The customer sees nothing of it."""

    async def story(rig: Rig) -> None:
        rig.store.problem = Away("none of the servers takes writes")
        rig.store.failures = 1_000
        rig.attempt(1)
        first, batch = rig.send(), rig.send(3)
        key = 0
        for _ in range(9):
            await asyncio.sleep((HOLD_S - 0.5) / 9)
            assert first.verdict is Verdict.UNAVAILABLE, "it has its answer with its verdict"
            assert key < first.key < batch.key, "each try has its own keys"
            key = first.key
        rig.send()
        rig.store.failures = 0
        await asyncio.sleep(group_commit.HELD_RETRY_S + 2 * COMMIT_S)
        assert [each for each in rig.log if each not in ("prepare", "refused")] == ["ACCEPTED"] * 3 + ["committed"]
        assert rig.attempts == [[1]]
        (facts,) = rig.store.written
        assert [len(accept.messages) for accept in facts.accepts] == [1, 3, 1], "in their order"
        assert rig.gatherer._waiting == 0

    scenario(story)


def test_requests_that_are_tried_again_have_their_answer_when_the_hold_is_over() -> None:
    async def story(rig: Rig) -> None:
        rig.store.problem = Away("none of the servers takes writes")
        rig.store.failures = 1_000
        rig.send(), rig.send()
        await asyncio.sleep(HOLD_S - 0.3)
        assert set(rig.log) == {"prepare", "refused"}
        await asyncio.sleep(0.6)
        assert rig.log.count("UNAVAILABLE") == 2
        assert is_away(rig)
        rig.store.failures = 0
        await rig.gatherer.flushed()
        assert rig.store.written == [Facts()]

    scenario(story)


def test_a_request_in_doubt_is_told_so_once_the_store_is_known_to_be_away() -> None:
    async def story(rig: Rig) -> None:
        rig.store.loses_answers = True
        doubtful = rig.send()
        await asyncio.sleep(COMMIT_S * 1.5)
        rig.store.failures = 1_000
        refused = rig.send()
        await asyncio.sleep(HOLD_S - 0.2)
        assert doubtful.verdict is Verdict.IN_DOUBT
        assert "IN_DOUBT" not in rig.log
        await asyncio.sleep(1.2)
        assert is_away(rig)
        assert (rig.log.count("IN_DOUBT"), refused.verdict) == (1, Verdict.UNAVAILABLE)
        rig.store.failures = 0
        await rig.gatherer.flushed()
        assert rig.log.count("IN_DOUBT") == 1
        assert "ACCEPTED" not in rig.log, "it has its answer"
        assert rig.gatherer._waiting == 0

    scenario(story)


def test_a_commit_without_an_answer_leaves_its_requests_in_doubt() -> None:
    """The store gives up the commit when the requests have waited for as long as they may."""

    async def story(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
        async def time_out(facts: Facts) -> None:
            await asyncio.sleep(HOLD_S + 0.1)
            for accept in facts.accepts:
                accept.verdict = Verdict.IN_DOUBT
            raise Unavailable("no answer in time")

        monkeypatch.setattr(rig.store.commits, "record", time_out)
        rig.send()
        await asyncio.sleep(COMMIT_S)
        waiting = rig.send()
        await asyncio.sleep(HOLD_S + 0.2)
        assert waiting.verdict is Verdict.UNAVAILABLE
        assert rig.log[:4] == ["prepare", "UNAVAILABLE", "refused", "IN_DOUBT"]

    with pytest.MonkeyPatch.context() as monkeypatch:
        scenario(lambda rig: story(rig, monkeypatch))


def test_a_request_that_is_in_doubt_after_a_search_for_a_value_waits_as_well() -> None:
    async def story(rig: Rig) -> None:
        rig.store.unfit = {UNFIT}
        rig.attempt(UNFIT)
        doubtful = rig.send()
        await asyncio.sleep(COMMIT_S * 2.5)
        rig.store.loses_answers = True
        await rig.gatherer.flushed()
        assert doubtful.verdict is Verdict.ACCEPTED
        assert rig.log == ["prepare", "committed", "prepare", "ACCEPTED", "committed"]

    scenario(story)


def test_a_node_whose_place_is_taken_does_not_know_of_its_requests_in_doubt(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(rig: Rig) -> None:
        rig.store.loses_answers = True
        rig.send()
        await asyncio.sleep(COMMIT_S * 1.5)

        async def taken(facts: Facts) -> None:
            raise Fenced("another node has the place")

        monkeypatch.setattr(rig.store.commits, "record", taken)
        await asyncio.wait([rig.task])
        assert rig.log[-1] == "IN_DOUBT"

    scenario(story)


def test_a_node_whose_place_is_taken_commits_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(rig: Rig) -> None:
        async def taken(facts: Facts) -> None:
            await asyncio.sleep(COMMIT_S)
            raise Fenced("another node has the place")

        monkeypatch.setattr(rig.store.commits, "record", taken)
        refused = [rig.send()]
        await asyncio.sleep(COMMIT_S / 2)
        refused.append(rig.send())
        await asyncio.wait([rig.task])
        assert isinstance(rig.task.exception(), Fenced)
        assert [each.verdict for each in refused] == [Verdict.UNAVAILABLE] * 2
        assert rig.log == ["prepare", "refused", "UNAVAILABLE", "UNAVAILABLE"]
        assert not rig.gatherer.accept(accept_of(rig.message()), lambda _: None)

    scenario(story)


def test_a_callback_that_ended_while_its_row_could_not_be_written_needs_none() -> None:
    async def story(rig: Rig) -> None:
        rig.store.failures = 1
        rig.gatherer.facts.callback_retries += [
            CallbackRetry(1, key, START, 0, b"", "", START, claimed=True) for key in (1, 2)
        ]
        rig.gatherer.wake()
        await asyncio.sleep(COMMIT_S / 2)
        rig.gatherer.facts.callbacks.append(CallbackDone(1, 1, CallbackEnd.DELIVERED, 200, 1, START))
        await rig.gatherer.flushed()
        (facts,) = rig.store.written
        assert [retry.key for retry in facts.callback_retries] == [2]
        assert [done.key for done in facts.callbacks] == [1]

    scenario(story)


UNFIT = 77


def test_what_the_store_will_not_have_is_left_out_and_all_else_goes_on() -> None:
    async def story(rig: Rig) -> None:
        rig.store.unfit = {UNFIT}
        shown: list[Facts] = []
        rig.gatherer._watchers = [SimpleNamespace(committed=lambda facts, now, seconds: shown.append(facts))]
        for key in (1, UNFIT, 2):
            rig.attempt(key)
        good, bad, batch = rig.send(), rig.send(), rig.send(3)
        bad.total = UNFIT
        await rig.gatherer.flushed()
        assert [key for keys in rig.attempts for key in keys] == [1, 2]
        assert [each.verdict for each in (good, bad, batch)] == [
            Verdict.ACCEPTED, Verdict.UNAVAILABLE, Verdict.ACCEPTED,
        ]  # fmt: skip
        assert rig.log == ["prepare", "ACCEPTED", "UNAVAILABLE", "ACCEPTED", "committed"], (
            "it is one commit all the same"
        )
        (facts,) = shown
        assert [attempt.key for attempt in facts.attempts] == [1, 2]
        assert facts.accepts == [good, bad, batch]
        assert rig.gatherer.refused_facts.counts == {PieceFate.DROPPED: 1, PieceFate.REFUSED: 1}
        assert rig.journal.said == ["store.refused", "store.refused"]
        assert rig.journal.fields == [
            {"facts": "attempts", "fate": "dropped", "problem": "it is too large", "account": 1,
             "message": to_hex(UNFIT, 0)[:16]},
            {"facts": "accepts", "fate": "refused", "problem": "it is too large", "account": 1,
             "message": to_hex(bad.key, 0)[:16]},
        ]  # fmt: skip
        assert rig.gatherer.healthy
        assert rig.gatherer.failures == 0

    scenario(story)


def test_a_store_that_refuses_values_is_there_however_long_these_are_looked_for() -> None:
    async def story(rig: Rig) -> None:
        values = round(HOLD_S / COMMIT_S)
        rig.store.unfit = set(range(values))
        for key in range(values):
            rig.attempt(key)
        await asyncio.sleep(COMMIT_S / 2)
        waiting = rig.send()
        await asyncio.sleep(HOLD_S + 0.5)
        assert rig.store.under_way, "it still looks for them"
        assert not is_away(rig)
        await rig.gatherer.flushed()
        assert waiting.verdict is Verdict.ACCEPTED

    scenario(story)


def test_where_the_store_goes_away_meanwhile_the_commit_fails_and_nothing_is_written_twice() -> None:
    async def story(rig: Rig) -> None:
        rig.store.unfit = {UNFIT}
        for key in (1, 2, UNFIT, 3):
            rig.attempt(key)
        refused = rig.send()
        await asyncio.sleep(COMMIT_S * 3.5)
        assert rig.attempts == [[1, 2]], "the half without it"
        rig.store.failures = 1
        await asyncio.sleep(COMMIT_S)
        assert refused.verdict is Verdict.UNAVAILABLE
        assert rig.log == ["prepare", "refused", "UNAVAILABLE"]
        rig.attempt(4)
        await rig.gatherer.flushed()
        assert [key for keys in rig.attempts for key in keys] == [1, 2, 3, 4]
        assert rig.gatherer.refused_facts.counts == {PieceFate.DROPPED: 1}
        assert rig.log[-2:] == ["prepare", "committed"]

    scenario(story)


def test_marks_move_about_once_a_second_and_know_the_highest_key() -> None:
    async def story(rig: Rig) -> None:
        await asyncio.sleep(5.0)
        accept = rig.send(2)
        for _ in range(50):
            rig.attempt(1)
            await asyncio.sleep(0.1)
        assert 4 <= len(rig.spills) <= 6
        assert {key for _, key in rig.spills} == {accept.messages[-1].key}

    scenario(story)


def test_what_waits_is_bounded_in_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_commit, "WAITING_MESSAGES", 5)

    async def story(rig: Rig) -> None:
        rig.send(3)
        rig.send(2)
        assert not rig.gatherer.accept(accept_of(rig.message()), lambda _: None)
        await rig.gatherer.flushed()
        rig.send(5)

    scenario(story)


def test_one_customers_answer_that_fails_does_not_stop_the_others() -> None:
    async def story(rig: Rig) -> None:
        def fail(accept: Accept) -> None:
            raise ValueError(f"{accept.messages[0].destination} has no answer")

        assert rig.gatherer.accept(accept_of(rig.message()), fail)
        rig.send()
        await rig.gatherer.flushed()
        assert rig.log == ["prepare", "ACCEPTED", "committed"]
        assert rig.journal.said == ["answer.failed"]
        [fields] = rig.journal.fields
        assert str(fields["where"]).startswith("fail:")
        assert "has no answer" not in str(fields), "the log has no numbers and no texts"
        assert not rig.task.done()

    scenario(story)


def test_a_hook_that_has_nothing_to_write_still_lets_others_run() -> None:
    async def story(rig: Rig) -> None:
        turns: list[int] = []

        def call_for_more(_: Facts) -> None:
            if len(rig.log) < 100:
                rig.gatherer.wake()

        rig.on_prepare = call_for_more
        rig.gatherer.wake()
        while len(rig.log) < 100:
            turns.append(len(rig.log))
            await asyncio.sleep(0)
        assert len(turns) > 40
        assert rig.store.written == []

    scenario(story)


def test_flushing_waits_for_all_and_calls_for_nothing_more() -> None:
    async def story(rig: Rig) -> None:
        rig.attempt(1)
        await asyncio.sleep(COMMIT_S / 2)
        rig.attempt(2)
        await asyncio.wait_for(rig.gatherer.flushed(), 1.0)
        assert rig.attempts == [[1], [2]]
        before = len(rig.log)
        await asyncio.wait_for(rig.gatherer.flushed(), 1.0)
        await asyncio.sleep(1.0)
        assert len(rig.log) == before

    scenario(story)


def test_once_shut_it_takes_nothing_and_what_no_commit_took_up_is_refused() -> None:
    async def story(rig: Rig) -> None:
        rig.send()
        await asyncio.sleep(COMMIT_S / 2)
        late = rig.send()
        rig.gatherer.shut()
        assert not rig.gatherer.accept(accept_of(rig.message()), lambda _: None)
        rig.task.cancel()
        await asyncio.gather(rig.task, return_exceptions=True)
        rig.gatherer.refuse_waiting()
        assert late.verdict is Verdict.UNAVAILABLE
        assert rig.log == ["prepare", "UNAVAILABLE"], "nobody knows of the first: it is not answered"

    scenario(story)


def test_who_waits_for_work_is_woken_at_once_or_after_a_while() -> None:
    async def story(rig: Rig) -> None:
        start = rig.clock.monotonic()
        await rig.gatherer.feeder_woken(0.25)
        assert rig.clock.monotonic() - start == pytest.approx(0.25)
        rig.gatherer.wake_feeder()
        await rig.gatherer.feeder_woken(0.25)
        assert rig.clock.monotonic() - start == pytest.approx(0.25)
        asyncio.get_running_loop().call_later(0.1, rig.gatherer.wake_feeder)
        await rig.gatherer.feeder_woken(0.25)
        assert rig.clock.monotonic() - start == pytest.approx(0.35)

    scenario(story)


def test_without_load_a_commit_is_not_held_back() -> None:
    async def story(rig: Rig) -> None:
        accept = rig.send()
        await rig.gatherer.flushed()
        assert accept.verdict is Verdict.ACCEPTED
        assert rig.clock.monotonic() == pytest.approx(COMMIT_S)

    scenario(story)


def test_what_nobody_waits_for_leaves_a_gap_for_what_comes_meanwhile() -> None:
    async def story(rig: Rig) -> None:
        rig.gatherer.facts.attempts.append(Attempt(1, 1, 0, 1, 0, START))
        rig.gatherer.wake_later()
        rig.gatherer.wake_later()
        await asyncio.sleep(INTERVAL_S / 2)
        assert rig.log == []
        rig.attempt(2)
        await rig.gatherer.flushed()
        assert rig.attempts == [[1, 2]]
        await asyncio.sleep(1.0)
        assert rig.log == ["prepare", "committed"], "one commit took all of it"
        rig.gatherer.facts.attempts.append(Attempt(1, 3, 0, 1, 0, START))
        rig.gatherer.wake_later()
        await asyncio.sleep(INTERVAL_S + COMMIT_S / 2)
        assert rig.log[2:] == ["prepare"]
        await asyncio.sleep(COMMIT_S)
        assert rig.attempts == [[1, 2], [3]]

    scenario(story)


def test_under_load_a_commit_begins_when_as_many_requests_wait_as_ever_do() -> None:
    crowd = round(1.5 * BUSY_FACTS_PER_S * COMMIT_S)

    async def story(rig: Rig) -> None:
        async def begins_after(requests: int) -> float:
            sent = rig.clock.monotonic()
            for _ in range(requests):
                rig.send()
            await rig.gatherer.flushed()
            return rig.clock.monotonic() - COMMIT_S - sent

        for _ in range(3 * PROBE_INTERVALS):
            await begins_after(crowd)
        begun = [await begins_after(crowd) for _ in range(2 * PROBE_INTERVALS)]
        assert sum(each < 1e-9 for each in begun) == len(begun) - 2
        assert max(begun) == pytest.approx(REST_S), "now and then it looks how many there are"
        assert [await begins_after(crowd - 1) for _ in range(2)] == pytest.approx([REST_S, REST_S])

    scenario(story)
