"""Each checker of the simulation finds its kind of bug: a part of the gateway, or of its world, is broken on
purpose."""

import ast
import asyncio
import inspect
import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import count
from typing import Any
from unittest.mock import MagicMock

import pytest

from heliograph.adapters.smpp_server import deliverer
from heliograph.adapters.smpp_server.addresses import Spelling
from heliograph.adapters.smpp_server.bound_client import BoundClient
from heliograph.adapters.smpp_server.connection import EsmeConnection
from heliograph.adapters.smpp_server.deliverer import BindDeliverer
from heliograph.adapters.smpp_server.expected import Expected
from heliograph.adapters.smpp_server.overload import Delay
from heliograph.adapters.smpp_server.registry import Binds
from heliograph.adapters.smpp_server.requests import RequestAnswers
from heliograph.adapters.smpp_server.resubmissions import Resubmissions
from heliograph.adapters.smpp_server.services import Services
from heliograph.adapters.smpp_server.submission import SubmissionReader
from heliograph.app.commit import isolate
from heliograph.app.commit.isolate import Bisection
from heliograph.app.commit.pieces import NAMED, OWNED, joined
from heliograph.app.configuration import Account, NumberOwner
from heliograph.app.connector_kind import FailoverPolicy
from heliograph.app.dispatch import failover, outcomes
from heliograph.app.dispatch.account_order import AccountQueues, SpillStage
from heliograph.app.dispatch.claims import QueueClaims
from heliograph.app.dispatch.dispatcher import Dispatcher
from heliograph.app.dispatch.lane import Lane
from heliograph.app.dispatch.lane_item import LaneItem
from heliograph.app.dispatch.lane_window import LaneWindow
from heliograph.app.dispatch.outcomes import PartOutcomes
from heliograph.app.facts import (
    Accept,
    Attempt,
    Awaiting,
    CallbackDone,
    CallbackEnd,
    CallbackRetry,
    Facts,
    InboundMessage,
    InboundPart,
    InboundReply,
    Message,
    MessageEnd,
    Outstanding,
    PartReceipt,
    PartSet,
    Queued,
    Queueing,
    Resend,
    Submission,
    Verdict,
    Withdrawal,
)
from heliograph.app.inbound import replies
from heliograph.app.inbound.reading import Reader
from heliograph.app.inbound.reception import Reception
from heliograph.app.inbound.repeats import Arrival, Repeats
from heliograph.app.inbound.replies import PhoneReplies
from heliograph.app.kept_data import RetentionStep
from heliograph.app.marks import AWAITING, CALLBACK, DISPATCH, Recovery
from heliograph.app.notice import Notice, TriedNotice, notice_of
from heliograph.app.notices.notifier import Notifier
from heliograph.app.notices.receipt_form import ReceiptRenderer
from heliograph.app.ports import Incoming, Part, Queue, Report, StoreRejected
from heliograph.app.ports.inbound import FoundCopies
from heliograph.app.receipts.awaiting import AwaitedReceipts, TrackedMessage
from heliograph.app.receipts.matcher import Acknowledge, ReceiptMatcher
from heliograph.app.sending.directory import Directory
from heliograph.app.webhook_job import TryResult, WebhookJob
from heliograph.domain.limits.allowance import Allowance
from heliograph.domain.message.opt_out import Wish
from heliograph.domain.message.receipt import Delivery
from heliograph.domain.message.retention import Stage
from heliograph.domain.message.state import State
from heliograph.domain.message.way import Way
from heliograph.domain.money.amounts import EntryKind
from heliograph.domain.pace.breaker import Breaker
from heliograph.domain.pace.pace import Pace
from heliograph.runtime.engine import Engine
from heliograph.runtime.feeder import Feeder
from heliograph.runtime.group_commit import GroupCommit
from heliograph.smpp import pdu as p
from heliograph.smpp.constants import CommandStatus
from heliograph.smpp.session import Session
from tests.simulation import bugs_of_nodes as bugs_of_nodes  # which plants its bugs
from tests.simulation import checks, consents, days, esmes, failovers, forgetting, suspensions
from tests.simulation.esmes import Esmes
from tests.simulation.faults import ScriptedCarrier, ScriptedSender
from tests.simulation.plans import live
from tests.simulation.planting import BRIEF, BUGS, CANARIES, bug
from tests.support import memory_delivery, memory_retention, memory_suppressions
from tests.support.memory_delivery import MemoryCommits, MemoryCustomers, MemoryNotices, MemoryQueue, MemoryReceipts
from tests.support.memory_inbound import MemoryInbound, keep_inbound
from tests.support.memory_rows import MemoryState, Rows
from tests.support.store import CREDIT, HOUR

LATE = replace(BRIEF, validity_ms=5_000, longest_outage_s=15.0)
SPOILT = replace(BRIEF, unfit=0.2)
CROWDED = replace(BRIEF, requests_s=15.0, recipients=3, short_memory=True, graceful=True)

RESTARTS = replace(BRIEF, busy_s=30.0, lives=6)
PHONES = replace(BRIEF, phones=0.8, busy_s=20.0, lives=3)
REPLIES = replace(PHONES, replies=True)
OPT_OUTS = replace(PHONES, opt_outs=True, requests_s=10.0)

SUSPENSIONS = replace(BRIEF, suspensions=0.05, busy_s=40.0, rate=4.0, lives=2)

ESMES = replace(BRIEF, esmes=0.9, busy_s=40.0, lives=3, graceful=True)

FAILOVER = replace(BRIEF, failover=0.06, busy_s=40.0, lives=2)
UNDELIVERED = replace(FAILOVER, failover=0.2, failover_receipts=True)

DAYS = replace(BRIEF, day_s=4.0, busy_s=20.0, lives=3)

# --- the store


def _entries(patch: pytest.MonkeyPatch, change: Callable[[EntryKind, int], int]) -> None:
    enter = MemoryState.enter

    def broken(self: MemoryState, account: int, kind: EntryKind, amount: int, *rest: Any, **more: Any) -> None:
        enter(self, account, kind, change(kind, amount), *rest, **more)

    patch.setattr(MemoryState, "enter", broken)


@bug(r"was refunded \[\]")
def a_refund_is_forgotten(patch: pytest.MonkeyPatch) -> None:
    _entries(patch, lambda kind, amount: 0 if kind is EntryKind.REFUND else amount)


@bug(r"was refunded \[\d+\]")
def a_refund_is_too_much(patch: pytest.MonkeyPatch) -> None:
    _entries(patch, lambda kind, amount: amount + 1 if kind is EntryKind.REFUND else amount)


