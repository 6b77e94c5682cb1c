"""The words of opt-out, from the files of `config/opt_out_words`: a TOML file for each language, with a list for each
wish, such as `stop`.
"""

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from heliograph.domain.message.opt_out import OptOutWords, Wish, gather_words

FOLDER: Final = Path(__file__).parent / "opt_out_words"


def load_opt_out_words() -> OptOutWords:
    """Reads the words of all languages. Raises ValueError for a word with two meanings."""
    return gather_words(_words())


def languages() -> list[str]:
    """Returns the codes (ISO 639-1) of the languages that have words."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def _words() -> Iterator[tuple[Wish, str]]:
    for language in languages():
        lists = tomllib.loads((FOLDER / f"{language}.toml").read_text("utf-8"))
        for wish, words in lists.items():
            for word in words:
                yield Wish[wish.upper()], word
