"""Inbound messages: kept, known again, joined, routed, told."""

from typing import Any

import pytest

from heliograph.app.configuration import Account, Connector, Exists, Missing, Price
from heliograph.app.facts import (
    CallbackDone,
    CallbackEnd,
    CallbackRetry,
    Facts,
    InboundMessage,
    InboundPart,
    InboundReply,
    PartSet,
    Verdict,
)
from heliograph.app.marks import CALLBACK
from heliograph.app.ports import Store
from heliograph.app.ports.inbound import PAGE_OCTETS, REPEAT_MS, SLOW_ANSWER_MS
from heliograph.app.records import InboundQuery
from heliograph.domain.message.ids import to_uuid
from heliograph.domain.message.way import Way
from heliograph.domain.money.amounts import EntryKind
from heliograph.domain.numbers.number_rules import InboundNumber
from tests.support.store import NODE, START, Given, Opener, replay_failed

OTHER_NODE = 8
SET = PartSet(1, "4917012345678", "3388", 77, 3)


def message(given: Given, account: int = 0, **fields: Any) -> InboundMessage:
    values: dict[str, Any] = {
        "account": account,
        "connector": 1,
        "sender": "4917012345678",
        "recipient": "3388",
        "content": "Grüße\0 aus 🦊",
        "octets": b"\x00\xff",
        "coding": 8,
        "at": given.now,
        "keyword": "pizza",
        "key": given.key(),
        "tail": 99,
    }
    return InboundMessage(**(values | fields))


def part(number: int, of: PartSet = SET, **fields: Any) -> InboundPart:
    values: dict[str, Any] = {"coding": 0, "has_header": True, "octets": b"%d" % number, "at": START}
    return InboundPart(of, number, **(values | fields))


async def kept(store: Store, *messages: InboundMessage) -> None:
    await store.commits.record(Facts(inbound=list(messages)))


async def test_a_message_is_kept_as_it_came(opener: Opener) -> None:
    store = await opener()
    given = Given(store)
    account = await given.account()
    one = message(given, account.id, parts=3, complete=False, way=Way.WEBHOOK)
    await kept(store, one)
    await store.close()
    store = await opener()
    try:
        found = await store.inbound.show(one.key, one.tail)
        assert found is not None
        assert (found.message, found.callback) == (one, None)
        assert await store.inbound.show(one.key, 1) is None
    finally:
        await store.close()


async def test_a_message_that_is_recorded_again_is_there_once(store: Store, given: Given) -> None:
    one = message(given, digest=5)
    await kept(store, one)
    await kept(store, one)
    assert len(await store.inbound.find(InboundQuery())) == 1


async def test_the_highest_key_may_be_an_inbound_messages(store: Store, given: Given) -> None:
    one = message(given)
    await kept(store, one)
    assert (await store.commits.recover(0, NODE)).last_key == one.key


async def test_messages_are_found_by_owner_and_number(store: Store, given: Given, account: Account) -> None:
    mine = message(given, account.id, sender="491")
    nobodys = message(given, recipient="4000")
    last = message(given, account.id)
    await kept(store, mine, nobodys, last)

    async def keys(**query: Any) -> list[int]:
        return [record.message.key for record in await store.inbound.find(InboundQuery(**query))]

    assert await keys() == [last.key, nobodys.key, mine.key]
    assert await keys(account=0) == [nobodys.key]
    assert await keys(account=account.id) == [last.key, mine.key]
    assert await keys(number="491") == [mine.key]
    assert await keys(account=account.id, number="491") == [mine.key]
    assert await keys(account=0, number="491") == []
    assert await keys(number=last.recipient) == [last.key, mine.key]
    assert await keys(number=last.recipient, before=last.key) == [mine.key]
    assert await keys(number=last.recipient, limit=1) == [last.key]
    assert await keys(account=0, number="4000") == [nobodys.key]
    assert await keys(before=last.key, limit=1) == [nobodys.key]


# --- repeats