@bug("The message .* was not charged its price")
def a_charge_is_off_by_one(patch: pytest.MonkeyPatch) -> None:
    _entries(patch, lambda kind, amount: amount + 1 if kind is EntryKind.CHARGE else amount)


@bug("The batch .* was not charged what its messages cost")
def a_charge_is_a_part_short(patch: pytest.MonkeyPatch) -> None:
    _entries(patch, lambda kind, amount: amount * 3 // 4 if kind is EntryKind.CHARGE else amount)


@bug("is not the sum of its ledger")
def a_balance_is_off_by_one(patch: pytest.MonkeyPatch) -> None:
    accept = MemoryCommits._accept

    def broken(self: MemoryCommits, rows: Rows, accepted: Accept) -> None:
        accept(self, rows, accepted)
        if accepted.verdict is Verdict.ACCEPTED and accepted.batch:
            rows.balances[accepted.account] -= 1

    patch.setattr(MemoryCommits, "_accept", broken)


@bug("was accepted and is not there", canary=True)
def an_accepted_message_is_not_stored(patch: pytest.MonkeyPatch) -> None:
    accept = MemoryCommits._accept

    def broken(self: MemoryCommits, rows: Rows, accepted: Accept) -> None:
        accept(self, rows, accepted)
        if accepted.verdict is Verdict.ACCEPTED and accepted.scheduled and not accepted.batch:
            del rows.messages[accepted.key], rows.queue[accepted.key]

    patch.setattr(MemoryCommits, "_accept", broken)


@bug("the operator has the part .*, although it is")
def a_cancelled_message_stays_in_the_queue(patch: pytest.MonkeyPatch) -> None:
    cancel = MemoryCustomers.cancel

    async def broken(self: MemoryCustomers, account: int, key: int, tail: int, now: int) -> list[Message]:
        row = self._place.rows.queue.get(key)
        cancelled = await cancel(self, account, key, tail, now)
        if row is not None:
            self._place.rows.queue[key] = row
        return cancelled

    patch.setattr(MemoryCustomers, "cancel", broken)


@bug(r"was sent \d+ ms early")
def a_scheduled_message_is_claimed_early(patch: pytest.MonkeyPatch) -> None:
    claim, due = MemoryQueue.claim, MemoryQueue.next_due

    async def hasty(self: MemoryQueue, connector: int, limit: int, now: int, node: int, *accounts: Any) -> Any:
        return await claim(self, connector, limit, now + 2_000, node, *accounts)

    async def soon(self: MemoryQueue) -> dict[int, int]:
        return {connector: at - 2_000 for connector, at in (await due(self)).items()}

    patch.setattr(MemoryQueue, "claim", hasty)
    patch.setattr(MemoryQueue, "next_due", soon)


def _recovery(patch: pytest.MonkeyPatch, forgotten: str) -> None:
    recover = MemoryCommits.recover

    async def broken(self: MemoryCommits, worker: int, node: int) -> Recovery:
        recovery = await recover(self, worker, node)
        getattr(recovery, forgotten).clear()
        return recovery

    patch.setattr(MemoryCommits, "recover", broken)


@bug("nothing will send the parts", "was never sent")
def a_restart_forgets_what_was_not_sent(patch: pytest.MonkeyPatch) -> None:
    _recovery(patch, "unsent")


@bug("the receipt of part .* would not be recognised", "has no final state")
def a_restart_forgets_what_awaits_receipts(patch: pytest.MonkeyPatch) -> None:
    _recovery(patch, "outstanding")


@bug("nothing will make the callback of", "was never made", plan=RESTARTS)
def a_restart_forgets_what_is_owed(patch: pytest.MonkeyPatch) -> None:
    _recovery(patch, "owed")


@bug("the account .* went down to")
def credit_is_not_looked_at(patch: pytest.MonkeyPatch) -> None:
    accept = MemoryCommits._accept

    def broken(self: MemoryCommits, rows: Rows, accepted: Accept) -> None:
        rows.balances[accepted.account] += 1_000 * CREDIT
        accept(self, rows, accepted)
        rows.balances[accepted.account] -= 1_000 * CREDIT

    patch.setattr(MemoryCommits, "_accept", broken)


# --- the limits of a day


@bug(r"has \d+ messages on the day", plan=replace(DAYS, day_s=8.0, lives=6))
def a_restart_forgets_what_a_day_has_used(patch: pytest.MonkeyPatch) -> None:
    recover = MemoryCommits.recover

    async def broken(self: MemoryCommits, worker: int, node: int) -> Recovery:
        self._place.rows.used.clear()
        return await recover(self, worker, node)

    patch.setattr(MemoryCommits, "recover", broken)


@bug(r"has spent \d+ on the day", plan=DAYS)
def a_refund_gives_a_day_its_spending_back(patch: pytest.MonkeyPatch) -> None:
    enter = MemoryState.enter

    def broken(self: MemoryState, account: int, kind: EntryKind, amount: int, *rest: Any, **more: Any) -> None:
        if kind is EntryKind.REFUND and account in self.rows.used:
            self.rows.used[account].spend -= amount
        enter(self, account, kind, amount, *rest, **more)

    patch.setattr(MemoryState, "enter", broken)


@bug(r"has \d+ messages on the day", plan=DAYS)
def a_clock_that_is_late_opens_a_day_anew(patch: pytest.MonkeyPatch) -> None:
    def broken(self: Allowance, day_ends: int) -> None:
        if day_ends and day_ends != self.day_ends:
            self.day_ends, self.messages, self.spend = day_ends, 0, 0

    patch.setattr(Allowance, "turn", broken)


@bug(r"has \d+ messages on the day", plan=DAYS, canary=True)
def of_a_batch_one_message_counts(patch: pytest.MonkeyPatch) -> None:
    use = Allowance.use
    patch.setattr(Allowance, "use", lambda self, messages, *rest: use(self, min(messages, 1), *rest))


@bug(r"was refused \S+ and had room", plan=DAYS)
def what_was_refused_counts_too(patch: pytest.MonkeyPatch) -> None:
    overrun = Allowance.overrun

    def broken(self: Allowance, messages: int, spend: int, waiting: int) -> Any:
        found = overrun(self, messages, spend, waiting)
        if found is not None:
            self.messages += messages
        return found

    patch.setattr(Allowance, "overrun", broken)


# --- the commit


@bug("was accepted and is not there")
def customers_are_told_yes_when_the_commit_failed(patch: pytest.MonkeyPatch) -> None:
    answer = GroupCommit._answer

    def broken(self: GroupCommit, thens: list[Any]) -> None:
        for accept, _ in thens:
            if accept.verdict is Verdict.UNAVAILABLE:
                accept.verdict = Verdict.ACCEPTED
        answer(self, thens)

    patch.setattr(GroupCommit, "_answer", broken)


@bug("was refused and is stored", plan=replace(CROWDED, doubts=True))
def a_request_in_doubt_is_refused_at_once(patch: pytest.MonkeyPatch) -> None:
    answer = GroupCommit._answer

    def broken(self: GroupCommit, thens: list[Any]) -> None:
        for accept, _ in thens:
            if accept.verdict is Verdict.IN_DOUBT:
                accept.verdict = Verdict.UNAVAILABLE
        self._reply([each for each in thens if each[0].verdict is Verdict.UNAVAILABLE])
        answer(self, [each for each in thens if each[0].verdict is not Verdict.UNAVAILABLE])

    patch.setattr(GroupCommit, "_answer", broken)


@bug("a task died: .*commit")
def the_commit_dies(patch: pytest.MonkeyPatch) -> None:
    def broken(self: GroupCommit, facts: Facts, seconds: float) -> None:
        if facts.callbacks:
            raise ArithmeticError

    patch.setattr(GroupCommit, "_show", broken)


# --- values that the store rejects


def _nobody_is_told_apart(patch: pytest.MonkeyPatch, among: Callable[[Facts], bool]) -> None:
    write = Bisection._write

    async def broken(self: Bisection, some: list[Facts]) -> None:
        if not any(map(among, some)):
            await write(self, some)
            return
        with suppress(StoreRejected):
            await self._commits.record(joined(some))
        self._done(some, some)

    patch.setattr(Bisection, "_write", broken)


@bug("was never sent", plan=SPOILT)
def one_unfit_answer_takes_all_others_with_it(patch: pytest.MonkeyPatch) -> None:
    _nobody_is_told_apart(patch, lambda piece: not piece.accepts)


@bug("was refused for what others sent", plan=replace(SPOILT, requests_s=30.0))
def one_unfit_request_takes_all_others_with_it(patch: pytest.MonkeyPatch) -> None:
    _nobody_is_told_apart(patch, lambda piece: bool(piece.accepts))


@bug("was never sent", plan=SPOILT, canary=True)
def an_unfit_answer_is_dropped(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(isolate, "_reduced", lambda piece: iter(()))


# --- accounts of facts


@bug("names the account")
def an_answer_is_said_to_be_another_accounts(patch: pytest.MonkeyPatch) -> None:
    accept = PartOutcomes.accept

    def broken(self: PartOutcomes, *of: Any) -> None:
        accept(self, *of)
        self.gathering.facts.submissions[-1].account += 1

    patch.setattr(PartOutcomes, "accept", broken)


# --- marks


def _mark_runs_ahead(patch: pytest.MonkeyPatch, who: type[Any], name: str) -> None:
    spill = who.spill

    def broken(self: Any, facts: Facts, now: int, last_key: int) -> None:
        spill(self, facts, now, last_key)
        self.mark = facts.marks[name] = max(last_key, self.mark)

    patch.setattr(who, "spill", broken)


@bug("nothing will send the parts", canary=True)
def the_mark_of_dispatch_runs_ahead(patch: pytest.MonkeyPatch) -> None:
    _mark_runs_ahead(patch, Dispatcher, DISPATCH)


@bug("the receipt of part .* would not be recognised")
def the_mark_of_receipts_runs_ahead(patch: pytest.MonkeyPatch) -> None:
    _mark_runs_ahead(patch, AwaitedReceipts, AWAITING)


@bug("nothing will make the callback of")
def the_mark_of_callbacks_runs_ahead(patch: pytest.MonkeyPatch) -> None:
    _mark_runs_ahead(patch, Notifier, CALLBACK)


@bug("nothing will make the callback of")
def a_notice_below_the_mark_begins_without_a_row(patch: pytest.MonkeyPatch) -> None:
    def broken(self: Notifier, notice: Notice) -> None:
        self._take(notice)
        self._next.append(notice)

    patch.setattr(Notifier, "owe", broken)


@bug("the receipt of part .* would not be recognised")
def a_part_below_the_mark_is_awaited_without_a_row(patch: pytest.MonkeyPatch) -> None:
    def broken(self: AwaitedReceipts, facts: Facts, track: TrackedMessage, generation: int) -> None:
        track.dirty = generation

    patch.setattr(AwaitedReceipts, "_give_rows", broken)


@bug(
    "is sent, and by its mark it certainly was not",
    "was refunded for not being sent, and the operator has it",
    plan=replace(LATE, lives=6),
)
def the_mark_of_attempts_stands_still(patch: pytest.MonkeyPatch) -> None:
    prepare = Lane.prepare

    def broken(self: Lane, facts: Facts, now: float, now_ms: int) -> list[LaneItem]:
        late = prepare(self, facts, now, now_ms)
        for name in [name for name in facts.marks if name.startswith("attempted")]:
            del facts.marks[name]
        return late

    patch.setattr(Lane, "prepare", broken)


# --- dispatch


@bug("the window is never exceeded")
def a_place_in_the_window_is_free_before_its_outcome_is_durable(patch: pytest.MonkeyPatch) -> None:
    def broken(self: LaneWindow, part: Part) -> bool:
        if part not in self.flying:
            return False
        self.flying.remove(part)
        self.in_flight -= 1
        return True

    patch.setattr(LaneWindow, "answered", broken)


@bug("parts at once were written at a rate of", plan=replace(BRIEF, rate=4.0))
def the_rate_is_not_kept(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Pace, "take", lambda self, now, n: n)


@bug("was overtaken by", plan=replace(BRIEF, recipients=2))
def the_youngest_goes_first(patch: pytest.MonkeyPatch) -> None:
    take = Lane._next

    def broken(self: Lane) -> LaneItem | None:
        self.fast.reverse()
        item = take(self)
        self.fast.reverse()
        return item

    patch.setattr(Lane, "_next", broken)


@bug("was overtaken by", plan=CROWDED)
def a_start_does_not_look_who_has_rows(patch: pytest.MonkeyPatch) -> None:
    async def broken(self: QueueClaims, lane: Lane, queue: Queue) -> None:
        lane.closed = False

    patch.setattr(QueueClaims, "open", broken)


@bug("was overtaken by", plan=replace(CROWDED, lives=6, graceful=False))
def what_a_start_recovers_goes_before_the_rows(patch: pytest.MonkeyPatch) -> None:
    async def broken(self: QueueClaims, lane: Lane, queue: Queue) -> None:
        lane.queues.suspect(await queue.accounts(lane.connector, self._clock.now()))
        lane.closed = False

    patch.setattr(QueueClaims, "open", broken)


@bug("was overtaken by", plan=CROWDED)
def what_is_new_goes_before_the_rows(patch: pytest.MonkeyPatch) -> None:
    write = AccountQueues.write

    def broken(self: AccountQueues[Any], account: int, newest: int) -> list[Any]:
        newer = write(self, account, newest)
        self.by_account[account].stage = SpillStage.OPEN
        return newer

    patch.setattr(AccountQueues, "write", broken)


@bug("was overtaken by", plan=CROWDED)
def rows_go_before_what_is_older_than_they(patch: pytest.MonkeyPatch) -> None:
    take = AccountQueues.take
    patch.setattr(AccountQueues, "take", lambda self, fast: take(self, None))


@bug("was overtaken by", plan=CROWDED, canary=True)
def the_youngest_rows_are_claimed_first(patch: pytest.MonkeyPatch) -> None:
    due = MemoryQueue._due
    patch.setattr(MemoryQueue, "_due", lambda self, rows, connector, now: due(self, rows, connector, now)[::-1])


@bug("of the lane .*: ", plan=CROWDED)
def nobody_finds_out_that_the_rows_are_gone(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(AccountQueues, "found", lambda self, left, done: None)


@bug(r"was sent \d+ times with \d+ reasons")
def a_part_goes_again_though_it_was_taken(patch: pytest.MonkeyPatch) -> None:
    close = PartOutcomes.close_part

    def broken(self: PartOutcomes, lane: Lane, item: LaneItem, segment: int) -> None:
        if item.open == 1 and item.message.key % 5 == 0 and item.tries == 0:
            item.tries = 1
            lane.take_back(item, segment)
        else:
            close(self, lane, item, segment)

    patch.setattr(PartOutcomes, "close_part", broken)


@bug(r"was sent \d+ times with \d+ reasons")
def the_carrier_writes_a_part_twice(patch: pytest.MonkeyPatch) -> None:
    arrived = ScriptedCarrier._arrived

    def broken(self: ScriptedCarrier, part: Part, delay: float) -> None:
        if part.message.key % 9 == 0:
            self.operator.submits[part.message.key, part.segment] += 1
        arrived(self, part, delay)

    patch.setattr(ScriptedCarrier, "_arrived", broken)


@bug("nothing is sent while no bind is up")
def a_carrier_takes_parts_while_it_is_down(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ScriptedCarrier, "capacity", property(lambda self: self._window))


@bug("was refunded although the operator took it", plan=LATE, canary=True)
def what_left_in_part_is_refunded(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(LaneItem, "unsent", property(lambda self: True))


@bug("was refunded for not being sent, and the operator has it", plan=LATE)
def what_is_in_doubt_counts_as_not_sent(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(LaneItem, "attempted", property(lambda self: False))


@bug("was left to expire, though nothing was in its way")
def the_feeder_never_claims(patch: pytest.MonkeyPatch) -> None:
    async def broken(self: Feeder, due: dict[int, int], now: int) -> bool:
        return False

    patch.setattr(Feeder, "_feed_lanes", broken)


@bug("is still scheduled", "the queue holds")
def nothing_is_claimed_and_nothing_expires(patch: pytest.MonkeyPatch) -> None:
    async def never(self: QueueClaims, queue: Queue, node: int, limit: int) -> int:
        return 0

    the_feeder_never_claims(patch)
    patch.setattr(QueueClaims, "drop_expired", never)


@bug("was sent and is not in the store")
def a_message_is_sent_before_it_is_durable(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Lane, "_is_accepted", lambda self, item: True)


@bug("of the lane .*: ")
def a_lane_forgets_nothing(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Lane, "forget", lambda self, item: None)


# --- receipts


@bug("its parts are", plan=replace(BRIEF, lives=5))
def receipts_are_acknowledged_before_they_are_durable(patch: pytest.MonkeyPatch) -> None:
    on_report = ReceiptMatcher.on_report

    def broken(self: ReceiptMatcher, connector: int, report: Report, acknowledge: Acknowledge) -> None:
        acknowledge(True)
        if int(report.operator_id, 16) % 3:
            on_report(self, connector, report, lambda kept: None)

    patch.setattr(ReceiptMatcher, "on_report", broken)


@bug("a receipt is acknowledged once")
def receipts_are_acknowledged_twice(patch: pytest.MonkeyPatch) -> None:
    on_report = ReceiptMatcher.on_report

    def broken(self: ReceiptMatcher, connector: int, report: Report, acknowledge: Acknowledge) -> None:
        def twice(kept: bool) -> None:
            acknowledge(kept)
            acknowledge(kept)

        on_report(self, connector, report, twice)

    patch.setattr(ReceiptMatcher, "on_report", broken)


@bug("has no final state", "receipts are awaited")
def receipts_that_never_come_are_awaited_for_ever(patch: pytest.MonkeyPatch) -> None:
    async def broken(
        self: MemoryReceipts, expired: int, beyond: int, limit: int
    ) -> tuple[list[Outstanding], int | None]:
        return [], None

    patch.setattr(MemoryReceipts, "overdue", broken)


@bug("the matcher's .* holds")
def the_reporter_keeps_what_is_over(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(AwaitedReceipts, "drop_entries", lambda self, track: None)


# --- callbacks


@bug("the callback of .* was never made")
def the_notifier_drops_a_callback(patch: pytest.MonkeyPatch) -> None:
    owe = Notifier.owe

    def broken(self: Notifier, notice: Notice) -> None:
        if notice.key % 5:
            owe(self, notice)

    patch.setattr(Notifier, "owe", broken)


@bug("one try of a callback at a time")
def the_notifier_tries_twice_at_once(patch: pytest.MonkeyPatch) -> None:
    deliver = Notifier._deliver

    def broken(self: Notifier, notices: Sequence[Notice]) -> list[Notice]:
        left = deliver(self, notices)
        for notice in notices:
            if notice.key in self._flights:
                self._deliverers[notice.way].deliver([notice])
        return left

    patch.setattr(Notifier, "_deliver", broken)


@bug("the customer was told")
def the_notifier_tells_another_state(patch: pytest.MonkeyPatch) -> None:
    job = ReceiptRenderer.job

    def broken(self: ReceiptRenderer, *of: Any) -> WebhookJob:
        made = job(self, *of)
        return replace(made, body=re.sub(rb"status=\w+", b"status=ACCEPTD", made.body))

    patch.setattr(ReceiptRenderer, "job", broken)


@bug("a callback came for .*, which owes none")
def the_notifier_tells_those_who_did_not_ask(patch: pytest.MonkeyPatch) -> None:
    finish = Engine._finish

    def broken(self: Engine, message: Message, final: MessageEnd) -> None:
        finish(self, message, final)
        if not final.owed and message.state == State.SENT:
            told = replace(message, callback_url="http://example.com/receipt", way=Way.WEBHOOK)
            self.notifier.owe(notice_of(told, final))

    patch.setattr(Engine, "_finish", broken)


@bug("is done and never arrived")
def the_sender_says_it_posted(patch: pytest.MonkeyPatch) -> None:
    def broken(self: ScriptedSender, jobs: Sequence[WebhookJob]) -> None:
        self._on_sent([TryResult(job.key, 200) for job in jobs])

    patch.setattr(ScriptedSender, "post", broken)


@bug("callbacks are due")
def callbacks_are_not_taken_up_again(patch: pytest.MonkeyPatch) -> None:
    async def broken(self: MemoryNotices, limit: int, now: int, node: int) -> list[Notice]:
        return []

    patch.setattr(MemoryNotices, "claim", broken)


# --- remains at the end


@bug("the notifier still holds something")
def a_flight_never_lands(patch: pytest.MonkeyPatch) -> None:
    on_tried = Notifier._on_tried

    def broken(self: Notifier, results: list[TriedNotice]) -> None:
        flights = {sent.key: self._flights[sent.key] for sent in results if sent.key in self._flights}
        on_tried(self, results)
        self._flights.update(flights)

    patch.setattr(Notifier, "_on_tried", broken)


@bug("the gatherer still holds something")
def requests_count_for_ever(patch: pytest.MonkeyPatch) -> None:
    def broken(self: GroupCommit, thens: list[Any]) -> None:
        for accept, then in thens:
            then(accept)

    patch.setattr(GroupCommit, "_answer", broken)


# --- messages from phones


@bug("was acknowledged and is not there", plan=PHONES, canary=True)
def a_phones_message_is_acknowledged_before_its_commit(patch: pytest.MonkeyPatch) -> None:
    take = Reception._take

    def broken(self: Reception, arrival: Arrival, incoming: Incoming) -> None:
        take(self, arrival, incoming)
        incoming.answer(True)

    patch.setattr(Reception, "_take", broken)


@bug("was acknowledged and is not there", plan=PHONES)
def a_phones_part_is_acknowledged_and_not_kept(patch: pytest.MonkeyPatch) -> None:
    def broken(self: Reception, of: PartSet, number: int, incoming: Incoming) -> None:
        del of, number
        self._next.append(Arrival(1, incoming))
        self._gathering.wake()

    patch.setattr(Reception, "_keep_part", broken)


@bug(r"has the ids \[\d+, \d+", plan=PHONES)
def a_repeat_is_another_message(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Repeats, "_lost_key", lambda self, digest: 0)


@bug(r"has the ids \[\d+, \d+", plan=PHONES)
def a_repeat_after_a_crash_is_another_message(patch: pytest.MonkeyPatch) -> None:
    async def broken(self: MemoryInbound, *_: object) -> FoundCopies:
        return FoundCopies([])

    patch.setattr(MemoryInbound, "repeated", broken)


@bug(r"has the ids \[\]", "nobody sent", plan=PHONES)
def parts_are_joined_as_they_came(patch: pytest.MonkeyPatch) -> None:
    joined_text = Reader.joined

    def broken(self: Reader, parts: Sequence[InboundPart]) -> Any:
        turned = [replace(part, number=len(parts) + 1 - part.number) for part in parts]
        return joined_text(self, turned)

    patch.setattr(Reader, "joined", broken)


@bug(r"has the ids \[\d+, \d+", plan=PHONES)
def joined_parts_are_joined_again(patch: pytest.MonkeyPatch) -> None:
    def broken(rows: Rows, facts: Facts, node: int) -> None:
        keep_inbound(rows, facts, node)
        for row in rows.inbound_parts.values():
            row.joined = 0

    patch.setattr(memory_delivery, "keep_inbound", broken)


@bug(r"has the ids \[\]", plan=PHONES)
def what_is_complete_after_a_crash_is_not_joined(patch: pytest.MonkeyPatch) -> None:
    async def broken(self: MemoryInbound, *_: object) -> list[list[InboundPart]]:
        return []

    patch.setattr(MemoryInbound, "ready", broken)


@bug("the customer was never told", plan=PHONES)
def a_notice_of_an_inbound_message_is_not_owed(patch: pytest.MonkeyPatch) -> None:
    owe = Notifier.owe

    def broken(self: Notifier, notice: Notice) -> None:
        if not isinstance(notice.subject, InboundMessage):
            owe(self, notice)

    patch.setattr(Notifier, "owe", broken)


@bug("the customer was never told", plan=PHONES)
def a_notice_of_an_inbound_message_is_not_recovered(patch: pytest.MonkeyPatch) -> None:
    recover = MemoryCommits.recover

    async def broken(self: MemoryCommits, worker: int, node: int) -> Recovery:
        recovery = await recover(self, worker, node)
        recovery.owed = [notice for notice in recovery.owed if not isinstance(notice.subject, InboundMessage)]
        return recovery

    patch.setattr(MemoryCommits, "recover", broken)


@bug("nothing will make the callback of the inbound message", plan=PHONES)
def the_mark_passes_notices_of_inbound_messages(patch: pytest.MonkeyPatch) -> None:
    spill = Notifier.spill

    def broken(self: Notifier, facts: Facts, now: int, last_key: int) -> None:
        spill(self, facts, now, last_key)
        if facts.inbound:
            self.mark = facts.marks[CALLBACK] = last_key

    patch.setattr(Notifier, "spill", broken)


@bug("somebody was told of", plan=PHONES)
def a_message_to_nobody_is_somebodys(patch: pytest.MonkeyPatch) -> None:
    owner = NumberOwner(1, "", way=Way.WEBHOOK, opt_out=False, stop_text="", help_text="")
    patch.setattr(Reader, "owner", lambda *_: (owner, ""))


@bug("has no reply", plan=REPLIES)
def a_webhook_is_done_before_its_reply_is_durable(patch: pytest.MonkeyPatch) -> None:
    take = PhoneReplies.take

    def broken(
        self: PhoneReplies, notice: Notice, account: Account, result: TryResult, then: Callable[[TryResult], None]
    ) -> None:
        then(result)
        take(self, notice, account, result, lambda _: None)

    patch.setattr(PhoneReplies, "take", broken)


@bug("has the replies", plan=REPLIES)
def a_reply_has_another_reference_each_time(patch: pytest.MonkeyPatch) -> None:
    numbers = count()
    patch.setattr(replies, "reply_reference", lambda *_: f"reply:{next(numbers)}")


@bug("has no reply", plan=REPLIES)
def a_reply_that_the_store_does_not_take_is_forgotten(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(replies, "_put_off", lambda result, _: result)


# --- opt-out


@bug("opted out and is not suppressed", plan=OPT_OUTS)
def a_stop_is_not_obeyed(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(memory_suppressions, "suppress", lambda *_: True)


@bug("is suppressed and does not want it", plan=OPT_OUTS)
def who_comes_back_stays_suppressed(patch: pytest.MonkeyPatch) -> None:
    obey = memory_suppressions.obey

    def broken(place: MemoryState, message: InboundMessage) -> bool:
        return obey(place, message) if message.wish is Wish.STOP else True

    patch.setattr(memory_delivery, "obey", broken)


@bug("left .* waiting", plan=OPT_OUTS, canary=True)
def a_stop_leaves_what_is_scheduled(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(memory_suppressions, "is_whole", lambda *_: False)


@bug("was confirmed, and was no news", plan=OPT_OUTS)
def every_stop_is_confirmed(patch: pytest.MonkeyPatch) -> None:
    obey = memory_suppressions.obey
    patch.setattr(memory_delivery, "obey", lambda place, message: [obey(place, message)] != [])


@bug(r"was news, and names the confirmation \d", plan=OPT_OUTS)
def a_confirmation_is_not_remembered(patch: pytest.MonkeyPatch) -> None:
    keep = keep_inbound

    def broken(rows: Rows, facts: Facts, node: int) -> None:
        keep(rows, facts, node)
        for message in facts.inbound:
            rows.inbound[message.key].replied = 0

    patch.setattr(memory_delivery, "keep_inbound", broken)


@bug("was accepted, although its recipient opted out", plan=OPT_OUTS)
def nobody_looks_who_opted_out(patch: pytest.MonkeyPatch) -> None:
    accept = MemoryCommits._accept

    def broken(self: MemoryCommits, rows: Rows, accepted: Accept) -> None:
        suppressions, rows.suppressions = rows.suppressions, {}
        accept(self, rows, accepted)
        rows.suppressions = suppressions

    patch.setattr(MemoryCommits, "_accept", broken)


@bug("began to leave after the STOP", plan=OPT_OUTS)
def what_waits_in_memory_goes_on(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Dispatcher, "withdraw_all", lambda *_: None)


@bug(r"was refunded \[\]", plan=OPT_OUTS)
def a_withdrawn_message_is_not_refunded(patch: pytest.MonkeyPatch) -> None:
    _entries(patch, lambda kind, amount: 0 if kind is EntryKind.REFUND else amount)


# --- suspension


@bug("began to leave, though the account", plan=SUSPENSIONS)
def nobody_knows_who_is_suspended(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Directory, "claim_policy", lambda *_: None)


@bug("began to leave, though the account", plan=SUSPENSIONS)
def what_a_suspended_account_has_in_memory_goes_on(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Dispatcher, "judge_anew", lambda *_: None)


@bug("began to leave, though the account", plan=SUSPENSIONS)
def what_a_suspended_account_has_in_the_queue_is_claimed(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(QueueClaims, "_refilled", lambda self, lane, item: self._resume(lane, item))


@bug("began to leave, though the account", plan=replace(SUSPENSIONS, lives=6))
def a_start_takes_up_what_a_suspended_account_had_in_memory(patch: pytest.MonkeyPatch) -> None:
    recover = QueueClaims.recover

    async def broken(self: QueueClaims, unsent: Iterable[Queued]) -> None:
        with pytest.MonkeyPatch.context() as meanwhile:
            meanwhile.setattr(QueueClaims, "passes", lambda *_: True)
            await recover(self, unsent)

    patch.setattr(QueueClaims, "recover", broken)


@bug("is held, though its account is resumed", plan=SUSPENSIONS, canary=True)
def what_was_held_is_never_let_go(patch: pytest.MonkeyPatch) -> None:
    async def broken(*_: object) -> int:
        return 0

    patch.setattr(MemoryQueue, "resume", broken)


@bug("was left to expire, though nothing was in its way", plan=replace(SUSPENSIONS, busy_s=90.0))
def what_was_held_is_let_go_too_late(patch: pytest.MonkeyPatch) -> None:
    resume = MemoryQueue.resume

    async def broken(self: MemoryQueue, now: int, limit: int) -> int:
        return await resume(self, now + HOUR, limit)

    patch.setattr(MemoryQueue, "resume", broken)


# --- customers' SMPP clients


def _by_kind(kind: str) -> Callable[[BoundClient], bool]:
    """Returns whether a client is of the customer of that name."""
    return lambda client: client.view.account.name == kind


@bug("ESME_ROK was written for", "was answered with .*, and is stored as", plan=ESMES)
def ok_comes_before_the_commit(patch: pytest.MonkeyPatch) -> None:
    keys = count(1)

    def broken(self: BoundClient, pdu: Any, name: str | None, number: int, accept: Accept) -> None:
        if accept.verdict is Verdict.UNAVAILABLE:
            accept.verdict, accept.key = Verdict.ACCEPTED, accept.key or next(keys)
        stored(self, pdu, name, number, accept)

    stored = BoundClient._stored
    patch.setattr(BoundClient, "_stored", broken)


@bug(r"was wanted \d times by \S+, and is charged", plan=ESMES)
def a_reference_is_not_read(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(SubmissionReader, "_reference", lambda *_: None)


@bug(r"was wanted \d times by \S+, and is charged", plan=ESMES)
def a_lost_answer_is_not_noted(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Resubmissions, "lost", Resubmissions.arrived)


@bug(r"was wanted \d times by \S+, and is charged", plan=replace(ESMES, requests_s=6.0, short_memory=True, lives=4))
def a_submission_under_way_is_not_lost_with_its_connection(patch: pytest.MonkeyPatch) -> None:
    lose = BoundClient.lose

    def broken(self: BoundClient) -> None:
        named, self._named = self._named, set()
        lose(self)
        self._named = named

    patch.setattr(BoundClient, "lose", broken)


@bug("is charged .* times, and was so", plan=ESMES)
def what_is_stored_is_refused(patch: pytest.MonkeyPatch) -> None:
    accepted, is_plain = BoundClient.accepted, _by_kind("plain")

    def broken(self: BoundClient, pdu: Any, *rest: Any) -> None:
        if is_plain(self):
            self.decline(pdu, CommandStatus.ESME_RMSGQFUL, "planted")
        else:
            accepted(self, pdu, *rest)

    patch.setattr(BoundClient, "accepted", broken)


@bug("deliver_sm wait for their answers, in a window of", plan=ESMES)
def the_window_of_deliveries_is_too_large(patch: pytest.MonkeyPatch) -> None:
    limit: Any = Session.window_limit
    patch.setattr(Session, "window_limit", property(limit.fget, lambda self, most: limit.fset(self, most + 3)))


@bug("requests wait, in a window of", plan=ESMES)
def a_client_is_read_beyond_its_window(patch: pytest.MonkeyPatch) -> None:
    stop = EsmeConnection._stop_reading
    patch.setattr(EsmeConnection, "_stop_reading", lambda self, why: None if why == "window" else stop(self, why))


@bug("octets were written to a client that does not read", plan=ESMES)
def a_client_that_does_not_read_is_written_to(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(EsmeConnection, "pause_writing", lambda _: None)


@bug("was sent again after its end was stored", plan=ESMES)
def an_acknowledged_receipt_is_sent_again(patch: pytest.MonkeyPatch) -> None:
    answered = BindDeliverer.answered

    def broken(self: BindDeliverer, answers: Sequence[tuple[Notice, int]]) -> None:
        answered(self, answers)
        for notice, status in answers:
            if status == 0:
                asyncio.get_running_loop().call_later(2.0, self.deliver, [notice])

    patch.setattr(BindDeliverer, "answered", broken)


@bug("is done, and no client acknowledged it", plan=ESMES)
def a_silent_client_counts_as_told(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(BindDeliverer, "unanswered", lambda self, notice, _: self.answered([(notice, 0)]))


@bug("is done, and no client acknowledged it", plan=ESMES)
def a_lost_connection_counts_as_told(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(BindDeliverer, "lost", lambda self, notices: self.answered([(notice, 0) for notice in notices]))


@bug("has failed, and no client refused it", plan=ESMES)
def a_receipt_that_is_put_off_fails(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(deliverer, "PUT_OFF", frozenset())


@bug("was never made", plan=ESMES)
def a_bind_wakes_no_parked_receipt(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(BindDeliverer, "reachable", lambda _: [])


@bug("asks for receipts of failures, and its success was told", plan=ESMES)
def success_is_always_told(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Expected, "wants", lambda *_: True)


@bug("a receipt of .* came to the account", plan=ESMES)
def receipts_go_to_any_bind(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Binds, "of", lambda self, _: self.all())


@bug("the receipt of .* spells", plan=ESMES)
def receipts_spell_numbers_as_they_are_kept(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Spelling, "written", lambda self, kept: p.Address(self.ton, self.npi, kept))


@bug("the store has the binds", plan=ESMES)
def a_bind_that_ends_keeps_its_row(patch: pytest.MonkeyPatch) -> None:
    async def broken(self: EsmeConnection) -> None:
        self._binds.leave(self)

    patch.setattr(EsmeConnection, "_leave", broken)


@bug("the store has the binds", plan=replace(ESMES, lives=5))
def a_bind_that_the_store_kept_is_not_removed_later(patch: pytest.MonkeyPatch) -> None:
    serve = Esmes.serve

    async def broken(self: Esmes, services: Services, *rest: Any) -> None:
        services.departed = MagicMock(spec=set)
        services.departed.__iter__ = lambda _: iter(())
        await serve(self, services, *rest)

    patch.setattr(Esmes, "serve", broken)


@bug("the listener still holds", plan=ESMES)
def a_submission_is_taken_for_under_way_for_ever(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Delay, "is_long", lambda *_: False)
    patch.setattr(Delay, "end", lambda *_: None)


@bug("the bind .* still holds something", plan=ESMES)
def a_request_has_no_answer(patch: pytest.MonkeyPatch) -> None:
    async def broken(*_: object) -> None:
        """Says nothing."""

    patch.setattr(RequestAnswers, "query", broken)


@bug("a name of a submission is still under way", plan=ESMES)
def a_refused_submission_keeps_its_name(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Resubmissions, "refused", lambda *_: None)


# --- the tests


# --- retention

FORGETTING = replace(BRIEF, retain_s=(0.5, 0.7, 0.0), busy_s=30.0, lives=3)
DROPPING = replace(BRIEF, retain_s=(0.0, 0.0, 30.0), busy_s=60.0, lives=3)


def _settled(patch: pytest.MonkeyPatch, settled: Callable[[Rows, int], bool]) -> None:
    patch.setattr(memory_retention, "settled", settled)


@bug(r"was redacted before it was sent", plan=FORGETTING, canary=True)
def what_waits_is_redacted(patch: pytest.MonkeyPatch) -> None:
    _settled(patch, lambda rows, key: key in rows.messages)


@bug(r"was redacted before its customer was told", plan=FORGETTING)
def what_is_to_be_told_is_redacted(patch: pytest.MonkeyPatch) -> None:
    _settled(patch, lambda rows, key: key in rows.finals)


@bug(r"Entries without a message of", plan=DROPPING)
def dropped_money_is_not_added_up(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(memory_retention, "_add", lambda *_: None)


@bug(r"the text of \d+ is still there", r"the number of \d+ is still there", plan=FORGETTING)
def what_was_owed_is_never_looked_at_again(patch: pytest.MonkeyPatch) -> None:
    async def nobody(*_: Any) -> list[int]:
        return []

    patch.setattr(memory_retention.MemoryRetention, "accounts_kept", nobody)


@bug(r"the row of \d+ is still there", plan=DROPPING)
def rows_are_never_dropped(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(memory_retention, "_drop", lambda *_: None)


@bug(r"is noted to be looked at again for ever", plan=FORGETTING)
def what_is_done_stays_noted(patch: pytest.MonkeyPatch) -> None:
    retry = memory_retention.MemoryRetention.retry

    async def noted(self: memory_retention.MemoryRetention, account: int, stage: Stage, *rest: int) -> RetentionStep:
        kept = set(self._open().kept)
        step = await retry(self, account, stage, *rest)
        self._open().kept |= kept
        return step

    patch.setattr(memory_retention.MemoryRetention, "retry", noted)


# --- failover


@bug(r"is written to op\d again, after", plan=replace(FAILOVER, failover=0.2, lives=3))
def who_tried_a_message_is_forgotten(patch: pytest.MonkeyPatch) -> None:
    queued = MemoryQueue._queued

    def forgetful(self: MemoryQueue, *args: Any, **named: Any) -> Queued:
        return replace(queued(self, *args, **named), tried=frozenset())

    patch.setattr(MemoryQueue, "_queued", forgetful)


@bug(r"is written to op\d, and op\d has a part of it or may have", "is with the operators", plan=FAILOVER)
def a_message_in_doubt_goes_to_another_operator(patch: pytest.MonkeyPatch) -> None:
    free, for_another = failover.is_free, failover.is_for_another

    def bold(item: LaneItem, policy: FailoverPolicy) -> bool:
        return free(item, replace(policy, unknown=True))

    patch.setattr(failover, "is_free", bold)
    patch.setattr(outcomes, "is_for_another", lambda of, policy: for_another(of, replace(policy, unknown=True)))


@bug(r"is written to op\d, and op\d has a part of it or may have", plan=FAILOVER)
def single_parts_go_to_another_operator(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(failover, "is_free", lambda item, policy: not (item.doubtful or item.paused))


@bug(r"was refunded \[\d+\]", plan=FAILOVER)
def each_operator_that_refuses_is_refunded(patch: pytest.MonkeyPatch) -> None:
    fail = PartOutcomes._fail

    def generous(self: PartOutcomes, lane: Lane, item: LaneItem, *end: Any) -> None:
        fail(self, lane, item, *end)
        self.gathering.facts.finals[-1].refund *= len(item.tried) + 1

    patch.setattr(PartOutcomes, "_fail", generous)


@bug(r"op\d works again, and is still", r"op\d works again, and \d+ did not go there", plan=FAILOVER)
def a_breaker_stays_open(patch: pytest.MonkeyPatch) -> None:
    answered = Breaker.answered

    def stuck(self: Breaker, now: float, *, failed: bool) -> None:
        if not self.is_open:
            answered(self, now, failed=failed)

    patch.setattr(Breaker, "answered", stuck)


@bug("waits for an operator that is down", plan=FAILOVER)
def a_dead_operator_keeps_its_messages(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(LaneWindow, "note_down", lambda self, now: now)


@bug(r"is written to op\d, and op\d has a part of it or may have", "is with the operators", plan=UNDELIVERED)
def any_bad_receipt_causes_a_failover(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(failover, "is_listed", lambda state, err, listed: state is not Delivery.DELIVRD)


@bug(r"is written to op\d, and op\d has a part of it or may have", plan=UNDELIVERED)
def the_first_copy_of_a_part_is_forgotten(patch: pytest.MonkeyPatch) -> None:
    taken = ReceiptMatcher.taken

    def forgetful(self: ReceiptMatcher, *args: Any, sent_once: bool) -> None:
        taken(self, *args)

    patch.setattr(ReceiptMatcher, "taken", forgetful)


@bug(r"was refunded, and op\d took it and did not deliver it", plan=UNDELIVERED)
def who_took_a_message_is_forgotten(patch: pytest.MonkeyPatch) -> None:
    queued = MemoryQueue._queued

    def forgetful(self: MemoryQueue, *args: Any, **named: Any) -> Queued:
        return replace(queued(self, *args, **named), resent=False)

    patch.setattr(MemoryQueue, "_queued", forgetful)


_WRONG: dict[str, Any] = {
    "queueings": Queueing(2, 7, 1, 0, 0, attempted=False, claimed=False),
    "sending": (2, 7),
    "asking": (2, 7),
    "attempts": Attempt(2, 7, 0, 1, 0, 0),
    "throttles": Attempt(2, 7, 0, 1, 0x58, 0),
    "submissions": Submission(2, 7, 0, 1, "id", 0, 0),
    "dequeued": (2, 7),
    "parts": PartReceipt(2, 7, 0, Delivery.DELIVRD, "000", 0),
    "progress": PartReceipt(2, 7, 0, Delivery.ENROUTE, "000", 0),
    "finals": MessageEnd(2, 7, Delivery.DELIVRD, "000", 0, owed=False),
    "withdrawals": Withdrawal(2, 7, 1, 0),
    "resends": Resend(2, 7, 1, 2, Delivery.UNDELIV, "011", 0, 0, 0),
    "awaiting": Awaiting(1, "id", 2, 7, 0),
    "awaiting_matched": Awaiting(1, "id", 2, 7, 0),
    "inbound_replies": InboundReply(2, 7, "The credit is too low"),
    "callbacks": CallbackDone(2, 7, CallbackEnd.DELIVERED, 200, 1, 0),
    "callback_retries": CallbackRetry(2, 7, 0, 0, b"", "", 0),
}
"""A fact of each kind about a message, with another account."""


def test_every_kind_of_fact_about_a_message_is_among_the_wrong_ones() -> None:
    assert {*OWNED, *NAMED} - _WRONG.keys() == {"accepts", "inbound"}, "requests and phones bring their messages"


@pytest.mark.parametrize("kind", _WRONG)
def test_whose_a_fact_is_is_looked_at_for_every_kind(kind: str) -> None:
    fact = _WRONG[kind]
    mine, others = [Rows(messages={7: Message(of, "49", "A", 0, "x", 1, 1, 0, 0, 1, 1, key=7)}) for of in (2, 3)]
    facts = Facts()
    getattr(facts, kind).append(fact)
    assert checks.accounts([mine, Rows()], facts) == []
    for shards in ([others], [Rows()]):
        assert len(checks.accounts(shards, facts)) == 1


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in CANARIES else pytest.mark.extended) for name in BUGS]
)
def test_a_planted_bug_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plant, findings, plan, seeds = BUGS[name]
    plant(monkeypatch)
    missing, said = set(findings), [""]
    for seed in range(seeds):
        said = live(plan, seed).wrong
        missing -= {finding for finding in missing if any(re.search(finding, sentence) for sentence in said)}
        if not missing:
            return
    pytest.fail(f"not found: {missing}; the last seed says {said[:5]}")


def test_without_a_bug_nothing_is_found() -> None:
    for plan in (BRIEF, LATE):
        assert live(plan, 0).wrong == []


def test_every_sentence_of_the_checkers_is_brought_out_by_a_bug() -> None:
    """So that a new check comes with the bug that it finds."""
    sentences = []
    sources = (inspect.getsource(each) for each in (checks, consents, days, esmes, failovers, forgetting, suspensions))
    nodes = [node for source in sources for node in ast.walk(ast.parse(source))]
    for node in nodes:
        if isinstance(node, ast.JoinedStr):
            pieces = [piece.value if isinstance(piece, ast.Constant) else "1" for piece in node.values]
            sentences.append("".join(str(piece) for piece in pieces))
    sentences = [sentence for sentence in sentences if " " in sentence]  # the others are formats of numbers
    assert len(sentences) > 20
    findings = [finding for _, findings, *_ in BUGS.values() for finding in findings]
    assert len(CANARIES) == 11
    assert [sentence for sentence in sentences if not any(re.search(each, sentence) for each in findings)] == []
