"""The page on reports says how periods are cut."""

from pathlib import Path

from heliograph.app.resources.report_steps import HOUR_MS, MINUTE_MS, RANGES
from heliograph.app.resources.reports import BY
from heliograph.domain.series import WIDTH_MS

PAGE = " ".join((Path(__file__).parents[3] / "docs" / "reports.md").read_text(encoding="utf-8").split())


def test_ranges_end_with_the_time_that_the_page_names() -> None:
    ends = {name: max(WIDTH_MS[each.coarse], each.step) for name, each in RANGES.items()}
    assert [ends["1h"], ends["6h"], ends["24h"], ends["7d"]] == [MINUTE_MS, 5 * MINUTE_MS, HOUR_MS, HOUR_MS]
    assert "the current minute (1 h), the current five minutes (6 h), the current hour (24 h, 7 d)" in PAGE


def test_short_ranges_are_cut_into_the_spans_that_the_page_names() -> None:
    assert [RANGES[name].step // MINUTE_MS for name in ("1h", "6h", "24h")] == [1, 5, 15]
    assert "| 1 h, 6 h, 24 h | minutes; spans of 5 minutes; spans of 15 minutes |" in PAGE


def test_the_page_names_all_rows_that_a_table_may_have() -> None:
    named = PAGE.split("`--by time`")[1].split(";")[0]
    assert [by for by in BY if f"`{by}`" not in f"`time`{named}"] == []
