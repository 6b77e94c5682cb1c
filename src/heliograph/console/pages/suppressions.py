"""Suppressions: phones that an account must not send to, and how they come there and leave."""

from typing import Any

from heliograph.app.admin.number_list import BadLine, NumberList
from heliograph.app.records import Scope
from heliograph.app.resources import suppressions
from heliograph.console.recipients import number_of
from heliograph.console.request import FormProblem, Mistake, PageRequest, PageResponse, PageRoute, problem_of
from heliograph.domain.display import counted
from heliograph.domain.numbers import phone

PATH = "/suppressions"
PAGE = 50
BAD_SHOWN = 20
"""Bad lines of a pasted list that are shown."""

MOST_PASTED = 20_000
"""Numbers of a pasted list: a page is not waited for longer than some seconds."""


async def show(
    request: PageRequest, account: str, problem: FormProblem | None = None, bad: tuple[BadLine, ...] = ()
) -> PageResponse:
    accounts = await request.account_names()
    if not account and len(accounts) == 1:
        account = accounts[0]
    wanted = number_of(request.query.get("q", ""))
    after = request.query.get("after", "")
    found: list[dict[str, Any]] = []
    if account:
        rows = await suppressions.find(request.desk, account, None, max(after, wanted), PAGE + 1)
        found = [row for row in rows if row["number"].startswith(wanted)]
        if not after and phone.is_destination(wanted):
            found = await suppressions.find(request.desk, account, wanted, "", 1) + found  # an erased one is not listed
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


async def show_page(request: PageRequest) -> PageResponse:
    return await show(request, request.query.get("account", ""))


async def add(request: PageRequest) -> PageResponse:
    account, number = request.form.get("account", ""), number_of(request.form.get("number", ""))
    try:
        added = (await suppressions.add(request.desk, account, [suppressions.NUMBER.read(number)]))["added"]
    except Mistake as mistake:
        return await show(request, account, problem_of(mistake))
    told = "gets nothing more from" if added else "was suppressed already for"
    return request.go(PATH, f"{number} {told} {account}.", account=account)


async def remove(request: PageRequest) -> PageResponse:
    account, number = request.form.get("account", ""), request.form.get("number", "")
    await suppressions.remove(request.desk, account, suppressions.NUMBER.read(number))
    return request.go(PATH, f"{account} may send to {number} again.", account=account)


async def paste(request: PageRequest) -> PageResponse:
    account = request.form.get("account", "")
    numbers = NumberList(request.form.get("list", "").splitlines())
    problem = _problem(numbers, skips="skip" in request.form)
    if problem is not None:
        return await show(request, account, problem, tuple(numbers.bad))
    added = 0
    for batch in numbers.batches(suppressions.BATCH):
        added += (await suppressions.add(request.desk, account, batch, imported=True))["added"]
    left_out = f", {counted(len(numbers.bad), 'line')} left out" if numbers.bad else ""
    notice = f"{counted(added, 'number')} new, {len(numbers) - added:,} there already{left_out}."
    return request.go(PATH, notice, account=account)


def _problem(numbers: NumberList, *, skips: bool) -> FormProblem | None:
    """Returns why a pasted list is not imported."""
    if len(numbers) > MOST_PASTED:
        text = f"At most {MOST_PASTED:,} numbers can be pasted; these are {len(numbers):,}. Nothing was imported."
        return FormProblem(f"{text} For more there is heliograph suppression import.", "list")
    if numbers.bad and not skips:
        return FormProblem(f"{counted(len(numbers.bad), 'line')} cannot be used. Nothing was imported.", "list")
    return None if len(numbers) else FormProblem("There are no numbers; paste some, one a line.", "list")


PAGES = (
    PageRoute("GET", PATH, Scope.READ_MESSAGES, show_page),
    PageRoute("POST", f"{PATH}/add", Scope.WRITE_MESSAGES, add),
    PageRoute("POST", f"{PATH}/remove", Scope.WRITE_MESSAGES, remove),
    PageRoute("POST", f"{PATH}/import", Scope.WRITE_MESSAGES, paste),
)
