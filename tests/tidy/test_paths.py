"""What the documents for contributors name is there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = ["CONTRIBUTING.md", "docs/architecture.md", "docs/glossary.md"]
NAMED = re.compile(r"`((?:[a-z_0-9]+/)+(?:[a-z_0-9.\-]+\.[a-z]+)?|(?:[a-z_0-9]+/)+[a-z_0-9]+)`")


def missing(text: str) -> list[str]:
    """The files and folders that a text names and that are nowhere."""
    return [
        path
        for path in NAMED.findall(text)
        if not any(
            (ROOT / base / path).exists()
            for base in ("", "src/heliograph", "src/heliograph/adapters/store", "tests", "tests/unit")
        )
    ]


@pytest.mark.parametrize("page", PAGES)
def test_files_that_are_named_are_there(page: str) -> None:
    assert missing((ROOT / page).read_text(encoding="utf-8")) == []


def test_a_file_that_is_not_there_is_found() -> None:
    assert missing("`domain/message/retry.py`, `app/`, `app/nothing.py`, `nowhere/at_all/`, `make`") == [
        "app/nothing.py",
        "nowhere/at_all/",
    ]
