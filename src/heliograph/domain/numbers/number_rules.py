"""Numbers that phones write to, and the accounts of their messages: by number, connector and first word."""

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from heliograph.domain.numbers.phone import MAX_DIGITS, MAX_SENDER_CHARS, MIN_SENDER_CHARS

ANY_CONNECTOR: Final = 0
"""Connector of a rule for all connectors."""

MAX_KEYWORD_CHARS: Final = 50
"""Each node keeps the keywords in memory; a word of a text is hardly longer."""

_DIGITS = re.compile(rf"[0-9]{{{MIN_SENDER_CHARS},{MAX_DIGITS}}}").fullmatch
_LETTERS = re.compile(rf"[A-Za-z0-9]{{{MIN_SENDER_CHARS},{MAX_SENDER_CHARS}}}").fullmatch

_RULE: Final = (
    f"give {MIN_SENDER_CHARS} to {MAX_DIGITS} digits, or {MIN_SENDER_CHARS} to {MAX_SENDER_CHARS} letters A-Z, a-z or "
    "digits, as the operator writes it in the destination address"
)


@dataclass(slots=True)
class InboundNumber:
    """A rule that gives an account the messages to a number: over a connector or any, with a keyword or (empty) any
    text.

    `number` and `keyword` are normalised by `normalise_number` and `normalise_word`. `id` is 0 before it is stored.
    """

    id: int
    number: str
    account: int
    keyword: str = ""
    connector: int = ANY_CONNECTOR


class NumberRules:
    """The rules of all numbers. Of several rules with the same number, keyword and connector the last holds."""

    def __init__(self, rules: Iterable[InboundNumber] = ()) -> None:
        self._rules = {(rule.number, rule.connector, rule.keyword): rule for rule in rules}

    def find(self, number: str, connector: int, text: str) -> InboundNumber | None:
        """Returns the rule for a message; None if it is unrouted.

        Rules for this connector come before rules for any. Among them, a rule with the text's first word as keyword
        comes before the rule without a keyword. `number` is normalised.
        """
        rules = self._rules
        word = first_word(text)
        for by in (connector, ANY_CONNECTOR):
            rule = rules.get((number, by, word)) or rules.get((number, by, ""))
            if rule is not None:
                return rule
        return None


def normalise_number(text: str) -> str:
    """Returns a number in the stored form: without a leading `+`."""
    return text.removeprefix("+")


def number_problem(text: str) -> str | None:
    """Returns the problem of a number and its solution, or None. A leading `+` is allowed."""
    number = normalise_number(text)
    if _DIGITS(number) is not None or (number == text and _LETTERS(number) is not None):
        return None
    if not number:
        return f"The number is empty; {_RULE}."
    if not (number.isascii() and number.isalnum()):
        return f"The number has a character that is neither a letter A-Z, a-z nor a digit; {_RULE}."
    if number != text and not number.isdigit():
        return f"The number has letters after +; {_RULE}."
    size = "short" if len(number) < MIN_SENDER_CHARS else "long"
    return f"The number is too {size}: it has {len(number)} characters; {_RULE}."


def keyword_problem(text: str) -> str | None:
    """Returns the problem of a rule's keyword and its solution, or None. An empty keyword is allowed."""
    if not text:
        return None
    if len(text.split()) != 1:
        return "The keyword must be one word; give the word that texts begin with, such as PIZZA."
    if len(text) > MAX_KEYWORD_CHARS:
        return f"The keyword is too long; give the word that texts begin with, of up to {MAX_KEYWORD_CHARS} characters."
    if not normalise_word(text):
        return "The keyword has neither a letter nor a digit; give the word that texts begin with, such as PIZZA."
    return None


def normalise_word(word: str) -> str:
    """Returns a word in the form of comparisons: case folded, without punctuation and symbols at its ends. For example,
    `stop` for `"STOP!"`."""
    if word.isascii():
        folded = word.lower()
    else:
        folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", word).casefold())
    start, end = 0, len(folded)
    while start < end and not _belongs(folded[start]):
        start += 1
    while end > start and not _belongs(folded[end - 1]):
        end -= 1
    return folded[start:end]


def first_word(text: str) -> str:
    """Returns the first word of a text, normalised; empty if there is none. A separate punctuation mark is not a
    word.
    """
    rest = text
    while pieces := rest.split(None, 1):
        word = normalise_word(pieces[0])
        if word:
            return word
        rest = pieces[1] if len(pieces) > 1 else ""
    return ""


def _belongs(char: str) -> bool:
    """True if a character belongs to a word at any position: a letter, a digit, or a vowel sign."""
    return char.isalnum() or (
        char > "\x7f" and unicodedata.category(char) in ("Mn", "Mc") and not "\ufe00" <= char <= "\ufe0f"
    )
