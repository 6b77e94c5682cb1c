"""The bounds of the authenticator: what it keeps in memory, and how many checks wait."""

import asyncio

import pytest

from heliograph.api.checks import basic_credentials
from heliograph.api.messages import V1, V2
from heliograph.app.configuration import Account, ApiKey
from heliograph.app.sending import authenticate, password_queue
from heliograph.app.sending.authenticate import Authenticator, ClientCredentials
from heliograph.app.sending.directory import Directory
from heliograph.app.sending.failure_register import SignInDoor, SignInProblem
from heliograph.domain.error import Fault
from heliograph.domain.limits.defaults import LOGIN_FAILURES_AN_ADDRESS, LOGIN_WINDOW_S
from tests.support.gateway import HandClock, PlainSecrets, basic, failure_register
from tests.support.memory_store import MemoryStore
from tests.support.secrets import rehash
from tests.support.timeouts import PATIENCE_S


async def open_authenticator(names: str = "a") -> tuple[Authenticator, PlainSecrets, asyncio.Event]:
    """Its checks wait for the event, which is set at first."""
    store, secrets, go = MemoryStore(), PlainSecrets(), asyncio.Event()
    for name in names:
        account = Account(0, name, secrets.hash_password("right"), bytes(32))
        await store.accounts.create(account, ApiKey("k", 0, bytes(32), 0), 0, [])
    directory = Directory(store.table_changes, store.accounts)
    await directory.refresh()
    go.set()

    async def verify(hashed: str, password: str, line: bytes = b"", *, first: bool = False) -> bool:
        await go.wait()
        return secrets.verify_password(hashed, password)

    return (
        Authenticator(
            directory, secrets, verify, failure_register(HandClock(), LOGIN_WINDOW_S), rehash(secrets, store)
        ),
        secrets,
        go,
    )


def typed(secret: str) -> ClientCredentials:
    return basic_credentials(basic("a", secret))


async def test_it_remembers_so_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(authenticate, "REMEMBERED", 2)
    authenticator, _, _ = await open_authenticator("abc")
    headers = [basic(name, "right") for name in "abc"]
    for header in headers:
        await authenticator.check(V2, basic_credentials(header), "x", 0.0)
    assert [authenticator.proven(V2, header, 1.0) is not None for header in headers] == [False, True, True]


async def test_a_success_is_remembered_for_its_version_alone() -> None:
    authenticator, _, _ = await open_authenticator()
    header = basic("a", "right")
    await authenticator.check(V2, basic_credentials(header), "x", 0.0)
    assert authenticator.proven(V2, header, 0.0) is not None
    assert authenticator.proven(V1, header, 0.0) is None
    assert authenticator.proven(V2, None, 0.0) is None


async def test_what_is_known_holds_for_its_time_and_while_nothing_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    authenticator, _, _ = await open_authenticator()
    header = basic("a", "right")
    assert authenticator.proven(V2, header, 0.0) is None
    await authenticator.check(V2, basic_credentials(header), "x", 0.0)
    proven = authenticator.proven(V2, header, 0.0)
    assert proven is not None
    last = authenticate.REMEMBERED_S
    assert [authenticator.holds(proven, now) for now in (0.0, last, last + 0.1)] == [True, True, False]
    monkeypatch.setattr(authenticator._directory, "generation", authenticator._directory.generation + 1)
    assert not authenticator.holds(proven, 0.0)


async def refused(authenticator: Authenticator, name: str, address: str, secret: str = "wrong") -> str:
    """The code of the refusal; '' where there was none."""
    try:
        await authenticator.check(V2, basic_credentials(basic(name, secret)), address, 0.0)
    except Fault as fault:
        return fault.entry.code
    return ""


