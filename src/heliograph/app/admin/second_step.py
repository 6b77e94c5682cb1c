"""The second step of signing in: checking what somebody types."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from heliograph.app.ports import Factors, Passkeys
from heliograph.app.ports.factors import FactorKind, SecondFactor
from heliograph.domain.security import one_time_code


def digest_code(code: str) -> bytes:
    """Returns the SHA-256 of a recovery code, which the store keeps; it has enough random bits to need no slow hash."""
    return hashlib.sha256(plain(code).encode("utf-8", "surrogatepass")).digest()


def plain(code: str) -> str:
    """Returns a code as it is compared: without what people put between its characters."""
    return "".join(code.lower().replace("-", "").split())


def can_be_guessed(code: str) -> bool:
    """Says whether it is as long as a code of an app; a recovery code has eighty random bits."""
    return len(plain(code)) == one_time_code.DIGITS


async def proves(factors: Factors, user: str, code: str, now: int) -> str:
    """Uses up a code of the user's apps, or a recovery code. Returns which it was, `app` or `recovery`, else an empty
    text."""
    text = plain(code)
    if len(text) == one_time_code.DIGITS:
        for factor in await factors.of(user):
            if factor.kind is not FactorKind.APP:
                continue
            step = one_time_code.step_of(factor.secret, text, now, factor.counter)
            if step is not None and await factors.advance(user, factor.id, step, now):
                return "app"
        return ""
    return "recovery" if await factors.use_code(user, digest_code(code)) else ""


@dataclass(frozen=True, slots=True)
class PasskeyAnswer:
    """A browser's answer, given on pages at `host`."""

    host: str
    answer: Mapping[str, Any]


def challenge_of(ticket: str) -> bytes:
    """Returns the challenge of the step that a ticket is for: nobody can foretell it, as nobody can make a ticket."""
    return hashlib.sha256(ticket.encode("utf-8", "surrogatepass")).digest()


async def passkeys_of(factors: Factors, user: str) -> list[SecondFactor]:
    return [each for each in await factors.of(user) if each.kind is FactorKind.PASSKEY]


async def proves_passkey(
    factors: Factors, passkeys: Passkeys, user: str, given: PasskeyAnswer, ticket: str, made: int, now: int
) -> str:
    """Checks the answer of one of the user's passkeys to a challenge that was `made` at that time (ms), which it may
    answer once. Returns `passkey`, else an empty text."""
    there = await passkeys_of(factors, user)
    try:
        place = passkeys.proven(given.host, [each.secret for each in there], challenge_of(ticket), given.answer)
    except ValueError:
        return ""
    return "passkey" if await factors.advance(user, there[place].id, made, now) else ""
