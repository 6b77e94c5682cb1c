"""The settings of accounts: each field's text form, rule and meaning; and the options of connectors."""

import ipaddress
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from heliograph.app.connector_kind import MAX_RATE, Setting
from heliograph.app.records import Scope
from heliograph.app.resources.desk import Invalid
from heliograph.app.text_values import decimal, one_of, truth, untyped, whole
from heliograph.domain import calendar
from heliograph.domain.error import Reason
from heliograph.domain.limits import defaults
from heliograph.domain.message.retention import MOST_DAYS
from heliograph.domain.message.state import Kind
from heliograph.domain.money import amounts
from heliograph.domain.numbers import phone
from heliograph.domain.text import segment

MAX_LIST_INTERVAL_S = 86_400.0
MAX_BURST = 1_000_000
MAX_COUNT = 10**15

_NAME = re.compile(r"[A-Za-z0-9._-]{1,64}").fullmatch
_OPTION = re.compile(r"[a-z][a-z0-9_]{0,63}").fullmatch
_SYSTEM_ID = re.compile(r"[A-Za-z0-9._-]{1,15}").fullmatch
_TAG = re.compile(r"0x(?:1[4-9a-f]|[23][0-9a-f])[0-9a-f]{2}", re.IGNORECASE).fullmatch
_STATUS = re.compile(r"0x[0-9a-fA-F]{1,8}").fullmatch
_COUNTRY = re.compile(r"[1-9][0-9]{0,2}").fullmatch
_PREFIX = re.compile(r"[1-9][0-9]{0,14}").fullmatch


@dataclass(frozen=True, slots=True)
class FieldRule:
    """`parse` raises ValueError with a sentence for people."""

    parse: Callable[[str], Any]
    expected: str
    """Possible values in words, for help texts."""
    example: str
    scope: Scope
    """Scope of whoever sets it, beside the right to change accounts."""


def amount(field: str, text: str) -> int:
    """Parses decimal credits; returns micro-credits. Raises Invalid."""
    try:
        return amounts.parse_credits(text)
    except ValueError as error:
        raise Invalid(field, str(error)) from None


def parse_changes(fields: Mapping[str, FieldRule | Setting], texts: Mapping[str, str]) -> dict[str, Any]:
    """The values of several fields. Raises Invalid, for a field that is none too."""
    changes: dict[str, Any] = {}
    for name, text in texts.items():
        field = fields.get(name)
        if field is None:
            raise Invalid(name, f"there is no such field; there are {', '.join(fields)}")
        try:
            changes[TERMS.get(name, name)] = field.parse(text)
        except ValueError as error:
            raise Invalid(name, str(error)) from None
    return changes


def parse_option(name: str, text: str) -> bool | int | float | str | None:
    """Parses a connector's option: true, false, a number, or else text; None (remove it) if empty.

    Digits that a number would not give back as they were written stay text, such as the address range `0044`. Raises
    Invalid.
    """
    if _OPTION(name) is None:
        raise Invalid(f"option.{name}", "an option's name consists of a-z, 0-9 and _, and begins with a letter")
    return untyped(text) if text else None


def _timezone(text: str) -> str:
    calendar.zone(text)
    return text


def _plan(text: str) -> str:
    if _NAME(text) is None:
        raise ValueError(f"{text!r} is no name of a plan; take letters A-Z, a-z, digits and . _ -")
    return text


def _credit_limit(text: str) -> int:
    micro = amounts.parse_credits(text)
    if micro < 0:
        raise ValueError("it says how far the balance may go below zero, and is itself not below zero")
    return micro


def _list_interval(text: str) -> float | None:
    return None if text == "default" else decimal(MAX_LIST_INTERVAL_S)(text)


def _retain_days(text: str) -> float | None:
    return None if text == "default" else decimal(MOST_DAYS)(text)


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
    if len(text) > defaults.URL_CHARS:
        raise ValueError(f"it has {len(text)} characters, the limit is {defaults.URL_CHARS}")
    return text


def _reply(text: str) -> str:
    if "\0" in text:
        raise ValueError("it has a NUL character, which no message can carry")
    count = segment.count(text, Kind.TEXT)[1] if text else 0
    if count > defaults.MAX_SEGMENTS:
        raise ValueError(f"it takes {count} segments, the limit is {defaults.MAX_SEGMENTS}")
    return text


def _spend(text: str) -> int:
    micro = amounts.parse_credits(text)
    if micro < 0:
        raise ValueError("it is a limit, and not below zero")
    return micro


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


def _prefixes(text: str) -> tuple[str, ...]:
    prefixes = _listed(text)
    for prefix in prefixes:
        if _PREFIX(prefix) is None:
            raise ValueError(f"{prefix!r} is no prefix; give up to 15 digits without + or a leading 0")
    return tuple(prefixes)


