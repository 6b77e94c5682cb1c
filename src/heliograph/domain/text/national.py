"""The national language tables of GSM 7 bit text (3GPP TS 23.038, annex A), selected by user data headers.

A *locking shift table* replaces the default alphabet, a *single shift table* its extension table. Each has the number
of its language (6.2.1.2.4).

Two implementations were compared for the tables: oFono's `src/util.c` (release 8) and PyPI `gsmcodecs` 1.0.0 (release
18). Where they differ, the second is used, except for two characters taken from Android's `GsmAlphabet`: 0x2C of the
Indic tables is a comma, and 0x24 of the Kannada table is DDA, because the specification prints PA twice. An empty entry
reads as a space.
"""

import codecs
from functools import cache
from typing import Final

from heliograph.domain.text import alphabet

LANGUAGES: Final[dict[str, int]] = {
    "turkish": 1, "spanish": 2, "portuguese": 3, "bengali": 4, "gujarati": 5, "hindi": 6, "kannada": 7, "malayalam": 8,
    "oriya": 9, "punjabi": 10, "tamil": 11, "telugu": 12, "urdu": 13,
}  # fmt: skip
"""The numbers of the languages, by name."""

_LOCKING_CHANGES: dict[int, dict[int, str]] = {
    1: {0x04: "€", 0x07: "ı", 0x0B: "Ğğ", 0x1C: "Şş", 0x40: "İ", 0x60: "ç"},  # Turkish
    3: {  # Portuguese
        0x04: "ê",
        0x06: "úíóç",
        0x0B: "Ôô",
        0x0E: "Áá",
        0x12: "ªÇÀ∞^\\€Ó|",
        0x1C: "ÂâÊ",
        0x24: "º",
        0x40: "Í",
        0x5B: "ÃÕÚ",
        0x60: "~",
        0x7B: "ãõ`",
    },
}
"""Runs of characters by their first septets, where a locking shift table differs from the default alphabet."""

_INDIC_FRAME: Final = (
    "__________\n__\r_____________\x1b____"
    " !______)(__,_._0123456789:;___?_________________________________abcdefghijklmnopqrstuvwxyz_____"
)
"""A locking shift table of India and Pakistan; an underscore marks a position where they differ."""

