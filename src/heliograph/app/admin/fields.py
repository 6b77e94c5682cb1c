"""What administration may set on accounts and connectors: each field's text form, rule and meaning."""

import ipaddress
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from heliograph.domain import calendar, limits, money, phone

MAX_NAME_CHARS = 64
MAX_PORT = 65_535
MAX_SYSTEM_ID_CHARS = 15
"""SMPP v3.4, 4.1.1: 16 octets, the closing zero included."""
MAX_PASSWORD_CHARS = 8
"""SMPP v3.4, 4.1.1: 9 octets, the closing zero included. Many operators take longer ones all the same."""
MAX_BINDS = 64
MAX_WINDOW = 1000
MAX_RATE = 1_000_000.0
MAX_LIST_INTERVAL_S = 86_400.0

_NAME = re.compile(r"[A-Za-z0-9._-]{1,64}").fullmatch
_OPTION = re.compile(r"[a-z][a-z0-9_]{0,63}").fullmatch
_INTEGER = re.compile(r"-?[0-9]{1,18}").fullmatch
_LEADING_ZERO = re.compile(r"-?0[0-9]").match
_DECIMAL = re.compile(r"-?[0-9]{1,12}(\.[0-9]{1,9})?").fullmatch
_HOST = re.compile(
    r"[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?(\.[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?)*\.?"
).fullmatch
_PREFIX = re.compile(r"[1-9][0-9]{0,14}").fullmatch
_WORDS = {
    "true": True,
    "yes": True,
    "on": True,
    "1": True,
    "false": False,
    "no": False,
    "off": False,
    "0": False,
}


class Invalid(Exception):
    """A value that cannot be used; nothing was changed. The text is a sentence for people."""

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(f"{field}: {problem}")
        self.field = field


@dataclass(frozen=True, slots=True)
class FieldRule:
    """`parse` raises ValueError with a sentence for people."""

    parse: Callable[[str], Any]
    expected: str
    """Its values in words, for help texts."""
    example: str


def check_name(what: str, name: str) -> str:
    """The name, if accounts, connectors and plans may be called so. Raises Invalid."""
    if _NAME(name) is None:
        raise Invalid(what, f"{name!r} is no name; take 1 to {MAX_NAME_CHARS} letters A-Z, a-z, digits and . _ -")
    return name


def check_prefix(prefix: str) -> str:
    """The prefix, if numbers can begin with it. Raises Invalid."""
    if prefix and _PREFIX(prefix) is None:
        raise Invalid(
            "prefix",
            f"{prefix!r} is no prefix; give up to 15 digits without + or a leading 0, or '' for all numbers",
        )
    return prefix


def amount(field: str, text: str) -> int:
    """Micro-credits of a decimal text. Raises Invalid."""
    try:
        return money.parse_credits(text)
    except ValueError as error:
        raise Invalid(field, str(error)) from None


def parse_changes(fields: Mapping[str, FieldRule], texts: Mapping[str, str]) -> dict[str, Any]:
    """The values of several fields. Raises Invalid, for a field that is none too."""
    changes: dict[str, Any] = {}
    for name, text in texts.items():
        field = fields.get(name)
        if field is None:
            raise Invalid(name, f"there is no such field; there are {', '.join(fields)}")
        try:
            changes[name] = field.parse(text)
        except ValueError as error:
            raise Invalid(name, str(error)) from None
    return changes


def parse_option(name: str, text: str) -> bool | int | float | str | None:
    """The value of a connector's option: true, false, a number, or else text; None (remove it) if empty.

    What a number would not give back as it was written is text, such as the address range `0044`. Raises Invalid.
    """
    if _OPTION(name) is None:
        raise Invalid(f"option.{name}", "an option's name consists of a-z, 0-9 and _, and begins with a letter")
    if not text:
        return None
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    if _LEADING_ZERO(text):
        return text
    if _INTEGER(text):
        return int(text)
    return float(text) if _DECIMAL(text) and str(float(text)) == text else text


def _truth(text: str) -> bool:
    value = _WORDS.get(text.strip().lower())
    if value is None:
        raise ValueError(f"{text!r} is neither true nor false")
    return value


