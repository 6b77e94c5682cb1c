"""`app.ports.Retention`: redacts and drops old rows, a bounded number of messages a transaction."""

from collections.abc import Sequence

from heliograph.adapters.store.shared.steps import Operations, Q, Steps, listing, write
from heliograph.app.facts import LOW_BALANCE, subject_key_of
from heliograph.app.kept_data import RetentionStep, RetentionSweep
from heliograph.domain.message.ids import first_key_at
from heliograph.domain.message.retention import Stage
from heliograph.domain.money.amounts import EntryKind


class StoredRetention(Operations):
    @write
    def advance(self, sweep: RetentionSweep, limit: int) -> Steps[RetentionStep]:
        account, stage, inbound = sweep.account, sweep.stage, sweep.inbound
        ((time, key),) = yield Q.retention_cursor(account=account, stage=stage, inbound=inbound)
        before = first_key_at(sweep.before)
        if key >= before if inbound else time >= sweep.before:
            # The cursor is ahead: the clock was, or texts are kept for longer now. Later messages may be behind it.
            time, key = (time, before - 1) if inbound else (sweep.before, -1)
            yield Q.retention_reached(account=account, stage=stage, inbound=inbound, time=time, key=key)
            return RetentionStep()
        if inbound:
            rows = yield Q.inbound_beyond(account=account, key=key, before=before, limit=limit)
        else:
            rows = yield Q.messages_beyond(account=account, time=time, key=key, before=sweep.before, limit=limit)
        if not rows:
            return RetentionStep()
        time, key = rows[-1]
        yield Q.retention_reached(account=account, stage=stage, inbound=inbound, time=time, key=key)
        keys = [key for _, key in rows]
        done = yield from take_settled(account, stage, keys, inbound=inbound, quiet=sweep.quiet)
        for kept in sorted(set(keys) - set(done)):
            yield Q.keep_for_later(account=account, stage=stage, key=kept)
        return RetentionStep(len(rows), len(done), key, time)

    @write
    def retry(self, account: int, stage: Stage, beyond: int, limit: int, quiet: int) -> Steps[RetentionStep]:
        rows = yield Q.kept_for_later(account=account, stage=stage, beyond=beyond, limit=limit)
        if not rows:
            return RetentionStep()
        keys = [key for (key,) in rows]
        done = yield from take_settled(account, stage, keys, inbound=False, quiet=quiet)
        done += yield from take_settled(account, stage, keys, inbound=True, quiet=quiet)
        # a row may have been dropped meanwhile
        rest = yield Q.keys_among(keys=keys)
        cleared = sorted({*done, *(set(keys) - {key for (key,) in rest})})
        if cleared:
            yield Q.forget_kept(account=account, stage=stage, keys=cleared)
        return RetentionStep(len(rows), len(done), keys[-1])

    @listing
    def accounts_kept(self, stage: Stage) -> Steps[list[int]]:
        rows = yield Q.accounts_kept(stage=stage)
        return [account for (account,) in rows]

    @write
    def forget_suppressed(self, account: int, before: int, limit: int) -> Steps[int]:
        return len((yield Q.forget_suppressed(account=account, before=before, limit=limit)))

    async def scrub(self) -> bool:
        return True

    @write
    def drop_lists(self, account: int, before: int, limit: int) -> Steps[int]:
        return len((yield Q.drop_lists(account=account, before=before, limit=limit)))

    @write
    def drop_balance_notices(self, account: int, before: int, limit: int) -> Steps[int]:
        rows = yield Q.old_balance_notices(account=account, before=before, limit=limit)
        if not rows:
            return 0
        ids = [id for (id,) in rows]
        keys = [LOW_BALANCE - id for id in ids]
        yield Q.forget_bodies(keys=keys)
        yield Q.drop_callbacks(keys=keys)
        return len((yield Q.drop_balance_notices(ids=ids)))

    @write
    def forget_refused(self, account: int, before: int) -> Steps[int]:
        yield Q.forget_list_problems(account=account, before=before)
        return len((yield Q.forget_refused_of(account=account, before=before)))


