"""Envelopes and sealed columns: what was sealed is read as it was, at its place and with its key only."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from heliograph.adapters.encryption.aes_gcm import LEAST_OCTETS, AesGcmKey, AesGcmVault
from heliograph.adapters.store.shared.sealing import PHONE, TOKEN, Sealer, digest_of, is_token
from heliograph.app.facts import InboundMessage, InboundPart, Message, PartSet
from heliograph.app.ports.encryption import CannotOpen, KeyRefused
from heliograph.domain.message.suppression import suppression_digest

KEY, OTHER = AesGcmKey(1, bytes(32)), AesGcmKey(1, b"x" * 32)
DIGEST_KEY = b"d" * 32
OCTETS = st.binary(max_size=200)
NUMBERS = st.text("0123456789", min_size=1, max_size=15)
KEYS = st.integers(-(1 << 63), (1 << 63) - 1)


def sealer(*, plain: bool = False) -> Sealer:
    made = Sealer(AesGcmVault("the master key of tests"))
    made.learn(1, b"a" * 32 + b"t" * 32 + DIGEST_KEY)
    made.use(None if plain else 1)
    return made


SEALER = sealer()


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


@given(KEYS, NUMBERS, st.text(max_size=21).filter(lambda sender: "\0" not in sender), st.text(max_size=300))
def test_a_message_is_read_as_it_was(key: int, destination: str, sender: str, content: str) -> None:
    message = Message(3, destination, sender, 0, content, 1, 1, 1, 1, 1, 1, key=key)
    to, by, octets = SEALER.message(message)
    opened = SEALER.open_message(key, to, by, octets)
    assert (opened[0], opened[1], _text(opened[2])) == (destination, sender, content)
    assert destination not in to or len(destination) < 4
    assert by == ""
    if content:
        with pytest.raises(CannotOpen):
            SEALER.open_message(key ^ 1, to, by, octets)
    plain = sealer(plain=True)
    assert plain.message(message) == (destination, sender, content.encode())
    assert plain.open_message(key, to, by, octets) == opened


@given(KEYS, st.text(max_size=20), st.text(max_size=20), st.text(max_size=99), OCTETS)
def test_so_is_an_inbound_message(key: int, sender: str, recipient: str, content: str, octets: bytes) -> None:
    message = InboundMessage(3, 1, sender, recipient, content, octets, 0, 0, key=key)
    opened = SEALER.open_inbound(key, *SEALER.inbound(message))
    assert (opened[0], opened[1], _text(opened[2]), opened[3]) == (sender, recipient, content, octets)


@given(st.text("+0123456789abc", max_size=20), st.text("+0123456789abc", max_size=20), OCTETS)
def test_so_is_a_part_and_a_repeat_of_it_is_equal(sender: str, recipient: str, octets: bytes) -> None:
    part = InboundPart(PartSet(1, sender, recipient, 5, 3), 2, 0, True, octets, 0)
    stored = SEALER.part(part)
    assert stored == SEALER.part(part)
    assert SEALER.open_part(stored[0], stored[1], 5, 3, 2, stored[2]) == (sender, recipient, octets)
    with pytest.raises(CannotOpen):
        SEALER.open_part(stored[0], stored[1], 5, 3, 1, stored[2])


@given(st.integers(1, 1 << 40), NUMBERS, NUMBERS)
def test_equal_numbers_have_equal_tokens_and_suppressions(account: int, number: str, another: str) -> None:
    assert is_token(SEALER.token(number))
    assert SEALER.token(SEALER.token(number)) == SEALER.token(number)
    assert (SEALER.token(number) == SEALER.token(another)) == (number == another)
    phone = SEALER.phone(account, number)
    assert len(phone) == PHONE
    assert phone[:TOKEN] == SEALER.token(number)
    assert digest_of(b"", account, phone) == digest_of(DIGEST_KEY, account, number)
    assert digest_of(DIGEST_KEY, account, number) == suppression_digest(DIGEST_KEY, account, number)
    assert SEALER.open_suppressed(SEALER.suppressed(account, number)) == number


@given(st.text(max_size=50).filter(lambda text: text[:1] != "#"), OCTETS)
def test_a_text_is_read_as_it_was(text: str, place: bytes) -> None:
    assert SEALER.open_text(SEALER.seal_text(text, place), place) == text
    assert SEALER.open_text(text, place) == text


@given(st.text("#ABC=+/", max_size=60))
def test_what_only_looks_sealed_is_refused(text: str) -> None:
    with pytest.raises(CannotOpen):
        SEALER.open_text(f"#{text}", b"place")


def _text(content: str | bytes) -> str:
    return content if isinstance(content, str) else content.decode()
