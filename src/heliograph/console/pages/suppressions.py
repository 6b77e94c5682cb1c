"""Suppressions: search, single changes, and import of a pasted list."""

import asyncio
from typing import Any

from heliograph.app.admin.csv_rows import BadLine
from heliograph.app.admin.number_list import NumberList
from heliograph.app.records import Scope
from heliograph.app.resources import suppressions
from heliograph.console.request import FormProblem, PageRequest, PageResponse, PageRoute
from heliograph.domain.display import counted
from heliograph.domain.numbers import phone
from heliograph.domain.numbers.phone import number_of

PATH = "/suppressions"
PAGE = 50
BAD_SHOWN = 20
"""The most bad lines of a pasted list that the page shows."""

MOST_PASTED = 20_000
"""The most numbers of a pasted list, so that the import takes only some seconds."""


async def show(request: PageRequest, problem: FormProblem | None = None, bad: tuple[BadLine, ...] = ()) -> PageResponse:
    accounts = await request.account_names()
    account = request.form.get("account") or request.query.get("account", "")
    if not account and len(accounts) == 1:
        account = accounts[0]
    wanted = number_of(request.query.get("q", ""))
    after = request.query.get("after", "")
    found: list[dict[str, Any]] = []
    if account:
        rows = await suppressions.find(request.desk, account, None, max(after, wanted), PAGE + 1)
        found = [row for row in rows if row["number"].startswith(wanted)]
        if not after and phone.is_destination(wanted):
            # An erased number is not in the list. Only its digest can still be found.
            found = await suppressions.find(request.desk, account, wanted, "", 1) + found
    more = found[PAGE - 1]["number"] if len(found) > PAGE else None
    return request.page(
        "suppressions.html",
        status=200 if problem is None else 400,
        accounts=accounts,
        account=account,
        query=request.query,
        found=found[:PAGE],
        more=more,
        form=request.form,
        problem=problem,
        bad=bad[:BAD_SHOWN],
        bad_more=max(0, len(bad) - BAD_SHOWN),
        most=MOST_PASTED,
    )


async def add(request: PageRequest) -> PageResponse:
    account, number = request.form.get("account", ""), number_of(request.form.get("number", ""))
    added = (await suppressions.add(request.desk, account, [suppressions.NUMBER.read(number)]))["added"]
    outcome = "is suppressed now for" if added else "was suppressed already for"
    return request.go(PATH, f"{number} {outcome} {account}.", account=account)


async def remove(request: PageRequest) -> PageResponse:
    account, number = request.form.get("account", ""), request.form.get("number", "")
    await suppressions.remove(request.desk, account, suppressions.NUMBER.read(number))
    return request.go(PATH, f"{account} may send to {number} again.", account=account)


async def paste(request: PageRequest) -> PageResponse:
    account = request.form.get("account", "")
    # in a thread: a form has room for 600,000 numbers, which are read in seconds before they are too many
    numbers = await asyncio.to_thread(lambda: NumberList(request.form.get("list", "").splitlines()))
    problem = _problem(numbers, skips="skip" in request.form)
    if problem is not None:
        return await show(request, problem, tuple(numbers.bad))
    added = 0
    for batch in numbers.batches(suppressions.BATCH):
        added += (await suppressions.add(request.desk, account, batch, imported=True))["added"]
    left_out = f", {counted(len(numbers.bad), 'line')} skipped" if numbers.bad else ""
    notice = f"{counted(added, 'number')} new, {len(numbers) - added:,} suppressed already{left_out}."
    return request.go(PATH, notice, account=account)


def _problem(numbers: NumberList, *, skips: bool) -> FormProblem | None:
    """Returns why a pasted list is not imported."""
    if len(numbers) > MOST_PASTED:
        text = f"The list has {counted(len(numbers), 'number')}; at most {MOST_PASTED:,} can be pasted."
        return FormProblem(f"{text} Nothing was imported. For longer lists, use heliograph suppression import.", "list")
    if numbers.bad and not skips:
        return FormProblem(f"{counted(len(numbers.bad), 'line')} cannot be used. Nothing was imported.", "list")
    return None if len(numbers) else FormProblem("There are no numbers. Paste numbers, each on its own line.", "list")


PAGES = (
    PageRoute("GET", PATH, Scope.READ_MESSAGES, show),
    PageRoute("POST", f"{PATH}/add", Scope.WRITE_MESSAGES, add, again=show),
    PageRoute("POST", f"{PATH}/remove", Scope.WRITE_MESSAGES, remove),
    PageRoute("POST", f"{PATH}/import", Scope.WRITE_MESSAGES, paste),
)
