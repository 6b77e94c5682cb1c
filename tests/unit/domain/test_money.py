import pytest

from heliograph.domain.money.amounts import MICRO, format_credits, parse_credits


@pytest.mark.parametrize(
    ("text", "micro"),
    [
        ("0", 0),
        ("-0", 0),
        ("1", MICRO),
        ("+1", MICRO),
        ("007", 7 * MICRO),
        ("0.035", 35_000),
        ("-2.5", -2_500_000),
        ("-0.000001", -1),
        ("1.100000", 1_100_000),
        ("999999999999.999999", 10**18 - 1),
    ],
)
def test_amounts_are_read_exactly(text: str, micro: int) -> None:
    assert parse_credits(text) == micro


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "not an amount"),
        (".5", "not an amount"),
        ("5.", "not an amount"),
        ("1e3", "not an amount"),
        ("1,5", "not an amount"),
        (" 1", "not an amount"),
        ("1\n", "not an amount"),
        ("NaN", "not an amount"),
        ("1_000", "not an amount"),
        ("٣", "not an amount"),
        ("²", "not an amount"),
        ("0.0000001", "6 decimals"),
        ("1.0000000", "6 decimals"),
        ("1000000000000", "too large"),
    ],
)
def test_anything_else_is_refused_with_the_reason(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        parse_credits(text)


@pytest.mark.parametrize(
    ("micro", "text"),
    [
        (0, "0"),
        (MICRO, "1"),
        (35_000, "0.035"),
        (-2_500_000, "-2.5"),
        (1, "0.000001"),
        (-1, "-0.000001"),
        (100 * MICRO, "100"),
        (10**20, "100000000000000"),
    ],
)
def test_amounts_are_written_without_exponent_and_trailing_zeros(micro: int, text: str) -> None:
    assert format_credits(micro) == text
