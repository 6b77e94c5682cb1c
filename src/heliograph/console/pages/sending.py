"""Send: a text to a number or a list, with its price before it is sent."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from heliograph.app.facts import Verdict
from heliograph.app.records import AuditQuery, Scope
from heliograph.app.sending.directory import AccountView
from heliograph.app.sending.fields import Fields, shown
from heliograph.app.sending.principal import Principal
from heliograph.console import recipients, sent_lists
from heliograph.console.request import FormProblem, Mistake, PageRequest, PageResponse, PageRoute, csv_file, problem_of
from heliograph.console.sent_lists import CONSOLE, ListRow, ListRun
from heliograph.domain.error import NOT_FOUND, Fault, invalid
from heliograph.domain.message.state import KIND_WORDS, Kind, parse_kind
from heliograph.domain.numbers.phone import number_of
from heliograph.domain.text import segment

SHOWN = 8
"""Rows of a list that the preview shows."""

TOLD = 20
"""Different problems that are told."""

SETTLES_MS = 10_000
"""Milliseconds after its end for which the page of a list looks for held messages. The guard needs half of that."""

LISTS = 8
"""Lists that the page shows, the latest ones."""

BEYOND: Final = {
    Verdict.TOO_LITTLE_CREDIT: "beyond the credit",
    Verdict.DAILY_MESSAGES: "beyond the account's messages of a day (daily_messages)",
    Verdict.DAILY_SPEND: "beyond the account's credits of a day (daily_spend)",
    Verdict.WAITING: "beyond the messages that may wait at once (max_waiting)",
}
"""Why messages would be refused, for the preview."""

KINDS = ("text", "unicode", "flash", "binary")


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

    def fields(self, order: ListRow) -> Fields:
        return replace(self.template, to=[order.number], content=order.text)


async def form(request: PageRequest, problem: FormProblem | None = None) -> PageResponse:
    accounts = [account for account, _ in await request.desk.store.accounts.all() if not account.suspended]
    jobs = request.jobs.all()[:LISTS]
    known = {job.id for job in jobs}
    entries = await request.desk.store.audit_log.find(AuditQuery(LISTS, action="message.send"))
    lists = [found for found in map(sent_lists.earlier, entries) if found is not None and found.id not in known]
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
        jobs=jobs,
        earlier=lists[: LISTS - len(jobs)],
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
        "personal": bool(recipients.columns_in(text)),
    }
    if text and not (kind is Kind.BINARY and segment.hex_problem(text)):
        encoding, told["segments"] = segment.count(text, kind)
        told["encoding"] = encoding.label
    if not text or not values.get("account") or not values.get("recipients", "").strip():
        return told
    try:
        draft = await _draft(request, values)
        told["recipients"] = len(draft.table.rows)
        if told["recipients"] <= SHOWN:
            _quote_each(request, draft, told)
        else:
            told["first"] = _compose(request, draft, next(draft.orders())).total
    except Mistake as mistake:
        told["problem"] = problem_of(mistake).text
    return told


def _quote_each(request: PageRequest, draft: Draft, told: dict[str, Any]) -> None:
    """The price of the rows that can be sent, the most segments of a row, and the problem of the first of the
    others."""
    for order in draft.orders():
        try:
            accept = _compose(request, draft, order)
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
    try:
        table = recipients.read(values.get("recipients", ""))
    except recipients.Unreadable as problem:
        raise invalid("recipients", str(problem)) from None
    place = values.get("column", "")
    number = int(place) if place.isdigit() and int(place) < len(table.columns) else table.guess()
    template = Fields(
        sender=values.get("sender", ""),
        content=values.get("content", ""),
        time=_time(values.get("time", "")) or None,
        kind=_kind(values.get("kind", "")),
        wants_receipt=bool(values.get("receipt")),
    )
    unknown = [name for name in recipients.columns_in(str(template.content)) if name not in table.columns]
    if unknown and not table.plain:
        raise invalid(
            "content",
            f"The text names {{{unknown[0]}}}, which is no column; there are "
            + ", ".join(f"{{{name}}}" for name in table.columns),
        )
    return Draft(view, table, number, template)


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


async def preview(request: PageRequest) -> PageResponse:
    draft = await _draft(request, request.form)
    rehearsal = await request.services.sending.rehearse(Principal(draft.account, CONSOLE))
    total, good, spent = 0, 0, 0
    beyond: Counter[Verdict] = Counter()
    problems: dict[str, int] = {}
    rows: list[dict[str, Any]] = []
    field = ""
    for order in draft.orders():
        row: dict[str, Any] = {"number": order.number, "text": order.text, "segments": 0, "price": None, "problem": ""}
        try:
            accept = rehearsal.send(draft.fields(order))
        except Fault as fault:
            row["problem"] = fault.message
            field = field or fault.field or ""
            if fault.message in problems or len(problems) < TOLD:
                problems[fault.message] = problems.get(fault.message, 0) + 1
        else:
            row["segments"], row["price"] = accept.messages[0].segments, accept.total
            total += accept.total
            good += 1
            if accept.verdict in (Verdict.ACCEPTED, Verdict.TOO_LITTLE_CREDIT):
                spent += accept.total
            if accept.verdict is not Verdict.ACCEPTED:
                beyond[accept.verdict] += 1
        if len(rows) < SHOWN:
            rows.append(row)
    if not good and len(problems) == 1 and field in ("sender", "from", "content", "time", "type", "dlr"):
        return await form(request, FormProblem(next(iter(problems)), "sender" if field == "from" else field))
    balance = await request.desk.store.customers.balance(draft.account.account.id)
    return request.page(
        "send_preview.html",
        values=request.form,
        draft=draft,
        rows=rows,
        good=good,
        bad=len(draft.table.rows) - good,
        problems=problems,
        total=total,
        balance=balance,
        left=balance + draft.account.account.credit_limit - spent,
        beyond=[(BEYOND[verdict], count) for verdict, count in beyond.items()],
        refused=beyond.total(),
    )


async def start(request: PageRequest) -> PageResponse:
    draft = await _draft(request, request.form)
    job = ListRun(
        request.services.secrets.octets(6).hex(),
        request.actor.name,
        draft.account.account.name,
        draft.template,
        list(draft.orders()),
        request.now,
    )
    try:
        request.jobs.reserve(job)
    except OverflowError as problem:
        return await form(request, FormProblem(f"{str(problem).capitalize()}; wait for one to end."))
    # first of all: by this line, and by their references, its messages are found if the gateway ends amid the list
    details = {"account": job.account, "messages": str(job.total)}
    try:
        await request.desk.note("message.send", f"list {job.id}", details)
    except BaseException:
        request.jobs.forget(job)
        raise
    request.jobs.start(job)
    return request.go(f"/send/lists/{job.id}")


def _job(request: PageRequest) -> ListRun:
    job = request.jobs.find(request.path["job"])
    if job is None:
        raise _unknown()
    return job


def _unknown() -> Fault:
    return Fault(NOT_FOUND, "There is no such list.")


async def _earlier(request: PageRequest) -> sent_lists.EarlierList:
    """A list that this process does not send. Raises Fault."""
    found = await sent_lists.find_earlier(request.desk, request.path["job"])
    if found is None:
        raise _unknown()
    return found


async def show_job(request: PageRequest) -> PageResponse:
    job = request.jobs.find(request.path["job"])
    if job is None:
        return request.page("send_list_earlier.html", job=await _earlier(request))
    return request.page("send_list.html", **await _facts(request, job))


async def job_live(request: PageRequest) -> PageResponse:
    return request.page("send_list_live.html", **await _facts(request, _job(request)))


async def _facts(request: PageRequest, job: ListRun) -> dict[str, Any]:
    """Returns the values of the page."""
    held = len(await request.desk.store.messages.held(job.keys))
    settled = job.ended is not None and request.now - job.ended > SETTLES_MS
    return {"job": job, "told": TOLD, "held": held, "settled": settled}


async def stop_job(request: PageRequest) -> PageResponse:
    job = _job(request)
    job.stopped = True
    await request.desk.note("message.stop-list", f"list {job.id}", {"accepted": str(job.accepted)})
    return request.go(f"/send/lists/{job.id}", "Nothing more of this list is sent.")


async def result(request: PageRequest) -> PageResponse:
    job = request.jobs.find(request.path["job"]) or await _earlier(request)
    held = await request.desk.store.messages.held(job.keys) if isinstance(job, ListRun) else set()
    return csv_file(f"messages-{job.id}.csv", b"".join(job.result(held)))


PAGES = (
    PageRoute("GET", "/send", Scope.SEND, form),
    PageRoute("POST", "/send", Scope.SEND, form),
    PageRoute("POST", "/send/quote", Scope.SEND, quote),
    PageRoute("POST", "/send/preview", Scope.SEND, preview, again=form),
    PageRoute("POST", "/send/start", Scope.SEND, start, again=form),
    PageRoute("GET", "/send/lists/{job}", Scope.SEND, show_job),
    PageRoute("GET", "/send/lists/{job}/live", Scope.SEND, job_live),
    PageRoute("POST", "/send/lists/{job}/stop", Scope.SEND, stop_job),
    PageRoute("GET", "/send/lists/{job}/result", Scope.SEND, result),
)
