"""Secrets, and passwords as argon2id."""

import secrets

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError
from argon2.low_level import Type

from heliograph.domain.limits import defaults

HASH_OCTETS = 32
SALT_OCTETS = 16


class Argon2Secrets:
    """Secrets and their verifiers."""

    __slots__ = ("_hasher",)

    def __init__(
        self,
        memory_mib: int = defaults.ARGON2_MEMORY_MIB,
        passes: int = defaults.ARGON2_PASSES,
        lanes: int = defaults.ARGON2_LANES,
    ) -> None:
        """The parameters are used for new hashes. Each hash contains its parameters, so older hashes stay valid."""
        self._hasher = PasswordHasher(
            time_cost=passes,
            memory_cost=memory_mib * 1024,
            parallelism=lanes,
            hash_len=HASH_OCTETS,
            salt_len=SALT_OCTETS,
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

    def is_outdated(self, hashed: str) -> bool:
        """Returns whether a hash was made with other parameters than new hashes."""
        try:
            return self._hasher.check_needs_rehash(hashed)
        except InvalidHashError:
            return False

    def token(self, octets: int) -> str:
        """Returns URL-safe text made from so many random octets."""
        return secrets.token_urlsafe(octets)

    def octets(self, count: int) -> bytes:
        return secrets.token_bytes(count)
