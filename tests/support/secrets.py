"""Secrets for tests."""

from heliograph.app.ports import Secrets, Store
from heliograph.app.sending.authenticate import Rehash


def rehash(secrets: Secrets, store: Store) -> Rehash:
    """Makes new hashes at once."""

    async def hashed(password: str) -> str:
        return secrets.hash_password(password)

    return Rehash(secrets, hashed, store.sign_ins)


class CountingSecrets:
    """Predictable secrets, each different."""

    def __init__(self) -> None:
        self._count = 0

    def hash_password(self, password: str) -> str:
        return f"hash of {password}"

    def verify_password(self, hashed: str, password: str) -> bool:
        return hashed.removeprefix("old ") == f"hash of {password}"

    def is_outdated(self, hashed: str) -> bool:
        return hashed.startswith("old ")

    def token(self, octets: int) -> str:
        return self.octets(octets).hex()

    def octets(self, count: int) -> bytes:
        self._count += 1
        return self._count.to_bytes(2, "big") * (count // 2) + b"\0" * (count % 2)
