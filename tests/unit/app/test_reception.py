"""Messages from phones: kept before they are answered, known again, joined, told."""

from collections.abc import Callable
from typing import Any

import pytest

from heliograph.app.configuration import Account, ApiKey, Price
from heliograph.app.connector_kind import LanePolicy
from heliograph.app.facts import Facts, InboundMessage, PartSet
from heliograph.app.inbound.answer_limits import AnswerLimits, AnswerTerms
from heliograph.app.inbound.opt_outs import OptOuts
from heliograph.app.inbound.reading import Reader
from heliograph.app.inbound.reception import Reception
from heliograph.app.inbound.repeats import SETTLED_MS
from heliograph.app.notice import Notice
from heliograph.app.ports import Incoming
from heliograph.app.ports.inbound import REPEAT_MS, SLOW_ANSWER_MS
from heliograph.app.records import InboundQuery
from heliograph.app.sending.directory import Directory
from heliograph.config.opt_out import load_opt_out_words
from heliograph.domain.message.way import Way
from heliograph.domain.numbers.number_rules import InboundNumber
from tests.support.gateway import MemoryJournal
from tests.support.memory_rows import Rows
from tests.support.memory_store import MemoryStore
from tests.support.use_case_fakes import NotedGathering, SetClock

PHONE = "4917012345678"
VALIDITY_MS = 48 * 3_600_000
PARTS_MS = 600_000


class Link:
    """A bind's connection: notes its answers while it stands."""

    def __init__(self) -> None:
        self.up = True
        self.ended_well = False
        """Whether both sides agreed on its end."""
        self.answers: list[tuple[str, bool]] = []

    def sends(self, text: str, *, part: tuple[int, int, int] | None = None, **fields: Any) -> Incoming:
        values: dict[str, Any] = {
            "sender": PHONE,
            "recipient": "3388",
            "coding": 0,
            "has_header": False,
            "octets": text.encode(),
            "part": part,
            "digest": hash((text, part)) & (1 << 62) - 1 or 1,
        }
        return Incoming(
            **(values | fields),
            answer=lambda kept: self.answer(text, kept),
            stands=lambda: self.up or self.ended_well,
            waits=lambda: self.up,
        )

    def answer(self, text: str, kept: bool) -> bool:
        if self.up:
            self.answers.append((text, kept))
        return self.up


class Desk:
    """A reception over a store in memory; `commit` is what the gatherer does."""

    def __init__(self, rows: Rows | None = None, node: int = 7, **fields: Any) -> None:
        self.rows = rows or Rows()
        self.store = MemoryStore(self.rows)
        self.clock = SetClock()
        self.gathering = NotedGathering()
        self.directory = Directory(self.store.table_changes, self.store.accounts)
        self.owed: list[Notice] = []
        self.withdrawn: list[tuple[int, str, int]] = []
        self.journal = MemoryJournal()
        self.healthy = True
        self.node = node
        self._fields = fields
        self._last_key = len(self.rows.inbound)

    async def open(self) -> "Desk":
        recovery = await self.store.commits.recover(0, self.node)
        await self.directory.refresh()
        values: dict[str, Any] = {"unanswered": recovery.unanswered, "parts_ms": PARTS_MS}
        self.reception = Reception(
            self.gathering,
            self.clock,
            self.store.inbound,
            Reader(self.directory, lambda _: LanePolicy()),
            OptOuts(load_opt_out_words(), self.directory, self.journal, VALIDITY_MS, AnswerLimits(AnswerTerms())),
            self.owed.append,
            lambda *withdrawn: self.withdrawn.append(withdrawn),
            self.node,
            healthy=lambda: self.healthy,
            **(values | self._fields),
        )
        return self

    async def number(self, keyword: str = "", url: str = "https://customer.example/mo") -> Account:
        account = Account(0, f"acme-{keyword}", "", bytes(32), inbound_url=url)
        account = await self.store.accounts.create(account, ApiKey(f"k-{keyword}", 0, b"", 0), 0, ())
        await self.store.inbound.add_number(InboundNumber(0, "3388", account.id, keyword))
        await self.directory.refresh()
        return account

    def begin(self) -> Facts:
        for message in self.gathering.facts.inbound:
            if not message.key:
                self._last_key += 1
                message.key, message.tail = (self.clock.ms << 12) + (self._last_key << 5) + self.node, 5
        self.reception.prepare()
        return self.gathering.take()

    async def end(self, facts: Facts) -> None:
        await self.store.commits.record(facts)
        self.reception.committed()

    async def commit(self) -> Facts:
        facts = self.begin()
        await self.end(facts)
        return facts

    def fail(self, facts: Facts) -> None:
        self.healthy = False
        self.reception.refused()
        for name in ("inbound", "inbound_parts", "inbound_answered", "inbound_lost"):
            getattr(facts, name).extend(getattr(self.gathering.facts, name))
        self.gathering.facts = facts

    async def settle(self) -> None:
        """Until nothing happens any more."""
        while self.gathering.facts or self.gathering.lookup_wakes:
            self.gathering.lookup_wakes = 0
            await self.reception.look_up()
            await self.commit()

    async def unanswered(self) -> int:
        """How many messages may be sent again, when all answers have had their time."""
        self.clock.pass_ms(SETTLED_MS + 1)
        self.reception.repeats.tick()
        await self.commit()
        await self.settle()
        return len(self.rows.unanswered)

    async def kept(self) -> list[InboundMessage]:
        return [record.message for record in await self.store.inbound.find(InboundQuery())]


