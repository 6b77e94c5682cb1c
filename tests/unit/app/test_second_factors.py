"""Enrolling an app, signing in with its codes, and what to do without it."""

import asyncio
from base64 import b32decode

import pytest

from heliograph.adapters.system.passkeys import WebauthnPasskeys
from heliograph.app.admin import sign_in
from heliograph.app.admin.second_factors import CODES, MOST_FACTORS, ManageFactors
from heliograph.app.admin.second_step import PasskeyAnswer
from heliograph.app.admin.sign_in import SecondStep
from heliograph.app.admin.signed_state import LIFETIME_MS, SignedState
from heliograph.app.ports.factors import SecondFactor
from heliograph.app.records import UserRole
from heliograph.app.resources import users
from heliograph.app.resources.desk import Invalid, NoSuch
from heliograph.app.sending.failure_register import SignInDoor, SignInProblem
from heliograph.domain.error import TOO_EARLY, UNAUTHENTICATED, Fault
from heliograph.domain.security.one_time_code import STEP_MS, code
from tests.support.passkeys import SoftPasskey
from tests.support.store import HOUR
from tests.unit.app.test_sign_in import House


class App:
    """Somebody's authenticator app."""

    def __init__(self, house: House, secret: str) -> None:
        self._house = house
        self._secret = b32decode(secret)

    def shows(self, later: int = 0) -> str:
        return code(self._secret, self._house.clock.now() // STEP_MS + later)


@pytest.fixture
async def house() -> House:
    house = House()
    await users.create(house.staff, "ada", UserRole.OPERATOR, "correct horse")
    return house


def factors(house: House) -> ManageFactors:
    return ManageFactors(house.store, house.secrets, house.clock, house.tickets, WebauthnPasskeys(), "user:ada")


async def enrol(house: House, name: str = "Phone") -> tuple[App, list[str]]:
    enrolment = factors(house).begin("ada")
    app = App(house, enrolment.secret)
    codes = await factors(house).confirm("ada", enrolment.ticket, app.shows(), name)
    house.clock.ms += STEP_MS
    return app, codes


async def ticket(house: House, address: str = "192.0.2.1") -> str:
    with pytest.raises(SecondStep) as step:
        await house.access.sign_in("ada", "correct horse", address)
    return step.value.ticket


async def refused(house: House, ticket: str, text: str, address: str = "192.0.2.1") -> Fault:
    with pytest.raises(Fault) as refusal:
        await house.access.second_step(ticket, text, address)
    return refusal.value


async def test_the_password_alone_signs_nobody_in_any_more(house: House) -> None:
    app, codes = await enrol(house)
    assert len(set(codes)) == CODES
    step = await ticket(house)
    assert (await refused(house, step, "000000")).entry is UNAUTHENTICATED
    token = await house.access.second_step(step, f" {app.shows()[:3]} {app.shows()[3:]} ", "192.0.2.1")
    assert await house.access.session(token, "192.0.2.1") is not None
    assert [action for _, action, _ in await house.deeds()] == [
        "session.open", "session.refuse", "factor.add", "admin.create",
    ]  # fmt: skip


async def test_a_code_is_good_once(house: House) -> None:
    app, _ = await enrol(house)
    shown = app.shows()
    assert await house.access.second_step(await ticket(house), shown, "192.0.2.1")
    assert (await refused(house, await ticket(house), shown)).field == "code"
    assert (await refused(house, await ticket(house), app.shows(-1))).field == "code"
    house.clock.ms += STEP_MS
    assert await house.access.second_step(await ticket(house), app.shows(), "192.0.2.1")


async def test_a_form_that_is_sent_twice_adds_an_app_once(house: House) -> None:
    enrolment = factors(house).begin("ada")
    app = App(house, enrolment.secret)
    await factors(house).confirm("ada", enrolment.ticket, app.shows(), "Phone")
    for later in (0, 1):  # with another code, too: two apps with a secret would take each code twice
        with pytest.raises(Invalid, match="added already"):
            await factors(house).confirm("ada", enrolment.ticket, app.shows(later), "Phone")
    assert len((await factors(house).of("ada"))[0]) == 1


async def test_the_code_that_enrolled_the_app_does_not_sign_in(house: House) -> None:
    app, _ = await enrol(house)
    assert (await refused(house, await ticket(house), app.shows(-1))).field == "code"


async def test_a_recovery_code_signs_in_once(house: House) -> None:
    _, codes = await enrol(house)
    typed = codes[3].upper().replace("-", " ")
    assert await house.access.second_step(await ticket(house), typed, "192.0.2.1")
    assert (await refused(house, await ticket(house), codes[3])).field == "code"
    assert (await factors(house).of("ada"))[1] == CODES - 1
    fresh = await factors(house).new_codes("ada")
    assert (await refused(house, await ticket(house), codes[4])).field == "code"
    assert await house.access.second_step(await ticket(house), fresh[0], "192.0.2.1")


async def test_guessing_codes_is_slowed_down_also_from_many_addresses(house: House) -> None:
    app, _ = await enrol(house)
    step = await ticket(house)
    for _ in range(sign_in.FAILURES):
        await refused(house, step, "000000")
    assert (await refused(house, step, app.shows())).entry is TOO_EARLY
    for number in range(sign_in.FAILURES_AN_ADDRESS - sign_in.FAILURES):
        assert (await refused(house, step, "000000", f"198.51.100.{number}")).entry is UNAUTHENTICATED
    assert (await refused(house, step, app.shows(), "203.0.113.1")).entry is TOO_EARLY


async def test_guessing_from_elsewhere_locks_out_no_passkey_and_no_recovery_code(house: House) -> None:
    app, codes = await enrol(house)
    soft, _ = await make_passkey(house)
    step = await ticket(house)
    for number in range(sign_in.FAILURES_AN_ADDRESS):
        assert (await refused(house, step, "000000", f"198.51.100.{number}")).entry is UNAUTHENTICATED
    assert (await refused(house, step, app.shows(), "203.0.113.1")).entry is TOO_EARLY
    assert await house.access.second_step(step, codes[0], "203.0.113.2")
    options = await house.access.passkey_options(step, HOST)
    assert options is not None
    assert await house.access.second_step(step, PasskeyAnswer(HOST, soft.use(options, ORIGIN)), "203.0.113.3")
    for _ in range(sign_in.FAILURES):
        assert (await refused(house, step, "not one of them", "203.0.113.4")).entry is UNAUTHENTICATED
    assert (await refused(house, step, codes[1], "203.0.113.4")).entry is TOO_EARLY


async def guess_for_a_day(house: House, address: str = "") -> int:
    """Guesses codes of an app for 23 hours, as fast as that is not slowed down, from an address or from always another
    one; returns how many were checked."""
    checked, end = 0, house.clock.now() + 23 * HOUR
    while house.clock.now() < end:
        step = await ticket(house, f"203.0.113.{checked % 250}")
        for number in range(sign_in.FAILURES_AN_ADDRESS + 1):
            fault = await refused(house, step, "000000", address or f"198.51.{checked % 250}.{number}")
            checked += fault.entry is UNAUTHENTICATED
        house.clock.forward(sign_in.WINDOW_S + 1)
    return checked


async def test_codes_are_guessed_fifty_times_a_day_and_the_owner_signs_in_meanwhile(house: House) -> None:
    app, codes = await enrol(house)
    assert await house.access.second_step(await ticket(house), app.shows(), "192.0.2.1")
    assert await guess_for_a_day(house) == sign_in.CODES_A_DAY
    step = await ticket(house)
    locked = await refused(house, step, app.shows(), "198.51.100.1")
    assert locked.entry is TOO_EARLY
    assert "a recovery code" in locked.message
    assert await house.access.second_step(step, app.shows(), "192.0.2.1"), "from where the owner signed in before"
    assert await house.access.second_step(step, codes[0], "198.51.100.2"), "and from anywhere by a recovery code"


async def test_codes_are_guessed_fifty_times_a_day_from_a_known_address_too(house: House) -> None:
    app, _ = await enrol(house)
    assert await house.access.second_step(await ticket(house), app.shows(), "192.0.2.1")
    assert await guess_for_a_day(house, "192.0.2.1") == sign_in.CODES_A_DAY


async def test_codes_tried_at_once_are_no_more_than_those_tried_in_turn(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    await enrol(house)
    step, of = await ticket(house), house.store.factors.of

    async def slow(user: str) -> list[SecondFactor]:
        await asyncio.sleep(0)
        return await of(user)

    monkeypatch.setattr(house.store.factors, "of", slow)
    flood = [house.access.second_step(step, f"{number:06}", f"198.51.100.{number}") for number in range(200)]
    found = [fault.entry for fault in await asyncio.gather(*flood, return_exceptions=True) if isinstance(fault, Fault)]
    most = sign_in.FAILURES_AN_ADDRESS
    assert (found.count(UNAUTHENTICATED), found.count(TOO_EARLY)) == (most, 200 - most)
    assert house.register.problems == {
        (SignInDoor.CONSOLE, SignInProblem.SECOND_FACTOR): most, (SignInDoor.CONSOLE, SignInProblem.LOCKED): 200 - most,
    }  # fmt: skip


async def test_one_code_sent_many_times_at_once_signs_in_once(house: House) -> None:
    app, codes = await enrol(house)
    for text in (app.shows(), codes[0]):
        step = await ticket(house)
        tries = [house.access.second_step(step, text, f"198.51.100.{number}") for number in range(5)]
        found = await asyncio.gather(*tries, return_exceptions=True)
        assert sum(isinstance(each, str) for each in found) == 1


@pytest.mark.parametrize("spelt", ["{}\n", " {}", "{}=", "{}!", "{}AA", "=={}"])
async def test_a_ticket_has_one_spelling(house: House, spelt: str) -> None:
    await make_passkey(house)
    house.clock.ms += 1
    step = spelt.format(await ticket(house))
    assert await house.access.passkey_options(step, HOST) is None
    assert (await refused(house, step, "000000")).field == "ticket"


async def test_a_right_password_alone_makes_no_place_known(house: House) -> None:
    await enrol(house)
    await ticket(house)
    assert not house.register.knows(house.register.pair("ada", "192.0.2.1"))


async def test_the_second_step_has_five_minutes(house: House) -> None:
    app, _ = await enrol(house)
    step = await ticket(house)
    house.clock.ms += LIFETIME_MS
    assert (await refused(house, step, app.shows())).field == "ticket"
    assert (await refused(house, "made up", app.shows())).field == "ticket"
    enrolment = factors(house).begin("ada")
    assert (await refused(house, enrolment.ticket, app.shows())).field == "ticket"


async def test_a_new_password_ends_the_second_steps_of_the_old_one(house: House) -> None:
    app, _ = await enrol(house)
    step = await ticket(house)
    await users.set_password(house.staff, "ada", "battery staple")
    assert (await refused(house, step, app.shows())).field == "ticket"
    with pytest.raises(SecondStep) as fresh:
        await house.access.sign_in("ada", "battery staple", "192.0.2.1")
    assert await house.access.second_step(fresh.value.ticket, app.shows(), "192.0.2.1")


async def test_an_app_is_added_by_a_code_of_its_own_and_in_time(house: House) -> None:
    enrolment = factors(house).begin("ada")
    app = App(house, enrolment.secret)
    assert enrolment.secret in enrolment.link
    for who, step, typed in (
        ("ada", enrolment.ticket, "000000"),
        ("bob", enrolment.ticket, app.shows()),
        ("ada", "x", ""),
    ):
        with pytest.raises(Invalid):
            await factors(house).confirm(who, step, typed, "Phone")
    assert factors(house).again("bob", enrolment.ticket) is None
    again = factors(house).again("ada", enrolment.ticket)
    assert again is not None
    assert again.secret == enrolment.secret
    house.clock.ms += LIFETIME_MS
    with pytest.raises(Invalid, match="too long"):
        await factors(house).confirm("ada", enrolment.ticket, app.shows(), "Phone")


async def test_several_apps_have_one_set_of_recovery_codes(house: House) -> None:
    first, _ = await enrol(house)
    second = first
    for number in range(MOST_FACTORS - 1):
        second, codes = await enrol(house, f"App {number}")
        assert codes == []
    with pytest.raises(Invalid, match="already"):
        await enrol(house)
    for app in (first, second):
        house.clock.ms += STEP_MS
        assert await house.access.second_step(await ticket(house), app.shows(), "192.0.2.1")


async def test_who_lost_the_app_is_helped_by_another(house: House) -> None:
    await enrol(house)
    await users.reset_second_factor(house.staff, "ada")
    assert await house.access.sign_in("ada", "correct horse", "192.0.2.1")
    with pytest.raises(NoSuch):
        await users.reset_second_factor(house.staff, "ada")
    with pytest.raises(NoSuch):
        await users.reset_second_factor(house.staff, "eve")
    with pytest.raises(Invalid):
        await factors(house).new_codes("ada")


async def test_removing_the_last_app_takes_the_password_alone_again(house: House) -> None:
    await enrol(house)
    ((app,), _) = await factors(house).of("ada")
    await factors(house).remove("ada", app.id)
    assert await house.access.sign_in("ada", "correct horse", "192.0.2.1")
    with pytest.raises(NoSuch):
        await factors(house).remove("ada", app.id)


async def test_a_second_factor_may_be_required(house: House) -> None:
    strict = house.open(second_required=True)
    token = await strict.sign_in("ada", "correct horse", "192.0.2.1")
    actor = await strict.session(token, "192.0.2.1")
    assert actor is not None
    assert actor.must_enrol
    await enrol(house)
    actor = await strict.session(token, "192.0.2.1")
    assert actor is not None
    assert not actor.must_enrol


def test_a_ticket_is_ours_for_one_purpose_and_some_minutes(house: House) -> None:
    tickets = SignedState(b"k" * 32, house.clock.now)
    made = tickets.make("one", "ada", "x=y")
    assert tickets.read("one", made) == ["ada", "x=y"]
    assert tickets.read("other", made) is None
    assert SignedState(b"l" * 32, house.clock.now).read("one", made) is None
    for changed in (made[:-2] + "AA", made[1:], "", "é", "AAAA"):
        assert tickets.read("one", changed) is None
    house.clock.ms += LIFETIME_MS
    assert tickets.read("one", made) is None


HOST, ORIGIN = "sms.example.com", "https://sms.example.com"


async def make_passkey(house: House) -> tuple[SoftPasskey, list[str]]:
    soft = SoftPasskey()
    options, step = await factors(house).begin_passkey("ada", HOST)
    answer = PasskeyAnswer(HOST, soft.make(options, ORIGIN))
    codes = await factors(house).confirm_passkey("ada", step, answer, "")
    house.clock.ms += 1
    return soft, codes


async def test_a_passkey_signs_in_and_an_answer_is_good_once(house: House) -> None:
    soft, codes = await make_passkey(house)
    assert len(codes) == CODES
    step = await ticket(house)
    options = await house.access.passkey_options(step, HOST)
    assert options is not None
    answer = PasskeyAnswer(HOST, soft.use(options, ORIGIN))
    assert await house.access.second_step(step, answer, "192.0.2.1")
    with pytest.raises(Fault) as refusal:
        await house.access.second_step(step, answer, "192.0.2.1")
    assert refusal.value.field == "code"
    house.clock.ms += 1
    step = await ticket(house)
    with pytest.raises(Fault):
        await house.access.second_step(step, answer, "192.0.2.1")
    options = await house.access.passkey_options(step, HOST)
    assert options is not None
    assert await house.access.second_step(step, PasskeyAnswer(HOST, soft.use(options, ORIGIN)), "192.0.2.1")


async def test_a_passkey_and_an_app_stand_beside_each_other(house: House) -> None:
    assert await house.access.passkey_options("x", HOST) is None
    app, _ = await enrol(house)
    assert await house.access.passkey_options(await ticket(house), HOST) is None
    _, codes = await make_passkey(house)
    assert codes == []
    assert await house.access.second_step(await ticket(house), app.shows(), "192.0.2.1")
    assert {each.kind.value for each in (await factors(house).of("ada"))[0]} == {"app", "passkey"}


async def test_no_passkey_is_added_that_the_browser_did_not_make(house: House) -> None:
    soft = SoftPasskey()
    options, step = await factors(house).begin_passkey("ada", HOST)
    made = PasskeyAnswer(HOST, soft.make(options, ORIGIN))
    for user, given_ticket, answer in (
        ("ada", step, PasskeyAnswer(HOST, {})),
        ("ada", step, PasskeyAnswer("other.example", made.answer)),
        ("bob", step, made),
        ("ada", "x", made),
    ):
        with pytest.raises(Invalid):
            await factors(house).confirm_passkey(user, given_ticket, answer, "Key")
    await factors(house).confirm_passkey("ada", step, made, "Key")
    with pytest.raises(Invalid, match="already"):
        await factors(house).confirm_passkey("ada", step, made, "Key")
