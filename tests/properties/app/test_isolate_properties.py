"""Whatever a store will not have, and whenever it goes away: all else is recorded once, in order, kept together."""

import asyncio
from collections.abc import Iterator
from dataclasses import fields, replace
from math import ceil, log2
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from heliograph.app.commit.isolate import TRIES, Bisection, PieceFate, RejectedPiece
from heliograph.app.commit.pieces import pieces
from heliograph.app.facts import (
    Accept,
    Attempt,
    Awaiting,
    CallbackDone,
    CallbackEnd,
    CallbackRetry,
    EarlyReceipt,
    Facts,
    MessageEnd,
    PartReceipt,
    Queueing,
    Submission,
    Verdict,
)
from heliograph.app.ports import StoreRejected, Unavailable
from heliograph.domain.message.receipt import Delivery
from tests.support.memory_store import MemoryStore

SAID, WORSE = "bad", -7
"""A text from outside that the store refuses, and a number of ours, in place of which nothing can stand."""

ACCOUNT = 1
KEYS = st.integers(1, 6)
TEXTS = st.sampled_from(["fit", "fit", "fit", SAID])
NUMBERS = st.sampled_from([0, 0, 0, 0, 0, 0, WORSE])
STATES = st.sampled_from(Delivery)

KINDS: dict[str, st.SearchStrategy[Any]] = {
    "accepts": st.builds(Accept, st.just(ACCOUNT), st.builds(list), NUMBERS, st.just(0)),
    "queueings": st.builds(Queueing, st.just(ACCOUNT), KEYS, st.just(1), NUMBERS, st.just(0), st.just(False),
                           st.just(False)),
    "sending": st.tuples(st.just(ACCOUNT), KEYS),
    "asking": st.tuples(st.just(ACCOUNT), KEYS),
    "attempts": st.builds(Attempt, st.just(ACCOUNT), KEYS, st.just(0), st.just(1), NUMBERS, st.just(0)),
    "submissions": st.builds(Submission, st.just(ACCOUNT), KEYS, st.just(0), st.just(1), TEXTS, st.just(0), NUMBERS),
    "dequeued": st.tuples(st.just(ACCOUNT), KEYS),
    "parts": st.builds(PartReceipt, st.just(ACCOUNT), KEYS, st.just(0), STATES, TEXTS, NUMBERS),
    "progress": st.builds(PartReceipt, st.just(ACCOUNT), KEYS, st.just(0), STATES, TEXTS, NUMBERS),
    "finals": st.builds(MessageEnd, st.just(ACCOUNT), KEYS, STATES, TEXTS, NUMBERS, st.just(True)),
    "early": st.builds(EarlyReceipt, st.just(1), TEXTS, TEXTS, STATES, TEXTS, st.just(0)),
    "early_matched": st.tuples(st.just(1), TEXTS),
    "awaiting": st.builds(Awaiting, st.just(1), TEXTS, st.just(ACCOUNT), KEYS, st.just(0)),
    "awaiting_matched": st.builds(Awaiting, st.just(1), TEXTS, st.just(ACCOUNT), KEYS, st.just(0)),
    "callbacks": st.builds(CallbackDone, st.just(ACCOUNT), KEYS, st.sampled_from(CallbackEnd), NUMBERS, st.just(1),
                           NUMBERS),
    "callback_retries": st.builds(CallbackRetry, st.just(ACCOUNT), KEYS, NUMBERS, st.just(1), st.just(b"body"), TEXTS,
                                  st.just(0)),
}  # fmt: skip


def facts_of(most: int) -> st.SearchStrategy[Facts]:
    return st.builds(
        Facts,
        **{kind: st.lists(facts, max_size=most) for kind, facts in KINDS.items()},
        marks=st.dictionaries(st.sampled_from(["dispatch", "attempted:1"]), KEYS),
    )


FACTS = facts_of(4)
OUTAGES = st.sets(st.integers(1, 30), max_size=5)
"""Which calls of the store fail for want of it."""


def values_of(facts: Facts) -> list[Any]:
    """All that stands in any field of them."""
    values: list[Any] = [accept.total for accept in facts.accepts]
    for each in fields(Facts):
        for fact in () if each.name in ("accepts", "marks") else getattr(facts, each.name):
            values += fact if isinstance(fact, tuple) else [getattr(fact, name.name) for name in fields(fact)]
    return values


def is_fit(facts: Facts) -> bool:
    values = values_of(facts)
    return SAID not in values and WORSE not in values


class FussyStore(MemoryStore):
    """Takes notes of what it takes, and refuses commits with something unfit in them."""

    def __init__(self, outages: set[int]) -> None:
        super().__init__()
        self.calls = 0
        self.written: list[Facts] = []
        self._outages = outages

    async def commits_record(self, facts: Facts) -> None:
        self.calls += 1
        for accept in facts.accepts:
            accept.verdict = Verdict.UNAVAILABLE
        if self.calls in self._outages:
            raise Unavailable("it is away")
        if not is_fit(facts):
            raise StoreRejected("something in it")
        for accept in facts.accepts:
            accept.verdict = Verdict.ACCEPTED
        self.written.append(Facts(**{each.name: getattr(facts, each.name).copy() for each in fields(Facts)}))

    def taken(self, kind: str) -> Iterator[tuple[int, Any]]:
        """All facts of the kind, with the numbers of their commits."""
        for number, commit in enumerate(self.written):
            for fact in getattr(commit, kind):
                yield number, fact


def written(piece: Facts, store: FussyStore) -> set[int]:
    """In which commits the facts of the piece are, each of them once."""
    found = set()
    for each in fields(Facts):
        for fact in () if each.name == "marks" else getattr(piece, each.name):
            commits = [number for number, taken in store.taken(each.name) if taken is fact]
            assert len(commits) <= 1, "nothing is recorded twice"
            found |= set(commits) or {-1}
    return found


