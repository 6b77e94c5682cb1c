"""Messages on their way in the in-memory store."""

from collections.abc import Iterable, Sequence
from dataclasses import fields, is_dataclass, replace
from functools import partial
from typing import Any

from heliograph.app.configuration import (
    Missing,
)
from heliograph.app.facts import (
    MOST_MOVES,
    MOST_PROGRESS,
    NO_ANSWER,
    Accept,
    Attempt,
    CallbackDone,
    CallbackEnd,
    CallbackRetry,
    EarlyReceipt,
    Facts,
    Message,
    MessageEnd,
    Outstanding,
    PartReceipt,
    Queued,
    Resend,
    UntriedRow,
    Verdict,
    leave_out_contested,
    notice_key_of,
)
from heliograph.app.marks import AWAITING, CALLBACK, DISPATCH, Recovery, attempted
from heliograph.app.notice import Notice
from heliograph.app.ports import BatchSlice, EndedPart, ListQuery, NotScheduled, StoreRejected, Unreported
from heliograph.app.records import (
    CallbackView,
    Feedback,
    MessageHold,
    MessageRecord,
)
from heliograph.domain.limits.acceptance import Spender, judge
from heliograph.domain.limits.allowance import Allowance
from heliograph.domain.limits.gate import OF_SUSPENDED
from heliograph.domain.message.ids import first_key_at, time_of, worker_of
from heliograph.domain.message.receipt import NO_CODE, Delivery
from heliograph.domain.message.state import LISTED, TABLE, State, Trigger
from heliograph.domain.message.way import Way
from heliograph.domain.money.amounts import EntryKind
from tests.support.memory_inbound import contest, keep_inbound, note_answers
from tests.support.memory_leases import claimable, is_unsent, take_worker, unlisted_parts
from tests.support.memory_reading import MemoryReading, way_of
from tests.support.memory_retention import redacted
from tests.support.memory_rows import Batch, End, Moved, QueueRow, Reference, RetryRow, Rows, end_holds
from tests.support.memory_series import owe_series
from tests.support.memory_suppressions import is_untouched, is_whole, obey, withdraw


def _check(value: object, *, is_content: bool = False) -> None:
    """Raises StoreRejected for a value that no column takes: a text that is no UTF-8, a text with a NUL other than a
    message's content, a number over 64 bits."""
    if isinstance(value, str):
        if "\0" in value and not is_content:
            raise StoreRejected("a NUL in a text")
        try:
            value.encode()
        except UnicodeEncodeError as fault:
            raise StoreRejected("a text is no UTF-8") from fault
    elif isinstance(value, int):
        if not -(1 << 63) <= value < 1 << 63:
            raise StoreRejected("a number does not fit 64 bits")
    elif isinstance(value, list | tuple):
        for each in value:
            _check(each)
    elif isinstance(value, dict):
        _check(list(value.items()))
    elif is_dataclass(value):
        for name in _names(value):
            _check(getattr(value, name), is_content=name == "content")


_NAMES: dict[type[Any], tuple[str, ...]] = {}
"""Names of fields by class: asking for them each time took longer than looking at them."""


def _names(record: Any) -> tuple[str, ...]:
    kind = type(record)
    if kind not in _NAMES:
        _NAMES[kind] = tuple(each.name for each in fields(kind))
    return _NAMES[kind]


def allowance_of(rows: Rows, account: int) -> Allowance:
    """The limits of an account with their present use and the number of waiting messages."""
    found = rows.accounts.get(account)
    if found is None:
        return Allowance()
    waiting = sum(row.node is None and rows.messages[key].account == account for key, row in rows.queue.items())
    used = rows.used.get(account, Allowance())
    return replace(
        used,
        daily_messages=found.daily_messages,
        daily_spend=found.daily_spend,
        max_waiting=found.max_waiting,
        waiting=waiting,
    )


