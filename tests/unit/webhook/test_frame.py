"""Frames between the two processes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.adapters.webhook.frame import LONGEST_OCTETS, FrameReader, framed


@given(st.lists(st.binary(max_size=50)), st.integers(1, 20))
def test_frames_come_whole_however_they_are_cut(payloads: list[bytes], step: int) -> None:
    octets = b"".join(map(framed, payloads))
    reader = FrameReader()
    found = [payload for at in range(0, len(octets), step) for payload in reader.feed(octets[at : at + step])]
    assert found == payloads


def test_a_length_that_cannot_be() -> None:
    with pytest.raises(ValueError, match="octets"):
        FrameReader().feed((LONGEST_OCTETS + 1).to_bytes(4, "big"))
