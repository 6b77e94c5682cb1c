import pytest

from heliograph.domain.security.signature import format_secret, sign

SECRET = bytes(range(32))
TEXT = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="


def test_the_signature_is_that_of_openssl() -> None:
    # Of the octets `msg_1.1674087231.id=1&text=%E2%82%AC`, by `openssl dgst -sha256 -mac HMAC`.
    signature = sign(SECRET, "msg_1", 1674087231, b"id=1&text=%E2%82%AC")
    assert signature == "v1,oImy5AVZ65Bqdb8NZOpyczT2Z0ZSkkXBMpKiAZ8VYWc="


def test_every_input_counts() -> None:
    variants = [
        sign(SECRET, "a", 1, b"x"),
        sign(SECRET[::-1], "a", 1, b"x"),
        sign(SECRET, "b", 1, b"x"),
        sign(SECRET, "a", 2, b"x"),
        sign(SECRET, "a", 1, b"y"),
    ]
    assert len(set(variants)) == len(variants)


def test_secrets_as_text() -> None:
    assert format_secret(SECRET) == TEXT


def test_a_secret_of_another_length_is_refused() -> None:
    with pytest.raises(ValueError, match="32"):
        format_secret(b"short")