def void(rows: Rows, accept: Accept) -> bool:
    """Undoes a request with a lost answer, as `void_accepts` of PostgreSQL does. Returns False if it was taken up."""
    keys = [message.key for message in accept.messages if message.key in rows.messages]
    if not keys:
        return True
    waiting = [rows.queue[key] for key in keys if key in rows.queue]
    used = None if accept.reference is None else rows.references.get((accept.account, accept.reference))
    messages = [rows.messages[key] for key in keys]
    is_taken = (
        (used is not None and used.key == accept.key and used.replayed)
        or any(row.node is not None or row.attempted for row in waiting)
        or any((key, 0) in rows.sent for key in keys)
        or any(key in rows.finals and rows.messages[key].price for key in keys)
        or any(map(_fell_due, messages))
    )
    if is_taken:
        for message in messages:
            is_over = message.key in rows.finals or (message.key, 0) in rows.sent
            if message.key not in rows.queue and not is_over and not _fell_due(message):
                rows.queue[message.key] = QueueRow(message.connector, message.time, message.expires, False)
        return False
    rows.undone += 1
    for key in keys:
        del rows.messages[key]
        rows.queue.pop(key, None)
        rows.finals.pop(key, None)
    rows.batches.pop(accept.key, None)
    if accept.reference is not None:
        rows.references.pop((accept.account, accept.reference), None)
    charges = [each for each in rows.ledger if each.kind is EntryKind.CHARGE and each.key == accept.key]
    for charge in charges:
        rows.ledger.remove(charge)
        rows.balances[charge.account] -= charge.amount
    used_day = rows.used.get(accept.account)
    if used_day is not None and used_day.day_ends == accept.day_ends:
        used_day.messages -= sum(message.state != State.FAILED for message in messages)
        used_day.spend += sum(charge.amount for charge in charges)
    return True


def _fell_due(message: Message) -> bool:
    """Whether a message was accepted as scheduled, and has been claimed since."""
    return message.state == State.SENT and message.time > time_of(message.key) + 1000


