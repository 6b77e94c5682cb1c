"""Envelopes and sealed columns: what was sealed is read as it was, at its place and with its key only."""

import json

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from heliograph.adapters.encryption.aes_gcm import LEAST_OCTETS, AesGcmKey, AesGcmVault
from heliograph.adapters.encryption.store_keys import Seals
from heliograph.app.ports.encryption import CannotOpen, KeyRefused, UnreadableValues

KEY, OTHER = AesGcmKey(1, bytes(32)), AesGcmKey(1, b"x" * 32)
OCTETS = st.binary(max_size=200)
KEYS = st.integers(-(1 << 63), (1 << 63) - 1).map(str)


def seals(*, plain: bool = False) -> Seals:
    made = Seals(AesGcmVault("the master key of tests"), UnreadableValues())
    made.learn(1, b"a" * 32)
    made.use(None if plain else 1)
    return made


SEALS, PLAIN = seals(), seals(plain=True)


@given(OCTETS, OCTETS)
def test_an_envelope_opens_where_it_was_sealed(plain: bytes, place: bytes) -> None:
    sealed = KEY.seal(plain, place)
    assert len(sealed) == LEAST_OCTETS + len(plain)
    assert KEY.open(sealed, place) == plain


@given(OCTETS, OCTETS, OCTETS)
def test_and_nowhere_else(plain: bytes, place: bytes, another: bytes) -> None:
    assume(place != another)
    with pytest.raises(CannotOpen):
        KEY.open(KEY.seal(plain, place), another)
    with pytest.raises(CannotOpen):
        OTHER.open(KEY.seal(plain, place), place)


@given(OCTETS, st.data())
def test_whatever_is_changed_is_noticed(plain: bytes, data: st.DataObject) -> None:
    sealed = bytearray(KEY.seal(plain, b"place"))
    at = data.draw(st.integers(0, len(sealed) - 1))
    sealed[at] ^= data.draw(st.integers(1, 255))
    with pytest.raises(CannotOpen):
        KEY.open(bytes(sealed), b"place")


@given(OCTETS, st.data())
def test_whatever_is_cut_off_or_added_is_noticed(plain: bytes, data: st.DataObject) -> None:
    sealed = KEY.seal(plain, b"place")
    cut = sealed[: data.draw(st.integers(0, len(sealed) - 1))]
    for wrong in (cut, sealed + data.draw(st.binary(min_size=1, max_size=9))):
        with pytest.raises(CannotOpen):
            KEY.open(wrong, b"place")


@given(st.integers(2, 300))
def test_no_nonce_comes_twice(count: int) -> None:
    assert len({KEY.seal(b"", b"")[8:20] for _ in range(count)}) == count


@given(OCTETS)
def test_another_master_key_unwraps_nothing(secrets: bytes) -> None:
    one, two = AesGcmVault("one master key"), AesGcmVault("another master key")
    wrapped = one.wrap(7, secrets)
    assert one.unwrap(7, wrapped) == secrets
    for vault, number in ((two, 7), (one, 8)):
        with pytest.raises(KeyRefused):
            vault.unwrap(number, wrapped)


@given(KEYS, st.text(max_size=300))
def test_a_value_is_read_as_it_was_in_its_row_alone(key: str, content: str) -> None:
    sealed = SEALS.seal("message.content", key, content.encode())
    assert SEALS.open("message.content", key, sealed).decode() == content
    assert PLAIN.seal("message.content", key, content.encode()) == content.encode()
    assert PLAIN.open("message.content", key, sealed).decode() == content
    if content:
        with pytest.raises(CannotOpen):
            SEALS.open("message.content", key + "1", sealed)
        with pytest.raises(CannotOpen):
            SEALS.open("inbound.content", key, sealed)


@given(KEYS, OCTETS)
def test_a_repeat_is_sealed_to_the_same_octets(row: str, octets: bytes) -> None:
    sealed = SEALS.seal_alike("inbound_part.octets", row, octets)
    assert sealed == SEALS.seal_alike("inbound_part.octets", row, octets)
    assert SEALS.open("inbound_part.octets", row, sealed) == octets


@given(st.dictionaries(st.text(max_size=9), st.text(max_size=9), max_size=5))
def test_settings_are_read_as_they_were(settings: dict[str, str]) -> None:
    assume(list(settings) != [""])
    sealed = SEALS.seal_settings("op", settings)
    assert list(sealed) == [""]
    assert SEALS.open_settings("op", sealed) == settings
    renewed = json.loads(PLAIN.renew("connector.settings", "op", json.dumps(sealed).encode()))
    assert renewed == PLAIN.open_settings("op", settings) == settings


@given(st.text("#ABC=+/", max_size=60))
def test_settings_that_only_look_sealed_are_refused(text: str) -> None:
    with pytest.raises(CannotOpen):
        SEALS.open_settings("op", {"": text})
