"""A phone number: all stored data about it, and its erasure."""

from collections.abc import Sequence
from typing import Protocol

from heliograph.app.kept_data import ErasureStep, PhoneTraces


class Recipients(Protocol):
    """Finds and erases the data of a phone number. `account` None means all accounts, and data without an account."""

    async def traces(self, number: str, account: int | None) -> PhoneTraces:
        """Finds all data with the number, in one view. Texts that mention the number are not searched."""

    async def judge(self, account: int, keys: Sequence[int]) -> ErasureStep:
        """Returns the effect that `erase` would have. Changes nothing."""

    async def erase(self, account: int, keys: Sequence[int], now: int) -> ErasureStep:
        """Erases text and number of an account's messages, outbound and inbound. Messages still waiting are cancelled
        and refunded first. Messages with pending work are noted; retention erases them later.
        """

    async def forget(self, number: str, account: int | None) -> None:
        """Erases the number outside messages: suppressions, which stay in force, and, if `account` is None, receipts
        that match no message.
        """
