"""Counts series from the facts of each commit, in memory, until they are added to the stored ones.

Most facts of a commit are alike: they have the same minute, account, connector, country and network, and often the same
delay. So they are first counted by these, and then added to their cells together.
"""

from collections import Counter
from typing import Final

from heliograph.app.facts import Accept, Facts, Message, MessageEnd, Submission, Verdict
from heliograph.app.observing.tally import MINUTE, Tally, failure_of
from heliograph.domain.message.ids import first_key_at
from heliograph.domain.message.receipt import NO_CODE, Delivery
from heliograph.domain.message.state import State
from heliograph.domain.numbers.country import HEAD
from heliograph.domain.sketch import add

KEYS_A_MINUTE: Final = first_key_at(MINUTE)
"""Keys of a minute: a key divided by this is the number of its minute since the epoch."""

_REJECTED = failure_of(Delivery.REJECTD, NO_CODE)


class SeriesCounter:
    """Implements `Watcher`. Does not count cancelled messages or replies to phones: the store counts these from their
    rows (`app.ports.Series.settle`)."""

    def __init__(self) -> None:
        self._tally = Tally()

    def take(self) -> Tally:
        """Returns the counts since the last call."""
        tally, self._tally = self._tally, Tally()
        return tally

    def committed(self, facts: Facts, now: int, seconds: float) -> None:  # noqa: ARG002 - the protocol's signature
        """See `app.ports.Watcher`."""
        tally = self._tally
        if facts.accepts:
            _count_accepted(tally, facts.accepts)
        if facts.submissions:
            _count_sent(tally, facts.submissions)
        if facts.finals:
            _count_ended(tally, facts.finals)
        for resend in facts.resends:
            if (message := resend.message) is not None:
                tally.cell(
                    resend.at, message.account, resend.connector, message.destination, message.network
                ).resent += 1
        for each in facts.inbound:
            tally.inbound(each.at, each.account, each.connector, each.sender, each.price if each.account else 0)

    def corrected(self, message: Message, at: int, confirmed: int, denied: int) -> None:
        """Counts messages about which their customer contradicts the receipt, or does so no more (-1). The message has
        the connector that took it."""
        cell = self._tally.cell(at, message.account, message.connector, message.destination, message.network)
        cell.confirmed += confirmed
        cell.denied += denied


def _count_accepted(tally: Tally, accepts: list[Accept]) -> None:
    accepted = Verdict.ACCEPTED
    alike = Counter(
        [
            (message.key // KEYS_A_MINUTE, message.account, message.connector, message.destination[:HEAD],
             message.network, message.segments, message.price)
            for accept in accepts
            if accept.verdict is accepted
            for message in accept.messages
        ]
    )  # fmt: skip
    for (minute, account, connector, digits, network, segments, price), count in alike.items():
        cell = tally.cell(minute * MINUTE, account, connector, digits, network)
        cell.accepted += count
        cell.segments += segments * count
        cell.spend += price * count
    for accept in accepts:
        if accept.batch and accept.verdict is accepted:
            for message in accept.messages:
                if message.state == State.FAILED:  # its recipient opted out
                    tally.cell(
                        accept.at, message.account, message.connector, message.destination, message.network
                    ).fail(_REJECTED)


def _count_sent(tally: Tally, submissions: list[Submission]) -> None:
    alike = Counter(
        [
            (each.at // MINUTE, each.account, each.connector, message.destination[:HEAD],
             message.network, each.at - message.time)
            for each in submissions
            if each.status == 0 == each.segment and (message := each.message) is not None
        ]
    )  # fmt: skip
    for (minute, account, connector, digits, network, waited), count in alike.items():
        cell = tally.cell(minute * MINUTE, account, connector, digits, network)
        cell.submitted += count
        add(cell.to_operator, waited, count)


def _count_ended(tally: Tally, finals: list[MessageEnd]) -> None:
    delivered = Delivery.DELIVRD
    alike = Counter(
        [
            (each.at // MINUTE, each.account, each.connector, message.destination[:HEAD], message.network, each.waited)
            for each in finals
            if each.state is delivered and (message := each.message) is not None
        ]
    )
    for (minute, account, connector, digits, network, waited), count in alike.items():
        cell = tally.cell(minute * MINUTE, account, connector, digits, network)
        cell.delivered += count
        if waited >= 0:
            add(cell.to_receipt, waited, count)
    for final in finals:
        if final.state is not delivered and final.message is not None:
            message = final.message
            cell = tally.cell(final.at, final.account, final.connector, message.destination, message.network)
            cell.fail(failure_of(final.state, final.err))
            if final.failed:
                cell.spend -= final.refund
