"""Administration of messages from phones."""

from heliograph.app.configuration import Missing
from heliograph.app.records import InboundQuery, InboundRecord
from heliograph.app.resources.desk import AlreadyThere, Desk, NoSuch, account_id
from heliograph.domain.error import CONFLICT, Fault
from heliograph.domain.message.ids import to_hex


class ManageInbound(Desk):
    """Methods raise Invalid, NoSuch or AlreadyThere for mistakes of the user, and the store's Unavailable."""

    async def find(self, query: InboundQuery, account: str | None = None) -> list[InboundRecord]:
        """Returns messages, newest first; with `account` only that one's."""
        if account is not None:
            query.account = await account_id(self.store, account)
        return await self.store.inbound.find(query)

    async def find_one(self, key: int, tail: int) -> InboundRecord | None:
        """Returns the message of an id, if there is one."""
        return await self.store.inbound.show(key, tail)

    async def show(self, key: int, tail: int) -> InboundRecord:
        found = await self.find_one(key, tail)
        if found is None:
            raise NoSuch("inbound message", to_hex(key, tail))
        return found

    async def route(self, key: int, tail: int, account: str) -> InboundRecord:
        """Gives an unrouted message to an account, which is told of it as of any other."""
        owner = await account_id(self.store, account)
        name = to_hex(key, tail)
        try:
            return await self.audited("inbound.route", name, {"account": account}).inbound.route(
                key, tail, owner, self.now
            )
        except Missing:
            found = await self.show(key, tail)
            names = await self.account_names()
            raise AlreadyThere("owner", names.get(found.message.account, "?")) from None

    async def replay(self, key: int, tail: int) -> None:
        """Makes the callback of a message owed again that has ended without success. Raises Fault if it has not."""
        found = await self.show(key, tail)
        names = await self.account_names()
        entry = self.entry("callback.replay", to_hex(key, tail), {"account": names.get(found.message.account, "")})
        if await self.store.noting(lambda count: entry if count else None).notices.replay(None, key, self.now) == 0:
            raise Fault(CONFLICT, "The callback of this message has not ended without success; nothing to replay.")
