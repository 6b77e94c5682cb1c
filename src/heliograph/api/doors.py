"""The doors of the customers' HTTP API, and the credentials that it reads from headers."""

import binascii
from typing import Final

from heliograph.app.sending.authenticate import ClientCredentials
from heliograph.app.sending.principal import Door, Secret
from heliograph.domain.error import UNAUTHENTICATED, Fault

V1: Final = Door("v1")

V2: Final = Door("v2", Secret.PASSWORD, schedules=False, numeric_senders=False, default_callback=False)

BY_VERSION: Final[dict[int, Door]] = {1: V1, 2: V2}


def basic_credentials(header: bytes | None) -> ClientCredentials:
    """Reads Basic credentials (RFC 7617) from a header Authorization. Raises Fault (401) where there are none."""
    if header is None:
        raise Fault(UNAUTHENTICATED, "The header Authorization is missing; send Basic credentials.")
    scheme, _, encoded = header.strip().partition(b" ")
    problem = "The header Authorization cannot be read; send Basic and the base64 of user:secret in UTF-8."
    if scheme.lower() != b"basic":
        raise Fault(UNAUTHENTICATED, problem)
    try:
        name, colon, secret = binascii.a2b_base64(encoded.strip(), strict_mode=True).decode().partition(":")
    except ValueError:
        raise Fault(UNAUTHENTICATED, problem) from None
    if not colon or any(char < " " or char == "\x7f" for char in name):  # RFC 7617, 2: no control characters
        raise Fault(UNAUTHENTICATED, problem)
    return ClientCredentials(name, secret, header)