@pytest.fixture
async def desk() -> Desk:
    return await Desk().open()


async def test_a_message_is_answered_when_it_is_durable(desk: Desk) -> None:
    account = await desk.number()
    link = Link()
    desk.reception.receive(1, link.sends("Hello"))
    facts = desk.begin()
    assert (link.answers, desk.gathering.woken) == ([], 1)
    (notice,) = desk.owed
    assert (notice.account, notice.key, notice.subject) == (account.id, facts.inbound[0].key, facts.inbound[0])
    await desk.end(facts)
    assert link.answers == [("Hello", True)]
    await desk.settle()
    (message,) = await desk.kept()
    assert (message.account, message.sender, message.recipient, message.content) == (account.id, PHONE, "3388", "Hello")
    assert (message.octets, message.way, message.parts, message.complete) == (b"Hello", Way.WEBHOOK, 1, True)
    assert await desk.unanswered() == 0


async def test_a_message_to_nobody_is_kept(desk: Desk) -> None:
    link = Link()
    desk.reception.receive(1, link.sends("Hello", recipient="4000"))
    await desk.settle()
    assert [message.account for message in await desk.kept()] == [0]
    assert (desk.owed, link.answers) == ([], [("Hello", True)])


async def test_a_keyword_finds_its_account(desk: Desk) -> None:
    pizza = await desk.number(keyword="pizza", url="")
    await desk.number()
    desk.reception.receive(1, Link().sends("Pizza! Two, please"))
    await desk.settle()
    (message,) = await desk.kept()
    assert (message.account, message.keyword, message.way) == (pizza.id, "pizza", Way.NONE)
    assert desk.owed == []


async def test_messages_cost_what_their_owners_plan_says(desk: Desk) -> None:
    account = await desk.number()
    await desk.store.network.set_price(Price("default", "4917", 1, 5))
    await desk.directory.refresh()
    link = Link()
    desk.reception.receive(1, link.sends("whole"))
    desk.reception.receive(1, link.sends("nobody's", recipient="4000"))
    desk.reception.receive(1, link.sends("free", sender="33612345678"))
    for number in (1, 2):
        desk.reception.receive(1, link.sends(f"{number}.", part=(7, 2, number)))
    await desk.settle()
    assert {message.content: message.price for message in await desk.kept()} == {
        "whole": 5,
        "nobody's": 0,
        "free": 0,
        "1.2.": 5,
    }
    assert desk.rows.balances[account.id] == -10


