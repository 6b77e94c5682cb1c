"""The operator's own names for messages: the same one is written in several ways.

Operators give an id in hexadecimal in the answer to submit_sm and in decimal in the receipt, or the other way
round, change its case, or pad it with zeros (SMPP v3.4 leaves its form open: 4.4.2 and appendix B).
"""

import re

MAX_CHARS = 255
"""Characters of an id that are kept. SMPP v3.4 has room for 64 (4.4.2); a database indexes some thousand octets."""

_DECIMAL = re.compile(r"[0-9]{1,20}").fullmatch
_HEXADECIMAL = re.compile(r"[0-9A-Fa-f]{1,16}").fullmatch


def kept(operator_id: str) -> str:
    """The id as it is kept and compared, of an answer and of a receipt alike: cut off, and without NULs, which no
    database takes. An operator's strange id must not be what the commit of everybody's messages fails for."""
    if len(operator_id) <= MAX_CHARS and "\0" not in operator_id:
        return operator_id
    return operator_id.replace("\0", "")[:MAX_CHARS]


def _padded(number: int) -> list[str]:
    """The number with leading zeros, as wide as operators are known to write it."""
    wide = [f"{number:08x}", f"{number:016x}"]
    return [f"{number:010d}", f"{number:020d}", *wide, *(each.upper() for each in wide)]


def variants(operator_id: str) -> list[str]:
    """Other forms in which the same id may have been given, the likelier first; never `operator_id` itself.

    A match by one of them is a guess: it counts only where the destination number agrees too.
    """
    bare = operator_id.strip().strip("\"'")
    forms = [bare, bare.upper(), bare.lower(), bare.lstrip("0")]
    if _DECIMAL(bare):
        number = int(bare)
        forms += [f"{number:x}", f"{number:X}", *_padded(number)]
    if _HEXADECIMAL(bare):
        number = int(bare, 16)
        forms += [str(number), f"{number:x}", f"{number:X}", *_padded(number)]
    return [form for form in dict.fromkeys(forms) if form and form != operator_id]
