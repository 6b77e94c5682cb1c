"""Messages out of a CSV file: one a row, each with a reference that names it for good."""

import csv
import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

#: Columns that are fields of a request; others are there for placeholders.
FIELDS = ("to", "from", "content", "time", "type", "dlr", "dlr-url", "reference")

_PLACEHOLDER = re.compile(r"\{\{|\}\}|\{([^{}]*)\}")
_CAMPAIGN_CHARS = 24
_DIGEST_CHARS = 32


class BadFile(Exception):
    """The file cannot be used; nothing was sent. The text says why, and where."""


@dataclass(slots=True)
class Row:
    """One message: `line` is its row in the file, the first one after the header being 2."""

    line: int
    fields: dict[str, str]


class RecipientsFile:
    """The messages of a CSV file with a header row.

    A row's reference is made from the campaign, from what is sent, and from how many equal rows came before it. So
    a row keeps it when other rows come, go or change, and the same file sent once more sends nothing twice.
    """

    def __init__(self, path: Path, defaults: Mapping[str, str], campaign: str) -> None:
        """`defaults` are the fields for rows that lack them; a `content` there may have {column} placeholders, and
        then wins over the column. Raises BadFile."""
        self._path = path
        self._defaults = {name: value for name, value in defaults.items() if value}
        self._campaign = campaign
        self._columns = self._header()
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

    def _header(self) -> Sequence[str]:
        try:
            with self._path.open(encoding="utf-8-sig", newline="") as file:
                header = next(csv.reader(file), [])
        except (OSError, UnicodeDecodeError, csv.Error) as error:
            raise BadFile(f"{self._path} cannot be read: {error}") from error
        columns = [column.strip() for column in header]
        doubled = [column for column, times in Counter(columns).items() if times > 1]
        if doubled:
            raise BadFile(f"{self._path} has the column {doubled[0]} twice")
        return columns

    def _check(self) -> None:
        if "to" not in self._columns:
            found = ", ".join(self._columns) or "nothing"
            raise BadFile(f"{self._path} needs a header row with a column `to`; its first row has {found}")
        for field in ("from", "content"):
            if field not in self._columns and field not in self._defaults:
                raise BadFile(f"{self._path} has no column `{field}`; add it, or give --{field}")
        named = [match[1] for match in _PLACEHOLDER.finditer(self._defaults.get("content", "")) if match[1] is not None]
        unknown = [name for name in named if name not in self._columns]
        if unknown:
            raise BadFile(
                f"--content has {{{unknown[0]}}}, and {self._path} no such column; it has {', '.join(self._columns)}"
            )

    def _read(self) -> Iterator[tuple[int, dict[str, str]]]:
        """Line number and cells of each row that is not empty."""
        try:
            with self._path.open(encoding="utf-8-sig", newline="") as file:
                rows = csv.reader(file)
                next(rows, None)
                for cells in rows:
                    if not any(cell.strip() for cell in cells):
                        continue
                    if len(cells) > len(self._columns):
                        raise BadFile(f"{self._path}, line {rows.line_num}: more cells than the header has columns")
                    yield rows.line_num, dict(zip(self._columns, cells, strict=False))
        except (OSError, UnicodeDecodeError, csv.Error) as error:
            raise BadFile(f"{self._path} cannot be read: {error}") from error

    def _fields(self, cells: Mapping[str, str]) -> dict[str, str]:
        fields = dict(self._defaults)
        for name in FIELDS:
            value = cells.get(name, "")
            if value and not (name == "content" and "content" in self._defaults):
                fields[name] = value if name == "content" else value.strip()
        if "content" in self._defaults:
            fields["content"] = _PLACEHOLDER.sub(
                lambda match: match[0][0] if match[1] is None else cells.get(match[1], ""), self._defaults["content"]
            )
        return fields

    def _reference(self, digest: bytes, number: int) -> str:
        named = hashlib.sha256(f"{self._campaign}\0{number}\0".encode() + digest).hexdigest()[:_DIGEST_CHARS]
        word = "".join(char if char.isalnum() and char.isascii() else "-" for char in self._campaign)
        return f"{word[:_CAMPAIGN_CHARS]}.{named}"