async def test_equal_messages_on_a_standing_link_are_two(desk: Desk) -> None:
    link = Link()
    for _ in range(2):
        desk.reception.receive(1, link.sends("Hello"))
        await desk.settle()
    for _ in range(2):
        desk.reception.receive(1, link.sends("Hello"))
    await desk.settle()
    assert len(await desk.kept()) == 4
    assert link.answers == [("Hello", True)] * 4


# --- repeats


async def test_a_repeat_before_the_commit_is_the_same_message(desk: Desk) -> None:
    first, second = Link(), Link()
    desk.reception.receive(1, first.sends("Hello"))
    first.up = False
    desk.reception.receive(1, second.sends("Hello"))
    await desk.settle()
    assert len(await desk.kept()) == 1
    assert second.answers == [("Hello", True)]
    assert await desk.unanswered() == 0


async def test_a_repeat_after_a_clean_end_without_an_answer_is_the_same_message(desk: Desk) -> None:
    """A node whose lease lapsed unbinds, and binds again while the commit of the message is still under way."""
    first, second = Link(), Link()
    desk.reception.receive(1, first.sends("Hello"))
    facts = desk.begin()
    first.up, first.ended_well = False, True
    desk.reception.receive(1, second.sends("Hello"))
    await desk.end(facts)
    await desk.settle()
    assert len(await desk.kept()) == 1
    assert second.answers == [("Hello", True)]
    assert await desk.unanswered() == 0


async def test_a_repeat_of_what_could_not_be_answered_is_the_same_message(desk: Desk) -> None:
    first, second = Link(), Link()
    desk.reception.receive(1, first.sends("Hello"))
    facts = desk.begin()
    first.up = False
    desk.reception.receive(1, second.sends("Other"))
    await desk.end(facts)
    desk.reception.receive(2, second.sends("Hello"))
    desk.reception.receive(1, second.sends("Hello"))
    assert second.answers == [("Hello", True)]
    await desk.settle()
    desk.reception.receive(1, second.sends("Hello"))
    await desk.settle()
    assert sorted(second.answers) == [("Hello", True)] * 3 + [("Other", True)]
    assert len(await desk.kept()) == 4
    assert await desk.unanswered() == 0


async def test_an_answer_that_its_link_took_along_did_not_arrive(desk: Desk) -> None:
    first, second = Link(), Link()
    for text in ("one", "two"):
        desk.reception.receive(1, first.sends(text))
        await desk.settle()
        desk.clock.pass_ms(SETTLED_MS - 10)
        desk.reception.repeats.tick()
        await desk.commit()
    assert [row.lost for row in desk.rows.unanswered.values()] == [False]
    first.up = False
    for text in ("one", "two"):
        desk.reception.receive(1, second.sends(text))
    await desk.settle()
    assert sorted(message.content for message in await desk.kept()) == ["one", "one", "two"]
    assert await desk.unanswered() == 0


async def test_other_nodes_are_told_of_a_link_that_went(desk: Desk) -> None:
    link = Link()
    desk.reception.receive(1, link.sends("one"))
    await desk.settle()
    link.up = False
    desk.reception.repeats.tick()
    await desk.commit()
    assert [row.lost for row in desk.rows.unanswered.values()] == [True]


async def test_a_good_end_settles_all_answers(desk: Desk) -> None:
    good, bad = Link(), Link()
    desk.reception.receive(1, good.sends("one"))
    desk.reception.receive(1, bad.sends("two"))
    await desk.settle()
    bad.up = False
    desk.reception.repeats.finish()
    await desk.commit()
    assert [row.lost for row in desk.rows.unanswered.values()] == [True]


async def test_a_repeat_is_known_for_a_while(desk: Desk) -> None:
    first, second = Link(), Link()
    desk.reception.receive(1, first.sends("Hello"))
    first.up = False
    await desk.settle()
    desk.clock.pass_ms(REPEAT_MS)
    desk.reception.receive(1, second.sends("Hello"))
    await desk.settle()
    assert len(await desk.kept()) == 2


