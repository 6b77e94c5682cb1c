"""Administration of suppressions: phones that accounts must not send to."""

from collections.abc import Sequence
from typing import Final

from heliograph.app.configuration import Missing
from heliograph.app.records import AuditEntry
from heliograph.app.resources.desk import Desk, Invalid, NoSuch, account_id
from heliograph.domain.message.suppression import Suppression, parse_number
from heliograph.domain.numbers import phone

BATCH: Final = 1_000
"""Numbers that are suppressed in one transaction."""


class ManageSuppressions(Desk):
    """Methods raise Invalid and NoSuch for mistakes of the user, and the store's Unavailable. The audit log has counts,
    and of a single number its first and last digits: it is kept for longer than numbers may be."""

    async def page(self, account: str, after: str, limit: int) -> list[Suppression]:
        """Returns suppressions in the order of the numbers, from the first one after `after` on."""
        return await self.store.suppressions.page(await account_id(self.store, account), after, limit)

    async def find(self, account: str, number: str) -> Suppression | None:
        """Returns the suppression of a number."""
        return await self.store.suppressions.find(await account_id(self.store, account), _number(number))

    async def add(self, account: str, numbers: Sequence[str], source: str) -> int:
        """Suppresses the numbers, BATCH in a transaction; returns how many were not. What waits for them is cancelled
        and refunded. Nothing is changed where one of them is none."""
        owner, wanted = await account_id(self.store, account), [_number(number) for number in numbers]
        return sum(
            [await self._add(account, owner, wanted[at : at + BATCH], source) for at in range(0, len(wanted), BATCH)]
        )

    async def _add(self, account: str, owner: int, numbers: list[str], source: str) -> int:
        given = {"number": phone.mask(numbers[0])} if len(numbers) == 1 else {"numbers": str(len(numbers))}

        def noted(added: int) -> AuditEntry:
            return self.entry("suppression.add", account, {**given, "new": str(added), "source": source})

        return await self.store.noting(noted).suppressions.suppress(owner, numbers, source, self.now)

    async def remove(self, account: str, number: str) -> None:
        """Lifts a suppression: the phone may be sent to again."""
        owner, wanted = await account_id(self.store, account), _number(number)
        audited = self.audited("suppression.remove", account, {"number": phone.mask(wanted)})
        try:
            await audited.suppressions.lift(owner, wanted)
        except Missing:
            raise NoSuch("suppression", f"of {wanted} in {account}") from None


def _number(text: str) -> str:
    try:
        return parse_number(text)
    except ValueError as problem:
        raise Invalid("number", f"{problem} It is {text[: phone.MAX_DIGITS + 5]!r}.") from None
