"""Codes of authenticator apps: TOTP (RFC 6238) with SHA-1, six digits and steps of 30 seconds, for example `287082`.
All apps support this variant."""

import hmac
from base64 import b32encode
from typing import Final
from urllib.parse import quote, urlencode

STEP_MS: Final = 30_000
DIGITS: Final = 6

SECRET_OCTETS: Final = 20
"""Octets of a secret: as many as SHA-1 gives, as RFC 4226 recommends."""

EARLIER: Final = 1
LATER: Final = 1
"""Steps by which an app's clock may be behind or ahead."""


def code(secret: bytes, step: int, digits: int = DIGITS) -> str:
    """Returns the code of a step."""
    digest = hmac.digest(secret, step.to_bytes(8, "big"), "sha1")
    at = digest[-1] & 0xF
    number = int.from_bytes(digest[at : at + 4], "big") & 0x7FFF_FFFF
    return str(number % 10**digits).zfill(digits)


def step_of(secret: bytes, text: str, now: int, after: int) -> int | None:
    """Returns the step of a code, by an approximately right clock, or None if the code is wrong.

    Steps up to `after` are rejected: a code is valid once.
    """
    given = text.encode("utf-8", "replace")
    found = None
    for step in range(now // STEP_MS - EARLIER, now // STEP_MS + LATER + 1):
        same = hmac.compare_digest(code(secret, step).encode(), given)
        if same and step > after:
            found = step
    return found


def secret_text(secret: bytes) -> str:
    """Returns the secret in the form for typing it into an app: Base32."""
    return b32encode(secret).decode().rstrip("=")


def app_link(secret: bytes, user: str, issuer: str) -> str:
    """Returns the link that adds the secret to an app: `otpauth://totp/...`."""
    given = {"secret": secret_text(secret), "issuer": issuer}
    return f"otpauth://totp/{quote(issuer, safe='')}:{quote(user, safe='')}?{urlencode(given, quote_via=quote)}"