async def test_a_message_without_an_answer_is_known_again(store: Store, given: Given) -> None:
    await store.commits.recover(0, NODE)
    lost, fresh, answered, other = (
        message(given, digest=5, lost=True),
        message(given, digest=5),
        message(given, digest=6, lost=True),
        message(given, digest=5, lost=True, connector=2),
    )
    await kept(store, lost, fresh, answered, other)
    await store.commits.record(Facts(inbound_answered=[answered.key]))
    assert (await store.inbound.repeated(1, [5, 6], START, NODE)).copies == [(5, lost.key, True)]
    await store.commits.record(Facts(inbound_lost=[fresh.key, answered.key]))
    assert (await store.inbound.repeated(1, [6, 5], START, NODE)).copies == [(5, lost.key, True), (5, fresh.key, True)]
    assert (await store.inbound.repeated(1, [5], START + REPEAT_MS + 1, NODE)).copies == []


async def test_what_another_node_does_not_answer_is_known_again_soon(store: Store, given: Given) -> None:
    await store.commits.recover(0, NODE)
    one = message(given, digest=5)
    await kept(store, one)
    assert (await store.inbound.repeated(1, [5], START + SLOW_ANSWER_MS, OTHER_NODE)).copies == [(5, one.key, False)]
    assert (await store.inbound.repeated(1, [5], START + SLOW_ANSWER_MS + 1, OTHER_NODE)).copies == [(5, one.key, True)]
    assert (await store.inbound.repeated(1, [5], START + SLOW_ANSWER_MS + 1, NODE)).copies == []


async def test_what_an_earlier_run_did_not_answer_is_known_again_at_once(opener: Opener) -> None:
    store = await opener()
    await store.commits.recover(0, NODE)
    one = message(Given(store), digest=5)
    await kept(store, one)
    await store.close()
    store = await opener()
    try:
        assert (await store.commits.recover(0, OTHER_NODE)).unanswered
        assert (await store.inbound.repeated(1, [5], START, OTHER_NODE)).copies == [(5, one.key, True)]
        await store.commits.record(Facts(inbound_answered=[one.key]))
        assert not (await store.commits.recover(0, OTHER_NODE)).unanswered
    finally:
        await store.close()


# --- parts


async def test_parts_are_gathered_when_all_are_there(store: Store) -> None:
    await store.commits.recover(0, NODE)
    await store.commits.record(Facts(inbound_parts=[part(3), part(1)]))
    assert await store.inbound.gather([SET], NODE) == []
    await store.commits.record(Facts(inbound_parts=[part(2, has_header=False, coding=8)]))
    (parts,) = await store.inbound.gather([SET], NODE)
    assert parts == [part(1), part(2, has_header=False, coding=8), part(3)]
    assert await store.inbound.gather([SET], OTHER_NODE) == []
    assert await store.queue.release(NODE) == 3
    assert len(await store.inbound.gather([SET], OTHER_NODE)) == 1


@pytest.mark.parametrize(
    "other",
    [
        PartSet(2, SET.sender, SET.recipient, 77, 3),
        PartSet(1, "1", SET.recipient, 77, 3),
        PartSet(1, SET.sender, "1", 77, 3),
        PartSet(1, SET.sender, SET.recipient, 78, 3),
        PartSet(1, SET.sender, SET.recipient, 77, 4),
    ],
)
async def test_parts_of_other_messages_are_not_mixed_in(store: Store, other: PartSet) -> None:
    await store.commits.record(Facts(inbound_parts=[part(1), part(2), part(3, other)]))
    assert await store.inbound.gather([SET, other], NODE) == []


async def test_a_repeated_part_changes_nothing(store: Store, given: Given) -> None:
    await store.commits.recover(0, NODE)
    await store.commits.record(Facts(inbound_parts=[part(1), part(1, octets=b"x"), part(2)]))
    await store.commits.record(Facts(inbound_parts=[part(2, octets=b"y"), part(3)]))
    (parts,) = await store.inbound.gather([SET], NODE)
    assert [each.octets for each in parts] == [b"1", b"2", b"3"]
    await kept(store, message(given, parts=3, parts_of=SET))
    await store.commits.record(Facts(inbound_parts=[part(2), part(3)]))
    assert await store.inbound.ready(START + 1, 9, NODE) == []
    assert await store.queue.release(NODE) == 0
    assert await store.upkeep.audit() == []


