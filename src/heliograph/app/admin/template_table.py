"""Reads tables of templates as registries export them: CSV with a heading."""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from heliograph.app.admin.csv_rows import BadLine, CsvRows
from heliograph.app.resources.desk import MAX_NAME_CHARS, Invalid
from heliograph.app.resources.templates import TEMPLATE

COLUMNS: Final[Mapping[str, tuple[str, ...]]] = {
    "name": ("name", "template name"),
    "text": ("text", "content", "template", "template content", "content template", "template message", "message"),
    "sender": ("sender", "sender id", "senders", "header", "headers", "header name", "header id"),
    "account": ("account",),
    "template": ("template id", "content template id", "dlt template id", "te id"),
    "entity": ("entity", "entity id", "pe id", "principal entity id", "dlt entity id"),
    "status": ("status", "approval status", "template status"),
}
"""Accepted headings for each column. Case does not matter, and `_`, `-` and spaces are equal."""

_TLVS: Final = ("entity", "template")
"""Columns whose values become TLVs of the same name."""

APPROVED: Final = ("", "approved", "active", "registered", "verified", "live", "whitelisted")
"""Statuses of templates that are imported. Templates with other statuses, such as `rejected`, are skipped."""

_OWN_TLV = re.compile(r"tlv[ :](.+)").fullmatch
_APART: Final = re.compile(r"[,;|\n]")


class TemplateTable:
    """The templates of a table, in the form of the admin API.

    `templates`: the templates that can be imported. `bad`: lines that cannot be used. `left_out`: lines with templates
    that are not approved. `ignored`: columns that are no part of a template.
    """

    def __init__(
        self, lines: Iterable[str], account: str = "", sender: str = "", tlvs: Mapping[str, str] | None = None
    ) -> None:
        """Reads the table. `account`, `sender` and `tlvs` are the defaults for rows without these values."""
        self.templates: list[dict[str, Any]] = []
        self.bad: list[BadLine] = []
        self.left_out: list[BadLine] = []
        self._account, self._sender, self._tlvs = account, sender, dict(tlvs or {})
        self._names: dict[str, int] = {}
        rows = iter(CsvRows(lines, self.bad))
        line, heading = next(rows, (1, []))
        columns = [_column(cell) for cell in heading]
        self.ignored = [cell.strip() for name, cell in zip(columns, heading, strict=True) if cell.strip() and not name]
        if "text" not in columns or not {"name", "template"} & set(columns):
            needed = "a heading needs a column text (or content), and a column name or template id"
            self.bad.append(BadLine(line, f"this is not a heading of templates; {needed}"))
            return
        for line, cells in rows:
            self._read(line, {name: cell.strip() for name, cell in zip(columns, cells, strict=False) if name})

    def _read(self, line: int, row: dict[str, str]) -> None:
        status = row.get("status", "")
        if status.lower() not in APPROVED:
            self.left_out.append(BadLine(line, f"its status is {status[:40]}"))
            return
        own = {name.removeprefix("tlv "): value for name, value in row.items() if name.startswith("tlv ") and value}
        own |= {name: row[name] for name in _TLVS if row.get(name)}
        name = _as_name(row.get("name", "")) or row.get("template", "")
        senders = [each.strip() for each in _APART.split(row.get("sender", "")) if each.strip()] or [self._sender]
        account = row.get("account", "") or self._account
        for sender in senders:
            full = name if len(senders) == 1 else f"{name[: MAX_NAME_CHARS - len(sender) - 1]}-{_as_name(sender)}"
            values = (full, row.get("text", ""), sender, account, {**self._tlvs, **own})
            try:
                template = {field.name: field.read(value) for field, value in zip(TEMPLATE, values, strict=True)}
            except Invalid as problem:
                self.bad.append(BadLine(line, str(problem)))
                return
            if full in self._names:
                self.bad.append(BadLine(line, f"name: line {self._names[full]} has the name {full} too"))
                return
            self._names[full] = line
            self.templates.append(template)


def _column(heading: str) -> str:
    """Returns the name of a heading's column in COLUMNS, `tlv NAME` for a TLV, or "" for a column that is ignored."""
    words = " ".join(re.split(r"[\s_-]+", heading.strip().lower()))
    for name, headings in COLUMNS.items():
        if words in headings:
            return name
    own = _OWN_TLV(heading.strip().lower())
    return f"tlv {own[1].strip()}" if own is not None else ""


def _as_name(text: str) -> str:
    """Returns a valid name for a registry's name: `Login-code-2` for `Login code (2)`."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip("-")[:MAX_NAME_CHARS]
