"""Signing in to the console, and admin tokens."""

import asyncio
from typing import Any

import pytest

from heliograph.adapters.system.passkeys import WebauthnPasskeys
from heliograph.admin_api.dispatch import Dispatcher
from heliograph.admin_api.drawn import operations_of
from heliograph.app.admin import sign_in
from heliograph.app.admin.sign_in import SignIn
from heliograph.app.admin.signed_state import SignedState
from heliograph.app.records import SCOPES_OF, TOKEN_SCOPES, AdminUser, AuditQuery, Scope, UserRole
from heliograph.app.resources import users
from heliograph.app.resources.description import Resource
from heliograph.app.resources.desk import Actor, Desk, Invalid
from heliograph.app.resources.users import TOKENS, USERS
from heliograph.app.sending.failure_register import DAY_S, SignInDoor, SignInProblem
from heliograph.app.sending.password_queue import A_LINE
from heliograph.domain.error import FORBIDDEN, TOO_EARLY, UNAUTHENTICATED, UNAVAILABLE, Entry, Fault
from tests.support.gateway import HandClock, failure_register
from tests.support.memory_store import MemoryStore
from tests.support.secrets import CountingSecrets, rehash


class House:
    def __init__(self) -> None:
        self.store, self.clock, self.secrets = MemoryStore(), HandClock(), CountingSecrets()
        self.go = asyncio.Event()
        self.go.set()
        self.pauses: list[float] = []
        self.register = failure_register(self.clock, sign_in.WINDOW_S)
        self.wrong_codes = failure_register(self.clock, DAY_S)
        self.tickets = SignedState(bytes(32), self.clock.now)
        self.access = self.open()
        self.staff = Desk(self.store, self.clock, "cli:root", secrets=self.secrets)

    def open(self, idle_ms: int = sign_in.IDLE_MS, *, second_required: bool = False) -> SignIn:
        return SignIn(
            self.store,
            self.secrets,
            self.clock,
            self.verify,
            self.register,
            self.wrong_codes,
            self.pause,
            rehash(self.secrets, self.store),
            self.tickets,
            WebauthnPasskeys(),
            idle_ms,
            second_required=second_required,
        )

    async def pause(self, seconds: float) -> None:
        self.pauses.append(seconds)

    async def verify(self, hashed: str, password: str, line: bytes = b"", *, first: bool = False) -> bool:
        await self.go.wait()
        return self.secrets.verify_password(hashed, password)

    async def refused(self, name: str, password: str, entry: Entry, address: str = "192.0.2.1") -> Fault:
        with pytest.raises(Fault) as refusal:
            await self.access.sign_in(name, password, address)
        assert refusal.value.entry is entry
        return refusal.value

    async def deeds(self) -> list[tuple[str, str, str]]:
        return [(deed.actor, deed.action, deed.target) for deed in await self.store.audit_log.find(AuditQuery())]


async def ask(house: House, resource: Resource, given: dict[str, Any]) -> Any:
    """Makes a user or a token, as commands and pages do."""
    actor = Actor("cli:root", frozenset(Scope), "")
    dispatcher = Dispatcher(operations_of(resource), house.staff)
    return await dispatcher.ask(actor, resource.operation("create").asked(given))


@pytest.fixture
async def house() -> House:
    house = House()
    await users.create(house.staff, "ada", UserRole.OPERATOR, "correct horse")
    return house


