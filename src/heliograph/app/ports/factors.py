"""Second factors of the console's users, and their recovery codes."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol


class FactorKind(StrEnum):
    """Kinds of second factors."""

    APP = "app"
    PASSKEY = "passkey"


@dataclass(slots=True)
class SecondFactor:
    """An authenticator app or a passkey of a user.

    `secret`: the seed of an app's codes, or a passkey's public key with its id. The store keeps it in the column
    `admin_factor.secret`.

    `counter`: the last time step used of an app; for a passkey, the time of the last challenge that it answered.
    """

    user: str
    id: str
    kind: FactorKind
    name: str
    secret: bytes = field(repr=False)
    counter: int
    created: int
    used: int | None = None


class Factors(Protocol):
    """Keeps second factors, and the digests of recovery codes, which are good once each."""

    async def of(self, user: str) -> list[SecondFactor]:
        """Returns the second factors of a user, the oldest first."""

    async def add(self, factor: SecondFactor, codes: Sequence[bytes]) -> None:
        """Adds a factor; the codes, if there are any, replace the user's. Raises Missing if there is no such user, and
        Exists for the same id."""

    async def remove(self, user: str, factor: str) -> None:
        """Removes a factor. Removing the last factor also removes the recovery codes. Raises Missing."""

    async def advance(self, user: str, factor: str, counter: int, now: int) -> bool:
        """Sets the last used counter and `now` as the last use. Returns False and changes nothing unless the counter is
        higher than the last.
        """

    async def replace_codes(self, user: str, codes: Sequence[bytes]) -> None:
        """Replaces the recovery codes of a user."""

    async def use_code(self, user: str, code: bytes) -> bool:
        """Uses up a recovery code; returns False if there is no such code."""

    async def codes_left(self, user: str) -> int:
        """Returns how many recovery codes a user has."""

    async def reset(self, user: str) -> None:
        """Removes all factors and codes of a user, and ends the user's sessions. Raises Missing if there is no such
        user.
        """
