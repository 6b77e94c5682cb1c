"""Opt-out: whether a text asks to stop, to start again or for help. The words are data, by language (`config.opt_out`).

Only a text that is one of the words, and nothing else, is acted on. Case, punctuation, emoji and marks over letters do
not count, nor do the ways in which phones write one letter: Arabic diacritics, tatweel and forms of alef, Hindi nukta
and candrabindu, compatibility forms (NFKC).
"""

import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from typing import Final


class Wish(IntEnum):
    """Meaning of a text. The numbers are stored."""

    NONE = 0
    STOP = 1
    START = 2
    YES = 3
    """Consent: a start where there was a stop, else an ordinary text."""
    HELP = 4
    SUSPECTED = 5
    """A word for stop stands among others; people are told, and nothing is done."""


ACTED_ON: Final = (Wish.STOP, Wish.START, Wish.YES, Wish.HELP)
"""OptionalFields that have words."""

_SAME_LETTERS: Final[dict[str, str]] = {
    "\u0649": "\u064a",  # alef maksura, yeh
    "\u06cc": "\u064a",  # Farsi yeh
    "\u06a9": "\u0643",  # keheh, kaf
    "\u0629": "\u0647",  # teh marbuta, heh
    "\u0901": "\u0902",  # candrabindu, anusvara
    "\u0640": "",  # tatweel
    "\u0670": "",  # superscript alef
    "\u093c": "",  # nukta
    "\u20e3": "",  # keycap
}


@dataclass(frozen=True, slots=True)
class OptOutWords:
    """Words of all languages by what they ask for, folded."""

    wishes: Mapping[str, Wish]
    longest: int
    """Words of the longest phrase for stop."""

    def judge(self, text: str) -> Wish:
        """Returns the wish of a text, NONE for an ordinary one."""
        folded = fold(text)
        wish = self.wishes.get(folded)
        if wish is not None:
            return wish
        words = folded.split(" ")
        for start in range(len(words)):
            for end in range(start + 1, min(start + self.longest, len(words)) + 1):
                if self.wishes.get(" ".join(words[start:end])) is Wish.STOP:
                    return Wish.SUSPECTED
        return Wish.NONE


NO_WORDS: Final = OptOutWords({}, 0)
"""No text asks for anything."""


def gather_words(words: Iterable[tuple[Wish, str]]) -> OptOutWords:
    """Gathers the words of all languages. Raises ValueError for one that is no word, and for one with two meanings."""
    wishes: dict[str, Wish] = {}
    for wish, word in words:
        folded = fold(word)
        if not folded or wish not in ACTED_ON:
            raise ValueError(f"{word!r} is no word for {wish.name.lower()}")
        if wishes.setdefault(folded, wish) is not wish:
            raise ValueError(f"{word!r} asks both for {wishes[folded].name.lower()} and {wish.name.lower()}")
    longest = max((len(word.split(" ")) for word, wish in wishes.items() if wish is Wish.STOP), default=0)
    return OptOutWords(wishes, longest)


def fold(text: str) -> str:
    """Returns the words of a text as they are compared, one space between them; empty where it has none."""
    return " ".join("".join([_folded(char) for char in text]).split())


@lru_cache(4096)
def _folded(char: str) -> str:
    """Folds one character; a space for what separates words."""
    if char.isascii():
        return char.lower() if char.isalnum() else " "
    plain = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", char).casefold())
    return "".join([_plain(each) for each in plain])


def _plain(char: str) -> str:
    same = _SAME_LETTERS.get(char)
    if same is not None:
        return same
    if (
        "\u0300" <= char <= "\u036f"
        or "\u064b" <= char <= "\u065f"
        or "\u06d6" <= char <= "\u06ed"
        or "\ufe00" <= char <= "\ufe0f"
    ):
        return ""  # marks over letters, variation selectors
    category = unicodedata.category(char)
    if category == "Cf":
        return ""  # joiners, marks of direction
    return char if category[0] in "LMN" else " "
