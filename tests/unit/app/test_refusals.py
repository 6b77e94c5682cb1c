"""Refused requests in memory: bounded by account and reason, without texts, secrets and whole numbers."""

import pytest

from heliograph.app.configuration import Account
from heliograph.app.observing import refusals as refusals_module
from heliograph.app.observing.refusals import HOUR_MS, KEPT, Asked, RefusalBatch, Refusals, without_values
from heliograph.app.records import RefusedRequest
from heliograph.domain.error import FORBIDDEN, INVALID, NO_CREDIT, Fault, Reason, invalid
from tests.support.store import START

ASKED = Asked("POST", "/api/v1/messages", "192.0.2.7", "r-1")
POOR = Fault(NO_CREDIT, "The credit is too low: this costs 1.5.")


def account(number: int) -> Account:
    return Account(number, f"acme{number}", "", b"")


def kept(batch: RefusalBatch) -> list[RefusedRequest]:
    return [each for samples in batch.latest.values() for each in samples]


def test_a_refusal_is_counted_and_kept_with_what_a_person_needs_to_help() -> None:
    refusals = Refusals()
    fault = Fault(FORBIDDEN, "The account may not use this sender.", "from", reason=Reason.SENDER)
    refusals.note(account(3), fault, ASKED, START)
    batch = refusals.take()
    (count,) = batch.counts.values()
    assert (count.account, count.reason, count.requests, count.hour) == (
        3,
        Reason.SENDER,
        1,
        START // HOUR_MS * HOUR_MS,
    )
    assert kept(batch) == [
        RefusedRequest(
            3, Reason.SENDER, START, 403, "POST", "/api/v1/messages", "from", fault.message, "192.0.2.7", "r-1"
        )
    ]
    assert batch.names == {3: "acme3"}
    assert kept(refusals.take()) == []


def test_an_unknown_client_is_counted_and_nothing_of_it_kept() -> None:
    refusals = Refusals()
    refusals.note(None, POOR, ASKED, START)
    assert refusals.counts == {Reason.CREDIT: 1}
    assert not refusals.take().counts


def test_a_flood_keeps_its_last_requests_and_nobody_elses_place() -> None:
    refusals = Refusals()
    refusals.note(account(2), POOR, ASKED, START)
    refusals.note(account(1), invalid("to", "bad"), ASKED, START)
    for number in range(10 * KEPT):
        refusals.note(account(1), POOR, Asked("POST", "/", "", str(number)), START + number)
    batch = refusals.take()
    assert {kind: len(samples) for kind, samples in batch.latest.items()} == {
        (2, Reason.CREDIT): 1, (1, Reason.INVALID): 1, (1, Reason.CREDIT): KEPT,
    }  # fmt: skip
    assert batch.latest[1, Reason.CREDIT][0].request_id == str(9 * KEPT)
    assert sum(count.requests for count in batch.counts.values()) == 10 * KEPT + 2


def test_the_number_of_kinds_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refusals_module, "MOST_KINDS", 3)
    refusals = Refusals()
    for number in range(9):
        refusals.note(account(number), POOR, ASKED, START)
    assert len(refusals.take().latest) == 3
    assert refusals.counts == {Reason.CREDIT: 9}


def test_a_batch_that_stayed_takes_up_a_newer_one() -> None:
    refusals = Refusals()
    refusals.note(account(1), POOR, Asked("GET", "/", "", "old"), START)
    old = refusals.take()
    for number in range(KEPT):
        refusals.note(account(1), POOR, Asked("GET", "/", "", f"{number}"), START + 5)
    old.merge(refusals.take())
    (count,) = old.counts.values()
    assert (count.requests, count.latest) == (KEPT + 1, START + 5)
    assert [each.request_id for each in kept(old)] == [str(number) for number in range(KEPT)]


@pytest.mark.parametrize(
    ("field", "message", "shown"),
    [
        ("to", "The to must be 7 to 15 digits. It is '+4917012345678'.", "It is '491********78'."),
        ("to", "The to must not contain punctuation. It is '+49-170-12-34-567'.", "It is '491*******67'."),
        ("number", "It is '(0049) 170 12 34 56'.", "It is '(004********56'."),
        ("to", "No route or no price covers 491701234567, 447700900123; leave", "covers 491*******67, 447*******23;"),
        ("to", "digits with the country code, such as 447700900123. It is '+447700900999'.", "such as 447700900123."),
        ("to", "digits with the country code, such as 447700900123. It is '+447700900999'.", "It is '447*******99'."),
        ("to", "It is '447700900123'.", "It is '447*******23'."),
        ("content", 'The nearest is otp: at character 5 "Your code is 4711".', "at character 5 …."),
        ("type", "The type 'Dear customer, your code' is unknown", "The type … is unknown"),
        ("type", "The type 'mms' is unknown", "The type 'mms' is unknown"),
        ("type", "The type 'a\\'quote\"Dear customer' is unknown", "The type … is unknown"),
        ("time", "The time '2026-11-20 10:00:00' is past", "'2026-11-20 10:00:00' is past"),
        ("time", "The time '1764000000' is past", "'1764000000' is past"),
        ("time", "The time 1764000000 is out of range", "1764000000 is out"),
        ("time", "The time 4917012345678 is out of range", "491********78 is out"),
        ("time", "The time '4917012345678' cannot be read", "The time … cannot"),
        ("validity", "The time '2026-11-20: Dear Ada' cannot be read", "The time … cannot"),
    ],
)
def test_what_customers_wrote_is_left_out_of_messages(field: str, message: str, shown: str) -> None:
    assert shown in without_values(message, field)


def test_nothing_long_and_nothing_that_a_terminal_obeys_is_kept() -> None:
    refusals = Refusals()
    asked = Asked("GET", "/account/v1/suppressions/491701234567" + "/x" * 500, "192.0.2.7", "\x1b[2J\ud800")
    refusals.note(account(1), Fault(INVALID, "bad\x00" * 1000, "tlv_" + "x" * 900), asked, START)
    (found,) = kept(refusals.take())
    assert found.path.startswith("/account/v1/suppressions/491*******67/x")
    assert found.request_id == "?[2J?"
    assert found.message.startswith("bad?bad?")
    assert max(len(found.path), len(found.field), len(found.message)) <= 300
