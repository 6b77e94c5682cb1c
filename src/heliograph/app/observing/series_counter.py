"""Counts series from the facts of each commit, in memory, until they are added to the stored ones."""

from dataclasses import dataclass, field

from heliograph.app.facts import Accept, Facts, MessageEnd, Submission, Verdict
from heliograph.app.observing.tally import Tally, failure_of
from heliograph.domain.message.ids import time_of
from heliograph.domain.message.receipt import NO_CODE, Delivery
from heliograph.domain.message.state import State

_REJECTED = failure_of(Delivery.REJECTD, NO_CODE)


@dataclass(slots=True)
class SeriesBatch:
    """Counts of a node's commits up to number `upto`, 0 for none; `odd` are the numbers of those whose rows are
    to be counted instead. A batch is added as it is, or not at all: then it is added again, unchanged."""

    tally: Tally = field(default_factory=Tally)
    upto: int = 0
    odd: list[int] = field(default_factory=list)
    counted: bool = False
    """Whether facts of a commit are in the tally."""

    def __bool__(self) -> bool:
        return bool(self.tally) or self.upto > 0


class SeriesCounter:
    """Implements `Watcher`."""

    def __init__(self) -> None:
        self._batch = SeriesBatch()

    def take(self) -> SeriesBatch:
        """Returns what was counted since the last call."""
        batch, self._batch = self._batch, SeriesBatch()
        return batch

    def committed(self, facts: Facts, now: int, seconds: float) -> None:  # noqa: ARG002 - the protocol's signature
        """See `app.ports.Watcher`."""
        if not facts.trail:
            return
        batch = self._batch
        # a reply to a phone that opts out again does not go out, which only its row tells
        odd = bool(facts.withdrawals) or any(each.reply is not None for each in facts.inbound)
        counts = False
        for trail in facts.trail:
            batch.upto = max(batch.upto, trail.seq)
            if odd or not trail.plain:
                batch.odd.append(trail.seq)
            else:
                counts = True
        if not counts:
            return
        batch.counted = True
        tally = batch.tally
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
            cell.operator_delays.add(at - message.time)


def _count_ended(tally: Tally, finals: list[MessageEnd]) -> None:
    delivered = Delivery.DELIVRD
    for final in finals:
        message = final.message
        assert message is not None, "an end names its message"
        cell = tally.cell(final.at, final.account, final.connector, message.destination)
        if final.state is delivered:
            cell.delivered += 1
            if final.waited >= 0:
                cell.receipt_delays.add(final.waited)
        else:
            cell.fail(failure_of(final.state, final.err))
        if final.failed:
            cell.spend -= final.refund
