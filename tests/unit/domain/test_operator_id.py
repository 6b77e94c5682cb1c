"""One id in all the ways in which operators write it."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.domain.message.operator_id import kept, spelling, variants

FORMS = ["{}", "{:x}", "{:X}", "{:08x}", "{:08X}", "{:016x}", "{:016X}", "{:010d}", "{:020d}", "0x{:x}", "0x{:X}"]


@settings(max_examples=1_000)
@given(st.sampled_from(FORMS), st.sampled_from(FORMS), st.integers(1, 2**63 - 1))
def test_each_form_leads_to_each_other(answered: str, reported: str, number: int) -> None:
    one, other = answered.format(number), reported.format(number)
    assert one == other or one in variants(other)


@given(st.text(max_size=70))
def test_there_are_few_and_none_is_the_id_itself(operator_id: str) -> None:
    forms = variants(operator_id)
    assert operator_id not in forms
    assert len(forms) == len(set(forms)) <= 32


def test_quotes_and_case_are_forms_too() -> None:
    assert "a1-b2" in variants('"A1-B2"')
    assert variants("") == []


UUID = "550e8400-e29b-41d4-a716-446655440000"


@pytest.mark.parametrize("answered", [UUID, UUID.upper(), UUID.replace("-", ""), UUID.replace("-", "").upper()])
@pytest.mark.parametrize("reported", [UUID, UUID.upper(), UUID.replace("-", ""), UUID.replace("-", "").upper()])
def test_a_uuid_may_have_dashes_or_none(answered: str, reported: str) -> None:
    assert answered == reported or answered in variants(reported)


@pytest.mark.parametrize("padded", ["77   ", "   77", " 77\0\0", "77"])
def test_spaces_around_an_id_are_not_kept(padded: str) -> None:
    assert kept(padded) == "77"


@pytest.mark.parametrize(
    ("answered", "reported", "word"),
    [
        ("77", "77", ""),
        ("77", '"77"', "quotes"),
        ("ab12", "AB12", "case"),
        (UUID, UUID.replace("-", "").upper(), "dashes"),
        ("77", "0000000077", "zeros"),
        ("1a2b", "0x1A2B", "0x"),
        ("1A2B", "6699", "decimal"),
        ("0x1a2b", "6699", "decimal"),
        ("6699", "1a2b", "hexadecimal"),
        ("77", "something else", "other"),
    ],
)
def test_a_word_says_how_an_id_is_spelt_otherwise(answered: str, reported: str, word: str) -> None:
    assert spelling(answered, reported) == word
