"""Settings of accounts: the fields that can be changed, and their rules."""

import re
from typing import Any, Final
from urllib.parse import urlsplit

from heliograph.app.configuration import Account
from heliograph.app.connector_kind import MAX_RATE
from heliograph.app.records import Scope
from heliograph.app.resources.desk import Invalid, check_name
from heliograph.app.resources.fields import KEEP, Choice, Credits, Decimal, Field, Flag, Text, Type, Whole, Words
from heliograph.domain import calendar
from heliograph.domain.error import Reason
from heliograph.domain.limits import defaults
from heliograph.domain.limits.pumping import GuardMode
from heliograph.domain.message.retention import MOST_DAYS
from heliograph.domain.message.state import Kind
from heliograph.domain.numbers import phone
from heliograph.domain.security.host import network_of
from heliograph.domain.text import segment

MAX_LIST_INTERVAL_S: Final = 86_400.0
MAX_BURST: Final = 1_000_000
MAX_COUNT: Final = 10**15

MOST_NETWORKS: Final = 500
"""Networks of an account. Each new client address is compared with all of them, in about a millisecond."""

MOST_PREFIXES: Final = 500
"""Prefixes of an account. Each destination is compared with all of them, in some 0.02 ms."""

MOST_SENDERS: Final = 500
"""Sender IDs of an account. Each node keeps them in memory, and reads them again after each change of the account."""

_SYSTEM_ID = re.compile(r"[A-Za-z0-9._-]{1,15}").fullmatch
_TAG = re.compile(r"0x(?:1[4-9a-f]|[23][0-9a-f])[0-9a-f]{2}", re.IGNORECASE).fullmatch
_STATUS = re.compile(r"0x[0-9a-fA-F]{1,8}").fullmatch
_COUNTRY = re.compile(r"[1-9][0-9]{0,2}").fullmatch
_PREFIX = re.compile(r"[1-9][0-9]{0,14}").fullmatch


def _timezone(text: str) -> str:
    calendar.zone(text)
    return text


def _plan(text: str) -> str:
    try:
        return check_name("plan", text)
    except Invalid:
        raise ValueError(f"{text!r} is not a name of a plan; use letters A-Z, a-z, digits and . _ -") from None


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
        raise ValueError("it must not contain a user name, a password or a fragment")
    if len(text) > defaults.URL_CHARS:
        raise ValueError(f"it has {len(text)} characters, the limit is {defaults.URL_CHARS}")
    return text


def _reply(text: str) -> str:
    if "\0" in text:
        raise ValueError("it has a NUL character, which a message cannot carry")
    count = segment.count(text, Kind.TEXT)[1] if text else 0
    if count > defaults.MAX_SEGMENTS:
        raise ValueError(f"it needs {count} segments, the limit is {defaults.MAX_SEGMENTS}")
    return text


def _network(text: str) -> str:
    try:
        return str(network_of(text))
    except ValueError:
        problem = f"{text!r} is not a network; write for example 192.0.2.0/24, 192.0.2.7 or 2001:db8::/32"
        raise ValueError(problem) from None


def _sender(text: str) -> str:
    problem = phone.sender_problem(text, msisdn_allowed=True)
    if problem:
        raise ValueError(f"{text!r}: {problem}")
    return text


def _prefix(text: str) -> str:
    if _PREFIX(text) is None:
        raise ValueError(f"{text!r} is not a prefix; give up to 15 digits without + or a leading 0")
    return text


def _system_id(text: str) -> str:
    if text and _SYSTEM_ID(text) is None:
        raise ValueError(f"{text!r} is not a system_id; use up to 15 letters A-Z, a-z, digits and . _ -")
    return text


def _reference(text: str) -> str:
    if text and text != "user_message_reference" and _TAG(text) is None:
        raise ValueError(f"{text!r} is neither user_message_reference nor a tag from 0x1400 to 0x3fff")
    return text.lower()


