"""The console: who may see and do what, what its forms do, and that nothing foreign gets in."""

import asyncio
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from html import unescape
from typing import Any
from urllib.parse import urlencode

import pytest

from heliograph.app.admin.sign_in import IDLE_MS
from heliograph.app.configuration import Price
from heliograph.app.facts import CallbackRetry, Facts, MessageEnd, Queueing
from heliograph.app.ports.carrier_state import ConnectorReport, ConnectorState
from heliograph.app.ports.sending_lists import SendingList
from heliograph.app.records import SCOPES_OF, Scope, UserRole
from heliograph.app.resources import accounts, connectors, users
from heliograph.console import recipients
from heliograph.console.pages import PAGES, sending
from heliograph.console.pages import accounts as account_pages
from heliograph.console.request import NOTICE_COOKIE, SESSION_COOKIE
from heliograph.domain.error import Reason
from heliograph.domain.message.ids import to_hex
from heliograph.domain.message.receipt import Delivery
from heliograph.domain.message.way import Way
from tests.integration.admin.test_refusals import write_refusals
from tests.support import timeouts
from tests.support.admin import STATE, AdminHouse, Answered, Browser
from tests.support.connectors import smpp_connector
from tests.support.store import CREDIT, Given
from tests.support.use_case_fakes import PortedServer

NO_MESSAGE = "019e2b1c5f3a70008c1de1f5a0b7c3d2"
EVIL = "<script>alert(1)</script>"


async def until(look: Callable[[], Awaitable[Answered]], words: str) -> Answered:
    """The page, once it has these words."""

    async def page_with_words() -> Answered | None:
        return page if words in text_of(page := await look()) else None

    return await timeouts.until(page_with_words, f"a page with {words}")


async def sent(house: AdminHouse, **fields: Any) -> str:
    reply = await house.gateway.send({"to": "491701234567", "from": "Test", "content": "Hello", **fields})
    assert reply.status == 200, reply.body
    message: str = reply.json["Id"]
    return message


async def owed(house: AdminHouse) -> str:
    message = await sent(house, **{"dlr": "yes", "dlr-url": "https://customer.example/r"})
    key, now = house.gateway.intake.accepted[-1].key, house.gateway.clock.now()
    store = house.gateway.store
    await store.commits.record(Facts(finals=[MessageEnd(1, key, Delivery.UNDELIV, "011", now, owed=True)]))
    await store.commits.record(Facts(callback_retries=[CallbackRetry(1, key, now + 5, 1, b"x", "HTTP 500", now)]))
    return message


PROOF = {"old": "correct horse"}
"""Fields that a change of others takes besides a session."""


def text_of(answered: Answered) -> str:
    """What a person reads."""
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", answered.text)).split())


def path_of(path: str) -> str:
    return path.replace("{name}", "acme").replace("{id}", NO_MESSAGE).replace("{job}", "x").replace("{key}", "1")


# --- who may


async def test_strangers_are_sent_to_sign_in_and_back_to_where_they_wanted(house: AdminHouse) -> None:
    stranger = Browser(house.console)
    answered = await stranger.get("/accounts/acme")
    assert (answered.status, answered.header("location")) == (303, "/console/sign-in?next=%2Faccounts%2Facme")
    await users.create(house.desk, "ada", UserRole.ADMIN, "correct horse")
    page = await stranger.get("/sign-in", "next=/accounts/acme")
    assert 'action="/console/sign-in?next=%2Faccounts%2Facme"' in page.text


@pytest.mark.parametrize("wanted", ["https://evil.example", "//evil.example", "javascript:alert(1)", "/sign-in"])
async def test_nobody_is_led_elsewhere_after_signing_in(house: AdminHouse, wanted: str) -> None:
    await users.create(house.desk, "ada", UserRole.ADMIN, "correct horse")
    browser = Browser(house.console)
    page = await browser.get("/sign-in", f"next={wanted}")
    assert 'action="/console/sign-in"' in page.text


@pytest.mark.parametrize("page", PAGES, ids=lambda page: f"{page.method} {page.path}")
async def test_every_page_is_for_who_is_signed_in_and_may(house: AdminHouse, page: Any) -> None:
    stranger = Browser(house.console)
    ask = stranger.get if page.method == "GET" else stranger.post
    assert (await ask(path_of(page.path))).status == (303 if page.method == "GET" else 401)
    for role in UserRole:
        visitor = await house.visitor(role.value, f"a-{role.value}")
        ask = visitor.get if page.method == "GET" else visitor.post
        answered = await ask(path_of(page.path))
        if page.scope in SCOPES_OF[role]:
            assert answered.status not in (401, 403, 405, 500), text_of(answered)
        else:
            assert answered.status == 403
            assert "This needs the role" in answered.text


async def test_no_form_is_taken_without_the_sessions_token(house: AdminHouse, ada: Browser) -> None:
    before = len(await house.entries())
    for page in PAGES:
        for form in ({}, {"csrf": "wrong"}) if page.method == "POST" else ():
            answered = await ada.post(path_of(page.path), form, bare=True)
            assert answered.status == 403, page.path
    assert len(await house.entries()) == before


async def test_forms_of_other_sites_are_not_taken(house: AdminHouse, ada: Browser) -> None:
    path, form, host = "/accounts/acme/top-up", {"amount": "5"}, "console.example"
    assert (await ada.post(path, form, sec_fetch_site="cross-site")).status == 403
    assert (await ada.post(path, form, origin="https://evil.example", host=host)).status == 403
    assert (await ada.post(path, form, origin="http://console.example", host=host)).status == 303
    stranger = Browser(house.console)
    for header in ({"sec_fetch_site": "cross-site"}, {"origin": "http://["}):
        assert (await stranger.post("/sign-in", {"name": "ada"}, bare=True, **header)).status == 403


async def test_the_session_cookie_is_out_of_reach(house: AdminHouse) -> None:
    await users.create(house.desk, "ada", UserRole.ADMIN, "correct horse")
    browser = Browser(house.console)
    answered = await browser.sign_in("ada", "correct horse")
    morsel = answered.cookies[SESSION_COOKIE]
    assert morsel["httponly"]
    assert (morsel["samesite"], morsel["path"], morsel["secure"]) == ("Strict", "/console", "")
    assert morsel.value not in str(house.gateway.store._place.people.sessions)


async def test_wrong_passwords_are_told_and_slowed_down(house: AdminHouse) -> None:
    await users.create(house.desk, "ada", UserRole.ADMIN, "correct horse")
    browser = Browser(house.console)
    for _ in range(5):
        answered = await browser.sign_in("ada", EVIL)
        assert answered.status == 401
        assert "The name or the password is wrong." in answered.text
    answered = await browser.sign_in("ada", "correct horse")
    assert answered.status == 429
    assert answered.header("retry-after") == "300"


async def test_a_page_that_refreshes_itself_keeps_nobody_signed_in(house: AdminHouse, ada: Browser) -> None:
    for _ in range(3):
        house.gateway.clock.ms += IDLE_MS // 2
        assert (await ada.get("/accounts")).status == 200
    house.gateway.clock.ms += IDLE_MS // 2
    assert (await ada.get("/connectors-live", x_piece="1")).status == 200
    house.gateway.clock.ms += IDLE_MS // 2
    assert (await ada.get("/connectors-live", x_piece="1")).status == 401
    assert (await ada.get("/accounts")).status == 303


async def test_signing_out_ends_the_session(house: AdminHouse, ada: Browser) -> None:
    cookie = ada.cookies[SESSION_COOKIE]
    assert (await ada.post("/sign-out")).status == 303
    assert SESSION_COOKIE not in ada.cookies
    ada.cookies[SESSION_COOKIE] = cookie
    assert (await ada.get("/")).status == 303
    piece = await ada.get("/live", x_piece="1")
    assert piece.status == 401


