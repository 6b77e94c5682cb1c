"""Second factors in the console: from setting an app up to losing it."""

import json
import re
from base64 import b32decode
from html import unescape
from typing import Any

import pytest

from heliograph.app.resources import users
from heliograph.console.request import SESSION_COOKIE
from heliograph.domain.security.one_time_code import STEP_MS, code
from tests.support.admin import AdminHouse, Answered, Browser
from tests.support.passkeys import SoftPasskey

PASSWORD = "correct horse"
HOST, ORIGIN = "sms.example.com", "https://sms.example.com"


def hidden(page: Answered, name: str) -> str:
    found = re.search(f'name="{name}" value="([^"]*)"', page.text)
    assert found is not None
    return unescape(found[1])


def passkey_options(page: Answered) -> dict[str, Any]:
    """Returns what a page asks the browser's passkeys."""
    found = re.search("data-passkey='([^']*)'", page.text)
    assert found is not None
    options: dict[str, Any] = json.loads(unescape(found[1]))
    return options


class Phone:
    """The app that a page showed the secret of."""

    def __init__(self, house: AdminHouse, page: Answered) -> None:
        found = re.search(r'<code id="secret-1">([A-Z2-7]+)</code>', page.text)
        assert found is not None
        self._house, self._secret = house, b32decode(found[1])

    def shows(self) -> str:
        return code(self._secret, self._house.gateway.clock.now() // STEP_MS)


async def set_up(house: AdminHouse, ada: Browser) -> tuple[Phone, list[str]]:
    page = await ada.post("/security/app", {"old": PASSWORD})
    assert page.status == 200
    assert "<svg" in page.text
    phone = Phone(house, page)
    done = await ada.post(
        "/security/confirm", {"ticket": hidden(page, "ticket"), "code": phone.shows(), "title": "Phone"}
    )
    assert done.status == 200
    house.gateway.clock.ms += STEP_MS
    return phone, re.findall(r"\b[a-z2-7]{4}(?:-[a-z2-7]{4}){3}\b", done.text)


async def test_signing_in_takes_a_code_once_an_app_is_set_up(house: AdminHouse) -> None:
    ada = await house.visitor()
    assert "only your password" in (await ada.get("/security")).text
    phone, codes = await set_up(house, ada)
    assert len(codes) == 10
    shown = (await ada.get("/security")).text
    assert "Phone" in shown
    assert "10 recovery codes are left" in shown
    other = Browser(house.console)
    step = await other.sign_in("ada", PASSWORD)
    assert step.status == 200
    assert SESSION_COOKIE not in other.cookies
    ticket = hidden(step, "ticket")
    wrong = await other.post("/sign-in/code", {"ticket": ticket, "code": "000000"}, bare=True)
    assert wrong.status == 401
    assert "The code is wrong" in wrong.text
    assert hidden(wrong, "ticket") == ticket
    right = await other.post("/sign-in/code", {"ticket": ticket, "code": phone.shows()}, bare=True)
    assert right.status == 303
    assert (await other.get("/messages")).status == 200
    again = await Browser(house.console).post("/sign-in/code", {"ticket": ticket, "code": phone.shows()}, bare=True)
    assert again.status == 401
    assert (await Browser(house.console).post("/sign-in/code", {"code": phone.shows()}, bare=True)).status == 401


async def change(ada: Browser, path: str, second: str, **form: str) -> Answered:
    """Gives the password for a change, and then what the second step takes."""
    step = await ada.post(path, {"old": PASSWORD} | form)
    assert step.status == 200
    assert "Your second factor" in step.text
    kept = {name: hidden(step, name) for name in form}
    assert kept == form
    return await ada.post(path, {"ticket": hidden(step, "ticket"), "code": second} | kept)


async def test_every_change_takes_the_second_factor_besides(house: AdminHouse) -> None:
    ada = await house.visitor()
    phone, codes = await set_up(house, ada)
    (factor,) = await house.gateway.store.factors.of("ada")
    for path in ("/security/app", "/security/passkey", "/security/remove", "/security/codes"):
        for wrong in ("", "000000", codes[0][:-1]):
            refused = await change(ada, path, wrong, factor=factor.id)
            assert refused.status == 400
            assert "The code is wrong, or was used already." in refused.text
            assert "or a recovery code" in refused.text
            house.gateway.clock.forward(300)
    assert len(await house.gateway.store.factors.of("ada")) == 1
    shown = phone.shows()
    assert (await change(ada, "/security/app", shown)).status == 200
    assert (await change(ada, "/security/remove", shown, factor=factor.id)).status == 400, "a code is good once"
    assert (await change(ada, "/security/remove", codes[0], factor=factor.id)).status == 303


async def test_a_ticket_for_a_change_is_good_in_its_session_alone(house: AdminHouse) -> None:
    ada = await house.visitor()
    phone, codes = await set_up(house, ada)
    step = await ada.post("/security/codes", {"old": PASSWORD})
    ticket = hidden(step, "ticket")
    stolen = Browser(house.console)
    signing = hidden(await stolen.sign_in("ada", PASSWORD), "ticket")
    assert (await stolen.post("/sign-in/code", {"ticket": signing, "code": codes[0]}, bare=True)).status == 303
    await stolen.look()
    for browser, other in ((stolen, ticket), (ada, signing), (ada, "x")):
        late = await browser.post("/security/codes", {"ticket": other, "code": codes[1]})
        assert late.status == 400
        assert "give your password again" in late.text
    assert (await ada.post("/sign-in/code", {"ticket": ticket, "code": codes[1]}, bare=True)).status == 401
    assert (await ada.post("/security/codes", {"ticket": ticket, "code": phone.shows()})).status == 200


async def test_who_has_passkeys_alone_changes_factors_with_one(house: AdminHouse) -> None:
    ada = await house.visitor()
    soft = SoftPasskey()
    page = await ada.post("/security/passkey", {"old": PASSWORD}, host=HOST)
    made = json.dumps(soft.make(passkey_options(page), ORIGIN))
    done = await ada.post("/security/passkey-confirm", {"ticket": hidden(page, "ticket"), "passkey": made}, host=HOST)
    assert done.status == 200
    (factor,) = await house.gateway.store.factors.of("ada")
    house.gateway.clock.ms += 1
    step = await ada.post("/security/remove", {"old": PASSWORD, "factor": factor.id}, host=HOST)
    assert "Use a passkey" in step.text
    stranger = json.dumps(SoftPasskey().use(passkey_options(step), ORIGIN))
    form = {"ticket": hidden(step, "ticket"), "factor": hidden(step, "factor")}
    assert (await ada.post("/security/remove", form | {"passkey": stranger}, host=HOST)).status == 400
    answer = json.dumps(soft.use(passkey_options(step), ORIGIN))
    assert (await ada.post("/security/codes", form | {"passkey": answer}, host=HOST)).status == 200
    assert (await ada.post("/security/remove", form | {"passkey": answer}, host=HOST)).status == 400, (
        "an answer is good once"
    )
    house.gateway.clock.ms += 1
    step = await ada.post("/security/remove", {"old": PASSWORD, "factor": factor.id}, host=HOST)
    form = {"ticket": hidden(step, "ticket"), "factor": hidden(step, "factor")}
    answer = json.dumps(soft.use(passkey_options(step), ORIGIN))
    assert (await ada.post("/security/remove", form | {"passkey": answer}, host=HOST)).status == 303
    assert await house.gateway.store.factors.of("ada") == []


async def test_an_answer_of_a_passkey_may_be_any_text(house: AdminHouse) -> None:
    for text in ("[" * 5_000, "{", "[]", "7"):
        answered = await Browser(house.console).post("/sign-in/code", {"ticket": "x", "passkey": text}, bare=True)
        assert answered.status == 401


async def test_every_change_takes_the_password(house: AdminHouse) -> None:
    ada = await house.visitor()
    await set_up(house, ada)
    for path in ("/security/app", "/security/remove", "/security/codes"):
        refused = await ada.post(path, {"old": "wrong"})
        assert refused.status == 400
        assert "The password is wrong" in refused.text
        house.gateway.clock.forward(300)
    assert len(await house.gateway.store.factors.of("ada")) == 1


async def test_a_slip_in_the_first_code_shows_the_same_secret_again(house: AdminHouse) -> None:
    ada = await house.visitor()
    page = await ada.post("/security/app", {"old": PASSWORD})
    slip = await ada.post("/security/confirm", {"ticket": hidden(page, "ticket"), "code": "000000", "title": "Phone"})
    assert slip.status == 400
    assert Phone(house, slip).shows() == Phone(house, page).shows()
    late = await ada.post("/security/confirm", {"ticket": "x", "code": "000000"})
    assert "too long" in late.text


async def test_codes_are_made_anew_and_the_app_removed(house: AdminHouse) -> None:
    ada = await house.visitor()
    phone, codes = await set_up(house, ada)
    anew = await change(ada, "/security/codes", codes[0])
    assert not set(codes) & set(re.findall(r"\b[a-z2-7]{4}(?:-[a-z2-7]{4}){3}\b", anew.text))
    (factor,) = await house.gateway.store.factors.of("ada")
    assert (await change(ada, "/security/remove", phone.shows(), factor=factor.id)).status == 303
    assert (await Browser(house.console).sign_in("ada", PASSWORD)).status == 303
    actions = [deed.action for deed in await house.entries()]
    assert [each for each in actions if each.startswith(("factor", "recovery"))] == [
        "factor.add", "recovery-codes.make", "factor.remove",
    ]  # fmt: skip
    log = str(await house.entries())
    assert not any(each in log for each in codes)


PEOPLE: dict[str, dict[str, Any]] = {
    "create": {"name": "eve", "role": "admin"},
    "role": {"name": "bob", "role": "admin"},
    "password": {"name": "bob"},
    "remove": {"name": "bob"},
    "second-factor": {"name": "bob"},
    "tokens": {"token_name": "mine", "scope": ["accounts:read", "topups:write"]},
}
"""Changes of who may sign in, or with what."""


async def test_another_admin_helps_who_lost_the_app(house: AdminHouse) -> None:
    bob = await house.visitor("viewer", "bob")
    await set_up(house, bob)
    ada = await house.visitor()
    assert "Reset second factor" in (await ada.get("/people")).text
    assert (await bob.post("/people/second-factor", {"name": "bob", "old": PASSWORD})).status in (401, 403)
    assert (await ada.post("/people/second-factor", {"name": "ada", "old": PASSWORD})).status == 409
    assert (await ada.post("/people/second-factor", {"name": "bob", "old": PASSWORD})).status == 303
    assert (await Browser(house.console).sign_in("bob", PASSWORD)).status == 303


@pytest.mark.parametrize("path", PEOPLE)
async def test_a_stolen_session_of_an_admin_changes_nothing_of_others(house: AdminHouse, path: str) -> None:
    bob = await house.visitor("viewer", "bob")
    await set_up(house, bob)
    ada = await house.visitor()
    phone, _ = await set_up(house, ada)
    store = house.gateway.store

    async def state() -> list[Any]:
        return [await store.users.all(), await store.tokens.all(), await store.factors.of("bob")]

    before = await state()

    asked = await ada.post(f"/people/{path}", PEOPLE[path])
    assert (asked.status, "Your password" in asked.text) == (200, True)
    wrong = await ada.post(f"/people/{path}", PEOPLE[path] | {"old": "a guess of it"})
    assert (wrong.status, "The password is wrong" in wrong.text) == (400, True)
    step = await ada.post(f"/people/{path}", PEOPLE[path] | {"old": PASSWORD})
    assert (step.status, "Your second factor" in step.text) == (200, True)
    ticket = {"ticket": hidden(step, "ticket")}
    late = await ada.post(f"/people/{path}", PEOPLE[path] | {"ticket": "x", "code": phone.shows()})
    assert (late.status, "give your password again" in late.text) == (400, True)
    wrong = await ada.post(f"/people/{path}", PEOPLE[path] | ticket | {"code": "000000"})
    assert (wrong.status, "The code is wrong" in wrong.text) == (400, True)
    assert await state() == before
    done = await ada.post(f"/people/{path}", PEOPLE[path] | ticket | {"code": phone.shows()})
    assert done.status in (200, 303)
    assert await state() != before


async def test_the_form_of_a_change_goes_from_step_to_step(house: AdminHouse) -> None:
    ada = await house.visitor()
    phone, _ = await set_up(house, ada)
    form = PEOPLE["tokens"]
    first = await ada.post("/people/tokens", form)
    second = await ada.post("/people/tokens", form | {"old": PASSWORD})
    for page in (first, second):
        kept = re.findall(r'<input type="hidden" name="(token_name|scope)" value="([^"]*)">', page.text)
        assert kept == [("token_name", "mine"), ("scope", "accounts:read"), ("scope", "topups:write")]
        assert PASSWORD not in page.text
    done = await ada.post("/people/tokens", form | {"ticket": hidden(second, "ticket"), "code": phone.shows()})
    assert "hat_" in done.text


async def test_whose_second_factors_were_removed_is_told_so_when_signing_in(house: AdminHouse) -> None:
    bob = await house.visitor("viewer", "bob")
    await set_up(house, bob)
    ada = await house.visitor()
    assert "removed all second factors" not in (await bob.get("/security")).text
    assert (await ada.post("/people/second-factor", {"name": "bob", "old": PASSWORD})).status == 303
    assert (await bob.get("/security")).status == 303, "the reset ends the sessions"
    again = Browser(house.console)
    page = await again.follow(await again.post("/sign-in", {"name": "bob", "password": PASSWORD}, bare=True))
    assert "ada removed your second factors on 2027-01-15" in page.text
    assert "ada removed all second factors on" in (await again.get("/security")).text
    assert "removed your second factors" not in (await again.get("/messages")).text
    other = Browser(house.console)
    page = await other.follow(await other.post("/sign-in", {"name": "bob", "password": PASSWORD}, bare=True))
    assert "removed your second factors" not in page.text, "it is told once"
    actions = [(each.actor, each.target) for each in await house.entries() if each.action == "factor.reset"]
    assert actions == [("user:ada", "bob")]


async def test_who_lost_them_is_told_that_the_command_line_helped(house: AdminHouse) -> None:
    bob = await house.visitor("viewer", "bob")
    await set_up(house, bob)
    await users.reset_second_factor(house.desk, "bob")
    again = Browser(house.console)
    page = await again.follow(await again.post("/sign-in", {"name": "bob", "password": PASSWORD}, bare=True))
    assert "root at the command line removed your second factors" in page.text


async def test_who_must_have_one_can_do_nothing_else_before(house: AdminHouse, monkeypatch: pytest.MonkeyPatch) -> None:
    ada = await house.visitor()
    monkeypatch.setattr(house.admin.sign_in, "_second_required", True)
    sent_on = await ada.get("/messages")
    assert (sent_on.status, sent_on.header("location")) == (303, "/console/security")
    assert "Set up a second factor to continue" in (await ada.get("/security")).text
    assert (await ada.post("/people/create", {"name": "eve", "role": "admin"})).status == 403
    await set_up(house, ada)
    assert (await ada.get("/messages")).status == 200