class MemoryCommits(MemoryReading):
    """`app.ports.Commits`."""

    async def record(self, facts: Facts) -> None:
        for accept in facts.accepts:
            accept.verdict = Verdict.UNAVAILABLE
        rows = self._open()
        self._place.check_node(self._place.node)
        leave_out_contested(facts)
        _check(facts)
        if self._place.shared and facts.inbound:
            contest(rows, facts.inbound, self._place.node)
            leave_out_contested(facts)
        if any(message.key in rows.messages for accept in facts.accepts for message in accept.messages):
            raise StoreRejected("a message is there already")
        replies = [
            message.reply
            for message in facts.inbound
            if message.key not in rows.inbound and obey(self._place, message) and message.reply is not None
        ]
        for reply in replies:
            owe_series(self._place, reply.key)
        for accept in (*replies, *facts.accepts):
            self._accept(rows, accept)
        self._dispatch_facts(rows, facts)
        for part in facts.parts:
            rows.parts.setdefault((part.key, part.segment), part)
        for part in facts.progress:
            self._progress(rows, part)
        for final in facts.finals:
            self._end(rows, final)
        for withdrawal in facts.withdrawals:
            withdraw(self._place, withdrawal.key, withdrawal.at, withdrawal.note)
        for resend in facts.resends:
            self._resend(rows, resend)
        rows.early += facts.early
        rows.early = [each for each in rows.early if (each.connector, each.operator_id) not in facts.early_matched]
        rows.awaiting |= {(each.connector, each.operator_id, each.key, each.segment) for each in facts.awaiting}
        rows.awaiting -= {(each.connector, each.operator_id, each.key, each.segment) for each in facts.awaiting_matched}
        fresh = [each for each in facts.inbound if each.key not in rows.inbound]
        note_answers(rows, facts.inbound_answered, shared=self._place.shared)
        keep_inbound(rows, facts, self._place.node)
        for each in {each.key: each for each in fresh}.values():
            position = rows.positions.get(each.key, each.key)
            self._place.enter(each.account, EntryKind.INBOUND, -each.price, each.key, each.at, key=position)
        for retry in facts.callback_retries:
            self._retry(rows, retry)
        for done in facts.callbacks:
            self._called_back(rows, done)
        rows.marks.setdefault(self._place.worker, {}).update(facts.marks)
        self._place.note_low_balances()

    def _progress(self, rows: Rows, part: PartReceipt) -> None:
        known = [
            each.err
            for each in rows.progress
            if (each.key, each.segment, each.state) == (part.key, part.segment, part.state)
        ]
        if part.err not in known and len(known) < MOST_PROGRESS:
            rows.progress.append(part)
        key = notice_key_of(part.key, part.state)
        if part.owed and part.key not in rows.finals and key not in rows.callbacks and key not in rows.retries:
            rows.retries[key] = RetryRow(part.at, 0, b"", "", part.at)

    def _accept(self, rows: Rows, accept: Accept) -> None:
        account, spender = rows.accounts.get(accept.account), None
        if account is not None and not account.suspended:
            limited = account.daily_messages or account.daily_spend or account.max_waiting
            room = rows.balances[account.id] + account.credit_limit
            spender = Spender(account.id, room, True, allowance_of(rows, account.id) if limited else None)
        used = None if accept.reference is None else rows.references.get((accept.account, accept.reference))
        barred = [
            number
            for number, message in enumerate(accept.messages)
            if not accept.exempt and (accept.account, message.destination) in rows.suppressions
        ]
        waiting = sum(
            number not in barred and (message.queued or message.state != State.SENT)
            for number, message in enumerate(accept.messages)
        )
        accept.verdict = judge(spender, accept, None if used is None else used.fingerprint, barred, waiting)
        if spender is not None and spender.allowance is not None and not accept.exempt:
            rows.used[accept.account] = spender.allowance
        if accept.verdict is Verdict.REPLAYED and accept.reference is not None and used is not None:
            used.replayed = True
            first = self._first(rows, accept.account, accept.reference, used)
            accept.key, accept.tail, accept.total = first.key, first.tail, first.total
            accept.scheduled, accept.messages = first.scheduled, first.messages
        if account is None or accept.verdict is not Verdict.ACCEPTED:
            return
        saved = sum(accept.messages[number].price for number in barred)
        for number in barred:
            message = accept.messages[number]
            message.state, message.price, message.queued = State.FAILED, 0, False
            rows.finals[message.key] = End(Delivery.REJECTD, NO_CODE, accept.at, owed=False)
        accept.total -= saved
        if accept.batch:
            keys = [message.key for message in accept.messages]
            rows.batches[accept.key] = Batch(accept.key, accept.tail, account.id, accept.reference, accept.total, keys)
        for message in accept.messages:
            message.batch = accept.key if accept.batch else 0
            rows.messages[message.key] = replace(message, queued=False)
            if message.state == State.SCHEDULED or message.queued:
                rows.queue[message.key] = QueueRow(message.connector, message.time, message.expires, False)
        if accept.reference is not None:
            rows.references[account.id, accept.reference] = Reference(
                accept.fingerprint, accept.key, accept.batch, accept.scheduled
            )
        self._place.enter(account.id, EntryKind.CHARGE, -accept.total, accept.key, accept.at, key=accept.key)

    def _dispatch_facts(self, rows: Rows, facts: Facts) -> None:
        for each in facts.queueings:
            node = self._place.node if each.claimed else None
            rows.queue[each.key] = QueueRow(each.connector, each.due, each.expires, each.attempted, node, each.held)
            if each.held is not None:
                rows.message_holds.setdefault((each.key, each.since), MessageHold(each.since, None, each.held))
        for _, key in facts.sending:
            if key in rows.queue:
                rows.queue[key].attempted = True
        for _, key in facts.asking:
            if key in rows.messages:
                rows.messages[key].wants_receipt = True
        rows.attempts += [each for each in facts.attempts if each not in rows.attempts]
        for submission in facts.submissions:
            rows.sent.setdefault((submission.key, submission.segment), submission)
        for _, key in facts.dequeued:
            rows.queue.pop(key, None)

    def _end(self, rows: Rows, final: MessageEnd) -> None:
        if final.key in rows.finals:
            stands = rows.finals[final.key]
            final.superseded = (stands.state, stands.err, stands.at) != (final.state, final.err, final.at)
            return
        if final.failed:
            message = rows.messages.get(final.key)
            if message is None or (message.state, Trigger.FAIL) not in TABLE:
                return
            message.state = TABLE[State(message.state), Trigger.FAIL]
            rows.queue.pop(final.key, None)
            self._place.enter(final.account, EntryKind.REFUND, final.refund, final.key, final.at, "failed")
        rows.finals[final.key] = End(final.state, final.err, final.at, final.owed)

    def _resend(self, rows: Rows, resend: Resend) -> None:
        key, message = resend.key, rows.messages.get(resend.key)
        sent = [each for (of, _), each in rows.sent.items() if of == key]
        taken = [each for each in sent if each.connector == resend.connector and each.status == 0]
        if message is None or key in rows.finals or len(taken) != message.segments:
            return
        for each in sent:
            rows.attempts.append(
                Attempt(each.account, key, each.segment, each.connector, each.status, each.at, each.operator_id)
            )
            del rows.sent[key, each.segment]
            part = PartReceipt(resend.account, key, each.segment, resend.state, resend.err, resend.at)
            rows.progress.append(rows.parts.pop((key, each.segment), part))
        rows.queue[key] = QueueRow(resend.instead, resend.due, resend.expires, False)

    def _called_back(self, rows: Rows, done: CallbackDone) -> None:
        done = rows.callbacks.setdefault(done.key, done)
        retry = rows.retries.get(done.key)
        if done.end is CallbackEnd.DELIVERED:
            rows.retries.pop(done.key, None)
        elif retry is not None:
            retry.due, retry.node, retry.attempts = None, None, done.attempts

    def _retry(self, rows: Rows, retry: CallbackRetry) -> None:
        node = self._place.node if retry.claimed else None
        before = rows.retries.get(retry.key)
        problem = retry.problem or ("" if before is None else before.problem)
        rows.retries[retry.key] = RetryRow(
            retry.due, retry.attempts, retry.body, problem, retry.first, node, retry.parked
        )

    async def recover(self, worker: int, node: int) -> Recovery:
        rows = self._open()
        self._place.node, self._place.worker = node, worker
        if self._place.shared:
            take_worker(self._place, worker, node)
        else:
            self._give_up_others(rows, node)
        marks = rows.marks.get(worker, {})
        above = {name: marks.get(name, 0) for name in (DISPATCH, AWAITING, CALLBACK)}
        ours = partial(filter, lambda key: not self._place.shared or worker_of(key) == worker)
        open_keys = sorted(ours(rows.messages.keys() - rows.finals.keys()))
        return Recovery(
            last_key=max((0, *rows.messages, *rows.batches, *rows.inbound)),
            marks=dict(marks),
            unsent=[
                self._unsent(rows, key, key <= marks.get(attempted(rows.messages[key].connector), 0))
                for key in open_keys
                if key > above[DISPATCH] and is_unsent(rows, key)
            ],
            outstanding=[
                self._outstanding(rows, key)
                for key in open_keys
                if key > above[AWAITING] and unlisted_parts(rows, key)
            ],
            owed=[
                self._notice(rows, key, end.at)
                for key, end in ((key, rows.finals[key]) for key in sorted(ours(rows.finals)))
                if key > above[CALLBACK] and end.owed and end.state is not None
                if key not in rows.callbacks and key not in rows.retries
            ] + [
                self._notice(rows, key, message.at)
                for key, message in ((key, rows.inbound[key]) for key in sorted(ours(rows.inbound)))
                if key > above[CALLBACK] and message.way and key not in rows.callbacks and key not in rows.retries
            ],
            unanswered=any(not row.answered for row in rows.unanswered.values()),
            early=list(rows.early),
        )  # fmt: skip

    def _unsent(self, rows: Rows, key: int, is_attempted: bool) -> Queued:
        """A message of the fast lane. Its recipient may have opted out since it was accepted."""
        queued = self._queued(rows, key, is_attempted, queued=False)
        is_suppressed = (queued.message.account, queued.message.destination) in rows.suppressions
        queued.suppressed = is_suppressed and not is_attempted and is_untouched(self._place, key)
        return queued

    def _give_up_others(self, rows: Rows, node: int) -> None:
        """Frees the claims of earlier runs, where a single node uses the rows."""
        for row in claimable(rows):
            row.node = row.node if row.node == node else None
        for unanswered in rows.unanswered.values():
            unanswered.lost = unanswered.lost or unanswered.node != node
        rows.link_states = {key: state for key, state in rows.link_states.items() if state.node == node}
        rows.node_reports = {number: report for number, report in rows.node_reports.items() if number == node}


