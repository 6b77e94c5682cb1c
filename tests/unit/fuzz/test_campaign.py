"""The campaign of `make fuzz`: it finds what is wrong, and its targets find nothing where nothing is."""

import pytest

from tests.fuzz.campaign import ALL, fuzz
from tests.fuzz.seeds import SEEDS, WORDS


@pytest.mark.parametrize("name", ALL)
def test_a_few_inputs_of_each_target_find_nothing(name: str) -> None:
    result = fuzz(name, ALL[name], 150, 3, hang_s=0)
    assert result.finding is None, f"{result.finding[1]!r} by {result.finding[0].hex()}"
    assert result.inputs == 150


def test_every_target_has_sound_inputs_and_words() -> None:
    assert set(SEEDS) == set(WORDS) == set(ALL)


def test_what_is_wrong_is_found_and_shortened_and_found_again() -> None:
    def planted(octets: bytes) -> None:
        if b"%" in octets and len(octets) > 3:
            raise KeyError("planted")

    results = [fuzz("query", planted, 10_000, 5, hang_s=0) for _ in range(2)]
    assert results[0].finding is not None
    octets, problem = results[0].finding
    assert isinstance(problem, KeyError)
    assert b"%" in octets
    assert len(octets) == 4, "nothing can be left out of it"
    assert results[1].finding is not None
    assert (results[1].inputs, results[1].finding[0]) == (results[0].inputs, octets)