async def test_who_signs_in_is_known_by_the_token_until_it_ends(house: House) -> None:
    token = await house.access.sign_in("ada", "correct horse", "192.0.2.1")
    actor = await house.access.session(token, "192.0.2.1")
    assert actor is not None
    assert (actor.name, actor.role, actor.plain_name) == ("user:ada", UserRole.OPERATOR, "ada")
    assert actor.scopes == SCOPES_OF[UserRole.OPERATOR]
    assert actor.csrf
    assert actor.csrf != token
    assert await house.access.session(token + "0", "192.0.2.1") is None
    assert await house.access.session("", "192.0.2.1") is None
    for _ in range(sign_in.SESSION_MS // sign_in.IDLE_MS * 2 - 1):
        house.clock.ms += sign_in.IDLE_MS // 2
        assert await house.access.session(token, "192.0.2.1") is not None
    house.clock.ms += sign_in.IDLE_MS // 2
    assert await house.access.session(token, "192.0.2.1") is None


async def test_a_session_that_nobody_uses_ends_for_good(house: House) -> None:
    token = await house.access.sign_in("ada", "correct horse", "x")
    house.clock.ms += sign_in.IDLE_MS - 1
    assert await house.access.session(token, "x", uses=False) is not None
    house.clock.ms += 1
    assert await house.access.session(token, "x") is None
    patient = house.open(sign_in.SESSION_MS)
    assert await patient.session(token, "x") is None


async def test_how_long_a_session_may_be_idle_is_a_setting(house: House) -> None:
    access = house.open(60_000)
    token = await access.sign_in("ada", "correct horse", "x")
    for _ in range(5):
        house.clock.ms += 45_000
        assert await access.session(token, "x") is not None
    house.clock.ms += 60_000
    assert await access.session(token, "x") is None


async def test_a_role_counts_as_it_is_now(house: House) -> None:
    token = await house.access.sign_in("ada", "correct horse", "x")
    await users.set_role(house.staff, "ada", UserRole.VIEWER)
    assert await house.access.session(token, "x") is None
    again = await house.access.session(await house.access.sign_in("ada", "correct horse", "x"), "x")
    assert again is not None
    assert not again.may(Scope.SEND)


async def test_signing_out_ends_the_session(house: House) -> None:
    token = await house.access.sign_in("ada", "correct horse", "x")
    actor = await house.access.session(token, "x")
    assert actor is not None
    await house.access.sign_out(token, actor)
    assert await house.access.session(token, "x") is None


async def test_it_does_not_tell_who_there_is(house: House) -> None:
    one = await house.refused("ada", "wrong", UNAUTHENTICATED)
    other = await house.refused("eve", "wrong", UNAUTHENTICATED)
    assert one.message == other.message


async def test_guessing_is_slowed_down_for_a_user_at_an_address(house: House) -> None:
    for _ in range(sign_in.FAILURES):
        await house.refused("ada", "wrong", UNAUTHENTICATED)
    slowed = await house.refused("ada", "correct horse", TOO_EARLY)
    assert slowed.retry_after == sign_in.WINDOW_S
    assert await house.access.sign_in("ada", "correct horse", "192.0.2.2")
    house.clock.forward(sign_in.WINDOW_S)
    assert await house.access.sign_in("ada", "correct horse", "192.0.2.1")


async def test_guessing_of_many_names_is_slowed_down_at_an_address(house: House) -> None:
    for number in range(sign_in.FAILURES_AN_ADDRESS):
        await house.refused(f"user{number}", "wrong", UNAUTHENTICATED)
    await house.refused("ada", "correct horse", TOO_EARLY)


async def guess_from_many(house: House, tries: int) -> None:
    """Guesses ada's password from as few addresses as it takes."""
    for number in range(tries):
        await house.refused("ada", "wrong", UNAUTHENTICATED, f"198.51.100.{number // sign_in.FAILURES}")


async def test_nobody_is_locked_out_by_what_others_do_elsewhere(house: House) -> None:
    assert await house.access.sign_in("ada", "correct horse", "192.0.2.1")
    await guess_from_many(house, 10 * sign_in.FAILURES)
    house.pauses.clear()
    assert await house.access.sign_in("ada", "correct horse", "192.0.2.1")
    assert house.pauses == []
    assert await house.access.sign_in("ada", "correct horse", "192.0.2.2")
    assert house.pauses == [sign_in.PAUSE_S]


async def test_the_more_fail_elsewhere_the_longer_a_newcomer_waits(house: House) -> None:
    await guess_from_many(house, sign_in.FAILURES_A_USER)
    assert house.pauses == []
    for number in range(3):
        await house.refused("ada", "wrong", UNAUTHENTICATED, f"192.0.2.{number}")
    assert house.pauses == [pytest.approx(sign_in.PAUSE_S * times) for times in (1, 2, 3)]
    house.clock.forward(sign_in.WINDOW_S)
    assert await house.access.sign_in("ada", "correct horse", "203.0.113.1")
    assert len(house.pauses) == 3


async def test_only_so_many_wait(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sign_in, "MOST_PAUSES", 0)
    await guess_from_many(house, sign_in.FAILURES_A_USER + 5)
    assert house.pauses == []


async def test_who_signed_in_from_there_is_not_slowed_down_by_others_there(house: House) -> None:
    assert await house.access.sign_in("ada", "correct horse", "192.0.2.1")
    for number in range(sign_in.FAILURES_AN_ADDRESS):
        await house.refused(f"user{number}", "wrong", UNAUTHENTICATED)
    await house.refused("eve", "wrong", TOO_EARLY)
    assert await house.access.sign_in("ada", "correct horse", "192.0.2.1")


async def test_the_addresses_of_one_subscriber_are_one(house: House) -> None:
    for number in range(sign_in.FAILURES):
        await house.refused("ada", "wrong", UNAUTHENTICATED, f"2001:db8::{number + 1}")
    await house.refused("ada", "correct horse", TOO_EARLY, "2001:db8::ffff")
    assert await house.access.sign_in("ada", "correct horse", "2001:db8:0:1::1")


async def test_passwords_tried_at_once_are_no_more_than_those_tried_in_turn(house: House) -> None:
    house.go.clear()
    flood = [
        asyncio.create_task(house.access.sign_in("ada", f"wrong {number}", "198.51.100.1")) for number in range(30)
    ]
    await asyncio.sleep(0)
    house.go.set()
    found = [fault.entry for fault in await asyncio.gather(*flood, return_exceptions=True) if isinstance(fault, Fault)]
    assert (found.count(UNAUTHENTICATED), found.count(TOO_EARLY)) == (sign_in.FAILURES, 30 - sign_in.FAILURES)


async def test_what_is_under_way_is_no_failure_for_those_who_come_after(house: House) -> None:
    house.go.clear()
    tabs = [asyncio.create_task(house.access.sign_in("ada", "correct horse", "x")) for _ in range(sign_in.FAILURES)]
    await asyncio.sleep(0)
    assert (await house.refused("ada", "correct horse", TOO_EARLY, "x")).retry_after == 1
    house.go.set()
    assert all(await asyncio.gather(*tabs))
    assert await house.access.sign_in("ada", "correct horse", "x")


async def test_a_stolen_session_guesses_no_password_from_many_addresses(house: House) -> None:
    token = await house.access.sign_in("ada", "correct horse", "192.0.2.1")
    entries = []
    for number in range(sign_in.FAILURES_AN_ADDRESS + 10):
        actor = await house.access.session(token, f"198.51.100.{number}")
        assert actor is not None
        with pytest.raises(Fault) as refusal:
            await house.access.confirm(actor, f"guess {number}")
        entries.append(refusal.value.entry)
    assert entries == [UNAUTHENTICATED] * sign_in.FAILURES_AN_ADDRESS + [TOO_EARLY] * 10
    assert await house.access.sign_in("ada", "correct horse", "192.0.2.1")


async def test_who_is_not_let_in_is_counted_by_door_and_reason(house: House) -> None:
    for _ in range(sign_in.FAILURES):
        await house.refused("ada", "wrong", UNAUTHENTICATED)
    for _ in range(2):
        await house.refused("ada", "correct horse", TOO_EARLY)
    for _ in range(sign_in.FAILURES_AN_ADDRESS + 1):
        with pytest.raises(Fault):
            await house.access.bearer(b"Bearer hat_wrong", "192.0.2.1")
    assert await house.access.sign_in("ada", "correct horse", "192.0.2.2")
    assert house.register.problems == {
        (SignInDoor.CONSOLE, SignInProblem.WRONG): sign_in.FAILURES,
        (SignInDoor.CONSOLE, SignInProblem.LOCKED): 2,
        (SignInDoor.ADMIN_API, SignInProblem.WRONG): sign_in.FAILURES_AN_ADDRESS + 1,
    }


async def test_one_address_takes_no_place_of_another_to_be_checked(house: House) -> None:
    house.go.clear()
    flood = [
        asyncio.create_task(house.access.sign_in(f"ada{number}", f"wrong {number}", "198.51.100.1"))
        for number in range(60)
    ]
    await asyncio.sleep(0)
    newcomer = asyncio.create_task(house.access.sign_in("ada", "correct horse", "192.0.2.1"))
    await asyncio.sleep(0)
    house.go.set()
    assert await newcomer
    found = [fault.entry for fault in await asyncio.gather(*flood, return_exceptions=True) if isinstance(fault, Fault)]
    assert found.count(UNAVAILABLE) == 60 - A_LINE


async def test_signing_in_and_failing_to_are_in_the_audit_log(house: House) -> None:
    await house.refused("my-password", "wrong", UNAUTHENTICATED)
    await house.refused("ada", "wrong", UNAUTHENTICATED)
    await house.access.sign_in("ada", "correct horse", "x")
    assert await house.deeds() == [
        ("user:ada", "session.open", "ada"),
        ("user:ada", "session.refuse", "ada"),
        ("unknown", "session.refuse", ""),
        ("cli:root", "admin.create", "ada"),
    ]


async def test_a_token_has_its_scopes_and_no_others(house: House) -> None:
    made = await users.create_token(house.staff, "billing", ["topups:write", "accounts:read"])
    actor = await house.access.bearer(f"Bearer {made['secret']}".encode(), "x")
    assert actor.name == f"token:{made['id']}"
    assert actor.scopes == {Scope.READ_ACCOUNTS, Scope.TOP_UP}
    assert made["secret"] not in repr(await house.store.audit_log.find(AuditQuery()))
    await users.revoke_token(house.staff, made["id"])
    with pytest.raises(Fault) as refusal:
        await house.access.bearer(f"Bearer {made['secret']}".encode(), "x")
    assert refusal.value.entry is UNAUTHENTICATED


HEADERS = [None, b"Bearer", b"Bearer x", b"Basic YTpi", b"", b"\xff\xfe", b"Bearer " + b"x" * 9999]


@pytest.mark.parametrize("header", HEADERS)
async def test_no_token_is_no_actor(house: House, header: bytes | None) -> None:
    with pytest.raises(Fault) as refusal:
        await house.access.bearer(header, "x")
    assert refusal.value.entry is UNAUTHENTICATED


async def test_guessing_tokens_is_slowed_down(house: House) -> None:
    made = await users.create_token(house.staff, "billing", ["accounts:read"])
    for _ in range(sign_in.FAILURES_AN_ADDRESS):
        with pytest.raises(Fault):
            await house.access.bearer(b"Bearer x", "x")
    with pytest.raises(Fault) as refusal:
        await house.access.bearer(b"Bearer x", "x")
    assert refusal.value.entry is TOO_EARLY
    assert (await house.access.bearer(f"Bearer {made['secret']}".encode(), "x")).scopes


def test_each_role_may_do_what_the_one_before_it_may() -> None:
    viewer, operator, admin = (SCOPES_OF[role] for role in UserRole)
    assert viewer < operator < admin == set(Scope)
    assert all(scope.value.endswith(":read") for scope in viewer)
    assert Scope.PEOPLE not in operator
    assert Scope.PEOPLE not in TOKEN_SCOPES


def test_what_is_refused_is_said_in_words() -> None:
    viewer = Actor("user:v", SCOPES_OF[UserRole.VIEWER], "", UserRole.VIEWER)
    with pytest.raises(Fault, match="This needs the role operator; your role is viewer") as refusal:
        viewer.need(Scope.SEND)
    assert refusal.value.entry is FORBIDDEN
    with pytest.raises(Fault, match="lacks the scope messages:send"):
        Actor("token:1", frozenset(), "").need(Scope.SEND)
    viewer.need(Scope.READ_MESSAGES)


@pytest.mark.parametrize(
    ("name", "role", "password", "field"),
    [
        ("no name", "admin", None, "name"),
        ("eve", "root", None, "role"),
        ("eve", "admin", "too short", "password"),
        ("eve", "admin", "x" * 129, "password"),
    ],
)
async def test_users_are_checked(house: House, name: str, role: str, password: str | None, field: str) -> None:
    given = {"name": name, "role": role, "password": password}
    with pytest.raises(Fault) as problem:
        await ask(house, USERS, given)
    assert problem.value.field == field
    assert len(await users.find(house.staff)) == 1


@pytest.mark.parametrize(
    ("name", "scopes"), [("", ["accounts:read"]), ("x", []), ("x", ["people:write"]), ("x", ["y"])]
)
async def test_tokens_are_checked(house: House, name: str, scopes: list[str]) -> None:
    with pytest.raises(Fault):
        await ask(house, TOKENS, {"name": name, "scopes": scopes})
    assert await users.find_tokens(house.staff) == []


async def test_a_role_that_changes_while_a_password_is_hashed_stays_changed(house: House) -> None:
    async def hash_slowly(password: str) -> str:
        await users.set_role(house.staff, "ada", UserRole.VIEWER)
        return house.secrets.hash_password(password)

    slow = Desk(house.store, house.clock, "cli:root", secrets=house.secrets, hasher=hash_slowly)
    await users.set_password(slow, "ada", "another horse")
    (found,) = [user for user in await house.store.users.all() if user.name == "ada"]
    assert found.role is UserRole.VIEWER
    assert house.secrets.verify_password(found.password_hash, "another horse")


async def test_a_password_that_changes_while_a_role_is_set_stays_changed(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    find = house.store.users.find

    async def find_before_the_change(name: str) -> AdminUser | None:
        found = await find(name)
        monkeypatch.undo()
        await users.set_password(house.staff, "ada", "another horse")
        return found

    monkeypatch.setattr(house.store.users, "find", find_before_the_change)
    await users.set_role(house.staff, "ada", UserRole.VIEWER)
    changed = await find("ada")
    assert changed is not None
    assert changed.role is UserRole.VIEWER
    assert house.secrets.verify_password(changed.password_hash, "another horse")


async def test_a_hash_of_before_is_made_anew_and_nobody_is_signed_out(house: House) -> None:
    user = await house.store.users.find("ada")
    assert user is not None
    await house.store.users.update("ada", f"old {user.password_hash}")
    first = await house.access.sign_in("ada", "correct horse", "x")
    assert await house.store.users.find("ada") == user
    await house.access.sign_in("ada", "correct horse", "x")
    assert await house.access.session(first, "x") is not None


async def test_a_token_ends_when_it_expires_and_its_use_is_noted(house: House) -> None:
    made = await users.create_token(house.staff, "billing", ["accounts:read"], expires="1d")
    header = f"Bearer {made['secret']}".encode()
    assert made["expires"] == house.clock.now() + 86_400_000
    assert (await house.access.bearer(header, "x")).scopes
    assert list(house.register.take().uses) == [(0, made["id"])]
    house.clock.ms += 86_400_000 - 1
    assert (await house.access.bearer(header, "x")).scopes
    house.clock.ms += 1
    with pytest.raises(Fault) as refusal:
        await house.access.bearer(header, "x")
    assert refusal.value.entry is UNAUTHENTICATED
    with pytest.raises(Invalid):
        await users.create_token(house.staff, "billing", ["accounts:read"], expires="yesterday")
