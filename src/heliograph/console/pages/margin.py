"""The margin of messages: a chart, a table, and the same as CSV."""

from heliograph.app.records import Scope
from heliograph.app.resources.report_margin import MARGIN, MARGIN_BY, check_margin, margin_csv, margin_table
from heliograph.app.resources.reports import REPORTS
from heliograph.console.charts import margin_chart
from heliograph.console.request import FormProblem, Mistake, PageRequest, PageResponse, PageRoute, csv_file, problem_of

PATH = "/margin"


async def show(request: PageRequest) -> PageResponse:
    """Shows the form for a report, by default of the last 24 hours. The figures come after the page, as a piece of it,
    since the report adds up each message."""
    asked = _asked(request)
    problem: FormProblem | None = None
    try:
        check_margin(request.now, asked)
    except Mistake as mistake:
        problem = problem_of(mistake)
    return request.page(
        "margin.html",
        status=200 if problem is None else 400,
        problem=problem,
        asked=asked,
        kinds=MARGIN_BY,
        chosen=asked["by"].split(","),
    )


async def figures(request: PageRequest) -> PageResponse:
    """The piece with the sums, the chart and the table."""
    report = await request.ask(REPORTS, MARGIN.name, _asked(request))
    columns, rows = margin_table(report)
    return request.page(
        "margin_figures.html",
        report=report,
        groups=[name for name in columns if name in MARGIN_BY],
        columns=columns,
        rows=rows,
        figure=margin_chart(report),
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
    PageRoute("GET", f"{PATH}/figures", Scope.READ_PRICES, figures, exports=True),
    PageRoute("GET", f"{PATH}.csv", Scope.READ_PRICES, download, exports=True),
)
