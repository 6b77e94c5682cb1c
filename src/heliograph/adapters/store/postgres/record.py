"""The hot path: gathered facts in a single statement, which is a transaction and a round trip."""

import asyncio
from collections.abc import Collection
from dataclasses import dataclass, fields, replace
from functools import partial
from operator import attrgetter
from typing import Any

from heliograph.adapters.store.postgres.connections import TRIES, Unresolved, Writer, resolve
from heliograph.adapters.store.postgres.driver import drive
from heliograph.adapters.store.postgres.faults import (
    contested_keys,
    describe,
    is_elsewhere,
    is_loss,
    is_passing,
    is_repeat,
    is_unfit,
    translated,
)
from heliograph.adapters.store.postgres.servers import Servers
from heliograph.adapters.store.postgres.session import set_encoders
from heliograph.adapters.store.postgres.statement import (
    SUPERSEDED,
    VERDICTS,
    FunctionCalls,
    accounts_of,
    add_accepts,
    add_begin,
    add_consents,
    add_others,
    add_singles,
    are_single,
)
from heliograph.adapters.store.shared.past import nudge_mark
from heliograph.adapters.store.shared.sql import fill
from heliograph.adapters.store.shared.suppressions import fail_suppressed
from heliograph.app.facts import Accept, Facts, MessageEnd, Verdict, leave_out_contested
from heliograph.app.ports import StoreRejected, Unavailable

_VOID = "SELECT void_accepts($1, $2, $3, $4, $5)"
_PRESENT = """
SELECT key FROM message WHERE key = ANY ($1) AND batch = 0 UNION ALL SELECT key FROM batch WHERE key = ANY ($1)
"""
_LEFT_OUT = fill("SELECT key FROM message WHERE key = ANY ($1) AND state = {State.FAILED} AND price = 0")
_SUPERSEDED = "SELECT superseded_ends($1, $2, $3, $4)"


@dataclass(slots=True)
class _Doubt:
    """A transaction that may have been committed, and its facts."""

    writer: int
    seq: int
    facts: Facts
    asked: list[Accept]
    """The callers' requests. Their verdict is IN_DOUBT, or the callers have given them up."""
    accepts: list[Accept]
    """Copies of them as they were written."""

    def end(self, taken: Collection[int], left_out: Collection[int]) -> None:
        """Sets the verdicts of requests that are still in doubt. `taken`: keys of requests that stay. `left_out`: keys
        of their messages to recipients who opted out."""
        for asked, accept in zip(self.asked, self.accepts, strict=True):
            if asked.verdict is Verdict.IN_DOUBT:
                asked.verdict = Verdict.ACCEPTED if accept.key in taken else Verdict.UNAVAILABLE
                if asked.verdict is Verdict.ACCEPTED and left_out:
                    indexes = [index for index, each in enumerate(asked.messages) if each.key in left_out]
                    fail_suppressed(asked, indexes)