def _whole(least: int, most: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        if _INTEGER(text) is None or not least <= int(text) <= most:
            raise ValueError(f"{text!r} is not a whole number from {least} to {most}")
        return int(text)

    return parse


def _decimal(most: float) -> Callable[[str], float]:
    def parse(text: str) -> float:
        if _DECIMAL(text) is None or not 0 <= float(text) <= most:
            raise ValueError(f"{text!r} is not a number from 0 to {most:.0f}")
        return float(text)

    return parse


def _one_of(*words: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text not in words:
            raise ValueError(f"{text!r} is none of {', '.join(words)}")
        return text

    return parse


def _timezone(text: str) -> str:
    calendar.zone(text)
    return text


def _plan(text: str) -> str:
    if _NAME(text) is None:
        raise ValueError(f"{text!r} is no name of a plan; take letters A-Z, a-z, digits and . _ -")
    return text


def _credit_limit(text: str) -> int:
    micro = money.parse_credits(text)
    if micro < 0:
        raise ValueError("it says how far the balance may go below zero, and is itself not below zero")
    return micro


def _list_interval(text: str) -> float | None:
    return None if text == "default" else _decimal(MAX_LIST_INTERVAL_S)(text)


def _callback_url(text: str) -> str:
    if not text:
        return text
    try:
        url = urlsplit(text)
        sound = url.scheme in ("http", "https") and bool(url.hostname) and url.port != 0
        bare = url.username is None and url.password is None and "#" not in text
    except ValueError:
        sound = bare = False
    if not sound or not text.isascii() or not text.isprintable() or " " in text:
        raise ValueError("it must be an absolute http or https URL, such as https://example.com/receipts")
    if not bare:
        raise ValueError("it must have no user name, password or fragment")
    if len(text) > limits.URL_CHARS:
        raise ValueError(f"it has {len(text)} characters, the limit is {limits.URL_CHARS}")
    return text


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _networks(text: str) -> tuple[str, ...]:
    networks = []
    for part in _listed(text):
        try:
            networks.append(str(ipaddress.ip_network(part)))
        except ValueError:
            raise ValueError(f"{part!r} is no network; write 192.0.2.0/24, 192.0.2.7 or 2001:db8::/32") from None
    return tuple(networks)


def _senders(text: str) -> tuple[str, ...]:
    senders = _listed(text)
    for sender in senders:
        problem = phone.sender_problem(sender, msisdn_allowed=True)
        if problem:
            raise ValueError(f"{sender!r}: {problem}")
    return tuple(senders)


def _host(text: str) -> str:
    """A name or an address; an IPv6 one may stand in brackets, as before a port."""
    try:
        return str(ipaddress.ip_address(text[1:-1] if text.startswith("[") and text.endswith("]") else text))
    except ValueError:
        if len(text) > 253 or _HOST(text) is None:
            raise ValueError(f"{text!r} is neither a host name nor an address") from None
        return text


def _ascii(most: int) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if not text.isascii() or not text.isprintable():
            raise ValueError("it may only have printable ASCII characters")
        if len(text) > most:
            raise ValueError(f"it has {len(text)} characters; SMPP has room for {most}")
        return text

    return parse


#: What `account set` takes.
ACCOUNT: Mapping[str, FieldRule] = {
    "timezone": FieldRule(_timezone, "IANA time zone, for times in requests and answers", "Europe/Berlin"),
    "plan": FieldRule(_plan, "the list that its prices are from", "default"),
    "credit_limit": FieldRule(_credit_limit, "credits that the balance may go below zero", "50"),
    "suspended": FieldRule(_truth, "true or false; a suspended account cannot send", "false"),
    "list_interval": FieldRule(
        _list_interval, "seconds between two list queries; 0 is none, `default` the gateway's setting", "10"
    ),
    "rate": FieldRule(_decimal(MAX_RATE), "messages a second; 0 is no limit", "50"),
    "callback_url": FieldRule(
        _callback_url, "where receipts go that name no dlr-url; empty is nowhere", "https://example.com/dlr"
    ),
    "callback_format": FieldRule(_one_of("form", "json"), "form or json: how receipts are written", "json"),
    "content_decoding": FieldRule(
        _one_of("auto", "always", "never"),
        "auto, always or never: whether a JSON content is URL-decoded",
        "never",
    ),
    "networks": FieldRule(_networks, "client networks, comma separated; empty is any", "192.0.2.0/24,2001:db8::/32"),
    "senders": FieldRule(_senders, "sender IDs, comma separated; empty is any", "ACME,AcmeCorp"),
}

#: What `connector set` takes, beside options.
CONNECTOR: Mapping[str, FieldRule] = {
    "host": FieldRule(_host, "host name or address of the operator's SMSC", "smsc.example.net"),
    "port": FieldRule(_whole(1, MAX_PORT), "its port", "2775"),
    "system_id": FieldRule(_ascii(MAX_SYSTEM_ID_CHARS), "user name to bind with, up to 15 characters", "acme"),
    "password": FieldRule(_ascii(64), "password to bind with", "..."),
    "bind": FieldRule(
        _one_of("transceiver", "transmitter+receiver"), "transceiver or transmitter+receiver", "transceiver"
    ),
    "binds": FieldRule(_whole(1, MAX_BINDS), "how many binds at once", "1"),
    "window": FieldRule(_whole(1, MAX_WINDOW), "unanswered submit_sm a bind, 1 to 1000", "10"),
    "rate": FieldRule(_decimal(MAX_RATE), "parts a second over all binds; 0 is no limit", "100"),
    "tls": FieldRule(_truth, "true or false: bind over TLS, the certificate verified", "true"),
    "enabled": FieldRule(_truth, "true or false; a disabled one does not bind, and its messages wait", "true"),
}