async def test_a_reference_may_be_used_again_for_other_octets(store: Store, given: Given) -> None:
    await store.commits.recover(0, NODE)
    await store.commits.record(Facts(inbound_parts=[part(1), part(2), part(3)]))
    await store.inbound.gather([SET], NODE)
    await kept(store, message(given, parts=3, parts_of=SET))
    await store.commits.record(Facts(inbound_parts=[part(n, octets=b"new") for n in (1, 2)]))
    assert await store.inbound.gather([SET], NODE) == []
    await store.commits.record(Facts(inbound_parts=[part(3, octets=b"new")]))
    (parts,) = await store.inbound.gather([SET], NODE)
    assert [each.octets for each in parts] == [b"new"] * 3


async def test_sets_that_are_complete_or_old_are_ready(store: Store) -> None:
    await store.commits.recover(0, NODE)
    whole, old, young = (PartSet(1, "1", "2", reference, 2) for reference in (1, 2, 3))
    await store.commits.record(
        Facts(
            inbound_parts=[
                part(1, whole, at=START + 50),
                part(2, whole, at=START + 60),
                part(2, old, at=START),
                part(1, young, at=START + 50),
            ]
        )
    )
    found = await store.inbound.ready(START + 50, 9, NODE)
    assert sorted([each.number for each in parts] for parts in found) == [[1, 2], [2]]
    assert await store.inbound.ready(START + 50, 9, NODE) == []
    await store.commits.recover(0, OTHER_NODE)
    if store.leases is None:
        assert len(await store.inbound.ready(START + 50, 9, OTHER_NODE)) == 2


async def test_what_was_joined_is_forgotten_after_a_while(store: Store, given: Given) -> None:
    await store.commits.recover(0, NODE)
    one = PartSet(1, "1", "2", 1, 1)
    await store.commits.record(Facts(inbound_parts=[part(1, one), part(1)]))
    await store.inbound.gather([one], NODE)
    await kept(store, message(given, digest=5, parts_of=one))
    assert await store.inbound.forget(START, START, 9) == 0
    assert await store.inbound.forget(START + 1, START, 9) == 2
    assert (await store.inbound.repeated(1, [5], START, OTHER_NODE)).copies == []
    assert len(await store.inbound.ready(START + 1, 9, NODE)) == 1


# --- notices


async def test_a_message_above_the_mark_is_owed(store: Store, given: Given, account: Account) -> None:
    below, owed, told, rowed, silent = (message(given, account.id, way=way) for way in (*[Way.WEBHOOK] * 4, Way.NONE))
    await kept(store, below, owed, told, rowed, silent)
    await store.commits.record(
        Facts(
            callbacks=[CallbackDone(account.id, told.key, CallbackEnd.DELIVERED, 200, 1, START)],
            callback_retries=[CallbackRetry(account.id, rowed.key, START, 1, b"x", "", START)],
            marks={CALLBACK: below.key},
        )
    )
    recovery = await store.commits.recover(0, NODE)
    assert [(each.account, each.key, each.subject, each.first) for each in recovery.owed] == [
        (account.id, owed.key, owed, START)
    ]


async def test_a_message_is_claimed_ended_and_replayed_as_a_receipt_is(
    store: Store, given: Given, account: Account
) -> None:
    await store.accounts.update(account.id, {"inbound_url": "https://customer.example/mo"})
    one = message(given, account.id, way=Way.WEBHOOK)
    await store.commits.record(
        Facts(inbound=[one], callback_retries=[CallbackRetry(account.id, one.key, START, 1, b"x", "refused", START)])
    )
    bound = message(given, account.id, way=Way.BIND)
    retry = CallbackRetry(account.id, bound.key, START + 1, 1, b"x", "refused", START, way=Way.BIND)
    await store.commits.record(Facts(inbound=[bound], callback_retries=[retry]))
    view, other = await store.notices.owed(9)
    assert (other.key, other.url) == (bound.key, "")
    await store.commits.record(
        Facts(callbacks=[CallbackDone(account.id, bound.key, CallbackEnd.DELIVERED, 0, 2, START + 2)])
    )
    assert (view.key, view.tail, view.account, view.url) == (one.key, 99, account.id, "https://customer.example/mo")
    assert await store.notices.next_due() == START
    (claimed,) = await store.notices.claim(9, START, NODE)
    assert (claimed.account, claimed.key, claimed.subject, claimed.body) == (account.id, one.key, one, b"x")
    assert (claimed.attempts, claimed.first) == (1, START)
    await store.commits.record(
        Facts(callbacks=[CallbackDone(account.id, one.key, CallbackEnd.GONE, 410, 2, START + 5)])
    )
    (view,) = await store.notices.ended(9)
    assert (view.key, view.account, view.end, view.code) == (one.key, account.id, CallbackEnd.GONE, 410)
    found = await store.inbound.show(one.key, one.tail)
    assert found is not None
    assert found.callback is not None
    assert (found.callback.end, found.callback.url) == (CallbackEnd.GONE, "https://customer.example/mo")
    assert await replay_failed(store, START + 9, account.id + 1) == 0
    assert await replay_failed(store, START + 9, account.id) == 1
    (claimed,) = await store.notices.claim(9, START + 9, NODE)
    assert (claimed.key, claimed.body, claimed.attempts) == (one.key, b"x", 0)
    assert await store.upkeep.audit() == []


