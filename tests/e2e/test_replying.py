"""Receivers reply to phones in their answers: once for each message, also while the gateway is killed."""

import random
from collections import Counter
from functools import partial
from pathlib import Path

import pytest

from tests.e2e.test_inbound import Phones, whole
from tests.support.background_sink import BackgroundSink
from tests.support.customer import Customer
from tests.support.process import Admin, GatewayProcess, eventually
from tests.support.sink import Answer

pytestmark = [pytest.mark.slow, pytest.mark.peer]

TEXT = {"Content-Type": "text/plain; charset=ISO-8859-1"}


def operated(admin: Admin, operator: Phones, sink: BackgroundSink, credit: str) -> str:
    """An account that replies; returns its API key."""
    admin.operator(operator.port, "op1", "", "--binds", "2", "--option", "reconnect_most_s=0.2")
    account = admin.account("acme", credit, "--list-interval", "0")
    admin("account", "set", "acme", f"inbound_url={sink.url('/mo')}", "inbound_reply=body")
    admin("number", "add", "3388", "--account", "acme")
    return str(account["api_key"])


def test_a_receiver_replies_in_its_answer(tmp_path: Path, admin: Admin, data: Path, sink: BackgroundSink) -> None:
    messages = [whole(name, **{"from": sender}) for name, sender in (
        ("one", "491701234567"), ("two", "491701234568"), ("to nobody's phone", "Bank"), ("four", "491701234569"),
        ("five", "491701234570"),
    )]  # fmt: skip
    answers = {
        "one": [Answer(200, TEXT, "Grüße\n".encode("latin-1")), Answer(500, TEXT, b"not yet")],
        "two": [Answer(200, {"Content-Type": "text/html"}, b"<p>no reply</p>")],
        "to nobody's phone": [Answer(200, TEXT, b"to a name")],
        "four": [Answer(200, TEXT, b"x" * 20_000)],
        "five": [Answer(200, TEXT, b"without credit")],
    }
    sink.sink.answering = lambda received: answers[received.form["content"]].pop()
    with Phones(tmp_path, messages[:1], pause_ms=50) as operator:
        operated(admin, operator, sink, "1")
        with GatewayProcess(data) as gateway:
            submitted = eventually(operator.submitted, "the reply")
            assert submitted == [{"from": "3388", "to": "491701234567", "text": "Grüße"}]
            (one,) = admin("inbound", "list")["messages"]
            assert admin("message", "show", one["reply"])["reference"].startswith("reply:")
            assert gateway.stop() == 0
    with Phones(tmp_path, messages[1:], pause_ms=300) as operator:
        admin("connector", "set", "op1", "--port", str(operator.port))
        with GatewayProcess(data) as gateway:
            eventually(lambda: len(sink.requests) == 6, "all told")
            eventually(lambda: all(each["callback"] == "delivered" for each in listed(admin)), "all delivered")
            refused = {each["content"]: each["refused"] for each in listed(admin)}
            assert gateway.stop() == 0
        assert operator.submitted() == []
    assert "It is 'Bank'" in refused.pop("to nobody's phone")
    assert refused == {
        "five": "The credit is too low",
        "four": "its text has more than 16384 octets",
        "two": "",
        "one": "",
    }
    assert "reply.refused" in gateway.err
    assert "Bank" not in gateway.err
    assert "without credit" not in gateway.err
    assert "4917012345" not in gateway.err
    admin.assert_books_right()


def told_of(sink: BackgroundSink, count: int) -> bool:
    return len(sink.requests) >= count


def listed(admin: Admin) -> list[dict[str, str]]:
    found: list[dict[str, str]] = admin("inbound", "list")["messages"]
    return found if len(found) == 5 else [{"callback": "more are to come"}]


@pytest.mark.extended
def test_each_message_is_replied_to_once_when_the_gateway_is_killed(
    tmp_path: Path, admin: Admin, data: Path, sink: BackgroundSink
) -> None:
    chance = random.Random(5)
    phones = [f"4917{number:08}" for number in range(90)]
    sink.sink.default = Answer(200, TEXT, b"Thank you", delay=0.05)
    with Phones(tmp_path, [whole(phone, **{"from": phone}) for phone in phones], pause_ms=15) as operator:
        key = operated(admin, operator, sink, "1000")
        for turn in range(5):
            with GatewayProcess(data) as gateway:
                want = min(len(phones), 15 * (turn + 1) + chance.randrange(5))
                eventually(partial(told_of, sink, want), "so many were told")
                gateway.kill()
        with (
            GatewayProcess(data) as gateway,
            Customer(gateway.url, "acme", key) as customer,
        ):
            operator.until_answered(len(phones))
            eventually(lambda: {each["to"] for each in operator.submitted()} == set(phones), "all replied")
            sent = customer.get("/api/v1/messages?limit=100").json["messages"]
            assert gateway.stop() == 0
    assert Counter(each["To"] for each in sent) == Counter(phones)
    assert {each["From"] for each in sent} == {"3388"}
    admin.assert_books_right()
