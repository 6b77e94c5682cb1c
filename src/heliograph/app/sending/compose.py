"""Composing: turns a request's fields into messages to store and charge.

Fields are checked in the order of the API guide: `to`, `from`, `content`, `time`, `type`, `dlr`, `dlr-url`,
`reference`, then `app.sending.optional_fields`. The error names the first wrong field, for example `to`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from typing import Any, Final, NoReturn

from heliograph.app.configuration import Account
from heliograph.app.facts import Accept, Message
from heliograph.app.ports.accounts import SUBMISSION_PREFIX
from heliograph.app.ports.sending_lists import LIST_PREFIX
from heliograph.app.routing.candidates import RouteRequest
from heliograph.app.sending.callback_url import CallbackUrls, ForbiddenHost, ForbiddenPort, any_port
from heliograph.app.sending.directory import AccountView, Directory
from heliograph.app.sending.fields import SEGMENT_CHARS, TIME_CHARS, Fields, shown
from heliograph.app.sending.fingerprint import fingerprint
from heliograph.app.sending.number import Number
from heliograph.app.sending.optional_fields import (
    LEAST_VALIDITY_S,
    SECONDS,
    VALIDITY,
    OptionalFields,
    read_optional_fields,
)
from heliograph.app.sending.principal import Principal
from heliograph.domain import calendar
from heliograph.domain.error import FORBIDDEN, MISSING, Fault, Reason, invalid, missing
from heliograph.domain.limits import defaults
from heliograph.domain.limits.defaults import REFERENCE_CHARS
from heliograph.domain.limits.gate import judge_destinations, judge_sender, require
from heliograph.domain.message.extras import Tlv, extras_of_esme, read_extras
from heliograph.domain.message.state import Kind, State
from heliograph.domain.message.way import Way
from heliograph.domain.money.amounts import format_credits
from heliograph.domain.numbers import phone
from heliograph.domain.numbers.country import country_of
from heliograph.domain.text import segment
from heliograph.domain.text.inbound import REPLY_PREFIX
from heliograph.domain.text.preparation import plain
from heliograph.domain.text.repertoire import PLAIN, Repertoire
from heliograph.domain.text.segment import Split

Routes = list[tuple[str, int, int, str]]
"""Destinations, each with its connector, the price of a segment, and the network that decided about both."""

_RESERVED: Final = {
    SUBMISSION_PREFIX: "the SMPP server",
    LIST_PREFIX: "the console's lists",
    REPLY_PREFIX: "replies to phones",
}
"""Owners of references with these beginnings. A customer's request with such a reference would be taken for theirs."""

_NO_OPTIONAL_FIELDS: Final = OptionalFields()

_SMART = (Kind.TEXT, Kind.FLASH)
"""Kinds of which typographic signs may be replaced."""


@dataclass(frozen=True, slots=True)
class SendRules:
    """The settings that sending goes by."""

    max_destinations: int = defaults.MAX_DESTINATIONS
    max_segments: int = defaults.MAX_SEGMENTS
    horizon_days: int = defaults.HORIZON_DAYS
    validity_ms: int = defaults.VALIDITY_HOURS * 3_600_000


