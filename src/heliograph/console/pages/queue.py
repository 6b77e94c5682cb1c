"""The queue: counts of waiting messages, and buttons that move, hold, release or cancel the messages of a filter."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from heliograph.app.records import Scope
from heliograph.app.resources.queue import QUEUE
from heliograph.console.request import FormProblem, Mistake, PageRequest, PageResponse, PageRoute, problem_of
from heliograph.domain.calendar import parse_utc
from heliograph.domain.display import duration

PATH = "/queue"
FILTERS = ("connector", "account", "country", "network", "older_than")
SHOWN = 500
"""The most lines of the table."""


async def show(request: PageRequest, problem: FormProblem | None = None) -> PageResponse:
    given = _filters(request.query if problem is None else request.form)
    found: list[dict[str, Any]] = []
    is_filter = True
    try:
        found = (await request.ask(QUEUE, "list", given))["queue"]
    except Mistake as mistake:
        problem, is_filter = problem_of(mistake), False
    return request.page(
        "queue.html",
        status=200 if problem is None else 400,
        problem=problem,
        is_filter=is_filter,
        given={name: given.get(name, "") for name in FILTERS},
        found=found[:SHOWN],
        more=max(0, len(found) - SHOWN),
        messages=sum(each["messages"] for each in found),
        held=sum(each["held"] for each in found),
        on_hold=sum(each["on_hold"] for each in found),
        networks=any(each["network"] for each in found),
        meant=_words(given),
        connectors=sorted((await request.desk.known_connectors()).values()),
        accounts=await request.account_names(),
        age=lambda at: duration(request.now - parse_utc(at)),
    )


def _filters(values: Mapping[str, str]) -> dict[str, str]:
    return {name: text for name in FILTERS if (text := values.get(name, "").strip())}


def _words(given: Mapping[str, str]) -> str:
    """Returns the filters for people, for example `of acme over op1 to DE`."""
    forms = {
        "account": "of {}",
        "connector": "over {}",
        "country": "to {}",
        "network": "of the network {}",
        "older_than": "that have waited for {}",
    }
    return " ".join(form.format(given[name]) for name, form in forms.items() if name in given)


def _act(action: str) -> Callable[[PageRequest], Awaitable[PageResponse]]:
    async def run(request: PageRequest) -> PageResponse:
        given = _filters(request.form)
        if action == "move":
            given["to"] = request.form.get("to", "")
        answer = await request.ask(QUEUE, action, given)
        said = QUEUE.format_done(QUEUE.operation(action), given, answer)
        return request.go(PATH, said, **_filters(request.form))

    return run


PAGES = (
    PageRoute("GET", PATH, Scope.READ_MESSAGES, show),
    *(
        PageRoute("POST", f"{PATH}/{action}", Scope.WRITE_MESSAGES, _act(action), again=show)
        for action in ("move", "hold", "release", "cancel")
    ),
)
