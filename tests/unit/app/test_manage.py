"""Administration against the store in memory: what is refused, and what it then says."""

from collections.abc import Mapping
from typing import Any

import pytest

from heliograph.adapters.smpp.kind import KIND
from heliograph.app.admin.keys import digest_key
from heliograph.app.admin.manage import Credentials, Manage
from heliograph.app.configuration import Price
from heliograph.app.records import AuditQuery
from heliograph.app.resources import routes
from heliograph.app.resources.desk import AlreadyThere, Invalid, NoSuch
from heliograph.app.sending.callback_url import CallbackUrls
from heliograph.domain.limits.defaults import MAX_BALANCE
from heliograph.domain.money.amounts import MICRO
from heliograph.domain.security.signature import format_secret
from heliograph.net.address_guard import AddressGuard
from tests.support.connectors import kinds
from tests.support.memory_store import MemoryStore
from tests.support.secrets import CountingSecrets


class StillClock:
    def now(self) -> int:
        return 1_800_000_000_000

    def monotonic(self) -> float:
        return 0.0


@pytest.fixture
def manage() -> Manage:
    return Manage(MemoryStore(), CountingSecrets(), StillClock(), kinds())


async def test_a_new_account_has_its_secrets_credit_and_key(manage: Manage) -> None:
    made = await manage.create_account("acme", 100 * MICRO, {"timezone": "Europe/Berlin"})
    view = await manage.account("acme")
    assert view.balance == made.balance == 100 * MICRO
    assert view.account.timezone == "Europe/Berlin"
    assert view.account.password_hash == f"hash of {made.password}"
    assert format_secret(view.account.signing_secret) == made.signing_secret
    assert [key.digest for key in view.keys] == [digest_key(made.api_key)]
    assert [entry.amount for entry in await manage.ledger("acme", 10)] == [100 * MICRO]
    assert made.password not in repr(made)
    assert made.api_key not in repr(made)


async def test_given_credentials_are_used(manage: Manage) -> None:
    made = await manage.create_account("demo", 0, credentials=Credentials("pw", "key", bytes(32)))
    assert (made.password, made.api_key) == ("pw", "key")


async def test_a_price_of_its_own_is_a_plan_of_its_own() -> None:
    store = MemoryStore()
    manage = Manage(store, CountingSecrets(), StillClock(), kinds())
    made = await manage.create_account("acme", 0, price=35_000)
    assert made.account.plan == "acme"
    assert (await store.network.tables()).prices == [Price("acme", "", 35_000)]


@pytest.mark.parametrize("name", ["", "a b", "a/b", "ä", "x" * 65, "a:b", "a\n"])
async def test_names_that_are_none(manage: Manage, name: str) -> None:
    with pytest.raises(Invalid) as caught:
        await manage.create_account(name, 0)
    assert caught.value.field == "name"
    assert await manage.accounts() == []


async def test_what_exists_is_not_created_again(manage: Manage) -> None:
    await manage.create_account("acme", 5)
    with pytest.raises(AlreadyThere, match="the account acme exists already"):
        await manage.create_account("acme", 7)
    assert [balance for _, balance in await manage.accounts()] == [5]


async def test_refused_openings(manage: Manage) -> None:
    for credit, settings, price, field in (
        (-1, {}, None, "credit"),
        (0, {}, -1, "price"),
        (0, {"plan": "gold"}, 1, "price"),
        (0, {"colour": "red"}, None, "colour"),
        (0, {"timezone": "Mars/Base"}, None, "timezone"),
    ):
        with pytest.raises(Invalid) as caught:
            await manage.create_account("acme", credit, settings, price)
        assert caught.value.field == field
    with pytest.raises(Invalid, match="everybody's"):
        await manage.create_account("default", 0, price=1)
    assert await manage.accounts() == []


@pytest.mark.parametrize(
    ("field", "text", "value"),
    [
        ("timezone", "UTC", "UTC"),
        ("plan", "gold", "gold"),
        ("credit_limit", "12.5", 12_500_000),
        ("suspended", "yes", True),
        ("list_interval", "0.5", 0.5),
        ("list_interval", "default", None),
        ("rate", "50", 50.0),
        ("callback_url", "https://example.com/dlr?x=1", "https://example.com/dlr?x=1"),
        ("callback_url", "", ""),
        ("callback_format", "json", "json"),
        ("content_decoding", "never", "never"),
        ("networks", "192.0.2.0/24, 2001:db8::1", ("192.0.2.0/24", "2001:db8::1/128")),
        ("networks", "", ()),
        ("senders", "ACME,447700900123", ("ACME", "447700900123")),
    ],
)
async def test_account_fields_that_are_right(manage: Manage, field: str, text: str, value: object) -> None:
    await manage.create_account("acme", 0)
    changed = await manage.set_account("acme", {field: text})
    assert getattr(changed, field) == value
    assert getattr((await manage.account("acme")).account, field) == value