async def test_a_repeat_that_cannot_be_answered_either_is_known_again(desk: Desk) -> None:
    links = [Link() for _ in range(3)]
    for link in links:
        link.up = False
        desk.reception.receive(1, link.sends("Hello"))
        await desk.settle()
    last = Link()
    desk.reception.receive(1, last.sends("Hello"))
    await desk.settle()
    assert len(await desk.kept()) == 1
    assert last.answers == [("Hello", True)]
    assert await desk.unanswered() == 0


async def test_what_a_dead_run_did_not_answer_is_known_again(desk: Desk) -> None:
    desk.reception.receive(1, Link().sends("Hello"))
    desk.reception.receive(1, Link().sends("Hello"))
    facts = desk.begin()
    await desk.store.commits.record(facts)  # and then it is killed
    after = await Desk(desk.rows, node=8).open()
    link = Link()
    for _ in range(3):
        after.reception.receive(1, link.sends("Hello"))
    await after.settle()
    assert link.answers == [("Hello", True)] * 3
    assert len(await after.kept()) == 3
    assert await after.unanswered() == 0


async def beside(desk: Desk) -> Desk:
    """Another node on the same store."""
    other = Desk(desk.rows, node=8, shared=True)
    other.store.commits.recover = no_claims_given_up  # type: ignore[method-assign]
    return await other.open()


async def repeated_at(other: Desk) -> Link:
    """Has the operator send the message again, to the other node; returns the link."""
    link = Link()
    other.reception.receive(1, link.sends("Hello"))
    await other.settle()
    return link


async def test_what_another_node_did_not_answer_is_known_again(desk: Desk) -> None:
    other = await beside(desk)
    desk.reception.receive(1, Link().sends("Hello"))
    await desk.store.commits.record(desk.begin())  # and then it is killed
    link = await repeated_at(other)
    other.clock.pass_ms(SLOW_ANSWER_MS)
    other.reception.repeats.tick()
    await other.settle()
    assert link.answers == []
    other.clock.pass_ms(1)
    other.reception.repeats.tick()
    await other.settle()
    assert link.answers == [("Hello", True)]
    assert len(await other.kept()) == 1


async def test_what_another_node_did_answer_is_not(desk: Desk) -> None:
    other = await beside(desk)
    desk.reception.receive(1, Link().sends("Hello"))
    await desk.settle()
    link = await repeated_at(other)
    assert link.answers == []
    assert await desk.unanswered() == 0
    other.reception.repeats.tick()
    await other.settle()
    assert link.answers == [("Hello", True)]
    assert len(await other.kept()) == 2


async def test_a_repeat_whose_own_link_went_before_the_other_node_settled_is_not_taken(desk: Desk) -> None:
    other = await beside(desk)
    desk.reception.receive(1, Link().sends("Hello"))
    await desk.store.commits.record(desk.begin())  # and then it is killed
    second = await repeated_at(other)
    second.up = False
    other.reception.repeats.tick()
    await other.settle()
    assert len(await other.kept()) == 1
    third = await repeated_at(other)
    other.clock.pass_ms(SLOW_ANSWER_MS + 1)
    other.reception.repeats.tick()
    await other.settle()
    assert third.answers == [("Hello", True)]
    assert len(await other.kept()) == 1


@pytest.mark.parametrize("unbound", [True, False], ids=["unbound", "lost"])
async def test_a_copy_whose_link_ends_while_it_is_looked_up_is_not_taken(desk: Desk, unbound: bool) -> None:
    other, link = await beside(desk), Link()

    def end() -> None:
        link.up, link.ended_well = False, unbound

    other.reception.receive(1, link.sends("Hello"))
    during_a_look(other, end)
    await other.settle()
    assert (link.answers, await other.kept(), other.reception.repeats.in_doubt) == ([], [], 0)