async def test_a_callback_that_ended_at_once_is_replayed(store: Store, given: Given, account: Account) -> None:
    one = message(given, account.id, way=Way.WEBHOOK)
    await store.commits.record(
        Facts(inbound=[one], callbacks=[CallbackDone(account.id, one.key, CallbackEnd.FAILED, 500, 2, START)])
    )
    assert await store.notices.replay([one.key], START) == 1
    (claimed,) = await store.notices.claim(9, START, NODE)
    assert claimed.key == one.key


async def test_the_audit_finds_a_message_that_nobody_is_told_of(store: Store, given: Given, account: Account) -> None:
    one = message(given, account.id, way=Way.WEBHOOK)
    await kept(store, one)
    assert await store.upkeep.audit() == []
    await store.commits.record(Facts(marks={CALLBACK: one.key}))
    (finding,) = await store.upkeep.audit()
    assert "inbound" in finding


async def test_a_restore_tells_what_is_owed(store: Store, given: Given, account: Account) -> None:
    await kept(store, message(given, account.id, way=Way.WEBHOOK), message(given))
    point = await store.upkeep.reach()
    assert (point.owed, point.latest) == (1, START)


# --- routing


async def test_an_unrouted_message_is_given_to_an_account(store: Store, given: Given) -> None:
    account = await given.account(inbound_url="https://customer.example/mo")
    one = message(given, keyword="")
    await kept(store, one)
    with pytest.raises(Missing):
        await store.inbound.route(one.key, one.tail, account.id + 1, START)
    with pytest.raises(Missing):
        await store.inbound.route(one.key, 1, account.id, START)
    routed = await store.inbound.route(one.key, one.tail, account.id, START + 5)
    assert (routed.message.account, routed.message.way) == (account.id, Way.WEBHOOK)
    with pytest.raises(Missing):
        await store.inbound.route(one.key, one.tail, account.id, START)
    (claimed,) = await store.notices.claim(9, START + 5, NODE)
    assert (claimed.key, claimed.subject) == (one.key, routed.message)
    assert await store.upkeep.audit() == []


async def test_a_message_of_an_account_without_url_is_not_owed(store: Store, given: Given, account: Account) -> None:
    one = message(given)
    await kept(store, one)
    routed = await store.inbound.route(one.key, one.tail, account.id, START)
    assert not routed.message.way
    assert await store.notices.next_due() is None


# --- pulls


async def pulled(store: Store, account: int, after: int = 0, limit: int = 100) -> list[int]:
    return [each.key for each in await store.pulls.page(account, after, limit)]


async def test_an_owner_pulls_its_messages_in_their_order(store: Store, given: Given, account: Account) -> None:
    other = await given.account("other")
    one, theirs, two, three = (message(given, owner) for owner in (account.id, other.id, account.id, account.id))
    nobodys = message(given)
    await kept(store, one, theirs, two)
    await kept(store, nobodys, three)
    assert await pulled(store, account.id) == [one.key, two.key, three.key]
    assert await pulled(store, account.id, one.key) == [two.key, three.key]
    assert await pulled(store, account.id, one.key, limit=1) == [two.key]
    assert await pulled(store, account.id, three.key) == []
    assert await pulled(store, account.id, theirs.key) == [two.key, three.key]
    assert await pulled(store, other.id) == [theirs.key]
    assert await pulled(store, 0) in ([nobodys.key], [])
    (first, *_) = await store.pulls.page(account.id, 0, 1)
    assert first == one


