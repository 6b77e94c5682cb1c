"""The simulated operator's bounded memory of the latest messages."""

from collections import OrderedDict, deque
from dataclasses import dataclass, field
from typing import Final

from heliograph.simulator.behaviour import Alphabet
from heliograph.simulator.text import PartIndex, decode, split_header
from heliograph.smpp import tlv
from heliograph.smpp.constants import MessageState

UNFINISHED_LIMIT: Final = 10_000
"""Most incomplete long messages in memory. Beyond that the oldest is dropped."""

_SEVERITY: Final = (
    MessageState.DELIVERED,
    MessageState.UNKNOWN,
    MessageState.DELETED,
    MessageState.EXPIRED,
    MessageState.UNDELIVERABLE,
    MessageState.REJECTED,
    MessageState.ACCEPTED,
    MessageState.ENROUTE,
)


@dataclass(slots=True)
class TakenSubmit:
    """An accepted message (or a part of a longer message) to one destination."""

    number: int
    system_id: str
    at_s: float
    """Time of the submit, in seconds since 1970."""
    source_addr_ton: int
    source_addr_npi: int
    source_addr: str
    dest_addr_ton: int
    dest_addr_npi: int
    destination_addr: str
    esm_class: int
    registered_delivery: int
    data_coding: int
    content: bytes
    tlvs: tlv.Tlvs
    final_state: MessageState
    final_err: int
    final_at: float
    """Time of the final state, by the clock of the sessions."""
    final_at_s: float
    """Time of the final state, in seconds since 1970."""
    cancelled: bool = False

    @property
    def is_last(self) -> bool:
        """True for a whole message and for the last part of a longer message."""
        index, _ = split_header(self.content, self.esm_class, self.tlvs)
        return index is None or index.number == index.total

    def state(self, now: float) -> MessageState:
        return self.final_state if now >= self.final_at else MessageState.ENROUTE


@dataclass(slots=True)
class JoinedMessage:
    """A message as its recipient reads it: a single submit, or several parts."""

    total: int = 1
    parts: dict[int, TakenSubmit] = field(default_factory=dict)
    """Parts by their numbers, from 1."""


@dataclass(frozen=True, slots=True)
class ReceivedMessage:
    """A message in the form for people."""

    at_s: float
    """Time of the first part's submit, in seconds since 1970."""
    system_id: str
    source_addr: str
    destination_addr: str
    text: str
    """Text of the parts that have arrived, in their order."""
    data_coding: int
    parts: int
    total: int
    state: MessageState
    """Worst state of the parts; ENROUTE while parts are missing."""
    err: int
    numbers: tuple[int, ...]
    """The message ids of its parts, as numbers."""


class MessageMemory:
    """The latest messages. `limit` bounds both the submissions that query_sm finds and the messages to look at."""

    def __init__(self, limit: int, alphabet: Alphabet) -> None:
        self._limit = limit
        self._alphabet = alphabet
        self._by_number: OrderedDict[int, TakenSubmit] = OrderedDict()
        self._latest: deque[JoinedMessage] = deque(maxlen=limit)
        self._unfinished: OrderedDict[tuple[str, str, str, PartIndex], JoinedMessage] = OrderedDict()

    def add(self, submission: TakenSubmit) -> None:
        if len(self._by_number) >= self._limit:
            self._by_number.popitem(last=False)
        self._by_number.setdefault(submission.number, submission)
        index = None
        if submission.esm_class & 0x40 or submission.tlvs:
            index, _ = split_header(submission.content, submission.esm_class, submission.tlvs)
        if index is None or index.total == 1:
            self._latest.append(JoinedMessage(1, {1: submission}))
        else:
            self._add_part(submission, index)

    def find(self, number: int, system_id: str, source_addr: str) -> TakenSubmit | None:
        """Finds a message by its id; system_id and sender must agree (SMPP v3.4, 4.8.1)."""
        submission = self._by_number.get(number)
        if submission is None or (submission.system_id, submission.source_addr) != (system_id, source_addr):
            return None
        return submission

    def under_way(self, system_id: str, source_addr: str, destination_addr: str, now: float) -> list[TakenSubmit]:
        """Returns the messages between two addresses that are not final yet."""
        return [
            submission
            for submission in self._by_number.values()
            if submission.destination_addr == destination_addr
            and submission.source_addr == source_addr
            and submission.system_id == system_id
            and now < submission.final_at
        ]

    def recent(self, limit: int, now: float) -> list[ReceivedMessage]:
        """Returns the latest messages, newest first."""
        latest = self._latest
        return [self._received(latest[-1 - back], now) for back in range(min(limit, len(latest)))]

    def _add_part(self, submission: TakenSubmit, index: PartIndex) -> None:
        key = (submission.system_id, submission.source_addr, submission.destination_addr, index._replace(number=0))
        message = self._unfinished.get(key)
        if message is None:
            message = self._unfinished[key] = JoinedMessage(index.total)
            self._latest.append(message)
            if len(self._unfinished) > UNFINISHED_LIMIT:
                self._unfinished.popitem(last=False)
        message.parts[index.number] = submission
        if len(message.parts) == message.total:
            del self._unfinished[key]

    def _received(self, message: JoinedMessage, now: float) -> ReceivedMessage:
        parts = [message.parts[number] for number in sorted(message.parts)]
        first = parts[0]
        worst = max(parts, key=lambda part: _SEVERITY.index(part.state(now)))
        state = worst.state(now) if len(parts) == message.total else MessageState.ENROUTE
        # Joined before it is decoded, since senders cut surrogate and escape pairs.
        octets = b"".join([split_header(part.content, part.esm_class, part.tlvs)[1] for part in parts])
        return ReceivedMessage(
            min(part.at_s for part in parts),
            first.system_id,
            first.source_addr,
            first.destination_addr,
            decode(octets, parts[0].data_coding, self._alphabet),
            first.data_coding,
            len(parts),
            message.total,
            state,
            0 if state is MessageState.ENROUTE else worst.final_err,
            tuple(part.number for part in parts),
        )
