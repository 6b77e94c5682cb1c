"""Rules for addresses: the TON and NPI of a number or a name, and the form in which it is sent, by how it begins.

sender       --sender_map, sender_default--> --source_rules--> as it is sent
destination  --dest_rules--> --dest_strip--> --dest_prefix--> as it is sent
                                                                |
destination, or its last digits, by which receipts find it <----+  `unprefixed`
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from heliograph.app.receipts.readings import SAME_DIGITS
from heliograph.smpp import constants as c

MAX_RULES: Final = 100

MAX_SENDERS: Final = 1000

MAX_PREFIX_CHARS: Final = 8
"""Characters of `dest_prefix`. An address has room for 20, and a number for 15."""

_RULE = re.compile(
    r"(?P<begin>[A-Za-z0-9]*)(?P<open>\*?)"
    r"(?: *-> *(?P<form>\+?[A-Za-z0-9]*)(?P<rest>\*?))?"
    r"(?: *: *(?P<ton>[0-9]{1,3}) */ *(?P<npi>[0-9]{1,3}))?"
).fullmatch


_PREFIX = re.compile(rf"(?=.{{0,{MAX_PREFIX_CHARS}}}\Z)\+?[0-9*#]*").fullmatch


@dataclass(frozen=True, slots=True)
class AddressRule:
    """A rule, for example `44* -> 0*: 2/1`. It fits addresses that begin with `begin` (`44`) if it is `open`, otherwise
    only the address `begin` itself."""

    begin: str
    open: bool
    form: str | None
    """Replacement of `begin` (with `drops`, of the whole address); None leaves the address unchanged."""
    drops: bool
    numbering: int | None
    """TON times 256, plus NPI; None leaves both to the general options."""

    def fits(self, address: str) -> bool:
        return address.startswith(self.begin) if self.open else address == self.begin

    def covers(self, other: "AddressRule") -> bool:
        """True if this rule matches every address that the other matches."""
        return self.fits(other.begin) and (self.open or not other.open)


def readdress(address: str, rules: tuple[AddressRule, ...]) -> tuple[str, int | None]:
    """Applies the first matching rule. Returns the new address and its numbering; None leaves the numbering to the
    general options.

    For example, `447700900123` becomes `07700900123` and 0x201 by the rule `44* -> 0*: 2/1`.
    """
    for rule in rules:
        if rule.fits(address):
            if rule.form is not None:
                address = rule.form if rule.drops else rule.form + address[len(rule.begin) :]
            return address, rule.numbering
    return address, None


def renamed(sender: str, senders: tuple[tuple[str, str], ...], default: str) -> str:
    """Returns the sender that `senders` has for this one, or `default`, or the sender itself."""
    for name, other in senders:
        if name == sender:
            return other
    return default or sender


def prefixed(number: str, strip: tuple[str, ...], prefix: str) -> str:
    """Removes the first of `strip` that a number begins with, and puts `prefix` before it. For example,
    `491701234567` becomes `77#1701234567` with strip `49` and prefix `77#`."""
    for beginning in strip:
        if number.startswith(beginning) and len(number) > len(beginning):
            return prefix + number[len(beginning) :]
    return prefix + number


def unprefixed(address: str, prefix: str) -> str:
    """Returns a receipt's number without the prefix that it was sent with. It stays as it is if too few digits would be
    left to know the phone by."""
    bare, digits = address.removeprefix("+"), prefix.removeprefix("+")
    if digits and bare.startswith(digits) and len(bare) - len(digits) >= SAME_DIGITS:
        return bare[len(digits) :]
    return address


def read_senders(value: Any) -> tuple[tuple[str, str], ...]:
    """Reads `ACME -> Acme Shop, TEST -> 3388` as pairs. Raises ValueError with a sentence for people."""
    found: dict[str, str] = {}
    for text in filter(None, (each.strip() for each in str(value).split(","))):
        name, arrow, other = (each.strip() for each in text.partition("->"))
        if not (name and arrow and other):
            raise ValueError(f"{text!r} cannot be read; write ACME -> Acme Shop")
        if name in found:
            raise ValueError(f"{name!r} has two senders")
        found[name] = read_sender(other)
    if len(found) > MAX_SENDERS:
        raise ValueError(f"{len(found)} senders; the limit is {MAX_SENDERS}")
    return tuple(found.items())


def read_sender(value: Any) -> str:
    """Reads a sender as it is sent. Raises ValueError."""
    sender = str(value)
    if not sender.isascii() or not sender.isprintable() or len(sender) >= c.ADDRESS_OCTETS:
        raise ValueError(f"{sender!r} is no sender of at most {c.ADDRESS_OCTETS - 1} printable ASCII characters")
    return sender


def read_strip(value: Any) -> tuple[str, ...]:
    """Reads `0049, 49`, the longest first. Raises ValueError."""
    found = [each.strip() for each in str(value).split(",") if each.strip()]
    for each in found:
        if not (each.isascii() and each.isdigit()):
            raise ValueError(f"{each!r} is no beginning of a destination; these are digits, such as 49")
    return tuple(sorted(set(found), key=lambda each: (-len(each), each)))


def read_prefix(value: Any) -> str:
    """Reads `00` or `77#`. Raises ValueError."""
    prefix = str(value)
    if _PREFIX(prefix) is None:
        raise ValueError(
            f"{prefix!r} is no prefix of up to {MAX_PREFIX_CHARS} characters 0-9, #, * and a + before them"
        )
    return prefix


def reader(*, numbers: bool) -> Callable[[Any], tuple[AddressRule, ...]]:
    """Returns a parser of an option such as `44*: 1/1, 3388: 3/0, * -> BRAND: 5/0`. The parser raises ValueError with a
    sentence for people. With `numbers` the addresses are destinations, and only their beginning may be replaced.
    """

    def read(value: Any) -> tuple[AddressRule, ...]:
        rules: list[AddressRule] = []
        texts = [text.strip() for text in str(value).split(",") if text.strip()]
        if len(texts) > MAX_RULES:
            raise ValueError(f"{len(texts)} rules; the limit is {MAX_RULES}")
        for number, text in enumerate(texts, 1):
            rule = _read(f"rule {number}, `{text}`,", text, numbers=numbers)
            for earlier, before in zip(rules, texts, strict=False):
                if earlier.covers(rule):
                    raise ValueError(f"rule {number}, `{text}`, is never reached: `{before}` before it fits the same")
            rules.append(rule)
        return tuple(rules)

    return read


def _read(which: str, text: str, *, numbers: bool) -> AddressRule:
    match = _RULE(text)
    if match is None or not (match["begin"] or match["open"]):
        raise ValueError(f"{which} cannot be read; write `44*: 1/1` (TON/NPI), `44* -> 0*: 2/1` or `44* -> 0*`")
    begin, is_open, form, rest = match["begin"], bool(match["open"]), match["form"], bool(match["rest"])
    if form is None and match["ton"] is None:
        raise ValueError(f"{which} says neither TON and NPI nor another form; write `{text}: 1/1`")
    if numbers and begin and not begin.isdigit():
        raise ValueError(f"{which} fits no destination; these are digits")
    if form is not None:
        if rest and not is_open:
            raise ValueError(f"{which} has a `*` only after the arrow; put a `*` before the arrow, too")
        if not (form or rest) or len(form) >= c.ADDRESS_OCTETS:
            raise ValueError(f"{which} needs 1 to {c.ADDRESS_OCTETS - 1} characters after the arrow")
        if numbers and not rest:
            raise ValueError(f"{which} would send messages to another phone; end both sides of the arrow with `*`")
    numbering = None
    if match["ton"] is not None:
        ton, npi = int(match["ton"]), int(match["npi"])
        if ton > 255 or npi > 255:
            raise ValueError(f"{which} has a TON or NPI above 255")
        numbering = ton << 8 | npi
    return AddressRule(begin, is_open, form, not rest, numbering)
