from hypothesis import given
from hypothesis import strategies as st

from heliograph.config.opt_out import load_opt_out_words
from heliograph.domain.message.opt_out import Wish, fold
from heliograph.domain.numbers.number_rules import first_word, normalise_word

WORDS = load_opt_out_words()
STOPS = st.sampled_from(sorted(word for word, wish in WORDS.wishes.items() if wish is Wish.STOP))
SIGNS = st.text(st.sampled_from(" .,!?-\n\u3002\u060c\u0964\u200b\u2764\ufe0f\U0001f6d1"), max_size=5)
ANY = st.text(st.characters(), max_size=80)


@given(STOPS, SIGNS, SIGNS)
def test_signs_and_case_around_a_word_do_not_count(word: str, before: str, after: str) -> None:
    assert WORDS.judge(before + word.upper() + after) is Wish.STOP


@given(STOPS, st.sampled_from(["xyzzy", "12345"]), st.booleans())
def test_a_word_among_others_is_never_acted_on(word: str, other: str, first: bool) -> None:
    assert WORDS.judge(f"{other} {word}" if first else f"{word} {other}") is Wish.SUSPECTED


@given(ANY)
def test_any_text_is_judged_and_folding_twice_changes_nothing(text: str) -> None:
    WORDS.judge(text)
    assert fold(fold(text)) == fold(text)


@given(ANY)
def test_a_first_word_is_a_keyword_as_it_is(text: str) -> None:
    assert normalise_word(first_word(text)) == first_word(text)