@pytest.mark.parametrize(
    ("field", "text"),
    [
        ("timezone", "Berlin"),
        ("plan", ""),
        ("credit_limit", "-1"),
        ("credit_limit", "1e3"),
        ("suspended", "perhaps"),
        ("list_interval", "-1"),
        ("list_interval", "nan"),
        ("list_interval", "86401"),
        ("rate", "fast"),
        ("callback_url", "example.com"),
        ("callback_url", "ftp://example.com"),
        ("callback_url", "https://"),
        ("callback_url", "https://user@example.com"),
        ("callback_url", "https://example.com/#top"),
        ("callback_url", "https://example.com/a b"),
        ("callback_url", "https://[::1"),
        ("callback_url", "https://example.com:99999/"),
        ("callback_url", "https://example.com/" + "x" * 2048),
        ("callback_format", "xml"),
        ("content_decoding", "Auto"),
        ("networks", "192.0.2.1/24"),
        ("senders", "AB"),
        ("id", "7"),
        ("password_hash", "x"),
    ],
)
async def test_account_fields_that_are_wrong(manage: Manage, field: str, text: str) -> None:
    await manage.create_account("acme", 0)
    before = (await manage.account("acme")).account
    with pytest.raises(Invalid) as caught:
        await manage.set_account("acme", {"rate": "5", field: text})
    assert caught.value.field == field
    assert (await manage.account("acme")).account == before


@pytest.mark.parametrize("field", ["callback_url", "inbound_url"])
@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("http://127.0.0.1/x", "must not lead to 127.0.0.1 (loopback)"),
        ("https://[::1]:8443/x", "must not lead to ::1 (loopback)"),
        ("http://2130706433/", "must not lead to 2130706433 (loopback)"),
        ("http://169.254.169.254/latest", "(cloud metadata)"),
        ("https://LOCALHOST/", "(loopback)"),
        ("https://example.com:22/", "port 22 is none of 80, 443, 1024-65535"),
        ("http://ex*mple.com/", "no host or port that can be reached"),
    ],
)
async def test_urls_that_the_sender_would_refuse_are_refused_when_they_are_set(
    field: str, url: str, reason: str
) -> None:
    guard = AddressGuard()
    urls = CallbackUrls(guard.forbidden_host, guard.forbidden_port)
    manage = Manage(MemoryStore(), CountingSecrets(), StillClock(), kinds(), callback_urls=urls)
    for made in (manage.create_account("acme", 0, {field: url}), manage.set_account("acme", {field: url})):
        with pytest.raises(Invalid) as caught:
            await made
        assert caught.value.field == field
        assert reason in str(caught.value)
    good = {field: "https://example.com:8443/receipts"}
    created = await manage.create_account("acme", 0, good)
    assert getattr(created.account, field) == good[field]
    assert getattr(await manage.acting_as("ada").set_account("acme", {field: ""}), field) == ""


async def test_a_balance_does_not_rise_above_what_its_column_holds(manage: Manage) -> None:
    await manage.create_account("acme", MAX_BALANCE - 7)
    assert await manage.top_up("acme", 7) == MAX_BALANCE
    with pytest.raises(Invalid, match=r"is 1000000000000 and may not rise above 1000000000000") as caught:
        await manage.top_up("acme", 1)
    assert caught.value.field == "amount"


async def test_credit_is_added_and_taken_back_down_to_the_limit(manage: Manage) -> None:
    await manage.create_account("acme", 10, {"credit_limit": "0.000005"})
    assert await manage.top_up("acme", 5, "note") == 15
    assert await manage.top_up("acme", -20) == -5
    with pytest.raises(Invalid, match=r"may not fall below -0\.000005"):
        await manage.top_up("acme", -1)
    for amount, note in ((0, ""), (1, "two\nlines"), (1, "x" * 201)):
        with pytest.raises(Invalid):
            await manage.top_up("acme", amount, note)
    assert [(entry.amount, entry.note) for entry in await manage.ledger("acme", 2)] == [(-20, ""), (5, "note")]


