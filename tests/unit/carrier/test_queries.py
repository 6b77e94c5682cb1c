"""What an operator's answer to query_sm tells."""

import pytest

from heliograph.adapters.smpp.queries import report_of_answer
from heliograph.app.ports import Question, Report
from heliograph.domain.message.receipt import Delivery
from heliograph.smpp import pdu as p

QUESTION = Question("id1", "Helio", "447700900123")


@pytest.mark.parametrize(
    ("state", "error", "delivery", "final", "err"),
    [
        (1, 0, Delivery.ENROUTE, False, ""),
        (2, 0, Delivery.DELIVRD, True, ""),
        (3, 0, Delivery.EXPIRED, True, ""),
        (4, 0, Delivery.DELETED, True, ""),
        (5, 27, Delivery.UNDELIV, True, "027"),
        (6, 0, Delivery.ACCEPTD, False, ""),
        (8, 255, Delivery.REJECTD, True, "255"),
    ],
)
def test_a_state_is_reported_as_by_a_receipt(state: int, error: int, delivery: Delivery, final: bool, err: str) -> None:
    answer = p.QuerySmResp(message_id="ID1", message_state=state, error_code=error)
    assert report_of_answer(QUESTION, answer) == Report("id1", "447700900123", delivery, final, err, asked=True)


@pytest.mark.parametrize("state", [0, 7, 9, 255])
def test_no_state_and_unknown_tell_nothing(state: int) -> None:
    assert report_of_answer(QUESTION, p.QuerySmResp(message_state=state)) is None
