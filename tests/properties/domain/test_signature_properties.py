import base64
import hashlib

from hypothesis import given
from hypothesis import strategies as st

from heliograph.domain.security.signature import format_secret, sign

SECRETS = st.binary(min_size=32, max_size=32)


@given(SECRETS)
def test_a_secret_is_written_in_base64_with_its_padding(secret: bytes) -> None:
    text = format_secret(secret)
    assert text.startswith("whsec_")
    assert base64.b64decode(text.removeprefix("whsec_"), validate=True) == secret


@given(SECRETS, st.uuids().map(str), st.integers(0, 1 << 40), st.binary(max_size=300))
def test_the_signature_is_an_hmac_by_its_definition(secret: bytes, webhook_id: str, at: int, body: bytes) -> None:
    """RFC 2104, from the hash alone."""
    key = secret.ljust(64, b"\0")
    message = webhook_id.encode() + b"." + str(at).encode() + b"." + body
    inner = hashlib.sha256(bytes(octet ^ 0x36 for octet in key) + message).digest()
    outer = hashlib.sha256(bytes(octet ^ 0x5C for octet in key) + inner).digest()
    assert sign(secret, webhook_id, at, body) == "v1," + base64.b64encode(outer).decode()
