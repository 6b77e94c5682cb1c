"""Secrets that scanners know, and programs can check."""

import re
from zlib import crc32

import pytest

from heliograph.domain.security.secret_text import ADMIN_TOKEN, API_KEY, RANDOM_OCTETS, is_misspelt, make_secret

KEY = make_secret(API_KEY, bytes(range(RANDOM_OCTETS)))


def test_a_secret_is_a_prefix_random_characters_and_their_checksum() -> None:
    assert re.fullmatch("hk_[0-9A-Za-z]{39}", KEY)
    assert make_secret(ADMIN_TOKEN, b"\xff" * RANDOM_OCTETS).startswith("hat_")
    assert len({len(make_secret(API_KEY, bytes([n]) * RANDOM_OCTETS)) for n in range(256)}) == 1
    assert len({make_secret(API_KEY, bytes(23) + bytes([n])) for n in range(256)}) == 256
    digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
    check = 0
    for each in KEY[-6:]:
        check = check * 62 + digits.index(each)
    assert check == crc32(KEY[:-6].encode())


def test_a_slip_is_found_and_other_texts_are_no_slips() -> None:
    assert not is_misspelt(API_KEY, KEY)
    for place in range(len(API_KEY), len(KEY)):
        other = "1" if KEY[place] != "1" else "2"
        assert is_misspelt(API_KEY, KEY[:place] + other + KEY[place + 1 :])


@pytest.mark.parametrize(
    "text", ["", "hk_" + "0" * 48, "hk_demo", KEY[:-1], KEY + "0", "hat_" + KEY[3:], "é" * len(KEY)]
)
def test_a_secret_of_before_is_not_misspelt(text: str) -> None:
    assert not is_misspelt(API_KEY, text)