def _country(text: str) -> str:
    if text and _COUNTRY(text) is None:
        raise ValueError(f"{text!r} is not a country code; give 1 to 3 digits, such as 49")
    return text


class _Statuses(Words):
    """Statuses by reason: `(("credit", 0x401),)` inside, `["credit=0x401"]` outside."""

    def read(self, value: list[str]) -> tuple[Any, ...]:
        statuses: dict[str, int] = {}
        for part in Words.read(self, value):
            reason, _, status = part.partition("=")
            if reason not in list(Reason) or _STATUS(status) is None:
                raise ValueError(f"{part!r} is not a reason with a status; write for example credit=0x401")
            statuses[reason] = int(status, 16)
        return tuple(statuses.items())

    def show(self, value: tuple[Any, ...]) -> list[str]:
        return [f"{reason}={status:#x}" for reason, status in value]


_LIMITS, _ERASE, _TEXTS = Scope.WRITE_LIMITS, Scope.ERASE, Scope.WRITE_TEXTS
_GATEWAYS: dict[str, Any] = {"nullable": True, "empty": "default"}
"""A setting that may be null: the gateway's own setting then applies."""
_DAYS = Decimal(MOST_DAYS)


def _setting(name: str, kind: Type, meaning: str, example: str, **more: Any) -> Field:
    return Field(name, kind, meaning, KEEP, example, **more)