async def test_ones_own_password_takes_the_old_one(house: AdminHouse, ada: Browser) -> None:
    form = {"old": "wrong", "new": "a new password", "again": "a new password"}
    assert "The password is wrong." in (await ada.post("/password", form)).text
    assert "passwords differ" in (await ada.post("/password", form | {"again": "x"})).text
    assert "10 to 128" in (await ada.post("/password", {"old": "correct horse", "new": "x", "again": "x"})).text
    answered = await ada.post("/password", form | {"old": "correct horse"})
    assert answered.header("location") == "/console/sign-in"
    assert SESSION_COOKIE not in ada.cookies
    assert (await ada.sign_in("ada", "a new password")).status == 303


# --- nothing foreign


async def test_every_answer_has_the_headers_that_keep_others_out(house: AdminHouse, ada: Browser) -> None:
    for path in ("/", "/sign-in", "/nothing", "/assets/console.js"):
        answered = await ada.get(path)
        policy = answered.header("content-security-policy")
        assert policy is not None
        assert "default-src 'none'" in policy
        assert "script-src 'self';" in policy
        assert "unsafe" not in policy
        assert answered.header("x-frame-options") == "DENY"
        assert answered.header("x-content-type-options") == "nosniff"
    assert (await ada.get("/")).header("cache-control") == "no-store"
    assert "immutable" in str((await ada.get("/assets/console.css")).header("cache-control"))
    assert (await ada.get("/assets/../app.py")).status == 404


async def test_no_page_has_script_or_style_of_its_own_or_of_others(house: AdminHouse, ada: Browser) -> None:
    await owed(house)
    for page in PAGES:
        if page.method == "GET":
            text = (await ada.get(path_of(page.path))).text
            assert not re.search(r"<script(?! src=\"/console/)", text), page.path
            assert not re.search(r"\s(style|on\w+)=", re.sub(r">[^<]*<", "><", text)), page.path
            assert not re.search(r"(src|href|action)=\"(?!/console|/docs\"|/admin/docs\"|#)", text), page.path


async def test_what_others_wrote_is_shown_and_does_nothing(house: AdminHouse, ada: Browser) -> None:
    message = await sent(house, content=EVIL, reference=EVIL[:40])
    await house.gateway.change_account(callback_url=f"https://x.example/{EVIL}")
    pages = [
        await ada.get(f"/messages/{message}"),
        await ada.get("/messages", "q=%3Cscript%3Ealert(1)%3C/script%3E"),
        await ada.get("/accounts/acme"),
        await ada.get("/simulator"),
        await ada.post("/send/quote", {"content": EVIL, "account": EVIL, "recipients": EVIL}),
        await ada.post(
            "/send/preview", {"content": EVIL, "account": "acme", "sender": "ACME", "recipients": "491701234567"}
        ),
        await ada.get("/audit", "actor=%3Cscript%3E"),
    ]
    ada.cookies[NOTICE_COOKIE] = "%3Cscript%3Ealert(1)%3C/script%3E"
    pages.append(await ada.get("/"))
    for page in pages:
        assert page.status == 200
        assert "<script>" not in page.text
        assert "<b>bold" not in page.text
    assert EVIL in unescape(pages[0].text)


# --- pages


