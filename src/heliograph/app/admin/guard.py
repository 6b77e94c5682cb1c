"""Administration of what the pumping guard holds: seen, released, refunded."""

from dataclasses import dataclass
from typing import Final

from heliograph.app.configuration import Missing
from heliograph.app.resources.desk import Desk, NoSuch, account_id

COUNTED: Final = 100_000
"""Messages of a hold that are counted for people."""

BATCH: Final = 1_000
"""Messages that are refunded, or made due, in one transaction."""


@dataclass(slots=True)
class HoldView:
    """A hold with the name of its account, how many messages it has, up to COUNTED, and what they cost."""

    account: str
    prefix: str
    since: int
    why: str
    messages: int
    price: int


class ManageGuard(Desk):
    """Methods raise Invalid and NoSuch for mistakes of the user, and the store's Unavailable."""

    async def holds(self) -> list[HoldView]:
        """Returns what is held, by account and prefix."""
        names = {account.id: account.name for account, _ in await self.store.accounts.all()}
        found = [
            HoldView(
                names.get(each.hold.account, str(each.hold.account)),
                each.hold.prefix,
                each.hold.since,
                each.hold.why,
                each.messages,
                each.price,
            )
            for each in await self.store.guard.holds(COUNTED)
        ]
        return sorted(found, key=lambda view: (view.account, view.prefix))

    async def release(self, account: str, prefix: str) -> int:
        """Ends a hold: what it held is sent, and for a day the range is not held again. Returns how many messages are
        due by that now."""
        owner = await account_id(self.store, account)
        try:
            audited = self.audited("guard.release", account, {"prefix": prefix})
            await audited.guard.release(owner, prefix, self.now)
        except Missing:
            raise NoSuch("hold", f"of {account} to {prefix}") from None
        released = 0
        while (due := await self.store.guard.let_go(self.now, BATCH)) > 0:
            released += due
        return released

    async def refund(self, account: str, prefix: str) -> int:
        """Cancels and refunds what a hold has; the hold goes on. Returns how many messages that were."""
        owner = await account_id(self.store, account)
        await self.note("guard.refund", account, {"prefix": prefix})
        refunded = 0
        try:
            while (some := await self.store.guard.refund(owner, prefix, self.now, BATCH)) > 0:
                refunded += some
        except Missing:
            raise NoSuch("hold", f"of {account} to {prefix}") from None
        return refunded