async def test_a_message_that_is_committed_late_is_behind_the_others(
    store: Store, given: Given, account: Account
) -> None:
    late, later, soon = (message(given, account.id) for _ in range(3))
    await kept(store, soon)
    await kept(store, late, later)
    next_one = message(given, account.id)
    await kept(store, next_one)
    assert await pulled(store, account.id) == [soon.key, late.key, later.key, next_one.key]
    assert await pulled(store, account.id, soon.key) == [late.key, later.key, next_one.key]
    assert await pulled(store, account.id, late.key) == [later.key, next_one.key]


async def test_a_message_that_is_routed_later_is_behind_the_others(
    store: Store, given: Given, account: Account
) -> None:
    first, second, soon = message(given), message(given), message(given, account.id)
    await kept(store, first, second, soon)
    before = await store.pulls.newest([account.id, 999])
    await store.inbound.route(second.key, second.tail, account.id, START)
    assert (await store.pulls.newest([account.id]))[account.id] > before[account.id]
    await store.inbound.route(first.key, first.tail, account.id, START)
    assert await pulled(store, account.id) == [soon.key, second.key, first.key]
    assert await pulled(store, account.id, soon.key) == [second.key, first.key]
    assert await pulled(store, account.id, second.key) == [first.key]
    assert before.keys() == {account.id}


async def test_a_key_that_no_message_has_stands_for_its_time(store: Store, given: Given, account: Account) -> None:
    one, gone, two = message(given, account.id), given.key(), message(given, account.id)
    await kept(store, one, two)
    assert await pulled(store, account.id, gone) == [two.key]


