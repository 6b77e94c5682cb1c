"""Random searches among random messages: the conditions of a store find what the memory store's `fits` finds."""

from dataclasses import fields
from random import Random
from typing import Any

from heliograph.app.configuration import Account
from heliograph.app.facts import Facts, Message, MessageEnd, Queueing, Submission
from heliograph.app.ports import Store
from heliograph.app.ports.backlog import QueueAction
from heliograph.app.records import Search
from heliograph.domain.message.ids import time_of
from heliograph.domain.message.receipt import Delivery
from heliograph.domain.message.state import State
from heliograph.domain.message.status import MessageStatus
from tests.contracts.test_searching import every_page
from tests.support.memory_reading import fits
from tests.support.store import HOUR, SECOND, START, Given

SEARCHES = 150

NUMBERS = ("4917012345678", "4917012399999", "4317012345678", "12425550123", "12125550123")
SENDERS = ("Helio", "hELIO", "Rare", "")
CODES = ("", "11", "011", "7")


async def given_messages(given: Given, random: Random, accounts: list[Account]) -> None:
    """Messages of two accounts in all states, some of them scheduled, held, in batches or sent by another connector."""
    for number in range(40):
        given.now += random.choice((0, 1, SECOND))
        account = random.choice(accounts).id
        fields: dict[str, Any] = {
            "destination": random.choice(NUMBERS), "sender": random.choice(SENDERS), "connector": random.choice((1, 2)),
            "network": random.choice(("", "26201")), "segments": random.choice((1, 2)),
        }  # fmt: skip
        state = list(MessageStatus)[number % len(MessageStatus)]
        is_later = state in (MessageStatus.SCHEDULED, MessageStatus.CANCELLED)
        if is_later or (state is MessageStatus.HELD and random.random() < 0.5):
            message = await given.scheduled(account, random.choice((2, HOUR)), **fields)
        elif random.random() < 0.2:
            batch = given.batch(account, 2, reference=f"batch-{number}", **fields)
            await given.recorded(batch)
            message = batch.messages[0]
        else:
            message = await given.sent(account, reference=random.choice((None, f"one-{number}")), **fields)
        facts = Facts()
        if state is MessageStatus.CANCELLED:
            await given.store.customers.cancel(account, message.key, message.tail, given.now)
        elif state is MessageStatus.HELD and message.state == State.SCHEDULED:
            await given.store.backlog.change(QueueAction.HOLD, [message.key], given.now)
        elif state in (MessageStatus.HELD, MessageStatus.PENDING):
            held = "49170" if state is MessageStatus.HELD else None
            facts.queueings = [
                Queueing(account, message.key, message.connector, message.time, message.expires, False, False, held)
            ]
        elif state not in (MessageStatus.SCHEDULED, MessageStatus.FAILED):
            sent = random.choice((1, message.segments))
            connector = random.choice((message.connector, 3))
            facts.submissions = [
                Submission(account, message.key, segment, connector, f"{number}-{segment}", 0, given.now)
                for segment in range(sent)
            ]
        if state in (MessageStatus.DELIVERED, MessageStatus.UNDELIVERED, MessageStatus.FAILED):
            bad = random.choice((Delivery.UNDELIV, Delivery.EXPIRED, Delivery.REJECTD))
            ended = Delivery.DELIVRD if state is MessageStatus.DELIVERED else bad
            failed = state is MessageStatus.FAILED
            refund = message.price if failed else 0
            facts.finals = [
                MessageEnd(
                    account, message.key, ended, random.choice(CODES), given.now, owed=False,
                    failed=failed, refund=refund,
                )
            ]  # fmt: skip
        await given.store.commits.record(facts)


def searched(random: Random, accounts: list[Account], messages: list[Message]) -> dict[str, Any]:
    """A search with one to four filters, often by status, apart from id and reference."""
    at = sorted(random.choice((time_of(each.key), each.time)) for each in random.choices(messages, k=2))
    known: dict[str, Any] = {
        "account": random.choice(accounts).id, "number": random.choice(NUMBERS)[: random.choice((2, 4, 8, 15))],
        "status": random.choice(list(MessageStatus)), "start": at[0], "end": at[1],
        "connector": random.choice((1, 2, 3, 4)),
        "error": random.choice(("undeliv", "EXPIRED 011", "011", "007 REJECTD", "001", "UNDELIV EXPIRED")),
        "sender": random.choice(("helio", "RARE", "Hel")), "country": random.choice(("de", "BS", "US", "FR")),
        "network": "26201",
    }  # fmt: skip
    names = random.sample(sorted(known), random.choice((1, 2, 2, 3)))
    return {name: known[name] for name in names + ["status"] * (random.random() < 0.4)}


def test_each_filter_is_tried() -> None:
    one = Message(1, "49", "Helio", 0, "", 1, 0, START, START, 0, 1, key=1)
    tried = {name for seed in range(50) for name in searched(Random(seed), [Account(1, "one", "", b"")], [one])}
    paging = {"before", "limit", "effort", "accepted_order"}
    assert tried | paging | {"id", "reference"} == {each.name for each in fields(Search)}


async def test_searches_find_what_fits(store: Store, given: Given) -> None:
    random = Random(7)
    accounts = [await given.account(name) for name in ("one", "two")]
    await given_messages(given, random, accounts)
    await store.upkeep.index_numbers(given.now + HOUR, 8)
    hits = (await store.messages.search(Search(limit=1_000))).hits
    assert {hit.status for hit in hits} == set(MessageStatus)
    messages = [hit.message for hit in hits]
    found = 0
    for _ in range(SEARCHES):
        wanted = searched(random, accounts, messages)
        fitting = [hit.message for hit in hits if fits(Search(**wanted), hit)]
        assert sorted(await every_page(store, **wanted), reverse=True) == [each.key for each in fitting], wanted
        found += bool(fitting)
        one = random.choice(random.choice((fitting or messages, messages)))
        same = [each.key for each in fitting if each.reference == one.reference]
        if one.reference is not None:
            assert await every_page(store, **wanted, reference=one.reference) == same, (wanted, one.reference)
        itself = [one.key] if one in fitting else []
        assert await every_page(store, **wanted, id=(one.key, one.tail)) == itself, wanted
    assert found > SEARCHES // 3
