"""Findings of a list's preview: rows that cannot be sent, with the reason, and numbers that occur more than once.

Rows are counted from 1 below the heading, as in the file of results. For example:

    Rows 3, 7 and 12, column mobile: The destination is empty; give digits with the country code, ...
    The recipient opted out: 491701234567 (row 5) and 447700900123 (row 9).
    491701234567 (rows 2 and 8)
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Final

from heliograph.console.recipients import RecipientTable, columns_in
from heliograph.domain.display import counted
from heliograph.domain.error import Fault

TOLD: Final = 20
"""Different problems that are told."""

NAMED: Final = 10
"""Rows of a problem, or phones, that are named. The others are only counted."""

COLUMN_CHARS: Final = 40
"""Characters of a column's name that are shown."""


@dataclass(slots=True)
class RowProblem:
    """A reason why some rows cannot be sent."""

    columns: Sequence[str]
    """The columns of the bad cells, for example `["mobile"]`; empty if the list has only numbers, or if no cell is the
    reason."""
    rows: list[int] = field(default_factory=list)
    """The first NAMED rows."""
    count: int = 0


class ListFindings:
    """Collects the findings row by row."""

    def __init__(self, table: RecipientTable, number: int, content: str) -> None:
        """`number`: index of the column with the numbers. `content`: the text, maybe with columns in braces."""
        self.bad = 0
        """Rows that cannot be sent."""
        self.problems: dict[str, RowProblem] = {}
        """The first TOLD problems by their sentences."""
        self.field = ""
        """The field of the first problem, for example `to`."""
        self.opted_out = 0
        """Rows to phones that opted out."""
        self._told_out: list[tuple[str, int]] = []
        self._first: dict[str, int] = {}
        self._repeats: dict[str, list[int]] = {}
        used = [name for name in columns_in(content) if name in table.columns]
        self._columns: dict[str | None, list[str]] = {"content": used[:NAMED]}
        if table.has_heading or not table.plain:
            self._columns["to"] = [table.columns[number]]

    def add_fault(self, row: int, fault: Fault) -> None:
        """Adds a row that acceptance would refuse by itself."""
        self.bad += 1
        self.field = self.field or fault.field or ""
        if fault.message not in self.problems:
            if len(self.problems) >= TOLD:
                return
            self.problems[fault.message] = RowProblem(self._columns.get(fault.field, []))
        found = self.problems[fault.message]
        found.count += 1
        if len(found.rows) < NAMED:
            found.rows.append(row)

    def add_opted_out(self, row: int, number: str) -> None:
        """Adds a row to a phone that opted out."""
        self.bad += 1
        self.opted_out += 1
        if len(self._told_out) < NAMED:
            self._told_out.append((number, row))

    def add_good(self, row: int, number: str) -> None:
        """Adds a row that can be sent."""
        first = self._first.setdefault(number, row)
        if first != row:
            self._repeats.setdefault(number, [first]).append(row)

    def sole_problem(self, fields: Collection[str]) -> str:
        """Returns the problem that all bad rows share, if it is one of these fields; else an empty text."""
        is_sole = len(self.problems) == 1 and not self.opted_out and self.field in fields
        return next(iter(self.problems)) if is_sole else ""

    def problem_lines(self) -> list[str]:
        """Returns a sentence for each problem."""
        lines, untold = [], self.bad - self.opted_out
        for text, each in self.problems.items():
            # a column without a name is called `column 2` already
            columns = (f", column {name.removeprefix('column ')[:COLUMN_CHARS]}" for name in each.columns)
            lines.append(f"{_rows(each.rows, each.count).capitalize()}{''.join(columns)}: {text}")
            untold -= each.count
        if untold:
            lines.append(f"{counted(untold, 'more row')} with other problems.")
        if self.opted_out:
            phones = [f"{number} (row {row})" for number, row in self._told_out]
            lines.append(f"The recipient opted out: {_listed(phones, self.opted_out)}.")
        return lines

    @property
    def repeated(self) -> int:
        """Numbers that occur more than once among the rows that can be sent."""
        return len(self._repeats)

    def repeat_lines(self) -> list[str]:
        """Returns the first repeated numbers with their rows."""
        told = list(self._repeats.items())[:NAMED]
        lines = [f"{number} ({_rows(rows[:NAMED], len(rows))})" for number, rows in told]
        if len(self._repeats) > len(told):
            lines.append(counted(len(self._repeats) - len(told), "more number"))
        return lines


def _rows(rows: Sequence[int], count: int) -> str:
    """Returns `row 3`, `rows 3 and 7`, or `rows 3, 7 and 12 more`."""
    return f"row{'s' * (count > 1)} {_listed([str(row) for row in rows], count)}"


def _listed(names: Sequence[str], count: int) -> str:
    """Returns `a`, `a, b and c`, or `a, b and 12 more` if `count` has more than these."""
    more = count - len(names)
    words = [*names, f"{more:,} more"] if more else list(names)
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
