"""Proves that the audit log is unchanged, by its hash chain and by heads that were exported before."""

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
    """The end of the log at a time. It is stored at a place that an attacker of the log cannot change."""

    entries: int
    hash: bytes
    """The hash of the last entry, which covers all entries."""
    at: int
    """Milliseconds."""
    signature: bytes = b""
    """Empty without `audit.key_file`."""


def read_heads(text: str) -> list[ExportedHead]:
    """Reads exported heads, a JSON object on each line. Raises Invalid."""
    heads = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            try:
                heads.append(_read_head(json.loads(line)))
            except (ValueError, KeyError, TypeError):
                raise Invalid("head", f"line {number} is not a head of heliograph audit --head") from None
    if not heads:
        raise Invalid("head", "the file has no heads")
    return heads


def _read_head(found: dict[str, Any]) -> ExportedHead:
    chain_hash, at = bytes.fromhex(found["hash"]), datetime.fromisoformat(found["time"])
    if len(chain_hash) != len(GENESIS) or not isinstance(found["entries"], int) or at.tzinfo is None:
        raise ValueError(found)
    return ExportedHead(found["entries"], chain_hash, _whole_ms(at), bytes.fromhex(found.get("signature") or ""))


def _whole_ms(at: datetime) -> int:
    return int(at.timestamp()) * 1000 + at.microsecond // 1000


async def head(desk: Desk) -> ExportedHead:
    """Returns the present end of the log, signed if there is a secret."""
    secret, at = desk.audit_secret(), desk.now // 1000 * 1000
    kept = await desk.store.audit_log.head()
    signature = b"" if secret is None else head_signature(secret, kept.key, kept.hash, at)
    return ExportedHead(kept.key, kept.hash, at, signature)


async def faults(desk: Desk, exported: Iterable[ExportedHead] = ()) -> list[str]:
    """Follows the chain up to the present head, and compares it with heads that were `exported` before.

    Returns a sentence for the first entry that was changed, and for each exported head that the log no longer has. An
    empty list means that the log is unchanged.
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
    """Returns a sentence about the first entry that breaks the chain, or None."""
    after = _BEFORE_ALL
    while True:
        page = await log.links(after, PAGE)
        for link in page:
            if link.key > kept.key:
                # The gateway wrote it after the walk began, or somebody else put it there.
                behind = link.key > (await log.head()).key
                return f"Entry {link.key} of the audit log is beyond its end." if behind else None
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
    """A walk along the chain, entry by entry, that compares the exported heads on its way."""

    def __init__(self, heads: Iterable[ExportedHead]) -> None:
        self._ahead = sorted(heads, key=lambda head: head.entries)
        self._key = 0
        self._hash = GENESIS
        self.rewritten: list[str] = []
        """Sentences about exported heads that do not fit this chain."""
        self._meet()

    def step(self, link: AuditLink) -> str | None:
        """Goes on to the next entry. Returns a sentence if it breaks the chain, else None."""
        expected = self._key + 1
        if link.key > expected:
            missing = f"Entry {expected}" if link.key == expected + 1 else f"Entries {expected} to {link.key - 1}"
            return f"{missing} of the audit log {'is' if link.key == expected + 1 else 'are'} missing."
        texts = (link.actor, link.action, link.target, link.details, link.address)
        if link.key < expected or entry_hash(self._hash, link.key, link.at, texts) != link.hash:
            return f"Entry {link.key} of the audit log was changed: {link.action} by {link.actor}."
        self._key, self._hash = link.key, link.hash
        self._meet()
        return None

    def ended(self, kept: AuditHead) -> list[str]:
        """Returns sentences about a wrong end of the log, and about exported heads beyond it."""
        problems = []
        if self._key < kept.key:
            gone = counted(kept.key - self._key, "further entry was", "further entries were")
            problems.append(f"The audit log ends with entry {self._key}, but {gone} written.")
        elif self._hash != kept.hash:
            problems.append("The head of the audit log is not the hash of its last entry.")
        return problems + [
            f"The audit log ends with entry {self._key}, but had {head.entries} at {format_utc(head.at)}: its end was "
            "removed, or the store was restored from an earlier backup."
            for head in self._ahead
        ]

    def _meet(self) -> None:
        while self._ahead and self._ahead[0].entries <= self._key:
            head = self._ahead.pop(0)
            if head.entries != self._key or head.hash != self._hash:
                when = format_utc(head.at)
                self.rewritten.append(
                    f"The audit log up to entry {head.entries} differs from the log of {when}: it was rewritten."
                )
