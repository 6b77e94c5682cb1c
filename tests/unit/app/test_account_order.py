"""What an account has in the queue's rows comes back in its order, and what is newer stands behind it."""

import pytest

from heliograph.app.dispatch import lane as lanes
from heliograph.app.dispatch.account_order import AccountQueues, SpillStage
from heliograph.app.dispatch.lane import Lane
from heliograph.app.dispatch.lane_item import LaneItem
from heliograph.app.facts import Facts, Queued, Verdict
from tests.support.store import START
from tests.support.use_case_fakes import Messages, SetClock, accept_of


@pytest.fixture
def backlogs() -> AccountQueues[str]:
    return AccountQueues()


def taken(backlogs: AccountQueues[str], fast: int | None = None) -> list[str]:
    out = []
    while (item := backlogs.take(fast)) is not None:
        out.append(item)
    return out


def test_accounts_take_turns_and_each_ones_messages_keep_their_order(backlogs: AccountQueues[str]) -> None:
    for account, item in ((1, "a"), (1, "b"), (1, "c"), (2, "x")):
        backlogs.claimed(account, item)
    assert taken(backlogs) == ["a", "x", "b", "c"]
    assert (len(backlogs), backlogs.by_account) == (0, {})


def test_rows_wait_for_what_was_in_memory_before_them(backlogs: AccountQueues[str]) -> None:
    backlogs.write(1, 40)
    backlogs.claimed(1, "row")
    assert taken(backlogs, 40) == []
    assert taken(backlogs, 41) == ["row"]


def test_what_is_new_waits_for_a_row_that_is_being_written(backlogs: AccountQueues[str]) -> None:
    backlogs.begun = backlogs.done = 6
    backlogs.write(1, 0)
    backlogs.found([], 6)
    backlog = backlogs.by_account[1]
    assert backlog.stage == SpillStage.DRAINING
    backlogs.admit(backlog, "new")
    assert (taken(backlogs), backlogs.held) == ([], 1)
    backlogs.claimed(1, "row")
    backlogs.found([], 7)
    assert taken(backlogs) == ["row", "new"]
    assert backlogs.by_account == {}


def test_a_row_of_a_commit_that_failed_is_the_next_ones(backlogs: AccountQueues[str]) -> None:
    backlogs.write(1, 0)
    backlogs.begun = 1
    backlogs.refused()
    backlogs.found([], 1)
    assert backlogs.by_account[1].stage == SpillStage.DRAINING


def test_accounts_that_still_have_rows_are_waited_for(backlogs: AccountQueues[str]) -> None:
    backlogs.suspect([1, 2])
    backlogs.found([2], 0)
    assert list(backlogs.by_account) == [2]
    assert backlogs.must_read_rows


def test_rows_are_not_claimed_while_older_ones_are_being_written(backlogs: AccountQueues[str]) -> None:
    backlogs.suspect([1])
    assert not backlogs.claimable
    backlogs.begun = 1
    backlogs.refused()
    backlogs.committed()
    assert not backlogs.claimable, "that one failed"
    backlogs.begun = 2
    backlogs.committed()
    assert backlogs.claimable


def test_when_memory_is_full_again_what_waits_for_rows_goes_to_the_rows_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lanes, "FAST_MESSAGES_PER_ACCOUNT", 2)
    lane, message = Lane(1), Messages(SetClock())
    lane.queues.write(1, 0)
    lane.queues.found([], 0)
    first, second, third = (message() for _ in range(3))
    facts = Facts()
    for group in ([first], [second, third]):
        accepts = [accept_of(one, verdict=Verdict.ACCEPTED) for one in group]
        for accept in accepts:
            lane.admit(accept, accept.messages[0])
        facts = Facts(accepts=accepts)
        lane.prepare(facts, 0.0, START)
        lane.committed()
    assert [each.queued for each in (first, second, third)] == [False, True, True]
    assert [each.key for each in facts.queueings] == [first.key], "it was accepted without a row"
    assert (lane.idle, lane.per_account) == (True, {})
    for each in (first, second, third):
        lane.resume(LaneItem.of_queue(Queued(each, False)))
    assert lane.ahead == 3
