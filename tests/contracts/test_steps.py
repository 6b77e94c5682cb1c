"""Every step that the table of the domain has is made, and every other one is refused."""

from collections.abc import Awaitable, Callable
from itertools import product

import pytest

from heliograph.app.configuration import Account
from heliograph.app.facts import Facts, Message, MessageEnd, Queueing, Withdrawal
from heliograph.app.ports import NotScheduled, Store
from heliograph.domain.message.receipt import Delivery
from heliograph.domain.message.state import ENDED, TABLE, State, Trigger
from tests.support.store import CREDIT, HOUR, NODE, START, Given, delivery_of, on_every_driver

pytestmark = on_every_driver

DUE = START + HOUR


async def _cancel(store: Store, message: Message) -> None:
    await store.customers.cancel(message.account, message.key, message.tail, START)


async def _reschedule(store: Store, message: Message) -> None:
    await store.customers.reschedule(message.account, message.key, message.tail, DUE + HOUR, DUE + 2 * HOUR, START)


async def _fail(store: Store, message: Message) -> None:
    final = MessageEnd(
        message.account, message.key, Delivery.REJECTD, "011", START, owed=True, failed=True, refund=message.price
    )
    await store.commits.record(Facts(finals=[final]))


async def _claim(store: Store, message: Message) -> None:
    """Claims the message's row of the queue; there is one, whatever the message's state."""
    row = Queueing(message.account, message.key, message.connector, DUE, DUE + HOUR, attempted=False, claimed=False)
    await store.commits.record(Facts(queueings=[row]))
    [claimed] = await store.queue.claim(message.connector, 10, DUE, NODE)
    assert claimed.message.key == message.key


async def _withdraw(store: Store, message: Message) -> None:
    await store.commits.record(Facts(withdrawals=[Withdrawal(message.account, message.key, message.price, START)]))


TRIGGERS: dict[Trigger, Callable[[Store, Message], Awaitable[None]]] = {
    Trigger.RESCHEDULE: _reschedule,
    Trigger.CANCEL: _cancel,
    Trigger.DUE: _claim,
    Trigger.FAIL: _fail,
    Trigger.OPT_OUT: _withdraw,
}


async def _in_state(state: State, store: Store, given: Given, account: Account) -> Message:
    match state:
        case State.SCHEDULED:
            return await given.scheduled(account.id)
        case State.SENT:
            return await given.sent(account.id)
        case State.CANCELLED:
            message = await given.scheduled(account.id)
            await _cancel(store, message)
            return message
        case State.FAILED:
            message = await given.sent(account.id)
            await _fail(store, message)
            return message


@pytest.mark.parametrize(("state", "trigger"), list(product(State, Trigger)), ids=lambda each: each.name.lower())
async def test_the_table_is_what_stores_do(
    store: Store, given: Given, account: Account, state: State, trigger: Trigger
) -> None:
    message = await _in_state(state, store, given, account)
    before = await store.customers.message(account.id, message.key, message.tail)
    assert before is not None
    assert before.state == state
    delivery = await delivery_of(store, message.key)
    legal = (state, trigger) in TABLE

    refused = False
    try:
        await TRIGGERS[trigger](store, message)
    except NotScheduled:
        refused = True

    after = await store.customers.message(account.id, message.key, message.tail)
    assert after is not None
    assert after.state == TABLE.get((state, trigger), state)
    assert refused == (not legal and trigger in (Trigger.CANCEL, Trigger.RESCHEDULE))
    assert await store.customers.balance(account.id) == (100 if after.state in ENDED else 99) * CREDIT
    if not legal:
        assert (after.time, after.expires) == (before.time, before.expires)
        assert await delivery_of(store, message.key) == delivery
