"""Decides the result of each submit, once, from the behaviour, chance and the time. Without I/O.

Times are in seconds of any monotonic clock, as in `heliograph.smpp`.
"""

from collections import OrderedDict
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from random import Random
from typing import Final

from heliograph.simulator.behaviour import Behaviour, Notation, ReceiptWording
from heliograph.simulator.limiter import Limiter
from heliograph.simulator.magic_numbers import ORDINARY, AnswerFault, Scenario, scenario_for
from heliograph.smpp import constants as c
from heliograph.smpp.constants import CommandStatus, MessageState

REMEMBERED_TROUBLES: Final = 10_000
"""Numbers whose first submit met a fault, remembered until the second submit."""

WRONG_BY: Final = 0x40000000
"""Added to a sequence number to make a number without a waiting request."""

_FINISHED: Final = replace(ORDINARY, what="its fault is over")
_PLAIN_DIALECTS: Final = tuple(dialect for dialect in ReceiptWording if dialect is not ReceiptWording.MIXED)


@dataclass(slots=True)
class SubmitRequest:
    """The fields of a submitted message that the decision depends on."""

    system_id: str
    destination: str
    registered_delivery: int
    nth: int
    """Position among the submits of its link, from 1."""


@dataclass(slots=True)
class SubmitAnswer:
    """Time and contents of the answer."""

    at: float
    status: int = 0
    bodyless: bool = False
    wrong_sequence: bool = False
    congestion: int | None = None


@dataclass(slots=True)
class PlannedReceipt:
    """Time and contents of a receipt."""

    at: float
    state: MessageState
    err: int
    dialect: ReceiptWording
    notation: Notation
    tlv_notation: Notation
    other_bind: bool = False
    overtaken: bool = False
    """Whether it waits until the next receipt of the same system_id was sent, for at most a second."""


@dataclass(slots=True)
class Reaction:
    """All consequences of a submit. An accepted message has a number, and reaches `state` at `final_at`."""

    accepted: bool
    answer: SubmitAnswer | None = None
    """None if the response is suppressed, or the link ends before it."""
    reports: tuple[PlannedReceipt, ...] = ()
    state: MessageState = MessageState.ENROUTE
    err: int = 0
    final_at: float = 0.0
    early: bool = False
    """Whether the receipts go before the answer, even at the same time."""
    reply: str = ""
    """Text of the phone's answer once the message is final; empty for no answer."""
    cut: bool = False
    """Whether the link is cut now."""
    mute: bool = False
    """Whether the link falls silent now."""


