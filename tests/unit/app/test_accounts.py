"""Accounts and keys on the store in memory: what is made, what is refused, and what it then says."""

from typing import Any

import pytest

from heliograph.app.configuration import Account, ApiKey, Price
from heliograph.app.records import AuditQuery
from heliograph.app.resources import accounts, keys
from heliograph.app.resources.account_settings import GROUPS, MOST_NETWORKS, MOST_PREFIXES, MOST_SENDERS, SETTINGS
from heliograph.app.resources.accounts import ACCOUNTS, Credentials
from heliograph.app.resources.desk import AlreadyThere, Desk, Invalid, NoSuch, account_id, account_of
from heliograph.app.sending.callback_url import CallbackUrls
from heliograph.domain.limits.defaults import MAX_BALANCE
from heliograph.domain.money.amounts import MICRO
from heliograph.domain.security.secret_text import digest
from heliograph.domain.security.signature import format_secret
from heliograph.net.address_guard import AddressGuard
from tests.support.memory_store import MemoryStore
from tests.support.secrets import CountingSecrets


class StillClock:
    def now(self) -> int:
        return 1_800_000_000_000

    def monotonic(self) -> float:
        return 0.0


def open_desk(urls: CallbackUrls | None = None) -> Desk:
    return Desk(MemoryStore(), StillClock(), secrets=CountingSecrets(), callback_urls=urls)


@pytest.fixture
def desk() -> Desk:
    return open_desk()


async def found(desk: Desk, name: str = "acme") -> tuple[Account, list[ApiKey], int]:
    account, own = await account_of(desk.store, name)
    return account, own, await desk.store.customers.balance(account.id)


async def change(desk: Desk, **texts: str) -> Account:
    """Changes settings, given as texts."""
    known = {each.name: each for each in SETTINGS}
    for name in texts:
        if name not in known:
            raise Invalid(name, "there is no such field")
    values = {name: known[name].read(known[name].parse(text)) for name, text in texts.items()}
    await accounts.change(desk, "acme", **values)
    return (await found(desk))[0]


async def test_a_new_account_has_its_secrets_credit_and_key(desk: Desk) -> None:
    made = await accounts.create(desk, "acme", 100 * MICRO, timezone="Europe/Berlin")
    account, own, balance = await found(desk)
    assert balance == made["balance"] == 100 * MICRO
    assert account.timezone == made["timezone"] == "Europe/Berlin"
    assert account.password_hash == f"hash of {made['password']}"
    assert format_secret(account.signing_secret) == made["signing_secret"]
    assert [key.digest for key in own] == [digest(made["api_key"])]
    assert [entry.amount for entry in await accounts.entries(desk, "acme", 10)] == [100 * MICRO]
    noted = repr(await desk.store.audit_log.find(AuditQuery()))
    assert not [made[name] for name in ("password", "api_key", "signing_secret") if made[name] in noted]


async def test_given_credentials_are_used(desk: Desk) -> None:
    made = await accounts.create(desk, "demo", credentials=Credentials("pw", "key", bytes(32)))
    assert (made["password"], made["api_key"]) == ("pw", "key")


async def test_a_price_of_its_own_is_a_plan_of_its_own(desk: Desk) -> None:
    made = await accounts.create(desk, "acme", price=35_000)
    assert made["plan"] == "acme"
    assert (await desk.store.network.tables()).prices == [Price("acme", "", 35_000)]
    (noted,) = await desk.store.audit_log.find(AuditQuery())
    assert noted.details == {"credit": "0", "price": "0.035"}


@pytest.mark.parametrize("name", ["", "a b", "a/b", "ä", "x" * 65, "a:b", "a\n"])
def test_names_that_are_none(name: str) -> None:
    with pytest.raises(Invalid) as caught:
        ACCOUNTS.field("name").read(name)
    assert caught.value.field == "name"


async def test_a_name_that_differs_in_case_only_is_refused_with_the_name_that_is_there(desk: Desk) -> None:
    await accounts.create(desk, "Zenith")
    with pytest.raises(AlreadyThere, match="The account Zenith exists already; ZENITH differs from it in case only"):
        await accounts.create(desk, "ZENITH")


