"""Sets of ports."""

import pytest

from heliograph.net.address_guard import PortSet


def test_the_usual_ones_are_those_of_the_web_and_of_programs() -> None:
    usual = PortSet()
    assert [port for port in (1, 22, 25, 79, 80, 81, 443, 1_023, 1_024, 8_080, 65_535) if port in usual] == [
        80, 443, 1_024, 8_080, 65_535,
    ]  # fmt: skip
    assert str(usual) == "80, 443, 1024-65535"


def test_none_allows_nothing() -> None:
    assert 80 not in PortSet([])
    assert str(PortSet([])) == "none"


@pytest.mark.parametrize(
    "text", ["", "0", "-1", "65536", "80-", "-80", "443-80", "http", "\u0661", "1_0", "080000", "1-2-3", " 80"]
)
def test_what_is_no_port_is_refused_in_a_sentence(text: str) -> None:
    with pytest.raises(ValueError, match="is no port and no range of ports"):
        PortSet(["443", text])