class Composer:
    """Checks fields, routes and prices; changes nothing."""

    def __init__(
        self,
        directory: Directory,
        is_forbidden_host: ForbiddenHost,
        rules: SendRules,
        is_forbidden_port: ForbiddenPort = any_port,
    ) -> None:
        """`is_forbidden_host` returns why callbacks may not go to a host, as far as its text shows, or None.
        `is_forbidden_port` does the same for a port.
        """
        self.directory = directory
        self._rules = rules
        self.callback_urls = CallbackUrls(is_forbidden_host, is_forbidden_port)

    def compose(self, who: Principal, fields: Fields, now: int) -> Accept:
        """Returns the request to store and charge, complete but for its keys. Raises Fault."""
        if fields.unreadable is not None:
            self._refuse(who, fields, fields.unreadable, now)
        account = who.view.account
        destinations, routes = self._destinations(who.view, fields)
        sender = _sender(who, fields.sender)
        directory = self.directory
        rules = directory.sender_rules
        senders = [sender] * len(destinations) if rules is None else self._senders(sender, destinations)
        fitting = directory.templates is not None and self._needs_template(who, senders, fields.kind, routes)
        optional, wrong_optional = (None, None) if fields.given is None else _optional_fields(fields)
        texts = self._texts(account, fields, fields.kind, routes, optional)
        attached = self._attached(who, senders, routes, texts) if fitting else None
        at = now if fields.time is None else self._due(who, fields.time, now)
        wants, way, callback_url = self._callback(who, fields)
        reference = None if fields.reference is None else _reference(who, fields.reference)
        if wrong_optional is not None:
            raise wrong_optional
        scheduled = fields.time is not None
        state, expires = State.SCHEDULED if scheduled else State.SENT, at + self._rules.validity_ms
        if optional is not None and optional.validity is not None:
            expires = self._expires(who, optional.validity, at)
        batch = len(destinations) > 1
        extras = extras_of_esme(fields.esme) if fields.esme else ""
        if optional is not None or attached is not None:
            given = optional or _NO_OPTIONAL_FIELDS
            extras = given.extras.text() if optional is not None else extras
            for index, (_, connector, _, _) in enumerate(routes):
                given.check_tlvs(directory.tlvs(connector), attached[index] if attached is not None else ())
        messages = []
        total = 0
        for (destination, connector, price, network), sent_as, (content, segments) in zip(
            routes, senders, texts, strict=True
        ):
            charge = price * segments
            total += charge
            messages.append(
                Message(
                    account.id, destination, sent_as, fields.kind, content, segments, charge, at, expires, state,
                    connector, wants or directory.asks_receipts(connector), callback_url,
                    None if batch else reference, 0, scheduled, 0, 0, extras, way,
                    network,
                )
            )  # fmt: skip
        if total > defaults.MAX_CHARGE:
            problem = f"This costs {format_credits(total)}, more than one request may; is the price right?"
            raise invalid("to", problem)
        accept = Accept(account.id, messages, total, now, scheduled, batch, fields.replays)
        accept.asked_sender = sender
        if accept.reference is not None:
            accept.fingerprint = fingerprint(fields)
        return accept

    def scheduled_time(self, view: AccountView, text: str, now: int) -> int:
        """Returns a future `time`, in ms. Raises Fault."""
        at = self._moment(view, "time", text)
        try:
            calendar.check_future(at, now, self._rules.horizon_days)
        except calendar.TimeProblem as problem:
            raise invalid("time", str(problem)) from None
        return at

    def _moment(self, view: AccountView, field: str, text: str) -> int:
        """Returns a time in ms. Raises Fault."""
        if len(text) > TIME_CHARS:
            raise invalid(field, f"The {field} {shown(text)} is too long to be a time.")
        try:
            return calendar.parse_time(_decimal(text) if type(text) is Number else text, view.zone)
        except calendar.TimeProblem as problem:
            raise invalid(field, str(problem)) from None

    def _destinations(self, view: AccountView, fields: Fields) -> tuple[list[str], Routes]:
        """Returns the destinations; and again with the connector, price and network of each. Raises Fault."""
        destinations = fields.to
        if not destinations:
            raise missing("to")
        most = self._rules.max_destinations
        if len(destinations) > most:
            raise invalid("to", f"There are {len(destinations)} destinations; one request may name {most}.")
        bad = [number for number in destinations if not phone.is_destination(number)]
        if bad:
            raise _bad_destinations(bad, len(destinations))
        routes = []
        directory, price = self.directory, view.tariff.price
        route, knows_networks, network = directory.route, directory.knows_networks, ""
        sender, rules = fields.sender or "", directory.sender_rules
        request = RouteRequest(view.account.id, "", sender)
        for number in destinations:
            if knows_networks:
                request.network = network = directory.network(number)
            charge = price(number, network)
            request.destination, request.price = number, charge or 0
            if rules is not None:
                request.sender = rules.sent_as(number, sender)
            connector = route(request)
            if connector is None or charge is None:
                bad.append(number)
            else:
                routes.append((number, connector, charge, network))
        if bad:
            raise self._unroutable(view, bad, request)
        policy = view.policy
        if policy is not None and policy.prefixes:
            require(judge_destinations(policy, destinations))
        return destinations, routes

    def unknown_numbers(self, view: AccountView, fields: Fields) -> Sequence[str]:
        """Returns the destinations that a server must be asked about before `compose`, out of those that the account
        can pay for. If networks have prices, a number without a price may have the price of the network that the server
        answers."""
        ported, to = self.directory.ported, fields.to
        if ported is None or not to or len(to) > self._rules.max_destinations:
            return ()
        tariff = view.tariff
        is_any = tariff.names_networks
        return ported.unknown(
            [each for each in to if phone.is_destination(each) and (is_any or tariff.price(each, "") is not None)]
        )

    def _unroutable(self, view: AccountView, bad: list[str], request: RouteRequest) -> Fault:
        """Returns the fault of destinations without a route or price, or else below the plan's margin."""
        uncovered = []
        for number in bad:
            request.destination, request.network = number, self.directory.network(number)
            if view.tariff.price(number, request.network) is None or not self.directory.candidates(request):
                uncovered.append(number)
        if uncovered:
            numbers = ", ".join(uncovered)
            problem = f"No route or no price covers {numbers}; leave it out or ask the operator for it."
            return invalid("to", problem, Reason.NO_ROUTE)
        problem = f"No connector takes messages to {', '.join(bad)} at the price of the account"
        return invalid("to", f"{problem}; leave it out or ask the operator for another price.", Reason.MARGIN)

    def _texts(
        self, account: Account, fields: Fields, kind: Kind | None, routes: Routes, optional: OptionalFields | None
    ) -> list[tuple[str, int]]:
        """Returns the content for each route, and its segments; these are not counted where the kind is not known.
        Raises Fault."""
        content = _content(fields.content, kind, self._rules.max_segments)
        if kind is None:
            return [(content, 0)]
        smart = account.smart == "on" and kind in _SMART and not content.isascii()
        segments = segment.count(content, kind)[1]
        texts = []
        of_connectors: dict[int, tuple[str, int]] = {}
        for _, connector, _, _ in routes:
            found = of_connectors.get(connector)
            if found is None:
                repertoire = self.directory.repertoire(connector)
                if repertoire is PLAIN and optional is None and not smart and segments <= self._rules.max_segments:
                    found = content, segments
                else:
                    text = _plainer(content, kind, repertoire) if smart else content
                    found = text, self._count(text, kind, repertoire, optional)
                of_connectors[connector] = found
            texts.append(found)
        return texts

    def _senders(self, sender: str, destinations: Sequence[str]) -> list[str]:
        """Returns the sender for each destination: another sender if a rule of its country replaces it. Raises
        Fault."""
        rules = self.directory.sender_rules
        if rules is None:
            return [sender] * len(destinations)
        refused = [number for number in destinations if rules.refuses(number, sender)]
        if refused:
            countries = ", ".join(sorted({country_of(number) for number in refused}))
            problem = f"The sender {shown(sender)} is not allowed for numbers of {countries}; use another sender."
            raise Fault(FORBIDDEN, problem, "from", reason=Reason.SENDER_COUNTRY)
        return [rules.sent_as(number, sender) for number in destinations]

    def _needs_template(self, who: Principal, senders: list[str], kind: Kind | None, routes: Routes) -> bool:
        """Returns whether the content must fit a template over one of these connectors. Raises Fault."""
        templates = self.directory.templates
        if templates is None or not who.door.needs_templates:
            return False
        connectors: dict[str, list[int]] = {}
        for sender, (_, connector, _, _) in zip(senders, routes, strict=True):
            connectors.setdefault(sender, []).append(connector)
        needs = False
        for sender, over in connectors.items():
            needs = templates.required(who.view.account.id, sender, kind, over) or needs
        return needs

    def _attached(
        self, who: Principal, senders: list[str], routes: Routes, texts: list[tuple[str, int]]
    ) -> list[tuple[Tlv, ...]]:
        """Returns the TLVs of the templates that the texts fit. Raises Fault where a text fits none."""
        templates = self.directory.templates
        if templates is None:
            return []
        connectors, contents = [connector for _, connector, _, _ in routes], [content for content, _ in texts]
        return templates.tlvs(who.view.account.id, senders, connectors, contents)

    def _count(self, content: str, kind: Kind, repertoire: Repertoire, optional: OptionalFields | None = None) -> int:
        """Returns the segments that the content takes in an operator's alphabets. Raises Fault."""
        encoding, count = segment.count(content, kind, repertoire, optional.extras.elements if optional else b"")
        most = self._rules.max_segments
        if optional is not None and optional.is_one_part and count > 1:
            problem = f"With this udh the content must fit into one short message, and takes {count}"
            raise invalid("content", f"{problem}: the udh numbers parts itself, or leaves them no room. Shorten it.")
        if count <= most:
            return count
        if encoding is segment.count(content, kind)[0]:
            raise invalid("content", f"The content takes {count} segments; a message may have {most}. Shorten it.")
        problem = (
            f"The operator's alphabet lacks letters of the content, which takes {count} segments as {encoding.label}"
        )
        raise invalid("content", f"{problem}; a message may have {most}. Shorten it.")

    def split(self, message: Message) -> Split:
        """Returns how the content of a composed message goes over the air."""
        elements = read_extras(message.extras).elements
        repertoire = self.directory.repertoire(message.connector)
        return segment.split(message.content, message.kind, segment.HEADER_OCTETS, repertoire, elements)

    def _expires(self, who: Principal, validity: Any, at: int) -> int:
        """Returns when the validity of a message that is due at `at` ends, given as seconds or as a time. Raises
        Fault."""
        longest = self._rules.validity_ms
        if validity is None:
            return at + longest
        text = str(validity)
        ends = at + int(float(text) * 1000) if SECONDS(text) else self._moment(who.view, VALIDITY, text)
        if not at + LEAST_VALIDITY_S * 1000 <= ends <= at + longest:
            bounds = f"from {LEAST_VALIDITY_S} seconds to {longest // 1000} seconds after it is due"
            raise invalid(VALIDITY, f"The validity {shown(text)} is out of range: {bounds}.")
        return ends

    def _due(self, who: Principal, time: str | None, now: int) -> int:
        """Returns when the message is to be sent, in ms. Raises Fault."""
        if time is None:
            return now
        if not who.door.schedules:
            problem = f"The time is not accepted on {who.door.name}, which does not schedule; send it on v1."
            raise invalid("time", problem)
        return self.scheduled_time(who.view, time, now)

    def _callback(self, who: Principal, fields: Fields) -> tuple[bool, Way, str]:
        """Returns whether a receipt is wanted, its way, and its URL. For example, `(True, Way.NONE, "")` is a receipt
        that is only recorded. Raises Fault."""
        wants, url, way = fields.wants_receipt, fields.url, who.door.way
        if way is not Way.WEBHOOK:
            return wants, way if wants else Way.NONE, ""
        if url is not None:
            self.callback_urls.check(url)
        elif wants:
            if not who.door.default_callback:
                problem = "The field dlr-url is missing; with dlr it says where the receipt goes."
                raise Fault(MISSING, problem, "dlr-url")
            url = who.view.account.callback_url
        return (True, way, url) if wants and url else (wants, Way.NONE, "")

    def _refuse(self, who: Principal, fields: Fields, unreadable: dict[str, Fault], now: int) -> NoReturn:
        """Raises the first fault of a request of which some fields could not be read, in the order of the guide."""
        kind = None if "type" in unreadable else fields.kind
        routes = [] if "to" in unreadable else self._destinations(who.view, fields)[1]
        numbers = [number for number, *_ in routes]

        def check_sender() -> bool:
            return self._needs_template(who, self._senders(_sender(who, fields.sender), numbers), kind, routes)

        def check_content() -> None:
            texts = self._texts(who.view.account, fields, kind, routes, _optional_fields(fields)[0])
            if "from" not in unreadable and check_sender():
                self._attached(who, self._senders(_sender(who, fields.sender), numbers), routes, texts)

        checks: tuple[tuple[str, Callable[[], object]], ...] = (
            ("to", lambda: None),
            ("from", check_sender),
            ("content", check_content),
            ("time", lambda: self._due(who, fields.time, now)),
            ("type", lambda: None),
            ("dlr", lambda: None),
            ("dlr-url", lambda: self._callback(who, fields)),
            ("reference", lambda: _reference(who, fields.reference)),
        )
        for name, check in checks:
            if name in unreadable:
                raise unreadable[name]
            check()
        raise next(iter(unreadable.values()))