async def test_secrets_are_replaced(manage: Manage) -> None:
    made = await manage.create_account("acme", 0)
    password, secret = await manage.new_password("acme"), await manage.new_signing_secret("acme")
    account = (await manage.account("acme")).account
    assert password != made.password
    assert account.password_hash == f"hash of {password}"
    assert format_secret(account.signing_secret) == secret != made.signing_secret


async def test_keys_come_and_go(manage: Manage) -> None:
    first = await manage.create_account("acme", 0)
    second = await manage.create_key("acme")
    await manage.revoke_key("acme", first.key_id)
    assert {key.id: key.revoked is None for key in await manage.keys("acme")} == {
        first.key_id: False,
        second.key_id: True,
    }
    for key_id in (first.key_id, "nothing"):
        with pytest.raises(NoSuch):
            await manage.revoke_key("acme", key_id)


async def test_nobody_is_nobody(manage: Manage) -> None:
    for call in (
        manage.account("x"), manage.top_up("x", 1), manage.suspend("x", True), manage.set_account("x", {}),
        manage.new_password("x"), manage.new_signing_secret("x"), manage.ledger("x", 1), manage.create_key("x"),
        manage.keys("x"), manage.revoke_key("x", "y"),
    ):  # fmt: skip
        with pytest.raises(NoSuch, match="there is no account x"):
            await call


BIND = {"host": "smsc.example.net", "port": "2775", "system_id": "acme", "password": "secret"}


async def test_a_connector_is_added_changed_and_removed(manage: Manage) -> None:
    added = await manage.add_connector("op1", {**BIND, "window": "50", "tls": "true"}, {"system_type": "SMPP"})
    assert added.warnings == []
    assert added.connector.window == 50
    assert KIND.options(added.connector) == {"system_type": "SMPP"}
    assert "secret" not in repr(added)
    changed = await manage.set_connector(
        "op1", {"rate": "99.5"}, {"system_type": "", "source_ton": "5", "strict": "true"}
    )
    assert changed.connector.rate == 99.5
    assert KIND.options(await manage.connector("op1")) == {"source_ton": 5, "strict": True}
    with pytest.raises(AlreadyThere):
        await manage.add_connector("op1", BIND)
    await manage.remove_connector("op1")
    for call in (manage.connector("op1"), manage.set_connector("op1", {}), manage.remove_connector("op1")):
        with pytest.raises(NoSuch, match="there is no connector op1"):
            await call


@pytest.mark.parametrize(
    ("texts", "options", "told"),
    [
        ({"host": "evil.example"}, {}, "with another host it"),
        ({"port": "9"}, {}, "with another port it"),
        ({"tls": "false"}, {}, "with another tls it"),
        ({"system_id": "other"}, {}, "with another system_id it"),
        ({}, {"hosts": "evil.example:2775"}, "with another hosts it"),
        ({}, {"tls_verify": ""}, "with another tls_verify it"),
        ({}, {"ca_file": "/tmp/own.pem", "tls_server_name": "evil.example"}, "another ca_file and tls_server_name it"),
    ],
)
async def test_a_password_goes_nowhere_else_unless_it_is_given_again(
    manage: Manage, texts: dict[str, str], options: dict[str, str], told: str
) -> None:
    await manage.add_connector("op1", {**BIND, "tls": "true"}, {"tls_verify": "false"})
    before = await manage.connector("op1")
    with pytest.raises(Invalid, match=told) as caught:
        await manage.set_connector("op1", {**texts, "window": "5"}, options)
    assert caught.value.field == "password"
    assert await manage.connector("op1") == before
    assert (await manage.set_connector("op1", {**texts, "password": "other"}, options)).connector != before
    assert (await manage.connector("op1")).settings["password"] == "other"


async def test_what_does_not_move_a_password_does_not_ask_for_it(manage: Manage) -> None:
    await manage.add_connector("op1", BIND, {"hosts": "b.example:2775"})
    same = {name: BIND[name] for name in ("host", "port", "system_id")}
    await manage.set_connector("op1", {**same, "window": "5", "enabled": "false"}, {"hosts": "b.example:2775"})
    await manage.set_connector("op1", {"host": "c.example"}, knows_secrets=True)
    await manage.set_connector("op1", {"password": ""})
    await manage.set_connector("op1", {"host": "d.example"})
    assert (await manage.connector("op1")).settings["host"] == "d.example"


