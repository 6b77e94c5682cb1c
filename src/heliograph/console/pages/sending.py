"""Send: a text to a number or a list, with its price before it is sent."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, Final

from heliograph.admin_api.request import parse_key
from heliograph.app.facts import Accept, Verdict
from heliograph.app.ports.accounts import MOST_AMONG
from heliograph.app.ports.sending_lists import AlreadySent, SendingList
from heliograph.app.records import Scope
from heliograph.app.resources import sending_lists
from heliograph.app.resources.sending_lists import SENDING_LISTS
from heliograph.app.sending.directory import AccountView
from heliograph.app.sending.fields import Fields, shown
from heliograph.app.sending.principal import Principal
from heliograph.console import recipients, sent_lists
from heliograph.console.list_findings import TOLD, ListFindings
from heliograph.console.request import FormProblem, Mistake, PageRequest, PageResponse, PageRoute, csv_file, problem_of
from heliograph.console.sent_lists import BREATH, CONSOLE, LOOKED_UP, ListRow, ListRun
from heliograph.domain import calendar
from heliograph.domain.calendar import DAY_MS, format_local, format_utc
from heliograph.domain.error import Fault, invalid
from heliograph.domain.message.state import KIND_WORDS, Kind, parse_kind
from heliograph.domain.message.status import MessageStatus
from heliograph.domain.numbers.phone import is_destination, number_of
from heliograph.domain.text import segment

SHOWN = 8
"""Rows of a list that the preview shows."""

SETTLES_MS = 10_000
"""Milliseconds after its end for which the page of a list looks for held messages. The guard needs half of that."""

LEAST_REFRESH_MS = 1_500

ROWS_A_MS = 20
"""Rows of a list for each millisecond between two refreshes of its page: a long list takes longer to count."""

MAX_LIST_NAME = 80

MOST_FORM_CHARS: Final = 64
"""Characters of a form's random name. The page makes 16."""

LISTS = 8
"""Lists that the page shows, the latest ones."""

LONG_CHARS: Final = 65_536
"""Characters of recipients beyond which they are read in a thread: 8 MB take a second."""

MAX_LIST_CHARS: Final = 200_000_000
"""Characters of the texts of a list: 100,000 rows of the longest usual message have 153 million."""

BEYOND: Final = {
    Verdict.TOO_LITTLE_CREDIT: "beyond the credit",
    Verdict.DAILY_MESSAGES: "beyond the account's messages of a day (daily_messages)",
    Verdict.DAILY_SPEND: "beyond the account's credits of a day (daily_spend)",
    Verdict.WAITING: "beyond the messages that may wait at once (max_waiting)",
}
"""Why messages would be refused, for the preview."""

KINDS = ("text", "unicode", "flash", "binary")

_TOO_LONG: Final = f"The text has more than {recipients.MAX_TEXT_CHARS:,} characters; shorten it."
"""Longer texts are not counted: 8 MB would stop the event loop for a second."""


@dataclass(slots=True)
class Draft:
    """The parsed form, with the table of its recipients."""

    account: AccountView
    table: recipients.RecipientTable
    place: int
    """The column of the numbers."""
    template: Fields

    def orders(self) -> Iterator[ListRow]:
        for row in self.table.rows:
            text = recipients.fill(str(self.template.content), self.table.columns, row)
            yield ListRow(number_of(row[self.place]), text)

    def numbers(self, first: int) -> list[str]:
        """Returns the valid numbers of MOST_AMONG rows, from the index `first` on."""
        numbers = (number_of(row[self.place]) for row in self.table.rows[first : first + MOST_AMONG])
        return [number for number in numbers if is_destination(number)]

    def fields(self, order: ListRow) -> Fields:
        return replace(self.template, to=[order.number], content=order.text)


async def form(request: PageRequest, problem: FormProblem | None = None) -> PageResponse:
    accounts = [account for account, _ in await request.desk.store.accounts.all() if not account.suspended]
    values = dict(request.form) or {
        "account": request.query.get("account", ""),
        "recipients": request.query.get("to", ""),
    }
    return request.page(
        "send.html",
        status=200 if problem is None else 400,
        accounts=accounts,
        values=values,
        kinds=KINDS,
        problem=problem,
        lists=await sending_lists.views(request.desk, limit=LISTS),
        quote=await _quote(request, values),
    )


async def quote(request: PageRequest) -> PageResponse:
    """The piece with the segments and the price of the text so far."""
    return request.page("send_quote.html", quote=await _quote(request, request.form))


