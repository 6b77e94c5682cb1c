"""The queue key: which of 64 parts of the work an account belongs to, and so where its rows may be."""

SLOTS = 64

_GOLDEN = 0x9E3779B9
"""2 to the 32nd, divided by the golden ratio: neighbouring accounts come to lie far apart."""


def slot_of(account: int) -> int:
    """From 0 to 63. The function of that name in PostgreSQL's migrations says the same, and rows are stored by it: it
    never changes."""
    return (account & 0xFFFFFFFF) * _GOLDEN >> 26 & (SLOTS - 1)
