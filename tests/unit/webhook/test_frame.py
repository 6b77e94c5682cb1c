"""Frames between the two processes."""

from zoneinfo import ZoneInfo

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.adapters.webhook.frame import JOBS_PER_FRAME, LONGEST_OCTETS, FrameReader, framed
from heliograph.app.configuration import Account
from heliograph.app.facts import InboundMessage
from heliograph.app.notice import Notice
from heliograph.app.notices.inbound_form import InboundRenderer
from heliograph.smpp.constants import MAX_PDU_OCTETS


@given(st.lists(st.binary(max_size=50)), st.integers(1, 20))
def test_frames_come_whole_however_they_are_cut(payloads: list[bytes], step: int) -> None:
    octets = b"".join(map(framed, payloads))
    reader = FrameReader()
    found = [payload for at in range(0, len(octets), step) for payload in reader.feed(octets[at : at + step])]
    assert found == payloads


def test_a_length_that_cannot_be() -> None:
    with pytest.raises(ValueError, match="octets"):
        FrameReader().feed((LONGEST_OCTETS + 1).to_bytes(4, "big"))


def test_a_frame_has_room_for_the_longest_messages_from_phones() -> None:
    text = "\xff" * MAX_PDU_OCTETS
    message = InboundMessage(1, 1, "491701234567", "3388", text, text.encode("latin-1"), 3, 1)
    job = InboundRenderer(msgspec.json.encode).job(Notice(1, 1, message, 1), Account(1, "", "", b""), ZoneInfo("UTC"))
    assert len(job.body) > 8 * MAX_PDU_OCTETS - 1
    assert JOBS_PER_FRAME * (len(job.body) + MAX_PDU_OCTETS) < LONGEST_OCTETS