def _bad_destinations(bad: list[str], of: int) -> Fault:
    problem = phone.destination_problem(bad[0]) or ""
    if of == 1:
        return invalid("to", f"{problem} It is {shown(bad[0])}.")
    numbers = ", ".join(map(shown, bad))
    return invalid("to", f"{len(bad)} of {of} destinations are bad: {numbers}. {problem}")


def _sender(who: Principal, sender: str | None) -> str:
    if sender is None:
        raise missing("from")
    problem = phone.sender_problem(sender, who.door.numeric_senders)
    if problem is not None:
        raise invalid("from", problem)
    policy = who.view.policy
    if policy is not None and policy.senders is not None:
        require(judge_sender(policy, sender))
    return sender


def _decimal(number: str) -> Decimal:
    """Raises TimeProblem for an exponent that is beyond all bounds."""
    try:
        return Decimal(number)
    except InvalidOperation:
        raise calendar.TimeProblem(f"The time {shown(number)} is out of range; give Unix seconds.") from None


def _content(content: str | None, kind: Kind | None, most: int) -> str:
    if content is None:
        raise missing("content")
    if len(content) > most * SEGMENT_CHARS:
        too_long = f"The content is too long: {len(content):,} characters; a message may have {most} segments."
        raise invalid("content", f"{too_long} Shorten it.")
    if not content:
        raise invalid("content", "The content is empty; give the text of the message.")
    if "\x00" in content:
        raise invalid("content", "The content has a NUL character, which no message can carry; leave it out.")
    if kind is Kind.BINARY and (problem := segment.hex_problem(content)) is not None:
        raise invalid("content", problem)
    return content