async def _quote(request: PageRequest, values: Mapping[str, str]) -> dict[str, Any]:
    """Encoding, segments and price of what was typed so far; the price is what sending would charge."""
    text = values.get("content", "")
    kind = parse_kind(values.get("kind", "text")) or Kind.TEXT
    told: dict[str, Any] = {
        "characters": len(text),
        "encoding": "",
        "segments": 0,
        "recipients": 0,
        "price": None,
        "first": None,
        "problem": "",
        "sent_as": set(),
        "bad": 0,
        "personal": False,
    }
    if len(text) > recipients.MAX_TEXT_CHARS:
        return told | {"problem": _TOO_LONG}
    told["personal"] = bool(recipients.columns_in(text))
    if text and not (kind is Kind.BINARY and segment.hex_problem(text)):
        encoding, told["segments"] = segment.count(text, kind)
        told["encoding"] = encoding.label
    if not text or not values.get("account") or not values.get("recipients", "").strip():
        return told
    try:
        draft = await _draft(request, values)
        told["recipients"] = len(draft.table.rows)
        if told["recipients"] <= SHOWN:
            _quote_each(request, draft, told, await _opted_out(request, draft, 0))
        else:
            told["first"] = _compose(request, draft, next(draft.orders())).total
    except Mistake as mistake:
        told["problem"] = problem_of(mistake).text
    return told


async def _opted_out(request: PageRequest, draft: Draft, first: int) -> set[str]:
    """Returns the numbers that opted out among MOST_AMONG rows, from the index `first` on."""
    return await request.desk.store.suppressions.among(draft.account.account.id, draft.numbers(first))


def _quote_each(request: PageRequest, draft: Draft, told: dict[str, Any], opted_out: set[str]) -> None:
    """The price of the rows that can be sent, the most segments of a row, and the problem of the first of the
    others."""
    for order in draft.orders():
        try:
            accept = _compose(request, draft, order)
            if order.number in opted_out:
                told["bad"] += 1
                told["problem"] = told["problem"] or f"{order.number} opted out."
                continue
            told["price"] = (told["price"] or 0) + accept.total
            message = accept.messages[0]
            if message.sender != accept.asked_sender:
                told["sent_as"].add(message.sender)
            if not told["personal"] and message.segments >= told["segments"]:
                told["segments"] = message.segments
                told["encoding"] = request.services.sending.split(message).encoding.label
        except Fault as fault:
            told["bad"] += 1
            told["problem"] = told["problem"] or fault.message


async def _draft(request: PageRequest, values: Mapping[str, str]) -> Draft:
    """Raises Fault."""
    view = await request.services.directory.fresh_account(values.get("account", ""))
    if view is None:
        raise invalid("account", "Choose the account that pays.")
    text = values.get("recipients", "")
    try:
        is_long = len(text) > LONG_CHARS
        table, guess = await asyncio.to_thread(_read_table, text) if is_long else _read_table(text)
    except recipients.Unreadable as problem:
        raise invalid("recipients", str(problem)) from None
    place = parse_key(values.get("column", ""))
    number = place if place is not None and place < len(table.columns) else guess
    template = Fields(
        sender=values.get("sender", ""),
        content=values.get("content", ""),
        time=_time(values.get("time", "")) or None,
        kind=_kind(values.get("kind", "")),
        wants_receipt=bool(values.get("receipt")),
    )
    if len(str(template.content)) > recipients.MAX_TEXT_CHARS:
        raise invalid("content", _TOO_LONG)
    unknown = [name for name in recipients.columns_in(str(template.content)) if name not in table.columns]
    if unknown and not table.plain:
        raise invalid(
            "content",
            f"The text names {{{unknown[0]}}}, which is no column; there are "
            + ", ".join(f"{{{name}}}" for name in table.columns),
        )
    return Draft(view, table, number, template)


def _read_table(text: str) -> tuple[recipients.RecipientTable, int]:
    """Returns the recipients, and the likeliest column of their numbers. Raises `recipients.Unreadable`."""
    table = recipients.read(text)
    return table, table.guess()


def _time(text: str) -> str:
    """A minute as the browser's field has it, as customers write times."""
    text = text.replace("T", " ")
    return f"{text}:00" if text.count(":") == 1 else text


def _kind(word: str) -> Kind:
    """Raises Fault."""
    kind = parse_kind(word or "text")
    if kind is None:
        raise invalid("type", f"The type {shown(word)} is unknown; give one of {', '.join(KIND_WORDS)}.")
    return kind