async def test_a_copy_without_its_link_uses_up_no_lost_answer(desk: Desk) -> None:
    """The operator sent it again before the loss of the first link showed."""
    other, first, second = await beside(desk), Link(), Link()
    desk.reception.receive(1, Link().sends("Hello"))
    await desk.store.commits.record(desk.begin())  # and then it is killed
    other.clock.pass_ms(SLOW_ANSWER_MS + 1)
    for link in (first, second):
        other.reception.receive(1, link.sends("Hello"))
    first.up = False
    await other.settle()
    assert (second.answers, len(await other.kept())) == ([("Hello", True)], 1)


async def test_a_held_copy_whose_link_is_unbound_is_not_taken(desk: Desk) -> None:
    other = await beside(desk)
    desk.reception.receive(1, Link().sends("Hello"))
    await desk.settle()
    link = await repeated_at(other)
    link.up, link.ended_well = False, True
    assert await desk.unanswered() == 0
    await look_again(other)
    assert (link.answers, len(await other.kept())) == ([], 1)


async def test_what_is_held_is_put_off_at_the_end(desk: Desk) -> None:
    other = await beside(desk)
    desk.reception.receive(1, Link().sends("Hello"))
    await desk.settle()
    link = await repeated_at(other)
    other.reception.close()
    assert link.answers == [("Hello", False)]


def during_a_look(desk: Desk, does: Callable[[], None]) -> None:
    """Has something happen while the store is asked for the first time."""
    repeated = desk.store.inbound.repeated

    async def ask(*what: Any) -> Any:
        desk.store.inbound.repeated = repeated  # type: ignore[method-assign]
        does()
        return await repeated(*what)

    desk.store.inbound.repeated = ask  # type: ignore[assignment, method-assign]


async def test_what_was_held_comes_back_while_another_message_is_looked_up(desk: Desk) -> None:
    other = await beside(desk)
    desk.reception.receive(1, Link().sends("Hello"))
    await desk.settle()
    held, newer = await repeated_at(other), Link()
    other.reception.receive(1, newer.sends("newer"))
    during_a_look(other, other.reception.repeats.tick)
    await other.settle()
    assert newer.answers == [("newer", True)]
    assert await desk.unanswered() == 1  # the newer one, which is the other node's
    other.reception.repeats.tick()
    await other.settle()
    assert held.answers == [("Hello", True)]
    assert sorted(message.content for message in await other.kept()) == ["Hello", "Hello", "newer"]


async def test_what_is_looked_up_at_the_end_is_put_off_once(desk: Desk) -> None:
    other, link = await beside(desk), Link()
    other.reception.receive(1, link.sends("Hello"))
    during_a_look(other, other.reception.close)
    await other.settle()
    assert link.answers == [("Hello", False)]
    assert await other.kept() == []


# --- two nodes have looked up copies before either wrote one


Copies = tuple[Desk, Desk, Link, Link]


@pytest.fixture
async def copies(desk: Desk) -> Copies:
    """The node with the slow commit, the faster node, and the link of each. Both have looked up their copies."""
    slow = await Desk(desk.rows, shared=True).open()
    fast = await beside(slow)
    links = Link(), Link()
    for each, link in zip((slow, fast), links, strict=True):
        each.store._place.shared = True
        await each.number() if each is slow else await each.directory.refresh()
        each.reception.receive(1, link.sends("Hello"))
        await each.reception.look_up()
    return slow, fast, *links


async def look_again(desk: Desk) -> None:
    desk.reception.repeats.tick()
    await desk.settle()


async def test_a_copy_of_a_lost_link_is_dropped_if_another_node_wrote_the_message(copies: Copies) -> None:
    slow, fast, first, second = copies
    facts = slow.begin()
    await fast.commit()
    first.up = False
    await slow.end(facts)
    await look_again(slow)
    assert (first.answers, second.answers, len(await slow.kept())) == ([], [("Hello", True)], 1)
    assert (slow.reception.repeats.in_doubt, slow.reception.repeats.waiting) == (0, {})