class MemoryQueue(MemoryReading):
    """`app.ports.Queue`."""

    async def claim(
        self, connector: int, limit: int, now: int, node: int, accounts: Sequence[int] = ()
    ) -> list[Queued]:
        rows = self._open()
        self._place.check_node(node)
        due = self._due(rows, connector, now)
        if not accounts:
            return self._claim(rows, due[:limit], node)
        keys: list[int] = []
        for account in accounts:
            keys += [key for key in due if rows.messages[key].account == account][:limit]
        return self._claim(rows, keys, node)

    async def claim_expired(self, limit: int, now: int, node: int) -> list[Queued]:
        rows = self._open()
        self._place.check_node(node)
        over = [(row.expires, key) for key, row in rows.queue.items() if row.node is None and row.expires <= now]
        return self._claim(rows, (key for _, key in sorted(over)[:limit]), node)

    async def accounts(self, connector: int, now: int) -> list[int]:
        rows = self._open()
        return sorted({rows.messages[key].account for key in self._due(rows, connector, now)})

    async def next_due(self) -> dict[int, int]:
        earliest: dict[int, int] = {}
        for row in self._open().queue.values():
            if row.node is None and row.held is None:
                earliest[row.connector] = min(row.due, earliest.get(row.connector, row.due))
        return earliest

    async def release(self, node: int) -> int:
        rows = self._open()
        held = [row for row in claimable(rows) if row.node == node]
        for row in held:
            row.node = None
        return len(held)

    async def untried(self, connector: int, limit: int, now: int) -> list[UntriedRow]:
        rows = self._open()
        tried = {key for key, _ in rows.sent} | {each.key for each in rows.attempts}
        due = self._due(rows, connector, now)
        untried = [key for key in due if key not in tried and not rows.queue[key].attempted]
        found = [rows.messages[key] for key in untried[:limit]]
        return [
            UntriedRow(each.key, each.account, each.destination, each.sender, each.price, each.segments, each.network)
            for each in found
        ]

    async def move(self, keys: Sequence[int], connector: int, instead: int) -> int:
        rows = self._open()
        waiting = [rows.queue[key] for key in keys if key in rows.queue]
        free = [row for row in waiting if row.connector == connector and row.node is None and row.held is None]
        free = [row for row in free if not row.attempted]
        for row in free:
            row.connector = instead
        return len(free)

    async def resume(self, now: int, limit: int) -> int:
        rows = self._open()
        free = [
            key
            for key, row in sorted(rows.queue.items())
            if row.held == OF_SUSPENDED and row.node is None
            if not rows.accounts[rows.messages[key].account].suspended
        ][:limit]
        for key in free:
            rows.queue[key].due, rows.queue[key].held = now, None
        end_holds(rows, free, now)
        return len(free)

    def _due(self, rows: Rows, connector: int, now: int) -> list[int]:
        """The keys of a connector's unclaimed rows, oldest due first."""
        due = [
            (row.due, key)
            for key, row in rows.queue.items()
            if row.node is None and row.held is None and row.connector == connector and row.due <= now
        ]
        return [key for _, key in sorted(due)]

    def _claim(self, rows: Rows, keys: Iterable[int], node: int) -> list[Queued]:
        claimed = []
        for key in keys:
            rows.queue[key].node = node
            message = rows.messages[key]
            message.state = TABLE.get((State(message.state), Trigger.DUE), State(message.state))
            queued = self._queued(rows, key, rows.queue[key].attempted, queued=True)
            is_suppressed = (message.account, message.destination) in rows.suppressions
            queued.suppressed = is_suppressed and is_whole(self._place, key)
            queued.is_reply = any(each.replied == key for each in rows.inbound.values())
            ends = [hold.ended for (of, _), hold in rows.message_holds.items() if of == key]
            ended = max((each for each in ends if each is not None), default=0)
            queued.message.released = ended if ended > message.time else 0
            claimed.append(queued)
        return claimed


