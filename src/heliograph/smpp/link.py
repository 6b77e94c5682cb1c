"""Pauses before a lost link is tried again."""

from dataclasses import dataclass
from typing import Final

from heliograph.smpp.constants import CommandStatus

WRONG_CREDENTIALS: Final = frozenset(
    {
        CommandStatus.ESME_RINVPASWD,
        CommandStatus.ESME_RINVSYSID,
        CommandStatus.ESME_RINVSYSTYP,
        CommandStatus.ESME_RSERTYPUNAUTH,
        CommandStatus.ESME_RPROHIBITED,
    }
)
"""Refusals of a bind that a retry does not cure. Operators block clients that keep trying."""


@dataclass(slots=True)
class Backoff:
    """Pauses between connection attempts, in seconds (exponential backoff with jitter). Call `stood` when a bound link
    ends. Call `pause` or `pause_after_refusal` after each end.

    `luck` is a random number from 0 up to 1. It spreads the attempts of many links that were lost at the same moment.
    """

    first: float = 1.0
    longest: float = 30.0
    credentials_pause: float = 300.0
    """Seconds after wrong credentials: long enough not to hammer, short enough to notice a password that was set
    right.
    """
    failures: int = 0
    latest: float = 0.0
    """The pause before this attempt."""

    def stood(self, seconds: float, *, worked: bool) -> bool:
        """Tells the backoff that a link was bound for `seconds`. `worked`: whether the link carried any message.

        The pauses start again from `first` if the link worked, or lasted longer than the pause before it. A link lost
        right after its bind counts as a failure: otherwise it would bind every second for ever.
        """
        if not worked and seconds <= self.latest:
            return False
        self.failures = 0
        return True

    def pause(self, luck: float) -> float:
        """Returns the seconds to wait after a failed connection, a lost link, or a bind refused for a passing reason.

        The pause is between half of a ceiling and all of it. The ceiling starts at `first` and doubles with each
        failure up to `longest`: 1, 2, 4, 8, 16, 30, 30 seconds.
        """
        ceiling = min(self.longest, self.first * 2.0 ** min(self.failures, 32))
        self.failures += 1
        self.latest = ceiling * (0.5 + 0.5 * luck)
        return self.latest

    def pause_after_refusal(self, status: int, luck: float) -> float:
        """Returns the seconds to wait after a bind refused with `status`: `credentials_pause` if the credentials are
        wrong, otherwise as `pause`.
        """
        if status in WRONG_CREDENTIALS:
            self.failures += 1
            return self.credentials_pause * (1.0 + 0.2 * luck)
        return self.pause(luck)
