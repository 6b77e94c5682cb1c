"""What is told of a commit's facts, and that nothing is while nobody listens."""

import pytest

from heliograph.app.facts import (
    LOW_BALANCE,
    Accept,
    Attempt,
    CallbackDone,
    CallbackEnd,
    CallbackRetry,
    EarlyReceipt,
    Facts,
    InboundMessage,
    InboundPart,
    Message,
    MessageEnd,
    PartReceipt,
    PartSet,
    Submission,
    Verdict,
)
from heliograph.app.observing import events
from heliograph.app.observing.events import EventFeed, MessageEvent
from heliograph.domain.message.opt_out import Wish
from heliograph.domain.message.receipt import Delivery

NOW = 1_800_000_000_000


def message(key: int) -> Message:
    return Message(1, "4917012345678", "Acme", 0, "the secret text", 2, 7, NOW, NOW + 1, 1, 1, key=key)


def accepted(*keys: int, verdict: Verdict = Verdict.ACCEPTED, scheduled: bool = False) -> Accept:
    return Accept(1, [message(key) for key in keys], 7, NOW, scheduled=scheduled, verdict=verdict)


def from_phone(key: int, wish: Wish = Wish.NONE, account: int = 1, *, complete: bool = True) -> InboundMessage:
    return InboundMessage(
        account, 3, "447700900123", "3388", "the secret text", b"the secret text", 0, NOW, parts=2, complete=complete,
        wish=wish, key=key, tail=1,
    )  # fmt: skip


class Ear:
    def __init__(self, feed: EventFeed) -> None:
        self.heard: list[MessageEvent] = []
        self.feed = feed
        feed.subscribe(self)

    def __call__(self, events: list[MessageEvent]) -> None:
        self.heard += events

    def words(self, facts: Facts) -> list[tuple[str, int, int | None]]:
        self.heard.clear()
        self.feed.committed(facts, NOW, 0.001)
        return [(each.event, each.key, each.segment) for each in self.heard]


def test_a_message_is_told_of_from_its_beginning_to_its_end() -> None:
    ear = Ear(EventFeed())
    assert ear.words(Facts(accepts=[accepted(5)])) == [("accepted", 5, None)]
    assert ear.words(
        Facts(
            attempts=[Attempt(1, 5, 0, 1, 0x58, NOW), Attempt(1, 5, 1, 1, -1, NOW)],
            submissions=[Submission(1, 5, 0, 1, "a", 0, NOW, 3, 4), Submission(1, 5, 1, 1, "", 0x0B, NOW)],
        )
    ) == [("deferred", 5, 1), ("unanswered", 5, 2), ("submitted", 5, 1), ("refused", 5, 2)]
    assert [each.connector for each in ear.heard] == [1, 1, 1, 1]
    assert [each.details.get("status") for each in ear.heard] == ["0x00000058", None, None, "0x0000000B"]
    assert ear.words(
        Facts(
            progress=[PartReceipt(1, 5, 0, Delivery.ENROUTE, "000", NOW)],
            parts=[PartReceipt(1, 5, 0, Delivery.DELIVRD, "000", NOW)],
            finals=[MessageEnd(1, 5, Delivery.DELIVRD, "000", NOW, owed=True)],
            callback_retries=[
                CallbackRetry(1, 5, NOW + 5000, 1, b"body", "HTTP 500", NOW),
                CallbackRetry(1, 5, NOW, 0, b"", "", NOW),
            ],
            callbacks=[CallbackDone(1, 5, CallbackEnd.DELIVERED, 200, 2, NOW)],
        )
    ) == [("receipt", 5, 1), ("receipt", 5, 1), ("final", 5, None), ("callback", 5, None), ("callback_retry", 5, None)]
    assert all(each.message is not None and each.message.key == 5 for each in ear.heard)
    assert ear.heard[-1].details == {"problem": "HTTP 500", "attempts": 1, "in_s": 5}