class MemoryReceipts(MemoryReading):
    """`app.ports.Receipts`."""

    async def find(self, connector: int, operator_ids: Sequence[str]) -> list[Outstanding]:
        rows = self._open()
        keys = {key for of, name, key, _ in rows.awaiting if of == connector and name in operator_ids}
        return [self._outstanding(rows, key) for key in sorted(keys - rows.finals.keys())]

    async def outstanding(self, key: int) -> Outstanding | None:
        rows = self._open()
        return None if key in rows.finals or key not in rows.messages else self._outstanding(rows, key)

    async def overdue(self, expired: int, beyond: int, limit: int) -> tuple[list[Outstanding], list[int], int | None]:
        rows = self._open()
        bound = first_key_at(expired)
        keys = sorted({key for *_, key, _ in rows.awaiting if beyond < key < bound})[:limit]
        over = [key for key in keys if rows.messages[key].expires < expired]
        found = [self._outstanding(rows, key) for key in over if key not in rows.finals]
        ended = [key for key in over if key in rows.finals]
        return found, ended, keys[-1] if len(keys) == limit else None

    async def forget_awaited(self, keys: Sequence[int]) -> None:
        rows = self._open()
        rows.awaiting -= {row for row in rows.awaiting if row[2] in keys}

    async def unreported(self, before: int, beyond: int, limit: int) -> tuple[list[Unreported], int | None]:
        rows = self._open()
        bound = first_key_at(before)
        keys = sorted({key for *_, key, _ in rows.awaiting if beyond < key < bound})[:limit]
        taken: dict[tuple[int, int, str], int] = {}
        for connector, operator_id, key, segment in rows.awaiting:
            if key in keys and key not in rows.finals:
                name = (key, connector, operator_id)
                taken[name] = max(taken.get(name, 0), rows.sent[key, segment].at)
        found = [
            Unreported(*name, at, rows.messages[name[0]].sender, rows.messages[name[0]].destination)
            for name, at in sorted(taken.items())
        ]
        return found, keys[-1] if len(keys) == limit else None

    async def confirm(self, account: int, key: int, tail: int, delivered: bool, now: int) -> Feedback | None:
        rows = self._open()
        message = rows.messages.get(key)
        if message is None or (message.account, message.tail) != (account, tail):
            return None
        message = replace(message)
        taken = [each for (of, _), each in sorted(rows.sent.items()) if of == key and each.status in (0, NO_ANSWER)]
        if not taken:
            return Feedback(message, False, None, None)
        message.connector = taken[0].connector
        end = rows.finals.get(key)
        contradicts = end is not None and delivered != (end.state is Delivery.DELIVRD)
        before, _, corrects = rows.feedback.get(key, (False, 0, False))
        rows.feedback[key] = delivered, now, contradicts
        return Feedback(message, True, before if corrects else None, delivered if contradicts else None)

    async def ended(self, connector: int, operator_ids: Sequence[str], since: int, before: int) -> list[EndedPart]:
        rows = self._open()
        ended = []
        for (key, segment), each in sorted(rows.sent.items()):
            part, final = rows.parts.get((key, segment)), rows.finals.get(key)
            state = part.state if part is not None else final.state if final is not None else None
            is_among = each.connector == connector and each.status == 0 and each.operator_id in operator_ids
            if is_among and state is not None and first_key_at(since) <= key < first_key_at(before):
                ended.append(EndedPart(each.operator_id, rows.messages[key].destination, state))
        return ended

    async def orphans(self, limit: int, skip: int = 0) -> list[EarlyReceipt]:
        return self._open().early[::-1][skip : skip + limit]

    async def forget(self, before: int, most: int, limit: int) -> int:
        rows = self._open()
        beyond = len(rows.early) - most
        old = [each for place, each in enumerate(rows.early[:limit]) if each.at < before or place < beyond]
        rows.early = [each for each in rows.early if not any(each is one for one in old)]
        return len(old)


