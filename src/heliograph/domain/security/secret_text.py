"""Secrets for programs as text: a prefix, random characters and a checksum, so that scanners recognise leaked secrets.

All characters are letters and digits, except for the last character of the prefix. So a secret is safe in a shell, a
URL or an option.
"""

from hashlib import sha256
from typing import Final
from zlib import crc32

API_KEY: Final = "hk_"
ADMIN_TOKEN: Final = "hat_"  # noqa: S105 - the prefix of all of them

RANDOM_OCTETS: Final = 24
RANDOM_CHARS: Final = 33
"""Characters that RANDOM_OCTETS octets take."""

CHECK_CHARS: Final = 6
"""Characters of the checksum, a CRC-32 of the text before it."""

_DIGITS: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def make_secret(prefix: str, octets: bytes) -> str:
    """Returns the secret made from RANDOM_OCTETS random octets."""
    text = prefix + _in_digits(int.from_bytes(octets, "big"), RANDOM_CHARS)
    return text + _in_digits(crc32(text.encode()), CHECK_CHARS)


def digest(secret: str) -> bytes:
    """Returns the SHA-256 of a secret, which the store keeps. It has enough random bits to need no slow hash."""
    return sha256(secret.encode()).digest()


def is_misspelt(prefix: str, text: str) -> bool:
    """True if a text looks like a secret with the prefix but has a wrong checksum. Secrets in the older format have
    another length.
    """
    if len(text) != len(prefix) + RANDOM_CHARS + CHECK_CHARS or not text.startswith(prefix) or not text.isascii():
        return False
    return _in_digits(crc32(text[:-CHECK_CHARS].encode()), CHECK_CHARS) != text[-CHECK_CHARS:]


def _in_digits(number: int, chars: int) -> str:
    text = ""
    for _ in range(chars):
        number, digit = divmod(number, len(_DIGITS))
        text = _DIGITS[digit] + text
    return text
