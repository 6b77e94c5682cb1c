"""Second factors and recovery codes."""

from dataclasses import replace

import pytest

from heliograph.app.configuration import Exists, Missing
from heliograph.app.ports import Store
from heliograph.app.ports.factors import FactorKind, SecondFactor
from heliograph.app.records import AdminSession, AdminUser, UserRole
from tests.support.store import START

ADA = AdminUser("ada", "hash", UserRole.ADMIN, START)
BOB = AdminUser("bob", "hash", UserRole.VIEWER, START)
PHONE = SecondFactor("ada", "f1", FactorKind.APP, "Phone", b"\0secret\xff", 7, START)
TABLET = SecondFactor("ada", "f2", FactorKind.PASSKEY, "Täblet", b"other", 9, START + 1)
CODES = [bytes([n]) * 32 for n in range(3)]
SESSION = AdminSession(b"d" * 32, "ada", "csrf", START, START + 1000, START)


@pytest.fixture
async def users(store: Store) -> Store:
    for user in (ADA, BOB):
        await store.users.create(user)
    return store


async def test_a_user_has_second_factors_and_the_store_says_so(users: Store) -> None:
    await users.users.open_session(SESSION)
    assert await users.users.find("ada") == ADA
    await users.factors.add(TABLET, CODES)
    await users.factors.add(PHONE, [])
    assert await users.factors.of("ada") == [PHONE, TABLET]
    assert await users.factors.of("bob") == []
    has = replace(ADA, second_factor=True)
    assert await users.users.find("ada") == has
    assert await users.users.all() == [has, BOB]
    assert await users.users.session(SESSION.digest, START) == (SESSION, has)
    assert await users.factors.codes_left("ada") == 3
    with pytest.raises(Exists):
        await users.factors.add(replace(PHONE, name="again"), [])
    with pytest.raises(Missing):
        await users.factors.add(replace(PHONE, user="eve"), [])


async def test_a_counter_goes_up_only(users: Store) -> None:
    await users.factors.add(PHONE, CODES)
    assert await users.factors.advance("ada", "f1", 8, START + 5)
    assert not await users.factors.advance("ada", "f1", 8, START + 6)
    assert not await users.factors.advance("ada", "f1", 3, START + 6)
    assert not await users.factors.advance("bob", "f1", 9, START + 6)
    assert await users.factors.of("ada") == [replace(PHONE, counter=8, used=START + 5)]


async def test_a_recovery_code_is_good_once_and_for_its_user(users: Store) -> None:
    await users.factors.add(PHONE, CODES)
    assert not await users.factors.use_code("bob", CODES[0])
    assert await users.factors.use_code("ada", CODES[0])
    assert not await users.factors.use_code("ada", CODES[0])
    assert await users.factors.codes_left("ada") == 2
    await users.factors.replace_codes("ada", [b"n" * 32])
    assert not await users.factors.use_code("ada", CODES[1])
    assert await users.factors.codes_left("ada") == 1
    assert await users.factors.codes_left("bob") == 0


async def test_the_codes_go_with_the_last_factor(users: Store) -> None:
    await users.factors.add(PHONE, CODES)
    await users.factors.add(TABLET, [])
    await users.factors.remove("ada", "f1")
    assert await users.factors.codes_left("ada") == 3
    with pytest.raises(Missing):
        await users.factors.remove("ada", "f1")
    await users.factors.remove("ada", "f2")
    assert await users.factors.codes_left("ada") == 0
    assert await users.users.find("ada") == ADA


@pytest.mark.parametrize("removed", [False, True])
async def test_nothing_is_left_after_a_reset_or_without_the_user(users: Store, removed: bool) -> None:
    await users.factors.add(PHONE, CODES)
    await users.users.open_session(SESSION)
    if removed:
        await users.users.remove("ada")
    else:
        await users.factors.reset("ada")
    assert await users.factors.of("ada") == []
    assert await users.factors.codes_left("ada") == 0
    assert await users.users.session(SESSION.digest, START) is None
    with pytest.raises(Missing):
        await users.factors.reset("ada")
