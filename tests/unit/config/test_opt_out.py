import pytest

from heliograph.config.opt_out import languages, load_opt_out_words
from heliograph.domain.message.opt_out import Wish


def test_languages() -> None:
    assert languages() == ["ar", "de", "en", "es", "fr", "hi", "id", "pt", "ru", "sw"]


@pytest.mark.parametrize(
    "word", ["stop", "stopall", "quit", "end", "revoke", "opt out", "optout", "cancel", "unsubscribe"]
)
def test_the_words_of_the_contract(word: str) -> None:
    assert load_opt_out_words().judge(word.upper() + "!") is Wish.STOP


@pytest.mark.parametrize(
    ("text", "wish"),
    [
        ("START", Wish.START), ("unstop", Wish.START), ("Yes", Wish.YES), ("info", Wish.HELP), ("help", Wish.HELP),
        ("Désabonner", Wish.STOP), ("BAJA", Wish.STOP), ("Sair", Wish.STOP), ("Abmelden", Wish.STOP),
        ("ايقاف", Wish.STOP), ("बंद करो", Wish.STOP), ("SITISHA", Wish.STOP), ("Berhenti", Wish.STOP),
        ("СТОП", Wish.STOP), ("Ayuda", Wish.HELP), ("помощь", Wish.HELP),
        ("شكرا", Wish.NONE), ("acha", Wish.NONE), ("para", Wish.NONE),
    ],
)  # fmt: skip
def test_words_of_all_languages(text: str, wish: Wish) -> None:
    assert load_opt_out_words().judge(text) is wish
