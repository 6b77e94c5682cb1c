"""The margin of messages: a chart, a table, and the same as CSV."""

from typing import Any

from heliograph.app.records import Scope
from heliograph.app.resources.report_margin import MARGIN, MARGIN_BY, margin_csv, margin_table
from heliograph.app.resources.reports import REPORTS
from heliograph.console.charts import margin_chart
from heliograph.console.request import FormProblem, Mistake, PageRequest, PageResponse, PageRoute, csv_file, problem_of

PATH = "/margin"


async def show(request: PageRequest) -> PageResponse:
    """Shows the report of a period, by default of the last 24 hours."""
    asked = _asked(request)
    report: dict[str, Any] | None = None
    problem: FormProblem | None = None
    try:
        report = await request.ask(REPORTS, MARGIN.name, asked)
    except Mistake as mistake:
        problem = problem_of(mistake)
    columns, rows = margin_table(report) if report else ((), [])
    return request.page(
        "margin.html",
        status=200 if problem is None else 400,
        report=report,
        problem=problem,
        asked=asked,
        kinds=MARGIN_BY,
        chosen=asked["by"].split(","),
        groups=[name for name in columns if name in MARGIN_BY],
        columns=columns,
        rows=rows,
        figures=[margin_chart(report)] if report else [],
    )


async def download(request: PageRequest) -> PageResponse:
    report = await request.ask(REPORTS, MARGIN.name, _asked(request))
    return csv_file("margin.csv", margin_csv(report).encode())


def _asked(request: PageRequest) -> dict[str, str]:
    query = request.query
    kinds = [kind for kind in MARGIN_BY if query.get(kind)]
    by = ",".join(kinds) or query.get("by") or MARGIN_BY[0]
    return {"by": by, "from": query.get("from", "").strip(), "to": query.get("to", "").strip()}


PAGES = (
    PageRoute("GET", PATH, Scope.READ_PRICES, show),
    PageRoute("GET", f"{PATH}.csv", Scope.READ_PRICES, download),
)
