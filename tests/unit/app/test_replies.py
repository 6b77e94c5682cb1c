"""Replies in the answers of webhooks: sent once, refused without harm, asked for again where they have to wait."""

import asyncio
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from heliograph.app.configuration import Account, MessageTemplate
from heliograph.app.connector_kind import LanePolicy
from heliograph.app.facts import CallbackEnd, Facts, InboundMessage, Message
from heliograph.app.inbound.answer_limits import AnswerLimits, AnswerTerms, Withheld
from heliograph.app.inbound.replies import PhoneReplies
from heliograph.app.notice import Notice
from heliograph.app.notices.inbound_form import InboundRenderer
from heliograph.app.notices.notifier import Notifier
from heliograph.app.notices.webhook import SubjectRenderer, WebhookDeliverer
from heliograph.app.sending.compose import SendRules
from heliograph.app.webhook_job import TryResult
from heliograph.domain.message import ids
from heliograph.domain.message.extras import Tlv
from heliograph.domain.message.tlv_rules import TlvRule
from heliograph.domain.message.way import Way
from tests.support.gateway import START, Gateway, open_gateway
from tests.support.use_case_fakes import NotedGathering, NotedSender

PHONE = "491701234567"
KEY = ids.first_key_at(START)


class Book:
    """`app.notice.KnownAccounts`, as the account is at this moment."""

    account: Account

    def known(self, account: int) -> tuple[Account, ZoneInfo] | None:
        return self.account, ZoneInfo("UTC")

    async def learn(self, account: int) -> None: ...


class Desk:
    """A receiver that answers `inbound_url`, over the API's use cases."""

    def __init__(self, gateway: Gateway) -> None:
        self.gateway = gateway
        self.gathering = NotedGathering()
        self.sender = NotedSender()
        self.book = Book()
        self.replies = PhoneReplies(
            self.gathering, gateway.directory, gateway.journal, gateway.clock, AnswerLimits(AnswerTerms())
        )
        self.replies.sending = gateway.sending
        forms: dict[type, SubjectRenderer] = {InboundMessage: InboundRenderer(lambda fields: repr(fields).encode())}
        webhooks = WebhookDeliverer(self.sender, self.book, forms, self.replies)
        self.notifier = Notifier(self.gathering, gateway.clock, {Way.WEBHOOK: webhooks}, self.book, lambda: 0.5)

    async def account(self, **changes: Any) -> None:
        fields = {"inbound_url": "http://example.com/mo", "inbound_reply": "body"}
        await self.gateway.change_account(**(fields | changes))
        found = await self.gateway.store.accounts.find("acme")
        assert found is not None
        self.book.account = found[0]

    async def answered(self, reply: str = "", code: int = 200, problem: str = "", **fields: Any) -> Facts:
        """The facts after the webhook for a message was answered so."""
        self.push(**fields)
        self.sender._sent([TryResult(fields.get("key", KEY), code, problem, reply=reply)])
        for _ in range(5):
            await asyncio.sleep(0)
        return self.gathering.take()

    def push(self, **fields: Any) -> None:
        values: dict[str, Any] = {"sender": PHONE, "recipient": "3388", "key": KEY, "tail": 5}
        texts: dict[str, Any] = {"content": "Hello", "octets": b"Hello", "coding": 0, "at": START}
        message = InboundMessage(account=1, connector=1, **(values | texts | fields))
        self.notifier.resume([Notice(1, message.key, message, START)], rowed=False)

    @property
    def messages(self) -> list[Message]:
        return list(self.gateway.store._place.rows.messages.values())

    @property
    def lines(self) -> list[dict[str, Any]]:
        return [fields for _, event, fields in self.gateway.journal.lines if event == "reply.refused"]


@pytest.fixture
async def desk() -> Desk:
    desk = Desk(await open_gateway(credit="10", rules=SendRules(max_segments=2)))
    await desk.account()
    return desk


def delivered(facts: Facts) -> bool:
    assert not facts.callback_retries
    return [done.end for done in facts.callbacks] == [CallbackEnd.DELIVERED]


async def test_the_answer_is_sent_to_the_phone_from_its_number(desk: Desk) -> None:
    assert delivered(await desk.answered("Thank you 🦊"))
    (message,) = desk.messages
    assert (message.destination, message.sender, message.content) == (PHONE, "3388", "Thank you 🦊")
    assert (message.reference, message.wants_receipt) == (f"reply:{ids.to_uuid(KEY, 5)}", False)
    assert await desk.gateway.balance() == "9"
    assert desk.sender.jobs[0].wants_reply
    assert desk.lines == []


async def test_a_webhook_that_is_called_again_replies_once(desk: Desk) -> None:
    for text in ("Thank you", "Thank you", "Thank you again"):
        facts = await desk.answered(text)
        assert delivered(facts)
        assert facts.inbound_replies == []
    assert [message.content for message in desk.messages] == ["Thank you"]
    assert await desk.gateway.balance() == "9"


async def test_a_number_with_a_plus_is_a_number(desk: Desk) -> None:
    assert delivered(await desk.answered("Thank you", sender=f"+{PHONE}", recipient="+493388"))
    assert [(message.destination, message.sender) for message in desk.messages] == [(PHONE, "493388")]


async def test_nothing_is_sent_where_nothing_is_replied(desk: Desk) -> None:
    assert delivered(await desk.answered(""))
    await desk.account(inbound_reply="off")
    assert delivered(await desk.answered("Thank you"))
    assert not desk.sender.jobs[1].wants_reply
    assert desk.messages == []
    assert desk.lines == []


