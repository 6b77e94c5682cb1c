"""Envelopes by AES-256-GCM.

An envelope is a magic, the number of its key, a nonce, and the ciphertext with its tag. The associated data (table,
column and row) is authenticated and not stored.
"""

import os
from hashlib import sha256
from itertools import count
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from heliograph.app.ports.encryption import HEAD_OCTETS, MAGIC, NONCE_OCTETS, CannotOpen, KeyRefused

SECRET_OCTETS: Final = 32
TAG_OCTETS: Final = 16

_BODY: Final = HEAD_OCTETS + NONCE_OCTETS

LEAST_OCTETS: Final = _BODY + TAG_OCTETS
"""Octets of an envelope of nothing."""

_WRAPPING: Final = b"heliograph data key "


class AesGcmKey:
    """`app.ports.encryption.DataKey`.

    Nonces count up from 64 random bits followed by 32 zero bits. So no two nonces of a process are equal. Two processes
    that each seal 2**32 values share a nonce in one of 2**63 pairs.
    """

    def __init__(self, number: int, secret: bytes) -> None:
        if len(secret) != SECRET_OCTETS:
            raise ValueError(f"a secret has {SECRET_OCTETS} octets")
        self.number = number
        self._gcm = AESGCM(secret)
        self._head = MAGIC + number.to_bytes(4, "big")
        start = int.from_bytes(os.urandom(8), "big") << 32
        self._nonces = count(start)

    def seal(self, plain: bytes, associated_data: bytes, nonce: bytes | None = None) -> bytes:
        if nonce is None:
            # next() is atomic for threads; the count wraps at the largest nonce
            nonce = (next(self._nonces) & (1 << 96) - 1).to_bytes(NONCE_OCTETS, "big")
        head = self._head
        return head + nonce + self._gcm.encrypt(nonce, plain, head + associated_data)

    def open(self, sealed: bytes, associated_data: bytes) -> bytes:
        head = self._head
        if len(sealed) < LEAST_OCTETS or sealed[:HEAD_OCTETS] != head:
            raise CannotOpen("no envelope of this key")
        try:
            return self._gcm.decrypt(sealed[HEAD_OCTETS:_BODY], sealed[_BODY:], head + associated_data)
        except InvalidTag:
            raise CannotOpen("the envelope was changed, or is not where it was sealed") from None


class AesGcmVault:
    """`app.ports.encryption.KeyVault`."""

    def __init__(self, master: str) -> None:
        """`master` is the text of the key: it must be random, since it is not stretched."""
        self._key = AesGcmKey(0, sha256(b"heliograph master key 1\0" + master.encode()).digest())

    def new_secret(self) -> bytes:
        return os.urandom(SECRET_OCTETS)

    def wrap(self, number: int, secrets: bytes) -> bytes:
        return self._key.seal(secrets, _WRAPPING + b"%d" % number)

    def unwrap(self, number: int, wrapped: bytes) -> bytes:
        try:
            return self._key.open(wrapped, _WRAPPING + b"%d" % number)
        except CannotOpen:
            raise KeyRefused(
                "the store is encrypted with another master key than the settings of [encryption] have; "
                "set its own master key"
            ) from None

    def data_key(self, number: int, secret: bytes) -> AesGcmKey:
        return AesGcmKey(number, secret)
