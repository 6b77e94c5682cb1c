"""Counts series from the facts of each commit, in memory, until they are added to the stored ones."""

from heliograph.app.facts import Accept, Facts, MessageEnd, Submission, Verdict
from heliograph.app.observing.tally import Tally, failure_of
from heliograph.domain.message.ids import time_of
from heliograph.domain.message.receipt import NO_CODE, Delivery
from heliograph.domain.message.state import State
from heliograph.domain.sketch import add

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
        for each in facts.inbound:
            tally.inbound(each.at, each.account, each.connector, each.sender, each.price if each.account else 0)


def _count_accepted(tally: Tally, accepts: list[Accept]) -> None:
    accepted = Verdict.ACCEPTED
    for accept in accepts:
        if accept.verdict is not accepted:
            continue
        for message in accept.messages:
            cell = tally.cell(time_of(message.key), message.account, message.connector, message.destination)
            cell.accepted += 1
            cell.segments += message.segments
            cell.spend += message.price
        if accept.batch:
            for message in accept.messages:
                if message.state == State.FAILED:  # its recipient opted out
                    tally.cell(accept.at, message.account, message.connector, message.destination).fail(_REJECTED)


def _count_sent(tally: Tally, submissions: list[Submission]) -> None:
    for answer in submissions:
        if answer.status == 0 == answer.segment:
            message = answer.message
            assert message is not None, "a part that an operator took names its message"
            at = answer.at
            cell = tally.cell(at, answer.account, answer.connector, message.destination)
            cell.submitted += 1
            add(cell.to_operator, at - message.time)


def _count_ended(tally: Tally, finals: list[MessageEnd]) -> None:
    delivered = Delivery.DELIVRD
    for final in finals:
        message = final.message
        assert message is not None, "an end names its message"
        cell = tally.cell(final.at, final.account, final.connector, message.destination)
        if final.state is delivered:
            cell.delivered += 1
            if final.waited >= 0:
                add(cell.to_receipt, final.waited)
        else:
            cell.fail(failure_of(final.state, final.err))
        if final.failed:
            cell.spend -= final.refund
