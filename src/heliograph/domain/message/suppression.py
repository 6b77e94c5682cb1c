"""Suppressions: phones that an account must not send to, and the keyed digest that outlives an erased number."""

import hmac
from dataclasses import dataclass
from typing import Final

from heliograph.domain.numbers.phone import destination_problem

DIGEST_OCTETS: Final = 16

SOURCES: Final = ("message", "api", "console", "command", "import")
"""Sources of a suppression: the phone's own message, or a person or program that entered it."""


@dataclass(frozen=True, slots=True)
class Suppression:
    """A phone that took back its consent to messages of an account, as long as its number is known."""

    number: str
    """E.164 without `+`."""
    since: int
    """Time in ms."""
    source: str
    """A member of SOURCES."""


def parse_number(text: str) -> str:
    """Returns a number without a leading `+`, for example `491701234567`. Raises ValueError with a sentence for
    people."""
    number = text.removeprefix("+")
    problem = destination_problem(number, "number")
    if problem is not None:
        raise ValueError(problem)
    return number


def suppression_digest(key: bytes, account: int, number: str) -> bytes:
    """Returns the first 16 octets of HMAC-SHA-256 over an account's id and a number (E.164 without `+`).

    `key` is the gateway's own and must outlive all digests. With another key, the numbers are not found, and no
    suppression is in force.
    """
    return hmac.digest(key, b"%d:%b" % (account, number.encode()), "sha256")[:DIGEST_OCTETS]