async def test_a_copy_is_answered_if_the_other_node_lost_its_link(copies: Copies) -> None:
    slow, fast, first, second = copies
    facts = slow.begin()
    second.up = False
    await fast.commit()
    await fast.settle()
    await slow.end(facts)
    assert first.answers == []
    await look_again(slow)
    assert (first.answers, second.answers, len(await slow.kept())) == ([("Hello", True)], [], 1)


async def test_equal_messages_over_links_that_stand_are_two_messages(copies: Copies) -> None:
    slow, fast, first, second = copies
    facts = slow.begin()
    await fast.commit()
    await slow.end(facts)
    await look_again(slow)
    assert (first.answers, second.answers) == ([], [("Hello", True)])
    await fast.unanswered()
    await look_again(slow)
    assert (first.answers, len(await slow.kept())) == ([("Hello", True)], 2)
    assert [notice.key for notice in (*slow.owed[1:], *fast.owed)] == sorted(slow.rows.inbound, reverse=True)


@pytest.mark.parametrize("unbound", [True, False], ids=["unbound", "lost"])
@pytest.mark.parametrize("before", [True, False])
async def test_a_copy_is_dropped_even_if_the_other_node_has_settled_its_answer(
    copies: Copies, before: bool, unbound: bool
) -> None:
    slow, fast, first, _ = copies
    facts = slow.begin()
    first.ended_well = unbound
    await fast.commit()
    await fast.unanswered()
    first.up = not before
    await slow.end(facts)
    first.up = False
    await look_again(slow)
    assert (first.answers, len(await slow.kept())) == ([], 1)
    assert slow.reception.repeats.in_doubt == 0


async def test_a_copy_that_was_put_off_meanwhile_is_dropped(copies: Copies) -> None:
    slow, fast, first, _ = copies
    slow.fail(slow.begin())
    await fast.commit()
    slow.healthy = True
    await slow.settle()
    assert (first.answers, len(await slow.kept())) == ([("Hello", False)], 1)
    assert slow.reception.repeats.waiting == {}


async def test_a_contested_copy_is_put_off_after_the_end(copies: Copies) -> None:
    slow, fast, first, _ = copies
    facts = slow.begin()
    await fast.commit()
    slow.reception.close()
    await slow.end(facts)
    assert (first.answers, slow.reception.repeats.in_doubt) == ([("Hello", False)], 0)


async def no_claims_given_up(worker: int, node: int) -> Any:
    del worker, node
    return type("Recovered", (), {"unanswered": True})


# --- the store is away


async def test_what_cannot_be_kept_is_put_off_and_known_again(desk: Desk) -> None:
    await desk.number()
    link = Link()
    desk.reception.receive(1, link.sends("one"))
    desk.reception.receive(1, link.sends("part", part=(7, 2, 1)))
    facts = desk.begin()
    desk.reception.receive(1, link.sends("two"))
    desk.fail(facts)
    assert link.answers == [("one", False), ("part", False), ("two", False)]
    desk.reception.receive(1, link.sends("three"))
    assert link.answers[3:] == [("three", False)]
    desk.healthy = True
    await desk.settle()
    assert link.answers[4:] == []
    assert [notice.key for notice in desk.owed] == sorted(desk.rows.inbound)
    for text in ("one", "two", "three"):
        desk.reception.receive(1, link.sends(text))
    desk.reception.receive(1, link.sends("part", part=(7, 2, 1)))
    await desk.settle()
    assert sorted(link.answers[4:]) == [("one", True), ("part", True), ("three", True), ("two", True)]
    assert sorted(message.content for message in await desk.kept()) == ["one", "three", "two"]
    assert len(desk.owed) == 3
    assert len(desk.rows.inbound_parts) == 1


async def test_what_cannot_be_looked_up_is_put_off(desk: Desk) -> None:
    desk = await Desk(desk.rows, shared=True).open()
    link = Link()
    desk.reception.receive(1, link.sends("one"))
    desk.store.broken = True
    await desk.reception.look_up()
    assert link.answers == [("one", False)]
    assert not desk.gathering.facts


