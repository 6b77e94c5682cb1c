"""One phone: what is kept of it, and its erasure."""

from collections.abc import Sequence
from typing import Protocol

from heliograph.app.kept_data import ErasureStep, PhoneTraces


class Recipients(Protocol):
    """Finds and erases what is kept of one phone. `account` is None for all accounts, and for what is nobody's."""

    async def traces(self, number: str, account: int | None) -> PhoneTraces:
        """Finds everything that has the number, in one view. Texts that name it are not looked into."""

    async def judge(self, account: int, keys: Sequence[int]) -> ErasureStep:
        """Tells what `erase` would do, and changes nothing."""

    async def erase(self, account: int, keys: Sequence[int], now: int) -> ErasureStep:
        """Erases text and number of an account's messages, of either way. Those that wait and have not left are
        cancelled and refunded first. Those for which something is still owed are noted, for retention to erase."""

    async def forget(self, number: str, account: int | None) -> None:
        """Erases the number where it stands beside messages: suppressions, which hold, and receipts that match no
        message, only where `account` is None."""