@pytest.mark.parametrize(
    ("reply", "fields", "problem", "sentence"),
    [
        ("Thank you", {"sender": "Bank"}, "A field is invalid (to)", "'Bank'"),
        ("Thank you", {"sender": "12345"}, "A field is invalid (to)", "'12345'"),
        ("x" * 400, {}, "A field is invalid (content)", "takes 3 segments; a message may have 2"),
        ("x\0y", {}, "A field is invalid (content)", "a NUL character"),
    ],
)
async def test_what_cannot_be_sent_is_told_and_does_no_harm(
    desk: Desk, reply: str, fields: dict[str, Any], problem: str, sentence: str
) -> None:
    facts = await desk.answered(reply, **fields)
    assert delivered(facts)
    assert desk.messages == []
    (refused,) = facts.inbound_replies
    assert (refused.account, refused.key) == (1, KEY)
    assert sentence in refused.problem
    assert desk.lines == [{"inbound": ids.to_uuid(KEY, 5), "account": 1, "problem": problem}]


async def test_a_reply_without_credit_is_refused(desk: Desk) -> None:
    for number in range(10):
        await desk.gateway.send({"to": PHONE, "from": "Helio", "content": str(number)})
    facts = await desk.answered("Thank you")
    assert delivered(facts)
    assert [each.problem for each in facts.inbound_replies] == ["The credit is too low"]
    assert len(desk.messages) == 10


async def test_a_suspended_account_does_not_reply(desk: Desk) -> None:
    await desk.account(suspended=True)
    facts = await desk.answered("Thank you")
    assert delivered(facts)
    assert "suspended" in facts.inbound_replies[0].problem


async def test_an_answer_that_cannot_be_read_is_told(desk: Desk) -> None:
    facts = await desk.answered(problem="its text is not utf-8")
    assert delivered(facts)
    assert [each.problem for each in facts.inbound_replies] == ["its text is not utf-8"]


async def test_the_log_says_the_same_once_a_minute(desk: Desk) -> None:
    for problem, lines in (("a", 1), ("a", 1), ("b", 2), ("a", 2)):
        assert (await desk.answered(problem=problem)).inbound_replies[0].problem == problem
        assert len(desk.lines) == lines
    desk.gateway.clock.forward(60)
    await desk.answered(problem="a")
    assert len(desk.lines) == 3


async def test_programs_that_answer_each_other_come_to_an_end(desk: Desk) -> None:
    def turn(number: int) -> dict[str, Any]:
        return {"key": KEY + number, "at": START + number}

    told: list[str] = []
    for number in range(8):
        facts = await desk.answered("Thank you", **turn(number))
        assert delivered(facts)
        told += [each.withheld for each in facts.inbound_replies]
    assert len(desk.messages) == 5
    assert told == [Withheld.LOOP] * 3
    assert [line["problem"] for line in desk.lines] == [Withheld.LOOP.meaning], "once in the log"
    await desk.answered("Thank you", sender="491701234999", **turn(8))
    assert len(desk.messages) == 6, "another phone is answered"
    desk.gateway.clock.forward(600)
    await desk.answered("Thank you", **turn(9))
    assert len(desk.messages) == 7


async def test_a_reply_that_has_to_wait_is_asked_for_again(desk: Desk) -> None:
    async def again() -> str:
        facts = await desk.answered("Thank you")
        assert not facts.callbacks
        assert not facts.inbound_replies
        (retry,) = facts.callback_retries
        assert retry.due > START
        return retry.problem

    desk.gateway.store.broken = True
    assert "store is away" in await again()
    desk.gateway.store.broken = False
    desk.gateway.intake.full = True
    assert "Not available" in await again()
    desk.gateway.intake.full = False
    desk.replies.sending = None
    assert "nothing can be sent yet" in await again()
    desk.replies.sending = desk.gateway.sending
    await desk.account(rate=0.001)
    assert delivered(await desk.answered("Thank you"))
    assert len(desk.messages) == 1


async def test_over_its_rate_an_account_replies_later(desk: Desk) -> None:
    await desk.account(rate=1.0)
    reply = None
    while reply is None or reply.status == 200:
        reply = await desk.gateway.send({"to": PHONE, "from": "Helio", "content": "Hello"})
    sent = len(desk.messages)
    facts = await desk.answered("Thank you")
    assert "Too early" in facts.callback_retries[0].problem
    assert len(desk.messages) == sent


async def test_a_failure_has_no_reply(desk: Desk) -> None:
    facts = await desk.answered("Oops", code=500)
    assert len(facts.callback_retries) == 1
    assert desk.messages == []


async def test_a_sender_that_stops_forgets_whom_it_asked(desk: Desk) -> None:
    desk.push()
    desk.sender.lose()
    assert len(desk.gathering.take().callback_retries) == 1
    desk.sender._sent([TryResult(KEY, 200, reply="Thank you")])
    await asyncio.sleep(0)
    assert desk.messages == []
    assert not desk.gathering.take()
    assert delivered(await desk.answered("Thank you"))
    assert len(desk.messages) == 1


@pytest.mark.parametrize(("text", "tlvs"), [("Thank you, Ann", ((0x1401, b"117"),)), ("Goodbye", ())])
async def test_a_reply_goes_with_the_tlvs_of_the_template_that_it_fits(text: str, tlvs: tuple[Tlv, ...]) -> None:
    policy = LanePolicy(tlvs=(TlvRule(0x1401, 0x1401, "template"),), needs_templates=True)
    desk = Desk(await open_gateway(policy=policy))
    await desk.account()
    await desk.gateway.store.templates.add(
        MessageTemplate(0, "thanks", "Thank you, {#var#}", "3388", tlvs={"template": "117"})
    )
    await desk.gateway.directory.refresh()
    assert delivered(await desk.answered(text))
    (message,) = desk.messages
    assert (message.content, message.extras) == (text, "")
    assert desk.gateway.directory.tlvs_over(message.connector, message) == tlvs
    assert desk.lines == []
