"""The page on errors has every entry of the catalogue, and no other."""

import re

from heliograph.domain.error import CATALOGUE
from tests.unit.docs.test_reference import DOCS

ROW = re.compile(r"\| `(\d\d)` \| (\d{3}) \| ([^|]+) \| ([^|]+) \|")


def test_every_error_is_explained() -> None:
    rows = ROW.findall((DOCS / "errors.md").read_text(encoding="utf-8"))
    assert [(code, int(http), title) for code, http, title, _ in rows] == [
        (entry.code, entry.http, entry.title) for entry in CATALOGUE
    ]
    assert all(len(advice) > 10 for *_, advice in rows)
