"""Get, list, reschedule, cancel, batches, history, balance."""

import json
from typing import Any, NoReturn

import pytest

from heliograph.app.facts import Facts, MessageEnd, Submission
from heliograph.app.ports import Unavailable
from heliograph.app.sending import browse
from heliograph.domain.message import ids
from heliograph.domain.message.receipt import Delivery
from tests.support.gateway import START, Gateway, set_price

LIST = "/api/v1/messages"
LATER = "2027-01-15 09:00:00"
ABSENT = "/api/v1/messages/01a3185c500070009ae1ac9cffcd3f00"


async def send(gateway: Gateway, **changes: Any) -> str:
    reply = await gateway.send({"to": "447700900123", "from": "Helio", "content": "Hello"} | changes)
    assert reply.status == 200, reply.body
    return str(reply.json["Id"])


def key_of(identifier: str) -> int:
    parsed = ids.parse(identifier)
    assert parsed is not None
    return parsed[0]


async def listed(gateway: Gateway, query: str = "") -> list[str]:
    """Ids of a list query that is not too early."""
    gateway.clock.forward(10)
    reply = await gateway.call("GET", LIST, query=query)
    assert reply.status == 200, reply.body
    assert reply.json["count"] == len(reply.json["messages"])
    return [message["MessageId"] for message in reply.json["messages"]]


# --- get


async def test_a_record_has_exactly_the_seven_fields(gateway: Gateway) -> None:
    await set_price(gateway, "44", "0.035")
    identifier = await send(gateway, content="Hé “x”")
    reply = await gateway.call("GET", f"{LIST}/{identifier}")
    assert reply.body.decode() == (
        f'{{"MessageId":"{identifier}","From":"Helio","To":"447700900123","Time":"2027-01-15 08:00:00",'
        '"Rate":"0.035","Status":"Sent","Content":"Hé “x”"}'
    )


async def test_an_id_is_taken_in_any_form(gateway: Gateway) -> None:
    identifier = await send(gateway)
    parsed = ids.parse(identifier)
    assert parsed is not None
    for form in (identifier.upper(), ids.to_uuid(*parsed), ids.to_uuid(*parsed).upper()):
        reply = await gateway.call("GET", f"{LIST}/{form}/")
        assert reply.json["MessageId"] == identifier


@pytest.mark.parametrize("suffix", ["", "/events"])
@pytest.mark.parametrize("identifier", ["01a3185c500070009ae1ac9cffcd3f00", "x", "é", "0" * 32, "'; --"])
async def test_there_is_no_such_message(gateway: Gateway, identifier: str, suffix: str) -> None:
    assert (await gateway.call("GET", f"{LIST}/{identifier}{suffix}")).fault == (404, "07", None)


@pytest.mark.parametrize(("method", "body"), [("GET", b""), ("DELETE", b""), ("PUT", b"time=2027-01-15+09:30:00")])
async def test_anothers_message_looks_like_none(gateway: Gateway, method: str, body: bytes) -> None:
    path = f"{LIST}/{await send(gateway, time=LATER)}"
    other = await gateway.call(method, path, body, auth="other")
    absent = await gateway.call(method, ABSENT, body)
    assert other.fault == (404, "07", None)
    assert other.body == absent.body


async def test_a_record_shows_each_state(gateway: Gateway) -> None:
    scheduled, cancelled, failed = await send(gateway, time=LATER), await send(gateway, time=LATER), await send(gateway)
    await gateway.call("DELETE", f"{LIST}/{cancelled}")
    final = MessageEnd(1, key_of(failed), Delivery.REJECTD, "011", START, False, True, 1_000_000)
    await gateway.store.commits.record(Facts(finals=[final]))
    shown = [(await gateway.call("GET", f"{LIST}/{each}")).json["Status"] for each in (scheduled, cancelled, failed)]
    assert shown == ["Scheduled", "Cancelled", "Failed"]


