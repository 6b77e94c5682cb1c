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
def test_each_fact_is_with_the_shard_of_its_account(facts: Facts, firsts: list[int]) -> None:
    shards, nobodys = divide(facts, firsts)
    assert len(shards) == len(firsts)
    for shard, slots in zip(shards, ranges(firsts), strict=True):
        for kind in (*OWNED, *NAMED):
            assert all(slot_of(account) in slots for account in owners(kind, getattr(shard, kind)))
            assert not getattr(nobodys, kind)
        assert not any(getattr(shard, kind) for kind in WITHOUT_ACCOUNT)


@given(FACTS, FIRSTS)
def test_nothing_is_lost_or_doubled_and_all_keeps_its_order(facts: Facts, firsts: list[int]) -> None:
    shards, nobodys = divide(facts, firsts)
    for kind in (*OWNED, *NAMED):
        whole = getattr(facts, kind)
        places = {id(fact): place for place, fact in enumerate(whole)}
        found = [[places[id(fact)] for fact in getattr(shard, kind)] for shard in shards]
        assert all(part == sorted(part) for part in found)
        assert sorted(place for part in found for place in part) == list(range(len(whole)))
    assert all(getattr(nobodys, kind) == getattr(facts, kind) for kind in WITHOUT_ACCOUNT)


@given(FACTS, FIRSTS)
def test_the_marks_are_every_shards_and_each_has_its_own_copy(facts: Facts, firsts: list[int]) -> None:
    shards, nobodys = divide(facts, firsts)
    assert [shard.marks for shard in shards] == [facts.marks] * len(firsts)
    assert nobodys.marks == {}
    before = dict(facts.marks)
    shards[0].marks["dispatch"] = -1
    assert facts.marks == before
    assert all(shard.marks == before for shard in shards[1:])


@given(FACTS)
def test_one_shard_has_everything_that_has_an_owner(facts: Facts) -> None:
    (shard,), nobodys = divide(facts, [0])
    for each in fields(Facts):
        assert getattr(shard if each.name not in WITHOUT_ACCOUNT else nobodys, each.name) == getattr(facts, each.name)


def names(facts: Facts) -> set[Hashable]:
    """What the facts are about: messages, receipts of which nobody knows whose they are, requests."""
    found: set[Hashable] = {id(accept) for accept in facts.accepts}
    for kind in (*OWNED[1:], *NAMED):
        found |= {fact if kind in NAMED else (fact.account, fact.key) for fact in getattr(facts, kind)}
    found |= {("early", fact.connector, fact.operator_id) for fact in facts.early}
    return found | {("early", *name) for name in facts.early_matched}


@given(FACTS)
def test_a_piece_is_all_that_is_said_of_one_thing_and_requests_come_last(facts: Facts) -> None:
    divided = pieces(facts)
    about = [names(piece) for piece in divided]
    assert all(len(each) == 1 for each in about)
    assert len(set().union(*about)) == len(about)
    requests = divided[len(divided) - len(facts.accepts) :]
    assert [piece.accepts for piece in requests] == [[accept] for accept in facts.accepts]


@given(FACTS)
def test_the_pieces_are_the_facts_but_for_the_marks(facts: Facts) -> None:
    whole = joined(pieces(facts))
    assert whole.marks == {}
    assert names(whole) == names(facts)
    for each in fields(Facts):
        if each.name != "marks":
            found, given_ = getattr(whole, each.name), getattr(facts, each.name)
            assert sorted(map(id, found)) == sorted(map(id, given_))
    for piece in pieces(facts):
        for kind in (*OWNED, *NAMED, *WITHOUT_ACCOUNT):
            places = {id(fact): place for place, fact in enumerate(getattr(facts, kind))}
            order = [places[id(fact)] for fact in getattr(piece, kind)]
            assert order == sorted(order)
