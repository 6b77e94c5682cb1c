"""The page on the simulator lists every knob and every magic number, as they are."""

from pathlib import Path

import pytest

from heliograph.simulator.behaviour import KNOBS, Knob, ReceiptWording
from heliograph.simulator.magic_numbers import SCENARIOS
from tests.support.cases import for_each

PAGE = (Path(__file__).parents[3] / "docs" / "simulator.md").read_text(encoding="utf-8")


def row_of(knob: Knob) -> str:
    default = "" if knob.default in (None, "", ()) else str(knob.default)
    default = default.lower() if knob.kind is bool else default
    takes = ", ".join(f"`{choice}`" for choice in knob.choices) or knob.unit or ("yes/no" if knob.kind is bool else "")
    return f"| `--{knob.name.replace('_', '-')}` | {default} | {takes} | {knob.what} |"


@for_each("knob", KNOBS)
def test_every_knob_is_on_the_page(knob: Knob) -> None:
    section = PAGE.split(f"### {knob.group.capitalize()}\n")[1].split("\n#")[0]
    assert row_of(knob) in section.split("\n")


@for_each("digits", SCENARIOS)
def test_every_magic_number_is_on_the_page(digits: str) -> None:
    assert f"| `...{digits}` | {SCENARIOS[digits].what} |" in PAGE.split("\n")


@pytest.mark.parametrize("dialect", ReceiptWording)
def test_every_dialect_is_on_the_page(dialect: ReceiptWording) -> None:
    assert f"| `{dialect.value}` |" in PAGE