async def test_a_record_says_on_request_how_its_message_ended(gateway: Gateway) -> None:
    delivered, refused, open_ = await send(gateway), await send(gateway), await send(gateway)
    cancelled = await send(gateway, time=LATER)
    await gateway.call("DELETE", f"{LIST}/{cancelled}")
    ends = [
        MessageEnd(1, key_of(delivered), Delivery.DELIVRD, "000", START + 7_000, False, True, 0),
        MessageEnd(1, key_of(refused), Delivery.REJECTD, "0x22", START + 8_000, False, True, 0),
    ]
    await gateway.store.commits.record(Facts(finals=ends))
    told = {
        delivered: {"State": "DELIVRD", "Err": "000", "Done": "2027-01-15 08:00:07"},
        refused: {"State": "REJECTD", "Err": "001", "Done": "2027-01-15 08:00:08"},
        open_: None,
        cancelled: None,
    }
    got = {each: (await gateway.call("GET", f"{LIST}/{each}", query="delivery=true")).json for each in told}
    assert {each: record["Delivery"] for each, record in got.items()} == told
    assert "Delivery" not in (await gateway.call("GET", f"{LIST}/{delivered}")).json
    page = (await gateway.call("GET", LIST, query="delivery=yes")).json["messages"]
    del told[cancelled]
    assert {each["MessageId"]: each["Delivery"] for each in page} == told


async def test_a_batch_says_on_request_how_its_messages_ended(gateway: Gateway) -> None:
    sent = await gateway.call("POST", LIST, b"to=491701234567,491701234568&from=Helio&content=Hi")
    last = sent.json["Messages"][1]["Id"]
    await gateway.store.commits.record(
        Facts(finals=[MessageEnd(1, key_of(last), Delivery.UNDELIV, "011", START, False, True, 0)])
    )
    page = (await gateway.call("GET", f"{LIST}/{sent.json['Id']}", query="delivery=1")).json["messages"]
    assert [each["Delivery"] and each["Delivery"]["State"] for each in page] == [None, "UNDELIV"]


# --- list


async def test_a_list_is_in_the_order_of_time(gateway: Gateway) -> None:
    first = await send(gateway)
    gateway.clock.forward(1)
    second = await send(gateway)
    await send(gateway, time="2027-01-15 08:30:00")
    assert await listed(gateway) == [first, second]
    assert await listed(gateway, "order=desc") == [second, first]
    assert await listed(gateway, "index=1") == [second]
    assert await listed(gateway, "limit=1&index=0") == [first]


@pytest.mark.parametrize(("word", "count"), [("true", 2), ("YES", 2), ("1", 2), ("False", 1), ("0", 1), ("no", 1)])
async def test_pending_adds_what_is_scheduled(gateway: Gateway, word: str, count: int) -> None:
    await send(gateway)
    await send(gateway, time=LATER)
    await gateway.call("DELETE", f"{LIST}/{await send(gateway, time=LATER)}")
    assert len(await listed(gateway, f"pending={word}")) == count


async def test_start_and_end_are_inclusive_and_compare_the_shown_second(gateway: Gateway) -> None:
    gateway.clock.forward(0.4)
    early = await send(gateway)
    gateway.clock.forward(1.5)
    late = await send(gateway)
    assert await listed(gateway, "start=2027-01-15+08:00:00&end=2027-01-15%2008:00:01") == [early, late]
    assert await listed(gateway, f"end={START // 1000}") == [early]
    assert await listed(gateway, "start=2027-01-15T08:00:01Z") == [late]
    assert await listed(gateway, "start=2027-01-15T09:00:01%2B01:00&end=") == [late]
    assert await listed(gateway, "start=2027-01-15+08:00:02") == []


