import pytest

from heliograph.domain.numbers.phone import destination_problem, is_destination, mask, number_of, sender_problem
from tests.support.cases import for_each

FULLWIDTH = "\N{FULLWIDTH DIGIT FOUR}" * 10
ARABIC = "٤٤٧٧٠٠٩٠٠١٢٣"
SUPERSCRIPT = "447700900²²²"


@pytest.mark.parametrize("text", ["1234567", "447700900123", "123456789012345", "9999999"])
def test_good_destinations(text: str) -> None:
    assert is_destination(text)
    assert destination_problem(text) is None


@for_each(
    ("text", "reason"),
    [
        ("", "empty"),
        ("+447700900123", "begin with +"),
        ("+", "begin with +"),
        ("44 7700 900123", "spaces or punctuation"),
        ("44-7700-900123", "spaces or punctuation"),
        ("(44)7700900123", "spaces or punctuation"),
        ("447700900123\n", "spaces or punctuation"),
        (" 447700900123", "begin with a space, which a + in a form stands for"),
        ("447700900123,447700900124", "spaces or punctuation"),
        ("4477OO900123", "digits 0 to 9"),
        (FULLWIDTH, "digits 0 to 9"),
        (ARABIC, "digits 0 to 9"),
        (SUPERSCRIPT, "digits 0 to 9"),
        ("44" + ARABIC, "digits 0 to 9"),
        ("447700900123\0", "digits 0 to 9"),
        ("07700900123", "begin with 0"),
        ("00447700900123", "begin with 0"),
        ("123456", "too short"),
        ("1234567890123456", "too long"),
    ],
)
def test_a_bad_destination_says_why(text: str, reason: str) -> None:
    assert not is_destination(text)
    problem = destination_problem(text)
    assert problem is not None
    assert reason in problem


@pytest.mark.parametrize("msisdn_allowed", [True, False])
@pytest.mark.parametrize("text", ["abc", "Heliograph1", "123", "12345678901", "AbC"])
def test_good_senders_everywhere(text: str, msisdn_allowed: bool) -> None:
    assert sender_problem(text, msisdn_allowed) is None


@pytest.mark.parametrize("text", ["1", "12", "123456789012", "123456789012345", "0123456789012"])
def test_numbers_are_senders_where_an_msisdn_is_allowed(text: str) -> None:
    assert sender_problem(text, msisdn_allowed=True) is None
    assert sender_problem(text, msisdn_allowed=False) is not None


@for_each("msisdn_allowed", [True, False])
@for_each(
    ("text", "reason"),
    [
        ("", "empty"),
        ("ab", "too short"),
        ("Heliograph12", "too long"),
        ("1234567890123456", "too long"),
        ("+4477009", "begin with +"),
        ("My Shop", "neither"),
        ("Café", "neither"),
        ("abc\n", "neither"),
        ("a_b", "neither"),
        (ARABIC, "neither"),
        ("44" + ARABIC[:5], "neither"),
        ("²²²", "neither"),
        (FULLWIDTH, "neither"),
    ],
)
def test_a_bad_sender_says_why(text: str, reason: str, msisdn_allowed: bool) -> None:
    problem = sender_problem(text, msisdn_allowed)
    assert problem is not None
    assert reason in problem
    assert ("15 digits" in problem) is msisdn_allowed


@pytest.mark.parametrize(
    ("number", "shown"),
    [("447700900123", "447*******23"), ("1234567", "123**67"), ("123456", "******"), ("12", "**"), ("", "")],
)
def test_masks(number: str, shown: str) -> None:
    assert mask(number) == shown


@pytest.mark.parametrize(
    "text",
    [
        "491701234567", "+491701234567", "00491701234567", "+49 170 1234567", "0049-170-1234567", "+49 (0)170 1234567",
        "0049 (0) 170/123 45 67", "49(0)1701234567", "+49.170.123.4567", "(+49) 170 1234567", "'+491701234567",
        "+49\u00a0170\u202f1234567", "\u202a+49 170\u20111234567\u202c", "  +49 170 1234567\t",
    ],
)  # fmt: skip
def test_a_number_is_read_as_people_write_it(text: str) -> None:
    assert number_of(text) == "491701234567"


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("+39 (0)6 6982 1234", "390669821234"),
        ("(0)170 1234567", "01701234567"),
        ("0170 1234567", "01701234567"),
        ("+0049 170", "0049170"),
        ("4901701234567", "4901701234567"),
        ("4.91702E+11", "491702E+11"),
        ("Ada", "Ada"),
        ("", ""),
    ],
)
def test_nothing_else_is_taken_from_a_number(text: str, number: str) -> None:
    assert number_of(text) == number