async def test_what_exists_is_not_created_again(desk: Desk) -> None:
    await accounts.create(desk, "acme", 5)
    with pytest.raises(AlreadyThere, match="The account acme exists already"):
        await accounts.create(desk, "acme", 7)
    assert [row["balance"] for row in await accounts.find(desk)] == [5]


async def test_names_that_clients_of_another_account_bind_with(desk: Desk) -> None:
    await accounts.create(desk, "acme", smpp_system_id="ours")
    for name, system_id, field in (("ours", "", "name"), ("beta", "ours", "smpp_system_id")):
        with pytest.raises(Invalid, match="another account binds as ours; choose another name") as caught:
            await accounts.create(desk, name, smpp_system_id=system_id)
        assert caught.value.field == field


async def test_refused_openings(desk: Desk) -> None:
    opening = {each.name: each for each in ACCOUNTS.operation("create").reads}
    for name in ("credit", "price"):
        with pytest.raises(Invalid, match="not be below zero") as caught:
            opening[name].read("-1")
        assert caught.value.field == name
    with pytest.raises(Invalid, match="either a plan or a price"):
        await accounts.create(desk, "acme", price=1, plan="gold")
    with pytest.raises(Invalid, match="all accounts share the plan"):
        await accounts.create(desk, "default", price=1)
    assert await accounts.find(desk) == []


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
        ("receipt_fields", "full", "full"),
        ("content_decoding", "never", "never"),
        ("networks", "192.0.2.0/24, 2001:db8::1", ("192.0.2.0/24", "2001:db8::1/128")),
        ("networks", "", ()),
        ("networks", "::ffff:192.0.2.0/120, ::ffff:192.0.2.7", ("192.0.2.0/24", "192.0.2.7/32")),
        ("networks", "::/0, ::ffff:0:0/96", ("::/0", "0.0.0.0/0")),
        ("networks", ", ".join(["192.0.2.0/24"] * 20_000), ("192.0.2.0/24",)),
        ("senders", "ACME,447700900123", ("ACME", "447700900123")),
    ],
)
async def test_account_fields_that_are_right(desk: Desk, field: str, text: str, value: object) -> None:
    await accounts.create(desk, "acme")
    assert getattr(await change(desk, **{field: text}), field) == value


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
        ("networks", ", ".join(f"2001:db8::{number:x}" for number in range(MOST_NETWORKS + 1))),
        ("prefixes", ", ".join(f"49{number:04}" for number in range(MOST_PREFIXES + 1))),
        ("senders", "AB"),
        ("senders", ", ".join(f"ACME{number}" for number in range(MOST_SENDERS + 1))),
        ("id", "7"),
        ("password_hash", "x"),
    ],
)
async def test_account_fields_that_are_wrong(desk: Desk, field: str, text: str) -> None:
    await accounts.create(desk, "acme")
    before = await found(desk)
    with pytest.raises(Invalid) as caught:
        await change(desk, **{"rate": "5", field: text})
    assert caught.value.field == field
    assert await found(desk) == before


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
    desk = open_desk(CallbackUrls(guard.forbidden_host, guard.forbidden_port))
    wrong: dict[str, Any] = {field: url}
    for made in (accounts.create(desk, "acme", **wrong), accounts.change(desk, "acme", **wrong)):
        with pytest.raises(Invalid) as caught:
            await made
        assert caught.value.field == field
        assert reason in str(caught.value)
    good = "https://example.com:8443/receipts"
    right: dict[str, Any] = {field: good}
    await accounts.create(desk, "acme", **right)
    assert getattr((await found(desk))[0], field) == good
    await accounts.change(desk.acting_as("ada"), "acme", **{field: ""})
    assert getattr((await found(desk))[0], field) == ""


