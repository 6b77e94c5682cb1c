"""Those who run the gateway: how they sign in, and the log of what they did."""

from dataclasses import replace

import pytest

from heliograph.app.configuration import Exists, Missing, TopUp
from heliograph.app.ports import Store
from heliograph.app.records import AdminSession, AdminToken, AdminUser, AuditEntry, AuditQuery, UserRole
from tests.support.memory_store import MemoryStore
from tests.support.store import CREDIT, HOUR, OPENERS, START, Given, Opener

ADA = AdminUser("ada", "hash", UserRole.ADMIN, START)
SESSION = AdminSession(b"d" * 32, "ada", "csrf", START, START + HOUR, START)
TOKEN = AdminToken("4f1a", "billing", b"t" * 32, ("accounts:read", "topups:write"), START)


async def test_users_are_created_once_and_listed_by_name(store: Store) -> None:
    await store.users.create(ADA)
    await store.users.create(AdminUser("aba", "other", UserRole.VIEWER, START))
    with pytest.raises(Exists):
        await store.users.create(replace(ADA, password_hash="another"))
    assert [user.name for user in await store.users.all()] == ["aba", "ada"]
    assert await store.users.find("ada") == ADA
    assert await store.users.find("eve") is None


async def test_a_session_is_found_until_it_expires(store: Store) -> None:
    await store.users.create(ADA)
    await store.users.open_session(SESSION)
    assert await store.users.session(SESSION.digest, START) == (SESSION, ADA)
    assert await store.users.session(SESSION.digest, SESSION.expires) is None
    assert await store.users.session(b"e" * 32, START) is None


async def test_the_last_use_of_a_session_is_noted_and_never_goes_back(store: Store) -> None:
    await store.users.create(ADA)
    await store.users.open_session(SESSION)
    for now, used in ((START + 5, START + 5), (START + 9, START + 9), (START + 7, START + 9)):
        await store.users.use_session(SESSION.digest, now)
        assert await store.users.session(SESSION.digest, START) == (replace(SESSION, used=used), ADA)
    await store.users.use_session(b"e" * 32, START)
    assert await store.users.session(b"e" * 32, START) is None


async def test_a_session_that_is_closed_is_gone(store: Store) -> None:
    await store.users.create(ADA)
    await store.users.open_session(SESSION)
    await store.users.close_session(SESSION.digest)
    assert await store.users.session(SESSION.digest, START) is None
    await store.users.close_session(SESSION.digest)


async def test_a_new_password_or_role_ends_the_sessions(store: Store) -> None:
    await store.users.create(ADA)
    await store.users.open_session(SESSION)
    await store.users.update("ada", "new")
    assert await store.users.session(SESSION.digest, START) is None
    assert await store.users.find("ada") == replace(ADA, password_hash="new")
    await store.users.update("ada", role=UserRole.VIEWER)
    assert await store.users.find("ada") == AdminUser("ada", "new", UserRole.VIEWER, START)
    with pytest.raises(Missing):
        await store.users.update("eve", "new")


async def test_a_user_who_is_removed_is_signed_out(store: Store) -> None:
    await store.users.create(ADA)
    await store.users.open_session(SESSION)
    await store.users.remove("ada")
    assert await store.users.session(SESSION.digest, START) is None
    with pytest.raises(Missing):
        await store.users.remove("ada")


async def test_a_token_is_found_by_its_digest_until_it_is_revoked(store: Store) -> None:
    await store.tokens.add(TOKEN)
    with pytest.raises(Exists):
        await store.tokens.add(replace(TOKEN, digest=b"u" * 32))
    assert await store.tokens.find(TOKEN.digest) == TOKEN
    assert await store.tokens.find(b"u" * 32) is None
    await store.tokens.revoke(TOKEN.id, START + 5)
    assert await store.tokens.find(TOKEN.digest) is None
    assert await store.tokens.all() == [replace(TOKEN, revoked=START + 5)]
    with pytest.raises(Missing):
        await store.tokens.revoke(TOKEN.id, START + 6)


