"""A request to send, from its decoded fields to what is to be charged and stored.

The rules and the order in which they are checked are those of the API guide: `to`, `from`, `content`, `time`, `type`,
`dlr`, `dlr-url`, `reference`; then what depends on the moment. A request that was accepted under the same reference
before is answered as it was then, even if it would not be accepted now.
"""

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from math import ceil
from typing import Any, Protocol, cast
from urllib.parse import urlsplit

from heliograph.app.facts import Accept, Message
from heliograph.app.sending.directory import AccountView, Directory
from heliograph.app.sending.number import Number
from heliograph.domain import calendar, limits, phone, segment
from heliograph.domain.content import Rule, decode_content
from heliograph.domain.error import FORBIDDEN, MISSING, TOO_EARLY, Fault, invalid, missing
from heliograph.domain.limits import REFERENCE_CHARS, URL_CHARS
from heliograph.domain.message import KIND_WORDS, Kind, State, parse_kind
from heliograph.domain.money import format_credits
from heliograph.domain.throttle import TokenBucket

SHOWN_CHARS = 40
"""Characters of a customer's value that an error message repeats."""

TIME_CHARS = 64
"""Characters of a `time`; every form that is understood is shorter."""

URLS_KEPT = 4096
"""Callback URLs whose check is remembered."""


@dataclass(slots=True)
class Fields:
    """The fields of a request as decoded; None is an absent one.

    A value is a text, an integer, a `Number`, a boolean, a list or a dictionary; of a `form` always a text, or, for
    `to`, a list of texts.
    """

    to: Any = None
    sender: Any = None
    content: Any = None
    time: Any = None
    kind: Any = None
    dlr: Any = None
    dlr_url: Any = None
    reference: Any = None
    form: bool = False


@dataclass(frozen=True, slots=True)
class SubmitRules:
    """The settings that sending goes by."""

    max_destinations: int = limits.MAX_DESTINATIONS
    max_segments: int = limits.MAX_SEGMENTS
    horizon_days: int = limits.HORIZON_DAYS
    validity_ms: int = limits.VALIDITY_HOURS * 3_600_000


class ReplayStore(Protocol):
    """What of the store sending asks (`ports.Store`)."""

    async def replayed(self, account: int, reference: str) -> tuple[bytes, Accept] | None: ...


