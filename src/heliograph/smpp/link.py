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
"""Refusals of a bind that trying again does not mend, and for which operators block those who do."""


@dataclass(slots=True)
class Backoff:
    """Pauses between attempts, in seconds. Call `stood` when a link that was bound ends; each end asks for a pause.

    `luck` is a random number from 0 up to 1: it spreads the attempts of many links that fell at one moment.
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
        """A link was bound for so long; `worked` says that it carried anything. If it did, or stood for longer than the
        pause before it, pauses start again from the first; one that falls as soon as it is bound is a failure like any
        other: it would be bound every second for ever.
        """
        if not worked and seconds <= self.latest:
            return False
        self.failures = 0
        return True

    def pause(self, luck: float) -> float:
        """Returns the seconds to wait after a connection failed or was lost, or a bind was refused for a passing
        reason: between half of and all of a ceiling, which is `first` and doubles with each failure up to `longest`.
        """
        ceiling = min(self.longest, self.first * 2.0 ** min(self.failures, 32))
        self.failures += 1
        self.latest = ceiling * (0.5 + 0.5 * luck)
        return self.latest

    def pause_after_refusal(self, status: int, luck: float) -> float:
        """Returns the seconds to wait after a bind refused with `status`: long if the credentials are wrong, else like
        `pause`."""
        if status in WRONG_CREDENTIALS:
            self.failures += 1
            return self.credentials_pause * (1.0 + 0.2 * luck)
        return self.pause(luck)
