"""Plain characters for typographic ones that word processors and phones insert. A single one would cost a text GSM 7
bit.
"""

from typing import Final

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
    """Returns a text with typographic characters replaced by plain ones; letters stay."""
    return text if text.isascii() else text.translate(_TABLE)
