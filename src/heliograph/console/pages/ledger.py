"""The ledger of an account: entries of a kind or a time, and statements as CSV."""

from collections.abc import AsyncGenerator
from dataclasses import replace

from heliograph.admin_api.request import parse_key
from heliograph.app.configuration import LedgerQuery
from heliograph.app.records import Scope
from heliograph.app.resources.desk import Desk, account_of
from heliograph.console.files import ROWS_AT_ONCE, file_of
from heliograph.console.request import (
    FormProblem,
    Mistake,
    PageRequest,
    PageResponse,
    PageRoute,
    csv_file,
    minute_of,
    problem_of,
)
from heliograph.domain.calendar import format_utc
from heliograph.domain.csv_lines import csv_line
from heliograph.domain.money.amounts import EntryKind, format_credits

PATH = "/accounts/{name}/ledger"
PAGE = 50
KINDS = {kind.label: kind for kind in EntryKind}
COLUMNS = ("time", "entry", "amount", "balance", "note")
ASKED = ("kind", "start", "end")


async def show(request: PageRequest) -> PageResponse:
    name = request.path["name"]
    account, _ = await account_of(request.desk.store, name)
    problem: FormProblem | None = None
    page = None
    try:
        query = _query(request)
        page = await request.desk.store.accounts.statement(account.id, query)
    except Mistake as mistake:
        problem = problem_of(mistake)
    balances: list[int | None] = []
    balance = None if page is None else page.balance
    for entry in () if page is None else page.entries:
        balances.append(balance)
        balance = None if balance is None else balance - entry.amount
    return request.page(
        "ledger.html",
        status=200 if problem is None else 400,
        name=name,
        balance=await request.desk.store.customers.balance(account.id),
        page=page,
        balances=balances,
        kinds=list(KINDS),
        query=request.query,
        asked={each: request.query[each] for each in ASKED if request.query.get(each)},
        problem=problem,
    )


async def download(request: PageRequest) -> PageResponse:
    name = request.path["name"]
    query = _query(request)
    account, _ = await account_of(request.desk.store, name)
    asked = {each: request.query[each] for each in ASKED if request.query.get(each)}
    await request.desk.note("account.statement", name, asked)
    return csv_file(f"statement-{name}.csv", statement_file(request.desk, account.id, replace(query, before=None)))


async def statement_file(desk: Desk, account: int, query: LedgerQuery) -> AsyncGenerator[bytes]:
    """Yields the lines of a statement, the newest entry first. `balance` is the balance after the entry, and empty if
    entries are of a single kind."""
    balance: int | None = None

    async def fetch(cursor: int | None) -> tuple[list[bytes], int | None]:
        nonlocal balance
        page = await desk.store.accounts.statement(account, replace(query, limit=ROWS_AT_ONCE, before=cursor))
        balance = page.balance if cursor is None else balance
        lines = []
        for entry in page.entries:
            shown = "" if balance is None else format_credits(balance)
            lines.append(
                csv_line(format_utc(entry.at), entry.kind.label, format_credits(entry.amount), shown, entry.note)
            )
            balance = None if balance is None else balance - entry.amount
        return lines, page.more

    async for piece in file_of(COLUMNS, fetch):
        yield piece


def _query(request: PageRequest) -> LedgerQuery:
    """Raises Fault."""
    asked = request.query
    end = minute_of(asked.get("end", ""), "end")
    return LedgerQuery(
        PAGE,
        parse_key(asked.get("before", "")),
        max(0, minute_of(asked.get("start", ""), "start") or 0),
        None if end is None else max(0, end + 59_999),
        KINDS.get(asked.get("kind", "")),
    )


PAGES = (
    PageRoute("GET", PATH, Scope.READ_ACCOUNTS, show),
    PageRoute("GET", f"{PATH}.csv", Scope.READ_ACCOUNTS, download, exports=True),
)