async def test_many_names_from_one_address_are_slowed_down_and_then_refused() -> None:
    authenticator, secrets, _ = await open_authenticator()
    names = [f"nobody {number}" for number in range(300)]
    codes = [await refused(authenticator, name, "192.0.2.1") for name in names]
    assert codes == ["04"] * (LOGIN_FAILURES_AN_ADDRESS - 1) + ["12"] * (300 - LOGIN_FAILURES_AN_ADDRESS + 1)
    assert secrets.verified == authenticate.FAILURES_REFUSED
    assert authenticator._register.problems == {
        (SignInDoor.API, SignInProblem.WRONG): authenticate.FAILURES_REFUSED,
        (SignInDoor.API, SignInProblem.LOCKED): 300 - authenticate.FAILURES_REFUSED,
    }
    assert await refused(authenticator, "a", "192.0.2.1", "right") == "12"
    assert await refused(authenticator, "a", "192.0.2.2", "right") == ""


async def test_the_addresses_of_one_subscriber_are_one() -> None:
    authenticator, _, _ = await open_authenticator()
    codes = [await refused(authenticator, f"nobody {n}", f"2001:db8:0:7::{n:x}") for n in range(1, 300)]
    assert codes.count("04") == LOGIN_FAILURES_AN_ADDRESS - 1
    assert await refused(authenticator, "nobody", "2001:db8:0:8::1") == "04"


async def test_who_signed_in_from_there_is_not_refused_for_what_others_do_there() -> None:
    authenticator, _, _ = await open_authenticator("ab")
    assert await refused(authenticator, "a", "192.0.2.1", "right") == ""
    for number in range(300):
        await refused(authenticator, f"nobody {number}", "192.0.2.1")
    authenticator._proven.clear()  # what is remembered of the success itself
    assert await refused(authenticator, "a", "192.0.2.1", "right") == ""
    assert await refused(authenticator, "b", "192.0.2.1", "right") == "12"


async def test_made_up_names_do_not_wipe_what_is_remembered_of_others() -> None:
    authenticator, _, _ = await open_authenticator()
    for _ in range(authenticate.FAILURES_REFUSED):
        await refused(authenticator, "a", "192.0.2.1")
    for number in range(20_800):
        # an address has more names than it may fail with, so it needs many of these
        await refused(authenticator, f"nobody {number}", f"198.51.{number // 100 % 256}.{number % 100}")
    assert await refused(authenticator, "a", "192.0.2.1", "right") == "12"


async def test_so_many_checks_may_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(password_queue, "A_LINE", 2)
    authenticator, secrets, go = await open_authenticator()
    go.clear()
    waiting = [asyncio.create_task(authenticator.check(V2, typed(f"wrong {n}"), "x", 0.0)) for n in range(3)]
    async with asyncio.timeout(PATIENCE_S):
        with pytest.raises(Fault) as refused:
            await waiting[2]
    assert refused.value.entry.code == "13"
    go.set()
    codes = [
        fault.entry.code
        for fault in await asyncio.gather(*waiting[:2], return_exceptions=True)
        if isinstance(fault, Fault)
    ]
    assert codes == ["04", "04"]
    await authenticator.check(V2, basic_credentials(basic("a", "right")), "x", 0.0)
    assert secrets.verified == 3


async def test_failures_at_the_same_moment_all_count() -> None:
    authenticator, _, go = await open_authenticator()
    go.clear()
    waiting = [asyncio.create_task(authenticator.check(V2, typed("wrong"), "x", 0.0)) for _ in range(12)]
    await asyncio.sleep(0)
    go.set()
    faults = await asyncio.gather(*waiting, return_exceptions=True)
    codes = [fault.entry.code for fault in faults if isinstance(fault, Fault)]
    assert sorted(codes) == ["04"] * 9 + ["12"] * 3


async def test_the_secret_itself_is_not_kept() -> None:
    authenticator, _, _ = await open_authenticator()
    header = basic("a", "right")
    await authenticator.check(V2, basic_credentials(header), "x", 0.0)
    kept = repr((list(authenticator._proven), list(authenticator._proven.values())))
    assert header.decode() not in kept
    assert "right'" not in kept.replace("hash of right", "")
