"""A database is refused exactly if it lacks a move that it confirmed to a data directory, and nobody accepted that."""

from copy import deepcopy
from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from heliograph.domain.past import FoundPast, KnownPast, PastState, compare, follow, moved

DIRECTORIES = (1, 2, 3)


@dataclass
class Database:
    marks: dict[int, int] = field(default_factory=dict)
    forks: list[int] = field(default_factory=list)
    done: set[tuple[int, int]] = field(default_factory=set)
    """The truth: every move that the database has, as directory and a number that is never used again."""

    def past_of(self, directory: int) -> FoundPast:
        return FoundPast(self.marks.get(directory, 0), 0, 0, tuple(self.forks))


@dataclass
class Directory:
    known: KnownPast
    confirmed: set[tuple[int, int]] = field(default_factory=set)
    """The truth: moves that were confirmed since the last accepted loss."""


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("run"), st.sampled_from(DIRECTORIES)),
        st.tuples(st.just("crash"), st.sampled_from(DIRECTORIES)),
        st.tuples(st.just("copy"), st.just(0)),
        st.tuples(st.just("go back"), st.integers(0, 9)),
        st.tuples(st.just("accept"), st.just(0)),
    ),
    max_size=40,
)


@given(STEPS)
def test_who_is_refused(steps: list[tuple[str, int]]) -> None:
    database, copies = Database(), [Database()]
    directories = {number: Directory(KnownPast(number)) for number in DIRECTORIES}
    accepted_since: dict[int, bool] = dict.fromkeys(DIRECTORIES, False)
    for count, (step, number) in enumerate(steps, 1):
        match step:
            case "copy":
                copies.append(deepcopy(database))
            case "go back":
                database = deepcopy(copies[number % len(copies)])
                accepted_since = dict.fromkeys(DIRECTORIES, False)
            case "accept":
                database.forks.append(1_000 + count)
                accepted_since = dict.fromkeys(DIRECTORIES, True)
            case _:
                directory = directories[number]
                found = database.past_of(number)
                state = compare(directory.known, found, 0)
                misses = not directory.confirmed <= database.done
                if misses and not accepted_since[number] and not set(database.forks) - set(directory.known.forks):
                    assert state is PastState.LOST
                if not misses and directory.known.forks[-1:] == tuple(database.forks[-1:]):
                    assert state is PastState.WHOLE
                if accepted_since[number]:
                    assert state is not PastState.LOST
                if state is PastState.LOST:
                    continue
                if state is PastState.ACCEPTED:
                    directory.known = follow(directory.known, found)
                    directory.confirmed &= database.done
                move = (number, count)
                database.marks[number] = found.moves + 1
                database.done.add(move)
                if step == "run":  # the answer arrived
                    directory.known = moved(directory.known, found, 0)
                    directory.confirmed.add(move)


def test_a_copy_of_before_the_acceptance_is_refused_by_those_who_have_seen_it() -> None:
    known = moved(KnownPast(1), FoundPast(), 0)
    accepted = FoundPast(0, 0, 0, (5,))
    assert compare(known, accepted, 0) is PastState.ACCEPTED
    known = follow(known, accepted)
    assert compare(known, accepted, 0) is PastState.WHOLE
    assert compare(known, FoundPast(9, 0, 0, ()), 0) is PastState.LOST
    assert compare(known, FoundPast(9, 0, 0, (6,)), 0) is PastState.ACCEPTED


def test_missing_commits_of_the_connection_are_a_loss() -> None:
    known = KnownPast(1, moves=3, writer=8, commits=20)
    assert compare(known, FoundPast(3, commits=20), 0) is PastState.WHOLE
    assert compare(known, FoundPast(3, commits=19), 0) is PastState.LOST
    assert compare(known, FoundPast(3, commits=None), 0) is PastState.WHOLE
