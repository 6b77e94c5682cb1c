"""Limits the messages that phones cause at an account's cost: answers to STOP and HELP, and replies of webhooks.

A phone needs no credentials. Without limits it could spend an account's credit with texts, and two programs that answer
each other would never stop. Each node counts for itself, in memory.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from heliograph.app.configuration import NumberOwner
from heliograph.app.facts import InboundMessage
from heliograph.domain.limits.recent_events import RecentEvents
from heliograph.domain.message.opt_out import Wish

MINUTE_MS: Final = 60_000

STOP_PAUSE_MS: Final = 24 * 60 * MINUTE_MS
"""Milliseconds within which a phone's further STOP to an account is not confirmed; it takes effect all the same."""

HELP_PAUSE_MS: Final = 10 * MINUTE_MS
"""Milliseconds within which a phone's further HELP gets no answer."""

REPLIES_MS: Final = 10 * MINUTE_MS
"""Milliseconds within which replies to a phone are counted."""

PHONES: Final = 10_000
"""Phones that are remembered for each limit, the latest: about 1 MB."""

ACCOUNTS: Final = 10_000
"""Accounts with a remembered number of answers."""

LOG_AGAIN_MS: Final = MINUTE_MS
"""Milliseconds until the log repeats that answers or replies of an account are refused for the same reason."""

LOGGED: Final = 1_000
"""Pairs of account and reason that are remembered for this."""


class Withheld(StrEnum):
    """Why a phone gets no answer: the label `reason` of the metric."""

    NO = ""
    STOP_AGAIN = "stop_again"
    HELP_AGAIN = "help_again"
    PREFIX = "prefix"
    HOUR = "hour"
    LOOP = "loop"

    @property
    def meaning(self) -> str:
        """The reason for people."""
        return _MEANINGS[self]

    @property
    def is_told(self) -> bool:
        """Whether the log has it. Repeated texts of a phone are no news."""
        return self in (Withheld.PREFIX, Withheld.HOUR)


_MEANINGS: Final = {
    Withheld.NO: "",
    Withheld.STOP_AGAIN: "its STOP was confirmed within the last day",
    Withheld.HELP_AGAIN: "its HELP was answered within the last ten minutes",
    Withheld.PREFIX: "the account must not send to the phone's prefix",
    Withheld.HOUR: "the answers of the hour are used up (messages.answers_per_hour)",
    Withheld.LOOP: "the phone got too many replies within ten minutes (messages.replies_per_phone)",
}


@dataclass(frozen=True, slots=True)
class AnswerTerms:
    """Settings of the limits; 0: no limit."""

    answers_per_hour: int = 1_000
    """Answers to STOP and HELP of an account within an hour."""
    replies_per_phone: int = 5
    """Replies to a phone from a number within ten minutes."""


class AnswerLimits:
    """Judges and counts answers and replies."""

    def __init__(self, terms: AnswerTerms) -> None:
        self._confirmed = RecentEvents[tuple[int, str]](1, STOP_PAUSE_MS, PHONES)
        self._helped = RecentEvents[tuple[int, str]](1, HELP_PAUSE_MS, PHONES)
        self._answers = RecentEvents[int](terms.answers_per_hour, 60 * MINUTE_MS, ACCOUNTS)
        self._replies = RecentEvents[tuple[str, str]](terms.replies_per_phone, REPLIES_MS, PHONES)
        self._logged = RecentEvents[tuple[int, str]](1, LOG_AGAIN_MS, LOGGED)

    def of_answer(self, message: InboundMessage, owner: NumberOwner) -> Withheld:
        """Returns why a STOP or HELP gets no answer, or `Withheld.NO`, which counts the answer."""
        phone_of, at = (owner.account, message.sender), message.at
        if owner.prefixes and not message.sender.startswith(owner.prefixes):
            return Withheld.PREFIX
        if message.wish is Wish.STOP:
            if not self._confirmed.take(phone_of, at):
                return Withheld.STOP_AGAIN
        elif not self._helped.take(phone_of, at):
            return Withheld.HELP_AGAIN
        return Withheld.NO if self._answers.take(owner.account, at) else Withheld.HOUR

    def of_reply(self, message: InboundMessage, at: int) -> Withheld:
        """Returns why a reply to a message is not sent, or `Withheld.NO`. `replied` counts it once it is accepted."""
        return Withheld.LOOP if self._replies.is_full((message.sender, message.recipient), at) else Withheld.NO

    def replied(self, message: InboundMessage, at: int) -> None:
        self._replies.note((message.sender, message.recipient), at)

    def is_news(self, account: int, reason: str, at: int) -> bool:
        """Returns whether the log is to have a refusal: of an account and for the same reason once in LOG_AGAIN_MS."""
        return self._logged.take((account, reason), at)
