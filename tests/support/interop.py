"""Records features shown against foreign peers, for the table in the page on operators.

A test calls the fixture `interop` after it has seen a feature of a peer work. At the end of the run the records of
passing tests are compared with the table in `docs/smpp.md`. No feature may be missing in the table. If all tests ran
and none was skipped, the table may not have more. With HELIOGRAPH_WRITE_DOCS=1 the table is written instead (`make
interop`).
"""

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final, NamedTuple

PAGE: Final = Path(__file__).parents[2] / "docs" / "smpp.md"
PROPERTY: Final = "interop"
"""Name of the property in a test's report."""

BEGIN: Final = "<!-- interop: written by `make interop` from what its tests have shown -->"
END: Final = "<!-- end of interop -->"

HEAD: Final = "| peer | its role | ours | shown | by |\n|---|---|---|---|---|\n"


class Showing(NamedTuple):
    """A feature of a peer that a test has seen working. `ours`: our side of it."""

    peer: str
    role: str
    ours: str
    test: str
    feature: str

    def recorded(self) -> str:
        return json.dumps(self)

    @classmethod
    def read(cls, text: str) -> "Showing":
        return cls(*json.loads(text))


def test_of(node: str) -> str:
    """`path::name` of a test's node id, without its parameters."""
    return node.partition("[")[0]


def table(shown: Iterable[Showing]) -> str:
    """A row for each peer and role."""
    rows: dict[tuple[str, str, str], tuple[set[str], set[str]]] = {}
    for each in shown:
        features, tests = rows.setdefault(each[:3], (set(), set()))
        features.add(each.feature)
        tests.add(f"`{each.test}`")
    lines = (
        f"| {' | '.join(who)} | {'; '.join(sorted(features, key=str.lower))} | {', '.join(sorted(tests))} |\n"
        for who, (features, tests) in sorted(rows.items(), key=lambda row: [word.lower() for word in row[0]])
    )
    return HEAD + "".join(lines)


def read(page: str) -> str:
    """The table as it stands on the page."""
    return page.split(BEGIN + "\n\n")[1].split("\n" + END)[0]


def written(page: str, shown: Iterable[Showing]) -> str:
    """The page with the table of features."""
    before, rest = page.split(BEGIN)
    return f"{before}{BEGIN}\n\n{table(shown)}\n{END}{rest.split(END)[1]}"


def beyond(page: str, shown: Iterable[Showing]) -> list[Showing]:
    """Returns the showings that the table lacks."""
    said = {
        (*cells[:3], feature, test)
        for line in read(page).splitlines()[2:]
        if (cells := [cell.strip() for cell in line.strip("|").split("|")])
        for feature in cells[3].split("; ")
        for test in re.findall(r"`([^`]+::\w+)`", cells[4])
    }
    return [each for each in shown if (each.peer, each.role, each.ours, each.feature, each.test) not in said]