def copied(facts: Facts) -> Facts:
    """Equal facts, none of them the same object as another."""
    values: dict[str, Any] = {
        each.name: [(*fact,) if isinstance(fact, tuple) else replace(fact) for fact in getattr(facts, each.name)]
        for each in fields(Facts)
        if each.name != "marks"
    }
    return Facts(**values | {"marks": dict(facts.marks)})


@pytest.mark.slow
@given(FACTS)
@example(Facts(submissions=[Submission(1, key, 0, 1, SAID if key == 999 else "fit", 0, 0) for key in range(1_000)]))
def test_all_that_is_fit_is_recorded_once_and_together(facts: Facts) -> None:
    facts = copied(facts)
    before, marks = pieces(facts), dict(facts.marks)
    store = FussyStore(set())
    noted: list[RejectedPiece] = []
    asyncio.run(Bisection(store.commits, facts, noted.append).record())
    unfit = [piece for piece in before if not is_fit(piece)]
    assert [misfit.facts for misfit in noted] == unfit
    for piece in before:
        if is_fit(piece):
            assert len(written(piece, store)) == 1
            assert -1 not in written(piece, store)
    assert [accept.verdict for accept in facts.accepts] == [
        Verdict.ACCEPTED if accept.total != WORSE else Verdict.UNAVAILABLE for accept in facts.accepts
    ]
    assert [fact for _, fact in store.taken("accepts")] == [fact for fact in facts.accepts if fact.total != WORSE]
    for each in fields(Facts):
        if each.name not in ("accepts", "marks"):
            assert getattr(facts, each.name) == [fact for _, fact in store.taken(each.name)], "who looks on is told so"
    assert facts.marks == marks
    halvings = 2 * ceil(log2(max(2, len(before)))) + 2
    assert store.calls <= 3 + len(unfit) * (halvings + TRIES + 2)


@given(st.one_of(facts_of(1), FACTS))
def test_what_is_unfit_loses_what_was_said_outside_or_is_left_out(facts: Facts) -> None:
    facts = copied(facts)
    before = pieces(facts)
    store = FussyStore(set())
    noted: list[RejectedPiece] = []
    asyncio.run(Bisection(store.commits, facts, noted.append).record())
    assert all(is_fit(commit) for commit in store.written)
    for misfit in noted:
        piece = misfit.facts
        assert any(piece is each or piece == each for each in before)
        assert SAID not in repr(misfit.shown())
        if piece.accepts:
            assert misfit.fate is PieceFate.REFUSED
            continue
        ours = any(
            WORSE in [getattr(fact, each.name) for each in fields(fact)]
            for kind in ("queueings", "attempts", "submissions", "parts", "progress", "finals", "callback_retries")
            for fact in getattr(piece, kind)
        )
        ours |= any(done.at == WORSE for done in piece.callbacks)
        ours |= (1, SAID) in piece.early_matched
        assert misfit.fate is (PieceFate.DROPPED if ours else PieceFate.REDUCED)
    few = all(len({value for value in values_of(misfit.facts) if value in (SAID, WORSE)}) < 2 for misfit in noted)
    if few and all(misfit.fate is PieceFate.REDUCED for misfit in noted):
        kept = [value for commit in store.written for value in values_of(commit) if value == "fit"]
        assert len(kept) == sum(value == "fit" for piece in before for value in values_of(piece)), "all else stays"
    for each in fields(Facts):
        if each.name != "marks":
            out = sum(len(getattr(misfit.facts, each.name)) for misfit in noted if misfit.fate is not PieceFate.REDUCED)
            assert len(list(store.taken(each.name))) == sum(len(getattr(piece, each.name)) for piece in before) - out


@given(FACTS)
def test_marks_are_true_of_the_rows_and_requests_come_after_them(facts: Facts) -> None:
    facts = copied(facts)
    store = FussyStore(set())
    asyncio.run(Bisection(store.commits, facts, lambda _: None).record())
    marked = [number for number, commit in enumerate(store.written) if commit.marks]
    assert len(marked) == bool(facts.marks)
    for each in fields(Facts):
        if each.name != "marks":
            for number, _ in store.taken(each.name):
                assert all((number > at) == (each.name == "accepts") for at in marked)


@given(st.one_of(facts_of(1), FACTS), OUTAGES)
@example(Facts(accepts=[Accept(1, [], 0, 0)], sending=[(1, 1)]), {2})
def test_where_the_store_goes_away_what_is_left_is_left_and_nothing_else(facts: Facts, outages: set[int]) -> None:
    """The gatherer refuses the requests of a commit that failed, and tries the rest again."""
    facts = copied(facts)
    before, accepts, marks = pieces(facts), facts.accepts, facts.marks
    store = FussyStore(outages)
    noted: list[RejectedPiece] = []

    async def gatherer() -> None:
        for _ in range(len(outages) + 1):
            try:
                await Bisection(store.commits, facts, noted.append).record()
            except Unavailable:
                assert all(accept.verdict is Verdict.UNAVAILABLE for accept in facts.accepts)
                assert not list(store.taken("accepts"))
                facts.accepts = []
            else:
                return
        raise AssertionError("not reached")

    asyncio.run(gatherer())
    for piece in before:
        if is_fit(piece) and not piece.accepts:
            assert len(written(piece, store)) == 1
            assert -1 not in written(piece, store)
    taken = [accept for _, accept in store.taken("accepts")]
    assert all((accept.verdict is Verdict.ACCEPTED) == any(accept is each for each in taken) for accept in accepts)
    assert [commit.marks for commit in store.written if commit.marks] == [marks] * bool(marks)