def _compose(request: PageRequest, draft: Draft, order: ListRow) -> Any:
    """Returns the message and the charge that sending would store. Raises Fault."""
    return request.services.sending.compose(Principal(draft.account, CONSOLE), draft.fields(order))


@dataclass(slots=True)
class ListPreview:
    """The outcome of sending the rows now."""

    findings: ListFindings
    rows: list[dict[str, Any]] = field(default_factory=list)
    """The first SHOWN rows."""
    good: int = 0
    """Rows that can be sent."""
    total: int = 0
    """Micro-credits that they cost."""
    spent: int = 0
    """The same without rows beyond a limit."""
    beyond: Counter[Verdict] = field(default_factory=Counter)

    def add(self, order: ListRow, accept: Accept | None, problem: str = "") -> None:
        """Adds a row. `accept` is None if it cannot be sent."""
        row = {"number": order.number, "text": order.text, "segments": 0, "price": None, "problem": problem}
        if accept is not None:
            row |= {"segments": accept.messages[0].segments, "price": accept.total}
            self.good += 1
            self.total += accept.total
            if accept.verdict in (Verdict.ACCEPTED, Verdict.TOO_LITTLE_CREDIT):
                self.spent += accept.total
            if accept.verdict is not Verdict.ACCEPTED:
                self.beyond[accept.verdict] += 1
        if len(self.rows) < SHOWN:
            self.rows.append(row)


async def _rehearse(request: PageRequest, draft: Draft, who: Principal) -> ListPreview:
    """Judges the rows one after the other. Acceptance judges them again, and alone decides."""
    rehearsal = await request.services.sending.rehearse(who)
    findings = ListFindings(draft.table, draft.place, str(draft.template.content))
    found, index, opted_out = ListPreview(findings), 0, set[str]()
    async for order in _unhurried(draft.orders()):
        if index % MOST_AMONG == 0:
            opted_out = await _opted_out(request, draft, index)
        index += 1
        try:
            accept = rehearsal.send(draft.fields(order), opted_out)
        except Fault as fault:
            findings.add_fault(index, fault)
            found.add(order, None, "left out")
            continue
        if accept.verdict is Verdict.SUPPRESSED:
            findings.add_opted_out(index, order.number)
            found.add(order, None, "opted out")
        else:
            findings.add_good(index, order.number)
            found.add(order, accept)
    return found


async def preview(request: PageRequest) -> PageResponse:
    draft = await _draft(request, request.form)
    sending, who = request.services.sending, Principal(draft.account, CONSOLE)
    if draft.account.tariff.names_networks:
        await sending.find_networks(who, Fields([order.number for order in islice(draft.orders(), LOOKED_UP)]))
    found = await _rehearse(request, draft, who)
    sole = "" if found.good else found.findings.sole_problem(("sender", "from", "content", "time", "type", "dlr"))
    if sole:
        of = found.findings.field
        return await form(request, FormProblem(sole, "sender" if of == "from" else of))
    balance = await request.desk.store.customers.balance(draft.account.account.id)
    return request.page(
        "send_preview.html",
        values=request.form,
        draft=draft,
        rows=found.rows,
        good=found.good,
        findings=found.findings,
        total=found.total,
        balance=balance,
        left=balance + draft.account.account.credit_limit - found.spent,
        beyond=[(BEYOND[verdict], count) for verdict, count in found.beyond.items()],
        refused=found.beyond.total(),
        form=request.services.secrets.token(12),
    )


async def start(request: PageRequest) -> PageResponse:
    draft = await _draft(request, request.form)
    orders, account = await _bounded(draft.orders()), draft.account.account
    try:
        request.lists.check_room()
    except OverflowError as problem:
        return await form(request, FormProblem(f"{str(problem).capitalize()}; wait for one to end."))
    name = " ".join(request.form.get("name", "").split())
    if len(name) > MAX_LIST_NAME:
        raise invalid("name", f"A name has up to {MAX_LIST_NAME} characters.")
    name = name or f"{draft.template.sender} {format_local(request.now, calendar.zone(request.zone))[:16]}"
    row = SendingList(0, account.id, name, request.actor.name, request.now, len(orders), reported=request.now)
    # first of all: by this row, and by their references, its messages are found if the gateway ends amid the list
    details = {"account": account.name, "messages": str(row.rows), "name": row.name}
    noted = request.desk.store.noting(lambda id: request.desk.entry("message.send", f"list {id}", details))
    try:
        row.id = await noted.sending_lists.add(row, request.form.get("form", "")[:MOST_FORM_CHARS])
    except AlreadySent as earlier:
        return request.go(f"/lists/{earlier.id}")
    request.lists.start(ListRun(row, account.name, draft.template, orders))
    return request.go(f"/lists/{row.id}")


