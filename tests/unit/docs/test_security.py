"""The page on security: every row of it has a test that there is, and its figures are of targets that there are."""

import re
from pathlib import Path

from tests.fuzz.campaign import ALL
from tests.support.cases import for_each

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
TESTS = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", PAGE)
LEAST_ROWS = 40
BAR = 2_000_000
"""Inputs that were to be fuzzed, at least."""


def section(title: str) -> str:
    return re.split(r"\n## ", PAGE.split(f"\n## {title}\n")[1])[0]


def rows(title: str) -> list[list[str]]:
    lines = [line for line in section(title).splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


@for_each(("file", "name"), TESTS)
def test_every_test_that_it_names_is_there(file: str, name: str) -> None:
    assert re.search(rf"^ *(?:async )?def {name}\(", (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE)


def test_every_attack_has_what_stops_it_and_a_test_of_its_own() -> None:
    attacks = [row for row in rows("Attacks and defences") if not row[0].startswith("**")]
    assert len(attacks) >= LEAST_ROWS
    for attack, means, test in attacks:
        assert attack
        assert means, attack
        assert re.fullmatch(r"`tests/[\w/]+\.py::test_\w+`", test), attack
    assert len({test for *_, test in attacks}) == len(attacks)


def test_every_part_of_it_is_there() -> None:
    found = re.findall(r"^## (.+)$", PAGE, re.MULTILINE)
    first = ["Assets", "Actors", "Attacks and defences", "Known gaps"]
    assert found[: len(first)] == first
    assert {"Floods", "Signing in", "Fuzzing"} <= set(found)


def test_every_target_of_the_fuzzer_has_its_figures() -> None:
    *targets, whole = rows("Fuzzing")
    assert {row[0].strip("`") for row in targets} == set(ALL)
    inputs = [int(row[2].replace(",", "")) for row in targets]
    assert sum(inputs) == int(whole[2].replace(",", "")) >= BAR


def test_how_to_report_is_told() -> None:
    report = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    assert "## How to report" in report
    assert "docs/security.md" in report
    assert "(../SECURITY.md)" in PAGE
