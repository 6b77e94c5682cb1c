"""Customers say whether messages arrived."""

import pytest

from heliograph.app.facts import Facts, MessageEnd, Submission
from heliograph.domain.message import ids
from heliograph.domain.message.receipt import Delivery
from heliograph.domain.series import Grain
from tests.support.gateway import START, Gateway

GOOD = {"to": "491701234567", "from": "Heliograph", "content": "Your code is 1234"}


def path(of: str) -> str:
    return f"/account/v1/messages/{of}/feedback"


async def sent(gateway: Gateway, state: Delivery = Delivery.DELIVRD) -> str:
    """Returns the id of a message that ended in this state."""
    of = (await gateway.send(GOOD)).json["Id"]
    key, _ = ids.parse(of) or (0, 0)
    taken = Submission(1, key, 0, 1, "a", 0, START)
    ended = MessageEnd(1, key, state, "000", START, owed=False)
    await gateway.store.commits.record(Facts(submissions=[taken], finals=[ended]))
    return str(of)


def counted(gateway: Gateway) -> list[tuple[int, str, int, int]]:
    """The corrections by connector and country, since the last call."""
    return [
        (key.connector, key.country, cell.confirmed, cell.denied)
        for (_, key), cell in gateway.corrections.take().widened(Grain.HOUR).items()
    ]


async def test_words_that_contradict_the_receipt_are_counted(gateway: Gateway) -> None:
    delivered, failed = await sent(gateway), await sent(gateway, Delivery.UNDELIV)
    for of, word in ((delivered, True), (failed, False)):
        reply = await gateway.send({"delivered": word}, path(of))
        assert (reply.status, reply.body) == (200, b'{"Status":"00"}')
    assert counted(gateway) == []
    for of, word in ((delivered, False), (delivered, False), (failed, True)):
        await gateway.send({"delivered": word}, path(of))
    assert counted(gateway) == [(1, "DE", 1, 1)]
    await gateway.send({"delivered": True}, path(delivered))
    assert counted(gateway) == [(1, "DE", 0, -1)]
    record = await gateway.call("GET", f"/api/v1/messages/{delivered}/events")
    assert [each["Detail"] for each in record.json["events"] if each["Event"] == "Feedback"] == ["delivered"]


@pytest.mark.parametrize("word", ["true", "no", 0, "YES"])
async def test_a_word_may_be_written_in_several_ways(gateway: Gateway, word: str | int) -> None:
    of = await sent(gateway)
    assert (await gateway.send({"delivered": word}, path(of))).status == 200
    assert (await gateway.call("POST", path(of), f"delivered={word}".encode())).status == 200


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ({}, (400, "02", "delivered")), ({"delivered": None}, (400, "02", "delivered")),
        ({"delivered": "perhaps"}, (400, "03", "delivered")), ({"delivered": [True]}, (400, "03", "delivered")),
        ({"delivered": 1.5}, (400, "03", "delivered")),
    ],
)  # fmt: skip
async def test_other_words_are_refused(
    gateway: Gateway, body: dict[str, object], fault: tuple[int, str, str | None]
) -> None:
    of = await sent(gateway)
    assert (await gateway.send(body, path(of))).fault == fault


async def test_a_word_is_about_a_message_that_an_operator_took(gateway: Gateway) -> None:
    of = (await gateway.send(GOOD)).json["Id"]
    assert (await gateway.send({"delivered": True}, path(of))).fault == (409, "09", None)
    assert (await gateway.send({"delivered": True}, path(of), auth="other")).fault == (404, "07", None)
    assert (await gateway.send({"delivered": True}, path("7f"))).fault == (404, "07", None)
