"""Signatures of callbacks by Standard Webhooks 1.0, with a symmetric secret."""

import binascii
import hmac

SECRET_PREFIX = "whsec_"  # noqa: S105 - public: it tells a secret by its looks
SECRET_OCTETS = 32


def sign(secret: bytes, webhook_id: str, timestamp: int, body: bytes) -> str:
    """Returns the header `webhook-signature`, such as `v1,K5oZ...=`: HMAC-SHA256 over id, timestamp (Unix seconds) and
    body."""
    content = b"%b.%d.%b" % (webhook_id.encode(), timestamp, body)
    digest = hmac.digest(secret, content, "sha256")
    return "v1," + binascii.b2a_base64(digest, newline=False).decode("ascii")


def format_secret(secret: bytes) -> str:
    """Returns the secret in the form for customers: `whsec_` and padded base64."""
    if len(secret) != SECRET_OCTETS:
        raise ValueError(f"a signing secret has {SECRET_OCTETS} octets, not {len(secret)}")
    return SECRET_PREFIX + binascii.b2a_base64(secret, newline=False).decode("ascii")