async def test_nothing_is_taken_after_the_end(desk: Desk) -> None:
    desk = await Desk(desk.rows, shared=True).open()
    link = Link()
    desk.reception.receive(1, link.sends("one"))
    desk.reception.close()
    desk.reception.receive(1, link.sends("two"))
    assert link.answers == [("one", False), ("two", False)]


# --- parts


@pytest.mark.parametrize("order", ["123", "132", "213", "231", "312", "321", "13123", "33211"])
async def test_parts_are_joined_in_any_order(desk: Desk, order: str) -> None:
    account = await desk.number()
    links = [Link(), Link()]
    for turn, number in enumerate(map(int, order)):
        desk.reception.receive(1, links[turn % 2].sends(f"{number}.", part=(77, 3, number)))
        if turn % 2:
            await desk.settle()
    await desk.settle()
    (message,) = await desk.kept()
    assert (message.content, message.octets, message.parts, message.complete) == ("1.2.3.", b"1.2.3.", 3, True)
    assert (message.account, message.way) == (account.id, Way.WEBHOOK)
    assert [notice.key for notice in desk.owed] == [message.key]
    assert sum(len(link.answers) for link in links) == len(order)
    assert all(kept for link in links for _, kept in link.answers)


async def test_two_phones_with_one_reference_are_not_mixed(desk: Desk) -> None:
    link = Link()
    for sender in ("491", "492"):
        desk.reception.receive(1, link.sends("a", part=(77, 2, 1), sender=sender))
    desk.reception.receive(1, link.sends("b", part=(77, 2, 2), sender="492"))
    await desk.settle()
    assert [(message.sender, message.content) for message in await desk.kept()] == [("492", "ab")]


async def test_parts_that_wait_too_long_are_told_without_the_others(desk: Desk) -> None:
    await desk.number()
    link = Link()
    for number in (1, 3):
        desk.reception.receive(1, link.sends(f"{number}.", part=(77, 3, number)))
        await desk.settle()
    desk.clock.pass_ms(PARTS_MS)
    await desk.reception.keep_house()
    await desk.settle()
    assert await desk.kept() == []
    desk.clock.pass_ms(1)
    await desk.reception.keep_house()
    await desk.settle()
    (message,) = await desk.kept()
    assert (message.content, message.parts, message.complete, len(desk.owed)) == ("1.3.", 3, False, 1)


async def test_a_message_is_joined_after_a_crash(desk: Desk) -> None:
    link = Link()
    for number in (2, 1):
        desk.reception.receive(1, link.sends(f"{number}.", part=(77, 2, number)))
    await desk.commit()  # and then it is killed, or after it has claimed them
    await desk.store.inbound.gather([PartSet(1, PHONE, "3388", 77, 2)], 7)
    after = await Desk(desk.rows, node=8).open()
    await after.reception.keep_house()
    await after.settle()
    assert [message.content for message in await after.kept()] == ["1.2."]
    await after.reception.keep_house()
    await after.settle()
    assert len(await after.kept()) == 1


async def test_a_header_tells_the_part(desk: Desk) -> None:
    link = Link()
    for number, header in ((2, b"\x05\x00\x03\x4d\x02\x02"), (1, b"\x06\x08\x04\x00\x4d\x02\x01")):
        octets = header + b"%d." % number
        desk.reception.receive(1, link.sends(f"{number}", has_header=True, octets=octets))
    await desk.settle()
    (message,) = await desk.kept()
    assert (message.content, message.octets) == ("1.2.", b"1.2.")


async def test_old_rows_are_forgotten(desk: Desk) -> None:
    link = Link()
    desk.reception.receive(1, link.sends("Hello"))
    link.up = False
    await desk.settle()
    desk.clock.pass_ms(PARTS_MS + REPEAT_MS + 1_000)
    await desk.reception.keep_house()
    assert not desk.rows.unanswered
