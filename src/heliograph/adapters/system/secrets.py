"""Secrets, and passwords as argon2id."""

import secrets

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError
from argon2.low_level import Type

MEMORY_KIB = 19 * 1024
PASSES = 2
LANES = 1
"""OWASP's recommendation for argon2id on servers (19 MiB, two passes, one lane): about 15 ms of CPU, and
little enough memory for several checks at once. They stand in each hash: changing them here leaves
older hashes good."""


class Argon2Secrets:
    """Secrets and their verifiers."""

    __slots__ = ("_hasher",)

    def __init__(self) -> None:
        self._hasher = PasswordHasher(
            time_cost=PASSES,
            memory_cost=MEMORY_KIB,
            parallelism=LANES,
            hash_len=32,
            salt_len=16,
            type=Type.ID,
        )

    def hash_password(self, password: str) -> str:
        """Returns the argon2id hash with its parameters. Blocks for about 15 ms; releases the interpreter's lock."""
        return self._hasher.hash(password)

    def verify_password(self, hashed: str, password: str) -> bool:
        """Returns False for a wrong password or an invalid hash. As slow as hashing."""
        try:
            return self._hasher.verify(hashed, password)
        except (VerificationError, InvalidHashError):
            return False

    def token(self, octets: int) -> str:
        """Returns URL-safe text made from so many random octets."""
        return secrets.token_urlsafe(octets)

    def octets(self, count: int) -> bytes:
        return secrets.token_bytes(count)