_INDIC: dict[int, str] = {
    4: (  # Bengali
        "\u0981\u0982\u0983\u0985\u0986\u0987\u0988\u0989\u098a\u098b\u098c  \u098f"
        "\u0990  \u0993\u0994\u0995\u0996\u0997\u0998\u0999\u099a\u099b\u099c\u099d"
        "\u099e\u099f\u09a0\u09a1\u09a2\u09a3\u09a4\u09a5\u09a6\u09a7\u09a8 \u09aa\u09ab"
        "\u09ac\u09ad\u09ae\u09af\u09b0 \u09b2   \u09b6\u09b7\u09b8\u09b9"
        "\u09bc\u09bd\u09be\u09bf\u09c0\u09c1\u09c2\u09c3\u09c4  \u09c7\u09c8 "
        " \u09cb\u09cc\u09cd\u09ce\u09d7\u09dc\u09dd\u09f0\u09f1"
    ),
    5: (  # Gujarati
        "\u0a81\u0a82\u0a83\u0a85\u0a86\u0a87\u0a88\u0a89\u0a8a\u0a8b\u0a8c\u0a8d \u0a8f"
        "\u0a90\u0a91 \u0a93\u0a94\u0a95\u0a96\u0a97\u0a98\u0a99\u0a9a\u0a9b\u0a9c\u0a9d"
        "\u0a9e\u0a9f\u0aa0\u0aa1\u0aa2\u0aa3\u0aa4\u0aa5\u0aa6\u0aa7\u0aa8 \u0aaa\u0aab"
        "\u0aac\u0aad\u0aae\u0aaf\u0ab0 \u0ab2\u0ab3 \u0ab5\u0ab6\u0ab7\u0ab8\u0ab9"
        "\u0abc\u0abd\u0abe\u0abf\u0ac0\u0ac1\u0ac2\u0ac3\u0ac4\u0ac5 \u0ac7\u0ac8\u0ac9"
        " \u0acb\u0acc\u0acd\u0ad0\u0ae0\u0ae1\u0ae2\u0ae3\u0af1"
    ),
    6: (  # Hindi
        "\u0901\u0902\u0903\u0905\u0906\u0907\u0908\u0909\u090a\u090b\u090c\u090d\u090e\u090f"
        "\u0910\u0911\u0912\u0913\u0914\u0915\u0916\u0917\u0918\u0919\u091a\u091b\u091c\u091d"
        "\u091e\u091f\u0920\u0921\u0922\u0923\u0924\u0925\u0926\u0927\u0928\u0929\u092a\u092b"
        "\u092c\u092d\u092e\u092f\u0930\u0931\u0932\u0933\u0934\u0935\u0936\u0937\u0938\u0939"
        "\u093c\u093d\u093e\u093f\u0940\u0941\u0942\u0943\u0944\u0945\u0946\u0947\u0948\u0949"
        "\u094a\u094b\u094c\u094d\u0950\u0972\u097b\u097c\u097e\u097f"
    ),
    7: (  # Kannada
        " \u0c82\u0c83\u0c85\u0c86\u0c87\u0c88\u0c89\u0c8a\u0c8b\u0c8c \u0c8e\u0c8f"
        "\u0c90 \u0c92\u0c93\u0c94\u0c95\u0c96\u0c97\u0c98\u0c99\u0c9a\u0c9b\u0c9c\u0c9d"
        "\u0c9e\u0c9f\u0ca0\u0ca1\u0ca2\u0ca3\u0ca4\u0ca5\u0ca6\u0ca7\u0ca8 \u0caa\u0cab"
        "\u0cac\u0cad\u0cae\u0caf\u0cb0\u0cb1\u0cb2\u0cb3 \u0cb5\u0cb6\u0cb7\u0cb8\u0cb9"
        "\u0cbc\u0cbd\u0cbe\u0cbf\u0cc0\u0cc1\u0cc2\u0cc3\u0cc4 \u0cc6\u0cc7\u0cc8 "
        "\u0cca\u0ccb\u0ccc\u0ccd\u0cd5\u0cd6\u0ce0\u0ce1\u0ce2\u0ce3"
    ),
    8: (  # Malayalam
        " \u0d02\u0d03\u0d05\u0d06\u0d07\u0d08\u0d09\u0d0a\u0d0b\u0d0c \u0d0e\u0d0f"
        "\u0d10 \u0d12\u0d13\u0d14\u0d15\u0d16\u0d17\u0d18\u0d19\u0d1a\u0d1b\u0d1c\u0d1d"
        "\u0d1e\u0d1f\u0d20\u0d21\u0d22\u0d23\u0d24\u0d25\u0d26\u0d27\u0d28 \u0d2a\u0d2b"
        "\u0d2c\u0d2d\u0d2e\u0d2f\u0d30\u0d31\u0d32\u0d33\u0d34\u0d35\u0d36\u0d37\u0d38\u0d39"
        " \u0d3d\u0d3e\u0d3f\u0d40\u0d41\u0d42\u0d43\u0d44 \u0d46\u0d47\u0d48 "
        "\u0d4a\u0d4b\u0d4c\u0d4d\u0d57\u0d60\u0d61\u0d62\u0d63\u0d79"
    ),
    9: (  # Oriya
        "\u0b01\u0b02\u0b03\u0b05\u0b06\u0b07\u0b08\u0b09\u0b0a\u0b0b\u0b0c  \u0b0f"
        "\u0b10  \u0b13\u0b14\u0b15\u0b16\u0b17\u0b18\u0b19\u0b1a\u0b1b\u0b1c\u0b1d"
        "\u0b1e\u0b1f\u0b20\u0b21\u0b22\u0b23\u0b24\u0b25\u0b26\u0b27\u0b28 \u0b2a\u0b2b"
        "\u0b2c\u0b2d\u0b2e\u0b2f\u0b30 \u0b32\u0b33 \u0b35\u0b36\u0b37\u0b38\u0b39"
        "\u0b3c\u0b3d\u0b3e\u0b3f\u0b40\u0b41\u0b42\u0b43\u0b44  \u0b47\u0b48 "
        " \u0b4b\u0b4c\u0b4d\u0b56\u0b57\u0b60\u0b61\u0b62\u0b63"
    ),
    10: (  # Punjabi
        "\u0a01\u0a02\u0a03\u0a05\u0a06\u0a07\u0a08\u0a09\u0a0a    \u0a0f"
        "\u0a10  \u0a13\u0a14\u0a15\u0a16\u0a17\u0a18\u0a19\u0a1a\u0a1b\u0a1c\u0a1d"
        "\u0a1e\u0a1f\u0a20\u0a21\u0a22\u0a23\u0a24\u0a25\u0a26\u0a27\u0a28 \u0a2a\u0a2b"
        "\u0a2c\u0a2d\u0a2e\u0a2f\u0a30 \u0a32\u0a33 \u0a35\u0a36 \u0a38\u0a39"
        "\u0a3c \u0a3e\u0a3f\u0a40\u0a41\u0a42    \u0a47\u0a48 "
        " \u0a4b\u0a4c\u0a4d\u0a51\u0a70\u0a71\u0a72\u0a73\u0a74"
    ),
    11: (  # Tamil
        " \u0b82\u0b83\u0b85\u0b86\u0b87\u0b88\u0b89\u0b8a   \u0b8e\u0b8f"
        "\u0b90 \u0b92\u0b93\u0b94\u0b95   \u0b99\u0b9a \u0b9c "
        "\u0b9e\u0b9f   \u0ba3\u0ba4   \u0ba8\u0ba9\u0baa "
        "  \u0bae\u0baf\u0bb0\u0bb1\u0bb2\u0bb3\u0bb4\u0bb5\u0bb6\u0bb7\u0bb8\u0bb9"
        "  \u0bbe\u0bbf\u0bc0\u0bc1\u0bc2   \u0bc6\u0bc7\u0bc8 "
        "\u0bca\u0bcb\u0bcc\u0bcd\u0bd0\u0bd7\u0bf0\u0bf1\u0bf2\u0bf9"
    ),
    12: (  # Telugu
        "\u0c01\u0c02\u0c03\u0c05\u0c06\u0c07\u0c08\u0c09\u0c0a\u0c0b\u0c0c \u0c0e\u0c0f"
        "\u0c10 \u0c12\u0c13\u0c14\u0c15\u0c16\u0c17\u0c18\u0c19\u0c1a\u0c1b\u0c1c\u0c1d"
        "\u0c1e\u0c1f\u0c20\u0c21\u0c22\u0c23\u0c24\u0c25\u0c26\u0c27\u0c28 \u0c2a\u0c2b"
        "\u0c2c\u0c2d\u0c2e\u0c2f\u0c30\u0c31\u0c32\u0c33 \u0c35\u0c36\u0c37\u0c38\u0c39"
        " \u0c3d\u0c3e\u0c3f\u0c40\u0c41\u0c42\u0c43\u0c44 \u0c46\u0c47\u0c48 "
        "\u0c4a\u0c4b\u0c4c\u0c4d\u0c55\u0c56\u0c60\u0c61\u0c62\u0c63"
    ),
    13: (  # Urdu
        "\u0627\u0622\u0628\u067b\u0680\u067e\u06a6\u062a\u06c2\u067f\u0679\u067d\u067a\u067c"
        "\u062b\u062c\u0681\u0684\u0683\u0685\u0686\u0687\u062d\u062e\u062f\u068c\u0688\u0689"
        "\u068a\u068f\u068d\u0630\u0631\u0691\u0693\u0699\u0632\u0696\u0698\u069a\u0633\u0634"
        "\u0635\u0636\u0637\u0638\u0639\u0641\u0642\u06a9\u06aa\u06ab\u06af\u06b3\u06b1\u0644"
        "\u0645\u0646\u06ba\u06bb\u06bc\u0648\u06c4\u06d5\u06c1\u06be\u0621\u06cc\u06d0\u06d2"
        "\u064d\u0650\u064f\u0657\u0654\u0655\u0651\u0653\u0656\u0670"
    ),
}
"""Characters of the locking shift tables of India and Pakistan at the underscores of `_INDIC_FRAME`."""

