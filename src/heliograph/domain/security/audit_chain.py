"""The chain of hashes through the audit log, and the signature of its head."""

import hmac
import json
from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import Final

GENESIS: Final = bytes(32)
"""The hash before the first entry."""

LEAST_KEY_OCTETS: Final = 32
"""Least octets of a key for signatures."""

_ENTRY: Final = b"heliograph audit entry 1\n"
_HEAD: Final = b"heliograph audit head 1\n"


def details_text(details: Mapping[str, str]) -> str:
    """Returns the canonical text of these details: JSON with sorted names and without spaces, for example
    `{"credit":"5","name":"acme"}`."""
    return json.dumps(details, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def entry_hash(previous: bytes, key: int, at: int, texts: Iterable[str]) -> bytes:
    """Returns the hash of an entry: SHA-256 over the hash of the previous entry and the fields, each with its length.

    `texts` are actor, action, target, details (`details_text`) and address.
    """
    digest = sha256(_ENTRY + previous)
    for text in (str(key), str(at), *texts):
        octets = text.encode()
        digest.update(len(octets).to_bytes(8, "big") + octets)
    return digest.digest()


def head_signature(secret: bytes, entries: int, chain_hash: bytes, at: int) -> bytes:
    """Returns the HMAC-SHA256 of a head: the number of entries, the time, and the hash of the last entry."""
    return hmac.digest(secret, _HEAD + b"%d\n%d\n%s" % (entries, at, chain_hash.hex().encode()), "sha256")