class Recorder:
    """Records on a connection of its own, one transaction at a time.

    If the connection is lost before the answer, the row in `writer` shows whether the transaction was committed. While
    the database is away, `record` raises Unavailable and keeps the doubt: its requests are IN_DOUBT. The next call
    settles it first. If the facts were written after all, they are not written again, however many calls fail until one
    succeeds. Their requests are undone, unless somebody has taken them up: another node may have claimed a message, or
    may have answered a repeat of the request with 200.
    """

    def __init__(self, servers: Servers) -> None:
        self._servers = servers
        self._turn = asyncio.Lock()
        self._writer: Writer | None = None
        self._doubt: _Doubt | None = None
        self._written = Facts()
        """Facts that were written, though the caller was told otherwise: until a call succeeds, they come again."""
        self._closed = False
        self.node: int | None = None
        self.worker = 0

    async def record(self, facts: Facts) -> list[Accept]:
        """Does `Store.record`. Returns the REPLAYED requests; the caller looks up their first results."""
        for accept in facts.accepts:
            accept.verdict = Verdict.UNAVAILABLE
        async with self._turn:
            if self._closed:
                raise Unavailable("the store is closed")
            if self._servers.guard is not None:
                self._servers.guard.check()
            try:
                return await self._write_once(facts)
            except (asyncio.CancelledError, Unavailable, StoreRejected):
                raise
            except Exception as fault:
                raise translated(fault) from fault

    async def become(self, node: int, worker: int) -> None:
        """Writes as this node and worker from now on, on a new connection."""
        async with self._turn:
            self.node, self.worker = node, worker
            writer, self._writer = self._writer, None
            if writer is not None:
                await writer.close()

    def cut(self, below: int | None = None) -> None:
        """Terminates the connection, so that a call under way fails as after a loss.

        `below`: only if it leads to a server of an earlier timeline.
        """
        if self._writer is not None and (below is None or self._writer.timeline < below):
            self._writer.db.terminate()

    async def close(self) -> None:
        async with self._turn:
            self._closed = True
            if self._writer is not None:
                await self._writer.close()
                self._writer = None

    # --- a call

    async def _write_once(self, facts: Facts) -> list[Accept]:
        """Writes all facts, except facts that a transaction in doubt has written already.

        If the store rejects the rest, `facts` is reduced to it, because the caller then writes its facts in pieces.
        """
        await self._settle()
        left = without(facts, self._written) if self._written else facts
        try:
            replayed = await self._write(left)
        except StoreRejected:
            for each in fields(Facts):
                setattr(facts, each.name, getattr(left, each.name))
            raise
        if self._written:
            self._written = Facts()
        return replayed

    async def _write(self, facts: Facts) -> list[Accept]:
        """Writes the facts in a transaction. Tries again after a conflict, without contested messages, or if a lost
        transaction was undone."""
        accepts = facts.accepts
        _name_batches(accepts)
        tries, again = 0, False
        while True:
            tries += 1
            leave_out_contested(facts)
            writer = await self._open()
            try:
                verdicts = await self._execute(writer, facts, again=again)
            except Unresolved as doubt:
                self._keep(doubt, facts)
                if await resolve(self._servers, doubt.writer, doubt.seq):
                    await self._mark_superseded(facts.finals)
                    taken = await self._present(facts)
                    self._end_doubt(taken, await self._left_out(facts.accepts, taken))
                    return []
                self._end_doubt()
                if tries >= TRIES:
                    raise Unavailable("the connection to the database is lost again and again") from doubt
            except Exception as fault:
                if is_repeat(fault) and not again:
                    again = True
                    continue
                if _mark_contested(facts, fault):
                    continue
                if is_unfit(fault):
                    raise StoreRejected(describe(fault)) from fault
                if not is_passing(fault) or tries >= TRIES:
                    raise
                await asyncio.sleep(0.002 * tries)
            else:
                return _set_verdicts(accepts, verdicts)

    async def _execute(self, writer: Writer, facts: Facts, *, again: bool) -> list[int] | None:
        """Returns the verdicts in order, None where all are accepted. `again`: facts may have been recorded before."""
        accepts = facts.accepts
        accounts = accounts_of(facts)
        single = are_single(facts)
        calls = FunctionCalls()
        writer.seq += 1
        add_begin(calls, facts.inbound, self.node or 0)
        calls.add("record_open", writer.id, writer.seq, [] if single else accounts)
        add_consents(calls, facts.inbound)
        if accepts:
            (add_singles if single else add_accepts)(calls, accepts, accounts)
        add_others(calls, facts, self.node or 0, self.worker, again=again)
        try:
            row = await writer.db.fetchrow(calls.text(), *calls.values)
        except BaseException as fault:
            if is_elsewhere(fault):
                writer.db.terminate()
            elif is_loss(fault) or not isinstance(fault, Exception):
                writer.db.terminate()
                self._writer = None
                if isinstance(fault, Exception):
                    raise Unresolved(writer.id, writer.seq) from fault
                self._keep(Unresolved(writer.id, writer.seq), facts)
            raise
        assert row is not None
        self._servers.writer, self._servers.commits = writer.id, writer.seq
        if SUPERSEDED in row.keys():  # noqa: SIM118 - a record's `in` looks at its values
            superseded = set(row[SUPERSEDED])
            for final in facts.finals:
                final.superseded = final.key in superseded
        return row[VERDICTS] if accepts else None

    async def _open(self) -> Writer:
        if self._writer is not None and not self._writer.db.is_closed():
            try:
                await self._writer.replan()
            except Exception as fault:
                if not is_loss(fault):
                    raise
                self._writer.db.terminate()
            else:
                return self._writer
        writer = await Writer.open(self._servers, self.node)
        try:
            await set_encoders(writer.db)
            if self._servers.guard is not None:
                await drive(writer.db, partial(nudge_mark, self._servers.guard))
        except BaseException:
            writer.db.terminate()
            raise
        self._writer = writer
        return writer

    # --- transactions in doubt

    def _keep(self, doubt: Unresolved, facts: Facts) -> None:
        for accept in facts.accepts:
            accept.verdict = Verdict.IN_DOUBT
        accepts = [replace(accept) for accept in facts.accepts]
        self._doubt = _Doubt(doubt.writer, doubt.seq, without(facts, Facts()), list(facts.accepts), accepts)

    def _end_doubt(self, taken: Collection[int] = (), left_out: Collection[int] = ()) -> None:
        if self._doubt is not None:
            self._doubt.end(taken, left_out)
            self._doubt = None

    async def _present(self, facts: Facts) -> set[int]:
        """Returns the keys of the requests with rows in the store, after a commit with a lost answer.

        The others were refused; the reasons were lost with the answer.
        """
        writer = await self._open()
        return {row[0] for row in await writer.db.fetch(_PRESENT, [accept.key for accept in facts.accepts])}

    async def _left_out(self, accepts: list[Accept], taken: Collection[int]) -> set[int]:
        """Returns the keys of messages of the requests `taken` that failed at once, because their recipients opted out:
        they must not be sent. The lost answer named them."""
        keys = [each.key for accept in accepts if accept.batch and accept.key in taken for each in accept.messages]
        if not keys:
            return set()
        writer = await self._open()
        return {row[0] for row in await writer.db.fetch(_LEFT_OUT, keys)}

    async def _mark_superseded(self, finals: list[MessageEnd]) -> None:
        """Marks the ends that another end came before, as the lost answer would have."""
        if not finals:
            return
        writer = await self._open()
        columns = [list(map(attrgetter(name), finals)) for name in ("key", "state", "err", "at")]
        superseded = set(await writer.db.fetchval(_SUPERSEDED, *columns))
        for final in finals:
            final.superseded = final.key in superseded

    async def _settle(self) -> None:
        """Finds out whether a transaction in doubt was committed, and notes the facts that it wrote after all."""
        doubt = self._doubt
        if doubt is None:
            return
        taken: list[int] = []
        left_out: set[int] = set()
        if await resolve(self._servers, doubt.writer, doubt.seq):
            if doubt.accepts:
                writer = await self._open()
                accepts = doubt.accepts
                taken = await writer.transact(
                    lambda db: db.fetchval(
                        _VOID,
                        [accept.account for accept in accepts],
                        [accept.key for accept in accepts],
                        [accept.messages[-1].key if accept.batch else 0 for accept in accepts],
                        [accept.reference for accept in accepts],
                        [accept.day_ends for accept in accepts],
                    )
                )
                left_out = await self._left_out(accepts, taken)
            await self._mark_superseded(doubt.facts.finals)
            note_written(self._written, doubt.facts)
        self._end_doubt(taken, left_out)


