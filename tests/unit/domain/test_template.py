"""Templates: which texts fit, and where others depart."""

import pytest

from heliograph.domain.text.template import (
    MAX_TEXT_CHARS,
    MAX_VARIABLES,
    ScannedText,
    TemplatePattern,
    UnfitTemplate,
    nearest,
)


def fits(template: str, text: str) -> bool:
    return TemplatePattern(template).fits(ScannedText(text))


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("Hello", "Hello"),
        ("Your OTP is {#var#}. Regards", "Your OTP is 123456. Regards"),
        ("Your OTP is {#var#}. Regards", "Your OTP is a.b. Regards. Regards"),
        ("{#var#}", "x" * 30),
        ("{#var#}{#var#}", "x" * 60),
        ("{#VAR#} x", "y x"),
        ("{#var#}{#var#}, pay {#numeric#}", "Ann, pay 5"),
        ("a\r\nb {#var#}", "\n a\nb c \r\n"),
        ("Pay {#numeric#} now", "Pay 500 now"),
        ("Pay #number# now", "Pay 500 now"),
        ("Ref {#alphanumeric#}.", "Ref नमस्ते 12B."),
        ("See #url# today", "See https://example.com/a?b=c#d today"),
        ("See {#urlott#}", "See " + "u" * 200),
        ("Call {#cbn#}", "Call +91 (22) 5550-1234"),
        ("Write to {#email#}!", "Write to a.b@example.com!"),
    ],
)
def test_what_fits(template: str, text: str) -> None:
    assert fits(template, text)


@pytest.mark.parametrize(
    ("template", "text", "said"),
    [
        ("Hello", "Hallo", 'at character 2 the template has "ello", and the text "allo"'),
        ("Hello", "Hel", 'at character 4 the template has "lo", and the text ends'),
        ("Hello", "Hello all", 'at character 6 the template has its end, and the text " all"'),
        (
            "OTP {#var#}. Bye",
            "OTP 123, Bye",
            (
                'at character 5 the template has {#var#} (1 to 30 characters, no line ends) and then ". Bye", '
                'and the text "123, Bye"'
            ),
        ),
        ("OTP {#var#}. Bye", "OTP 123. Bay", 'at character 11 the template has "ye", and the text "ay"'),
        (
            "OTP {#numeric#}",
            "OTP 12a",
            'at character 5 the template has {#numeric#} (1 to 30 digits) and then its end, and the text "12a"',
        ),
        (
            "OTP {#numeric#} x",
            "OTP a",
            'at character 5 the template has {#numeric#} (1 to 30 digits) and then " x", and the text "a"',
        ),
        (
            "{#email#} x",
            "a.example.com x",
            'at character 1 the template has {#email#} (an address) and then " x", and the text "a.example.com x"',
        ),
        (
            "a {#var#}",
            "a " + "b" * 31,
            (
                "at character 3 the template has {#var#} (1 to 30 characters, no line ends) and then its end, "
                f'and the text "{"b" * 27}..."'
            ),
        ),
        (
            "a\nb",
            "a b",
            'at character 2 the template has "\\nb", and the text " b"',
        ),
    ],
)
def test_where_a_text_departs(template: str, text: str, said: str) -> None:
    assert not fits(template, text)
    assert str(TemplatePattern(template).departure(ScannedText(text))) == said


@pytest.mark.parametrize("text", ["a\nc", "a\n\nc", "ac", "a" + "b" * 31 + "c", ""])
def test_a_variable_stands_for_one_to_thirty_characters_of_one_line(text: str) -> None:
    assert not fits("a{#var#}c", text)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("  ", "the text is empty"),
        ("x" * (MAX_TEXT_CHARS + 1), "the text has 2001 characters; a template may have 2000"),
        ("a\x00b", "NUL"),
        ("{#name#}", "there is no variable {#name#}; there are {#var#}, {#numeric#}"),
        ("{#var #}", "the text has {# that begins no variable; write {#var#}"),
        ("{#var#}" * (MAX_VARIABLES + 1), "the text has 51 variables; a template may have 50"),
    ],
)
def test_texts_that_are_no_template(text: str, problem: str) -> None:
    with pytest.raises(UnfitTemplate, match=problem.replace("{", r"\{")):
        TemplatePattern(text)


def test_the_nearest_template_has_most_words_in_common() -> None:
    patterns = [
        TemplatePattern(text)
        for text in (
            "Dear customer, your order {#var#} was shipped.",
            "Your code is {#numeric#}. Do not share it. Helio",
            "Dear {#var#}, your bill of {#var#} is due on {#var#}.",
        )
    ]
    assert nearest(patterns, ScannedText("Your code: 4711. Do not share it! Helio")) == 1
    assert nearest(patterns, ScannedText("Dear Ann, your bill of 5 is payable")) == 2
    assert nearest(patterns, ScannedText("")) == 0
