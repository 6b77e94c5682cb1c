"""The queue by admin API and console: counted, moved, held, released, cancelled; and the answers of nodes."""

from dataclasses import replace
from typing import Any

import pytest

from heliograph.app.facts import Facts, Queueing
from heliograph.app.ports import ConnectorReport, ConnectorState
from heliograph.app.ports.backlog import OrderAnswer, QueueAction
from heliograph.app.resources import queue
from tests.integration.console.test_console import text_of
from tests.support.admin import AdminHouse, Browser, open_house
from tests.support.connectors import smpp_connector

DE, GB = "4917012345678", "447700900123"
NODES = (7, 8)


@pytest.fixture
async def house() -> AdminHouse:
    house = await open_house()
    await house.gateway.store.network.add_connector(smpp_connector(0, "backup", "127.0.0.1", 2776, "id", "pw"))
    return house


@pytest.fixture
async def token(house: AdminHouse) -> str:
    return await house.token("messages:read", "messages:write")


async def waiting(house: AdminHouse, *phones: str, attempted: bool = False) -> list[str]:
    """Puts messages of acme to these phones into the queue. Returns their ids."""
    ids = []
    for phone in phones:
        ids.append((await house.gateway.send({"to": phone, "from": "Helio", "content": "Hello"})).json["Id"])
        message = house.gateway.intake.accepted[-1].messages[0]
        queueing = Queueing(1, message.key, 1, message.time, message.expires, attempted, False)
        await house.gateway.store.commits.record(Facts(queueings=[queueing]))
    return ids


async def act(house: AdminHouse, token: str, action: str, **given: str) -> dict[str, Any]:
    answered = await house.ask(token, "POST", f"/queue/{action}", given)
    assert answered.status == 200, answered.text
    found: dict[str, Any] = answered.json
    return found


async def groups(house: AdminHouse, token: str, query: str = "") -> list[tuple[Any, ...]]:
    answered = await house.ask(token, "GET", "/queue", query=query)
    assert answered.status == 200, answered.text
    return [tuple(each[name] for name in ("connector", "account", "country", "messages", "held", "price"))
            for each in answered.json["queue"]]  # fmt: skip


async def test_waiting_messages_are_counted_by_connector_account_and_country(house: AdminHouse, token: str) -> None:
    await waiting(house, DE, DE, GB)
    both = [("operator", "acme", "DE", 2, 0, "2"), ("operator", "acme", "GB", 1, 0, "1")]
    assert await groups(house, token) == both
    assert await groups(house, token, "country=gb&account=acme&connector=operator") == both[1:]
    assert await groups(house, token, "connector=backup") == await groups(house, token, "older_than=1m") == []
    house.gateway.clock.ms += 61_000
    assert await groups(house, token, "older_than=1m") == both
    for query in ("older_than=soon", "country=Germany", "country=ZZ", "network=x"):
        assert (await house.ask(token, "GET", "/queue", query=query)).json["Field"] == query.partition("=")[0]
    assert (await house.ask(token, "GET", "/queue", query="connector=nowhere")).status == 404


async def test_messages_are_listed_in_pages(house: AdminHouse, token: str) -> None:
    ids = await waiting(house, DE, GB, DE)
    await act(house, token, "hold", country="GB")
    first = (await house.ask(token, "GET", "/queue/messages", query="limit=2")).json
    assert [(each["id"], each["held"]) for each in first["messages"]] == [(ids[0], ""), (ids[1], "administrator")]
    rest = (await house.ask(token, "GET", "/queue/messages", query=f"limit=2&after={first['cursor']}")).json
    assert ([each["id"] for each in rest["messages"]], rest["cursor"]) == (ids[2:], None)
    found = (await house.ask(token, "GET", "/queue/messages", query="country=DE&limit=1")).json
    assert [each["to"] for each in found["messages"]] == [DE]


async def test_messages_are_held_moved_released_and_cancelled(house: AdminHouse, token: str) -> None:
    await waiting(house, DE, DE, GB)
    before = await house.gateway.balance()
    changed = {"messages": 2, "left": 0, "silent_nodes": 0, "more": False}
    assert await act(house, token, "hold", connector="operator", country="DE") == changed
    assert await act(house, token, "hold", country="DE") == changed | {"messages": 0}
    assert await act(house, token, "move", account="acme", country="DE", to="backup") == changed
    assert await groups(house, token) == [
        ("backup", "acme", "DE", 2, 2, "2"),
        ("operator", "acme", "GB", 1, 0, "1"),
    ]
    assert await act(house, token, "release", connector="backup") == changed
    assert await act(house, token, "cancel", connector="backup") == changed
    assert await groups(house, token) == [("operator", "acme", "GB", 1, 0, "1")]
    assert int(await house.gateway.balance()) == int(before) + 2
    entries = [each for each in await house.entries() if each.action.startswith("queue.")]
    assert [each.action for each in entries[-2:]] == ["queue.begin", "queue.cancel"]
    moved = next(each for each in entries if each.action == "queue.move")
    assert (moved.target, moved.details) == (
        "acme",
        {"account": "acme", "country": "DE", "to": "backup", "messages": "2", "left": "0", "silent_nodes": "0"},
    )


