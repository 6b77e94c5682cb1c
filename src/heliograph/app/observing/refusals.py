"""Refused requests of customers: counted and sampled in memory, until a batch of them is written.

A refusal makes no fact and no commit. Memory for each account is bounded: a count for each reason and hour, and the
last `KEPT` requests for each reason. So a client that is refused all the time displaces no sample of another account,
and no sample of its own for another reason.
"""

import re
from collections import Counter, deque
from dataclasses import dataclass, field, replace
from typing import Final

from heliograph.app.configuration import Account
from heliograph.app.records import RefusalCount, RefusedRequest
from heliograph.domain.error import Fault, Reason
from heliograph.domain.numbers.phone import EXAMPLE, mask, mask_search

KEPT: Final = 20
"""Latest refused requests kept for each account and reason."""

MOST_KINDS: Final = 20_000
"""Most pairs of account and reason that are noted until the next write. Refusals beyond are counted in the metrics
only.
"""

HOUR_MS: Final = 3_600_000
MINUTE_MS: Final = 60_000

_MESSAGE_CHARS: Final = 300
_WORD_CHARS: Final = 128
_VALUE_CHARS: Final = 16
"""Most characters of a customer's value that may be shown, because it is too short to be a text."""

_VALUE = re.compile(r"[\"'].*[\"']", re.DOTALL)
_NUMBER = re.compile(r"\+?[0-9]{6,}")
_NUMBER_IN_PATH = re.compile(r"\+?[0-9]{6,20}").fullmatch
"""Matches a phone number such as `+491701234567`, but no message id, even if it consists of digits."""
_PUBLIC = frozenset({"to", "from", "number", "after"})
"""Fields that never contain a text. Numbers in them are still masked."""
_MOMENT = re.compile(r"[\"'](?:[0-9]{4}-[0-9]{2}-[0-9]{2}[0-9T:.+Z -]{0,25}|1[0-9]{9}|[0-9]{1,5})[\"']").fullmatch
"""Matches a quoted time that may be shown: a date, a few digits, or seconds since 1970. No number of a phone that has
ten digits begins with 1."""
_SECONDS = re.compile(r"1[0-9]{9}").fullmatch
_SPELT = re.compile(r"\+?[0-9](?:[\s().,/+-]{0,2}[0-9]){5,}")
"""Matches a number as people write it, with spaces or punctuation."""
_TIMES = frozenset({"time", "validity"})
_TEXTS = frozenset({"content", "udh", "tlvs", "reference"})


@dataclass(frozen=True, slots=True)
class Asked:
    """The parts of a request that may be shown, without its account. `path` has no query."""

    method: str
    path: str
    address: str
    request_id: str


@dataclass(slots=True)
class RefusalBatch:
    """Refusals that are to be written: counts of each account, reason and hour, and the latest requests, oldest first
    within account and reason. `names` are the accounts' by id."""

    counts: dict[tuple[int, Reason, int], RefusalCount] = field(default_factory=dict)
    latest: dict[tuple[int, Reason], deque[RefusedRequest]] = field(default_factory=dict)
    names: dict[int, str] = field(default_factory=dict)

    def add(self, request: RefusedRequest, number: int = 1) -> None:
        """Counts `number` refusals and keeps this request, the last."""
        kind = (request.account, request.reason)
        samples = self.latest.get(kind)
        if samples is None:
            if len(self.latest) >= MOST_KINDS:
                return
            samples = self.latest[kind] = deque(maxlen=KEPT)
        samples.append(request)
        self.count(RefusalCount(*kind, request.at // HOUR_MS * HOUR_MS, number, request.at))

    def count(self, added: RefusalCount) -> None:
        key = (added.account, added.reason, added.hour)
        known = self.counts.get(key)
        if known is None:
            if len(self.counts) < MOST_KINDS:
                self.counts[key] = replace(added)
            return
        known.requests += added.requests
        known.latest = max(known.latest, added.latest)

    def merge(self, newer: "RefusalBatch") -> None:
        """Adds a newer batch behind this batch."""
        self.names |= newer.names
        for samples in newer.latest.values():
            for each in samples:
                self.add(each, 0)
        for count in newer.counts.values():
            if (count.account, count.reason) in self.latest:
                self.count(count)


class Refusals:
    """Refused requests of this process."""

    def __init__(self) -> None:
        self.counts: Counter[Reason] = Counter()
        """Refused requests by reason, of unknown clients too, since the start."""
        self.replayed = 0
        """Requests that were answered again before they came to a commit, since the start."""
        self._batch = RefusalBatch()
        self._minutes: Counter[tuple[int, int, Reason]] = Counter()

    def note(self, account: Account | None, fault: Fault, asked: Asked, now: int, number: int = 1) -> None:
        """Notes a request that is answered with the fault; of an unknown client it is counted only. `number`: how many
        such requests were refused at once. The last is kept."""
        self.counts[fault.reason] += number
        if account is None:
            return
        self._minutes[now - now % MINUTE_MS, account.id, fault.reason] += number
        batch = self._batch
        batch.names[account.id] = account.name
        batch.add(
            RefusedRequest(
                account.id, fault.reason, now, fault.entry.http, asked.method, asked.path, fault.field or "",
                fault.message, asked.address, asked.request_id,
            ),
            number,
        )  # fmt: skip

    def take_minutes(self) -> Counter[tuple[int, int, Reason]]:
        """Returns the number of requests refused since the last call, by begin of the minute, account and reason."""
        minutes, self._minutes = self._minutes, Counter()
        return minutes

    def take(self) -> RefusalBatch:
        """Returns the refusals noted since the last call, with private values masked."""
        batch, self._batch = self._batch, RefusalBatch()
        for samples in batch.latest.values():
            for number, each in enumerate(samples):
                samples[number] = _bare(each)
        return batch


def _bare(request: RefusedRequest) -> RefusedRequest:
    """Returns the request as it may be kept and shown: no texts, no whole phone numbers, nothing that a terminal obeys,
    nothing long."""
    return replace(
        request,
        method=_word(request.method),
        path=_word("/".join(mask(part) if _NUMBER_IN_PATH(part) else part for part in request.path.split("/"))),
        field=_word(request.field),
        message=_line(without_values(request.message, request.field), _MESSAGE_CHARS),
        address=_word(request.address),
        request_id=_word(request.request_id),
    )


def without_values(message: str, field: str) -> str:
    """Returns a fault's message without the customer's values. Numbers are masked; values too short to be texts
    stay.
    """

    def shown(found: re.Match[str]) -> str:
        value = found[0]
        if field in _TIMES:
            return value if _MOMENT(value) is not None else "…"
        if field in _TEXTS or (field not in _PUBLIC and len(value) > _VALUE_CHARS + 2):
            return "…"
        return _SPELT.sub(lambda found: mask_search(found[0]), value)

    def masked(found: re.Match[str]) -> str:
        number = found[0]
        is_time = field in _TIMES and _SECONDS(number) is not None
        is_ours = number == EXAMPLE and found.string.endswith("such as ", 0, found.start())
        return number if is_time or is_ours else mask(number)

    return _NUMBER.sub(masked, _VALUE.sub(shown, message))


def _word(text: str) -> str:
    return _line(text, _WORD_CHARS)


def _line(text: str, most: int) -> str:
    text = text if len(text) <= most else text[: most - 1] + "…"
    return text if text.isprintable() else "".join(char if char.isprintable() else "?" for char in text)
