"""Administration of numbers and of messages from phones."""

from dataclasses import dataclass

from heliograph.app.configuration import Exists, Missing
from heliograph.app.records import InboundQuery, InboundRecord
from heliograph.app.resources.desk import AlreadyThere, Desk, Invalid, NoSuch, account_id, connector_id
from heliograph.domain.error import CONFLICT, Fault
from heliograph.domain.message.ids import to_hex
from heliograph.domain.numbers.number_rules import (
    InboundNumber,
    keyword_problem,
    normalise_number,
    normalise_word,
    number_problem,
)


@dataclass(slots=True)
class NumberView:
    """A number with the names of its account and its connector, which is empty for any."""

    id: int
    number: str
    keyword: str
    account: str
    connector: str


class ManageInbound(Desk):
    """Methods raise Invalid, NoSuch or AlreadyThere for mistakes of the user, and the store's Unavailable."""

    # --- numbers

    async def add_number(self, number: str, account: str, keyword: str = "", connector: str = "") -> NumberView:
        """Gives an account the messages to a number: those that begin with `keyword`, if there is one, over
        `connector`, if it is named."""
        for field, problem in (("number", number_problem(number)), ("keyword", keyword_problem(keyword))):
            if problem is not None:
                raise Invalid(field, problem)
        number, keyword = normalise_number(number), normalise_word(keyword)
        owner = await account_id(self.store, account)
        by = await connector_id(self.store, connector) if connector else 0
        audited = self.audited("number.add", number, {"account": account, "keyword": keyword, "connector": connector})
        try:
            added = await audited.inbound.add_number(InboundNumber(0, number, owner, keyword, by))
        except Exists:
            raise AlreadyThere("number", f"{number} {keyword}".strip()) from None
        return NumberView(added.id, number, keyword, account, connector)

    async def numbers(self) -> list[NumberView]:
        """Returns them by number and keyword."""
        tables = await self.store.network.tables()
        connectors = tables.connector_names()
        accounts = await self.account_names()
        return [
            NumberView(
                each.id,
                each.number,
                each.keyword,
                accounts.get(each.account, "?"),
                connectors.get(each.connector, "?") if each.connector else "",
            )
            for each in tables.numbers
        ]

    async def remove_number(self, number: int) -> None:
        """Removes a number. The audit log keeps it, so that it can be made again."""
        gone = next((each for each in await self.numbers() if each.id == number), None)
        if gone is None:
            raise NoSuch("number", str(number))
        was = {"number": gone.number, "account": gone.account, "keyword": gone.keyword, "connector": gone.connector}
        try:
            await self.audited("number.remove", str(number), was).inbound.remove_number(number)
        except Missing:
            raise NoSuch("number", str(number)) from None

    # --- messages

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
