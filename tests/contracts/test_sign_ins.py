"""Failures to sign in and known places, as nodes and runs tell them to each other."""

from dataclasses import replace

from heliograph.app.configuration import Account, ApiKey
from heliograph.app.ports import Store
from heliograph.app.records import AdminToken, AdminUser, KeyUse, SignInFailure, SignInPlace, UserRole
from heliograph.app.sending.failure_register import DAILY
from tests.support.store import SECOND, START

HERE, THERE = 7, 2**47


def failure(name: bytes, at: int = START, node: int = HERE, failures: int = 1) -> SignInFailure:
    return SignInFailure("console", name, node, at, failures)


async def test_the_first_key_is_everybodys(store: Store) -> None:
    first = await store.sign_ins.key(b"a" * 32)
    assert first == b"a" * 32
    assert await store.sign_ins.key(b"b" * 32) == first


async def test_each_node_reads_what_others_wrote_the_newest_first(store: Store) -> None:
    mine, theirs = failure(b"m" * 16), failure(b"\0" * 16, START + SECOND, THERE, 3)
    older = SignInFailure("customers", b"t" * 16, THERE, START, 2)
    await store.sign_ins.add([mine, theirs, older], [])
    assert await store.sign_ins.failures(START, START, HERE, 10) == [theirs, older]
    assert await store.sign_ins.failures(START + 1, START, HERE, 10) == [theirs]
    assert await store.sign_ins.failures(START, START, HERE, 1) == [theirs]
    assert await store.sign_ins.failures(START, START, THERE, 10) == [mine]


async def test_failures_of_a_time_that_comes_again_add_up(store: Store) -> None:
    await store.sign_ins.add([failure(b"m" * 16)], [])
    await store.sign_ins.add([failure(b"m" * 16, failures=2)], [])
    found = await store.sign_ins.failures(START, START, THERE, 10)
    assert sum(each.failures for each in found) == 3


async def test_a_place_is_known_from_its_last_time_on(store: Store) -> None:
    one, other = SignInPlace("console", b"1" * 16, START), SignInPlace("customers", b"1" * 16, START + 5)
    await store.sign_ins.add([], [one, other])
    assert await store.sign_ins.places(10) == [other, one]
    again = SignInPlace("console", b"1" * 16, START + SECOND)
    await store.sign_ins.add([], [again])
    assert await store.sign_ins.places(10) == [again, other]
    assert await store.sign_ins.places(1) == [again]


async def test_what_is_old_is_forgotten_so_many_at_once(store: Store) -> None:
    failures = [failure(bytes([n]) * 16, START + n) for n in range(5)]
    places = [SignInPlace("console", bytes([n]) * 16, START + n) for n in range(3)]
    await store.sign_ins.add(failures, places)
    assert await store.sign_ins.forget(START + 4, START, START + 1, 3) == 3
    assert await store.sign_ins.failures(0, 0, 0, 10) == [failures[4], failures[3]]
    assert await store.sign_ins.places(10) == [places[2], places[1]]
    assert await store.sign_ins.forget(START + 4, START, START + 1, 3) == 1
    assert await store.sign_ins.forget(START + 4, START, START + 1, 3) == 0


async def test_what_counts_by_the_day_is_kept_longer_and_read_first(store: Store) -> None:
    wrong = [SignInFailure(DAILY, bytes([n]) * 16, HERE, START + n, 1) for n in range(3)]
    short = failure(b"m" * 16, START + 2)
    await store.sign_ins.add([*wrong, short], [])
    assert await store.sign_ins.failures(START + 2, START + 1, THERE, 10) == [wrong[2], wrong[1], short]
    assert await store.sign_ins.failures(START, START, THERE, 1) == [wrong[2]]
    assert await store.sign_ins.forget(START + 9, START + 1, 0, 10) == 2
    assert await store.sign_ins.failures(0, 0, 0, 10) == [wrong[2], wrong[1]]


async def test_a_hash_is_replaced_unless_it_has_changed(store: Store, account: Account) -> None:
    user = AdminUser("ada", "was", UserRole.VIEWER, START)
    await store.users.create(user)
    before = await store.table_changes.revision()
    await store.sign_ins.rehash_account(account.id, account.password_hash, "anew")
    await store.sign_ins.rehash_account(account.id, account.password_hash, "too late")
    await store.sign_ins.rehash_user("ada", "was", "anew")
    await store.sign_ins.rehash_user("ada", "was", "too late")
    found = await store.accounts.by_id(account.id)
    assert found is not None
    assert found.password_hash == "anew"
    assert await store.users.find("ada") == replace(user, password_hash="anew")
    assert await store.table_changes.revision() == before


async def test_keys_and_tokens_have_their_ends_and_their_last_use(store: Store, account: Account) -> None:
    key = ApiKey("k2", account.id, b"2" * 32, START + 1, expires=START + 9)
    token = AdminToken("4f1a", "billing", b"t" * 32, ("accounts:read",), START, expires=START + 7)
    await store.accounts.add_key(key)
    await store.tokens.add(token)
    before = await store.table_changes.revision()
    uses = [KeyUse(account.id, "k2", START + 3), KeyUse(0, "4f1a", START + 4), KeyUse(account.id, "unknown", START)]
    await store.sign_ins.add([], [], uses)
    await store.sign_ins.add([], [], [KeyUse(account.id, "k2", START + 2), KeyUse(0, "4f1a", START + 2)])
    found = await store.accounts.find(account.name)
    assert found is not None
    assert found[1][-1] == replace(key, used=START + 3)
    assert await store.tokens.find(token.digest) == replace(token, used=START + 4)
    assert await store.tokens.all() == [replace(token, used=START + 4)]
    assert await store.table_changes.revision() == before