async def test_the_overview_says_what_needs_attention(
    house: AdminHouse, ada: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = house.gateway.store
    await owed(house)
    monkeypatch.setattr(STATE, "bound", 0)
    monkeypatch.setattr(STATE.binds[0], "last_error", "connection refused")
    monkeypatch.setattr(STATE.binds[0], "last_error_at", 1_800_000_000_000)
    assert "operator is down: connection refused." in text_of(await ada.get("/"))
    assert "Needs attention" in text_of(await ada.get("/live", x_piece="1"))
    monkeypatch.undo()
    await store.network.add_connector(smpp_connector(0, "second", "h", 1, "s", "p"))
    text = text_of(await ada.get("/"))
    assert "second connecting It is being started." in text
    assert "second is down" not in text
    assert "operator up It is bound. 2 / 10 3" in text
    assert "Callbacks pending 1" in text
    house.admin.desk.healthy = lambda: False
    assert "The store does not take what is written" in text_of(await ada.get("/"))


async def test_a_new_connector_is_connecting_until_it_has_a_state(house: AdminHouse, ada: Browser) -> None:
    network = house.gateway.store.network
    added = await network.add_connector(smpp_connector(0, "second", "h", 1, "s", "p"))
    page = await ada.get("/connectors/second")
    assert '<span class="badge neutral">connecting</span>' in page.text
    assert 'data-refresh="/console/connectors/second/live"' in page.text
    assert "data-settled" not in page.text.replace("[data-settled]", "")
    piece = await ada.get("/connectors/second/live", "part=badge", x_piece="1")
    assert "connecting" in piece.text
    assert "data-settled" not in piece.text
    report = ConnectorState(connector="second", summary="It is bound.", bound=1)
    await network.save_link_states([ConnectorReport(added.id, 1, report, house.gateway.clock.now())])
    piece = await ada.get("/connectors/second/live", "part=badge", x_piece="1")
    assert "<span data-settled>" in piece.text
    assert text_of(piece).strip() == "up"
    assert "It is bound." in text_of(await ada.get("/connectors/second/live", x_piece="1"))
    assert (await ada.get("/connectors/nobody/live")).status == 404


async def test_a_connector_says_why_messages_take_another(house: AdminHouse, ada: Browser) -> None:
    network = house.gateway.store.network
    added = await network.add_connector(smpp_connector(0, "second", "h", 1, "s", "p"))
    report = ConnectorState(connector="second", summary="It is bound.", bound=1, obstacle="failing most messages")
    await network.save_link_states([ConnectorReport(added.id, 1, report, house.gateway.clock.now())])
    sentence = "Messages take another connector where they can: it is failing most messages."
    assert sentence in text_of(await ada.get("/connectors/second/live", x_piece="1"))
    for page in ("/", "/connectors"):
        assert text_of(await ada.get(page)).count(f"It is bound. {sentence}") == 1
    assert "second fails most messages: see why, and test it." in text_of(await ada.get("/"))
    assert (await ada.get("/attention", x_piece="1")).json["/console/connectors"] == "1"


async def test_an_operator_that_answers_nothing_needs_attention(
    house: AdminHouse, ada: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(STATE, "silent", 1)
    monkeypatch.setattr(STATE, "summary", "It is bound, but the operator has not responded for 45 s.")
    text = text_of(await ada.get("/"))
    assert "operator answers nothing: see why, and test it." in text
    assert "operator silent It is bound, but" in text
    assert "silent" in text_of(await ada.get("/connectors"))
    assert "silent" in text_of(await ada.get("/connectors/operator"))


async def test_national_numbers_that_nobody_understands_need_attention(
    house: AdminHouse, ada: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(STATE.counters, "national_numbers", 1)
    text = text_of(await ada.get("/"))
    assert "operator brings messages from national numbers, which STOP does not suppress: set inbound_country." in text
    assert "National numbers 1" in text_of(await ada.get("/connectors/operator"))


async def test_receivers_that_fail_and_accounts_without_credit_are_named(house: AdminHouse, ada: Browser) -> None:
    store = house.gateway.store
    await owed(house)
    text = text_of(await ada.get("/"))
    assert "customer.example" not in text, "one failed try is none of their business"
    assert "no credit" not in text
    key, now = house.gateway.intake.accepted[-1].key, house.gateway.clock.now()
    await store.commits.record(Facts(callback_retries=[CallbackRetry(1, key, now + 5, 3, b"x", "HTTP 500", now)]))
    balance = await store.customers.balance(1)
    await store.accounts.add_credit(1, -balance, "", now)
    page = await ada.get("/")
    text = text_of(page)
    assert "Receivers of acme fail, and 1 callback or more wait for them: see why, or stop them." in text
    assert "acme has no credit, so that its requests are refused: top it up." in text
    assert "/accounts/acme" in page.text
    assert "/callbacks?account=acme" in page.text


async def test_messages_are_found(house: AdminHouse, ada: Browser) -> None:
    message = await sent(house, reference="order-1")
    await sent(house, to="431234567890")
    assert message in (await ada.get("/messages", "q=order-1")).text
    found = await ada.get("/messages", "q=%2B49+170")
    assert message in found.text
    assert "431234567890" not in found.text
    assert "Nothing was found" in (await ada.get("/messages", "q=nothing-like-it")).text
    assert "there is no account nobody" in (await ada.get("/messages", "account=nobody")).text.lower()
    assert "Give a time" in (await ada.get("/messages", "start=yesterday")).text


async def test_long_searches_can_be_gone_on_with(house: AdminHouse, ada: Browser) -> None:
    for _ in range(60):
        await sent(house)
    page = await ada.get("/messages", "q=49")
    match = re.search(r'href="/console/messages\?([^"]*more=[^"]*)"', page.text)
    assert match is not None
    older = await ada.get("/messages", unescape(match[1]))
    assert older.text.count('scope="row"') == 10


async def test_a_messages_page_tells_its_whole_story(house: AdminHouse, ada: Browser) -> None:
    message = await owed(house)
    text = text_of(await ada.get(f"/messages/{message}"))
    for part in (
        "Message to 491701234567 undelivered",
        "Hello",
        "charge",
        "−1",
        "It was accepted for operator",
        "The route for all numbers with priority 0 leads to operator.",
        "1 try so far : HTTP 500",
        "UNDELIV 011",
    ):
        assert part in text or part.replace(" : ", ": ") in text, part
    assert (await ada.get(f"/messages/{NO_MESSAGE}")).status == 404


async def test_a_receipt_that_goes_to_a_bind_is_shown(house: AdminHouse, ada: Browser) -> None:
    message = await Given(house.gateway.store, house.gateway.clock.now()).sent(1, way=Way.BIND)
    text = text_of(await ada.get(f"/messages/{to_hex(message.key, message.tail)}"))
    assert "It goes to an SMPP bind of the account." in text
    assert "It is sent when the message has reached its final state." in text


async def test_a_message_is_moved_into_the_second_of_two_equal_hours(house: AdminHouse, ada: Browser) -> None:
    await house.gateway.change_account(timezone="Europe/Berlin")
    message = await sent(house, time="2027-02-01 10:00:00")
    page = await ada.follow(await ada.post(f"/messages/{message}/reschedule", {"time": "2027-10-31T01:30"}))
    assert 'for <time datetime="2027-10-31T01:30:00Z">' in page.text


async def test_a_scheduled_message_is_moved_and_cancelled(house: AdminHouse, ada: Browser) -> None:
    message = await sent(house, time="2027-02-01 10:00:00")
    path = f"/messages/{message}"
    assert "Not sent yet" in (await ada.get(path)).text
    answered = await ada.post(f"{path}/reschedule", {"time": "2000-01-01T00:00"})
    assert answered.status == 409
    assert "The time has passed" in answered.text
    page = await ada.follow(await ada.post(f"{path}/reschedule", {"time": "2027-03-01T09:30"}))
    assert "The message has a new time." in page.text
    assert "2027-03-01 09:30:00" in page.text
    assert 'for <time datetime="2027-03-01T09:30:00Z">' in page.text
    page = await ada.follow(await ada.post(f"{path}/cancel"))
    assert "cancelled and refunded" in page.text
    assert "Not sent yet" not in page.text
    assert "The message has a new time." not in page.text
    assert (await ada.post(f"{path}/cancel")).status == 409
    entries = [(deed.actor, deed.action, deed.address) for deed in await house.entries()]
    assert entries[-2:] == [
        ("user:ada", "message.reschedule", "192.0.2.7"),
        ("user:ada", "message.cancel", "192.0.2.7"),
    ]


async def test_callbacks_are_given_up_and_replayed(house: AdminHouse, ada: Browser) -> None:
    message = await owed(house)
    assert "customer.example" in (await ada.get("/callbacks")).text
    assert message[:12] in (await ada.get("/callbacks", "tab=pending")).text
    assert "Receivers of acme" in text_of(page := await ada.get("/callbacks", "account=acme"))
    assert "customer.example" in page.text
    assert "customer.example" not in (await ada.get("/callbacks", "account=other")).text
    assert (await ada.post("/callbacks/drop", {"host": "customer.example", "account": "other"})).status == 404
    page = await ada.follow(await ada.post("/callbacks/drop", {"host": "customer.example", "account": "acme"}))
    assert "1 callback to customer.example failed" in page.text
    assert (await ada.post("/callbacks/drop", {"host": "customer.example"})).status == 404
    assert message[:12] in (await ada.get("/callbacks", "tab=failed")).text
    page = await ada.follow(await ada.post(f"/messages/{message}/replay"))
    assert "retried" in page.text
    assert (await ada.post(f"/messages/{message}/replay")).status == 409
    await ada.post("/callbacks/drop", {"host": "customer.example"})
    await house.gateway.store.accounts.update(1, {"low_balance": 900 * CREDIT, "callback_url": "https://c.example"})
    await house.gateway.store.accounts.add_credit(1, -200 * CREDIT, "", house.gateway.clock.now())
    assert "low balance" in (await ada.get("/callbacks", "tab=pending")).text
    page = await ada.follow(await ada.post("/callbacks/replay", {"account": "acme"}))
    assert page.status == 200


# --- sending

SEND = {
    "account": "acme",
    "sender": "ACME",
    "recipients": "491701234567",
    "content": "Hello",
    "kind": "text",
    "time": "",
}
TABLE = "mobile;name\n+49 170 1234567;Ada\n0043 1234567890;Bob\n12;Eve"


async def test_what_is_typed_is_quoted_as_it_will_be_charged(house: AdminHouse, ada: Browser) -> None:
    quoted = text_of(await ada.post("/send/quote", SEND | {"content": "x" * 161}, x_piece="1"))
    assert quoted == "Characters 161 Encoding GSM-7 Segments 2 Recipients 1 Price 2 credits"
    quoted = text_of(await ada.post("/send/quote", SEND | {"content": "€ ✓", "recipients": ""}))
    assert quoted == "Characters 3 Encoding UCS-2 Segments 1 Recipients – Price –"
    quoted = text_of(await ada.post("/send/quote", SEND | {"recipients": "0170"}))
    assert "The destination must" in quoted
    quoted = text_of(await ada.post("/send/quote", SEND | {"content": "x" * 71_401}))
    assert "Encoding – Segments – Recipients –" in quoted, "it is not counted"
    assert "The text has more than 71,400 characters" in quoted


async def test_the_texts_of_a_list_fit_the_memory(ada: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sending, "MAX_LIST_CHARS", 11)
    form = SEND | {"recipients": TABLE, "content": "Hi {name}"}
    assert "The texts have more than 11 characters" in text_of(await ada.post("/send/start", form))


async def test_the_preview_of_a_list_has_the_prices_of_networks(house: AdminHouse, ada: Browser) -> None:
    directory = house.gateway.directory
    directory.ported = ported = PortedServer(known=())
    form = SEND | {"recipients": "447700900123\n447700900124"}
    assert "Total 2 credits" in text_of(await ada.post("/send/preview", form))
    assert ported.asked == [], "no price depends on a network"
    await house.gateway.store.network.set_price(Price("default", "", 3_000_000, network="23433"))
    await directory.refresh()
    assert "Total 4 credits" in text_of(await ada.post("/send/preview", form))
    assert ported.asked == ["447700900123", "447700900124"]


async def test_a_list_is_previewed_and_sent(house: AdminHouse, ada: Browser) -> None:
    form = SEND | {"recipients": TABLE, "content": "Hi {name}"}
    preview = await ada.post("/send/preview", form)
    text = text_of(preview)
    assert "Messages 2 Total 2 credits" in text
    assert "1 of 3 rows cannot be sent and is left out" in text
    assert "Hi Ada" in text
    assert "Send 2 messages" in text
    started = await ada.post("/send/start", form | {"column": "0"})
    text = text_of(await until(lambda: ada.follow(started), "in 0 s"))
    assert "3 of 3 rows handed in, in 0 s; 1 refused." in text
    assert "Waiting 2" in text
    assert "Charged 2 credits" in text
    assert [accept.messages[0].content for accept in house.gateway.intake.accepted] == ["Hi Ada", "Hi Bob"]
    location = started.header("location")
    assert location is not None
    result = await ada.get(location.removeprefix("/console") + "/result")
    lines = result.text.splitlines()
    assert lines[0] == "row,number,status,id,price,problem"
    assert [line.split(",")[:3] for line in lines[1:]] == [
        ["1", "491701234567", "pending"], ["2", "431234567890", "pending"], ["3", "12", "refused"],
    ]  # fmt: skip
    sent, exported = (await house.entries())[-2:]
    assert (sent.action, sent.target, exported.action, exported.target) == (
        "message.send", "list 1", "message.export", "list 1",
    )  # fmt: skip
    assert sent.details == {"account": "acme", "messages": "3", "name": "ACME 2027-01-15 08:00"}
    assert exported.details == {"account": "acme", "name": "ACME 2027-01-15 08:00"}
    assert "ACME 2027-01-15 08:00 acme, 3 rows 1 refused" in text_of(await ada.get("/send"))
    assert "ACME 2027-01-15 08:00 acme done 3 3 1" in text_of(await ada.get("/lists"))


async def test_the_preview_leaves_out_phones_that_opted_out(house: AdminHouse, ada: Browser) -> None:
    table = "mobile;name\n+49 170 1234567;Ada\n0043 1234567890;Bob\n12;Eve\n;Zoe\n447700900123;Kim\n491701234567;Al"
    form = SEND | {"recipients": table, "content": "Hi {name}"}
    store, now = house.gateway.store, house.gateway.clock.now()
    await store.suppressions.suppress(1, ["431234567890", "447700900123"], "import", now)
    page = await ada.post("/send/preview", form)
    text = text_of(page)
    assert "Messages 2 Total 2 credits" in text
    assert (
        "4 of 6 rows cannot be sent and are left out: "
        "Row 3, column mobile: The destination is too short: 2 digits, the limit is 7; give digits with the country "
        "code, such as 447700900123. It is '12'. "
        "Row 4, column mobile: The destination is empty; give digits with the country code, such as 447700900123. "
        "It is ''. "
        "The recipient opted out: 431234567890 (row 2) and 447700900123 (row 5). "
    ) in unescape(text)
    assert (
        "1 number occurs more than once. A message is sent and charged for each row: 491701234567 (rows 1 and 6)"
        in text
    )
    assert "Rows are counted below the heading, as in the file of results." in text
    assert "431234567890 opted out" in text, "in the table of the first rows"
    assert "Send 2 messages" in text
    quoted = text_of(await ada.post("/send/quote", form, x_piece="1"))
    assert "Price 2 credits 4 of 6 cannot be sent. 431234567890 opted out." in quoted
    # acceptance decides: it refuses them once more, and takes a phone that came back meanwhile
    await store.suppressions.lift(1, "447700900123")
    started = await ada.post("/send/start", form)
    text = text_of(await until(lambda: ada.follow(started), "6 of 6"))
    assert "6 of 6 rows handed in, in 0 s; 3 refused." in text
    assert "Charged 3 credits" in text


async def test_the_credit_is_not_used_up_by_phones_that_opted_out(house: AdminHouse, ada: Browser) -> None:
    await accounts.top_up(house.admin.desk, "acme", -999_000_000)
    await house.gateway.change_account("acme", daily_messages=1)
    await house.gateway.store.suppressions.suppress(1, ["491701234567"], "import", house.gateway.clock.now())
    text = text_of(await ada.post("/send/preview", SEND | {"recipients": "491701234567,431234567890"}))
    assert "Messages 1 Total 1 credit" in text
    assert "too low" not in text
    assert "would be refused now" not in text
    assert "1 of 2 rows cannot be sent and is left out: The recipient opted out: 491701234567 (row 1)." in text
    assert "below the heading" not in text
    text = text_of(await ada.post("/send/preview", SEND | {"recipients": "491701234567"}))
    assert "Messages 0 Total 0 credits" in text
    assert "Send 0" not in text


async def test_a_long_list_is_checked_for_opt_outs_in_pieces(
    house: AdminHouse, ada: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sending, "MOST_AMONG", 3)
    store, asked = house.gateway.store, list[list[str]]()
    numbers = [f"4917012345{n:02}" for n in range(8)]
    await store.suppressions.suppress(1, [numbers[0], numbers[4], numbers[7]], "import", house.gateway.clock.now())
    among = store.suppressions.among

    async def noted(account: int, some: Sequence[str]) -> set[str]:
        asked.append(list(some))
        return await among(account, some)

    monkeypatch.setattr(store.suppressions, "among", noted)
    rows = [*numbers[:4], "x" * 100_000, *numbers[4:]]
    text = text_of(await ada.post("/send/preview", SEND | {"recipients": "\n".join(["mobile", *rows])}))
    assert asked == [numbers[:3], [numbers[3], numbers[4]], numbers[5:]]
    assert "Messages 5 Total 5 credits" in text
    assert f"opted out: {numbers[0]} (row 1), {numbers[4]} (row 6) and {numbers[7]} (row 9)." in text


async def test_a_long_list_leaves_the_event_loop_to_others(
    house: AdminHouse, ada: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns, filled, fill = 0, Counter[int](), recipients.fill

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    def counted(text: str, columns: Sequence[str], row: Sequence[str]) -> str:
        filled[turns] += 1
        return fill(text, columns, row)

    monkeypatch.setattr(recipients, "fill", counted)
    running = asyncio.create_task(others())
    form = SEND | {"recipients": "\n".join(["number,name", *(f"49170{row:07},Ada" for row in range(500))])}
    for path in ("/send/preview", "/send/start"):
        filled.clear()
        assert (await ada.post(path, form | {"content": "Hi {name}"})).status in (200, 303)
        assert (filled.total(), max(filled.values())) == (500, 50), path
    running.cancel()


@pytest.mark.parametrize("column", ["²", "9" * 5_000, "-1"])
async def test_a_column_that_is_none_is_as_if_none_was_chosen(house: AdminHouse, ada: Browser, column: str) -> None:
    form = SEND | {"recipients": TABLE, "content": "Hi {name}", "column": column}
    assert "Messages 2 Total 2 credits" in text_of(await ada.post("/send/preview", form))


async def test_a_form_that_is_sent_twice_sends_one_list(house: AdminHouse, ada: Browser) -> None:
    found = re.search(r'name="form" value="([\w-]+)"', (await ada.post("/send/preview", SEND)).text)
    assert found is not None
    first, second = [await ada.post("/send/start", SEND | {"form": found[1]}) for _ in range(2)]
    assert first.header("location") == second.header("location")
    await until(lambda: ada.follow(first), "1 of 1 row handed in")
    assert len(house.gateway.intake.accepted) == 1
    assert [each.target for each in await house.entries() if each.action == "message.send"] == ["list 1"]
    assert found[1] not in (await ada.post("/send/preview", SEND)).text, "the next list has its own name"


async def test_a_list_has_a_name(house: AdminHouse, ada: Browser) -> None:
    form = SEND | {"recipients": "491701234567", "name": " Spring  sale "}
    assert 'name="name" value=" Spring  sale "' in (await ada.post("/send/preview", form)).text
    started = await ada.post("/send/start", form)
    assert "<h1>Spring sale</h1>" in (await ada.follow(started)).text
    long = await ada.post("/send/start", SEND | {"recipients": "491701234567", "name": "x" * 81})
    assert (long.status, "A name has up to 80 characters." in long.text) == (400, True)


async def test_the_rest_of_a_list_can_be_paused_and_cancelled(house: AdminHouse, ada: Browser) -> None:
    house.gateway.intake.full = True
    started = await ada.post("/send/start", SEND | {"recipients": "\n".join(["491701234567"] * 50)})
    location = str(started.header("location")).removeprefix("/console")
    assert "sending" in (await ada.get(f"{location}/live")).text
    house.gateway.clock.forward(1)
    assert "Paused and held: 0 messages." in text_of(await ada.follow(await ada.post(f"{location}/pause")))
    assert "paused" in text_of(await ada.get(location))
    assert "Resumed and released" in text_of(await ada.follow(await ada.post(f"{location}/resume")))
    cancelled = await ada.follow(await ada.post(f"{location}/cancel"))
    assert "Cancelled and refunded: 0 messages." in text_of(cancelled)
    house.gateway.clock.forward(1)
    house.gateway.intake.full = False
    page = await until(lambda: ada.get(f"{location}/live"), "rows were not handed in, and not charged")
    assert "cancelled" in text_of(page)
    assert (await ada.get(f"{location}/result")).text.count("not sent") >= 49
    again = await ada.post(f"{location}/resume")
    assert (again.status, "list 1 is cancelled" in again.text) == (400, True)
    actions = [entry.action for entry in await house.entries()]
    assert [each for each in actions if each.startswith("sending-list")] == [
        "sending-list.pause", "sending-list.resume", "sending-list.cancel",
    ]  # fmt: skip
    await house.console.stop()


async def test_a_pause_holds_what_waits_and_a_resumption_releases_it(house: AdminHouse, ada: Browser) -> None:
    form = SEND | {"recipients": "491701234567,431234567890", "time": "2027-01-16T08:00"}
    started = await ada.post("/send/start", form)
    await until(lambda: ada.follow(started), "2 of 2 rows handed in")
    location = str(started.header("location")).removeprefix("/console")
    other = await ada.post("/send/start", form | {"recipients": "447700900123"})
    await until(lambda: ada.follow(other), "1 of 1 row handed in")
    assert "Paused and held: 2 messages." in text_of(await ada.follow(await ada.post(f"{location}/pause")))
    assert "Waiting 0 Held 2" in text_of(await ada.get(location))
    assert "Waiting 0 Scheduled 1 Result" in text_of(await ada.follow(other))
    assert "Resumed and released: 2 messages." in text_of(await ada.follow(await ada.post(f"{location}/resume")))
    assert "Waiting 0 Scheduled 2 Result" in text_of(await ada.get(location))
    cancelled = await ada.follow(await ada.post(f"{location}/cancel"))
    assert "Cancelled and refunded: 2 messages." in text_of(cancelled)
    assert "Charged 0 credits" in text_of(await ada.get(location))
    assert "Scheduled 1" in text_of(await ada.follow(other))


async def test_a_list_that_the_gateway_ended_amid_is_not_forgotten(house: AdminHouse, ada: Browser) -> None:
    """Another run of the gateway took two rows of three."""
    store, now = house.gateway.store, house.gateway.clock.now()
    account = await store.accounts.find("acme")
    assert account is not None
    given = Given(store, now)
    row = SendingList(0, account[0].id, "Spring sale", "user:ada", now, 3, handed_in=2)
    row.id = await store.sending_lists.add(row)
    for index, number in ((3, "431234567890"), (1, "491701234567")):
        await given.sent(account[0].id, destination=number, reference=f"sending-list-{row.id}-{index}")
    assert "Spring sale acme, 3 rows interrupted" in text_of(await ada.get("/send"))
    page = text_of(await ada.get(f"/lists/{row.id}"))
    assert "2 of 3 rows handed in" in page
    assert "Charged 2 credits" in page
    assert "The other 1 row was not accepted, and not charged." in page
    result = (await ada.get(f"/lists/{row.id}/result")).text.splitlines()
    assert [line.split(",")[:3] for line in result[1:]] == [
        ["1", "491701234567", "pending"], ["3", "431234567890", "pending"],
    ]  # fmt: skip
    assert (await ada.get("/lists/17")).status == 404
    assert (await ada.get("/lists/4f1a/live")).status == 404


async def test_a_row_of_a_list_has_its_place_as_reference(house: AdminHouse, ada: Browser) -> None:
    started = await ada.post("/send/start", SEND | {"recipients": "491701234567,431234567890"})
    await until(lambda: ada.follow(started), "2 of 2")
    assert [accept.reference for accept in house.gateway.intake.accepted] == ["sending-list-1-1", "sending-list-1-2"]


async def test_a_list_that_is_held_is_not_done(house: AdminHouse, ada: Browser) -> None:
    started = await ada.post("/send/start", SEND | {"recipients": "491701234567,431234567890"})
    await until(lambda: ada.follow(started), "2 of 2 rows handed in")
    message = house.gateway.intake.accepted[0].messages[0]
    row = Queueing(message.account, message.key, 1, message.time, message.expires, False, False, "49170")
    await house.gateway.store.commits.record(Facts(queueings=[row]))
    location = str(started.header("location")).removeprefix("/console")
    page = text_of(await ada.get(location))
    assert "Held 1" in page
    assert "1 message of this list is held: accepted and charged, and not sent until it is released." in page
    lines = (await ada.get(f"{location}/result")).text.splitlines()
    assert [line.split(",")[2] for line in lines[1:]] == ["held", "pending"]


async def test_too_little_credit_is_told_before_and_after(house: AdminHouse, ada: Browser) -> None:
    await accounts.top_up(house.admin.desk, "acme", -999_000_000)
    form = SEND | {"recipients": "491701234567,431234567890"}
    assert "The balance is 1 credit too low." in text_of(await ada.post("/send/preview", form))
    started = await ada.post("/send/start", form)
    text = text_of(await until(lambda: ada.follow(started), "2 of 2"))
    assert "2 of 2 rows handed in, in 0 s; 1 refused." in text
    assert "The credit is too low." in text


@pytest.mark.parametrize(
    ("limits", "change", "told", "reason"),
    [
        ({"daily_messages": 2}, {}, "beyond the account's messages of a day", "daily_messages"),
        ({"daily_spend": 2_500_000}, {}, "beyond the account's credits of a day", "daily_spend"),
        ({"max_waiting": 2}, {"time": "2027-02-01T10:00"}, "beyond the messages that may wait at once", "waiting"),
    ],
)
async def test_rows_beyond_a_limit_are_told_before_and_counted_as_refusals(
    house: AdminHouse, ada: Browser, limits: dict[str, int], change: dict[str, str], told: str, reason: str
) -> None:
    await house.gateway.change_account("acme", **limits)
    numbers = [f"49170123456{last}" for last in range(5)]
    form = SEND | change | {"recipients": "\n".join(numbers)}
    text = text_of(await ada.post("/send/preview", form))
    assert f"3 of 5 messages would be refused now: 3 {told}" in text
    started = await ada.post("/send/start", form)
    assert "5 of 5 rows handed in, in 0 s; 3 refused." in text_of(await until(lambda: ada.follow(started), "5 of 5"))
    assert house.gateway.app.services.refusals.counts[Reason(reason)] == 3
    await write_refusals(house)
    page = text_of(await ada.get("/refusals"))
    assert f"acme {reason.replace('_', ' ')} 3" in page
    assert "LIST /lists/" in page


async def test_the_preview_knows_the_rules_of_the_account(house: AdminHouse, ada: Browser) -> None:
    await house.gateway.change_account("acme", prefixes=("43",))
    text = text_of(await ada.post("/send/preview", SEND | {"recipients": TABLE}))
    assert "2 of 3 rows cannot be sent and are left out" in text
    assert "Send 1 message" in text


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"account": ""}, "Choose the account that pays"),
        ({"recipients": ""}, "no recipients"),
        ({"recipients": TABLE, "content": "{nobody}"}, "{nobody}, which is no column"),
        ({"content": ""}, "content is empty"),
        ({"sender": "far too long for it"}, "sender"),
    ],
)
async def test_what_is_wrong_with_a_list_is_told_and_nothing_typed_is_lost(
    house: AdminHouse, ada: Browser, change: dict[str, str], told: str
) -> None:
    form = SEND | change
    for path in (
        ("/send/preview", "/send/start") if "sender" not in change and "content" not in change else ("/send/preview",)
    ):
        answered = await ada.post(path, form)
        assert answered.status == 400
        assert told in unescape(answered.text)
        assert form["sender"] in answered.text
    assert house.gateway.intake.accepted == []


