"""Templates: texts with variables, as registries of operators (India's DLT) keep them. Pure.

A text fits a template if its fixed text is equal and each variable matches allowed characters. A hostile text could
keep a backtracking matcher busy for hours. So all possible matches are followed at once: an integer has a bit for each
position of the text that some match has reached. Each character of the template moves all of them by one operation, and
a variable takes a few operations, whatever its length. The work is limited by the length of the template times the
octets of that integer.
"""

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

MAX_TEXT_CHARS: Final = 2000
"""Characters of a template's text."""

MAX_VARIABLES: Final = 50
"""Variables of a template."""

MOST_LOOKED_AT: Final = 100
"""Templates that `nearest` looks at."""

MOST_WORDS: Final = 40
"""Words of each text that `nearest` compares."""

_MOST_RANKED: Final = 3
"""Templates that `nearest` compares word by word."""

_SHOWN_CHARS: Final = 30


class Letters(Enum):
    """Characters that a variable, or a stretch of a variable, may match."""

    ANY = "characters, no line ends"
    DIGITS = "digits"
    ALPHANUMERIC = "letters, digits and spaces"
    UNSPACED = "characters, no spaces or line ends"
    NUMBER = "digits, spaces, and + - ( )"
    AT = "@"
    OF_ADDRESS = "characters, no spaces or @"


def _is_alphanumeric(letter: str) -> bool:
    """Marks belong to the letters before them: vowels of Indian scripts are marks."""
    return letter == " " or unicodedata.category(letter)[0] in "LMN"


_ALLOWS: Final[Mapping[Letters, Callable[[str], bool]]] = {
    Letters.ANY: lambda letter: letter != "\n",
    Letters.DIGITS: lambda letter: letter in "0123456789",
    Letters.ALPHANUMERIC: _is_alphanumeric,
    Letters.UNSPACED: lambda letter: not letter.isspace(),
    Letters.NUMBER: lambda letter: letter in "0123456789 +-()",
    Letters.AT: lambda letter: letter == "@",
    Letters.OF_ADDRESS: lambda letter: letter != "@" and not letter.isspace(),
}


@dataclass(frozen=True, slots=True)
class Stretch:
    """One to `most` characters of a kind; a variable has one or several stretches."""

    variable: str
    letters: Letters
    most: int


def _one(name: str, letters: Letters, most: int) -> tuple[Stretch, ...]:
    return (Stretch(name, letters, most),)


_EMAIL: Final = (
    Stretch("email", Letters.OF_ADDRESS, 64),
    Stretch("email", Letters.AT, 1),
    Stretch("email", Letters.OF_ADDRESS, 100),
)

VARIABLES: Final[Mapping[str, tuple[Stretch, ...]]] = {
    "var": _one("var", Letters.ANY, 30),
    "numeric": _one("numeric", Letters.DIGITS, 30),
    "number": _one("number", Letters.DIGITS, 30),
    "alphanumeric": _one("alphanumeric", Letters.ALPHANUMERIC, 40),
    "url": _one("url", Letters.UNSPACED, 200),
    "urlott": _one("urlott", Letters.UNSPACED, 200),
    "cbn": _one("cbn", Letters.NUMBER, 20),
    "email": _EMAIL,
}
"""The variables, with the stretches of each."""

_TYPED: Final = "|".join(name for name in VARIABLES if name != "var")
_VARIABLE: Final = re.compile(rf"\{{#([A-Za-z]+)#\}}|#({_TYPED})#", re.IGNORECASE)

Token = str | Stretch


class UnfitTemplate(ValueError):
    """Raised for a text that is no template, in a sentence."""


