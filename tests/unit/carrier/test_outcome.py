"""From command_status to outcome."""

import pytest

from heliograph.adapters.smpp.outcome import PAUSES, THROTTLING, outcome_of, read_override
from heliograph.app.ports import Accepted, Deferred, Outcome, Refused, Unknown
from heliograph.domain.message.receipt import Delivery
from heliograph.smpp.constants import CommandStatus as Status

PASSING = {
    Status.ESME_RTHROTTLED,
    Status.ESME_RMSGQFUL,
    Status.ESME_RSYSERR,
    Status.ESME_RX_T_APPN,
    Status.ESME_RINVBNDSTS,
    Status.ESME_RSERTYPUNAVAIL,
}


def test_every_status_has_its_outcome() -> None:
    for status in Status:
        outcome = outcome_of(status, "", {})
        if status is Status.ESME_ROK:
            assert outcome == Accepted("")
        elif status in PASSING:
            assert outcome == Deferred(status, PAUSES[status], throttled=status in THROTTLING)
            assert (PAUSES[status] > 0) != (status in THROTTLING), "or the pace makes the pauses"
        else:
            assert outcome == Refused(status, Delivery.REJECTD, str(status))


def test_statuses_that_nobody_knows_are_final() -> None:
    assert outcome_of(0x4FF, "x", {}) == Refused(0x4FF, Delivery.REJECTD, "1279")
    assert outcome_of(0x0B, "", {}) == Refused(0x0B, Delivery.REJECTD, "11")


def test_the_operators_id_is_kept_as_it_is() -> None:
    assert outcome_of(0, "00AbC", {}) == Accepted("00AbC")


@pytest.mark.parametrize(
    ("name", "text", "status", "outcome"),
    [
        ("rinvdstadr", "refuse", 0x0B, Refused(0x0B, Delivery.REJECTD, "11")),
        ("esme_rinvdstadr", "refuse undeliv", 0x0B, Refused(0x0B, Delivery.UNDELIV, "11")),
        ("11", "refuse UNDELIV 404", 0x0B, Refused(0x0B, Delivery.UNDELIV, "404")),
        ("0x400", "defer 2.5", 0x400, Deferred(0x400, 2.5)),
        ("rthrottled", "defer", 0x58, Deferred(0x58, 1.0)),
        ("rmsgqful", "defer 0.5", 0x14, Deferred(0x14, 0.5)),
        ("rx_t_appn", "defer", 0x64, Deferred(0x64, PAUSES[0x64])),
        ("0x400", "Defer", 0x400, Deferred(0x400, 1.0)),
        ("0x400", "throttle", 0x400, Deferred(0x400, 0.0, throttled=True)),
        ("0xff", "accept", 0xFF, Accepted("id7")),
        ("rsyserr", "refuse", 0x08, Refused(0x08, Delivery.REJECTD, "8")),
        ("rsyserr", "unknown", 0x08, Unknown("the operator responded with ESME_RSYSERR")),
    ],
)
def test_a_connector_may_see_it_differently(name: str, text: str, status: int, outcome: Outcome) -> None:
    read, verdict = read_override(name, text)
    assert read == status
    assert outcome_of(status, "id7", {read: verdict}) == outcome


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("rinvdstadr", ""),
        ("rinvdstadr", "defer soon"),
        ("rinvdstadr", "defer -1"),
        ("rinvdstadr", "defer nan"),
        ("rinvdstadr", "defer 1 2"),
        ("rinvdstadr", "refuse ENROUTE"),
        ("rinvdstadr", "refuse UNDELIV 12"),
        ("rinvdstadr", "accept 1"),
        ("0x1ffffffff", "defer"),
        ("-1", "defer"),
        ("nobody", "defer"),
    ],
)
def test_what_is_no_override(name: str, text: str) -> None:
    with pytest.raises(ValueError, match=r"none of|no |does not"):
        read_override(name, text)