class Submit:
    def __init__(
        self,
        directory: Directory,
        store: ReplayStore,
        is_forbidden_host: Callable[[str], str | None],
        rules: SubmitRules,
    ) -> None:
        """`is_forbidden_host` says why callbacks may not go to a host, as far as its text tells; else None."""
        self._directory = directory
        self._store = store
        self._rules = rules
        self._paces: dict[int, _Pace] = {}

        @lru_cache(maxsize=URLS_KEPT)
        def url_problem(url: str) -> str | None:
            problem, host = _split_url(url)
            if problem is not None:
                return problem
            reason = is_forbidden_host(host)
            return None if reason is None else f"The dlr-url must not lead to {host} ({reason}); give a public address."

        self._url_problem = url_problem

    def compose(self, view: AccountView, fields: Fields, version: int, now: int) -> Accept:
        """The request to store and charge, complete but for its keys. Raises Fault."""
        account = view.account
        destinations, routes = self._destinations(view, fields)
        sender = _sender(view, fields.sender, version)
        content = _content(view, fields)
        kind = _kind_or_none(fields)
        segments = 0 if kind is None else self._segments(content, kind)
        text = time_text(fields.time, fields.form, version)
        at = now if text is None else self.scheduled_time(view, text, now)
        if kind is None:
            raise invalid("type", f"The type {shown(fields.kind)} is unknown; give one of {', '.join(KIND_WORDS)}.")
        wants = _wants(fields)
        url = self._url(fields)
        if wants and url is None:
            if version != 1:
                raise Fault(
                    MISSING, "The field dlr-url is missing; with dlr it says where the receipt goes.", "dlr-url"
                )
            url = account.callback_url
        reference = _reference(fields)
        scheduled = text is not None
        state, expires = State.SCHEDULED if scheduled else State.SENT, at + self._rules.validity_ms
        callback_url = url if wants and url is not None else ""
        batch = len(destinations) > 1
        messages = []
        total = 0
        for destination, connector, price in routes:
            charge = price * segments
            total += charge
            messages.append(
                Message(
                    account.id, destination, sender, kind, content, segments, charge, at, expires, state, connector,
                    wants, callback_url, None if batch else reference, 0, scheduled,
                )
            )  # fmt: skip
        if total > limits.MAX_CHARGE:
            problem = f"This costs {format_credits(total)}, more than one request may; is the price right?"
            raise invalid("to", problem)
        accept = Accept(account.id, messages, total, now, scheduled, batch, reference)
        if reference is not None:
            accept.fingerprint = _fingerprint(destinations, sender, content, kind, wants, fields, text)
        return accept

    async def replay(self, view: AccountView, fields: Fields, version: int, fault: Fault) -> Accept:
        """The first result, when the request was accepted before under its reference; else raises the fault.

        For a request that is refused now: what was accepted once is valid but for what has changed since (its time
        is past, its route is gone, the account is over its rate).
        """
        fingerprint = self.fingerprint(view, fields, version)
        if fingerprint is None:
            raise fault
        found = await self._store.replayed(view.account.id, cast("str", _reference(fields)))
        if found is None or found[0] != fingerprint:
            raise fault
        return found[1]

    def fingerprint(self, view: AccountView, fields: Fields, version: int) -> bytes | None:
        """What tells one request from another, where it has a reference and its fields can be read; else None.

        None too for one that its version of the API takes at no time, though another may have taken it before.
        """
        if fields.reference is None:
            return None
        try:
            kind = _kind_or_none(fields)
            if kind is None or _reference(fields) is None:
                return None
            destinations = _split_destinations(fields)
            if type(fields.sender) is not str or not isinstance(fields.dlr_url, str | None):
                return None
            wants = _wants(fields)
            text = time_text(fields.time, fields.form, version)
            if version != 1 and wants and not fields.dlr_url:
                return None
            if version != 1 and phone.sender_problem(fields.sender, msisdn_allowed=False) is not None:
                return None
            return _fingerprint(destinations, fields.sender, _content(view, fields), kind, wants, fields, text)
        except Fault:
            return None

    def pace(self, view: AccountView, messages: int, now: float) -> None:
        """Counts messages against the account's rate; raises Fault (429) where it is exceeded.

        `now` is in seconds of a monotonic clock. A second's worth may go at once. A request for more than that goes
        too, and holds up what follows until its messages would have gone one by one.
        """
        rate = view.account.rate
        if rate <= 0:
            return
        pace = self._paces.get(view.account.id)
        if pace is None:
            pace = self._paces[view.account.id] = _Pace(rate, now)
        wait = pace.take(rate, messages, now)
        if wait > 0:
            problem = f"The account may send {rate:g} messages a second; send this one again a little later."
            raise Fault(TOO_EARLY, problem, None, max(1, ceil(wait)))

    def expiry(self, at: int) -> int:
        """When the validity of a message that is due at `at` ends."""
        return at + self._rules.validity_ms

    def scheduled_time(self, view: AccountView, text: str, now: int) -> int:
        """A future `time`, in ms. Raises Fault."""
        try:
            if len(text) > TIME_CHARS:
                raise invalid("time", f"The time {shown(text)} is too long to be one.")
            at = calendar.parse_time(_decimal(text) if type(text) is Number else text, view.zone)
            calendar.check_future(at, now, self._rules.horizon_days)
        except calendar.TimeProblem as problem:
            raise invalid("time", str(problem)) from None
        return at

    def _destinations(self, view: AccountView, fields: Fields) -> tuple[list[str], list[tuple[str, int, int]]]:
        """The destinations in the order given, without repeats; and again with the connector and price of each."""
        destinations = _split_destinations(fields)
        most = self._rules.max_destinations
        if len(destinations) > most:
            raise invalid("to", f"There are {len(destinations)} destinations; one request may name {most}.")
        bad = [number for number in destinations if not phone.is_destination(number)]
        if bad:
            raise _bad_destinations(bad, len(destinations))
        routes = []
        route, price = self._directory.route, view.price
        for number in destinations:
            connector, charge = route(number), price(number)
            if connector is None or charge is None:
                bad.append(number)
            else:
                routes.append((number, connector, charge))
        if bad:
            numbers = ", ".join(bad)
            raise invalid("to", f"No route or no price covers {numbers}; leave it out or ask the operator for it.")
        return destinations, routes

    def _segments(self, content: str, kind: Kind) -> int:
        if kind is Kind.BINARY and (problem := segment.hex_problem(content)) is not None:
            raise invalid("content", problem)
        count = segment.count(content, kind)[1]
        most = self._rules.max_segments
        if count > most:
            raise invalid("content", f"The content takes {count} segments; a message may have {most}. Shorten it.")
        return count

    def _url(self, fields: Fields) -> str | None:
        url = fields.dlr_url
        if url is None or (url == "" and fields.form):
            return None
        if not isinstance(url, str) or type(url) is Number:
            raise invalid("dlr-url", "The dlr-url must be a text: an absolute http or https URL.")
        if len(url) > URL_CHARS:
            raise invalid("dlr-url", f"The dlr-url is too long: {len(url)} characters, the limit is {URL_CHARS}.")
        plain = _PLAIN_URL(url)
        problem = self._url_problem(url if plain is None else plain[1])
        if problem is not None:
            raise invalid("dlr-url", problem)
        return url


