"""The knobs: their checks, and how they are read from text."""

from typing import Any

import pytest

from heliograph.simulator.behaviour import (
    KNOBS,
    Behaviour,
    BehaviourError,
    Notation,
    ReceiptWording,
    Refusal,
    parse_refusals,
    parse_status,
)
from heliograph.smpp.constants import CommandStatus
from tests.support.cases import for_each

BY_NAME = {knob.name: knob for knob in KNOBS}


def test_every_knob_has_a_meaning_and_a_group() -> None:
    for knob in KNOBS:
        assert knob.what
        assert knob.group in {"answers", "refusals", "binds", "receipts", "phones", "links", "messages"}


def test_the_defaults_behave_well() -> None:
    behaviour = Behaviour()
    for knob in KNOBS:
        if knob.name.endswith("_share") or knob.name in ("latency_ms", "throttle_per_s", "queue_limit", "cut_after"):
            assert getattr(behaviour, knob.name) == 0


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("latency_ms", -1.0),
        ("latency_ms", "soon"),
        ("latency_ms", float("nan")),
        ("refuse_share", 1.01),
        ("cut_after", 1.5),
        ("cut_after", True),
        ("magic", 1),
        ("deliver_window", 0),
        ("remember", 0),
        ("receipt_text", "standard"),
        ("refuse_status", 0),
        ("refuse", (Refusal("44", 0),)),
        ("throttle_per_s", None),
    ],
)
def test_what_means_nothing_is_named(name: str, value: Any) -> None:
    with pytest.raises(BehaviourError, match=f"^{name}: ") as caught:
        Behaviour(**{name: value})
    assert caught.value.knob == name


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("latency_ms", "1.5", 1.5),
        ("cut_after", "7", 7),
        ("seed", "-3", -3),
        ("magic", "no", False),
        ("magic", "On", True),
        ("system_id", "acme", "acme"),
        ("receipt_text", "ucs2", ReceiptWording.UCS2),
        ("answer_id", "zero_hex", Notation.ZERO_HEX),
        ("bind_status", "ESME_RBINDFAIL", 0x0D),
        ("refuse_status", "rsyserr", 8),
        ("refuse_status", "0x58", 0x58),
        ("refuse", "4479, 33=RSYSERR,", (Refusal("4479", 0x0B), Refusal("33", 8))),
    ],
)
def test_knobs_are_read_from_text(name: str, text: str, value: Any) -> None:
    read = BY_NAME[name].read(text)
    assert read == value
    assert getattr(Behaviour(**{name: read}), name) == value


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("latency_ms", "x", "ms"),
        ("cut_after", "1.5", "messages"),
        ("magic", "perhaps", "a bool"),
        ("receipt_text", "loud", "one of standard, lower"),
        ("refuse_status", "ESME_NEVER", "name or number"),
        ("refuse_status", "0x100000000", "name or number"),
        ("refuse", "44=NO", "prefix"),
        ("throttle_per_s", "", "1/s"),
    ],
)
def test_what_cannot_be_read_says_what_can(name: str, text: str, says: str) -> None:
    with pytest.raises(BehaviourError, match=says):
        BY_NAME[name].read(text)


def test_defaults_survive_text() -> None:
    for knob in KNOBS:
        if knob.default is not None and knob.kind is not tuple:
            assert knob.read(str(knob.default)) == knob.default


@for_each("status", list(CommandStatus))
def test_every_status_is_read_by_name_and_number(status: CommandStatus) -> None:
    assert parse_status(status.name) == parse_status(status.name.lower()) == parse_status(str(int(status))) == status


def test_no_refusals() -> None:
    assert parse_refusals("") == ()


@for_each("notation", list(Notation))
@for_each("number", [1, 255, 1_795_157_938_305_303, 2**63])
def test_notations_read_what_they_write(notation: Notation, number: int) -> None:
    assert notation.read(notation.write(number)) == number
    assert notation.read("no id") is None
    assert notation.read("") is None


@pytest.mark.parametrize(("knobs", "burst"), [((50.0, 0), 10.0), ((1.0, 0), 1.0), ((1.0, 30), 30.0)])
def test_the_burst_of_the_throttle(knobs: tuple[float, int], burst: float) -> None:
    assert Behaviour(throttle_per_s=knobs[0], throttle_burst=knobs[1]).burst == burst
