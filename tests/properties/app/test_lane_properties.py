"""A lane through any sequence of commits, failures, answers and lost links: places and messages are neither lost nor
made, and what may have been sent is below the mark."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from heliograph.app.dispatch.lane import Lane
from heliograph.app.facts import Accept, Facts, Verdict
from heliograph.app.ports import Part
from tests.support.store import START
from tests.support.use_case_fakes import LONG, Messages, NotedCarrier, SetClock, accept_of

NOW = 1_000.0
CONTENTS = st.sampled_from(["Hello", "x" * 200, LONG])


class LaneMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.carrier = NotedCarrier(capacity=3)
        self.lane = Lane(1, rate=1_000_000.0)
        self.lane.window.carrier = self.carrier
        self.message = Messages(SetClock())
        self.accepts: list[Accept] = []
        self.on_the_wire: list[Part] = []
        self.answered_open = 0
        """Answers that no commit has taken up yet, or whose commit is under way."""
        self.missing: set[tuple[int, int]] = set()
        """Parts of accepted messages without an answer that decided something."""
        self.mark = 0
        self.unwritten: dict[str, int] = {}
        """Marks of commits that failed."""

    @rule(content=CONTENTS, account=st.integers(1, 2))
    def request(self, content: str, account: int) -> None:
        self.accepts.append(accept_of(self.message(content, account=account)))

    @rule(refused=st.sets(st.integers(0, 3)), works=st.booleans())
    def commit(self, refused: set[int], works: bool) -> None:
        accepts, self.accepts = self.accepts, []
        facts = Facts(accepts=accepts, marks=self.unwritten)
        for accept in accepts:
            self.lane.admit(accept, accept.messages[0])
        self.lane.prepare(facts, NOW, START)
        taken_up = self.answered_open
        if not works:
            self.lane.refused()
            return
        for number, accept in enumerate(accepts):
            accept.verdict = Verdict.TOO_LITTLE_CREDIT if number in refused else Verdict.ACCEPTED
            if accept.verdict is Verdict.ACCEPTED:
                (message,) = accept.messages
                self.missing |= {(message.key, segment) for segment in range(message.segments)}
        self.mark = max([self.mark, *facts.marks.values()])
        self.unwritten = {}
        self.lane.committed()
        self.answered_open -= taken_up
        self.pump()

    def pump(self) -> None:
        self.lane.window.pump(NOW)
        parts = self.carrier.take()
        self.on_the_wire += parts
        assert not parts or len(self.on_the_wire) + self.answered_open <= self.carrier.capacity
        for part in parts:
            assert part.message.key <= self.mark, "what may have been sent is below the mark"
            assert (part.message.key, part.segment) in self.missing, "it is accepted and has no answer yet"

    @precondition(lambda self: self.on_the_wire)
    @rule(data=st.data(), decides=st.booleans())
    def answer(self, data: st.DataObject, decides: bool) -> None:
        part = self.on_the_wire.pop(data.draw(st.integers(0, len(self.on_the_wire) - 1)))
        self.settle(part, decides)

    def settle(self, part: Part, decides: bool) -> None:
        assert self.lane.window.answered(part)
        assert not self.lane.window.answered(part)
        self.answered_open += 1
        if not decides:
            self.lane.take_back(part.owner, part.segment)
            return
        self.missing.remove((part.message.key, part.segment))
        part.owner.open -= 1
        if part.owner.open == 0:
            self.lane.forget(part.owner)

    @rule(capacity=st.integers(0, 5), first=st.booleans())
    def change_capacity(self, capacity: int, first: bool) -> None:
        self.carrier.capacity = capacity
        if capacity:
            return
        if first:
            self.lane.unready()
        for part in self.on_the_wire:
            self.settle(part, decides=False)
        self.on_the_wire.clear()
        self.lane.unready()

    @invariant()
    def every_place_is_accounted_for(self) -> None:
        assert self.lane.window.in_flight == len(self.on_the_wire) + self.answered_open
        assert self.lane.window.flying == set(self.on_the_wire)

    @invariant()
    def every_part_is_somewhere_once(self) -> None:
        lane = self.lane
        held = [
            (part.message.key, part.segment) for part in (*lane.window.marked, *lane.window.ready, *lane.window.flying)
        ]
        for item in (*lane.front, *lane.fast, *lane.queues.items()):
            held += [(item.message.key, segment) for segment in item.waiting]
        assert len(held) == len(set(held))
        assert set(held) == self.missing

    @invariant()
    def every_account_has_as_many_as_it_has(self) -> None:
        keys = {key for key, _ in self.missing}
        assert sum(self.lane.per_account.values()) == len(keys)

    def teardown(self) -> None:
        self.accepts.clear()
        self.carrier.capacity = 4
        for _ in range(1_000):
            if not self.missing:
                break
            self.commit(set(), works=True)
            for part in self.on_the_wire:
                self.settle(part, decides=True)
            self.on_the_wire.clear()
        self.commit(set(), works=True)
        assert self.lane.idle
        assert not self.lane.per_account
        assert not self.lane.cutter


TestLane = LaneMachine.TestCase
TestLane.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
