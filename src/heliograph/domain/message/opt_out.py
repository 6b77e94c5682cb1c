"""Opt-out: recognises texts that ask to stop, to start again, or for help. The words are data, by language
(`config.opt_out`).

Only a text that consists of exactly one of the words takes effect. Case, punctuation, emoji and marks over letters are
ignored. Variants of a letter are equal: Arabic diacritics, tatweel and forms of alef, Hindi nukta and candrabindu,
compatibility forms (NFKC).
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
    """Consent: a start after a stop, otherwise an ordinary text."""
    HELP = 4
    SUSPECTED = 5
    """A word for stop among other words: it is reported, without further action."""


ACTED_ON: Final = (Wish.STOP, Wish.START, Wish.YES, Wish.HELP)
"""Wishes with words, such as STOP."""

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
    """Words of all languages by their wish, folded."""

    wishes: Mapping[str, Wish]
    longest: int
    """Words of the longest phrase for stop."""

    def judge(self, text: str) -> Wish:
        """Returns the wish of a text; NONE for an ordinary text."""
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
    """Collects the words of all languages. Raises ValueError for a malformed word, and for a word with two meanings."""
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
    """Returns the folded words of a text, separated by a space; empty if it has none."""
    return " ".join("".join([_folded(char) for char in text]).split())


@lru_cache(4096)
def _folded(char: str) -> str:
    """Folds a character; a separator becomes a space."""
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
