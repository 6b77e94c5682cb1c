"""Fills a store with messages, through the store itself, many a transaction.

The ids of stored messages are worked out from their numbers, so that the load generator can ask for them: the last
eight hexadecimal digits of an id's milliseconds are the decimal digits of the number.
"""

import asyncio
import gc
from collections.abc import Awaitable, Callable

from bench.loop.gateways import NUMBER, TEXT, Heliograph
from heliograph.adapters.smpp_server.addresses import Spelling
from heliograph.adapters.smpp_server.expected import UUID, Expected, ReceiptWish
from heliograph.app.configuration import Account
from heliograph.app.facts import (
    Accept,
    CallbackDone,
    CallbackEnd,
    CallbackRetry,
    Facts,
    Message,
    MessageEnd,
    Submission,
    Verdict,
)
from heliograph.app.marks import AWAITING, CALLBACK, DISPATCH
from heliograph.app.ports import Store
from heliograph.domain.message.extras import Extras
from heliograph.domain.message.ids import IdSequence, first_key_at, to_hex
from heliograph.domain.message.receipt import Delivery
from heliograph.domain.message.state import Kind, State
from heliograph.domain.message.way import Way
from heliograph.runtime.upkeep import NUMBERS_BLOCK

TRANSACTION = 10_000
"""Messages."""

TAIL = 1
PRICE = 1_000_000
"""Micro-credits."""

VALIDITY_MS = 2 * 86_400_000
KEPT_MS = 3 * 86_400_000
"""For which a receipt waits for its client."""

SPAN_MS = 1 << 32
"""The range of eight hexadecimal digits of milliseconds."""

SPAN_AT = 4
"""Where in an id these eight digits begin: 12 digits of milliseconds come first (RFC 9562, 5.7)."""


def known_key(number: int, now: int) -> int:
    """Returns the key of a stored message, between 1 and 3 times 49.7 days ago."""
    return first_key_at((now // SPAN_MS - 2) * SPAN_MS + int(str(number), 16))


def known_path(now: int) -> str:
    """Where a stored message is, with a placeholder for its number."""
    message = to_hex(known_key(0, now), TAIL)
    return f"/api/v1/messages/{message[:SPAN_AT]}{NUMBER}{message[SPAN_AT + len(NUMBER) :]}"


def add_history(gateway: Heliograph, account: str, size: int, now: int) -> None:
    """Writes `size` finished messages, with receipts and callbacks, and indexed by number."""

    async def fill(store: Store) -> None:
        owner, connector = await _names(store, account)
        for first in range(0, size, TRANSACTION):
            keys = [known_key(number, now) for number in range(first, min(first + TRANSACTION, size))]
            facts = Facts(accepts=[_accept(owner, connector, key, first + i) for i, key in enumerate(keys)])
            facts.submissions = [
                Submission(owner.id, key, 0, connector, f"{key & 0xFFFFFFFF:x}", 0, key >> 12) for key in keys
            ]
            facts.finals = [MessageEnd(owner.id, key, Delivery.DELIVRD, "000", key >> 12, owed=True) for key in keys]
            facts.callbacks = [CallbackDone(owner.id, key, CallbackEnd.DELIVERED, 200, 1, key >> 12) for key in keys]
            facts.marks = dict.fromkeys((DISPATCH, AWAITING, CALLBACK), keys[-1])
            await _record(store, facts)
        while await store.upkeep.index_numbers(now, NUMBERS_BLOCK):
            pass

    _fill(gateway, fill)


def add_queue(gateway: Heliograph, account: str, size: int, now: int, due: int | None, phone: str = "") -> None:
    """Writes `size` messages into the queue: scheduled for `due` (ms), otherwise due at once.

    A message has its number in its callback's URL and in its destination; with `phone` all go to that phone.
    """
    callback_url = gateway.callback_url()

    async def fill(store: Store) -> None:
        owner, connector = await _names(store, account)
        sequence = IdSequence(0)
        for first in range(0, size, TRANSACTION):
            facts = Facts()
            for number in range(first, min(first + TRANSACTION, size)):
                accept = _accept(owner, connector, sequence.next(now), number)
                message = accept.messages[0]
                message.callback_url = callback_url.replace(NUMBER, f"{number:08}")
                message.destination = phone or message.destination
                if due is None:
                    message.queued = True
                else:
                    message.state, message.time, accept.scheduled = State.SCHEDULED, due, True
                message.expires = message.time + VALIDITY_MS
                facts.accepts.append(accept)
            # each of them is in the queue: there is nothing of theirs on the fast lane
            facts.marks = {DISPATCH: facts.accepts[-1].key}
            await _record(store, facts)

    _fill(gateway, fill)


def add_parked(gateway: Heliograph, account: str, size: int, now: int) -> None:
    """`size` receipts that wait for the account's SMPP client, as after its messages were sent and delivered."""
    extras = Extras(esme=Expected(Spelling(1, 1, 0, ""), Spelling(5, 0, 0, ""), UUID, ReceiptWish.ALL).text()).text()

    async def fill(store: Store) -> None:
        owner, connector = await _names(store, account)
        sequence = IdSequence(0)
        for first in range(0, size, TRANSACTION):
            facts = Facts()
            for number in range(first, min(first + TRANSACTION, size)):
                key = sequence.next(now)
                accept = _accept(owner, connector, key, number)
                message = accept.messages[0]
                message.callback_url, message.way, message.extras = "", Way.BIND, extras
                facts.accepts.append(accept)
                facts.submissions.append(Submission(owner.id, key, 0, connector, f"{number:x}", 0, now))
                facts.finals.append(MessageEnd(owner.id, key, Delivery.DELIVRD, "000", now, owed=True))
                facts.callback_retries.append(
                    CallbackRetry(owner.id, key, now + KEPT_MS, 0, b"", "", now, way=Way.BIND, parked=True)
                )
            facts.marks = dict.fromkeys((DISPATCH, AWAITING, CALLBACK), facts.accepts[-1].key)
            await _record(store, facts)

    _fill(gateway, fill)


async def _names(store: Store, account: str) -> tuple[Account, int]:
    """The account, and the id of the first connector."""
    found = await store.accounts.find(account)
    assert found is not None
    tables = await store.network.tables()
    return found[0], min(connector.id for connector in tables.connectors)


def _accept(owner: Account, connector: int, key: int, number: int) -> Accept:
    at = key >> 12
    message = Message(
        account=owner.id,
        destination=f"491{number:08}",
        sender="Bench",
        kind=Kind.TEXT,
        content=TEXT,
        segments=1,
        price=PRICE,
        time=at,
        expires=at + VALIDITY_MS,
        state=State.SENT,
        connector=connector,
        wants_receipt=True,
        callback_url="http://127.0.0.1/receipt",
        way=Way.WEBHOOK,
        key=key,
        tail=TAIL,
    )
    return Accept(owner.id, [message], PRICE, at, key=key, tail=TAIL)


async def _record(store: Store, facts: Facts) -> None:
    await store.commits.record(facts)
    if any(accept.verdict is not Verdict.ACCEPTED for accept in facts.accepts):
        raise RuntimeError("the store did not take a message")


def _fill(gateway: Heliograph, fill: Callable[[Store], Awaitable[None]]) -> None:
    """Without the collector, which would look through all these values again and again."""

    async def work() -> None:
        store = await gateway.open_store()
        await fill(store)
        await store.close()

    gc.disable()
    try:
        asyncio.run(work())
    finally:
        gc.enable()