def note_written(written: Facts, facts: Facts) -> None:
    """Adds facts to the `written` ones, except requests, which are undone, and marks, which are written again."""
    for each in fields(Facts):
        if each.name not in ("accepts", "marks"):
            getattr(written, each.name).extend(getattr(facts, each.name))


def without(facts: Facts, done: Facts) -> Facts:
    """Returns the facts that are not the very objects in `done`. Marks stay, because later marks replace earlier
    marks."""
    left: dict[str, Any] = {}
    for each in fields(Facts):
        values = getattr(facts, each.name)
        if each.name not in ("accepts", "marks"):
            known = set(map(id, getattr(done, each.name)))
            values = [value for value in values if id(value) not in known]
        left[each.name] = values
    return Facts(**left)


def _name_batches(accepts: list[Accept]) -> None:
    """Sets the batch of each message of a request with several."""
    for batch in (accept for accept in accepts if accept.batch):
        for message in batch.messages:
            message.batch = batch.key


def _mark_contested(facts: Facts, fault: Exception) -> bool:
    """Marks the messages that made the store undo the transaction as contested. Returns whether there are any."""
    contested = contested_keys(fault)
    for message in facts.inbound:
        message.contested = message.key in contested
    return bool(contested)


def _set_verdicts(accepts: list[Accept], verdicts: list[int] | None) -> list[Accept]:
    """Sets the verdicts, after the commit; returns the replayed requests."""
    replayed: list[Accept] = []
    if verdicts is None:
        for accept in accepts:
            accept.verdict = Verdict.ACCEPTED
        return replayed
    requests = [(accept, number) for accept in accepts for number in range(len(accept.messages))]
    for number in verdicts[len(accepts) :]:
        accept, index = requests[number - 1]
        fail_suppressed(accept, [index])
    for accept, verdict in zip(accepts, verdicts, strict=False):
        if verdict == Verdict.REPLAYED:
            replayed.append(accept)
        else:
            accept.verdict = Verdict(verdict)
    return replayed
