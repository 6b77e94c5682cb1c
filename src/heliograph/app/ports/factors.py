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

    `secret` is what an app's codes are made from, and a passkey's public key with its id; the store keeps it in one
    column, `admin_factor.secret`. `counter` is the last step of an app that was used, and when the last challenge that
    a passkey answered was made.
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
        """Removes a factor; with the last one go the recovery codes. Raises Missing."""

    async def advance(self, user: str, factor: str, counter: int, now: int) -> bool:
        """Makes this the last counter that was used, and `now` the last use; returns False, and changes nothing, unless
        it is above the last one."""

    async def replace_codes(self, user: str, codes: Sequence[bytes]) -> None:
        """Replaces the recovery codes of a user."""

    async def use_code(self, user: str, code: bytes) -> bool:
        """Uses up a recovery code; returns False if there is no such code."""

    async def codes_left(self, user: str) -> int:
        """Returns how many recovery codes a user has."""

    async def reset(self, user: str) -> None:
        """Removes all factors and codes of a user, and ends the user's sessions. Raises Missing if there is none."""
