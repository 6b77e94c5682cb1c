"""Rules for sender IDs by the country of the destination: which pass, which are replaced, which are refused."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from heliograph.domain.numbers.country import country_of
from heliograph.domain.numbers.phone import MIN_DIGITS

ALLOW: Final = "allow"
REPLACE: Final = "replace"
REFUSE: Final = "refuse"
ACTIONS: Final = (ALLOW, REPLACE, REFUSE)

ANY_KIND: Final = "any"
KINDS: Final = ("alpha", "short", "number", ANY_KIND)
"""Kinds of senders: with a letter; a short code of up to six digits; a number of seven digits and more."""


@dataclass(frozen=True, slots=True)
class SenderRule:
    """A rule for messages to a country."""

    id: int
    country: str
    """ISO 3166-1, for example `IN`."""
    kind: str
    action: str
    value: str = ""
    """For `replace` the sender that is sent instead. Else the senders that the rule is for: a sender ID that may end in
    `*`, or empty for all of the kind."""

    def fits(self, sender: str) -> bool:
        """Returns whether it is a rule for this sender."""
        if self.kind not in (ANY_KIND, kind_of(sender)):
            return False
        if self.action == REPLACE or not self.value:
            return True
        return sender.startswith(self.value[:-1]) if self.value.endswith("*") else sender == self.value


def kind_of(sender: str) -> str:
    """Returns the kind of a sender, for example `alpha` for `ACME`."""
    if not sender.isdigit():
        return "alpha"
    return "short" if len(sender) < MIN_DIGITS else "number"


class SenderRules:
    """All rules. The most specific rule that fits decides: of a sender ID before a pattern, a longer pattern before a
    shorter, a kind before any kind; among equals `allow`, then `replace`."""

    __slots__ = ("_by_country",)

    def __init__(self, rules: Iterable[SenderRule]) -> None:
        self._by_country: dict[str, list[SenderRule]] = {}
        for rule in sorted(rules, key=_place):
            self._by_country.setdefault(rule.country, []).append(rule)

    def find(self, number: str, sender: str) -> SenderRule | None:
        """Returns the rule that decides about a sender for a destination, or None."""
        for rule in self._by_country.get(country_of(number), ()):
            if rule.fits(sender):
                return rule
        return None

    def refuses(self, number: str, sender: str) -> bool:
        """Returns whether a rule refuses the sender for a destination."""
        rule = self.find(number, sender)
        return rule is not None and rule.action == REFUSE

    def sent_as(self, number: str, sender: str) -> str:
        """Returns the sender that the phone is shown: another sender if a rule replaces it."""
        rule = self.find(number, sender)
        return sender if rule is None or rule.action != REPLACE else rule.value


def _place(rule: SenderRule) -> tuple[bool, int, bool, int, int]:
    chosen = "" if rule.action == REPLACE else rule.value
    is_pattern = not chosen or chosen.endswith("*")
    return is_pattern, -len(chosen), rule.kind == ANY_KIND, ACTIONS.index(rule.action), rule.id
