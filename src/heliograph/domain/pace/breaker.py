"""The breaker of a connector: it opens when the operator fails most messages, so that they go elsewhere.

             half of the last LATEST answers are failures
    closed ------------------------------------------------> open: a single message each TEST_S tests the operator
       ^                                                       |
       +------------------ a test message is taken ------------+

A failure is an answer after which another operator may try the message, for example ESME_RSYSERR.
"""

from typing import Final

LATEST: Final = 100
"""Answers that the breaker looks at."""

TEST_S: Final = 5.0
"""Seconds between two test messages."""

_ALL: Final = (1 << LATEST) - 1


class Breaker:
    """Counts the failures among the latest answers. Times are monotonic seconds."""

    __slots__ = ("_next_test", "failures", "is_open")

    is_open: bool
    """Whether messages should go elsewhere, but for the tests."""
    failures: int
    """The failures among the latest answers: a bit an answer, the newest the lowest, 1 for a failure. While it is 0, a
    success changes nothing."""

    def __init__(self) -> None:
        self.is_open = False
        self.failures = 0
        self._next_test = 0.0

    def answered(self, now: float, *, failed: bool) -> None:
        """Counts an answer of the operator."""
        if self.is_open:
            if not failed:
                self.is_open = False
                self.failures = 0
            return
        self.failures = (self.failures << 1 | failed) & _ALL
        if failed and self.failures.bit_count() * 2 >= LATEST:
            self.is_open = True
            self._next_test = now + TEST_S

    def may_test(self, now: float) -> bool:
        """Returns whether an open breaker lets a message through now."""
        return now >= self._next_test

    def tests(self, now: float) -> None:
        """Notes that a message was let through."""
        self._next_test = now + TEST_S