def _plainer(content: str, kind: Kind, repertoire: Repertoire) -> str:
    """Returns the content with plain signs for typographic ones, if it then takes fewer segments."""
    plainer = plain(content)
    if segment.count(plainer, kind, repertoire)[1] < segment.count(content, kind, repertoire)[1]:
        return plainer
    return content


def _optional_fields(fields: Fields) -> tuple[OptionalFields | None, Fault | None]:
    """Returns the optional fields of a request, if any, or their fault, which is raised after all others."""
    if fields.given is None:
        return None, None
    try:
        optional = read_optional_fields(fields.given, fields.kind, wants_receipt=fields.wants_receipt)
    except Fault as fault:
        return None, fault
    if fields.esme:
        optional.extras = replace(optional.extras, esme=fields.esme)
    return optional, None


def _reference(who: Principal, reference: str | None) -> str | None:
    if reference is None:
        return None
    if not reference:
        raise invalid("reference", "The reference is empty; give a reference or leave it out.")
    if len(reference) > REFERENCE_CHARS:
        problem = f"The reference is too long: {len(reference)} characters, the limit is {REFERENCE_CHARS}."
        raise invalid("reference", problem)
    if not reference.isprintable():
        raise invalid("reference", "The reference has a character that cannot be printed; leave it out.")
    for prefix, owner in _RESERVED.items():
        if reference.startswith(prefix) and prefix != who.door.own_prefix:
            raise invalid("reference", f"The reference begins with {prefix}, as those of {owner} do.")
    return reference
