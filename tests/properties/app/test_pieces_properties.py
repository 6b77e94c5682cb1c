"""Facts divided among shards: nothing is lost or doubled, all keeps its order, each is with its account's shard."""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import fields
from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from heliograph.app.commit.pieces import NAMED, OWNED, WITHOUT_ACCOUNT, joined, pieces
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
    Resend,
    Submission,
)
from heliograph.domain.message.receipt import Delivery
from tests.support.shards import SLOTS, divide, slot_of

ACCOUNTS = st.integers(1, 300)
KEYS = st.one_of(st.integers(1, 3), st.integers(1, 1 << 60))
STATES = st.sampled_from(Delivery)
SMALL = st.integers(0, 9)

KINDS: dict[str, st.SearchStrategy[Any]] = {
    "accepts": st.builds(Accept, ACCOUNTS, st.just([]), SMALL, SMALL, key=KEYS),
    "queueings": st.builds(Queueing, ACCOUNTS, KEYS, SMALL, SMALL, SMALL, st.booleans(), st.booleans()),
    "sending": st.tuples(ACCOUNTS, KEYS),
    "asking": st.tuples(ACCOUNTS, KEYS),
    "attempts": st.builds(Attempt, ACCOUNTS, KEYS, SMALL, SMALL, SMALL, SMALL),
    "submissions": st.builds(Submission, ACCOUNTS, KEYS, SMALL, SMALL, st.just("id"), SMALL, SMALL),
    "dequeued": st.tuples(ACCOUNTS, KEYS),
    "parts": st.builds(PartReceipt, ACCOUNTS, KEYS, SMALL, STATES, st.just("000"), SMALL),
    "progress": st.builds(PartReceipt, ACCOUNTS, KEYS, SMALL, STATES, st.just("000"), SMALL),
    "finals": st.builds(MessageEnd, ACCOUNTS, KEYS, STATES, st.just("000"), SMALL, st.booleans()),
    "resends": st.builds(Resend, ACCOUNTS, KEYS, SMALL, SMALL, STATES, st.just("000"), SMALL, SMALL, SMALL),
    "early": st.builds(EarlyReceipt, SMALL, st.text("01", max_size=2), st.just("49"), STATES, st.just("000"), SMALL),
    "early_matched": st.tuples(SMALL, st.text("01", max_size=2)),
    "awaiting": st.builds(Awaiting, SMALL, st.just("id"), ACCOUNTS, KEYS, SMALL),
    "awaiting_matched": st.builds(Awaiting, SMALL, st.just("id"), ACCOUNTS, KEYS, SMALL),
    "callbacks": st.builds(CallbackDone, ACCOUNTS, KEYS, st.sampled_from(CallbackEnd), SMALL, SMALL, SMALL),
    "callback_retries": st.builds(
        CallbackRetry, ACCOUNTS, KEYS, SMALL, SMALL, st.just(b""), st.just(""), SMALL, st.booleans()
    ),
}

FACTS = st.builds(
    Facts,
    **{kind: st.lists(facts, max_size=4) for kind, facts in KINDS.items()},
    marks=st.dictionaries(st.sampled_from(["dispatch", "attempted:1"]), KEYS),
)

FIRSTS = st.sets(st.integers(1, SLOTS - 1), max_size=5).map(lambda firsts: [0, *sorted(firsts)])


def owners(kind: str, facts: Sequence[Any]) -> Iterator[int]:
    for fact in facts:
        yield fact[0] if kind in NAMED else fact.account


def ranges(firsts: Sequence[int]) -> Iterator[range]:
    for first, end in pairwise([*firsts, SLOTS]):
        yield range(first, end)


def test_every_kind_of_facts_is_somebodys_or_known_to_be_nobodys() -> None:
    assert sorted([*OWNED, *NAMED, *WITHOUT_ACCOUNT, "marks"]) == sorted(each.name for each in fields(Facts))


