"""Extras are read as they were written."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from heliograph.domain.message.extras import NONE, Extras, read_extras

VALUES = st.text(max_size=20) | st.integers(0, 99) | st.binary(max_size=20).map(lambda octets: {"hex": octets.hex()})
TLVS = st.dictionaries(st.text("0x14ab", min_size=1), VALUES, max_size=4)


@given(st.none() | st.integers(0, 3), st.none() | st.integers(0, 255), st.binary(max_size=30), TLVS, st.booleans())
def test_extras_are_read_as_they_were_written(
    priority: int | None, coding: int | None, elements: bytes, tlvs: dict[str, Any], progress: bool
) -> None:
    extras = Extras(priority, coding, elements, tlvs, progress)
    assert read_extras(extras.text()) == extras
    assert (extras.text() == "") is (extras == NONE)
    assert (extras.described() == "") is (extras == NONE)