@pytest.mark.parametrize(
    ("text", "host"),
    [("[2001:db8::1]", "2001:db8::1"), ("2001:DB8::0:1", "2001:db8::1"), ("192.0.2.1", "192.0.2.1"), ("a.b", "a.b")],
)
async def test_a_host_is_a_name_or_an_address(manage: Manage, text: str, host: str) -> None:
    added = await manage.add_connector("op1", {**BIND, "host": text})
    assert added.connector.settings["host"] == host


@pytest.mark.parametrize(
    ("field", "text"),
    [
        ("host", ""), ("host", "a b"), ("host", "-x"), ("host", "a..b"), ("host", "x" * 254), ("host", "[a.b]"),
        ("host", "[]"), ("port", "0"), ("port", "65536"), ("port", "2775.0"), ("port", "smpp"),
        ("system_id", "x" * 16), ("system_id", "ä"),
        ("password", "a\0b"), ("bind", "receiver"), ("binds", "0"), ("window", "0"), ("window", "1001"),
        ("rate", "-1"), ("tls", "maybe"), ("colour", "red"),
    ],
)  # fmt: skip
async def test_connectors_that_cannot_be(manage: Manage, field: str, text: str) -> None:
    with pytest.raises(Invalid) as caught:
        await manage.add_connector("op1", {**BIND, field: text})
    assert caught.value.field == field
    assert await manage.connectors() == []


async def test_options_are_judged_by_who_knows_them() -> None:
    def judge(options: Mapping[str, Any]) -> list[str]:
        return [f"option {name}: there is no such option" for name in options if name != "known"]

    manage = Manage(MemoryStore(), CountingSecrets(), StillClock(), kinds(judge))
    await manage.add_connector("op1", BIND, {"known": "0044"})
    for change in (manage.add_connector("op2", BIND, {"new": "1"}), manage.set_connector("op1", {}, {"new": "1"})):
        with pytest.raises(Invalid, match="options: option new: there is no such option"):
            await change
    assert [(each.name, KIND.options(each)) for each in await manage.connectors()] == [("op1", {"known": "0044"})]


@pytest.mark.parametrize("field", sorted(BIND))
async def test_a_connector_needs_all_to_bind_with(manage: Manage, field: str) -> None:
    with pytest.raises(Invalid) as caught:
        await manage.add_connector("op1", {name: text for name, text in BIND.items() if name != field})
    assert caught.value.field == field


async def test_a_long_password_is_only_doubted(manage: Manage) -> None:
    change = await manage.add_connector("op1", {**BIND, "password": "ninechars"})
    assert "9 characters" in change.warnings[0]
    assert "ninechars" not in change.warnings[0]


async def test_routes(manage: Manage) -> None:
    await manage.add_connector("op1", BIND)
    await manage.add_connector("op2", BIND)
    low = await routes.add(manage, "", "op1")
    await routes.add(manage, "44", "op1", -5)
    high = await routes.add(manage, "44", "op2", 5)
    found = [tuple(route.values())[1:] for route in await routes.find(manage)]
    assert found == [("", "op1", 0), ("44", "op2", 5), ("44", "op1", -5)]
    with pytest.raises(AlreadyThere):
        await routes.add(manage, "44", "op2", 5)
    with pytest.raises(NoSuch, match="there is no connector op3"):
        await routes.add(manage, "44", "op3")
    for prefix in ("+44", "044", "4 4", "1" * 16, "٤"):
        with pytest.raises(Invalid):
            routes.PREFIX.read(prefix)
    await routes.remove(manage, high["id"])
    with pytest.raises(NoSuch):
        await routes.remove(manage, high["id"])
    await manage.remove_connector("op1")
    gone, route = await manage.audit_log(AuditQuery(limit=2))
    assert (gone.action, gone.details["routes"]) == ("connector.remove", "(all) priority 0, 44 priority -5")
    assert {name: gone.details.get(name, "") for name in (*BIND, "window")} == {**BIND, "window": "10", "password": ""}
    assert (route.action, route.details) == ("route.remove", {"prefix": "44", "connector": "op2", "priority": "5"})
    assert low["id"] not in [route["id"] for route in await routes.find(manage)]