class _Pace:
    """How fast one account sends. `_held` is until when earlier requests have used up what may go."""

    __slots__ = ("_bucket", "_held")

    def __init__(self, rate: float, now: float) -> None:
        self._bucket = TokenBucket(rate, max(1.0, rate))
        self._held = now

    def take(self, rate: float, messages: int, now: float) -> float:
        """0 if they may go; else how many seconds are still to wait, and nothing is counted."""
        bucket = self._bucket
        if rate != bucket.rate:
            bucket.change(now, rate, max(1.0, rate))
        if now < self._held:
            return self._held - now
        wait = bucket.ready_at(now, messages) - now
        if wait > 0:
            return wait
        beyond = messages - bucket.take(now, messages)
        if beyond:
            self._held = now + beyond / rate
        return 0.0


def shown(value: object) -> str:
    """A customer's value as an error message may repeat it."""
    text = value if isinstance(value, str) else str(value)
    return repr(text if len(text) <= SHOWN_CHARS else text[: SHOWN_CHARS - 1] + "…")


def time_text(value: Any, form: bool, version: int) -> str | None:
    """The text of a `time` field, a `Number` as it is; None where it is absent. Raises Fault, on v2 for every time."""
    if value is None or (form and value == ""):
        return None
    text = value if type(value) is Number else _text(value, "time")
    if version != 1:
        raise invalid("time", "The time is not accepted on v2, which does not schedule; send it on v1.")
    return text


def _text(value: Any, field: str) -> str:
    """The text of a field that may be a text or a number."""
    if type(value) is str:
        return value
    if type(value) is int or type(value) is Number:
        return str(value)
    raise invalid(field, f"The field {field} must be a text or a number.")


def _decimal(number: str) -> Decimal:
    """Raises TimeProblem for an exponent that is beyond all bounds."""
    try:
        return Decimal(number)
    except InvalidOperation:
        raise calendar.TimeProblem(f"The time {shown(number)} is out of range; give Unix seconds.") from None


def _split_destinations(fields: Fields) -> list[str]:
    """What `to` names, without repeats, whether or not it is a number."""
    to = fields.to
    if to is None:
        raise missing("to")
    if type(to) is str and "," not in to:
        return [to]
    if not isinstance(to, list):
        return list(dict.fromkeys(part.strip(" ") for part in _text(to, "to").split(",")))
    if not to:
        raise invalid("to", "The list of destinations is empty; name at least one.")
    texts = [_text(each, "to") for each in to]
    if fields.form:
        texts = [part.strip(" ") for text in texts for part in text.split(",")]
    return list(dict.fromkeys(texts))


def _bad_destinations(bad: list[str], of: int) -> Fault:
    problem = phone.destination_problem(bad[0]) or ""
    if of == 1:
        return invalid("to", f"{problem} It is {shown(bad[0])}.")
    numbers = ", ".join(map(shown, bad))
    return invalid("to", f"{len(bad)} of {of} destinations are bad: {numbers}. {problem}")


def _sender(view: AccountView, sender: Any, version: int) -> str:
    if sender is None:
        raise missing("from")
    if type(sender) is not str:
        raise invalid("from", "The sender must be a text.")
    problem = phone.sender_problem(sender, version == 1)
    if problem is not None:
        raise invalid("from", problem)
    if view.senders and sender not in view.senders:
        raise Fault(FORBIDDEN, "The account may not use this sender; ask the operator of the gateway.", "from")
    return sender


