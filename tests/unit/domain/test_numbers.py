import pytest

from heliograph.domain.numbers.number_rules import (
    InboundNumber,
    NumberRules,
    first_word,
    keyword_problem,
    normalise_number,
    normalise_word,
    number_problem,
)


@pytest.mark.parametrize(
    "number", ["123", "3388", "+3388", "447700900123456", "PIZZA", "Pizza4you", "abc", "+123456789012345"]
)
def test_good_numbers(number: str) -> None:
    assert number_problem(number) is None


@pytest.mark.parametrize(
    ("number", "says"),
    [
        ("", "is empty"),
        ("+", "is empty"),
        ("12", "too short"),
        ("1234567890123456", "too long"),
        ("PIZZAPIZZA12", "too long"),
        ("+PIZZA", "letters after +"),
        ("33 88", "neither a letter"),
        ("++3388", "neither a letter"),
        ("٣٣٨٨", "neither a letter"),
        ("café", "neither a letter"),
        ("3388\n", "neither a letter"),
    ],
)
def test_bad_numbers_are_told_what_to_do(number: str, says: str) -> None:
    problem = number_problem(number)
    assert problem is not None
    assert says in problem
    assert "; give 3 to 15 digits" in problem


def test_a_leading_plus_is_dropped() -> None:
    assert (normalise_number("+3388"), normalise_number("3388")) == ("3388", "3388")


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("PIZZA two please", "pizza"),
        ("  pizza!", "pizza"),
        ("\u201cPizza\u201d, 2", "pizza"),
        ("- pizza", "pizza"),
        ("¡¿Pizza?!", "pizza"),
        ("pizza-2 large", "pizza-2"),
        ("STRASSE", "strasse"),
        ("Straße", "strasse"),
        ("ПИЦЦА.", "пицца"),
        ("मदद।", "मदद"),
        ("करो", "करो"),
        ("\u2764\ufe0f pizza \u2764\ufe0f", "pizza"),
        ("", ""),
        ("!!! ...", ""),
        ("\ud83d", ""),
    ],
)
def test_first_words(text: str, word: str) -> None:
    assert first_word(text) == word


@pytest.mark.parametrize("keyword", ["", "PIZZA", "pizza!", "7", "ПИЦЦА", "x" * 50])
def test_good_keywords(keyword: str) -> None:
    assert keyword_problem(keyword) is None


@pytest.mark.parametrize(
    ("keyword", "says"),
    [("two words", "one word"), (" ", "one word"), ("!?", "neither a letter"), ("x" * 51, "too long")],
)
def test_bad_keywords_are_told_what_to_do(keyword: str, says: str) -> None:
    problem = keyword_problem(keyword)
    assert problem is not None
    assert says in problem
    assert "; give the word" in problem


HERE, ELSEWHERE = 5, 6
RULES = [
    InboundNumber(1, "3388", 1),
    InboundNumber(2, "3388", 2, "pizza"),
    InboundNumber(3, "3388", 3, connector=HERE),
    InboundNumber(4, "3388", 4, "taxi", HERE),
    InboundNumber(5, "4499", 5, "pizza", HERE),
    InboundNumber(6, "4499", 6),
]


@pytest.mark.parametrize(
    ("number", "connector", "text", "account"),
    [
        ("3388", HERE, "TAXI now", 4),
        ("3388", HERE, "pizza", 3),  # any rule with the connector comes before those with none
        ("3388", HERE, "", 3),
        ("3388", ELSEWHERE, "Pizza!", 2),
        ("3388", ELSEWHERE, "taxi", 1),
        ("4499", HERE, "pizza", 5),
        ("4499", HERE, "taxi", 6),
        ("4499", ELSEWHERE, "pizza", 6),
        ("5500", HERE, "pizza", None),
    ],
)
def test_whose_a_message_is(number: str, connector: int, text: str, account: int | None) -> None:
    rule = NumberRules(RULES).find(number, connector, text)
    assert (rule and rule.account) == account
    assert NumberRules(reversed(RULES)).find(number, connector, text) == rule


def test_without_rules_all_are_unrouted() -> None:
    assert NumberRules().find("3388", HERE, "pizza") is None


def test_a_keyword_is_compared_as_texts_are() -> None:
    assert normalise_word("Pizza!") == first_word("PIZZA, please") == "pizza"