async def test_a_balance_does_not_rise_above_what_its_column_holds(desk: Desk) -> None:
    await accounts.create(desk, "acme", MAX_BALANCE - 7)
    assert await accounts.top_up(desk, "acme", 7) == {"balance": MAX_BALANCE}
    with pytest.raises(Invalid, match=r"is 1000000000000 and may not rise above 1000000000000") as caught:
        await accounts.top_up(desk, "acme", 1)
    assert caught.value.field == "amount"


async def test_credit_is_added_and_taken_back_down_to_the_limit(desk: Desk) -> None:
    await accounts.create(desk, "acme", 10, credit_limit=5)
    assert await accounts.top_up(desk, "acme", 5, "note") == {"balance": 15}
    assert await accounts.top_up(desk, "acme", -20) == {"balance": -5}
    with pytest.raises(Invalid, match=r"may not fall below -0\.000005"):
        await accounts.top_up(desk, "acme", -1)
    with pytest.raises(Invalid):
        await accounts.top_up(desk, "acme", 0)
    reads = {each.name: each for each in ACCOUNTS.operation("top-up").reads}
    for note in ("two\nlines", "x" * 201):
        with pytest.raises(Invalid):
            reads["note"].read(note)
    assert [(each.amount, each.note) for each in await accounts.entries(desk, "acme", 2)] == [(-20, ""), (5, "note")]


async def test_secrets_are_replaced(desk: Desk) -> None:
    made = await accounts.create(desk, "acme")
    password = (await accounts.new_password(desk, "acme"))["password"]
    secret = (await accounts.new_signing_secret(desk, "acme"))["signing_secret"]
    account, _, _ = await found(desk)
    assert password != made["password"]
    assert account.password_hash == f"hash of {password}"
    assert format_secret(account.signing_secret) == secret != made["signing_secret"]


async def test_suspending_has_its_own_entry_in_the_audit_log(desk: Desk) -> None:
    await accounts.create(desk, "acme")
    for settings in (
        {"suspended": True},
        {"suspended": False},
        {"suspended": True, "rate": 5.0, "senders": ("A1", "B2")},
    ):
        await accounts.change(desk, "acme", **settings)
    latest = await desk.store.audit_log.find(AuditQuery(limit=3))
    assert [(each.action, each.details) for each in latest[::-1]] == [
        ("account.suspend", {}),
        ("account.resume", {}),
        ("account.set", {"suspended": "true", "rate": "5", "senders": "A1,B2"}),
    ]


async def test_keys_come_and_go(desk: Desk) -> None:
    first = await accounts.create(desk, "acme")
    second = await keys.create(desk, "acme")
    await keys.revoke(desk, "acme", first["key_id"])
    shown = {key["id"]: key["revoked"] is None for key in await keys.find(desk, "acme")}
    assert shown == {first["key_id"]: False, second["key_id"]: True}
    for key_id in (first["key_id"], "nothing"):
        with pytest.raises(NoSuch):
            await keys.revoke(desk, "acme", key_id)


async def test_nobody_is_nobody(desk: Desk) -> None:
    for call in (
        accounts.show(desk, "x"), accounts.top_up(desk, "x", 1), accounts.change(desk, "x", suspended=True),
        accounts.new_password(desk, "x"), accounts.new_signing_secret(desk, "x"), accounts.entries(desk, "x", 1),
        accounts.usage(desk, "x", 1), keys.create(desk, "x"), keys.find(desk, "x"), keys.revoke(desk, "x", "y"),
    ):  # fmt: skip
        with pytest.raises(NoSuch, match="There is no account x"):
            await call


async def test_a_name_in_another_case_is_told(desk: Desk) -> None:
    await accounts.create(desk, "Acme")
    for name, said in (("acme", "There is no account acme, but Acme"), ("acm", "There is no account acm")):
        for call in (accounts.show(desk, name), keys.find(desk, name), account_id(desk.store, name)):
            with pytest.raises(NoSuch, match=f"^{said}$"):
                await call


def test_every_setting_is_in_one_group_of_the_form() -> None:
    assert sorted(name for _, names in GROUPS for name in names) == sorted(each.name for each in SETTINGS)