async def test_going_back_from_the_preview_keeps_everything(house: AdminHouse, ada: Browser) -> None:
    page = await ada.post("/send", SEND | {"recipients": TABLE, "content": "\nHi {name}", "time": "2027-02-01T10:00"})
    assert "Ada" in page.text
    assert "2027-02-01T10:00" in page.text


# --- administration


async def test_an_account_is_opened_and_its_secrets_are_shown_once(house: AdminHouse, ada: Browser) -> None:
    assert "is not a name" in (await ada.post("/accounts-new", {"name": "no name", "credit": "1"})).text
    assert "exists already" in (await ada.post("/accounts-new", {"name": "acme", "credit": "1"})).text
    assert "The account acme exists already; ACME" in (await ada.post("/accounts-new", {"name": "ACME"})).text
    page = await ada.post(
        "/accounts-new", {"name": "new", "credit": "25.5", "price": "0.035", "timezone": "Europe/Berlin"}
    )
    assert "hk_" in page.text
    assert "whsec_" in page.text
    shown = await ada.get("/accounts/new")
    assert "hk_" not in shown.text
    assert "25.5" in shown.text
    assert "new" in text_of(await ada.get("/accounts", "q=NEW"))
    assert not any("hk_" in str(deed) for deed in await house.entries())


async def test_a_long_list_of_accounts_is_cut(house: AdminHouse, ada: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(account_pages, "SHOWN", 1)
    page = await ada.get("/accounts")
    assert ("/accounts/acme" in page.text, "/accounts/other" in page.text) == (True, False)
    assert "1 more are not shown." in text_of(page)
    found = await ada.get("/accounts", "q=the")
    assert ("/accounts/other" in found.text, "not shown" in found.text) == (True, False)


async def test_credit_is_topped_up_with_a_note(house: AdminHouse, ada: Browser) -> None:
    page = await ada.follow(await ada.post("/accounts/acme/top-up", {"amount": "12.5", "note": "invoice 7"}))
    assert "The balance of acme is now 1,012.5 credits." in page.text
    assert "invoice 7" in page.text
    wrong = await ada.post("/accounts/acme/top-up", {"amount": "much", "note": "kept"})
    assert wrong.status == 400
    assert "is not an amount" in wrong.text
    assert 'value="kept"' in wrong.text
    assert await house.gateway.balance() == "1012.5"


async def test_a_form_that_is_sent_twice_tops_up_once(house: AdminHouse, ada: Browser) -> None:
    found = re.search(r'name="reference" value="(\w{16})"', (await ada.get("/accounts/acme")).text)
    assert found is not None
    form = {"amount": "5", "reference": found[1]}
    pages = [await ada.follow(await ada.post("/accounts/acme/top-up", form)) for _ in range(2)]
    assert all("The balance of acme is now 1,005 credits." in page.text for page in pages)
    assert found[1] not in pages[1].text, "the next top-up has its own name"
    assert await house.gateway.balance() == "1005"


async def test_settings_are_changed_all_or_none(house: AdminHouse, ada: Browser) -> None:
    page = await ada.follow(await ada.post("/accounts/acme/settings", {"rate": "5", "senders": "ACME, Other"}))
    assert "saved" in page.text
    assert 'value="ACME, Other"' in page.text
    wrong = await ada.post("/accounts/acme/settings", {"rate": "7", "timezone": "Nowhere"})
    assert "is no time zone" in wrong.text
    assert 'value="7"' in wrong.text
    found = await house.gateway.store.accounts.find("acme")
    assert found is not None
    assert found[0].rate == 5
    assert "Nothing was changed" in (await ada.follow(await ada.post("/accounts/acme/settings", {"rate": "5"}))).text


def had(page: Answered) -> dict[str, str]:
    """Returns what the form of settings began with."""
    found = re.search(r'name="had" value="([^"]+)"', page.text)
    assert found is not None
    return {"had": unescape(found[1])}


async def test_a_form_of_settings_keeps_what_another_administrator_set_meanwhile(
    house: AdminHouse, ada: Browser
) -> None:
    began = had(await ada.get("/accounts/acme"))
    await house.gateway.store.accounts.update(1, {"rate": 5.0})
    wrong = await ada.post("/accounts/acme/settings", began | {"rate": "0", "timezone": "Nowhere"})
    assert had(wrong) == began
    await ada.follow(await ada.post("/accounts/acme/settings", began | {"rate": "0", "timezone": "Asia/Tokyo"}))
    found = await house.gateway.store.accounts.find("acme")
    assert found is not None
    assert (found[0].rate, found[0].timezone) == (5.0, "Asia/Tokyo")


async def test_a_form_of_a_connector_keeps_what_another_administrator_set_meanwhile(
    house: AdminHouse, ada: Browser
) -> None:
    await ada.post("/connectors-new", CONNECTOR | {"options": "keep=true"})
    began = had(await ada.get("/connectors/second"))
    await connectors.change(house.admin.desk, "second", {"other": "1"}, rate="7")
    form = CONNECTOR | began | {"password": "", "window": "30", "options": "keep=true"}
    await ada.follow(await ada.post("/connectors/second/settings", form))
    row = await connectors.show(house.admin.desk, "second")
    assert (row["window"], row["rate"], row["options"]) == (30, 7.0, {"keep": True, "other": 1})


async def test_who_may_change_accounts_gives_no_credit_prices_limits_or_keys(
    house: AdminHouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    had = SCOPES_OF[UserRole.OPERATOR]
    monkeypatch.setitem(SCOPES_OF, UserRole.OPERATOR, had | {Scope.WRITE_ACCOUNTS})
    nils = await house.visitor("operator", "nils")
    opened = {"name": "new", "timezone": "UTC", "plan": "default"}
    for given in ({"credit": "1"}, {"price": "0.000001"}, {"price": "0"}, {"plan": "cheap"}):
        refused = await nils.post("/accounts-new", opened | given)
        assert (refused.status, "needs the role admin" in refused.text) == (403, True)
    assert await house.gateway.store.accounts.find("new") is None
    assert (await nils.post("/accounts-new", opened)).status == 200
    settings = {"credit_limit": "5", "rate": "5", "networks": "192.0.2.1", "senders": "ACME", "list_interval": "1"}
    for name, text in (settings | {"plan": "cheap", "timezone": "Asia/Tokyo"}).items():
        refused = await nils.post("/accounts/acme/settings", {name: text, "callback_format": "json"})
        assert (refused.status, "needs the role admin" in refused.text) == (403, True)
    for path in ("keys", "password", "signing-secret", "revoke-key"):
        assert (await nils.post(f"/accounts/acme/{path}", {"key": "k-acme"})).status == 403
    page = await nils.get("/accounts/acme")
    assert 'name="callback_format"' in page.text
    assert 'name="timezone"' not in page.text
    assert not [name for name in (*settings, "plan", "amount") if f'name="{name}"' in page.text]
    assert not [path for path in ("keys", "password", "revoke-key") if f'/acme/{path}"' in page.text]
    form = await nils.get("/accounts-new")
    assert not [name for name in ("credit", "plan", "price") if f'name="{name}"' in form.text]


async def test_keys_secrets_and_suspension(house: AdminHouse, ada: Browser) -> None:
    assert "hk_" in (await ada.post("/accounts/acme/keys")).text
    assert "of acme" in (await ada.post("/accounts/acme/password")).text
    assert "whsec_" in (await ada.post("/accounts/acme/signing-secret")).text
    page = await ada.follow(await ada.post("/accounts/acme/revoke-key", {"key": "k-acme"}))
    assert "The key is revoked." in page.text
    assert (await ada.post("/accounts/acme/revoke-key", {"key": "k-acme"})).status == 404
    assert "is suspended" in (await ada.follow(await ada.post("/accounts/acme/suspend", {"suspended": "yes"}))).text
    assert "may send again" in (await ada.follow(await ada.post("/accounts/acme/suspend", {"suspended": "no"}))).text


@pytest.mark.parametrize("key", ["²", "1" * 30, "x", "-1"])
async def test_a_place_that_no_page_gave_is_that_of_the_first_page(house: AdminHouse, ada: Browser, key: str) -> None:
    for path, query in (
        ("/accounts/acme", {"before": key}),
        ("/audit", {"after": key}),
        ("/messages", {"more": f"{key}-{key}"}),
        ("/callbacks", {"tab": "pending", "more": f"{key}-{key}"}),
    ):
        assert (await ada.get(path, urlencode(query))).status == 200
    assert (await ada.get(f"/accounts/acme/entry/{key}")).status == 303


async def test_a_line_of_the_ledger_leads_to_its_message(house: AdminHouse, ada: Browser) -> None:
    message = await sent(house)
    page = await ada.get("/accounts/acme")
    (link,) = re.findall(r'href="/console/accounts/acme(/entry/\d+)"', page.text)
    assert (await ada.get(f"/accounts/acme{link}")).header("location") == f"/console/messages/{message}"
    assert (await ada.get(f"/accounts/other{link}")).header("location") == "/console/accounts/other"


async def test_a_line_of_the_ledger_leads_to_the_messages_of_its_batch_alone(house: AdminHouse, ada: Browser) -> None:
    await sent(house, to="491701234567,431234567890")
    await sent(house, to="33612345678")
    links = re.findall(r'href="/console(/accounts/acme/entry/\d+)"', (await ada.get("/accounts/acme")).text)
    found = (await ada.follow(await ada.get(links[-1]))).text
    assert ["491701234567" in found, "431234567890" in found, "33612345678" in found] == [True, True, False]
    await sent(house, to="491701234567,447700900123", time="2027-02-01 10:00:00")
    links = re.findall(r'href="/console(/accounts/acme/entry/\d+)"', (await ada.get("/accounts/acme")).text)
    assert "447700900123" in (await ada.follow(await ada.get(links[0]))).text
    gone = await ada.follow(await ada.get("/accounts/acme/entry/1"))
    assert "The message of this entry has been deleted." in gone.text


CONNECTOR = {
    "name": "second", "host": "smsc.example", "port": "2775", "system_id": "acme", "password": "secret",
    "bind": "transceiver", "binds": "2", "window": "20", "rate": "50", "tls": "false", "options": "",
}  # fmt: skip


async def test_what_waits_and_what_was_put_off_is_told_with_how_long(house: AdminHouse, ada: Browser) -> None:
    gateway = house.gateway
    message = await Given(gateway.store, gateway.clock.now()).sent(1)
    later = gateway.clock.now() + 5_000
    queueing = Queueing(message.account, message.key, 1, later, message.expires, attempted=False, claimed=False)
    await gateway.store.commits.record(Facts(queueings=[queueing]))
    page = await ada.get("/connectors/operator")
    assert "3 messages wait here, the oldest for 5 s." in page.text
    assert "1 message is deferred: the operator did not accept them yet" in page.text
    overview = await ada.get("/")
    assert "the oldest waits for 5 s" in overview.text
    assert "its oldest message" not in overview.text
    gateway.clock.ms += 300_000
    assert "operator: its oldest message waits for 5 min 5 s now." in (await ada.get("/")).text


async def test_an_error_that_a_bind_has_come_over_is_told_as_what_was_before(
    house: AdminHouse, ada: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    [bind] = STATE.binds
    since = house.gateway.clock.now() - 11_100_000
    monkeypatch.setattr(bind, "last_error", "the operator unbound the link")
    monkeypatch.setattr(bind, "last_error_at", since)
    page = await ada.get("/connectors/operator")
    assert "3 h 5 min ago, before it was bound: the operator unbound the link" in page.text
    monkeypatch.setattr(bind, "state", "waiting")
    page = await ada.get("/connectors/operator")
    assert '<span class="muted">3 h 5 min ago:</span> the operator unbound the link</td>' in page.text


async def test_a_connector_is_added_changed_tested_paused_and_removed(house: AdminHouse, ada: Browser) -> None:
    wrong = await ada.post("/connectors-new", CONNECTOR | {"port": "0", "options": "nonsense"})
    assert wrong.status == 400
    assert "is not name=value" in unescape(wrong.text)
    assert "secret" not in wrong.text
    page = await ada.follow(await ada.post("/connectors-new", CONNECTOR | {"options": "keep=true"}))
    assert "keep=true" in page.text
    assert "secret" not in page.text
    changed = CONNECTOR | {"window": "30", "password": "", "options": ""}
    page = await ada.follow(await ada.post("/connectors/second/settings", changed))
    assert 'value="30"' in page.text
    tables = await house.gateway.store.network.tables()
    assert tables.connectors[1].settings["password"] == "secret"
    assert "keep" not in tables.connectors[1].settings
    assert "Nothing was changed" in (await ada.follow(await ada.post("/connectors/second/settings", changed))).text
    wrong = await ada.post("/connectors/second/settings", changed | {"window": "5000"})
    assert 'value="5000"' in wrong.text
    wrong = await ada.post("/connectors/second/settings", changed | {"host": "evil.example"})
    assert "Password: give it again, because the change of host sends it" in wrong.text
    assert (await house.gateway.store.network.tables()).connectors[1].settings["host"] == CONNECTOR["host"]
    tested = text_of(await ada.post("/connectors/second/test"))
    assert "connect ok in 3 ms" in tested
    assert "bind failed ESME_RINVPASWD" in tested
    assert "is paused" in (await ada.follow(await ada.post("/connectors/second/state", {"state": "off"}))).text
    assert "paused" in text_of(await ada.get("/connectors"))
    assert "is draining" in (await ada.follow(await ada.post("/connectors/second/state", {"state": "drain"}))).text
    assert "draining" in text_of(await ada.get("/connectors"))
    assert "within five seconds" in (await ada.follow(await ada.post("/connectors/second/state", {"state": "on"}))).text
    assert "are removed" in (await ada.follow(await ada.post("/connectors/second/remove"))).text
    assert (await ada.get("/connectors/second")).status == 404
    assert "8" in text_of(await ada.get("/connectors-live", x_piece="1"))


async def test_the_page_of_a_connector_names_the_networks_of_its_routes(house: AdminHouse, ada: Browser) -> None:
    await ada.post("/routing/routes", {"network": "26202", "connector": "operator", "priority": "7"})
    assert "network 26202 priority 7" in text_of(await ada.get("/connectors/operator"))


async def test_routes_and_prices_are_set_and_tried(house: AdminHouse, ada: Browser) -> None:
    page = await ada.follow(
        await ada.post("/routing/routes", {"prefix": "4917", "connector": "operator", "priority": "5"})
    )
    assert "4917" in page.text
    assert "whole number" in (await ada.post("/routing/routes", {"connector": "operator", "priority": "x"})).text
    assert "is not a prefix" in (await ada.post("/routing/routes", {"prefix": "0", "connector": "operator"})).text
    assert "default all numbers (built in) 1 0" in text_of(await ada.get("/prices"))
    await ada.follow(await ada.post("/prices", {"price_prefix": "49", "price": "0.07", "plan": "default"}))
    assert "default all other numbers (built in) 1 0" in text_of(await ada.get("/prices"))
    await ada.post("/prices", {"price_prefix": "44", "price": "0.07", "inbound": "0.5", "plan": "default"})
    await ada.post("/prices", {"price_prefix": "44", "price": "0.08", "inbound": "", "plan": "default"})
    assert "default 44 0.08 0.5" in text_of(await ada.get("/prices"))
    assert "no amount" not in (bad := (await ada.post("/prices", {"price": "1", "inbound": "x"})).text)
    assert "not an amount" in bad
    assert "below zero" in (await ada.post("/prices", {"price": "-1"})).text
    await ada.post("/prices", {"price_prefix": "33", "price": "0.09", "since": "2100-01-01", "plan": "default"})
    dated = text_of(await ada.get("/prices"))
    assert "2100-01-01" in dated
    assert "(future)" in dated
    assert "is not a date" in (await ada.post("/prices", {"price": "1", "since": "soon"})).text
    await ada.post("/prices/remove", {"prefix": "33", "plan": "default", "since": "2100-01-01"})
    assert "(future)" not in (await ada.get("/prices")).text
    tried = text_of(await ada.get("/routing", "number=%2B49+170+1234567&account=acme"))
    assert "491701234567 → operator for 0.07 credits a segment" in tried
    assert "The route for the prefix 4917 with priority 5 leads to operator." in tried
    assert "operator takes it not known not known not measured" in tried
    state = ConnectorState(connector="operator", bound=1, obstacle="failing most messages")
    await house.gateway.store.network.save_link_states([ConnectorReport(1, 1, state, house.gateway.clock.now())])
    tried = text_of(await ada.get("/routing", "number=491701234567&account=acme"))
    assert "operator messages wait not known not known not measured" in tried
    covered = text_of(await ada.get("/coverage"))
    assert "44 not known operator none 0.08 credits not known not known not known" in covered
    await ada.post("/prices", {"price_prefix": "44", "price": "0.08", "plan": "gold"})
    assert "44 not known operator" in text_of(await ada.get("/coverage", "plan=gold&q=4420"))
    file = (await ada.get("/coverage.csv", "q=44")).text
    assert file.startswith("prefix,network,connector,")
    assert file.count("\n") == 3
    assert "There are no problems" in (await ada.get("/coverage", "only=problems")).text
    assert "Number: give a number" in (await ada.get("/routing", "number=12")).text
    assert (
        "price is removed"
        in (await ada.follow(await ada.post("/prices/remove", {"prefix": "49", "plan": "default"}))).text
    )
    assert "route is removed" in (await ada.follow(await ada.post("/routing/routes/remove", {"route": "2"}))).text
    assert (await ada.post("/routing/routes/remove", {"route": "x"})).status == 404


async def test_people_and_tokens_are_made_and_removed(house: AdminHouse, ada: Browser) -> None:
    page = await ada.post("/people/create", {"name": "bob", "role": "viewer"} | PROOF)
    assert "bob may sign in as viewer" in page.text
    assert "does not fit" in (await ada.post("/people/create", {"name": "eve", "role": "root"} | PROOF)).text
    assert (
        "bob has the role operator now"
        in (await ada.follow(await ada.post("/people/role", {"name": "bob", "role": "operator"} | PROOF))).text
    )
    assert "a new password" in (await ada.post("/people/password", {"name": "bob"} | PROOF)).text
    assert "can no longer" in (await ada.follow(await ada.post("/people/remove", {"name": "bob"} | PROOF))).text
    for path in ("role", "password", "remove"):
        assert (await ada.post(f"/people/{path}", {"name": "ada", "role": "viewer"})).status == 409
    page = await ada.post(
        "/people/tokens", {"token_name": "billing", "scope": ["accounts:read", "topups:write"]} | PROOF
    )
    assert "hat_" in page.text
    (token,) = await house.gateway.store.tokens.all()
    assert token.scopes == ("accounts:read", "topups:write")
    assert "at least one scope" in (await ada.post("/people/tokens", {"token_name": "billing"} | PROOF)).text
    assert "revoked" in (await ada.follow(await ada.post("/people/tokens/revoke", {"token": token.id}))).text
    log = text_of(await ada.get("/audit"))
    assert "token.revoke" in log
    assert "All entries" in log
    assert "hat_" not in log
    assert "session.open" not in text_of(await ada.get("/audit", "action=token."))


async def test_the_simulators_knobs_are_turned(house: AdminHouse, ada: Browser) -> None:
    assert (
        "latency_ms: 'x' is not ms" in unescape((await ada.post("/simulator/knobs", {"latency_ms": "x"})).text).lower()
    )
    page = await ada.follow(await ada.post("/simulator/knobs", {"latency_ms": "250", "links": "9"}))
    assert 'value="250"' in page.text
    assert house.simulator.turned == {"latency_ms": "250"}
    await ada.post("/simulator/cut")
    assert house.simulator.cut == 1
    phone = {"phone": "447700900123", "number": "3388", "text": "STOP"}
    assert "in 1 part." in (await ada.follow(await ada.post("/simulator/phone", phone))).text
    assert house.simulator.from_phones == [("447700900123", "3388", "STOP")]
    assert "in 2 parts" in (await ada.follow(await ada.post("/simulator/phone", phone | {"text": "x" * 200}))).text
    refused = await ada.post("/simulator/phone", phone | {"text": " "})
    assert refused.status == 400
    assert "The text has 1 to 1600 characters, not 0." in refused.text
    assert 'value="447700900123"' in refused.text
    house.services.simulated = None
    assert (await ada.get("/simulator")).status == 404
    assert "Simulator" not in (await ada.get("/")).text


# --- the rest


async def test_the_theme_is_kept_without_script_too(house: AdminHouse, ada: Browser) -> None:
    page = await ada.follow(await ada.post("/theme", {"theme": "dark", "back": "/accounts"}))
    assert '<html lang="en" data-theme="dark">' in page.text
    await ada.post("/theme", {"theme": "pink", "back": "//evil.example"})
    assert "data-theme=" not in (await ada.get("/")).text.split("<body>")[0]


async def test_a_store_that_cannot_be_used_is_told(house: AdminHouse, ada: Browser) -> None:
    house.gateway.store.broken = True
    answered = await ada.get("/")
    assert answered.status == 503
    assert "The store is unavailable" in answered.text


async def test_a_fault_of_ours_names_its_place_in_the_log_and_no_values(house: AdminHouse, ada: Browser) -> None:
    def broken() -> dict[int, tuple[int, int | None]]:
        raise RuntimeError("secret value")

    house.admin.desk.waiting = broken
    answered = await ada.get("/")
    assert answered.status == 500
    assert "secret value" not in answered.text
    _, event, fields = house.gateway.journal.lines[-1]
    assert event == "console.request_failed"
    assert "secret value" not in str(fields)


async def test_other_methods_bodies_and_paths_are_refused(house: AdminHouse, ada: Browser) -> None:
    for refused, allowed in (
        (await ada._call("DELETE", "/", b"", ""), "GET, HEAD"),
        (await ada.post("/messages"), "GET, HEAD"),
        (await ada.get("/accounts/acme/top-up"), "POST"),
        (await ada._call("PUT", "/sign-in", b"", ""), "GET, HEAD, POST"),
    ):
        assert (refused.status, refused.header("allow")) == (405, allowed)
    assert (await ada.get("/sign-out")).status == 404
    assert (await ada.post("/accounts/acme/top-up", {}, content_type="multipart/form-data")).status == 415
    big = {"recipients": "4" * (9 << 20)}
    assert (await ada.post("/send/quote", big)).status == 413
    assert (await ada._call("HEAD", "/", b"", "")).body == b""
    ada.cookies["strange"] = 'a"b{c'
    assert (await ada.get("/")).status == 200


async def test_nothing_has_a_nul_in_it(house: AdminHouse, ada: Browser) -> None:
    assert (await ada.get("/messages", "q=%00")).status == 400
    assert (await ada.get("/accounts/a\0")).status == 400
    assert (await ada.post("/accounts", {"name": "a\0"})).status == 400
    assert (await Browser(house.console).sign_in("a\0", "correct horse")).status == 400
    assert house.gateway.journal.lines == []


async def test_an_accounts_settings_are_in_groups_and_its_plan_is_chosen(house: AdminHouse, ada: Browser) -> None:
    await ada.follow(await ada.post("/prices", {"price_prefix": "49", "price": "0.07", "plan": "cheap"}))
    page = (await ada.get("/accounts/acme")).text
    groups = re.findall(r"<fieldset class=\"group\"><legend>([^<]+)</legend>(.*?)</fieldset>", page, re.DOTALL)
    assert [title for title, _ in groups][:2] == ["General", "Limits"]
    assert '<option value="cheap">cheap</option>' in groups[0][1]
    assert 'name="daily_spend"' in groups[1][1]
    shown = {name for _, group in groups for name in re.findall(r'name="(\w+)"', group)}
    assert shown == {each.name for each in account_pages.SETTINGS}, "the form changes each field that it shows"
    changed = await ada.follow(await ada.post("/accounts/acme/settings", {"plan": "cheap"}))
    assert '<option value="cheap" selected>' in changed.text


async def test_a_time_zone_is_chosen_from_a_list_that_keeps_the_old_one(house: AdminHouse, ada: Browser) -> None:
    page = (await ada.get("/accounts-new")).text
    assert '<optgroup label="Europe">' in page
    assert "<option>Europe/Berlin</option>" in page
    assert "<option selected>UTC</option>" in page
    assert "US/Eastern" not in page
    await house.gateway.change_account(timezone="US/Eastern")
    assert "<option selected>US/Eastern</option>" in (await ada.get("/accounts/acme")).text
