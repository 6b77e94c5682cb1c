"""Numbers as receipts write them: which are one and the same, and which contradict each other."""

SAME_DIGITS = 7
"""The least digits, at the end, in which two spellings of a number must agree."""


def ending(number: str) -> str:
    """Returns the digits that two spellings of a number have in common if they agree."""
    return number[-SAME_DIGITS:]


def agrees(reported: str, destination: str) -> bool:
    """Tells whether a receipt's number is the message's: operators add or drop `+`, `00` and country codes."""
    if not reported or reported == destination:
        return True
    digits = reported.lstrip("+").lstrip("0")
    return len(digits) >= SAME_DIGITS and (destination.endswith(digits) or digits.endswith(destination))


def is_number(address: str) -> bool:
    """Tells whether an address is the whole number of some phone, not a name, a short code or a masked number."""
    digits = address.removeprefix("+")
    return len(digits) >= SAME_DIGITS and digits.isascii() and digits.isdigit()
