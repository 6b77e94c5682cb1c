import pytest

from heliograph.domain.text import alphabet
from heliograph.domain.text.preparation import plain


@pytest.mark.parametrize(
    ("text", "plainer"),
    [
        ("plain", "plain"),
        ("It\u2019s \u201cnow\u201d \u2013 or never\u2026", 'It\'s "now" - or never...'),
        ("a\u00a0b\u202fc\u200bd", "a b cd"),
        ("\u00abOui\u00bb", '"Oui"'),
        ("ž\u2014é", "ž-é"),
    ],
)
def test_signs_become_plain_and_letters_stay(text: str, plainer: str) -> None:
    assert plain(text) == plainer
    assert plain(plainer) == plainer


def test_every_sign_that_is_put_in_is_in_gsm_7_bit() -> None:
    signs = "".join(map(chr, range(0x80, 0x3100)))
    changed = {plain(sign) for sign in signs if plain(sign) != sign}
    assert changed
    assert all(alphabet.is_plain(each) for each in changed)
