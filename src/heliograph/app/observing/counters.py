"""Counters of messages and durations: one pass over the facts of each commit.

They run on the event loop between two commits, for every message. So they only add numbers.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Sequence

from heliograph.app.facts import NO_ANSWER, Accept, CallbackDone, CallbackEnd, Facts, MessageEnd, Submission, Verdict
from heliograph.app.observing.catalogue import COUNTS, MS_LONG, MS_SHORT, US_COMMIT
from heliograph.domain.message.opt_out import Wish
from heliograph.domain.message.receipt import Delivery
from heliograph.domain.message.retention import Stage

CODES = 40
"""Most command statuses counted separately per connector. An operator may invent any number of them."""


class Histogram:
    """Counts values by classes with upper `bounds` (the last class: above all of them), and sums them."""

    __slots__ = ("bounds", "classes", "total")

    def __init__(self, bounds: tuple[int, ...]) -> None:
        self.bounds = bounds
        self.classes = [0] * (len(bounds) + 1)
        self.total = 0

    def observe(self, value: int) -> None:
        """Adds a value. A negative value, after the clock was set back, counts as zero."""
        if value < 0:
            value = 0
        self.classes[bisect_left(self.bounds, value)] += 1
        self.total += value

    def add(self, other: "Histogram") -> None:
        """Adds the counts of another histogram with the same bounds."""
        self.classes = [one + two for one, two in zip(self.classes, other.classes, strict=True)]
        self.total += other.total


class LaneCounters:
    """The answers of a connector's operator. Times are in milliseconds."""

    __slots__ = ("accepted", "codes", "deferred", "messages", "refused", "throttled", "took", "unknown", "waited")

    def __init__(self) -> None:
        self.accepted = self.deferred = self.refused = self.unknown = self.throttled = self.messages = 0
        self.codes: Counter[int] = Counter()
        """Answers by command status, for example 0x58; -1 counts the statuses beyond `CODES`."""
        self.waited = Histogram(MS_LONG)
        self.took = Histogram(MS_SHORT)

    def note(self, status: int) -> None:
        """Counts an answer other than success."""
        self.codes[status if status in self.codes or len(self.codes) < CODES else -1] += 1

    def add(self, other: "LaneCounters") -> None:
        for name in ("accepted", "deferred", "refused", "unknown", "throttled", "messages"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.codes.update(other.codes)
        self.waited.add(other.waited)
        self.took.add(other.took)


class InboundCounters:
    """Numbers of messages, and of parts, that phones sent through a connector."""

    __slots__ = ("incomplete", "parts", "routed", "unrouted")

    def __init__(self) -> None:
        self.routed = self.unrouted = self.incomplete = self.parts = 0

    def add(self, other: "InboundCounters") -> None:
        self.routed += other.routed
        self.unrouted += other.unrouted
        self.incomplete += other.incomplete
        self.parts += other.parts


class MessageCounters:
    """Implements `Watcher`. Money is in micro-credits."""

    def __init__(self) -> None:
        self.immediate = self.scheduled = 0
        self.verdicts: Counter[Verdict] = Counter()
        """Requests that were not accepted, by verdict."""
        self.accept_ms = Histogram(MS_SHORT)
        self.charged = self.refunded = 0
        self.lanes: dict[int, LaneCounters] = {}
        """Counters by connector id."""
        self.finals: Counter[Delivery] = Counter()
        self.failures: Counter[Delivery] = Counter()
        self.receipt_ms = Histogram(MS_LONG)
        self.early = self.late_matches = 0
        self.inbound: dict[int, InboundCounters] = {}
        """Counters by connector id."""
        self.inbound_ms = Histogram(MS_SHORT)
        self.wishes: Counter[Wish] = Counter()
        self.withheld: Counter[str] = Counter()
        """Answers to phones that were not sent, by reason (`app.inbound.answer_limits.Withheld`)."""
        self.callbacks: Counter[CallbackEnd] = Counter()
        self.callback_ms = Histogram(MS_LONG)
        self.callback_retries = 0
        self.commit_us = Histogram(US_COMMIT)
        self.commit_facts = Histogram(COUNTS)

    def taken(self) -> dict[int, int]:
        """Returns the parts that operators took since the start, by connector."""
        return {connector: lane.accepted for connector, lane in self.lanes.items()}

    def committed(self, facts: Facts, now: int, seconds: float) -> None:
        """See `app.ports.Watcher`."""
        accepts, submissions, finals, callbacks = facts.accepts, facts.submissions, facts.finals, facts.callbacks
        self.commit_us.observe(int(seconds * 1_000_000))
        self.commit_facts.observe(
            len(accepts) + len(submissions) + len(finals) + len(callbacks) + len(facts.parts) + len(facts.attempts)
        )
        if accepts:
            self._accepted(accepts, now)
        if submissions:
            self._answered(submissions)
        for attempt in facts.attempts:
            lane = self._lane(attempt.connector)
            if attempt.status == NO_ANSWER:
                lane.unknown += 1
            else:
                lane.deferred += 1
                lane.note(attempt.status)
        for throttle in facts.throttles:
            lane = self._lane(throttle.connector)
            lane.deferred += 1
            lane.throttled += 1
            lane.note(throttle.status)
        if finals:
            self._ended(finals)
        if callbacks:
            self._count_callbacks(callbacks)
        if facts.callback_retries:
            self.callback_retries += sum(1 for each in facts.callback_retries if each.problem and not each.claimed)
        if facts.inbound or facts.inbound_parts:
            self._received(facts, now)
        if facts.inbound_replies:
            self.withheld.update([each.withheld for each in facts.inbound_replies if each.withheld])
        self.early += len(facts.early)
        self.late_matches += len(facts.early_matched)

    def _accepted(self, accepts: list[Accept], now: int) -> None:
        classes, accepted = self.accept_ms.classes, Verdict.ACCEPTED
        immediate = charged = waited = 0
        for accept in accepts:
            if accept.verdict is not accepted:
                self.verdicts[accept.verdict] += 1
                continue
            if accept.scheduled:
                self.scheduled += len(accept.messages)
            else:
                immediate += len(accept.messages)
            charged += accept.total
            value = now - accept.at
            classes[bisect_left(MS_SHORT, value)] += 1
            if value > 0:
                waited += value
        self.immediate += immediate
        self.charged += charged
        self.accept_ms.total += waited

    def _answered(self, submissions: list[Submission]) -> None:
        lane, connector = _NOWHERE, -1
        for answer in submissions:
            if answer.connector != connector:
                connector = answer.connector
                lane = self._lane(connector)
            status, took = answer.status, answer.took
            if status == 0:
                lane.accepted += 1
                if answer.segment == 0:
                    lane.messages += 1
            elif status < 0 and took < 0:
                continue  # the part was never written, or its missing answer is among the attempts
            else:
                lane.refused += 1
                lane.note(max(status, -1))
            if took >= 0:
                # `observe`, written out
                waited = answer.waited
                histogram = lane.waited
                histogram.classes[bisect_left(MS_LONG, waited)] += 1
                if waited > 0:
                    histogram.total += waited
                histogram = lane.took
                histogram.classes[bisect_left(MS_SHORT, took)] += 1
                histogram.total += took

    def _ended(self, finals: list[MessageEnd]) -> None:
        classes = self.receipt_ms.classes
        waited = 0
        for final in finals:
            if final.failed:
                self.failures[final.state] += 1
                self.refunded += final.refund
            elif (value := final.waited) >= 0:
                classes[bisect_left(MS_LONG, value)] += 1
                waited += value
        self.receipt_ms.total += waited
        self.finals.update([final.state for final in finals if not final.failed])

    def _count_callbacks(self, callbacks: list[CallbackDone]) -> None:
        delivered, observe = CallbackEnd.DELIVERED, self.callback_ms.observe
        for done in callbacks:
            if done.end is delivered and done.waited >= 0:
                observe(done.waited)
        self.callbacks.update([done.end for done in callbacks])

    def _received(self, facts: Facts, now: int) -> None:
        for part in facts.inbound_parts:
            self._phones(part.parts_of.connector).parts += 1
        for message in facts.inbound:
            phones = self._phones(message.connector)
            if message.account:
                phones.routed += 1
            else:
                phones.unrouted += 1
            phones.incomplete += not message.complete
            self.wishes[message.wish] += 1
            if message.withheld:
                self.withheld[message.withheld] += 1
            if message.digest:
                self.inbound_ms.observe(now - message.at)

    def _phones(self, connector: int) -> InboundCounters:
        phones = self.inbound.get(connector)
        if phones is None:
            phones = self.inbound[connector] = InboundCounters()
        return phones

    def _lane(self, connector: int) -> LaneCounters:
        lane = self.lanes.get(connector)
        if lane is None:
            lane = self.lanes[connector] = LaneCounters()
        return lane


_NOWHERE = LaneCounters()


class LookupCounters:
    """Look-ups of the networks of numbers."""

    def __init__(self) -> None:
        self.results: Counter[str] = Counter()
        """Numbers by result: `found`, `unknown`, `silent`, `left_out`."""
        self.took = Histogram(MS_SHORT)
        """Milliseconds from the question to its answer, or to the end of the wait."""


class RetentionCounters:
    """Messages of either way that were redacted or dropped, by stage, since the start; and how far it is behind."""

    def __init__(self) -> None:
        self.done: Counter[Stage] = Counter()
        self.left = Counter[Stage]()
        """Checked messages with pending work. They are checked again."""
        self.lag_ms: dict[Stage, int] = {}
        """Age (ms) beyond the retention limit of the data that is being removed now; 0 if nothing is."""


class BindCounters:
    """Counts of customers' SMPP binds in this process since its start. Statuses are those of SMPP v3.4, 5.1.3."""

    def __init__(self) -> None:
        self.bound = 0
        """Present binds."""
        self.receiving: Callable[[], Sequence[int]] = tuple
        """Returns the accounts that have a receiver or transceiver bind on this node."""
        self.binds: Counter[int] = Counter()
        """Answers to binds, by command_status."""
        self.submissions: Counter[int] = Counter()
        """Answers to submissions, by command_status."""
        self.deliveries: Counter[int] = Counter()
        """Clients' answers to deliver_sm by command_status; NO_ANSWER for none."""
