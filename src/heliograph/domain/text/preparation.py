"""Preparation of a request's text: its URL-encoding, and its typographic characters."""

import re
from typing import Final
from urllib.parse import unquote_plus

_URL_ENCODED = re.compile(r"(?:[A-Za-z0-9\-_.~*+]|%[0-9A-Fa-f]{2})*").fullmatch


def decode_content(text: str, rule: str) -> str:
    """Returns the intended text of the `content` of a JSON request, which some clients send URL-encoded.

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


_PLAIN: Final = {
    "\u00a0\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000": " ",
    "\u200b\u2060\ufeff\u00ad": "",
    "\u2018\u2019\u201a\u201b\u2032\u00b4\u2039\u203a\u02bc": "'",
    "\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb": '"',
    "\u2010\u2011\u2012\u2013\u2014\u2015\u2212": "-",
    "\u2026": "...",
    "\u2022\u00b7\u2219": "-",
    "\u2028\u2029": "\n",
    "\u2044": "/",
}
"""Spaces of all widths, and zero-width characters; single and double quotation marks; dashes; the ellipsis; bullets;
line ends; the fraction slash.
"""

_TABLE: Final = {ord(sign): plain for signs, plain in _PLAIN.items() for sign in signs}


def plain(text: str) -> str:
    """Returns a text with plain characters instead of typographic characters, for example `"` for a curly quotation
    mark. Letters stay."""
    return text if text.isascii() else text.translate(_TABLE)