def _content(view: AccountView, fields: Fields) -> str:
    content = fields.content
    if content is None:
        raise missing("content")
    if type(content) is not str:
        raise invalid("content", "The content must be a text.")
    if not fields.form:
        try:
            content = decode_content(content, cast("Rule", view.account.content_decoding))
        except ValueError as problem:
            raise invalid("content", str(problem)) from None
    if not content:
        raise invalid("content", "The content is empty; give the text of the message.")
    if "\x00" in content:
        raise invalid("content", "The content has a NUL character, which no message can carry; leave it out.")
    return content


def _kind_or_none(fields: Fields) -> Kind | None:
    """The kind of `type`, or None where it is a word that is none. Raises Fault where it is no word at all."""
    value = fields.kind
    if value is None or (value == "" and fields.form):
        return Kind.TEXT
    if not isinstance(value, str) and type(value) is not int:
        return None
    return parse_kind(str(value))


DLR_WORDS: dict[str, bool] = {
    "yes": True, "true": True, "1": True, "on": True, "2": True, "3": True,
    "no": False, "false": False, "0": False, "off": False, "": False,
}  # fmt: skip
"""Every accepted text of `dlr`, in any case, and whether it asks for a receipt."""


def _wants(fields: Fields) -> bool:
    """Whether a receipt is asked for: by `dlr`, and where that is absent by a `dlr-url`, be it a good one or not."""
    value = fields.dlr
    if value is None:
        return bool(fields.dlr_url)
    if isinstance(value, bool):
        return value
    wants = DLR_WORDS.get(_text(value, "dlr").lower())
    if wants is None:
        words = ", ".join(word for word in DLR_WORDS if word)
        raise invalid("dlr", f"The dlr {shown(value)} is unknown; give one of {words}.")
    return wants


def _reference(fields: Fields) -> str | None:
    value = fields.reference
    if value is None or (value == "" and fields.form):
        return None
    text = _text(value, "reference")
    if not text:
        raise invalid("reference", "The reference is empty; leave it out or give one.")
    if len(text) > REFERENCE_CHARS:
        problem = f"The reference is too long: {len(text)} characters, the limit is {REFERENCE_CHARS}."
        raise invalid("reference", problem)
    if not text.isprintable():
        raise invalid("reference", "The reference has a character that cannot be printed; leave it out.")
    return text


def _fingerprint(
    destinations: list[str], sender: str, content: str, kind: Kind, wants: bool, fields: Fields, time: str | None
) -> bytes:
    """SHA-256 over the decoded fields. Each is written with its length, so that no two requests are written alike."""
    parts = [
        ",".join(destinations), sender, content, str(int(kind)), str(int(wants)), fields.dlr_url or "", time or "",
    ]  # fmt: skip
    digest = hashlib.sha256()
    for part in parts:
        octets = part.encode()
        digest.update(b"%d:" % len(octets) + octets)
    return digest.digest()


_URL = re.compile(r"[!-~]+").fullmatch
_NETLOC = re.compile(r"([A-Za-z0-9._-]{1,253}|\[[0-9A-Fa-f:.]+\])(?::([0-9]{0,5}))?").fullmatch
_URL_RULE = "give an absolute http or https URL, such as https://example.com/receipts"


_PLAIN_URL = re.compile(
    r"(https?://[A-Za-z0-9.-]+(?::[0-9]{1,5})?)"
    r"(?:/[A-Za-z0-9/._~!$&'()*+,;=:-]*)?(?:\?[A-Za-z0-9/._~!$&'()*+,;=:?-]*)?"
).fullmatch
"""A URL of which nothing but its origin, the first group, can be wrong. Those of one customer differ in the rest."""


def _split_url(url: str) -> tuple[str | None, str]:
    """What is wrong with a callback URL, or None; and its host, without brackets."""
    if _URL(url) is None:
        return f"The dlr-url has characters that a URL cannot have; {_URL_RULE}.", ""
    try:
        parts = urlsplit(url)
    except ValueError:
        return f"The dlr-url cannot be read; {_URL_RULE}.", ""
    if parts.scheme not in ("http", "https"):
        return f"The dlr-url is not http or https; {_URL_RULE}.", ""
    if "@" in parts.netloc:
        return "The dlr-url must not carry a user name or password.", ""
    if "#" in url:
        return "The dlr-url must not have a fragment (#).", ""
    where = _NETLOC(parts.netloc)
    if where is None or (where[2] and not 0 < int(where[2]) < 65536):
        return f"The dlr-url has no host or port that can be reached; {_URL_RULE}.", ""
    return None, where[1].strip("[]")