async def test_none_of_it_counts_as_a_change(store: Store) -> None:
    before = await store.table_changes.revision()
    await store.users.create(ADA)
    await store.tokens.add(TOKEN)
    await store.audit_log.append(deed("account.set"))
    assert await store.table_changes.revision() == before


def deed(action: str, target: str = "acme", actor: str = "user:ada") -> AuditEntry:
    return AuditEntry(START, actor, action, target, {"field": "plan", "to": "ächt"}, "192.0.2.7")


async def test_the_audit_log_is_read_newest_first_and_by_pages(store: Store) -> None:
    for action in ("account.set", "account.top-up", "route.add"):
        await store.audit_log.append(deed(action))
    page = await store.audit_log.find(AuditQuery(limit=2))
    assert [each.action for each in page] == ["route.add", "account.top-up"]
    assert replace(page[1], key=0) == deed("account.top-up")
    rest = await store.audit_log.find(AuditQuery(limit=2, before=page[-1].key))
    assert [each.action for each in rest] == ["account.set"]


async def test_the_audit_log_is_filtered(store: Store) -> None:
    await store.audit_log.append(deed("account.set"))
    await store.audit_log.append(deed("account.top-up", target="other"))
    await store.audit_log.append(deed("route.add", actor="cli:root"))

    async def actions(query: AuditQuery) -> list[str]:
        return [each.action for each in await store.audit_log.find(query)]

    assert await actions(AuditQuery(action="account.")) == ["account.top-up", "account.set"]
    assert await actions(AuditQuery(target="other")) == ["account.top-up"]
    assert await actions(AuditQuery(actor="cli:root")) == ["route.add"]
    assert await actions(AuditQuery(actor="cli:root", action="account.")) == []


@pytest.mark.parametrize("opener", OPENERS, indirect=True)
async def test_all_of_it_is_there_after_a_restart(opener: Opener) -> None:
    store = await opener()
    await store.users.create(ADA)
    await store.users.open_session(SESSION)
    await store.tokens.add(TOKEN)
    await store.audit_log.append(deed("account.set"))
    await store.close()
    store = await opener()
    assert await store.users.session(SESSION.digest, START) == (SESSION, ADA)
    assert await store.tokens.find(TOKEN.digest) == TOKEN
    assert len(await store.audit_log.find(AuditQuery())) == 1
    await store.close()


async def test_a_change_and_its_line_in_the_log_are_one(store: Store, given: Given) -> None:
    account = await given.account()
    noting = store.noting(lambda done: deed("account.top-up", str(done.balance)))
    assert await noting.accounts.add_credit(account.id, 5, "", START) == TopUp(100 * CREDIT + 5)
    (line,) = await store.audit_log.find(AuditQuery())
    assert (line.action, line.target) == ("account.top-up", str(100 * CREDIT + 5))


async def test_what_is_refused_or_not_described_leaves_no_line(store: Store, given: Given) -> None:
    account = await given.account()
    with pytest.raises(Missing):
        await store.noting(lambda _: deed("account.top-up")).accounts.add_credit(account.id + 1, 5, "", START)
    await store.noting(lambda _: None).accounts.add_credit(account.id, 5, "", START)
    assert await store.audit_log.find(AuditQuery()) == []
    assert await store.customers.balance(account.id) == 100 * CREDIT + 5


async def test_where_the_line_cannot_be_written_nothing_is_changed(opener: Opener) -> None:
    """In memory there is no transaction to take back; nothing there refuses a line."""
    store = await opener()
    if isinstance(store, MemoryStore):
        await store.close()
        return
    account = await Given(store).account()
    unwritable = replace(deed("account.top-up"), details={"amount": object()})  # type: ignore[dict-item]
    with pytest.raises(TypeError):
        await store.noting(lambda _: unwritable).accounts.add_credit(account.id, 5, "", START)
    assert await store.customers.balance(account.id) == 100 * CREDIT
    await store.close()