async def test_times_are_in_the_accounts_zone(gateway: Gateway) -> None:
    await gateway.change_account(timezone="America/New_York")
    identifier = await send(gateway)
    assert (await gateway.call("GET", f"{LIST}/{identifier}")).json["Time"] == "2027-01-15 03:00:00"
    assert await listed(gateway, "start=2027-01-15+03:00:00&end=2027-01-15+03:00:00") == [identifier]


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("limit=0", "limit"), ("limit=101", "limit"), ("limit=-1", "limit"), ("limit=x", "limit"),
        ("limit=1.0", "limit"),
        ("index=-1", "index"), ("index=x", "index"), ("index=" + "9" * 30, "index"), ("index=١", "index"),
        ("pending=maybe", "pending"), ("order=up", "order"), ("delivery=maybe", "delivery"),
        ("start=x", "start"), ("end=2027-02-30+00:00:00", "end"), ("start=" + "9" * 400, "start"),
        ("start=2027-01-02+00:00:00&end=2027-01-01+00:00:00", "end"),
    ],
)  # fmt: skip
async def test_a_bad_parameter(gateway: Gateway, query: str, field: str) -> None:
    query = query.encode().decode("latin-1")
    assert (await gateway.call("GET", LIST, query=query)).fault == (400, "03", field)
    assert await listed(gateway) == []


@pytest.mark.parametrize("query", ["limit=1&limit=2", "start=%ff"])
async def test_a_query_that_cannot_be_read(gateway: Gateway, query: str) -> None:
    assert (await gateway.call("GET", LIST, query=query)).fault == (400, "01", None)


async def test_list_queries_keep_their_interval(gateway: Gateway) -> None:
    assert (await gateway.call("GET", LIST)).status == 200
    gateway.clock.forward(3.5)
    early = await gateway.call("GET", LIST)
    assert early.fault == (429, "12", None)
    assert early.headers["retry-after"] == "7"
    assert (await gateway.call("GET", LIST, auth="other")).status == 200
    gateway.clock.forward(6.4)
    assert (await gateway.call("GET", LIST)).headers["retry-after"] == "1"
    gateway.clock.forward(0.1)
    assert (await gateway.call("HEAD", LIST)).status == 200
    assert (await gateway.call("GET", LIST)).status == 429


