from urllib.parse import quote, quote_plus

from hypothesis import given
from hypothesis import strategies as st

from heliograph.domain.text.preparation import decode_content

TEXTS = st.one_of(st.text(), st.text("ab +%20é€-", max_size=20))


@given(TEXTS)
def test_encoded_text_is_decoded(text: str) -> None:
    for encoded in (quote(text, safe="~"), quote_plus(text)):
        assert decode_content(encoded, "auto") == decode_content(encoded, "always") == text


@given(TEXTS)
def test_text_that_is_not_encoded_throughout_stays(text: str) -> None:
    assert decode_content(text + " ", "auto") == text + " "
    assert decode_content(text + "é", "auto") == text + "é"
    assert decode_content(text + "%", "auto") == text + "%"


@given(TEXTS)
def test_never_changes_nothing(text: str) -> None:
    assert decode_content(text, "never") == text


@given(st.text("ab+%4F8C0", max_size=12))
def test_auto_never_fails_and_always_only_on_octets_that_are_no_text(text: str) -> None:
    decoded = decode_content(text, "auto")
    try:
        assert decoded in (text, decode_content(text, "always"))
    except ValueError as problem:
        assert "UTF-8" in str(problem)  # noqa: PT017
        assert decoded == text
