"""Rules for sender IDs by country: the most specific rule decides."""

import pytest

from heliograph.domain.numbers.sender_rules import SenderRule, SenderRules, kind_of

RULES = [
    SenderRule(1, "IN", "any", "refuse"),
    SenderRule(2, "IN", "alpha", "replace", "60001"),
    SenderRule(3, "IN", "alpha", "allow", "ACME*"),
    SenderRule(4, "IN", "alpha", "refuse", "ACMEBank"),
    SenderRule(5, "IN", "short", "allow"),
    SenderRule(6, "US", "alpha", "refuse"),
    SenderRule(7, "US", "alpha", "replace", "18005550100"),
    SenderRule(8, "GB", "any", "allow", "4477*"),
    SenderRule(9, "GB", "number", "refuse"),
]
INDIA, USA, BRITAIN, GERMANY = "919812345678", "12025550100", "447700900123", "491701234567"


@pytest.mark.parametrize(
    ("number", "sender", "rule"),
    [
        (INDIA, "Helio", 2),
        (INDIA, "ACMENews", 3),
        (INDIA, "ACMEBank", 4),
        (INDIA, "60001", 5),
        (INDIA, "447700900123", 1),
        (USA, "Helio", 7),
        (USA, "60001", None),
        (BRITAIN, "447700900999", 8),
        (BRITAIN, "491701234567", 9),
        (BRITAIN, "Helio", None),
        (GERMANY, "Helio", None),
        ("88210000000", "Helio", None),
    ],
)
def test_the_most_specific_rule_decides(number: str, sender: str, rule: int | None) -> None:
    for rules in (SenderRules(RULES), SenderRules(RULES[::-1])):
        found = rules.find(number, sender)
        assert (None if found is None else found.id) == rule
        assert rules.refuses(number, sender) == (found is not None and found.action == "refuse")
        assert rules.sent_as(number, sender) == (
            found.value if found is not None and found.action == "replace" else sender
        )


def test_kinds_of_senders() -> None:
    assert [kind_of(each) for each in ("ACME", "1a", "12", "123456", "1234567")] == [
        "alpha", "alpha", "short", "short", "number",
    ]  # fmt: skip
