"""Signing callbacks as Standard Webhooks 1.0 says, with a symmetric secret."""

import binascii
import hmac

SECRET_PREFIX = "whsec_"  # noqa: S105 - public: it tells a secret by its looks
SECRET_OCTETS = 32


def sign(secret: bytes, webhook_id: str, timestamp: int, body: bytes) -> str:
    """The header `webhook-signature`: HMAC-SHA256 over id, timestamp (Unix seconds) and body."""
    content = b"%b.%d.%b" % (webhook_id.encode(), timestamp, body)
    digest = hmac.digest(secret, content, "sha256")
    return "v1," + binascii.b2a_base64(digest, newline=False).decode("ascii")


def format_secret(secret: bytes) -> str:
    """The form in which a customer is given the secret: `whsec_` and padded base64."""
    if len(secret) != SECRET_OCTETS:
        raise ValueError(f"a signing secret has {SECRET_OCTETS} octets, not {len(secret)}")
    return SECRET_PREFIX + binascii.b2a_base64(secret, newline=False).decode("ascii")