SETTINGS: tuple[Field, ...] = (
    _setting("timezone", Text(_timezone),
        "IANA time zone, used for times in requests and answers and for the day of daily limits.", "Europe/Berlin",
        scope=_LIMITS, title="Time zone"),
    _setting(
        "plan", Text(_plan), "Price plan of the account.", "default", scope=Scope.WRITE_PRICES, title="Price plan"),
    _setting("credit_limit", Credits("it must not be below zero; 50 lets the balance fall to -50"),
        "Credits that the balance may fall below zero.", "50", scope=Scope.WRITE_CREDIT),
    _setting("low_balance", Credits(),
        "Balance below which its `callback_url` gets a webhook, the next only after a top-up; `none` (null): never.",
        "25", title="Tell of a balance below", nullable=True, empty="none"),
    _setting("suspended", Flag(), "Whether its requests are refused and its messages wait.", "false"),
    _setting("list_interval", Decimal(MAX_LIST_INTERVAL_S),
        "Seconds between two list queries; 0: no limit; `default` (null): as the gateway's setting.", "10",
        scope=_LIMITS, **_GATEWAYS),
    _setting("rate", Decimal(MAX_RATE), "Messages a second; 0: no limit.", "50", scope=_LIMITS),
    _setting("request_rate", Decimal(MAX_RATE), "Requests a second, of any kind; 0: no limit.", "20", scope=_LIMITS,
        title="Requests a second"),
    _setting("request_burst", Whole(0, MAX_BURST), "Requests that may come at once; 0: as many as in a second.", "100",
        scope=_LIMITS, title="Requests at once"),
    _setting("daily_messages", Whole(0, MAX_COUNT), "Messages a day, in its time zone; 0: no limit.", "10000",
        scope=_LIMITS, title="Messages a day"),
    _setting("daily_spend", Credits("it must not be below zero"),
        "Credits a day that it may be charged for messages; 0: no limit.", "250", scope=_LIMITS,
        title="Credits a day"),
    _setting("max_waiting", Whole(0, MAX_COUNT), "Messages that may be scheduled or waiting at a time; 0: no limit.",
        "5000", scope=_LIMITS, title="Waiting at most"),
    _setting("prefixes", Words(_prefix, MOST_PREFIXES),
        f"Prefixes of numbers that it may send to, comma separated, at most {MOST_PREFIXES}; empty: all.", "49,43",
        scope=_LIMITS, title="Destinations"),
    _setting("guard", Choice(GuardMode),
        "Mode of the pumping guard; `default` (null): as the gateway's setting while it is new.",
        "hold", scope=_LIMITS, title="Pumping guard", **_GATEWAYS),
    _setting("callback_url", Text(_callback_url), "URL for receipts of requests without dlr-url; empty: none.",
        "https://example.com/dlr", scope=_TEXTS, title="Callback URL"),
    _setting("inbound_url", Text(_callback_url), "URL for messages from phones; empty: none.",
        "https://example.com/inbound", scope=_TEXTS, title="Inbound URL"),
    _setting("inbound_reply", Choice(("off", "body")),
        "Whether the phone is sent the text that inbound_url answers with.", "body", scope=_TEXTS),
    _setting("opt_out", Choice(("keywords", "off")), "Whether texts such as STOP to its numbers suppress the phone.",
        "keywords", title="Opt-out"),
    _setting("stop_text", Text(_reply), "Text that confirms a STOP; empty: none is sent.",
        "ACME: you get no more messages. Send START to come back.", scope=_TEXTS, title="Confirmation of STOP"),
    _setting("help_text", Text(_reply), "Text that answers HELP; empty: none is sent.",
        "ACME alerts. Send STOP to end them.", scope=_TEXTS, title="Answer to HELP"),
    _setting("smart", Choice(("off", "on")),
        "Whether curly quotes, dashes and similar characters are replaced by plain ones if that makes a text cheaper.",
        "on", title="Smart replacement"),
    _setting("relaxed", Choice(("off", "on")),
        "Whether its requests may spell names of fields in any way (DlrUrl), and numbers as +49 170-1234567.", "on",
        title="Forgiving requests"),
    _setting("callback_format", Choice(("form", "json")), "Format of receipts and messages from phones.", "json"),
    _setting("receipt_fields", Choice(("usual", "full")),
        "Fields of receipts by webhook; full: also the network of the destination (MCCMNC).", "full"),
    _setting("content_decoding", Choice(("auto", "always", "never")),
        "Whether the field content of a JSON request is URL-decoded.", "never"),
    _setting("networks", Words(_network, MOST_NETWORKS),
        f"Networks that its clients connect from, comma separated, at most {MOST_NETWORKS}; empty: any.",
        "192.0.2.0/24,2001:db8::/32", scope=_LIMITS),
    _setting("retain_text_days", _DAYS,
        "Days until the texts of its messages are redacted; 0: never; `default` (null): as the gateway's setting.",
        "90", scope=_ERASE, title="Days texts are kept", **_GATEWAYS),
    _setting("retain_number_days", _DAYS,
        "Days until phone numbers are redacted; 0: never; `default` (null): as the gateway's setting.", "365",
        scope=_ERASE, title="Days phones are kept", **_GATEWAYS),
    _setting("retain_days", _DAYS,
        "Days until its messages are deleted (ledger entries stay); 0: never; `default` (null): as the gateway's "
        "setting.", "730", scope=_ERASE, title="Days messages are kept", **_GATEWAYS),
    _setting("smpp_system_id", Text(_system_id),
        "Second name that SMPP clients may bind with, up to 15 characters; empty: only the account's name.", "acme1",
        title="SMPP system_id"),
    _setting("smpp_binds", Whole(0, 1_000), "SMPP binds at a time, over all nodes.", "4", scope=_LIMITS,
        title="SMPP binds"),
    _setting("smpp_window", Whole(1, 1_000), "Requests of a bind that may wait for their answer.", "100", scope=_LIMITS,
        title="SMPP window"),
    _setting("smpp_id", Choice(("uuid", "decimal", "hex16")), "Format of message ids for SMPP clients.", "decimal",
        title="SMPP message ids"),
    _setting("smpp_receipts", Choice(("asked", "always")),
        "Whether a submit_sm without registered_delivery also gets a receipt.", "always", title="SMPP receipts"),
    _setting("smpp_alphabet", Choice(("gsm", "latin1", "ascii")), "Alphabet of texts with data_coding 0.", "latin1",
        title="SMPP alphabet"),
    _setting("smpp_reference", Text(_reference),
        "Tag of the TLV with the client's reference, or user_message_reference; empty: none.", "0x1402",
        title="SMPP reference"),
    _setting("smpp_dedupe_s", Whole(0, 86_400),
        "Seconds in which a repeated submission is not charged again if its answer was lost; 0: off.", "600",
        title="SMPP answers lost"),
    _setting("smpp_status", _Statuses(),
        "command_status of refusals, by reason, comma separated; empty: the usual ones.", "credit=0x401",
        title="SMPP statuses"),
    _setting("country", Text(_country), "Country code for national numbers of SMPP clients; empty: they are refused.",
        "49", title="Country code"),
    _setting("inbound_way", Choice(("auto", "webhook", "bind")),
        "How messages from phones reach the account; auto: by webhook if inbound_url is set.", "bind",
        title="Way of phones' messages"),
    _setting("senders", Words(_sender, MOST_SENDERS),
        f"Sender IDs that it may use, comma separated, at most {MOST_SENDERS}; empty: any.", "ACME,AcmeCorp",
        scope=_LIMITS, title="Sender IDs"),
)  # fmt: skip
"""The settings of an account, in the order of forms. The scope of a setting is needed beside `accounts:write`."""