async def test_a_list_query_that_was_not_answered_does_not_count(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who is told 503 comes again as soon as that says."""

    async def unavailable(*_: object) -> NoReturn:
        raise Unavailable

    with monkeypatch.context() as broken:
        broken.setattr(gateway.store.customers, "messages", unavailable)
        assert (await gateway.call("GET", LIST)).fault == (503, "13", None)
        gateway.clock.forward(1.0)
        assert (await gateway.call("GET", LIST)).fault == (503, "13", None)
    gateway.clock.forward(1.0)
    assert (await gateway.call("GET", LIST)).status == 200
    gateway.clock.forward(1.0)
    assert (await gateway.call("GET", LIST)).headers["retry-after"] == "9"


async def test_an_account_can_have_its_own_interval(gateway: Gateway) -> None:
    await gateway.change_account(list_interval=0.0)
    assert [(await gateway.call("GET", LIST)).status for _ in range(3)] == [200] * 3
    await gateway.change_account(list_interval=2.0)
    assert [(await gateway.call("GET", LIST)).status for _ in range(2)] == [200, 429]


# --- reschedule and cancel


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b'{"time":"2027-01-15 10:00:00","x":1}', "application/json"),
        (b'{"time":1800007200}', "application/json; charset=utf-8"),
        (b"time=2027-01-15+10%3A00%3A00", "application/x-www-form-urlencoded"),
        (b'{"time":1800007200.0}', ""),
    ],
)
async def test_a_message_is_rescheduled(gateway: Gateway, body: bytes, kind: str) -> None:
    identifier = await send(gateway, time=LATER, reference="r", content="a" * 161)
    reply = await gateway.call("PUT", f"{LIST}/{identifier}", body, headers={"content-type": kind})
    assert reply.json == {
        "Status": "00", "Id": identifier, "Rate": 2, "Reference": "r", "MessageStatus": "Scheduled",
    }  # fmt: skip
    record = (await gateway.call("GET", f"{LIST}/{identifier}")).json
    assert (record["Time"], record["Status"]) == ("2027-01-15 10:00:00", "Scheduled")
    assert await gateway.balance() == "998"


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        (b"{}", (400, "02", "time")),
        (b'{"time":null}', (400, "02", "time")),
        (b"", (400, "02", "time")),
        (b"time=", (400, "02", "time")),
        (b'{"time":""}', (400, "03", "time")),
        (b'{"time":"2026-01-15 10:00:00"}', (400, "03", "time")),
        (b'{"time":[]}', (400, "03", "time")),
        (b'{"time":1,"time":2}', (400, "01", None)),
        (b"time=1&time=2", (400, "01", None)),
        (b"{", (400, "01", None)),
    ],
)
async def test_a_bad_time_moves_nothing(gateway: Gateway, body: bytes, fault: tuple[int, str, str | None]) -> None:
    identifier = await send(gateway, time=LATER)
    assert (await gateway.call("PUT", f"{LIST}/{identifier}", body)).fault == fault
    assert (await gateway.call("PUT", ABSENT, body)).fault == fault
    assert (await gateway.call("GET", f"{LIST}/{identifier}")).json["Time"] == LATER


async def test_only_a_scheduled_message_can_be_moved_or_cancelled(gateway: Gateway) -> None:
    sent, due = await send(gateway), await send(gateway, time=LATER)
    gateway.clock.forward(3600)
    body = b"time=2027-01-16+10:00:00"
    for identifier in (sent, due):
        assert (await gateway.call("PUT", f"{LIST}/{identifier}", body)).fault == (409, "09", None)
        assert (await gateway.call("DELETE", f"{LIST}/{identifier}")).fault == (409, "09", None)
    assert await gateway.balance() == "998"


async def test_a_cancelled_message_is_refunded_once(gateway: Gateway) -> None:
    path = f"{LIST}/{await send(gateway, time=LATER)}"
    reply = await gateway.call("DELETE", path, headers={"content-type": "application/json"})
    assert (reply.status, reply.body) == (200, b'{"Status":"00"}')
    assert (await gateway.call("DELETE", path)).fault == (409, "09", None)
    assert await gateway.balance() == "1000"


# --- batches


async def batch(gateway: Gateway, **changes: Any) -> dict[str, Any]:
    numbers = ["447700900001", "447700900002", "447700900003"]
    reply = await gateway.send({"to": numbers, "from": "Helio", "content": "Hi", "reference": "b"} | changes)
    document: dict[str, Any] = reply.json
    return document


async def test_a_batch_is_listed_by_its_id(gateway: Gateway) -> None:
    sent = await batch(gateway)
    path = f"{LIST}/{sent['Id']}"
    for _ in range(2):  # no interval
        reply = await gateway.call("GET", path)
        assert [each["MessageId"] for each in reply.json["messages"]] == [each["Id"] for each in sent["Messages"]]
    assert (await gateway.call("GET", path, query="index=1&limit=1")).json["messages"][0]["To"] == "447700900002"
    assert (await gateway.call("GET", path, query="limit=0")).fault == (400, "03", "limit")
    assert (await gateway.call("GET", path, auth="other")).fault == (404, "07", None)


async def test_a_batch_is_moved_and_cancelled_as_far_as_it_is_scheduled(gateway: Gateway) -> None:
    sent = await batch(gateway, time=LATER)
    path = f"{LIST}/{sent['Id']}"
    await gateway.call("DELETE", f"{LIST}/{sent['Messages'][1]['Id']}")
    moved = (await gateway.call("PUT", path, b"time=2027-01-15+10:00:00")).json
    assert (moved["Id"], moved["Rate"], moved["Reference"], moved["MessageStatus"]) == (sent["Id"], 2, "b", "Scheduled")
    assert moved["Messages"] == [sent["Messages"][0], sent["Messages"][2]]
    assert (await gateway.call("DELETE", path)).body == b'{"Status":"00"}'
    assert await gateway.balance() == "1000"
    for method, body in (("DELETE", b""), ("PUT", b"time=2027-01-15+11:00:00")):
        assert (await gateway.call(method, path, body)).fault == (409, "09", None)
    states = [each["Status"] for each in (await gateway.call("GET", path)).json["messages"]]
    assert states == ["Cancelled"] * 3


# --- history and balance


async def test_the_history_of_a_message(gateway: Gateway) -> None:
    identifier = await send(gateway)
    parsed = ids.parse(identifier)
    assert parsed is not None
    await gateway.store.commits.record(Facts(submissions=[Submission(1, parsed[0], 0, 1, "op-1", 0, START + 1000)]))
    reply = await gateway.call("GET", f"{LIST}/{identifier}/events")
    assert reply.json["count"] == 3
    assert [event["Event"] for event in reply.json["events"]] == ["Accepted", "Charged", "Submitted"]
    last = reply.json["events"][2]
    assert list(last) == ["Time", "Event", "Segment", "Detail"]
    assert (last["Time"], last["Segment"]) == ("2027-01-15 08:00:01", 1)
    assert "op-1" in last["Detail"]
    assert (await gateway.call("GET", f"{LIST}/{identifier}/events", auth="other")).fault == (404, "07", None)


@pytest.mark.parametrize("version", ["v1", "v2"])
async def test_the_balance(gateway: Gateway, version: str) -> None:
    await gateway.store.accounts.add_credit(1, 35_000, "", START)
    reply = await gateway.call("POST", f"/api/{version}/account/balance", b"anything", headers={"Content-Type": "x/y"})
    assert reply.body == b'{"Status":"00","Message":"1000.035"}'


async def test_a_balance_below_zero(gateway: Gateway) -> None:
    await gateway.store.accounts.add_credit(1, -1_000_500_000, "", START)
    assert await gateway.balance() == "-0.5"


# --- export


async def exported(gateway: Gateway, query: str, auth: str = "acme") -> list[str]:
    gateway.clock.forward(10)
    reply = await gateway.call("GET", "/account/v1/messages", query=f"format=jsonl&{query}", auth=auth, stays=True)
    assert reply.status == 200, reply.body
    return [json.loads(line)["MessageId"] for line in reply.body.splitlines()]


async def test_an_export_has_what_the_list_has_beyond_its_limit(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(browse, "EXPORT_PAGE", 2)
    sent = []
    for seconds in (0, 0, 0, 0, 0, 1, 2, 0, 0, 1):  # more than a page in a second, and seconds apart
        gateway.clock.forward(seconds)
        sent.append(await send(gateway))
    later = await send(gateway, time="2027-02-01 10:00:00")
    assert await exported(gateway, "") == sent
    assert await exported(gateway, "order=desc") == sent[::-1]
    assert await exported(gateway, "pending=yes") == [*sent, later]
    assert await exported(gateway, "order=desc&pending=yes") == [later, *sent[::-1]]
    assert await exported(gateway, "start=2027-01-15 08:00:01&end=2027-01-15 08:00:03") == sent[5:9]
    assert await exported(gateway, "start=2027-01-15 08:00:00&end=2027-01-15 08:00:00") == sent[:5]
    assert await exported(gateway, "", auth="other") == []
    assert len(await exported(gateway, "")) == len(sent)
    early = await gateway.call("GET", "/account/v1/messages")
    assert early.fault == (429, "12", None)


async def test_an_export_is_a_table_with_final_states(gateway: Gateway) -> None:
    identifier = await send(gateway, content="=1+1")
    end = MessageEnd(1, key_of(identifier), Delivery.DELIVRD, "000", START + 7_000, owed=False)
    await gateway.store.commits.record(Facts(finals=[end]))
    reply = await gateway.call("GET", "/account/v1/messages", stays=True)
    assert reply.headers["content-type"] == "text/csv; charset=utf-8"
    assert reply.headers["content-disposition"] == 'attachment; filename="messages.csv"'
    assert "content-length" not in reply.headers
    heading, row = reply.body.decode().splitlines()
    assert heading == "id,from,to,time,rate,status,content,state,err,done"
    assert row == (f"{identifier},Helio,447700900123,2027-01-15 08:00:00,1,Sent,'=1+1,DELIVRD,000,2027-01-15 08:00:07")
    gateway.clock.forward(10)
    assert (await gateway.call("GET", "/account/v1/messages", query="format=xml")).fault == (400, "03", "format")
