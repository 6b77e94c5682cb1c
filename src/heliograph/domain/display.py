"""Texts for people, by the line: on a terminal, in a log, on a page."""

import re
import traceback
from collections.abc import Iterable

_COMMANDS = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Characters that a terminal obeys instead of showing them: control characters (C0 and C1) except line ends, and
characters that change the direction of a line. Other line separators and lone surrogates, which cannot be written to a
terminal, are included.
"""


def counted(number: int | str, one: str, many: str = "") -> str:
    """Returns `1 message`, `2,048 messages` or `0.5 credits`. `many`: the plural, unless it is `one` with an s. A
    fraction is given as text, such as `0.5`."""
    shown = number if isinstance(number, str) else f"{number:,}"
    return f"{shown} {one if shown == '1' else many or one + 's'}"


def numbers_of(prefix: str, network: str = "") -> str:
    """Returns the numbers of a route, price or cost in words: `the network 26202`, `the prefix 49` or `all numbers`."""
    return f"the network {network}" if network else f"the prefix {prefix}" if prefix else "all numbers"


def did_you_mean(word: str, among: Iterable[str], *, or_list: bool = False, likeness: float = 0.5) -> str:
    """Returns the end of a sentence about an unknown name: `; did you mean port?` for `prot`.

    Without a similar name it is empty, or with `or_list` all names: `; there are host, port`. `likeness`: the least
    similarity, from 0 to 1."""
    from difflib import get_close_matches  # for typing errors

    names = list(among)
    near = get_close_matches(word, names, n=1, cutoff=likeness)
    if near:
        return f"; did you mean {near[0]}?"
    return f"; there are {', '.join(names)}" if or_list and names else ""


def duration(ms: float) -> str:
    """Milliseconds in their two largest units: `3 h 5 min`."""
    seconds = max(0, int(ms // 1000))
    if seconds < 60:
        return f"{seconds} s"
    units = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))
    parts: list[str] = []
    for unit, size in units:
        if seconds >= size and len(parts) < 2:
            parts.append(f"{seconds // size} {unit}")
            seconds %= size
    return " ".join(parts)


def harmless(text: str) -> str:
    """Escapes characters that a terminal obeys as JSON does, for example ESC as a backslash and `u001b`. Texts of
    messages come from customers, and ids from operators: they could move the cursor, rename the window, or turn or
    break the line."""
    return _COMMANDS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def origin_of(problem: BaseException) -> dict[str, str]:
    """Returns the class and the place of an error of ours for the log, for example `{"problem": "KeyError", "where":
    "tail:97 < query:58"}`. Its sentence may have a text or a number."""
    frames = reversed(traceback.extract_tb(problem.__traceback__))
    return {"problem": type(problem).__name__, "where": " < ".join(f"{at.name}:{at.lineno}" for at in frames)}
