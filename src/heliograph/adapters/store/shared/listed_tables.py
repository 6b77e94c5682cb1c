"""The tables of long lists, as the statements of `queries/lists.sql` need them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final


@dataclass(frozen=True, slots=True)
class ListedTable:
    name: str
    key: Mapping[str, str]
    """The columns of the key with their types. Rows of a list begin with them."""
    first: Mapping[str, Any]
    """Values before all others, for the columns of the key without the owner."""
    owner: str = ""
    """The column of the plan or connector whose rows a list may replace; empty if a list replaces the whole table."""
    keeps: bool = False
    """Whether rows that the table and a list have both stay as they are. Otherwise the list replaces them."""

    def words(self, kind: str, row: str | None) -> dict[str, str]:
        """Returns the words for statements of this table. `row` is the engine's own name of a row, if it has any."""
        rest = ", ".join(self.first)
        listed = [
            f"{self.name}.{name} = CAST(j.value ->> {n} AS {of})" for n, (name, of) in enumerate(self.key.items())
        ]
        return {
            "listed.table": self.name,
            "listed.rest": rest,
            "listed.after": ", ".join(f":{name}" for name in self.first),
            "listed.row": row or rest,
            "listed.owner": self.owner or "''",
            "listed.is_owned": f"{self.owner} = :owner" if self.owner else "side >= 0",
            "listed.is_listed": " AND ".join(listed),
            "listed.kind": kind,
        }


LISTED_TABLES: Final = {
    "price": ListedTable(
        "price",
        {"plan": "text", "prefix": "text", "network": "text", "since": "bigint"},
        {"prefix": "", "network": "", "since": -1},
        "plan",
    ),
    "cost": ListedTable(
        "cost",
        {"connector": "bigint", "network": "text", "prefix": "text", "since": "bigint"},
        {"network": "", "prefix": "", "since": -1},
        "connector",
    ),
    "route": ListedTable("route", {"id": "bigint"}, {"id": 0}, keeps=True),
    "network": ListedTable("mobile_network", {"prefix": "text"}, {"prefix": ""}),
}
"""By the kind of a list, as `list_import` and `changed_row` call it."""
