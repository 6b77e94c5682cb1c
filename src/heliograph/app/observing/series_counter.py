"""Counts series from the facts of each commit, in memory, until they are added to the stored ones.

Most facts are alike: they have the same minute, account, connector, country and network, and often the same delay. So
they are first counted by these, over many commits, and then added to their cells together.
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

MOST_ALIKE: Final = 10_000
"""Different facts that are counted before they are added to their cells, about 3 MB. Numbers of the whole world with
all delays would be more."""

Alike = tuple[int, int, int, str, str, int, int]
"""Minute, account, connector, first digits of the number, network; of an accepted message also its segments and its
price, of others the delay in ms and 0."""

_REJECTED = failure_of(Delivery.REJECTD, NO_CODE)


class SeriesCounter:
    """Implements `Watcher`. Does not count cancelled messages or replies to phones: the store counts these from their
    rows (`app.ports.Series.settle`)."""

    def __init__(self) -> None:
        self._tally = Tally()
        self._accepted: Counter[Alike] = Counter()
        self._sent: Counter[Alike] = Counter()
        self._delivered: Counter[Alike] = Counter()

    def take(self) -> Tally:
        """Returns the counts since the last call."""
        self._add_alike()
        tally, self._tally = self._tally, Tally()
        return tally

    def committed(self, facts: Facts, now: int, seconds: float) -> None:  # noqa: ARG002 - the protocol's signature
        """See `app.ports.Watcher`."""
        tally = self._tally
        if facts.accepts:
            self._count_accepted(facts.accepts)
        if facts.submissions:
            self._count_sent(facts.submissions)
        if facts.finals:
            self._count_ended(facts.finals)
        if len(self._accepted) + len(self._sent) + len(self._delivered) > MOST_ALIKE:
            self._add_alike()
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

    def _count_accepted(self, accepts: list[Accept]) -> None:
        accepted = Verdict.ACCEPTED
        self._accepted.update(
            [
                (message.key // KEYS_A_MINUTE, message.account, message.connector, message.destination[:HEAD],
                 message.network, message.segments, message.price)
                for accept in accepts
                if accept.verdict is accepted
                for message in accept.messages
            ]
        )  # fmt: skip
        for accept in accepts:
            if accept.batch and accept.verdict is accepted:
                for message in accept.messages:
                    if message.state == State.FAILED:  # its recipient opted out
                        self._tally.cell(
                            accept.at, message.account, message.connector, message.destination, message.network
                        ).fail(_REJECTED)

    def _count_sent(self, submissions: list[Submission]) -> None:
        self._sent.update(
            [
                (each.at // MINUTE, each.account, each.connector, message.destination[:HEAD],
                 message.network, each.at - (message.released or message.time), 0)
                for each in submissions
                if each.status == 0 == each.segment and (message := each.message) is not None
            ]
        )  # fmt: skip

    def _count_ended(self, finals: list[MessageEnd]) -> None:
        delivered = Delivery.DELIVRD
        alike = [
            (each.at // MINUTE, each.account, each.connector, message.destination[:HEAD],
             message.network, each.waited, 0)
            for each in finals
            if each.state is delivered and (message := each.message) is not None
        ]  # fmt: skip
        self._delivered.update(alike)
        if len(alike) == len(finals):
            return
        for final in finals:
            if final.state is not delivered and final.message is not None:
                message = final.message
                cell = self._tally.cell(final.at, final.account, final.connector, message.destination, message.network)
                cell.fail(failure_of(final.state, final.err))
                if final.failed:
                    cell.spend -= final.refund

    def _add_alike(self) -> None:
        """Adds the facts that were counted together to their cells."""
        cell_of = self._tally.cell
        for (minute, account, connector, digits, network, segments, price), count in self._accepted.items():
            cell = cell_of(minute * MINUTE, account, connector, digits, network)
            cell.accepted += count
            cell.segments += segments * count
            cell.spend += price * count
        for (minute, account, connector, digits, network, waited, _), count in self._sent.items():
            cell = cell_of(minute * MINUTE, account, connector, digits, network)
            cell.submitted += count
            add(cell.to_operator, waited, count)
        for (minute, account, connector, digits, network, waited, _), count in self._delivered.items():
            cell = cell_of(minute * MINUTE, account, connector, digits, network)
            cell.delivered += count
            if waited >= 0:
                add(cell.to_receipt, waited, count)
        for alike in (self._accepted, self._sent, self._delivered):
            alike.clear()
