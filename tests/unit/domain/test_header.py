import pytest

from heliograph.domain.text.header import (
    MAX_HEADER_OCTETS,
    elements_of,
    header_problem,
    named_tables,
    national_elements,
    numbers_parts,
)


@pytest.mark.parametrize("header", ["0605040b8423f0", "05000301 0201", "02700 0", "03240101"])
def test_good_headers(header: str) -> None:
    assert header_problem(bytes.fromhex(header.replace(" ", ""))) is None


@pytest.mark.parametrize(
    ("header", "problem"),
    [
        (b"", "says 0"),
        (b"\0", "no element"),
        (b"\5\0\3\1\2", "octets after it, 4, and says 5"),
        (b"\4\0\3\1\2", "do not fill it"),
        (b"\1\0", "do not fill it"),
        (bytes((MAX_HEADER_OCTETS,)) + bytes(MAX_HEADER_OCTETS), "140 octets; the limit is 139"),
    ],
)
def test_bad_headers(header: bytes, problem: str) -> None:
    assert problem in (header_problem(header) or "")


def test_elements() -> None:
    assert elements_of(bytes.fromhex("0003070201 2401 01".replace(" ", ""))) == [(0, b"\7\2\1"), (0x24, b"\1")]
    assert numbers_parts(bytes.fromhex("240101000307 0201".replace(" ", "")))
    assert numbers_parts(bytes.fromhex("080400070201"))
    assert not numbers_parts(bytes.fromhex("05040b8423f0"))


def test_a_header_selects_national_tables() -> None:
    assert named_tables(b"\0\3\7\2\1" + national_elements(4, 1)) == (4, 1)
    assert named_tables(national_elements(0, 3)) == (0, 3)
    assert named_tables(b"\x24\0\x25\2\1\1") == named_tables(b"\x24\1") == (0, 0)