class MemoryNotices(MemoryReading):
    """`app.ports.Notices`."""

    async def claim(self, limit: int, now: int, node: int, accounts: Sequence[int] = ()) -> list[Notice]:
        rows = self._open()
        self._place.check_node(node)
        due = sorted(
            (row.due, key)
            for key, row in rows.retries.items()
            if row.node is None
            and row.due is not None
            and row.due <= now
            and (key < 0 or key in rows.finals or key in rows.inbound)
        )
        if not accounts:
            return [self._claimed(rows, key, node) for _, key in due[:limit]]
        return self._claim_each(rows, [key for _, key in due], limit, node, accounts)

    async def claim_parked(self, way: Way, limit: int, node: int, accounts: Sequence[int]) -> list[Notice]:
        rows = self._open()
        self._place.check_node(node)
        parked = sorted(
            (row.due, key)
            for key, row in rows.retries.items()
            if row.parked and row.node is None and row.due is not None and way_of(self._subject(rows, key)) is way
        )
        return self._claim_each(rows, [key for _, key in parked], limit, node, accounts)

    async def oldest_parked(self, way: Way, accounts: Sequence[int]) -> int | None:
        rows = self._open()
        subjects = ((self._subject(rows, key), row) for key, row in rows.retries.items())
        parked = [
            row.first
            for subject, row in subjects
            if row.parked and row.node is None and row.due is not None and way_of(subject) is way
            and subject.account in accounts
        ]  # fmt: skip
        return min(parked, default=None)

    def _claim_each(self, rows: Rows, keys: list[int], limit: int, node: int, accounts: Sequence[int]) -> list[Notice]:
        left = dict.fromkeys(accounts, limit)
        claimed = []
        for key in keys:
            account = self._subject(rows, key).account
            if left.get(account):
                left[account] -= 1
                claimed.append(self._claimed(rows, key, node))
        return claimed

    def _claimed(self, rows: Rows, key: int, node: int) -> Notice:
        row = rows.retries[key]
        row.node = node
        return self._notice(rows, key, row.first, row.attempts, row.body)

    async def accounts(self, beyond: int, limit: int) -> list[tuple[int, int]]:
        rows = self._open()
        first: dict[int, int] = {}
        for key, row in rows.retries.items():
            account = self._subject(rows, key).account
            if row.node is None and row.due is not None and account > beyond:
                first[account] = min(row.due, first.get(account, row.due))
        return sorted(first.items())[:limit]

    async def failing(self, often: int, many: int, limit: int) -> list[tuple[str, int]]:
        rows = self._open()
        attempts: dict[int, list[int]] = {}
        for key, row in rows.retries.items():
            notice = self._notice(rows, key, row.first, row.attempts, row.body)
            if row.due is not None and row.attempts and notice.way is Way.WEBHOOK:
                attempts.setdefault(notice.account, []).append(row.attempts)
        found = [
            (rows.accounts[account].name, min(len(each), many))
            for account, each in sorted(attempts.items())
            if max(each) >= often or len(each) >= many
        ]
        return found[:limit]

    async def next_due(self) -> int | None:
        rows = self._open().retries.values()
        return min((row.due for row in rows if row.node is None and row.due is not None), default=None)

    async def replay(self, keys: Sequence[int], now: int) -> int:
        rows = self._open()
        ended = [
            done.key
            for done in rows.callbacks.values()
            if done.end is not CallbackEnd.DELIVERED
            and done.key in keys
            and not redacted(self._subject(rows, done.key))
        ]
        for each in ended:
            old = rows.retries.get(each)
            body, problem = (old.body, old.problem) if old is not None else (b"", "")
            rows.retries[each] = RetryRow(now, 0, body, problem, now)
            del rows.callbacks[each]
        return len(ended)

    async def owed(
        self, limit: int, after: tuple[int, int] | None = None, account: int | None = None
    ) -> list[CallbackView]:
        rows = self._open()
        places = sorted(
            (row.due, key)
            for key, row in rows.retries.items()
            if row.node is None and row.due is not None
        )  # fmt: skip
        beyond = [key for due, key in places if after is None or (due, key) > after]
        views = [self._callback(rows, self._subject(rows, key), key) for key in beyond]
        return [view for view in views if view is not None and account in (None, view.account)][:limit]

    async def ended(self, limit: int, before: int | None = None) -> list[CallbackView]:
        rows = self._open()
        keys = sorted(
            (key for key, done in rows.callbacks.items() if done.end is not CallbackEnd.DELIVERED), reverse=True
        )
        views = [self._callback(rows, self._subject(rows, key), key) for key in keys if before is None or key < before]
        return [view for view in views if view is not None][:limit]

    async def drop(self, keys: Sequence[int], now: int) -> int:
        rows = self._open()
        dropped = 0
        for key in keys:
            retry = rows.retries.get(key)
            if retry is not None and retry.node is None and retry.due is not None:
                rows.callbacks.setdefault(
                    key,
                    CallbackDone(self._subject(rows, key).account, key, CallbackEnd.FAILED, 0, retry.attempts, now),
                )
                retry.due = None
                dropped += 1
        return dropped