async def test_a_page_has_so_many_octets(store: Store, given: Given, account: Account) -> None:
    big = [message(given, account.id, octets=bytes(PAGE_OCTETS // 2 + 1)) for _ in range(3)]
    huge = message(given, account.id, octets=bytes(PAGE_OCTETS + 1))
    await kept(store, *big, huge)
    assert await pulled(store, account.id) == [each.key for each in big[:2]]
    assert await pulled(store, account.id, big[2].key) == [huge.key]


async def test_one_message_is_shown_to_its_owner_only(store: Store, given: Given, account: Account) -> None:
    one = message(given, account.id)
    await kept(store, one)
    assert await store.pulls.find(account.id, one.key, one.tail) == one
    assert await store.pulls.find(account.id, one.key, 1) is None
    assert await store.pulls.find(account.id + 1, one.key, one.tail) is None
    assert await store.pulls.newest([]) == {}


# --- money


async def balance(store: Store, account: Account) -> int:
    return await store.customers.balance(account.id)


async def test_an_owner_pays_for_its_messages_once(store: Store, given: Given) -> None:
    poor, rich = await given.account("poor", credit=1), await given.account("rich", credit=100)
    one, two, free = (message(given, poor.id, price=price) for price in (3, 4, 0))
    dear = message(given, rich.id, price=30)
    await kept(store, one, dear)
    await kept(store, one, two, free)
    assert (await balance(store, poor), await balance(store, rich)) == (-6, 70)
    entries = await store.accounts.ledger(poor.id, 9)
    assert [(each.kind, each.amount, each.message, each.at) for each in entries if each.kind is EntryKind.INBOUND] == [
        (EntryKind.INBOUND, -4, two.key, two.at),
        (EntryKind.INBOUND, -3, one.key, one.at),
    ]
    assert await store.pulls.find(poor.id, one.key, one.tail) == one
    assert await store.upkeep.audit() == []


async def test_requests_and_messages_from_phones_are_paid_together(store: Store, given: Given) -> None:
    account = await given.account("acme", credit=10)
    accept = given.accept(given.message(account.id, price=8))
    refused = given.accept(given.message(account.id, price=8))
    await store.commits.record(Facts(accepts=[accept, refused], inbound=[message(given, account.id, price=5)]))
    assert [accept.verdict, refused.verdict] == [Verdict.ACCEPTED, Verdict.TOO_LITTLE_CREDIT]
    assert await balance(store, account) == -3
    assert await store.upkeep.audit() == []


async def test_a_message_that_is_routed_later_is_paid_then(store: Store, given: Given) -> None:
    account = await given.account("acme", credit=0, plan="gold", prices=[Price("gold", "49", 1, 5)])
    for price in (Price("gold", "4917", 1, 7), Price("default", "", 1, 3), Price("default", "491701", 1, 9)):
        await store.network.set_price(price)
    await store.network.set_price(Price("gold", "", 1, 8, network="26201"))  # networks do not count
    near, far, foreign = (message(given, sender=sender) for sender in ("+4917012345678", "4930123", "33612345678"))
    await kept(store, near, far, foreign)
    prices = [
        (await store.inbound.route(each.key, each.tail, account.id, START + 5)).message.price
        for each in (near, far, foreign)
    ]
    assert prices == [7, 5, 3]
    assert await balance(store, account) == -15
    entries = await store.accounts.ledger(account.id, 9)
    assert [(each.kind, each.amount, each.message, each.at) for each in entries] == [
        (EntryKind.INBOUND, -price, each.key, START + 5)
        for price, each in zip((3, 5, 7), (foreign, far, near), strict=True)
    ]
    with pytest.raises(Missing):
        await store.inbound.route(near.key, near.tail, account.id, START + 5)
    assert await balance(store, account) == -15
    assert await store.upkeep.audit() == []


async def test_a_message_that_is_routed_later_costs_what_it_costs_then(store: Store, given: Given) -> None:
    account = await given.account("acme", credit=0, plan="gold", prices=[Price("gold", "49", 1, 5)])
    await store.network.set_price(Price("gold", "49", 1, 6, START + 10))
    await store.network.set_price(Price("gold", "491", 1, 7, START + 20))
    before, after, longer = (message(given, sender="+4917012345678") for _ in range(3))
    await kept(store, before, after, longer)
    prices = [
        (await store.inbound.route(each.key, each.tail, account.id, START + at)).message.price
        for each, at in ((before, 9), (after, 10), (longer, 20))
    ]
    assert prices == [5, 6, 7]
    assert await store.upkeep.audit() == []


# --- replies


async def test_what_was_replied_is_shown(store: Store, given: Given, account: Account) -> None:
    replied, refused, silent = (message(given, account.id) for _ in range(3))
    await kept(store, replied, refused, silent)
    reference = f"reply:{to_uuid(replied.key, replied.tail)}"
    accept = given.accept(given.message(account.id, reference=reference), fingerprint=b"x")
    await store.commits.record(
        Facts(accepts=[accept], inbound_replies=[InboundReply(account.id, refused.key, "The credit is too low")])
    )
    await store.commits.record(Facts(inbound_replies=[InboundReply(account.id, 1, "no such message")]))
    found = {record.message.key: record for record in await store.inbound.find(InboundQuery())}
    assert (found[replied.key].reply, found[replied.key].refused) == ((accept.key, accept.tail), "")
    assert (found[refused.key].reply, found[refused.key].refused) == (None, "The credit is too low")
    assert (found[silent.key].reply, found[silent.key].refused) == (None, "")
    assert await store.upkeep.audit() == []


# --- numbers


async def test_numbers_are_kept_with_their_accounts(store: Store, given: Given, account: Account) -> None:
    other = await given.account("other", inbound_url="https://customer.example/mo", prefixes=("49", "43"))
    connector = await store.network.add_connector(Connector(0, "op1"))
    before = await store.table_changes.revision()
    second = await store.inbound.add_number(InboundNumber(0, "3388", other.id, "pizza", connector.id))
    first = await store.inbound.add_number(InboundNumber(0, "3388", account.id))
    tables = await store.network.tables()
    assert tables.numbers == [first, second]
    assert {number: owner.way for number, owner in tables.owners.items()} == {
        other.id: Way.WEBHOOK,
        account.id: Way.NONE,
    }
    assert {owner.plan for owner in tables.owners.values()} == {"default"}
    assert [tables.owners[each.id].prefixes for each in (other, account)] == [("49", "43"), ()]
    assert tables.revision == before + 2
    for same in (first, second):
        with pytest.raises(Exists):
            await store.inbound.add_number(same)
    for wrong in (InboundNumber(0, "1", 999), InboundNumber(0, "1", account.id, "", 999)):
        with pytest.raises(Missing):
            await store.inbound.add_number(wrong)
    await store.inbound.remove_number(first.id)
    with pytest.raises(Missing):
        await store.inbound.remove_number(first.id)
    await store.network.remove_connector("op1")
    assert (await store.network.tables()).numbers == []
