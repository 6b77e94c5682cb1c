"""Reads the messages of a CSV file. Each row gets a reference, so that another run does not send it again."""

import hashlib
import re
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from heliograph.app.admin.csv_rows import BadLine, CsvRows
from heliograph.app.admin.recipient_columns import FIELDS, columns_of, number_columns
from heliograph.cli.lists.reading import not_utf8, open_list
from heliograph.domain.calendar import with_seconds
from heliograph.domain.numbers.phone import number_of

_PLACEHOLDER = re.compile(r"\{\{|\}\}|\{([^{}]*)\}")
_CAMPAIGN_CHARS = 24
_DIGEST_CHARS = 32


class BadFile(Exception):
    """The file cannot be used. Nothing was sent. The text has the reason and the line."""


@dataclass(slots=True)
class Row:
    """A message of the file."""

    line: int
    """The line in the file. The heading is line 1."""
    fields: dict[str, str]
    """The fields of the request."""


class RecipientsFile:
    """The messages of a CSV file with a heading, or of a list of numbers.

    A row's reference is made from the campaign, its fields, and the number of equal rows before it. So a row keeps its
    reference if other rows are added, removed or changed, and another run of the file sends no row twice. For example,
    a row of the campaign `spring` has the reference `spring.9f86d081884c7d65...`.
    """

    def __init__(self, path: Path, defaults: Mapping[str, str], campaign: str, to_column: str = "") -> None:
        """`defaults` are fields for rows without them. A `content` there goes before the column, and may have
        placeholders such as `{name}`. `to_column` has the numbers; if it is empty, the column `to`, or else the column
        that `number_columns` is sure of. Raises BadFile."""
        self._path = path
        self.to_column = to_column
        """The column of the numbers."""
        self.assumed = ""
        """A sentence on the column of the numbers, if neither the command nor the name `to` decided."""
        self._has_heading = True
        self._defaults = {name: value for name, value in defaults.items() if value}
        self._campaign = campaign
        self._columns = self._header()
        self._find_numbers()
        self._named = {name: column for column in reversed(self._columns) if (name := column.lower()) in FIELDS}
        self._named |= {name: name for name in FIELDS if name in self._columns} | {"to": self.to_column}
        self._check()
        self.count = sum(1 for _ in self._read())

    def __iter__(self) -> Iterator[Row]:
        seen: Counter[bytes] = Counter()
        for line, cells in self._read():
            fields = self._fields(cells)
            if "reference" not in fields:
                digest = hashlib.sha256(repr(sorted(fields.items())).encode()).digest()
                fields["reference"] = self._reference(digest, seen[digest])
                seen[digest] += 1
            yield Row(line, fields)

    def _rows(self) -> Iterator[tuple[int, list[str]]]:
        """Yields the rows with their lines, from the heading on. Raises BadFile."""
        bad: list[BadLine] = []
        try:
            with open_list(self._path, newline="") as file:
                for line, cells in CsvRows(file, bad):
                    if bad:
                        break
                    yield line, cells
        except UnicodeDecodeError as error:
            raise BadFile(not_utf8(str(self._path))) from error
        except OSError as error:
            raise BadFile(f"{self._path} cannot be read: {error.strerror or error}") from error
        if bad:
            raise BadFile(f"{self._path}, {bad[0]}")

    def _header(self) -> list[str]:
        _, first = next(self._rows(), (1, []))
        columns = [column.strip() for column in first]
        if not (self.to_column in columns if self.to_column else "to" in map(str.lower, columns)):
            columns, self._has_heading = columns_of(first)
        if not columns:
            raise BadFile(f"{self._path} is empty")
        doubled = [column for column, times in Counter(map(str.strip, first)).items() if column and times > 1]
        if doubled and self._has_heading:
            raise BadFile(f"{self._path} has the column {doubled[0]} twice")
        return columns

    def _find_numbers(self) -> None:
        """Finds the column of the numbers. Raises BadFile."""
        columns = self._columns
        if self.to_column in columns:
            return
        is_plain = len(columns) == 1 and not self._has_heading
        found = [0] if is_plain else number_columns(columns, (cells for _, cells in self._below()))
        likely = [columns[index] for index in found]
        if len(likely) != 1 or (self.to_column and not is_plain):
            problem = f"has no column `{self.to_column or 'to'}`; its columns are {', '.join(columns)}"
            if len(likely) > 1 and not self.to_column:
                problem += f". The numbers may be in {' or '.join(likely)}"
            advice = f"Name the column of the numbers, as in --to-column {shlex.quote((likely or columns)[0])}"
            raise BadFile(f"{self._path} {problem}. {advice}")
        self.to_column = likely[0]
        if not self._has_heading:
            self.assumed = f"{self._path} has no heading. The numbers are in its {self.to_column}."
        elif self.to_column.lower() != "to":
            self.assumed = f"The numbers are in the column {self.to_column} of {self._path}."

    def _check(self) -> None:
        for field in ("from", "content"):
            if field not in self._named and field not in self._defaults:
                others = ", ".join(each for each in self._columns if each != self.to_column)
                raise BadFile(
                    f"{self._path} has no column `{field}`; add it, or give --{field}"
                    + (f". Its other columns are {others}" if others and self._has_heading else "")
                )
        named = [match[1] for match in _PLACEHOLDER.finditer(self._defaults.get("content", "")) if match[1] is not None]
        unknown = [name for name in named if name not in self._columns]
        if unknown:
            raise BadFile(
                f"--content has {{{unknown[0]}}}, but {self._path} has no such column; it has "
                f"{', '.join(self._columns)}"
            )

    def _read(self) -> Iterator[tuple[int, dict[str, str]]]:
        """Yields the line number and the cells of each row below the heading."""
        for line, cells in self._below():
            if len(cells) > len(self._columns):
                raise BadFile(f"{self._path}, line {line}: it has more cells than the first row")
            yield line, dict(zip(self._columns, cells, strict=False))

    def _below(self) -> Iterator[tuple[int, list[str]]]:
        """Yields the rows below the heading, or all rows without a heading."""
        rows = self._rows()
        if self._has_heading:
            next(rows, None)
        return rows

    def _fields(self, cells: Mapping[str, str]) -> dict[str, str]:
        fields = dict(self._defaults)
        for name in FIELDS:
            value = cells.get(self._named.get(name, ""), "")
            if value and not (name == "content" and "content" in self._defaults):
                fields[name] = value if name == "content" else value.strip()
        if "time" in fields:
            fields["time"] = with_seconds(fields["time"])
        if "to" in fields:
            fields["to"] = ",".join(map(number_of, fields["to"].split(",")))
        if "content" in self._defaults:
            fields["content"] = _PLACEHOLDER.sub(
                lambda match: match[0][0] if match[1] is None else cells.get(match[1], ""), self._defaults["content"]
            )
        return fields

    def _reference(self, digest: bytes, number: int) -> str:
        named = hashlib.sha256(f"{self._campaign}\0{number}\0".encode() + digest).hexdigest()[:_DIGEST_CHARS]
        word = "".join(char if char.isalnum() and char.isascii() else "-" for char in self._campaign)
        return f"{word[:_CAMPAIGN_CHARS]}.{named}"
