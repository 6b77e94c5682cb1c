"""Proves that the audit log is what was written: by its chain of hashes, and by heads that were exported before."""

import hmac
import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from heliograph.app.ports import AuditLog
from heliograph.app.records import AuditHead, AuditLink
from heliograph.app.resources.desk import Desk, Invalid
from heliograph.domain.calendar import format_utc
from heliograph.domain.display import counted
from heliograph.domain.security.audit_chain import GENESIS, entry_hash, head_signature

PAGE = 1_000
"""Entries that are read at once."""

_BEFORE_ALL = -(1 << 63)


@dataclass(frozen=True, slots=True)
class ExportedHead:
    """The end of the log at a time, to be kept where whoever changes the log cannot reach it. An empty signature is
    none."""

    entries: int
    hash: bytes
    at: int
    signature: bytes = b""


def read_heads(text: str) -> list[ExportedHead]:
    """Reads exported heads, a JSON object a line. Raises Invalid."""
    heads = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            try:
                heads.append(_read_head(json.loads(line)))
            except (ValueError, KeyError, TypeError):
                raise Invalid("head", f"line {number} is no head as heliograph audit --head writes it") from None
    if not heads:
        raise Invalid("head", "there is none in the file")
    return heads


def _read_head(found: dict[str, Any]) -> ExportedHead:
    chain_hash, at = bytes.fromhex(found["hash"]), datetime.fromisoformat(found["time"])
    if len(chain_hash) != len(GENESIS) or not isinstance(found["entries"], int) or at.tzinfo is None:
        raise ValueError(found)
    return ExportedHead(found["entries"], chain_hash, _whole_ms(at), bytes.fromhex(found.get("signature") or ""))


def _whole_ms(at: datetime) -> int:
    return int(at.timestamp()) * 1000 + at.microsecond // 1000


async def head(desk: Desk) -> ExportedHead:
    """Returns the end of the log as it is now, signed if there is a secret."""
    secret, at = desk.audit_secret(), desk.now // 1000 * 1000
    kept = await desk.store.audit_log.head()
    signature = b"" if secret is None else head_signature(secret, kept.key, kept.hash, at)
    return ExportedHead(kept.key, kept.hash, at, signature)


async def faults(desk: Desk, exported: Iterable[ExportedHead] = ()) -> list[str]:
    """Follows the chain up to the head that the log has now, and compares it with heads `exported` before.

    Returns a sentence for the first entry that is not as it was written, and for each head that the log does not
    have any more; none if all is well.
    """
    heads, log = list(exported), desk.store.audit_log
    problems = _unsigned(desk.audit_secret(), heads)
    walk = _ChainWalk(heads)
    kept = await log.head()
    broken = await _follow(log, walk, kept)
    problems += walk.rewritten
    if broken is not None:
        return [*problems, broken]
    return problems + walk.ended(kept)


async def _follow(log: AuditLog, walk: "_ChainWalk", kept: AuditHead) -> str | None:
    """Returns the fault of the first entry that does not belong into the chain, None if all do."""
    after = _BEFORE_ALL
    while True:
        page = await log.links(after, PAGE)
        for link in page:
            if link.key > kept.key:
                # written since, or put there behind the log's back
                behind = link.key > (await log.head()).key
                return f"Entry {link.key} of the audit log lies behind its end." if behind else None
            problem = walk.step(link)
            if problem is not None:
                return problem
        if len(page) < PAGE:
            return None
        after = page[-1].key


def _unsigned(secret: bytes | None, heads: list[ExportedHead]) -> list[str]:
    if secret is None:
        return []
    wrong = [
        head
        for head in heads
        if not hmac.compare_digest(head.signature, head_signature(secret, head.entries, head.hash, head.at))
    ]
    return [f"The head of {format_utc(head.at)} was not signed with the secret of audit.key_file." for head in wrong]


class _ChainWalk:
    """A walk along the chain, entry by entry, that meets the exported heads on its way."""

    def __init__(self, heads: Iterable[ExportedHead]) -> None:
        self._ahead = sorted(heads, key=lambda head: head.entries)
        self._key = 0
        self._hash = GENESIS
        self.rewritten: list[str] = []
        """Sentences about exported heads that name another chain."""
        self._meet()

    def step(self, link: AuditLink) -> str | None:
        """Goes on to the next entry. Returns what is wrong with it, None if it belongs there."""
        expected = self._key + 1
        if link.key > expected:
            missing = f"Entry {expected}" if link.key == expected + 1 else f"Entries {expected} to {link.key - 1}"
            return f"{missing} of the audit log {'is' if link.key == expected + 1 else 'are'} missing."
        texts = (link.actor, link.action, link.target, link.details, link.address)
        if link.key < expected or entry_hash(self._hash, link.key, link.at, texts) != link.hash:
            return f"Entry {link.key} of the audit log is not as it was written: {link.action} by {link.actor}."
        self._key, self._hash = link.key, link.hash
        self._meet()
        return None

    def ended(self, kept: AuditHead) -> list[str]:
        """Returns what is wrong with the end of the log, and which heads lie beyond it."""
        problems = []
        if self._key < kept.key:
            gone = counted(kept.key - self._key, "entry", "entries")
            problems.append(f"The audit log ends with entry {self._key}; after it {gone} more had been written.")
        elif self._hash != kept.hash:
            problems.append("The head of the audit log is not the hash of its last entry.")
        return problems + [
            f"The audit log ends with entry {self._key}, and had {head.entries} at {format_utc(head.at)}: its end was "
            "removed, or the store was restored from an earlier backup."
            for head in self._ahead
        ]

    def _meet(self) -> None:
        while self._ahead and self._ahead[0].entries <= self._key:
            head = self._ahead.pop(0)
            if head.entries != self._key or head.hash != self._hash:
                when = format_utc(head.at)
                self.rewritten.append(
                    f"The audit log up to entry {head.entries} is not that of {when}: it was rewritten."
                )
