"""Credentials over time: what is remembered, what is forgotten, and how guessing is slowed down."""

import hashlib

import pytest

from heliograph.app.configuration import ApiKey
from heliograph.app.records import KeyUse
from heliograph.app.sending.authenticate import FAILURES_REFUSED, REMEMBERED_S
from tests.support.gateway import API_KEY, PASSWORD, START, Gateway, basic

SEND = "/api/v2/messages"
BALANCE = "/api/v2/account/balance"
RIGHT = basic("acme", PASSWORD)
WRONG = basic("acme", "wrong")


async def test_a_right_password_is_checked_once_in_some_minutes(gateway: Gateway) -> None:
    for _ in range(3):
        assert (await gateway.call("POST", BALANCE, auth=RIGHT)).status == 200
    assert gateway.secrets.verified == 1
    gateway.clock.forward(REMEMBERED_S + 1)
    await gateway.call("POST", BALANCE, auth=RIGHT)
    assert gateway.secrets.verified == 2


async def test_a_change_of_something_else_needs_no_new_check(gateway: Gateway) -> None:
    await gateway.call("POST", BALANCE, auth=RIGHT)
    await gateway.change_account("other", suspended=True)
    await gateway.change_account(timezone="Europe/Berlin")
    assert (await gateway.call("POST", BALANCE, auth=RIGHT)).status == 200
    assert gateway.secrets.verified == 1


async def test_a_changed_password_takes_effect(gateway: Gateway) -> None:
    await gateway.call("POST", BALANCE, auth=RIGHT)
    await gateway.change_account(password_hash=gateway.secrets.hash_password("new"))
    assert (await gateway.call("POST", BALANCE, auth=RIGHT)).status == 401
    assert (await gateway.call("POST", BALANCE, auth=basic("acme", "new"))).status == 200


async def test_a_revoked_key_takes_effect_and_a_new_one_works_at_once(gateway: Gateway) -> None:
    path = "/api/v1/account/balance"
    assert (await gateway.call("POST", path)).status == 200
    await gateway.store.accounts.add_key(ApiKey("second", 1, hashlib.sha256(b"new").digest(), START))
    assert (await gateway.call("POST", path, auth=basic("acme", "new"))).status == 200
    await gateway.store.accounts.revoke_key(1, "k-acme", START)
    await gateway.directory.refresh()
    assert (await gateway.call("POST", path, auth=basic("acme", API_KEY))).status == 401
    assert (await gateway.call("POST", path, auth=basic("acme", "new"))).status == 200


async def test_an_unknown_user_costs_as_much_as_a_wrong_password(gateway: Gateway) -> None:
    for user in ("acme", "nobody"):
        before = gateway.secrets.verified
        assert (await gateway.call("POST", BALANCE, auth=basic(user, "wrong"))).fault == (401, "04", None)
        assert gateway.secrets.verified == before + 1


@pytest.mark.parametrize("path", [BALANCE, "/api/v1/account/balance"])
async def test_the_tenth_failure_in_a_minute_is_slowed_down(gateway: Gateway, path: str) -> None:
    statuses = [(await gateway.call("POST", path, auth=WRONG)).status for _ in range(12)]
    assert statuses == [401] * 9 + [429] * 3
    reply = await gateway.call("POST", path, auth=WRONG)
    assert reply.fault == (429, "12", None)
    assert 1 <= int(reply.headers["retry-after"]) <= 60
    gateway.clock.forward(60)
    assert (await gateway.call("POST", path, auth=WRONG)).status == 401


async def test_nobody_is_locked_out_by_others(gateway: Gateway) -> None:
    for _ in range(15):
        await gateway.call("POST", BALANCE, auth=WRONG)
    assert (await gateway.call("POST", BALANCE, auth=basic("other", "wrong"))).status == 401
    assert (await gateway.call("POST", BALANCE, auth=RIGHT)).status == 200
    gateway.addresses[0] = "198.51.100.1"
    assert (await gateway.call("POST", BALANCE, auth=WRONG)).status == 401


