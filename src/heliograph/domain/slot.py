"""The queue key: which of 64 parts of the work an account belongs to, and so where its rows may be."""

SLOTS = 64

_GOLDEN = 0x9E3779B9
"""2 to the 32nd, divided by the golden ratio: neighbouring accounts come to lie far apart."""


def slot_of(account: int) -> int:
    """Returns a number from 0 to 63. It never changes: PostgreSQL's function of that name says the same, and rows are
    stored by it."""
    return (account & 0xFFFFFFFF) * _GOLDEN >> 26 & (SLOTS - 1)