async def _unhurried(orders: Iterable[ListRow]) -> AsyncIterator[ListRow]:
    """Yields the rows. The event loop serves others after BREATH of them: 100,000 at once would stop it for seconds."""
    for index, order in enumerate(orders):
        if index % BREATH == 0:
            await asyncio.sleep(0)
        yield order


async def _bounded(orders: Iterable[ListRow]) -> list[ListRow]:
    """Returns the rows, which stay in memory until they are sent. Raises Fault if their texts take too much."""
    kept, left = [], MAX_LIST_CHARS
    async for order in _unhurried(orders):
        left -= len(order.text)
        if left < 0:
            raise invalid("content", f"The texts have more than {MAX_LIST_CHARS:,} characters; send the list in parts.")
        kept.append(order)
    return kept


async def _view(request: PageRequest) -> sending_lists.ListView:
    """Raises NoSuch."""
    return await sending_lists.view(request.desk, parse_key(request.path["id"]) or 0)


async def show_list(request: PageRequest) -> PageResponse:
    return request.page("send_list.html", **await _facts(request))


async def list_live(request: PageRequest) -> PageResponse:
    return request.page("send_list_live.html", **await _facts(request))


async def _facts(request: PageRequest) -> dict[str, Any]:
    """Returns the values of the page."""
    view = await _view(request)
    run = request.lists.find(view.of.id)
    ended = view.of.ended or view.of.created
    moves = view.messages(MessageStatus.SUBMITTED) and request.now - ended < DAY_MS
    return {
        "view": view,
        "bar": _bar(view),
        "problems": [] if run is None else run.problems(TOLD),
        "settled": view.is_over and not moves and request.now - ended > SETTLES_MS,
        "every": max(LEAST_REFRESH_MS, view.of.rows // ROWS_A_MS),
        "start": format_utc(view.of.created)[:16],
    }


def _bar(view: sending_lists.ListView) -> list[dict[str, Any]]:
    """Returns the parts of the bar in its order: the word, the number, the position and the width in thousandths."""
    parts, position, total = [], 0.0, max(view.of.rows, 1)
    for word, number in (
        ("delivered", view.messages(MessageStatus.DELIVERED)),
        ("submitted", view.messages(MessageStatus.SUBMITTED)),
        ("failed", view.failed),
        ("held", view.messages(MessageStatus.HELD)),
        ("scheduled", view.messages(MessageStatus.SCHEDULED)),
        ("pending", view.messages(MessageStatus.PENDING)),
    ):
        width = number * 1000 / total
        if number:
            parts.append({"word": word, "number": number, "at": round(position, 1), "width": round(width, 1)})
        position += width
    return parts


def change_list(name: str) -> Callable[[PageRequest], Awaitable[PageResponse]]:
    """Returns the handler of a button of the page: pause, resume or cancel."""

    async def run(request: PageRequest) -> PageResponse:
        given = {"id": parse_key(request.path["id"]) or 0}
        answer = await request.ask(SENDING_LISTS, name, given)
        done = SENDING_LISTS.format_done(SENDING_LISTS.operation(name), given, answer)
        return request.go(f"/lists/{given['id']}", done)

    return run


async def result(request: PageRequest) -> PageResponse:
    view = await _view(request)
    details = {"account": view.account, "name": view.of.name}
    await request.desk.note("message.export", f"list {view.of.id}", details)
    found = await sent_lists.messages_of(request.desk, view.of, view.account)
    lines = sent_lists.result(request.lists.find(view.of.id), found)
    return csv_file(f"sending-list-{view.of.id}.csv", b"".join(lines))


PAGES = (
    PageRoute("GET", "/send", Scope.SEND, form),
    PageRoute("POST", "/send", Scope.SEND, form),
    PageRoute("POST", "/send/quote", Scope.SEND, quote),
    PageRoute("POST", "/send/preview", Scope.SEND, preview, again=form),
    PageRoute("POST", "/send/start", Scope.SEND, start, again=form),
    PageRoute("GET", "/lists/{id}", Scope.READ_MESSAGES, show_list),
    PageRoute("GET", "/lists/{id}/live", Scope.READ_MESSAGES, list_live),
    *(
        PageRoute("POST", f"/lists/{{id}}/{name}", Scope.WRITE_MESSAGES, change_list(name))
        for name in ("pause", "resume", "cancel")
    ),
    PageRoute("GET", "/lists/{id}/result", Scope.READ_MESSAGES, result, exports=True),
)
