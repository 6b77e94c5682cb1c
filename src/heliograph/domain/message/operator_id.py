"""The operator's own ids of messages, and the different notations of the same id.

SMPP v3.4 leaves the form of ids open (4.4.2 and appendix B). For example, operators answer submit_sm with `3E8`, and
send the receipt for `1000`, `3e8` or `00003E8`.
"""

import re

MAX_CHARS = 255
"""Characters of an id that are kept. SMPP v3.4 has room for 64 (4.4.2); a database indexes some thousand octets."""

_DECIMAL = re.compile(r"[0-9]{1,20}").fullmatch
_HEXADECIMAL = re.compile(r"[0-9A-Fa-f]{1,16}").fullmatch
_PREFIXED = re.compile(r"0[xX]([0-9A-Fa-f]{1,16})").fullmatch
_UUID = re.compile(
    r"([0-9A-Fa-f]{8})-?([0-9A-Fa-f]{4})-?([0-9A-Fa-f]{4})-?([0-9A-Fa-f]{4})-?([0-9A-Fa-f]{12})"
).fullmatch


def kept(operator_id: str) -> str:
    """Returns the id in its stored form, for answers and receipts: without surrounding spaces, truncated, and without
    NULs, which databases reject. So an operator's malformed id cannot fail a commit.
    """
    if len(operator_id) <= MAX_CHARS and "\0" not in operator_id:
        return operator_id.strip()
    return operator_id.replace("\0", "").strip()[:MAX_CHARS].rstrip()


def _padded(number: int) -> list[str]:
    """Yields the number with leading zeros in the usual widths, such as `0000001000`."""
    wide = [f"{number:08x}", f"{number:016x}"]
    return [
        f"{number:010d}",
        f"{number:020d}",
        *wide,
        *(each.upper() for each in wide),
        f"0x{number:x}",
        f"0x{number:X}",
    ]


def variants(operator_id: str) -> list[str]:
    """Returns other forms of the same id, the likelier first, without `operator_id` itself.

    A match by another form is a guess: it counts only if the destination number agrees too.
    """
    bare = operator_id.strip().strip("\"'")
    forms = [bare, bare.upper(), bare.lower(), bare.lstrip("0")]
    if _DECIMAL(bare):
        number = int(bare)
        forms += [f"{number:x}", f"{number:X}", *_padded(number)]
    if (prefixed := _PREFIXED(bare)) is not None:
        forms.append(prefixed[1])
    if prefixed is not None or _HEXADECIMAL(bare):
        number = int(bare, 16)
        forms += [str(number), f"{number:x}", f"{number:X}", *_padded(number), f"0x{bare}"]
    elif (uuid := _UUID(bare)) is not None:
        for sign in ("", "-"):
            text = sign.join(uuid.groups())
            forms += [text, text.lower(), text.upper()]
    return [form for form in dict.fromkeys(forms) if form and form != operator_id]


def spelling(answered: str, reported: str) -> str:
    """Returns a word for the difference between the id in a receipt and in the answer: `quotes`, `case`, `dashes`,
    `zeros`, `0x`, `decimal` or `hexadecimal` (the form in the receipt), or `other`; empty if they are equal.
    """
    if answered == reported:
        return ""
    one, other = answered.strip().strip("\"'").lower(), reported.strip().strip("\"'").lower()
    bare, bare_other = one.removeprefix("0x"), other.removeprefix("0x")
    differences = {
        "quotes": answered.strip("\"'") == reported.strip("\"'"),
        "case": one == other,
        "dashes": one.replace("-", "") == other.replace("-", ""),
        "zeros": one.lstrip("0") == other.lstrip("0"),
        "0x": bare.lstrip("0") == bare_other.lstrip("0"),
        "decimal": bool(_DECIMAL(other) and _HEXADECIMAL(bare)) and int(other) == int(bare, 16),
        "hexadecimal": bool(_DECIMAL(one) and _HEXADECIMAL(bare_other)) and int(one) == int(bare_other, 16),
    }
    return next((name for name, is_it in differences.items() if is_it), "other")
