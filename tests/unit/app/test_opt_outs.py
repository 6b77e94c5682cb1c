"""What phones ask for: which texts are judged, what the replies are, and what must not go any more."""

from dataclasses import replace
from typing import Any

import pytest

from heliograph.app.configuration import MessageTemplate, NumberOwner, Price
from heliograph.app.connector_kind import LanePolicy
from heliograph.app.facts import Accept, InboundMessage
from heliograph.app.inbound.answer_limits import HELP_PAUSE_MS, STOP_PAUSE_MS, AnswerLimits, AnswerTerms, Withheld
from heliograph.app.inbound.opt_outs import OptOuts
from heliograph.app.sending.directory import Directory
from heliograph.config.opt_out import load_opt_out_words
from heliograph.domain.message.opt_out import Wish
from heliograph.domain.message.state import Kind, State
from heliograph.domain.message.tlv_rules import TlvRule
from heliograph.domain.message.way import Way
from heliograph.domain.text.repertoire import Repertoire
from tests.support.connectors import smpp_connector
from tests.support.gateway import MemoryJournal
from tests.support.memory_store import MemoryStore

PHONE, NUMBER, NOW, VALIDITY_MS = "4917012345678", "3388", 1_700_000_000_000, 3_600_000
OWNER = NumberOwner(7, "own", way=Way.NONE, opt_out=True, stop_text="You are out.", help_text="Ask us. " * 30)


@pytest.fixture
def journal() -> MemoryJournal:
    return MemoryJournal()


@pytest.fixture
async def opt_outs(journal: MemoryJournal) -> OptOuts:
    store = MemoryStore()
    await store.network.set_price(Price("own", "49", 5))
    directory = Directory(store.table_changes, store.accounts)
    await directory.refresh()
    return OptOuts(load_opt_out_words(), directory, journal, VALIDITY_MS, AnswerLimits(AnswerTerms()))


def judged(opt_outs: OptOuts, text: str, owner: NumberOwner = OWNER, **fields: Any) -> InboundMessage:
    values = {"sender": PHONE, "recipient": NUMBER, "at": NOW, **fields}
    message = InboundMessage(owner.account, 3, content=text, octets=text.encode(), coding=0, **values)
    opt_outs.judge(message, owner)
    return message


def test_a_stop_is_confirmed_from_the_number_that_was_written_to(opt_outs: OptOuts) -> None:
    message = judged(opt_outs, "Stop!")
    assert message.wish is Wish.STOP
    assert isinstance(message.reply, Accept)
    (reply,) = message.reply.messages
    assert (message.reply.account, message.reply.exempt, message.reply.total) == (7, True, 5)
    assert (reply.destination, reply.sender, reply.content, reply.kind) == (PHONE, NUMBER, "You are out.", Kind.TEXT)
    assert (reply.connector, reply.state, reply.queued) == (3, State.SENT, True)
    assert (reply.time, reply.expires) == (NOW, NOW + VALIDITY_MS)
    assert not reply.wants_receipt


async def test_answers_cost_what_they_take_in_the_operators_alphabet(journal: MemoryJournal) -> None:
    store = MemoryStore()
    connector = await store.network.add_connector(smpp_connector(0, "a", "h", 1, "id", "pw"))
    await store.network.set_price(Price("own", "49", 5))
    directory = Directory(
        store.table_changes, store.accounts, policy=lambda _: LanePolicy(repertoire=Repertoire("ascii"))
    )
    await directory.refresh()
    opt_outs = OptOuts(load_opt_out_words(), directory, journal, VALIDITY_MS, AnswerLimits(AnswerTerms()))
    owner = replace(OWNER, stop_text="ü" * 71)
    message = InboundMessage(owner.account, connector.id, PHONE, NUMBER, "Stop!", b"Stop!", 0, NOW)
    opt_outs.judge(message, owner)
    assert message.reply is not None
    assert (message.reply.total, message.reply.messages[0].segments) == (10, 2)


def test_long_answers_cost_by_the_segment(opt_outs: OptOuts) -> None:
    message = judged(opt_outs, "info")
    assert message.reply is not None
    assert (message.wish, message.reply.total, message.reply.messages[0].segments) == (Wish.HELP, 10, 2)


def test_help_is_answered_once_in_a_while(opt_outs: OptOuts) -> None:
    """Two machines that answer each other would never end."""
    asked = [
        judged(opt_outs, "help", at=NOW + ms) for ms in (0, 1, HELP_PAUSE_MS - 1, HELP_PAUSE_MS, HELP_PAUSE_MS + 1)
    ]
    assert [message.reply is not None for message in asked] == [True, False, False, True, False]
    assert all(message.wish is Wish.HELP for message in asked)
    assert judged(opt_outs, "help", sender="491701234999").reply is not None
    assert judged(opt_outs, "help", replace(OWNER, account=8)).reply is not None
    assert judged(opt_outs, "help", at=NOW - HELP_PAUSE_MS).reply is not None  # the clock was set back


