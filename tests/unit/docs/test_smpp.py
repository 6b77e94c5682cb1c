"""The page on operators says what the code does: every option with its default, every outcome, and tests that exist."""

import re
from collections.abc import Iterable
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

from heliograph.adapters.smpp.kind import SETTINGS
from heliograph.adapters.smpp.options import OPTION_FIELDS, OPTIONS, Dialect, Timings, read_options
from heliograph.adapters.smpp.outcome import PAUSES, THROTTLING, outcome_of
from heliograph.app.dispatch.lane import FAST_MESSAGES
from heliograph.app.dispatch.outcomes import UNANSWERED_TRIES
from heliograph.app.ports import Deferred, Refused
from heliograph.app.resources.connectors import parse_option
from heliograph.domain.pace.congestion import EASE_TO
from heliograph.domain.pace.throttle import SHARE_OF_BURST
from heliograph.smpp.constants import CommandStatus
from tests.fuzz.targets import TARGETS
from tests.support.cases import for_each

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "smpp.md").read_text(encoding="utf-8")
DEFAULTS: dict[str, Any] = {
    each.name: each.default for of in (Dialect, Timings) for each in fields(of) if each.default is not MISSING
}
TESTS = sorted(set(re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", PAGE)))


def section(title: str, level: str = "##") -> str:
    return re.split(r"\n##", PAGE.split(f"\n{level} {title}\n")[1])[0]


def first_cells(text: str) -> Iterable[str]:
    return (line.split("|")[1].strip() for line in text.splitlines() if line.startswith("| "))


@for_each("name", OPTIONS)
def test_every_option_is_on_the_page_with_its_default(name: str) -> None:
    [line] = [line for line in PAGE.splitlines() if line.startswith(f"| `{name}` |")]
    shown = line.split("|")[2].strip().strip("`")
    assert line.split("|")[3].strip() == OPTIONS[name]
    options = {name: parse_option(name, shown)} if shown else {}
    assert read_options(options, Timings()) == (Dialect(), Timings(), [])
    assert bool(shown) == (DEFAULTS[name] not in ("", (), None, frozenset()))


def test_nothing_else_is_called_an_option() -> None:
    options = PAGE.split("\n## Options\n")[1].split("\n## ")[0]
    named = {name for cell in first_cells(options) for name in re.findall(r"`(\w+)`", cell)}
    assert named == {*OPTIONS, "outcome_STATUS"}


def test_every_field_is_on_the_page() -> None:
    named = {name for cell in first_cells(section("Fields")) for name in re.findall(r"`(\w+)`", cell)}
    assert named == set(SETTINGS)


@for_each("status", CommandStatus)
def test_the_table_of_outcomes_is_that_of_the_code(status: CommandStatus) -> None:
    lines = [line for line in section("Answers to submit_sm").splitlines() if line.startswith(f"| {status.name} |")]
    outcome = outcome_of(status, "1", {})
    if isinstance(outcome, Refused):
        assert lines == []
        return
    [line] = lines
    told = line.split("|")[2].strip()
    if isinstance(outcome, Deferred):
        as_long = "deferred as long as the [pace](#the-pace) says" if status in THROTTLING else "deferred, {:g} s"
        assert told.startswith(as_long.format(PAUSES[status]))
        assert outcome.throttled == (status in THROTTLING)
    else:
        assert told == "accepted"


def test_sentences_have_the_numbers_of_the_code() -> None:
    text = " ".join(PAGE.split())
    assert (UNANSWERED_TRIES, "until it was sent three times" in text) == (3, True)
    assert (SHARE_OF_BURST, "the parts of a tenth of a second may go at once" in text) == (0.1, True)
    assert (EASE_TO, "down to half of its value at the beginning of the congestion" in text) == (0.5, True)
    assert f"more than {FAST_MESSAGES:,} messages of the connector" in text


def test_the_sentence_about_the_minimum_distance_has_the_figures_of_the_table() -> None:
    reached = [float(each) for each in re.findall(r"^\| bucket of 1, .*? ms \| ([\d.]+)% ", PAGE, re.MULTILINE)]
    assert len(reached) == 3
    assert f"the gateway reaches {min(reached):.0f} to {max(reached):.0f} %" in " ".join(PAGE.split())


@for_each(("path", "name"), TESTS)
def test_what_shows_it_is_there(path: str, name: str) -> None:
    code = (ROOT / path).read_text(encoding="utf-8")
    assert re.search(rf"^ *(async )?def {name}\(", code, re.MULTILINE)


def test_enough_is_shown() -> None:
    assert len(TESTS) >= 25


def test_every_target_of_the_fuzzer_is_on_the_page() -> None:
    assert set(re.findall(r"^\| `(\w+)` \| \d", section("Fuzzing"), re.MULTILINE)) == set(TARGETS)


def test_a_form_has_every_option_once_with_the_default_of_the_page() -> None:
    assert sorted(OPTION_FIELDS) == sorted(OPTIONS)
    for name, shown in OPTION_FIELDS.items():
        [line] = [line for line in PAGE.splitlines() if line.startswith(f"| `{name}` |")]
        assert line.split("|")[2].strip().strip("`") == shown.default
        assert not shown.choices or shown.default in ("", *shown.choices)
        assert shown.meaning
        assert not re.search(r"[`\[\]]|\bbelow\b", shown.meaning)
