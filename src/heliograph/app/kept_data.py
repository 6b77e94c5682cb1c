"""Records of retention, and of the stored data of a phone."""

from dataclasses import dataclass

from heliograph.domain.message.retention import Stage


@dataclass(frozen=True, slots=True)
class RetentionSweep:
    """A pass over an account's messages before a time (ms), oldest first: `inbound` messages, or the others."""

    account: int
    """0 for inbound messages without an account."""
    stage: Stage
    inbound: bool
    before: int
    quiet: int
    """No row goes to which something happened at this time or later (ms): a commit may be under way that says so."""


@dataclass(frozen=True, slots=True)
class RetentionStep:
    """A step of a sweep: messages read, messages changed, and the key and time of the last message."""

    looked: int = 0
    done: int = 0
    key: int = 0
    time: int = 0


@dataclass(frozen=True, slots=True)
class PhoneTraces:
    """Everything that has a number."""

    messages: list[tuple[int, int]]
    """Account and key."""
    inbound: list[tuple[int, int, int]]
    """Account (0 for none), key and tail."""
    suppressions: list[tuple[int, int, str]]
    """Account, since when, and the source."""
    unmatched: list[tuple[int, str, int, str, int]]
    """Receipts that match no message: connector, the operator's id, state, error code, time."""
    parts: int
    """Parts of messages from it that wait for others."""


@dataclass(frozen=True, slots=True)
class ErasureStep:
    """Numbers of messages, of either way: cancelled and refunded before, erased, and left since something is owed."""

    cancelled: int = 0
    erased: int = 0
    left: int = 0
