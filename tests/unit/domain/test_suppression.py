import hashlib
import hmac

from heliograph.domain.message.suppression import suppression_digest

KEY = b"k" * 32


def test_the_digest_is_an_hmac_cut_to_16_octets() -> None:
    whole = hmac.new(KEY, b"7:447700900123", hashlib.sha256).digest()
    assert suppression_digest(KEY, 7, "447700900123") == whole[:16]


def test_account_number_and_key_make_the_digest() -> None:
    digests = {
        suppression_digest(key, account, number)
        for key in (KEY, b"x" * 32)
        for account, number in ((1, "2447700900123"), (12, "447700900123"), (1, "447700900123"))
    }
    assert len(digests) == 6
