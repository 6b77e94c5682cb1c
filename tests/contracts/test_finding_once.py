"""Pages of a search by free text: together they have all messages that fit, each once, whatever the text may mean."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from random import Random
from typing import Any

from heliograph.app.configuration import Account
from heliograph.app.facts import Facts, InboundMessage, Message
from heliograph.app.ports import Store
from heliograph.app.records import Hit, Search
from heliograph.app.resources.desk import Desk
from heliograph.app.resources.message_list import message_list
from heliograph.app.resources.messages import find
from heliograph.domain.message.ids import first_key_at, parse, time_of, to_hex
from heliograph.domain.message.status import MessageStatus
from heliograph.domain.numbers.phone import number_in
from tests.support.gateway import HandClock
from tests.support.memory_reading import fits
from tests.support.store import HOUR, SECOND, Given

NUMBERS = ("4917012345678", "4917099999999", "4317012345678")
REFERENCES = ("49", "4917012345678", "43 170", "0049170", "order-1", "'%_", "ünï ☎", "9" * 200)
"""The first four may be numbers, too."""

LIMITS = (2, 50)
MOST_PAGES = 200


@dataclass
class World:
    """All messages, and the batch of each message that is in one."""

    hits: list[Hit] = field(default_factory=list)
    batches: dict[int, tuple[int, int]] = field(default_factory=dict)
    received: list[InboundMessage] = field(default_factory=list)

    def is_meant(self, text: str, message: Message) -> bool:
        """Whether a text names a message by its id, its batch, its reference or its number."""
        number = number_in(text)
        names = ((message.key, message.tail), self.batches.get(message.batch))
        return (
            not text
            or text == message.reference
            or bool(number and message.destination.startswith(number))
            or parse(text) in names[: 1 + bool(message.batch)]
        )

    def sent(self, text: str, search: Search) -> set[int]:
        return {hit.message.key for hit in self.hits if self.is_meant(text, hit.message) and fits(search, hit)}

    def came(self, text: str, search: Search) -> set[int]:
        number = number_in(text)
        return {
            each.key
            for each in self.received
            if not text or (number and number in (each.sender, each.recipient)) or parse(text) == (each.key, each.tail)
            if search.account in (None, each.account)
            if first_key_at(search.start or 0) <= each.key
            if search.end is None or each.key < first_key_at(search.end + 1)
        }


async def grown(store: Store, given: Given, accounts: Sequence[Account]) -> World:
    """Requests with each reference by each account, some of them batches or scheduled, and messages between them.
    Some references are ids of other messages, in either direction."""
    random, world, used = Random(3), World(), list(REFERENCES)
    for number in range(8):
        for account in accounts:
            given.now += random.choice((0, 1, SECOND))
            plain = await given.sent(account.id, destination=random.choice(NUMBERS))
            at = given.now - random.choice((0, 0, 3 * SECOND))  # its first part may have come earlier
            inbound = InboundMessage(
                random.choice((0, account.id)), 1, random.choice(NUMBERS), "49", "Hi", b"Hi", 0, at,
                key=given.key(), tail=number,
            )  # fmt: skip
            world.received.append(inbound)
            await store.commits.record(Facts(inbound=[inbound]))
            fields: dict[str, Any] = {"reference": used[number], "destination": random.choice(NUMBERS)}
            if number % 3 == 2:
                await given.scheduled(account.id, random.choice((SECOND, HOUR)), **fields)
            elif number % 3 == 1:
                await given.sent(account.id, **fields)
            else:
                batch = given.batch(account.id, 5, **fields)
                batch.messages[0].destination = NUMBERS[0]
                world.batches[batch.key] = batch.key, batch.tail
                await given.recorded(batch)
            for named in (plain, inbound)[: number % 3]:
                await given.sent(account.id, reference=to_hex(named.key, named.tail), destination=NUMBERS[2])
        if number == 4:
            await store.upkeep.index_numbers(given.now + HOUR, 8)
    world.hits = (await store.messages.search(Search(limit=1_000))).hits
    return world


def filters(world: World, accounts: Sequence[Account]) -> list[dict[str, Any]]:
    keys = sorted(hit.message.key for hit in world.hits)
    start, end = (time_of(keys[len(keys) * part // 4]) for part in (1, 3))
    return [
        {}, {"account": accounts[0].id}, {"status": MessageStatus.PENDING}, {"status": MessageStatus.SCHEDULED},
        {"start": start}, {"start": start, "end": end}, {"account": accounts[1].id, "start": start, "end": end},
        {"account": accounts[0].id, "effort": 4}, {"effort": 4},
    ]  # fmt: skip


def texts(world: World) -> list[str]:
    some = world.hits[:: len(world.hits) // 6]
    named = [to_hex(hit.message.key, hit.message.tail) for hit in some]
    named += [to_hex(*batch) for batch in world.batches.values()][:2]
    named += [hit.message.reference for hit in world.hits if parse(hit.message.reference or "")]  # type: ignore[misc]
    return ["", "4", "491701", "+49 170 12345678", "nothing", *REFERENCES, *named]


async def sent_pages(desk: Desk, text: str, search: Search) -> AsyncIterator[list[int]]:
    more: tuple[int, int] | None = None
    for _ in range(MOST_PAGES):
        page = await find(desk, text, replace(search, before=more))
        yield [hit.message.key for hit in page.hits]
        more = page.more
        if more is None:
            return
    raise AssertionError("the cursor has no end")


async def list_pages(desk: Desk, text: str, search: Search, *, received: bool) -> AsyncIterator[list[int]]:
    more: int | None = None
    for _ in range(MOST_PAGES):
        page = await message_list(desk, text, search, more, received=received)
        yield [line.key for line in page.lines]
        more = page.more
        if more is None:
            return
    raise AssertionError("the cursor has no end")


async def test_each_message_is_on_one_page(store: Store, given: Given) -> None:
    accounts = [await given.account(name) for name in ("one", "two")]
    world = await grown(store, given, accounts)
    desk = Desk(store, HandClock())
    for text, asked, limit in product(texts(world), filters(world, accounts), LIMITS):
        search = Search(**asked, limit=limit)
        sent, came = world.sent(text, search), world.came(text, search)
        either = list_pages(desk, text, search, received=True)
        only_sent = list_pages(desk, text, search, received=False)
        for walk, expected in ((sent_pages(desk, text, search), sent), (either, sent | came), (only_sent, sent)):
            pages = [page async for page in walk]
            found = [key for page in pages for key in page]
            assert sorted(found) == sorted(expected), (text, asked, limit, walk)
            assert max(map(len, pages)) <= limit, (text, asked, limit)
            if walk in (either, only_sent) or "account" not in asked:
                assert found == sorted(found, reverse=True), (text, asked, limit)