def _system_id(text: str) -> str:
    if text and _SYSTEM_ID(text) is None:
        raise ValueError(f"{text!r} is no system_id; take up to 15 letters A-Z, a-z, digits and . _ -")
    return text


def _reference(text: str) -> str:
    if text and text != "user_message_reference" and _TAG(text) is None:
        raise ValueError(f"{text!r} is neither user_message_reference nor a tag from 0x1400 to 0x3fff")
    return text.lower()


def statuses_of(text: str) -> tuple[tuple[str, int], ...]:
    """Reads `credit=0x401,no_route=0xb`: statuses by reason. Raises ValueError."""
    statuses: dict[str, int] = {}
    for part in _listed(text):
        reason, _, status = part.partition("=")
        if reason not in list(Reason) or _STATUS(status) is None:
            raise ValueError(f"{part!r} is no status of a reason; write credit=0x401")
        statuses[reason] = int(status, 16)
    return tuple(statuses.items())


def status_texts(statuses: tuple[tuple[str, int], ...]) -> list[str]:
    """Returns the texts that `statuses_of` reads, for example `credit=0x401`."""
    return [f"{reason}={status:#x}" for reason, status in statuses]


def _country(text: str) -> str:
    if text and _COUNTRY(text) is None:
        raise ValueError(f"{text!r} is no country code; give 1 to 3 digits, such as 49")
    return text


#: What `account set` takes.
ACCOUNT: Mapping[str, FieldRule] = {
    "timezone": FieldRule(
        _timezone,
        "IANA time zone, for times in requests and answers and for the day of daily limits",
        "Europe/Berlin",
        Scope.WRITE_LIMITS,
    ),
    "plan": FieldRule(_plan, "the list that its prices are from", "default", Scope.WRITE_PRICES),
    "credit_limit": FieldRule(_credit_limit, "credits that the balance may go below zero", "50", Scope.WRITE_CREDIT),
    "suspended": FieldRule(truth, "true or false; a suspended account cannot send", "false", Scope.WRITE_ACCOUNTS),
    "list_interval": FieldRule(
        _list_interval,
        "seconds between two list queries; 0 is none, `default` the gateway's setting",
        "10",
        Scope.WRITE_LIMITS,
    ),
    "rate": FieldRule(decimal(MAX_RATE), "messages a second; 0 is no limit", "50", Scope.WRITE_LIMITS),
    "request_rate": FieldRule(
        decimal(MAX_RATE), "requests a second, of any kind; 0 is no limit", "20", Scope.WRITE_LIMITS
    ),
    "request_burst": FieldRule(
        whole(0, MAX_BURST), "requests that may come at once; 0 is a second's worth", "100", Scope.WRITE_LIMITS
    ),
    "daily_messages": FieldRule(
        whole(0, MAX_COUNT), "messages a day of its time zone; 0 is no limit", "10000", Scope.WRITE_LIMITS
    ),
    "daily_spend": FieldRule(
        _spend, "credits that it may be charged for messages a day; 0 is no limit", "250", Scope.WRITE_LIMITS
    ),
    "max_waiting": FieldRule(
        whole(0, MAX_COUNT), "messages scheduled or waiting at once; 0 is no limit", "5000", Scope.WRITE_LIMITS
    ),
    "prefixes": FieldRule(
        _prefixes, "prefixes of numbers that it may send to, comma separated; empty is all", "49,43", Scope.WRITE_LIMITS
    ),
    "guard": FieldRule(
        one_of("auto", "on", "off"),
        "auto, on or off: whether the pumping guard watches it; auto is while it is young",
        "on",
        Scope.WRITE_LIMITS,
    ),
    "callback_url": FieldRule(
        _callback_url,
        "where receipts go that name no dlr-url; empty is nowhere",
        "https://example.com/dlr",
        Scope.WRITE_ACCOUNTS,
    ),
    "inbound_url": FieldRule(
        _callback_url,
        "where messages from phones go; empty is nowhere",
        "https://example.com/inbound",
        Scope.WRITE_ACCOUNTS,
    ),
    "inbound_reply": FieldRule(
        one_of("off", "body"),
        "off or body: whether the text that inbound_url answers is sent to the phone",
        "body",
        Scope.WRITE_ACCOUNTS,
    ),
    "opt_out": FieldRule(
        one_of("keywords", "off"),
        "keywords or off: whether texts such as STOP to its numbers are acted on",
        "keywords",
        Scope.WRITE_ACCOUNTS,
    ),
    "stop_text": FieldRule(
        _reply,
        "what confirms a STOP; empty is nothing",
        "ACME: you get no more messages. Send START to come back.",
        Scope.WRITE_ACCOUNTS,
    ),
    "help_text": FieldRule(
        _reply, "what answers HELP; empty is nothing", "ACME alerts. Send STOP to end them.", Scope.WRITE_ACCOUNTS
    ),
    "smart": FieldRule(
        one_of("off", "on"),
        "off or on: whether curly quotes, dashes and the like become plain ones where a text then costs less",
        "on",
        Scope.WRITE_ACCOUNTS,
    ),
    "callback_format": FieldRule(
        one_of("form", "json"),
        "form or json: how receipts and messages from phones are written",
        "json",
        Scope.WRITE_ACCOUNTS,
    ),
    "content_decoding": FieldRule(
        one_of("auto", "always", "never"),
        "auto, always or never: whether a JSON content is URL-decoded",
        "never",
        Scope.WRITE_ACCOUNTS,
    ),
    "networks": FieldRule(
        _networks, "client networks, comma separated; empty is any", "192.0.2.0/24,2001:db8::/32", Scope.WRITE_LIMITS
    ),
    "retain_text_days": FieldRule(
        _retain_days,
        "days after which texts of its messages are redacted; 0 is never, `default` the gateway's setting",
        "90",
        Scope.ERASE,
    ),
    "retain_number_days": FieldRule(
        _retain_days,
        "days after which phones are redacted; 0 is never, `default` the gateway's setting",
        "365",
        Scope.ERASE,
    ),
    "retain_days": FieldRule(
        _retain_days,
        "days after which its messages are dropped, but for money; 0 is never, `default` the gateway's setting",
        "730",
        Scope.ERASE,
    ),
    "smpp_system_id": FieldRule(
        _system_id,
        "name to bind with beside the account's, up to 15 characters; empty is none",
        "acme1",
        Scope.WRITE_ACCOUNTS,
    ),
    "smpp_binds": FieldRule(whole(0, 1_000), "SMPP binds at once, over all nodes", "4", Scope.WRITE_LIMITS),
    "smpp_window": FieldRule(
        whole(1, 1_000), "requests of a bind that may wait for their answer", "100", Scope.WRITE_LIMITS
    ),
    "smpp_id": FieldRule(
        one_of("uuid", "decimal", "hex16"),
        "uuid, decimal or hex16: the form of message ids for SMPP clients",
        "decimal",
        Scope.WRITE_ACCOUNTS,
    ),
    "smpp_receipts": FieldRule(
        one_of("asked", "always"),
        "asked or always: whether a submit_sm without registered_delivery gets a receipt",
        "always",
        Scope.WRITE_ACCOUNTS,
    ),
    "smpp_alphabet": FieldRule(
        one_of("gsm", "latin1", "ascii"),
        "gsm, latin1 or ascii: what data_coding 0 means",
        "latin1",
        Scope.WRITE_ACCOUNTS,
    ),
    "smpp_reference": FieldRule(
        _reference,
        "TLV with the client's reference, or user_message_reference; empty is none",
        "0x1402",
        Scope.WRITE_ACCOUNTS,
    ),
    "smpp_status": FieldRule(
        statuses_of,
        "command_status of refusals by reason, comma separated; empty is the usual ones",
        "credit=0x401",
        Scope.WRITE_ACCOUNTS,
    ),
    "country": FieldRule(
        _country, "country code of national numbers from SMPP clients; empty refuses them", "49", Scope.WRITE_ACCOUNTS
    ),
    "inbound_way": FieldRule(
        one_of("auto", "webhook", "bind"),
        "auto, webhook or bind: how messages from phones go to the account; auto is by inbound_url",
        "bind",
        Scope.WRITE_ACCOUNTS,
    ),
    "senders": FieldRule(_senders, "sender IDs, comma separated; empty is any", "ACME,AcmeCorp", Scope.WRITE_LIMITS),
}