def take_settled(account: int, stage: Stage, keys: Sequence[int], *, inbound: bool, quiet: int = 0) -> Steps[list[int]]:
    """Applies the stage to the settled messages among an account's, and returns their keys. Rows go only if nothing
    happened to them since `quiet` (ms)."""
    rows = yield (Q.settled_inbound(keys=list(keys)) if inbound else Q.settled_messages(keys=list(keys)))
    settled = [key for (key,) in rows]
    if stage is Stage.ROW and settled:
        eventful = yield Q.eventful(keys=_with_notices(settled), quiet=quiet)
        last = (yield Q.last_positions(keys=settled)) if inbound else []
        settled = sorted(set(settled) - {subject_key_of(key) for (key,) in (*eventful, *last)})
    if not settled:
        return []
    if stage is Stage.ROW:
        yield from (_drop_inbound(account, settled) if inbound else _drop_messages(account, settled))
        return settled
    yield Q.forget_bodies(keys=_with_notices(settled))
    if inbound:
        yield from _redact_inbound(stage, settled)
    else:
        yield from _redact_messages(stage, settled)
    return settled


def _with_notices(keys: Sequence[int]) -> list[int]:
    return [*keys, *(notice for key in keys for notice in (-2 * key, -2 * key - 1))]


def _redact_messages(stage: Stage, keys: list[int]) -> Steps[None]:
    yield Q.forget_fingerprints(keys=keys)
    yield Q.drop_submissions(keys=keys)
    if stage is not Stage.NUMBER:
        yield Q.redact_texts(keys=keys)
    if stage is not Stage.TEXT:
        yield Q.forget_sorted(keys=keys)
        yield Q.redact_numbers(keys=keys)


def _redact_inbound(stage: Stage, keys: list[int]) -> Steps[None]:
    yield Q.forget_parts_of(keys=keys)
    if stage is not Stage.NUMBER:
        yield Q.redact_inbound_texts(keys=keys)
    if stage is not Stage.TEXT:
        yield Q.redact_inbound_numbers(keys=keys)


def _drop_messages(account: int, keys: list[int]) -> Steps[None]:
    ((count, amount, last),) = yield Q.charged_among(keys=keys)
    yield from _add_dropped(account, EntryKind.CHARGE, count, amount, last)
    ((count, amount, last),) = yield Q.refunded_among(keys=keys)
    yield from _add_dropped(account, EntryKind.REFUND, count, amount, last)
    rows = yield Q.batches_of(keys=keys)
    batches = [batch for (batch,) in rows]
    if batches:
        yield Q.note_dropped(keys=keys, batches=batches)
    yield Q.drop_references(keys=keys)
    yield Q.drop_submissions(keys=keys)
    yield Q.forget_sorted(keys=keys)
    notices = _with_notices(keys)
    yield Q.forget_bodies(keys=notices)
    yield Q.drop_callbacks(keys=notices)
    for drop in (
        Q.drop_sent, Q.drop_attempts, Q.drop_part_receipts, Q.drop_progress, Q.drop_feedback, Q.drop_awaiting,
        Q.drop_moves, Q.drop_holds,
    ):  # fmt: skip
        yield drop(keys=keys)
    yield Q.drop_finals(keys=keys)
    yield Q.drop_messages(keys=keys)
    yield Q.forget_empty_contents(first=keys[0], last=keys[-1])
    yield Q.drop_empty_blocks(first=keys[0], last=keys[-1])
    if batches:
        yield from _drop_empty(account, batches)


def _drop_empty(account: int, batches: list[int]) -> Steps[None]:
    """Drops batches without a message."""
    empty = yield Q.empty_batches(batches=batches)
    if not empty:
        return
    paid = [(key, dropped) for key, dropped in empty if dropped]
    last = max((key for key, _ in paid), default=0)
    yield from _add_dropped(account, EntryKind.CHARGE, len(paid), sum(dropped for _, dropped in paid), last)
    gone = [key for key, _ in empty]
    yield Q.drop_references_of_batches(account=account, batches=gone)
    yield Q.drop_batches(batches=gone)


def _drop_inbound(account: int, keys: list[int]) -> Steps[None]:
    ((count, amount, last),) = yield Q.inbound_charged(keys=keys)
    yield from _add_dropped(account, EntryKind.INBOUND, count, amount, last)
    yield Q.forget_bodies(keys=keys)
    yield Q.drop_callbacks(keys=keys)
    yield Q.forget_parts_of(keys=keys)
    yield Q.drop_inbound(keys=keys)


def _add_dropped(account: int, kind: EntryKind, entries: int, amount: int, last: int | None) -> Steps[None]:
    if entries:
        yield Q.add_dropped(account=account, kind=kind, entries=entries, amount=int(amount), last_key=last or 0)