@dataclass(frozen=True, slots=True)
class Departure:
    """The position where a text first departs from a template."""

    at: int
    """Characters before that position."""
    variable: str
    """The template's variable at that position, if there is one."""
    expected: str
    """Fixed text of the template that is not found there, or behind the variable; empty: its end."""
    found: str
    """The text from there on, cut."""

    def __str__(self) -> str:
        expected = _quoted(self.expected) if self.expected else "its end"
        if self.variable:
            stretches = VARIABLES[self.variable]
            allowed = "an address" if len(stretches) > 1 else f"1 to {stretches[0].most} {stretches[0].letters.value}"
            expected = f"{{#{self.variable}#}} ({allowed}) and then {expected}"
        found = _quoted(self.found) if self.found else "ends"
        return f"at character {self.at + 1} the template has {expected}, and the text {found}"


def _quoted(text: str) -> str:
    cut = text if len(text) <= _SHOWN_CHARS else text[: _SHOWN_CHARS - 3] + "..."
    return '"' + cut.replace("\n", "\\n") + '"'


def normalise(text: str) -> str:
    """Returns a text in the form of comparisons: line feeds as line ends, without surrounding spaces."""
    return text.replace("\r\n", "\n").replace("\r", "\n").strip()


class _Bits(dict[int, str]):
    """A table for `str.translate`: "1" for a character of the set, "0" for the others."""

    def __missing__(self, letter: int) -> str:
        return "0"


