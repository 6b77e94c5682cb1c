"""Values written as text, in commands, forms and requests. Each function parses one type; all raise ValueError in
words.
"""

import ipaddress
import re
from collections.abc import Callable

_INTEGER = re.compile(r"-?[0-9]{1,18}").fullmatch
_LEADING_ZERO = re.compile(r"-?0[0-9]").match
_DECIMAL = re.compile(r"-?[0-9]{1,12}(\.[0-9]{1,9})?").fullmatch
_HOST = re.compile(
    r"[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?(\.[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?)*\.?"
).fullmatch
_WORDS = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}


def truth(text: str) -> bool:
    value = _WORDS.get(text.strip().lower())
    if value is None:
        raise ValueError(f"{text!r} is neither true nor false")
    return value


def whole(least: int, most: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        if _INTEGER(text) is None or not least <= int(text) <= most:
            raise ValueError(f"{text!r} is not a whole number from {least} to {most}")
        return int(text)

    return parse


def decimal(most: float) -> Callable[[str], float]:
    def parse(text: str) -> float:
        if _DECIMAL(text) is None or not 0 <= float(text) <= most:
            raise ValueError(f"{text!r} is not a number from 0 to {most:.0f}")
        return float(text)

    return parse


def one_of(*words: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text not in words:
            raise ValueError(f"{text!r} is none of {', '.join(words)}")
        return text

    return parse


def host(text: str) -> str:
    """A name or an address. An IPv6 address may be in brackets, as before a port."""
    try:
        return str(ipaddress.ip_address(text[1:-1] if text.startswith("[") and text.endswith("]") else text))
    except ValueError:
        if len(text) > 253 or _HOST(text) is None:
            raise ValueError(f"{text!r} is neither a host name nor an address") from None
        return text


def untyped(text: str) -> bool | int | float | str:
    """Reads true, false or a number. Other texts stay texts, and so does a number in an unusual form, such as the
    address range `0044`.
    """
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    if _LEADING_ZERO(text):
        return text
    if _INTEGER(text):
        return int(text)
    return float(text) if _DECIMAL(text) and str(float(text)) == text else text


def written(value: object) -> str:
    """Returns the text of a value, as the functions above parse it: `true` for True, `0.5` for 0.5."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value:.9f}".rstrip("0").rstrip(".")
    return str(value)