class Reactions:
    """Decides on submits in turn. Deterministic: the same seed, behaviour and submits at the same times give the same
    reactions.
    """

    def __init__(self, behaviour: Behaviour) -> None:
        self._behaviour = behaviour
        self._random = Random(behaviour.seed)
        self._limiters: dict[str, Limiter] = {}
        self._unfinished: list[float] = []
        self._troubled: OrderedDict[str, None] = OrderedDict()

    def decide(self, submit: SubmitRequest, now: float) -> Reaction:
        b = self._behaviour
        if b.half_open_after and submit.nth >= b.half_open_after:
            return Reaction(accepted=False, mute=True)
        if (b.cut_after and submit.nth >= b.cut_after) or self._chance(b.cut_share):
            return Reaction(accepted=False, cut=True)
        scenario = self._scenario_for(submit.destination)
        if scenario.fault is AnswerFault.CUT:
            return Reaction(accepted=False, cut=True)
        answer = SubmitAnswer(now + self._spread(b.latency_ms, b.latency_jitter_ms))
        answer.wrong_sequence = self._chance(b.wrong_sequence_share)
        answer.status = self._refusal(submit, scenario, now)
        if b.report_congestion and submit.system_id in self._limiters:
            answer.congestion = self._limiters[submit.system_id].load
        if answer.status:
            return Reaction(accepted=False, answer=answer)
        return self._accept(submit, scenario, answer, now)

    def _accept(self, submit: SubmitRequest, scenario: Scenario, answer: SubmitAnswer, now: float) -> Reaction:
        b = self._behaviour
        state, err = scenario.state, scenario.err
        if state is MessageState.DELIVERED and self._chance(b.undelivered_share):
            state, err = MessageState.UNDELIVERABLE, 1
        early = scenario.early or self._chance(b.receipt_early_share)
        if early:
            answer.at = max(answer.at, now + b.receipt_early_ms / 1000)
            final_at = answer.at - b.receipt_early_ms / 1000
        elif scenario.delay_ms is None:
            final_at = answer.at + self._spread(b.receipt_delay_ms, b.receipt_jitter_ms)
        else:
            final_at = answer.at + scenario.delay_ms / 1000
        if b.queue_limit:
            heappush(self._unfinished, final_at)
        reaction = Reaction(True, answer, (), state, err, final_at, early, scenario.reply)
        if _wants_receipt(submit.registered_delivery, state):
            intermediate = bool(submit.registered_delivery & c.RECEIPT_INTERMEDIATE)
            reaction.reports = self._reports(scenario, reaction, intermediate=intermediate)
        answer.bodyless = scenario.fault is AnswerFault.BODYLESS or self._chance(b.bodyless_share)
        if scenario.fault is AnswerFault.WITHHELD or self._chance(b.withhold_share):
            reaction.answer = None
        return reaction

    def _reports(self, scenario: Scenario, reaction: Reaction, *, intermediate: bool) -> tuple[PlannedReceipt, ...]:
        b = self._behaviour
        if not scenario.receipt or self._chance(b.receipt_missing_share):
            return ()
        at = reaction.final_at
        if not reaction.early and self._chance(b.receipt_late_share):
            at += b.receipt_late_ms / 1000
        dialect = b.receipt_text
        if dialect is ReceiptWording.MIXED:
            dialect = self._random.choice(_PLAIN_DIALECTS)
        notation, tlv_notation = b.receipt_id, b.receipt_tlv_id
        if scenario.other_notation:
            notation = tlv_notation = Notation.DECIMAL if b.answer_id is not Notation.DECIMAL else Notation.HEX
        report = PlannedReceipt(
            at,
            reaction.state,
            reaction.err,
            dialect,
            notation,
            tlv_notation,
            self._chance(b.receipt_other_bind_share),
            self._chance(b.receipt_reorder_share),
        )
        if scenario.accepted_first:
            return replace(report, state=MessageState.ACCEPTED, err=0), report
        if intermediate and reaction.answer is not None:
            return replace(report, at=reaction.answer.at, state=MessageState.ENROUTE, err=0), report
        if scenario.double or self._chance(b.receipt_double_share):
            return report, replace(report)
        return (report,)

    def _refusal(self, submit: SubmitRequest, scenario: Scenario, now: float) -> int:
        """Returns the command_status of the answer; 0 if the message is taken."""
        b = self._behaviour
        if b.throttle_per_s and not self._limiter_of(submit.system_id, now).take(now):
            return CommandStatus.ESME_RTHROTTLED
        if not submit.destination:
            return CommandStatus.ESME_RINVDSTADR
        if scenario.status:
            return scenario.status
        for prefix, status in b.refuse:
            if submit.destination.startswith(prefix):
                return status
        if self._is_full(now) or self._chance(b.queue_full_share):
            return CommandStatus.ESME_RMSGQFUL
        return b.refuse_status if self._chance(b.refuse_share) else CommandStatus.ESME_ROK

    def _scenario_for(self, destination: str) -> Scenario:
        if not self._behaviour.magic:
            return ORDINARY
        scenario = scenario_for(destination)
        if not scenario.once:
            return scenario
        if destination in self._troubled:
            del self._troubled[destination]
            return _FINISHED
        self._troubled[destination] = None
        if len(self._troubled) > REMEMBERED_TROUBLES:
            self._troubled.popitem(last=False)
        return scenario

    def _limiter_of(self, system_id: str, now: float) -> Limiter:
        limiter = self._limiters.get(system_id)
        if limiter is None:
            limiter = self._limiters[system_id] = self._behaviour.limiter(now)
        return limiter

    def _is_full(self, now: float) -> bool:
        limit = self._behaviour.queue_limit
        if not limit:
            return False
        while self._unfinished and self._unfinished[0] <= now:
            heappop(self._unfinished)
        return len(self._unfinished) >= limit

    def _chance(self, share: float) -> bool:
        # An unset knob draws no random number. So setting a knob leaves the random choices of the others unchanged.
        return share > 0.0 and self._random.random() < share

    def _spread(self, ms: float, jitter_ms: float) -> float:
        """Returns a time with its jitter, in seconds."""
        return (ms + self._random.uniform(0.0, jitter_ms) if jitter_ms else ms) / 1000


def _wants_receipt(registered_delivery: int, state: MessageState) -> bool:
    """SMPP v3.4, 5.2.17: 1 asks for every outcome, 2 for failures."""
    asked = registered_delivery & c.RECEIPT_MASK
    return asked == c.RECEIPT_FINAL or (asked == c.RECEIPT_FAILURE and state is not MessageState.DELIVERED)