async def test_an_action_needs_a_filter_and_known_names(house: AdminHouse, token: str) -> None:
    await waiting(house, DE)
    for action in QueueAction:
        given = {"to": "backup"} if action is QueueAction.MOVE else {}
        assert (await house.ask(token, "POST", f"/queue/{action}", given)).json["Field"] == "connector"
        assert (await house.ask(token, "POST", f"/queue/{action}", {**given, "account": "nobody"})).status == 404
    assert (await house.ask(token, "POST", "/queue/move", {"to": "nowhere", "account": "acme"})).status == 404
    assert await groups(house, token) == [("operator", "acme", "DE", 1, 0, "1")]


async def test_a_message_of_which_a_part_may_have_left_is_left_alone_and_counted(house: AdminHouse, token: str) -> None:
    await waiting(house, DE)
    await waiting(house, DE, attempted=True)
    assert await act(house, token, "cancel", account="acme") == {
        "messages": 1, "left": 1, "silent_nodes": 0, "more": False,
    }  # fmt: skip


async def test_nodes_are_asked_and_rows_that_they_claimed_meanwhile_are_changed_too(house: AdminHouse) -> None:
    """The last node never answers."""
    store, pauses = house.gateway.store, 0
    await waiting(house, DE)
    (row,) = await store.backlog.rows(0, 10)
    reports = [ConnectorReport(1, node, ConnectorState(), house.gateway.clock.now()) for node in NODES]
    old = ConnectorReport(1, 9, ConnectorState(), house.gateway.clock.now() - 60_000)
    await store.network.save_link_states([*reports, old])
    assert await store.queue.claim(1, 1, house.gateway.clock.now(), NODES[0])

    async def pause(seconds: float) -> None:
        nonlocal pauses
        pauses += 1
        orders = await store.backlog.orders(0)
        if len(orders) == 2:
            await store.queue.release(NODES[0])
        await store.backlog.answer(orders[-1].id, NODES[0], OrderAnswer(5, 2))

    desk = replace(house.admin.desk, pause=pause)
    given = {"connector": None, "account": "acme", "country": "", "network": "", "older_than": None}
    answer = await queue.hold(desk, **given)
    assert answer == {"messages": 11, "left": 2, "silent_nodes": 1, "more": False}
    assert (await store.backlog.rows(0, 10)) == [replace(row, held="!")]
    assert pauses == round(queue.ANSWER_S / queue.LOOK_S) + 1
    said = queue.QUEUE.format_done(queue.QUEUE.operation("hold"), given, answer)
    assert said.startswith("Held: 11 messages. Left alone, because a part may have left: 2. 1 node did not answer.")


async def test_the_page_shows_counts_and_acts_on_a_filter(house: AdminHouse) -> None:
    ada: Browser = await house.visitor()
    assert "No messages wait." in text_of(await ada.get("/queue"))
    await waiting(house, DE, DE, GB)
    every = await ada.get("/queue")
    assert "3 messages" in text_of(every)
    assert "Select a line, or give a filter" in text_of(every)
    assert "/queue/cancel" not in every.text
    chosen = await ada.get("/queue", "connector=operator&country=DE")
    assert "2 messages over operator to DE" in text_of(chosen)
    assert (
        'data-confirm="Cancel and refund 2 messages over operator to DE, and those of the last minute?"' in chosen.text
    )
    form = {"connector": "operator", "country": "DE"}
    held = text_of(await ada.follow(await ada.post("/queue/hold", form)))
    assert "Held: 2 messages." in held
    assert "2 messages over operator to DE, 2 held" in held
    moved = text_of(await ada.follow(await ada.post("/queue/move", {**form, "to": "backup"})))
    assert "Moved: 2 messages to backup." in moved
    wrong = await ada.post("/queue/cancel", {"country": "Germany"})
    assert (wrong.status, "country: 'Germany' is not a country" in text_of(wrong)) == (400, True)
    assert "/queue/hold" not in wrong.text
    viewer = await house.visitor("viewer", "vera")
    assert "/queue/hold" not in (await viewer.get("/queue", "connector=backup")).text
