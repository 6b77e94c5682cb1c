import pytest

from heliograph.smpp import tlv
from heliograph.smpp.error import FieldError, PduError


@pytest.mark.parametrize(
    ("tag", "value", "octets"),
    [
        (tlv.MESSAGE_STATE, 2, b"\2"),
        (tlv.SAR_MSG_REF_NUM, 0x1234, b"\x12\x34"),
        (tlv.QOS_TIME_TO_LIVE, 1, b"\0\0\0\1"),
        (tlv.RECEIPTED_MESSAGE_ID, "1f", b"1f\0"),
        (tlv.NETWORK_ERROR_CODE, b"\3\0\1", b"\3\0\1"),
        (tlv.CONGESTION_STATE, 99, b"\x63"),
    ],
)
def test_values_both_ways(tag: int, value: tlv.Value, octets: bytes) -> None:
    made = tlv.make(tag, value)

    assert made == (tag, octets)
    assert tlv.read(tlv.write((made,)), 0) == (made,)
    assert tlv.described((made,)) == {tlv.name_of(tag): value}


def test_unknown_and_repeated_tags_are_kept_in_order() -> None:
    tlvs = ((0x1400, b"a"), (0x1401, b""), (0x1400, b"b"))

    assert tlv.read(tlv.write(tlvs), 0) == tlvs
    assert tlv.find(tlvs, 0x1400) == b"a"
    assert tlv.find(tlvs, 0x9999) is None
    assert tlv.described(tlvs) == {"0x1400": b"b", "0x1401": b""}


@pytest.mark.parametrize(
    ("tag", "value"),
    [
        (tlv.MESSAGE_STATE, 256),
        (tlv.MESSAGE_STATE, -1),
        (tlv.RECEIPTED_MESSAGE_ID, 1),
        (0x1400, 1),
        (tlv.RECEIPTED_MESSAGE_ID, "Ж"),
    ],
)
def test_what_cannot_be_made_is_named(tag: int, value: tlv.Value) -> None:
    with pytest.raises(FieldError) as caught:
        tlv.make(tag, value)

    assert caught.value.field == tlv.name_of(tag)


@pytest.mark.parametrize("octets", [b"\0", b"\0\1\0", b"\0\1\0\2x", b"\0\1\0\0\0"])
def test_a_broken_stream_is_refused_or_passed_over(octets: bytes) -> None:
    whole = tlv.write(((0x0427, b"\2"),))

    with pytest.raises(PduError):
        tlv.read(whole + octets, 0)

    assert tlv.read_leniently(whole + octets, 0)[0] == (0x0427, b"\2")


def test_values_of_odd_sizes() -> None:
    tlvs = ((tlv.MESSAGE_STATE, b"\0\2"), (tlv.SAR_TOTAL_SEGMENTS, b""))

    assert tlv.find_integer(tlvs, tlv.MESSAGE_STATE) == 2
    assert tlv.find_integer(tlvs, tlv.SAR_TOTAL_SEGMENTS) is None
    assert tlv.described(tlvs)["message_state"] == b"\0\2"


def test_names_are_unique() -> None:
    names = [definition.name for definition in tlv.DEFINITIONS.values()]

    assert len(set(names)) == len(names)