TERMS: Mapping[str, str] = {
    "smpp_binds": "smpp.binds",
    "smpp_window": "smpp.window",
    "smpp_id": "smpp.id_form",
    "smpp_receipts": "smpp.receipts",
    "smpp_alphabet": "smpp.alphabet",
    "smpp_reference": "smpp.reference",
    "smpp_status": "smpp.statuses",
    "country": "smpp.country",
}
"""Fields of ACCOUNT that are terms for SMPP clients, by the names that `changed_account` takes."""

#: Fields of an account that is opened, beyond ACCOUNT, with what whoever gives them must have.
OPENING: dict[str, Scope] = {"credit": Scope.TOP_UP, "price": Scope.WRITE_PRICES}

_HARMLESS_WHEN_OPENED = {"timezone", "retain_text_days", "retain_number_days", "retain_days"}


def own_scopes() -> dict[str, Scope]:
    """Returns the fields of ACCOUNT that take a scope beyond the right to change accounts, each with its scope."""
    return {name: rule.scope for name, rule in ACCOUNT.items() if rule.scope is not Scope.WRITE_ACCOUNTS}


def opening_scopes() -> dict[str, Scope]:
    """Returns the same for an account that is opened, OPENING included.

    Some take no more: it has no day yet that could begin anew, and no messages that could be dropped early.
    """
    return {name: scope for name, scope in own_scopes().items() if name not in _HARMLESS_WHEN_OPENED} | OPENING
