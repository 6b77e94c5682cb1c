"""How many lists are sent at once, and that a place taken for one that is not sent after all is free again."""

from typing import Any, cast

import pytest

from heliograph.app.sending.fields import Fields
from heliograph.console.sent_lists import JOBS, ListRun, ListRuns


def job(number: int) -> ListRun:
    return ListRun(f"list{number}", "ada", "acme", Fields(), [], 0)


@pytest.fixture
def jobs() -> ListRuns:
    nobody = cast("Any", None)  # nothing is sent here
    return ListRuns(nobody, nobody, nobody, nobody)


def test_a_place_is_taken_before_a_list_is_sent(jobs: ListRuns) -> None:
    for number in range(JOBS):
        jobs.reserve(job(number))
    with pytest.raises(OverflowError, match=f"{JOBS} lists are being sent already"):
        jobs.reserve(job(JOBS))
    assert jobs.find(f"list{JOBS}") is None


def test_a_list_that_is_not_sent_after_all_gives_its_place_back(jobs: ListRuns) -> None:
    taken = [job(number) for number in range(JOBS)]
    for each in taken:
        jobs.reserve(each)
    jobs.forget(taken[3])
    assert jobs.find("list3") is None
    jobs.reserve(job(JOBS))
    assert len(jobs.all()) == JOBS


def test_the_oldest_list_that_has_ended_makes_room(jobs: ListRuns) -> None:
    taken = [job(number) for number in range(JOBS)]
    for each in taken:
        jobs.reserve(each)
    taken[1].ended = taken[4].ended = 1
    jobs.reserve(job(JOBS))
    assert jobs.find("list1") is None
    assert jobs.find("list4") is not None