def test_what_phones_write_is_told_of_with_its_callback() -> None:
    ear = Ear(EventFeed())
    part = InboundPart(PartSet(3, "447700900123", "3388", 9, 2), 1, 0, True, b"the secret part", NOW)
    stop = from_phone(6, Wish.STOP)
    nobodys = from_phone(7, account=0, complete=False)
    assert ear.words(Facts(inbound_parts=[part], inbound=[stop, nobodys])) == [
        ("part_received", 0, 1),
        ("received", 6, None),
        ("unrouted", 7, None),
    ]
    assert [each.connector for each in ear.heard] == [3, 3, 3]
    assert [each.details for each in ear.heard] == [
        {"parts": 2}, {"parts": 2, "wish": "stop"}, {"parts": 2, "complete": False},
    ]  # fmt: skip
    done = CallbackDone(1, 6, CallbackEnd.DELIVERED, 200, 1, NOW)
    assert ear.words(Facts(callbacks=[done])) == [("callback", 6, None)]
    assert ear.heard[0].message is stop


def test_a_callback_of_a_low_balance_names_no_message() -> None:
    ear = Ear(EventFeed())
    done = CallbackDone(1, LOW_BALANCE - 3, CallbackEnd.DELIVERED, 200, 1, NOW)
    assert ear.words(Facts(callbacks=[done])) == [("callback", 0, None)]
    assert ear.heard[0].details["about"] == "low balance"


def test_what_was_not_accepted_did_not_happen() -> None:
    ear = Ear(EventFeed())
    assert ear.words(Facts(accepts=[accepted(1, verdict=Verdict.TOO_LITTLE_CREDIT)])) == []
    assert ear.words(Facts(accepts=[accepted(2, 3, scheduled=True)])) == [
        ("scheduled", 2, None),
        ("scheduled", 3, None),
    ]


def test_what_is_not_known_is_told_without_its_message() -> None:
    ear = Ear(EventFeed())
    final = MessageEnd(1, 9, Delivery.REJECTD, "011", NOW, owed=False, failed=True, refund=7)
    early = EarlyReceipt(4, "op-1", "4917012345678", Delivery.DELIVRD, "000", NOW)
    assert ear.words(Facts(finals=[final], early=[early])) == [("unmatched_receipt", 0, None), ("failed", 9, None)]
    assert [each.message for each in ear.heard] == [None, None]
    assert ear.heard[0].connector == 4


@pytest.mark.parametrize(
    ("code", "details"),
    [
        ("", {"err": "001"}),
        ("001", {"err": "001", "operator_code": "001"}),
        ("ABSENT", {"err": "001", "operator_code": "ABSENT"}),
    ],
)
def test_what_is_told_and_what_the_operator_said_are_two_details(code: str, details: dict[str, str]) -> None:
    ear = Ear(EventFeed())
    ear.words(Facts(finals=[MessageEnd(1, 9, Delivery.UNDELIV, code, NOW, owed=False)]))
    assert ear.heard[0].details == {"state": "UNDELIV"} | details


def test_details_hold_neither_text_nor_number() -> None:
    ear = Ear(EventFeed())
    ear.words(
        Facts(
            accepts=[accepted(1)],
            early=[EarlyReceipt(4, "op-1", "4917012345678", Delivery.DELIVRD, "000", NOW)],
            callback_retries=[CallbackRetry(1, 1, NOW, 1, b"text=the secret text", "HTTP 500", NOW)],
        )
    )
    told = str([each.details for each in ear.heard])
    assert "4917012345678" not in told
    assert "secret" not in told


def test_while_nobody_listens_nothing_is_remembered() -> None:
    feed = EventFeed()
    feed.committed(Facts(accepts=[accepted(1)]), NOW, 0.001)
    ear = Ear(feed)
    ear.words(Facts(finals=[MessageEnd(1, 1, Delivery.DELIVRD, "000", NOW, owed=False)]))
    assert ear.heard[0].message is None
    ear.words(Facts(accepts=[accepted(2)]))
    feed.unsubscribe(ear)
    feed.unsubscribe(ear)
    other = Ear(feed)
    other.words(Facts(finals=[MessageEnd(1, 2, Delivery.DELIVRD, "000", NOW, owed=False)]))
    assert other.heard[0].message is None


def test_memory_is_bounded() -> None:
    feed = EventFeed()
    ear = Ear(feed)
    for key in range(1, events.REMEMBERED + 11):
        feed.remember(message(key))
    ear.words(Facts(finals=[MessageEnd(1, key, Delivery.DELIVRD, "000", NOW, owed=False) for key in (5, 11)]))
    assert [each.message is None for each in ear.heard] == [True, False]