class MemoryCustomers(MemoryReading):
    """`app.ports.Customers`."""

    async def balance(self, account: int) -> int:
        return self._open().balances.get(account, 0)

    async def allowance(self, account: int) -> Allowance:
        return allowance_of(self._open(), account)

    async def message(self, account: int, key: int, tail: int) -> Message | None:
        message = self._open().messages.get(key)
        if message is None or (message.account, message.tail) != (account, tail):
            return None
        return replace(message)

    async def tail(self, account: int, key: int) -> int | None:
        rows = self._open()
        found = rows.messages.get(key) or rows.batches.get(key)
        return None if found is None or found.account != account else found.tail

    async def batch(self, account: int, key: int, tail: int, index: int, limit: int) -> BatchSlice | None:
        rows = self._open()
        batch = rows.batches.get(key)
        if batch is None or (batch.account, batch.tail) != (account, tail):
            return None
        messages = [replace(rows.messages[of]) for of in batch.keys[index : index + limit]]
        return BatchSlice(key, tail, batch.reference, messages)

    async def replayed(self, account: int, reference: str) -> tuple[bytes, Accept] | None:
        rows = self._open()
        used = rows.references.get((account, reference))
        return None if used is None else (used.fingerprint, self._first(rows, account, reference, used))

    async def messages(self, account: int, query: ListQuery) -> list[Message]:
        shown = {*LISTED, State.SCHEDULED} if query.pending else set(LISTED)
        found = [
            message
            for message in self._open().messages.values()
            if message.account == account
            and message.state in shown
            and (query.start is None or message.time >= query.start)
            and (query.end is None or message.time < query.end + 1000)
        ]
        found.sort(key=lambda message: (message.time, message.key), reverse=query.descending)
        return [replace(message) for message in found[query.index : query.index + query.limit]]

    async def admit_list(self, account: int, now: int, interval: int, unanswered: int | None = None) -> int:
        rows = self._open()
        last = rows.last_list.get(account)
        if last is not None and last != unanswered and abs(now - last) < interval:
            return last + interval - now
        rows.last_list[account] = now
        return 0

    async def deliveries(self, keys: Sequence[int]) -> dict[int, tuple[Delivery | None, str, int]]:
        rows = self._open()
        finals = rows.finals
        ends = [(key, finals[key]) for key in keys if key in finals]
        held = {key: (None, "", 0) for key in keys if key in rows.queue and rows.queue[key].held is not None}
        return held | {key: (end.state, end.err, end.at) for key, end in ends if end.state is not None}

    async def cancel(self, account: int, key: int, tail: int, now: int) -> list[Message]:
        rows = self._open()
        messages = self._still_scheduled(rows, account, key, tail, now, Trigger.CANCEL)
        for message in messages:
            message.state = TABLE[State(message.state), Trigger.CANCEL]
            rows.queue.pop(message.key, None)
            rows.finals[message.key] = End(None, "", now, owed=False)
            self._place.enter(account, EntryKind.REFUND, message.price, message.key, now, "cancelled")
        for message in messages:
            owe_series(self._place, message.key, now)
        return [replace(message) for message in messages]

    async def reschedule(self, account: int, key: int, tail: int, time: int, expires: int, now: int) -> list[Message]:
        rows = self._open()
        messages = self._still_scheduled(rows, account, key, tail, now, Trigger.RESCHEDULE)
        for message in messages:
            self._note_move(rows, message, time, now)
            message.time, message.expires = time, expires
            rows.queue[message.key].due, rows.queue[message.key].expires = time, expires
        return [replace(message) for message in messages]

    def _note_move(self, rows: Rows, message: Message, time: int, now: int) -> None:
        known = [each for each in rows.moved if each.key == message.key]
        if len(known) >= MOST_MOVES:
            return
        if known and known[-1].at == now:
            known[-1].time = time
        else:
            rows.moved.append(Moved(message.key, now, message.time, time))

    def _still_scheduled(
        self, rows: Rows, account: int, key: int, tail: int, now: int, trigger: Trigger
    ) -> list[Message]:
        one, batch = rows.messages.get(key), rows.batches.get(key)
        if one is not None and (one.account, one.tail) == (account, tail):
            messages = [one]
        elif batch is not None and (batch.account, batch.tail) == (account, tail):
            messages = [rows.messages[of] for of in batch.keys]
        else:
            raise Missing("no such message")
        messages = [each for each in messages if (each.state, trigger) in TABLE and each.time > now]
        if not messages:
            raise NotScheduled("sent, cancelled or due already")
        return messages

    async def trace(self, account: int, key: int, tail: int) -> MessageRecord | None:
        rows = self._open()
        message = rows.messages.get(key)
        if message is None or (message.account, message.tail) != (account, tail):
            return None
        return self._record(rows, message)
