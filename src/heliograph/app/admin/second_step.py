"""The second step of signing in: checks codes of apps, recovery codes and passkeys."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from heliograph.app.ports import Factors, Passkeys
from heliograph.app.ports.factors import FactorKind, SecondFactor
from heliograph.domain.security import one_time_code


def digest_code(code: str) -> bytes:
    """Returns the SHA-256 of a recovery code, for the store. Its 80 random bits make a slow hash unnecessary."""
    return hashlib.sha256(plain(code).encode("utf-8", "surrogatepass")).digest()


def plain(code: str) -> str:
    """Returns a code without spaces, hyphens and capitals: `123456` for `123 456`."""
    return "".join(code.lower().replace("-", "").split())


def can_be_guessed(code: str) -> bool:
    """Returns True for a code with the length of an app's code. A recovery code has 80 random bits."""
    return len(plain(code)) == one_time_code.DIGITS


async def proves(factors: Factors, user: str, code: str, now: int) -> str:
    """Checks and uses up a code of the user's apps, or a recovery code. Returns `app`, `recovery`, or "" if wrong."""
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
    """A browser's answer for a passkey."""

    host: str
    """The host name of the page, for example `sms.example.com`."""
    answer: Mapping[str, Any]


def challenge_of(ticket: str) -> bytes:
    """Returns the challenge of a ticket's step. It cannot be predicted, because only the gateway can make tickets."""
    return hashlib.sha256(ticket.encode("utf-8", "surrogatepass")).digest()


async def passkeys_of(factors: Factors, user: str) -> list[SecondFactor]:
    return [each for each in await factors.of(user) if each.kind is FactorKind.PASSKEY]


async def proves_passkey(
    factors: Factors, passkeys: Passkeys, user: str, given: PasskeyAnswer, ticket: str, made: int, now: int
) -> str:
    """Checks a passkey's answer to the challenge of a ticket. Returns `passkey`, or "" if wrong.

    `made` is the time of the challenge (ms). A challenge can be answered only once.
    """
    known = await passkeys_of(factors, user)
    try:
        index = passkeys.proven(given.host, [each.secret for each in known], challenge_of(ticket), given.answer)
    except ValueError:
        return ""
    return "passkey" if await factors.advance(user, known[index].id, made, now) else ""