SETTING = {each.name: each for each in SETTINGS}

GROUPS: Final = (
    ("General", ("timezone", "plan", "credit_limit", "low_balance", "suspended", "senders", "networks")),
    (
        "Limits",
        (
            "rate", "request_rate", "request_burst", "list_interval", "daily_messages", "daily_spend", "max_waiting",
            "prefixes", "guard",
        ),
    ),
    ("Requests", ("smart", "relaxed", "content_decoding")),
    ("Receipts", ("callback_url", "callback_format", "receipt_fields")),
    (
        "Messages from phones",
        ("inbound_url", "inbound_way", "inbound_reply", "opt_out", "stop_text", "help_text"),
    ),
    (
        "SMPP",
        (
            "smpp_system_id", "smpp_binds", "smpp_window", "smpp_id", "smpp_receipts", "smpp_alphabet",
            "smpp_reference", "smpp_dedupe_s", "smpp_status", "country",
        ),
    ),
    ("Retention", ("retain_text_days", "retain_number_days", "retain_days")),
)  # fmt: skip
"""The groups of forms, help and `account show`, with the names of their settings. Each setting is in one group."""

_TERMS: Final = {
    "smpp_binds": "binds",
    "smpp_window": "window",
    "smpp_id": "id_form",
    "smpp_receipts": "receipts",
    "smpp_alphabet": "alphabet",
    "smpp_reference": "reference",
    "smpp_dedupe_s": "dedupe_s",
    "smpp_status": "statuses",
    "country": "country",
}
"""Settings that are terms for SMPP clients, with their names in `SmppTerms`."""


def texts_of(account: Account) -> dict[str, str]:
    """Returns the settings as texts for forms, such as `{"rate": "50", "prefixes": "49, 43"}`."""
    return {name: each.text(each.show(value_of(account, name))) for name, each in SETTING.items()}


def value_of(account: Account, name: str) -> Any:
    """Returns the value of a setting, for example 50.0 for `rate`."""
    return getattr(account.smpp, _TERMS[name]) if name in _TERMS else getattr(account, name)


def changes_of(settings: dict[str, Any]) -> dict[str, Any]:
    """Returns settings by the names that `changed_account` takes, for example `smpp.window` for `smpp_window`."""
    return {f"smpp.{_TERMS[name]}" if name in _TERMS else name: value for name, value in settings.items()}


def noted(settings: dict[str, Any]) -> dict[str, str]:
    """Returns settings as the audit log writes them, for example `{"suspended": "true", "prefixes": "49,43"}`."""
    details = {}
    for name, value in settings.items():
        shown = SETTING[name].show(value)
        if isinstance(shown, bool):
            details[name] = "true" if shown else "false"
        else:
            details[name] = ",".join(shown) if isinstance(shown, list) else SETTING[name].text(shown)
    return details
