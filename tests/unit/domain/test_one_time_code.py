"""Codes of authenticator apps, against the vectors of RFC 6238, appendix B."""

import pytest

from heliograph.domain.security.one_time_code import STEP_MS, app_link, code, secret_text, step_of

SECRET = b"12345678901234567890"

VECTORS = {
    59: "94287082",
    1_111_111_109: "07081804",
    1_111_111_111: "14050471",
    1_234_567_890: "89005924",
    2_000_000_000: "69279037",
    20_000_000_000: "65353130",
}


@pytest.mark.parametrize(("second", "wanted"), VECTORS.items())
def test_the_codes_are_those_of_the_standard(second: int, wanted: str) -> None:
    step = second * 1000 // STEP_MS
    assert code(SECRET, step, 8) == wanted
    assert code(SECRET, step) == wanted[2:]
    assert step_of(SECRET, wanted[2:], second * 1000, 0) == step


@pytest.mark.parametrize(("steps", "good"), [(-2, False), (-1, True), (0, True), (1, True), (2, False)])
def test_a_clock_may_be_a_step_off(steps: int, good: bool) -> None:
    now = 1_800_000_000_000
    here = now // STEP_MS
    found = step_of(SECRET, code(SECRET, here + steps), now, 0)
    assert found == (here + steps if good else None)


def test_a_code_is_good_once() -> None:
    now = 1_800_000_000_000
    here = now // STEP_MS
    assert step_of(SECRET, code(SECRET, here), now, here) is None
    assert step_of(SECRET, code(SECRET, here), now, here - 1) == here
    assert step_of(SECRET, code(SECRET, here - 1), now, here) is None


@pytest.mark.parametrize("text", ["", "12345", "1234567", "abcdef", "\u0661\u0662\u0663\u0664\u0665\u0666", "\ud800"])
def test_other_texts_are_no_codes(text: str) -> None:
    assert step_of(SECRET, text, 1_800_000_000_000, 0) is None


def test_an_app_is_given_the_secret_as_a_link() -> None:
    assert secret_text(SECRET) == "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"
    link = app_link(SECRET, "ada b", "Heliograph")
    assert link == "otpauth://totp/Heliograph:ada%20b?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&issuer=Heliograph"
