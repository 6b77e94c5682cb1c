"""query_sm on the wire: the states of parts without a receipt (SMPP v3.4, 4.8)."""

from typing import Final

from heliograph.adapters.smpp.encoding import source_of
from heliograph.adapters.smpp.options import Dialect
from heliograph.app.ports import CarrierEvents, Clock, Journal, Question, Report
from heliograph.domain.message.receipt import NO_CODE, Delivery, is_final
from heliograph.smpp import event as e
from heliograph.smpp import pdu as p
from heliograph.smpp.constants import CommandStatus

PAUSE_S: Final = 60.0
"""Seconds without queries after the operator has throttled a query, or not answered it."""

WINDOW_SHARE: Final = 4
"""Queries use at most a quarter of a window, because an operator may leave all of them unanswered."""

_STATES: Final = {state.value: state for state in Delivery if state is not Delivery.UNKNOWN}
_THROTTLES: Final = frozenset({CommandStatus.ESME_RTHROTTLED, CommandStatus.ESME_RMSGQFUL})


def report_of_answer(question: Question, answer: p.QuerySmResp) -> Report | None:
    """Returns the report in an operator's answer. Returns None if the state is unknown to SMPP v3.4, or UNKNOWN: some
    operators answer so for forgotten messages, and a receipt may still come.
    """
    state = _STATES.get(answer.message_state)
    if state is None:
        return None
    code = f"{answer.error_code:03d}" if answer.error_code else NO_CODE
    return Report(question.operator_id, question.destination, state, is_final(state), code, asked=True)


class StateQueries:
    """Writes the queries of a connector, and reads the answers. An operator without query_sm gets no further queries,
    until its connector is changed or the gateway restarts.
    """

    def __init__(self, name: str, events: CarrierEvents, clock: Clock, journal: Journal, dialect: Dialect) -> None:
        """`name`: the connector's name."""
        self.off = ""
        """The operator's answer after which queries stopped, such as `ESME_RINVCMDID`; empty while it may be
        queried."""
        self.asked = 0
        self.told = 0
        self._name = name
        self._events = events
        self._clock = clock
        self._journal = journal
        self._dialect = dialect
        self._resume_at = 0.0
        self._understood = False

    @property
    def open(self) -> bool:
        """Whether the operator may be queried now."""
        return not self.off and self._clock.monotonic() >= self._resume_at

    def pdu_of(self, question: Question) -> p.QuerySm:
        """The request, with the sender's address as it was submitted."""
        sender, ton, npi = source_of(question.sender, self._dialect)
        return p.QuerySm(message_id=question.operator_id, source_addr_ton=ton, source_addr_npi=npi, source_addr=sender)

    def answered(self, question: Question, event: e.Answered) -> None:
        """Takes the operator's answer."""
        status = event.status
        if status == 0:
            self._understood = True
            response = event.response
            report = report_of_answer(question, response) if isinstance(response, p.QuerySmResp) else None
            if report is not None:
                self.told += 1
                self._events.on_report(report, _unheard)
        elif status == CommandStatus.ESME_RINVCMDID or (
            status == CommandStatus.ESME_RQUERYFAIL and not self._understood
        ):
            # An operator that has answered before fails on a message that it has forgotten.
            self._turn_off(CommandStatus(status).name)
        elif status in _THROTTLES:
            self._resume_at = self._clock.monotonic() + PAUSE_S

    def unanswered(self) -> None:
        """Handles a query without an answer in time."""
        self._resume_at = self._clock.monotonic() + PAUSE_S
        if not self._understood:
            self._turn_off("nothing")

    def _turn_off(self, answer: str) -> None:
        if not self.off:
            self.off = answer
            self._journal.log("warning", "smpp.queries_off", connector=self._name, answer=answer)


def _unheard(kept: bool) -> None:
    """Does nothing, because the answer to a query needs no acknowledgement."""