def test_a_stop_is_confirmed_once_a_day(opt_outs: OptOuts) -> None:
    """A phone that sends STOP and START in turn would spend the account's credit."""
    asked = [judged(opt_outs, "stop", at=NOW + ms) for ms in (0, STOP_PAUSE_MS - 1, STOP_PAUSE_MS)]
    assert [message.reply is not None for message in asked] == [True, False, True]
    assert [message.withheld for message in asked] == ["", Withheld.STOP_AGAIN, ""]
    assert all(message.wish is Wish.STOP for message in asked)


def test_no_answer_goes_where_the_account_must_not_send(opt_outs: OptOuts, journal: MemoryJournal) -> None:
    owner = replace(OWNER, prefixes=("44", "4930"))
    messages = [judged(opt_outs, text, owner) for text in ("stop", "help", "stop")]
    assert [(message.reply, message.withheld) for message in messages] == [(None, Withheld.PREFIX)] * 3
    ((_, event, said),) = journal.lines
    assert (event, said["account"], said["reason"]) == ("opt_out.not_replied", 7, Withheld.PREFIX.meaning)
    assert judged(opt_outs, "stop", replace(OWNER, prefixes=("44", "4917"))).reply is not None


async def test_the_answers_of_an_account_in_an_hour_are_limited(journal: MemoryJournal) -> None:
    store = MemoryStore()
    await store.network.set_price(Price("own", "49", 5))
    directory = Directory(store.table_changes, store.accounts)
    await directory.refresh()
    limits = AnswerLimits(AnswerTerms(answers_per_hour=2))
    opt_outs = OptOuts(load_opt_out_words(), directory, journal, VALIDITY_MS, limits)
    messages = [judged(opt_outs, "stop", sender=f"49170123400{number}") for number in range(4)]
    assert [message.withheld for message in messages] == ["", "", Withheld.HOUR, Withheld.HOUR]
    assert [said["reason"] for _, _, said in journal.lines] == [Withheld.HOUR.meaning]
    assert judged(opt_outs, "stop", replace(OWNER, account=8)).reply is not None
    assert judged(opt_outs, "stop", sender="491701234009", at=NOW + 3_600_000).reply is not None


@pytest.mark.parametrize(
    ("text", "wish"),
    [("start", Wish.START), ("yes", Wish.YES), ("please stop this", Wish.SUSPECTED), ("Hello", Wish.NONE)],
)
def test_other_texts_have_no_reply(opt_outs: OptOuts, text: str, wish: Wish) -> None:
    message = judged(opt_outs, text)
    assert (message.wish, message.reply) == (wish, None)


def test_without_a_text_there_is_no_reply(opt_outs: OptOuts) -> None:
    owner = replace(OWNER, stop_text="", help_text="")
    assert [judged(opt_outs, text, owner).reply for text in ("stop", "help")] == [None, None]


def test_an_account_may_see_to_it_itself(opt_outs: OptOuts) -> None:
    message = judged(opt_outs, "stop", replace(OWNER, opt_out=False))
    assert (message.wish, message.reply) == (Wish.NONE, None)


@pytest.mark.parametrize("sender", ["ACME", "3388", "", "04917012345678"])
def test_only_phones_opt_out(opt_outs: OptOuts, sender: str) -> None:
    assert judged(opt_outs, "stop", sender=sender).wish is Wish.NONE


@pytest.mark.parametrize(
    ("fields", "reason"),
    [({"sender": "447700900123"}, "no price"), ({"recipient": "a-b"}, "sender")],
)
def test_a_stop_that_cannot_be_confirmed_holds_all_the_same(
    opt_outs: OptOuts, journal: MemoryJournal, fields: dict[str, Any], reason: str
) -> None:
    message = judged(opt_outs, "stop", **fields)
    assert (message.wish, message.reply) == (Wish.STOP, None)
    ((_, event, said),) = journal.lines
    assert (event, said["account"]) == ("opt_out.not_replied", 7)
    assert reason in said["reason"].lower()
    assert "447700900123" not in str(said)


async def test_answers_go_with_the_tlvs_of_the_template_that_they_fit(journal: MemoryJournal) -> None:
    store = MemoryStore()
    connector = await store.network.add_connector(smpp_connector(0, "a", "h", 1, "id", "pw"))
    await store.network.set_price(Price("own", "49", 5))
    await store.templates.add(MessageTemplate(0, "out", "You are {#var#}.", NUMBER, tlvs={"template": "117"}))
    policy = LanePolicy(tlvs=(TlvRule(0x1401, 0x1401, "template"),), needs_templates=True)
    directory = Directory(store.table_changes, store.accounts, policy=lambda _: policy)
    await directory.refresh()
    opt_outs = OptOuts(load_opt_out_words(), directory, journal, VALIDITY_MS, AnswerLimits(AnswerTerms()))
    for phone, text, tlvs in ((PHONE, "You are out.", ((0x1401, b"117"),)), (PHONE[:-1], "Bye", ())):
        message = InboundMessage(OWNER.account, connector.id, phone, NUMBER, "Stop!", b"Stop!", 0, NOW)
        opt_outs.judge(message, replace(OWNER, stop_text=text))
        assert message.reply is not None
        assert directory.tlvs_over(connector.id, message.reply.messages[0]) == tlvs
