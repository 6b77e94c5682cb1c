"""Templates: what fits by the rules fits, no more, and no text keeps the matcher busy."""

import random
import re
import sys
from types import FrameType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.domain.text import template
from heliograph.domain.text.template import MAX_TEXT_CHARS, MAX_VARIABLES, ScannedText, TemplatePattern, nearest

_CLASS = {
    "{#var#}": r"[^\n]{1,30}",
    "{#numeric#}": r"[0-9]{1,30}",
    "{#url#}": r"\S{1,200}",
    "{#cbn#}": r"[0-9 +()-]{1,20}",
    "{#email#}": r"[^\s@]{1,64}@[^\s@]{1,100}",
}

PIECES = st.lists(st.sampled_from(["a", "ab", "1", " ", "@", ".\n", *_CLASS]), min_size=1, max_size=6)


def by_expression(pieces: list[str]) -> re.Pattern[str]:
    return re.compile("".join(_CLASS.get(piece) or re.escape(piece) for piece in pieces))


@given(PIECES.filter(lambda pieces: "".join(pieces).strip()), st.text("ab1 @.\n", max_size=12))
def test_a_text_fits_if_an_expression_says_so(pieces: list[str], text: str) -> None:
    written, text = "".join(pieces).strip(), text.strip()
    cut = re.split(r"(\{#\w+#\})", written)
    expected = by_expression([piece for piece in cut if piece]).fullmatch(text) is not None
    pattern, scanned = TemplatePattern(written), ScannedText(text)
    assert pattern.fits(scanned) is expected
    departure = pattern.departure(scanned)
    assert (departure is None) is expected
    assert departure is None or (0 <= departure.at <= len(text) and str(departure))


@given(PIECES.filter(lambda pieces: "".join(pieces).strip()), st.data())
def test_a_template_with_its_variables_filled_in_fits(pieces: list[str], data: st.DataObject) -> None:
    written = "".join(pieces)
    filled = "".join(
        data.draw(st.from_regex(re.compile(_CLASS[piece]), fullmatch=True)) if piece in _CLASS else piece
        for piece in pieces
    )
    if filled == filled.strip() and "\r" not in filled and written == written.strip():
        assert TemplatePattern(written).fits(ScannedText(filled))


def _hostile(dice: random.Random) -> tuple[str, str]:
    """A template and a text that is made to nearly fit in very many ways."""
    letter = dice.choice(["a", "1", " a", "a.", "1@"])
    variables = [f"{{#{name}#}}" for name in template.VARIABLES]
    pieces = []
    for _ in range(dice.randint(1, MAX_VARIABLES)):
        pieces.append(dice.choice(variables))
        pieces.append(letter * dice.choice([0, 0, 1, 2, 10]))
    written = ("".join(pieces) + dice.choice(["", "b", letter]))[:MAX_TEXT_CHARS]
    written = written[: written.rfind("#}") + 2] if written.count("{#") != written.count("#}") else written
    return written, letter * dice.choice([1, 30, 200, 1500]) + dice.choice(["", "!", "b"])


@pytest.mark.slow
def test_hostile_texts_cost_no_more_than_their_lengths() -> None:
    """Matchers that were made slow on purpose are found within two hundred."""
    dice, steps = random.Random(7), 0

    def count(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal steps
        if frame.f_code.co_filename != template.__file__:
            return None
        if event == "line":
            steps += 1
        return count

    for _ in range(600):
        written, text = _hostile(dice)
        pattern, scanned = TemplatePattern(written), ScannedText(text)
        steps = 0
        before = sys.gettrace()
        sys.settrace(count)
        try:
            pattern.departure(scanned)
        finally:
            sys.settrace(before)
        # lines run: a few for each character of the template, some for each variable; each kind of letters is once
        # looked for in the text
        most = 20 * len(written) + 200 * written.count("{#") + len(template.Letters) * (len(text) + 100)
        assert steps <= most, (written, text)


@given(st.lists(st.sampled_from(["a", "b", "a a", "{#var#}"]), min_size=1, max_size=200), st.text("ab ", max_size=500))
def test_there_is_always_a_nearest(texts: list[str], text: str) -> None:
    found = nearest([TemplatePattern(each) for each in texts], ScannedText(text))
    assert 0 <= found < len(texts)