_INDIC_SINGLE: dict[int, str] = {
    0x00: "@£$¥¿\"¤%&'\f*+", 0x0E: "-/<=>¡^¡_#*", 0x28: "{}", 0x2F: "\\", 0x3C: "[~]",
    0x40: "|ABCDEFGHIJKLMNOPQRSTUVWXYZ",
}  # fmt: skip
"""Runs that the single shift tables of India and Pakistan share."""

_SINGLE: dict[int, dict[int, str]] = {
    1: {0x47: "Ğ", 0x49: "İ", 0x53: "Ş", 0x63: "ç", 0x67: "ğ", 0x69: "ı", 0x73: "ş"},  # Turkish
    2: {  # Spanish
        0x09: "ç", 0x41: "Á", 0x49: "Í", 0x4F: "Ó", 0x55: "Ú", 0x61: "á", 0x69: "í", 0x6F: "ó", 0x75: "ú",
    },
    3: {  # Portuguese
        0x05: "ê", 0x09: "ç", 0x0B: "Ôô", 0x0E: "Áá", 0x12: "ΦΓ", 0x15: "ΩΠΨΣΘ", 0x1F: "Ê", 0x41: "À", 0x49: "Í",
        0x4F: "Ó", 0x55: "Ú", 0x5B: "ÃÕ", 0x61: "Â", 0x69: "í", 0x6F: "ó", 0x75: "ú", 0x7B: "ãõ", 0x7F: "â",
    },
    4: {  # Bengali
        0x19: "\u09e6\u09e7", 0x1C: "\u09e8\u09e9\u09ea\u09eb\u09ec\u09ed\u09ee\u09ef\u09df\u09e0\u09e1\u09e2",
        0x2A: "\u09e3\u09f2\u09f3\u09f4\u09f5", 0x30: "\u09f6\u09f7\u09f8\u09f9\u09fa", 0x65: "€",
    },
    5: {  # Gujarati
        0x19: "\u0964\u0965", 0x1C: "\u0ae6\u0ae7\u0ae8\u0ae9\u0aea\u0aeb\u0aec\u0aed\u0aee\u0aef", 0x65: "€",
    },
    6: {  # Hindi
        0x19: "\u0964\u0965", 0x1C: "\u0966\u0967\u0968\u0969\u096a\u096b\u096c\u096d\u096e\u096f\u0951\u0952",
        0x2A: "\u0953\u0954\u0958\u0959\u095a",
        0x30: "\u095b\u095c\u095d\u095e\u095f\u0960\u0961\u0962\u0963\u0970\u0971", 0x65: "€",
    },
    7: {  # Kannada
        0x19: "\u0964\u0965", 0x1C: "\u0ce6\u0ce7\u0ce8\u0ce9\u0cea\u0ceb\u0cec\u0ced\u0cee\u0cef\u0cde\u0cf1",
        0x2A: "\u0cf2", 0x65: "€",
    },
    8: {  # Malayalam
        0x19: "\u0964\u0965", 0x1C: "\u0d66\u0d67\u0d68\u0d69\u0d6a\u0d6b\u0d6c\u0d6d\u0d6e\u0d6f\u0d70\u0d71",
        0x2A: "\u0d72\u0d73\u0d74\u0d75\u0d7a", 0x30: "\u0d7b\u0d7c\u0d7d\u0d7e\u0d7f", 0x65: "€",
    },
    9: {  # Oriya
        0x19: "\u0964\u0965", 0x1C: "\u0b66\u0b67\u0b68\u0b69\u0b6a\u0b6b\u0b6c\u0b6d\u0b6e\u0b6f\u0b5c\u0b5d",
        0x2A: "\u0b5f\u0b70\u0b71", 0x65: "€",
    },
    10: {  # Punjabi
        0x19: "\u0964\u0965", 0x1C: "\u0a66\u0a67\u0a68\u0a69\u0a6a\u0a6b\u0a6c\u0a6d\u0a6e\u0a6f\u0a59\u0a5a",
        0x2A: "\u0a5b\u0a5c\u0a5e\u0a75", 0x65: "€",
    },
    11: {  # Tamil
        0x19: "\u0964\u0965", 0x1C: "\u0be6\u0be7\u0be8\u0be9\u0bea\u0beb\u0bec\u0bed\u0bee\u0bef\u0bf3\u0bf4",
        0x2A: "\u0bf5\u0bf6\u0bf7\u0bf8\u0bfa", 0x65: "€",
    },
    12: {  # Telugu
        0x1C: "\u0c66\u0c67\u0c68\u0c69\u0c6a\u0c6b\u0c6c\u0c6d\u0c6e\u0c6f\u0c58\u0c59",
        0x2A: "\u0c78\u0c79\u0c7a\u0c7b\u0c7c", 0x30: "\u0c7d\u0c7e\u0c7f",
    },
    13: {  # Urdu
        0x19: "\u0600\u0601", 0x1C: "\u06f0\u06f1\u06f2\u06f3\u06f4\u06f5\u06f6\u06f7\u06f8\u06f9\u060c\u060d",
        0x2A: "\u060e\u060f\u0610\u0611\u0612",
        0x30: "\u0613\u0614\u061b\u061f\u0640\u0652\u0658\u066b\u066c\u0672\u0673\u06cd", 0x3F: "\u06d4", 0x65: "€",
    },
}  # fmt: skip
"""Runs of the single shift tables, in addition to the extension table or `_INDIC_SINGLE`."""

