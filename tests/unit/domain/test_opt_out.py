import pytest

from heliograph.domain.message.opt_out import Wish, fold, gather_words
from tests.support.cases import for_each

WORDS = gather_words(
    [
        (Wish.STOP, "stop"), (Wish.STOP, "opt out"), (Wish.STOP, "arrêt"), (Wish.STOP, "إيقاف"), (Wish.STOP, "बंद करें"),
        (Wish.START, "start"), (Wish.YES, "yes"), (Wish.HELP, "help"),
    ]
)  # fmt: skip


@for_each(
    ("text", "wish"),
    [
        ("stop", Wish.STOP),
        ("STOP", Wish.STOP),
        (" \n Stop!!! ", Wish.STOP),
        ("\u26d4\ufe0f stop \U0001f64f\U0001f3fd", Wish.STOP),
        ("\uff33\uff34\uff2f\uff30", Wish.STOP),
        ("s\u200bt\u200dop", Wish.STOP),
        ("opt-out", Wish.STOP),
        ("Opt  OUT.", Wish.STOP),
        ("ARRET", Wish.STOP),
        ("arre\u0302t", Wish.STOP),
        ("ايقاف", Wish.STOP),
        ("إِيقَاف", Wish.STOP),
        ("إيقـــاف", Wish.STOP),
        ("बंद करें।", Wish.STOP),
        ("बँद क\u093cरें", Wish.STOP),
        ("Start", Wish.START),
        ("yes", Wish.YES),
        ("Help?", Wish.HELP),
        ("stop 12345", Wish.SUSPECTED),
        ("Stop. Thank you", Wish.SUSPECTED),
        ("please opt out", Wish.SUSPECTED),
        ("stop stop", Wish.SUSPECTED),
        ("stop start", Wish.SUSPECTED),
        ("yes please", Wish.NONE),
        ("help me", Wish.NONE),
        ("unstoppable", Wish.NONE),
        ("opt in", Wish.NONE),
        ("", Wish.NONE),
        ("!?", Wish.NONE),
        ("\ud83d", Wish.NONE),
    ],
)
def test_judgements(text: str, wish: Wish) -> None:
    assert WORDS.judge(text) is wish


def test_vowel_signs_count() -> None:
    assert fold("बद करें") != fold("बंद करें")


def test_a_word_has_one_meaning() -> None:
    with pytest.raises(ValueError, match="both for stop and start"):
        gather_words([(Wish.STOP, "Halt"), (Wish.START, "halt!")])
    assert gather_words([(Wish.STOP, "Halt"), (Wish.STOP, "halt")]).judge("HALT") is Wish.STOP


@pytest.mark.parametrize(("wish", "word"), [(Wish.STOP, "!!"), (Wish.SUSPECTED, "stop")])
def test_what_is_no_word(wish: Wish, word: str) -> None:
    with pytest.raises(ValueError, match="is no word for"):
        gather_words([(wish, word)])
