"""Lets customers read and change their suppressions."""

import re
from collections.abc import Callable, Mapping

from heliograph.app.configuration import Missing
from heliograph.app.inbound.pull import check_names, page_limit
from heliograph.app.ports import Clock, Suppressions
from heliograph.app.sending.directory import AccountView
from heliograph.app.sending.fields import shown
from heliograph.domain.error import NOT_FOUND, Fault, invalid
from heliograph.domain.message.ids import first_key_at
from heliograph.domain.message.suppression import Suppression, parse_number

PARAMETERS = ("after", "limit")
"""Names of the parameters of a query."""

SOURCE = "api"

_DIGITS = re.compile(r"[0-9]{1,15}").fullmatch


class SuppressionList:
    """Reads and changes the suppressions of the account that asks."""

    def __init__(self, suppressions: Suppressions, clock: Clock, withdraw: Callable[[int, str, int], None]) -> None:
        """`withdraw` cancels an account's messages to a number in this process, with keys below the third argument."""
        self._suppressions = suppressions
        self._clock = clock
        self._withdraw = withdraw

    async def page(self, view: AccountView, query: Mapping[str, str]) -> list[Suppression]:
        """Returns the page of a query. An empty parameter counts as absent. Raises Fault (400)."""
        check_names(query, PARAMETERS)
        after = query.get("after", "")
        if after and _DIGITS(after) is None:
            raise invalid("after", f"The after is a number, up to 15 digits without +, not {shown(after)}.")
        return await self._suppressions.page(view.account.id, after, page_limit(query))

    async def get(self, view: AccountView, text: str) -> Suppression:
        """Returns the suppression of a number, for example `491701234567`. Raises Fault (400, 404)."""
        found = await self._suppressions.find(view.account.id, _number(text))
        if found is None:
            raise _not_suppressed()
        return found

    async def add(self, view: AccountView, text: str) -> Suppression:
        """Suppresses a number. Waiting messages to it are cancelled and refunded. Idempotent. Raises Fault (400)."""
        account, number = view.account.id, _number(text)
        while True:
            now = self._clock.now()
            if await self._suppressions.suppress(account, [number], SOURCE, now):
                # Messages with a lower key were accepted before.
                self._withdraw(account, number, first_key_at(self._clock.now() + 1))
                return Suppression(number, now, SOURCE)
            found = await self._suppressions.find(account, number)
            if found is not None:  # else it was lifted in between
                return found

    async def remove(self, view: AccountView, text: str) -> None:
        """Lifts the suppression of a number. Raises Fault (400, 404)."""
        try:
            await self._suppressions.lift(view.account.id, _number(text))
        except Missing:
            raise _not_suppressed() from None


def _number(text: str) -> str:
    try:
        return parse_number(text)
    except ValueError as problem:
        raise invalid("number", f"{problem} It is {shown(text)}.") from None


def _not_suppressed() -> Fault:
    return Fault(NOT_FOUND, "The number is not suppressed in this account.")