class ScannedText:
    """A text to be matched against templates. Bit i of an integer is the position before its character i."""

    __slots__ = ("_backward", "_letters", "_runs", "text")

    def __init__(self, text: str) -> None:
        self.text = normalise(text)
        self._backward = self.text[::-1]
        self._letters: dict[str, int] = {}
        self._runs: dict[tuple[Letters, int], int] = {}

    def letter(self, letter: str) -> int:
        """Returns the positions of the letter."""
        positions = self._letters.get(letter)
        if positions is None:
            positions = int(self._backward.translate(_Bits({ord(letter): "1"})) or "0", 2)
            self._letters[letter] = positions
        return positions

    def run(self, letters: Letters, length: int) -> int:
        """Returns the positions at which `length` characters in a row are in the set. A length is a power of two."""
        positions = self._runs.get((letters, length))
        if positions is None:
            if length == 1:
                allows = _ALLOWS[letters]
                allowed = {letter: allows(letter) for letter in set(self.text)}
                positions = int("".join("1" if allowed[letter] else "0" for letter in self._backward) or "0", 2)
            else:
                half = self.run(letters, length // 2)
                positions = half & (half >> (length // 2))
            self._runs[letters, length] = positions
        return positions

    def behind(self, reached: int, stretch: Stretch) -> int:
        """Returns the positions behind runs of 1 to `most` such characters from reached positions."""
        reached = (reached & self.run(stretch.letters, 1)) << 1
        left, step = stretch.most - 1, 1
        while left and reached:
            length = min(step, left)
            power = 1 << (length.bit_length() - 1)
            run = self.run(stretch.letters, power)
            if power < length:
                run &= run >> (length - power)
            reached |= (reached & run) << length
            left -= length
            step *= 2
        return reached


class TemplatePattern:
    """A template to match texts against."""

    __slots__ = ("_head", "_least", "_most", "_tail", "_tokens", "words")

    def __init__(self, text: str) -> None:
        """Raises UnfitTemplate."""
        self._tokens = tuple(_tokens(normalise(text)))
        first, last = self._tokens[0], self._tokens[-1]
        self._head = first if isinstance(first, str) else ""
        self._tail = last if isinstance(last, str) else ""
        self._least = sum(len(token) if isinstance(token, str) else 1 for token in self._tokens)
        self._most = sum(len(token) if isinstance(token, str) else token.most for token in self._tokens)
        fixed = " ".join(token for token in self._tokens if isinstance(token, str))
        self.words = fixed.split()[:MOST_WORDS]
        """The first words of its fixed text."""

    def fits(self, text: ScannedText) -> bool:
        """Returns whether the text fits."""
        whole = text.text
        if not self._least <= len(whole) <= self._most:
            return False
        if not (whole.startswith(self._head) and whole.endswith(self._tail)):
            return False
        return self.departure(text) is None

    def departure(self, text: ScannedText) -> Departure | None:
        """Returns where the text first differs from the template, or None if it fits."""
        whole = text.text
        reached, begun, variable = 1, 1, ""
        for index, token in enumerate(self._tokens):
            if isinstance(token, Stretch):
                if not variable:
                    begun = reached
                onward = text.behind(reached, token)
                if not onward:
                    fixed = next((later for later in self._tokens[index:] if isinstance(later, str)), "")
                    return _departure(whole, begun, token.variable, fixed)
                reached, variable = onward, token.variable
                continue
            onward, read = _through(text, reached, token)
            if not onward:
                return _departure(whole, begun, variable, token)
            if read < len(token):
                return _departure(whole, onward, "", token[read:])
            reached, variable = onward, ""
        if reached >> len(whole) & 1:
            return None
        return _departure(whole, begun if variable else reached, variable, "")


def _through(text: ScannedText, reached: int, fixed: str) -> tuple[int, int]:
    """Finds the longest beginning of a fixed text behind any reached position. Returns the positions behind it, and its
    length: both 0 if not even the first character is found."""
    if reached & (reached - 1) == 0:
        position = reached.bit_length() - 1
        if text.text.startswith(fixed, position):
            return reached << len(fixed), len(fixed)
    for read, letter in enumerate(fixed):
        onward = (reached & text.letter(letter)) << 1
        if not onward:
            return (reached, read) if read else (0, 0)
        reached = onward
    return reached, len(fixed)


def _departure(text: str, positions: int, variable: str, expected: str) -> Departure:
    at = (positions & -positions).bit_length() - 1
    return Departure(at, variable, expected, text[at : at + _SHOWN_CHARS + 1])


def _tokens(text: str) -> list[Token]:
    if not text:
        raise UnfitTemplate("the text is empty")
    if len(text) > MAX_TEXT_CHARS:
        raise UnfitTemplate(f"the text has {len(text)} characters; a template may have {MAX_TEXT_CHARS}")
    if "\x00" in text or any("\ud800" <= letter <= "\udfff" for letter in text):
        raise UnfitTemplate("the text has characters that no message can carry: NUL, or no UTF-8")
    tokens: list[Token] = []
    end = variables = 0
    for found in _VARIABLE.finditer(text):
        name = (found[1] or found[2]).lower()
        stretches = VARIABLES.get(name)
        if stretches is None:
            there_are = ", ".join(f"{{#{each}#}}" for each in VARIABLES)
            raise UnfitTemplate(f"there is no variable {found[0]}; there are {there_are}")
        if found.start() > end:
            tokens.append(text[end : found.start()])
        tokens += stretches
        end = found.end()
        variables += 1
    if variables > MAX_VARIABLES:
        raise UnfitTemplate(f"the text has {variables} variables; a template may have {MAX_VARIABLES}")
    if end < len(text):
        tokens.append(text[end:])
    if any("{#" in token for token in tokens if isinstance(token, str)):
        raise UnfitTemplate("the text has {# that begins no variable; write {#var#}")
    return tokens


def nearest(patterns: Sequence[TemplatePattern], text: ScannedText) -> int:
    """Returns the index of the template with the fixed text most similar to the text, among the first templates.
    `patterns` must not be empty."""
    from difflib import SequenceMatcher  # few texts fit no template
    from heapq import nlargest

    matcher = SequenceMatcher(None, (), text.text.split(None, MOST_WORDS)[:MOST_WORDS], autojunk=False)
    ranked = []
    for index, pattern in enumerate(patterns[:MOST_LOOKED_AT]):
        matcher.set_seq1(pattern.words)
        ranked.append((matcher.quick_ratio(), -index))
    best = []
    for _, index in nlargest(_MOST_RANKED, ranked):
        matcher.set_seq1(patterns[-index].words)
        best.append((matcher.ratio(), index))
    return -max(best)[1]
