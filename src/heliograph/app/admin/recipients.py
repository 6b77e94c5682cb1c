"""One recipient's data: what is kept of a phone, as a whole to hand out, and its erasure with a report."""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from heliograph.app.kept_data import ErasureStep, PhoneTraces
from heliograph.app.records import InboundRecord, MessageRecord
from heliograph.app.resources.desk import Desk, Invalid, account_id
from heliograph.domain.message.suppression import parse_number
from heliograph.domain.numbers import phone

BATCH: Final = 100
"""Messages that are erased in one transaction."""

MOST_EXPORTED: Final = 10_000
"""Messages that one export has, the newest ones."""


@dataclass(frozen=True, slots=True)
class ErasureLine:
    """One kind of thing that had the number."""

    what: str
    found: int
    erased: int
    """Of those found; or what would be, on a dry run."""
    cancelled: int = 0
    """Of those erased: what waited, and was cancelled and refunded."""
    left: int = 0
    """Of those found: something is owed for them; they are erased once nothing is."""
    note: str = ""


@dataclass(frozen=True, slots=True)
class ErasureReport:
    """Report of an erasure: what it found, did, and could not do."""

    number: str
    """First and last digits."""
    dry_run: bool
    lines: tuple[ErasureLine, ...]
    kept: tuple[tuple[str, str], ...]
    """Traces that stay, each with its reason."""

    @property
    def found(self) -> int:
        return sum(line.found for line in self.lines)


@dataclass(frozen=True, slots=True)
class RecipientData:
    """Everything that is kept of a phone."""

    number: str
    at: int
    messages: list[MessageRecord]
    inbound: list[InboundRecord]
    traces: PhoneTraces
    accounts: dict[int, str]
    connectors: dict[int, str]

    @property
    def complete(self) -> bool:
        """Whether no message was left out for want of room."""
        return len(self.traces.messages) <= MOST_EXPORTED and len(self.traces.inbound) <= MOST_EXPORTED


KEPT: Final = (
    ("ledger", "amounts, times and ids of messages: the books are kept; no number and no text is in them"),
    ("messages", "their ids, times, states, prices and parts stay until their rows are dropped (retain_days)"),
    ("suppressions", "a keyed digest of the number, so that whoever opted out is not sent to again"),
    ("audit log", "the first three and last two digits of phones; in full what was a setting or a note"),
    ("texts of others", "messages to other phones that name this one in their text are not looked into"),
    ("settings", "what people wrote there, and as a reference or note: numbers, prefixes, senders, templates"),
    ("logs", "what was written where the log shows numbers (log.sensitive), and traces that were exported"),
    ("unused octets", "the store's file may have copies in unused parts of its pages: heliograph compact removes them"),
    ("backups", "those that were made before cannot be reached; nor, with PostgreSQL, its log before it is recycled"),
)
"""Traces that every erasure leaves, each with its reason."""


class ManageRecipients(Desk):
    """Methods raise Invalid and NoSuch for mistakes of the user, and the store's Unavailable. The audit log has the
    first and last digits of the number."""

    async def erase(self, number: str, account: str | None = None, *, dry_run: bool = False) -> ErasureReport:
        """Erases a number and the texts of its messages, for one account or everywhere; returns what was done."""
        wanted, owner = _number(number), await self._account(account)
        traces = await self.store.recipients.traces(wanted, owner)
        if not dry_run:
            found = {"messages": str(len(traces.messages)), "inbound": str(len(traces.inbound))}
            details = {"number": phone.mask(wanted), **found}
            await self.audited("recipient.erase", account or "all accounts", details).recipients.forget(wanted, owner)
        step = self._judge if dry_run else self._erase
        lines = (
            await self._each("messages to it", traces.messages, step),
            await self._each("messages from it", [(of, key) for of, key, _ in traces.inbound], step),
            _whole("suppressions", len(traces.suppressions), "they go on holding"),
            _whole("receipts that match no message", len(traces.unmatched)),
            _parts(traces.parts),
        )
        emptied = dry_run or await self.store.retention.scrub()
        log = () if emptied else (("write-ahead log", "somebody read meanwhile: it has older pages for a while yet"),)
        return ErasureReport(phone.mask(wanted), dry_run, lines, (*log, *KEPT))

    async def export(self, number: str, account: str | None = None) -> RecipientData:
        """Returns everything that is kept of a number, for one account or all. The audit log tells that it was."""
        wanted, owner = _number(number), await self._account(account)
        await self.note("recipient.export", account or "all accounts", {"number": phone.mask(wanted)})
        traces = await self.store.recipients.traces(wanted, owner)
        keys = sorted((key for _, key in traces.messages), reverse=True)[:MOST_EXPORTED]
        messages = [await self.store.messages.trace(key) for key in keys]
        inbound = [
            await self.store.inbound.show(key, tail)
            for key, tail in sorted(((key, tail) for _, key, tail in traces.inbound), reverse=True)[:MOST_EXPORTED]
        ]
        return RecipientData(
            wanted,
            self.now,
            [each for each in messages if each is not None],
            [each for each in inbound if each is not None],
            traces,
            {each.id: each.name for each, _ in await self.store.accounts.all()},
            {each.id: each.name for each in (await self.store.network.tables()).connectors},
        )

    async def _each(
        self,
        what: str,
        found: Sequence[tuple[int, int]],
        step: Callable[[int, list[int]], Awaitable[ErasureStep]],
    ) -> ErasureLine:
        cancelled = erased = left = 0
        for account, keys in _batches(found):
            done = await step(account, keys)
            cancelled, erased, left = cancelled + done.cancelled, erased + done.erased, left + done.left
        note = "in flight, or still to be told: erased by the gateway once they are not" if left else ""
        return ErasureLine(what, len(found), erased, cancelled, left, note)

    async def _judge(self, account: int, keys: list[int]) -> ErasureStep:
        return await self.store.recipients.judge(account, keys)

    async def _erase(self, account: int, keys: list[int]) -> ErasureStep:
        return await self.store.recipients.erase(account, keys, self.now)

    async def _account(self, name: str | None) -> int | None:
        return None if name is None else await account_id(self.store, name)


def _batches(found: Sequence[tuple[int, int]]) -> Iterator[tuple[int, list[int]]]:
    """Groups keys by account, BATCH at most."""
    by_account: dict[int, list[int]] = {}
    for account, key in found:
        by_account.setdefault(account, []).append(key)
    for account, keys in sorted(by_account.items()):
        for at in range(0, len(keys), BATCH):
            yield account, keys[at : at + BATCH]


def _whole(what: str, found: int, note: str = "") -> ErasureLine:
    return ErasureLine(what, found, found, note=note if found else "")


def _parts(waiting: int) -> ErasureLine:
    note = "they are joined to a message within ten minutes: erase again then" if waiting else ""
    return ErasureLine("parts of messages from it that wait for others", waiting, 0, left=waiting, note=note)


def _number(text: str) -> str:
    try:
        return parse_number(text)
    except ValueError as problem:
        raise Invalid("number", str(problem)) from None
