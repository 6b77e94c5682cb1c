"""Extras are read as they were written."""

from hypothesis import given
from hypothesis import strategies as st

from heliograph.domain.message.extras import NONE, Extras, read_extras

TLVS = st.lists(st.tuples(st.integers(1, 0xFFFF), st.binary(max_size=20)), max_size=4).map(tuple)


@given(st.none() | st.integers(0, 3), st.none() | st.integers(0, 255), st.binary(max_size=30), TLVS, st.booleans())
def test_extras_are_read_as_they_were_written(
    priority: int | None, coding: int | None, elements: bytes, tlvs: tuple[tuple[int, bytes], ...], progress: bool
) -> None:
    extras = Extras(priority, coding, elements, tlvs, progress)
    assert read_extras(extras.text()) == extras
    assert (extras.text() == "") is (extras == NONE)
    assert (extras.described() == "") is (extras == NONE)
