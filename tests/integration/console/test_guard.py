"""The console's page of the pumping guard."""

from typing import Any

from heliograph.app.configuration import TrafficHold
from heliograph.app.facts import Facts, Queueing
from heliograph.app.records import Search
from heliograph.app.resources import messages
from heliograph.domain.message.ids import to_hex
from heliograph.domain.message.status import MessageStatus
from tests.integration.console.test_console import text_of
from tests.support.admin import AdminHouse, Browser
from tests.support.gateway import START


async def hold(house: AdminHouse) -> None:
    """Holds a message of acme."""
    store = house.gateway.store
    await store.guard.hold(TrafficHold(1, "44770", START, "70 messages this hour, usually 2; 98 % in a row"), 0)
    await house.gateway.send({"to": "447700900123", "from": "Helio", "content": "Hello"})
    accept = house.gateway.intake.accepted[-1]
    message = accept.messages[0]
    await store.commits.record(
        Facts(queueings=[Queueing(1, message.key, 1, message.time, message.expires, False, False, "44770")])
    )


async def test_what_is_held_is_shown_and_released(house: AdminHouse, ada: Browser) -> None:
    assert "Nothing is held or suspected." in text_of(await ada.get("/guard"))
    await hold(house)
    page = text_of(await ada.get("/guard"))
    assert "44770 acme" in page
    assert "70 messages this hour, usually 2; 98 % in a row" in page
    assert "The pumping guard holds 1 message of acme to 44770" in text_of(await ada.get("/"))
    told = text_of(await ada.follow(await ada.post("/guard/release", {"account": "acme", "prefix": "44770"})))
    assert "Released, and sent now: 1 message of acme to 44770." in told
    assert "Nothing is held or suspected." in told
    assert (await ada.post("/guard/release", {"account": "acme", "prefix": "44770"})).status == 400
    assert [entry.action for entry in await house.entries()][-1] == "guard.release"


async def test_what_is_held_is_refunded_and_stays_held(house: AdminHouse, ada: Browser) -> None:
    await hold(house)
    before = await house.gateway.balance()
    told = text_of(await ada.follow(await ada.post("/guard/refund", {"account": "acme", "prefix": "44770"})))
    assert "Cancelled and refunded: 1 message of acme to 44770." in told
    assert int(await house.gateway.balance()) == int(before) + 1
    assert "44770 acme" not in told  # the range stays held, and holds nothing now
    assert [entry.action for entry in await house.entries()][-1] == "guard.refund"


async def test_an_account_is_trusted_and_all_its_messages_are_sent(house: AdminHouse, ada: Browser) -> None:
    await hold(house)
    told = text_of(await ada.follow(await ada.post("/guard/trust", {"account": "acme"})))
    assert "Released, and sent now: 1 message of acme. The guard watches acme no longer." in told
    assert [entry.action for entry in await house.entries()][-2:] == ["account.set", "guard.release"]
    (account,) = [account for account, _ in await house.gateway.store.accounts.all() if account.name == "acme"]
    assert account.guard == "off"


async def test_a_button_is_for_whom_may_use_it(house: AdminHouse) -> None:
    await hold(house)
    assert "Trust account" in (await (await house.visitor("admin")).get("/guard")).text
    page = (await (await house.visitor("operator", "nils")).get("/guard")).text
    assert ("/guard/release" in page, "/guard/trust" in page) == (True, False)


async def test_a_suspicion_is_told_and_dismissed(house: AdminHouse, ada: Browser) -> None:
    await house.gateway.store.guard.hold(TrafficHold(1, "44770", START, "a surge", is_observed=True), 0)
    assert "44770 acme would hold" in text_of(await ada.get("/guard"))
    assert "The pumping guard suspects fraud in messages of acme to 44770, and sends them" in text_of(
        await ada.get("/")
    )
    await ada.post("/guard/release", {"account": "acme", "prefix": "44770"})
    assert "Nothing is held or suspected." in text_of(await ada.get("/guard"))


async def test_what_is_held_is_found_among_messages(house: AdminHouse, ada: Browser) -> None:
    await hold(house)
    await house.gateway.send({"to": "447700900999", "from": "Helio", "content": "Hello"})
    every, held = (
        text_of(await ada.get("/messages")),
        text_of(await ada.get("/messages", query="status=held&account=acme")),
    )
    assert ("447700900999" in every, "447700900123" in every) == (True, True)
    assert ("447700900999" in held, "447700900123" in held) == (False, True)
    assert "447700900123 held" in held
    token = await house.token("messages:read")
    found: list[dict[str, Any]] = []
    for query in ("held=true", "status=held", "held=true&status=held"):
        found = (await house.ask(token, "GET", "/messages", query=query)).json["messages"]
        assert [(each["to"], each["status"]) for each in found] == [("447700900123", "held")]
    assert (await house.ask(token, "GET", "/messages", query="held=true&status=failed")).json["Field"] == "held"
    shown = (await house.ask(token, "GET", f"/messages/{found[0]['id']}")).json
    assert (shown["status"], shown["held"]) == ("held", "guard")
    assert len((await house.ask(token, "GET", "/messages", query="held=false")).json["messages"]) == 2
    assert (await house.ask(token, "GET", "/messages", query="held=maybe")).json["Field"] == "held"


async def test_a_customer_reads_that_a_message_is_held(house: AdminHouse) -> None:
    await hold(house)
    message = house.gateway.intake.accepted[-1].messages[0]
    path = f"/api/v1/messages/{to_hex(message.key, message.tail)}"
    record = (await house.gateway.call("GET", path, query="delivery=true")).json
    assert record["Delivery"] == {"State": "HELD", "Err": "", "Done": None}
    assert "Delivery" not in (await house.gateway.call("GET", path)).json
    events = (await house.gateway.call("GET", f"{path}/events")).json["events"]
    assert [each["Detail"] for each in events if each["Event"] == "Held"] == ["for review"]
    page = (await house.gateway.call("GET", "/api/v1/messages", query="delivery=true")).json
    assert [each["Delivery"] for each in page["messages"]] == [record["Delivery"]]


async def test_what_is_held_is_found_among_messages_of_an_id_and_of_a_reference(house: AdminHouse) -> None:
    await hold(house)
    held = house.gateway.intake.accepted[-1].messages[0]
    fields = {"to": "447700900999", "from": "Helio", "content": "Hello", "reference": "r1"}
    sent = (await house.gateway.send(fields)).json["Id"]

    async def found(text: str, *, held: bool) -> list[str]:
        page = await messages.find(house.admin.desk, text, Search(limit=9, status=MessageStatus.HELD if held else None))
        return [to_hex(hit.message.key, hit.message.tail) for hit in page.hits]

    waits = to_hex(held.key, held.tail)
    assert await found(waits, held=True) == await found(waits, held=False) == [waits]
    for text in (sent, "r1"):
        assert await found(text, held=False) == [sent]
        assert await found(text, held=True) == []
    token = await house.token("messages:read")
    for asked, number in (("reference=r1", 1), ("reference=r1&held=true", 0)):
        assert len((await house.ask(token, "GET", "/messages", query=asked)).json["messages"]) == number
