"""One id in all the ways in which operators write it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.domain.operator_id import variants

FORMS = ["{}", "{:x}", "{:X}", "{:08x}", "{:08X}", "{:016x}", "{:016X}", "{:010d}", "{:020d}"]


@pytest.mark.parametrize("reported", FORMS)
@pytest.mark.parametrize("answered", FORMS)
@given(number=st.integers(1, 2**63 - 1))
def test_each_form_leads_to_each_other(answered: str, reported: str, number: int) -> None:
    one, other = answered.format(number), reported.format(number)
    assert one == other or one in variants(other)


@given(st.text(max_size=70))
def test_there_are_few_and_none_is_the_id_itself(operator_id: str) -> None:
    forms = variants(operator_id)
    assert operator_id not in forms
    assert len(forms) == len(set(forms)) <= 24


def test_quotes_and_case_are_forms_too() -> None:
    assert "a1-b2" in variants('"A1-B2"')
    assert variants("") == []