async def test_who_goes_on_is_not_even_checked(gateway: Gateway) -> None:
    for _ in range(FAILURES_REFUSED):
        await gateway.call("POST", BALANCE, auth=WRONG)
    before = gateway.secrets.verified
    assert (await gateway.call("POST", BALANCE, auth=RIGHT)).status == 429
    assert gateway.secrets.verified == before
    gateway.clock.forward(60)
    assert (await gateway.call("POST", BALANCE, auth=RIGHT)).status == 200


async def test_a_malformed_header_does_not_count(gateway: Gateway) -> None:
    for header in (None, b"Basic !", b"Bearer x", basic("acme", "x")[:9], b"Basic " + b"YWNtZQ=="):
        for _ in range(12):
            assert (await gateway.call("POST", BALANCE, auth=header)).status == 401


@pytest.mark.parametrize("user", ["", "a\x00b", "a" * 5000, "né", "acme\n"])
async def test_a_strange_user(gateway: Gateway, user: str) -> None:
    for path in (BALANCE, "/api/v1/account/balance"):
        assert (await gateway.call("POST", path, auth=basic(user, "x:y"))).fault == (401, "04", None)


async def test_a_secret_may_have_colons_and_any_letters(gateway: Gateway) -> None:
    await gateway.change_account(password_hash=gateway.secrets.hash_password("a:ü:😀"))
    assert (await gateway.call("POST", BALANCE, auth=basic("acme", "a:ü:😀"))).status == 200


async def test_a_store_that_is_away_is_no_wrong_password(gateway: Gateway) -> None:
    gateway.store.broken = True
    assert (await gateway.call("POST", BALANCE, auth=RIGHT)).fault == (503, "13", None)
    gateway.store.broken = False
    assert (await gateway.call("POST", BALANCE, auth=RIGHT)).status == 200


async def test_a_hash_of_before_is_made_anew_when_its_password_is_given(gateway: Gateway) -> None:
    found = await gateway.store.accounts.find("acme")
    assert found is not None
    hashed = found[0].password_hash
    await gateway.change_account(password_hash=f"old {hashed}")
    assert (await gateway.call("POST", BALANCE, auth=WRONG)).status == 401
    revision = await gateway.store.table_changes.revision()
    assert (await gateway.call("POST", BALANCE, auth=RIGHT)).status == 200
    found = await gateway.store.accounts.find("acme")
    assert found is not None
    assert found[0].password_hash == hashed
    assert await gateway.store.table_changes.revision() == revision
    assert (await gateway.call("POST", BALANCE, auth=RIGHT)).status == 200


async def add_key(gateway: Gateway, expires: int | None) -> str:
    key = ApiKey("short", 1, hashlib.sha256(b"short").digest(), START, expires=expires)
    await gateway.store.accounts.add_key(key)
    await gateway.directory.refresh()
    return "short"


async def test_a_key_ends_when_it_expires_also_where_it_is_remembered(gateway: Gateway) -> None:
    auth = basic("acme", await add_key(gateway, gateway.clock.now() + 60_000))
    gateway.clock.ms += 59_999
    assert (await gateway.call("POST", "/api/v1/account/balance", auth=auth)).status == 200
    gateway.clock.ms += 1_001
    assert (await gateway.call("POST", "/api/v1/account/balance", auth=auth)).fault == (401, "04", None)


async def test_an_expired_key_is_no_key(gateway: Gateway) -> None:
    auth = basic("acme", await add_key(gateway, gateway.clock.now()))
    assert (await gateway.call("POST", "/api/v1/account/balance", auth=auth)).fault == (401, "04", None)


async def test_the_use_of_a_key_is_noted_once_an_hour(gateway: Gateway) -> None:
    auth, path = basic("acme", await add_key(gateway, None)), "/api/v1/account/balance"
    register = gateway.authenticator._register
    assert (await gateway.call("POST", path, auth=auth)).status == 200
    (use,) = register.take().uses.items()
    assert use == ((1, "short"), gateway.clock.now())
    await gateway.store.sign_ins.add([], [], [KeyUse(1, "short", gateway.clock.now())])
    gateway.clock.forward(3_599)
    assert (await gateway.call("POST", path, auth=auth)).status == 200
    assert register.take().uses == {}
    gateway.clock.forward(301)
    assert (await gateway.call("POST", path, auth=auth)).status == 200
    assert list(register.take().uses) == [(1, "short")]
