"""Messages from phones: their alphabets and parts, and what is refused before it is sent."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.simulator.behaviour import Alphabet, Behaviour, BehaviourError
from heliograph.simulator.phone import parts_of
from heliograph.simulator.text import decode
from heliograph.smpp.constants import DataCoding

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=1_000) | st.text("abc€[é@\n", max_size=1_000)


@given(TEXTS, st.sampled_from(Alphabet))
def test_parts_are_short_and_together_the_text(text: str, alphabet: Alphabet) -> None:
    coding, parts = parts_of(text, alphabet)
    assert "".join(decode(part, coding, alphabet) for part in parts) == text
    septets = coding is DataCoding.DEFAULT and alphabet is not Alphabet.LATIN_1
    one, each = (160, 153) if septets else (140, 134)
    assert max(map(len, parts)) <= (one if len(parts) == 1 else each)


@pytest.mark.parametrize(
    ("text", "alphabet", "coding", "parts"),
    [
        ("a" * 160, Alphabet.GSM, DataCoding.DEFAULT, 1),
        ("a" * 161, Alphabet.GSM, DataCoding.DEFAULT, 2),
        ("€" * 80, Alphabet.GSM, DataCoding.DEFAULT, 1),
        ("€" * 81, Alphabet.GSM, DataCoding.DEFAULT, 2),
        ("ж" * 70, Alphabet.GSM, DataCoding.UCS2, 1),
        ("ж" * 71, Alphabet.GSM, DataCoding.UCS2, 2),
        ("ã" * 140, Alphabet.LATIN_1, DataCoding.DEFAULT, 1),
        ("ã" * 141, Alphabet.LATIN_1, DataCoding.DEFAULT, 2),
        ("ã", Alphabet.ASCII, DataCoding.UCS2, 1),
    ],
)
def test_the_edges(text: str, alphabet: Alphabet, coding: DataCoding, parts: int) -> None:
    found, pieces = parts_of(text, alphabet)
    assert (found, len(pieces)) == (coding, parts)


@pytest.mark.parametrize(
    ("knobs", "knob"),
    [
        ({"inbound_rate": 5.0}, "inbound_rate"),
        ({"inbound_to": "33-88"}, "inbound_to"),
        ({"inbound_to": "3388, 12"}, "inbound_to"),
        ({"inbound_text": ""}, "inbound_text"),
        ({"inbound_text": "x" * 1_601}, "inbound_text"),
    ],
)
def test_impossible_knobs(knobs: dict[str, object], knob: str) -> None:
    with pytest.raises(BehaviourError) as problem:
        Behaviour(**knobs)  # type: ignore[arg-type]
    assert problem.value.knob == knob


def test_numbers_with_commas_between() -> None:
    assert Behaviour(inbound_to="3388, 447700900000,ACME").inbound_numbers == ("3388", "447700900000", "ACME")