@given(FACTS, FIRSTS)
def test_facts_are_divided_among_shards(facts: Facts, firsts: list[int]) -> None:
    """A single property: most of the time goes into the facts."""
    shards, nobodys = divide(facts, firsts)
    check_owners(firsts, shards, nobodys)
    check_order(facts, shards, nobodys)
    check_marks(facts, firsts, shards, nobodys)
    (shard,), nobodys = divide(facts, [0])
    for each in fields(Facts):
        assert getattr(shard if each.name not in WITHOUT_ACCOUNT else nobodys, each.name) == getattr(facts, each.name)


def check_owners(firsts: list[int], shards: Sequence[Facts], nobodys: Facts) -> None:
    """Each fact is with the shard of its account."""
    assert len(shards) == len(firsts)
    for shard, slots in zip(shards, ranges(firsts), strict=True):
        for kind in (*OWNED, *NAMED):
            assert all(slot_of(account) in slots for account in owners(kind, getattr(shard, kind)))
            assert not getattr(nobodys, kind)
        assert not any(getattr(shard, kind) for kind in WITHOUT_ACCOUNT)


def check_order(facts: Facts, shards: Sequence[Facts], nobodys: Facts) -> None:
    """Nothing is lost or doubled, and everything keeps its order."""
    for kind in (*OWNED, *NAMED):
        whole = getattr(facts, kind)
        places = {id(fact): place for place, fact in enumerate(whole)}
        found = [[places[id(fact)] for fact in getattr(shard, kind)] for shard in shards]
        assert all(part == sorted(part) for part in found)
        assert sorted(place for part in found for place in part) == list(range(len(whole)))
    assert all(getattr(nobodys, kind) == getattr(facts, kind) for kind in WITHOUT_ACCOUNT)


def check_marks(facts: Facts, firsts: list[int], shards: Sequence[Facts], nobodys: Facts) -> None:
    """The marks are every shard's, and each has its own copy."""
    assert [shard.marks for shard in shards] == [facts.marks] * len(firsts)
    assert nobodys.marks == {}
    before = dict(facts.marks)
    shards[0].marks["dispatch"] = -1
    assert facts.marks == before
    assert all(shard.marks == before for shard in shards[1:])


def names(facts: Facts) -> set[Hashable]:
    """What the facts are about: messages, receipts of which nobody knows whose they are, requests."""
    found: set[Hashable] = {id(accept) for accept in facts.accepts}
    for kind in (*OWNED[1:], *NAMED):
        found |= {fact if kind in NAMED else (fact.account, fact.key) for fact in getattr(facts, kind)}
    found |= {("early", fact.connector, fact.operator_id) for fact in facts.early}
    return found | {("early", *name) for name in facts.early_matched}


@given(FACTS)
def test_facts_are_cut_into_pieces(facts: Facts) -> None:
    divided = pieces(facts)
    check_subjects(facts, divided)
    check_whole(facts, divided)


def check_subjects(facts: Facts, divided: Sequence[Facts]) -> None:
    """A piece is all that is said of one thing, and requests come last."""
    about = [names(piece) for piece in divided]
    assert all(len(each) == 1 for each in about)
    assert len(set().union(*about)) == len(about)
    requests = divided[len(divided) - len(facts.accepts) :]
    assert [piece.accepts for piece in requests] == [[accept] for accept in facts.accepts]


def check_whole(facts: Facts, divided: list[Facts]) -> None:
    """The pieces are the facts but for the marks."""
    whole = joined(divided)
    assert whole.marks == {}
    assert names(whole) == names(facts)
    for each in fields(Facts):
        if each.name != "marks":
            found, given_ = getattr(whole, each.name), getattr(facts, each.name)
            assert sorted(map(id, found)) == sorted(map(id, given_))
    for piece in divided:
        for kind in (*OWNED, *NAMED, *WITHOUT_ACCOUNT):
            places = {id(fact): place for place, fact in enumerate(getattr(facts, kind))}
            order = [places[id(fact)] for fact in getattr(piece, kind)]
            assert order == sorted(order)
