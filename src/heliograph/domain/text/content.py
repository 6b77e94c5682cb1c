"""Reading the `content` of a JSON request, which clients send both URL-encoded and as it is."""

import re
from typing import Literal
from urllib.parse import unquote_plus

Rule = Literal["auto", "always", "never"]

_URL_ENCODED = re.compile(r"(?:[A-Za-z0-9\-_.~*+]|%[0-9A-Fa-f]{2})*").fullmatch


def decode_content(text: str, rule: Rule) -> str:
    """Returns the intended text.

    `auto` decodes a text that is entirely well-formed URL-encoded UTF-8, and leaves any other unchanged. So
    `Hello%20World`, `Hello+World` and `Hello World` are equal, and `1 + 1` and `50% off` stay. The drawback: a raw word
    with a plus, such as `C++`, is decoded.

    `always` decodes once, like a form (a stray `%` stays). It raises ValueError if the octets are not UTF-8. `never`
    leaves every text unchanged.
    """
    if rule == "never" or ("%" not in text and "+" not in text):
        return text
    if rule == "always":
        try:
            return unquote_plus(text, errors="strict")
        except UnicodeDecodeError:
            raise ValueError("The content, URL-decoded, is not UTF-8; encode its text as UTF-8 first.") from None
    if _URL_ENCODED(text) is None:
        return text
    try:
        return unquote_plus(text, errors="strict")
    except UnicodeDecodeError:
        return text