_BEYOND: Final = "\N{REPLACEMENT CHARACTER}" * 128
"""0x80 to 0xFF are no septets."""


def _spread(runs: dict[int, str]) -> dict[int, str]:
    return {start + index: char for start, run in runs.items() for index, char in enumerate(run)}


def _framed(chars: str) -> str:
    found = iter(chars)
    return "".join(next(found) if char == "_" else char for char in _INDIC_FRAME)


_LOCKING_TABLES: dict[int, str] = {
    **{
        language: "".join(map(_spread(runs).get, range(128), alphabet.DEFAULT)) + _BEYOND
        for language, runs in _LOCKING_CHANGES.items()
    },
    **{language: _framed(chars) + _BEYOND for language, chars in _INDIC.items()},
}
_SINGLE_TABLES: dict[int, dict[int, str]] = {
    language: (_spread(_INDIC_SINGLE) if language in _INDIC else alphabet.EXTENSION) | _spread(runs)
    for language, runs in _SINGLE.items()
}
_DEFAULT_TABLE: Final = alphabet.DEFAULT + _BEYOND


def decode(septets: bytes, locking: int, single: int) -> str:
    """Returns the text of unpacked septets, by the numbers of the languages of the locking and single shift tables.

    0 and numbers without a table mean the default alphabet and its extension table. Never fails: an octet over 0x7F
    reads as U+FFFD.
    """
    table = _LOCKING_TABLES.get(locking, _DEFAULT_TABLE)
    extension = _SINGLE_TABLES.get(single, alphabet.EXTENSION)
    characters: list[str] = []
    escaped = False
    for septet in septets:
        if escaped:
            escaped = False
            characters.append(" " if septet == alphabet.ESCAPE else extension.get(septet, table[septet]))
        elif septet == alphabet.ESCAPE:
            escaped = True
        else:
            characters.append(table[septet])
    if escaped:
        characters.append(" ")
    return "".join(characters)


LANGUAGE_NAMES: Final[dict[int, str]] = {number: name for name, number in LANGUAGES.items()}


def has_locking(language: int) -> bool:
    """True if a language has a locking shift table; each has a single shift table."""
    return language in _LOCKING_TABLES


def encode(text: str, locking: int, single: int) -> bytes | None:
    """Returns the septets of a text by these tables, as `decode` reads them, or None if it has another character."""
    try:
        return codecs.charmap_encode(text, "strict", _septets(locking, single))[0]
    except UnicodeEncodeError:
        return None


@cache
def _septets(locking: int, single: int) -> dict[int, bytes]:
    """Returns the septets of each character: a single septet of the first table if possible, otherwise two."""
    extension = _SINGLE_TABLES.get(single, alphabet.EXTENSION)
    found = {ord(char): bytes((alphabet.ESCAPE, septet)) for septet, char in extension.items()}
    table = _LOCKING_TABLES.get(locking, _DEFAULT_TABLE)[:128]
    found |= {ord(char): bytes((septet,)) for septet, char in enumerate(table) if septet != alphabet.ESCAPE}
    # an empty entry reads as a space, but does not encode a space
    found[ord(" ")] = b" "
    return found
