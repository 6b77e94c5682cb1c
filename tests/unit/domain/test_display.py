"""How numbers and times are shown."""

import pytest

from heliograph.domain.display import counted, duration


@pytest.mark.parametrize(
    ("number", "words", "shown"),
    [
        (0, ("message",), "0 messages"),
        (1, ("message",), "1 message"),
        (2_048, ("message",), "2,048 messages"),
        ("1", ("credit",), "1 credit"),
        ("0.035", ("credit",), "0.035 credits"),
        ("-1", ("credit",), "-1 credits"),
        (1, ("callback is", "callbacks are"), "1 callback is"),
        (3, ("callback is", "callbacks are"), "3 callbacks are"),
    ],
)
def test_a_number_has_the_form_of_its_noun(number: int | str, words: tuple[str, ...], shown: str) -> None:
    assert counted(number, *words) == shown


@pytest.mark.parametrize(
    ("ms", "text"),
    [(-5, "0 s"), (59_999, "59 s"), (61_000, "1 min 1 s"), (11_100_000, "3 h 5 min"), (90_061_000, "1 d 1 h")],
)
def test_lengths_of_time_have_two_units(ms: int, text: str) -> None:
    assert duration(ms) == text
