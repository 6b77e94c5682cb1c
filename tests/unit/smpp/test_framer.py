from heliograph.smpp.constants import CommandStatus
from heliograph.smpp.framer import Framer
from tests.support.cases import for_each

ENQUIRE = bytes.fromhex("00000010 00000015 00000000 00000001")
LONGER = bytes.fromhex("00000012 00000006 00000000 00000002 ffff")


@for_each("cut", range(len(ENQUIRE + LONGER) + 1))
def test_a_stream_may_be_cut_anywhere(cut: int) -> None:
    stream = ENQUIRE + LONGER
    framer = Framer()

    assert framer.feed(stream[:cut]) + framer.feed(stream[cut:]) == [ENQUIRE, LONGER]
    assert len(framer._partial) == 0


def test_frames_before_a_broken_one_are_given_out() -> None:
    framer = Framer()

    assert framer.feed(ENQUIRE + bytes.fromhex("0000000f 00000015 00000000 00000001")) == [ENQUIRE]

    assert framer.error is not None
    assert framer.error.status == CommandStatus.ESME_RINVCMDLEN
    assert not framer.error.recoverable
    assert framer.error.sequence == 0
    assert framer.feed(ENQUIRE) == []


def test_a_frame_above_the_limit_is_refused_by_its_first_four_octets() -> None:
    framer = Framer(max_octets=17)

    assert framer.feed(b"\0\0\0") == []
    assert framer.feed(b"\x12") == []

    assert framer.error is not None
    assert len(framer._partial) <= 4


def test_the_sequence_of_a_too_long_frame_is_told_where_it_is_there() -> None:
    framer = Framer(max_octets=17)

    framer.feed(LONGER)

    assert framer.error is not None
    assert (framer.error.command_id, framer.error.sequence) == (6, 2)


def test_single_octets_of_a_long_frame_cost_no_more_than_their_number() -> None:
    """What is copied stays in proportion: an unfinished frame is never put together before it is whole."""
    body = bytes(60_000)
    frame = (16 + len(body)).to_bytes(4, "big") + ENQUIRE[4:] + body
    framer = Framer()

    found = [whole for octet in frame for whole in framer.feed(bytes([octet]))]

    assert found == [frame]
