"""The command line of the simulated operator: how knobs are given, and what its help lists."""

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from heliograph.cli.commands.simulator import simulator
from heliograph.simulator.behaviour import KNOBS, Behaviour, Refusal
from heliograph.simulator.magic_numbers import ORDINARY, SCENARIOS
from heliograph.simulator.presets import PRESETS

PAGE = Path(__file__).parents[3] / "docs/simulator.md"


def behaviour_of(monkeypatch: pytest.MonkeyPatch, *options: str) -> Behaviour:
    """The behaviour that these options choose."""
    started: list[Behaviour] = []

    def note(_host: str, _port: int, behaviour: Behaviour, **_others: Any) -> int:
        started.append(behaviour)
        return 0

    monkeypatch.setattr("heliograph.simulator.run.run", note)
    result = CliRunner().invoke(simulator, options)
    assert result.exit_code == 0, result.output
    [behaviour] = started
    return behaviour


def test_nothing_given_is_well_behaved(monkeypatch: pytest.MonkeyPatch) -> None:
    assert behaviour_of(monkeypatch) == Behaviour()


def test_several_values_by_commas_or_by_repeating(monkeypatch: pytest.MonkeyPatch) -> None:
    behaviour = behaviour_of(
        monkeypatch, "--inbound-to", "3388,447700900000", "--inbound-to", "ACME", "--refuse", "44=8", "--refuse", "1"
    )
    assert behaviour.inbound_numbers == ("3388", "447700900000", "ACME")
    assert behaviour.refuse == (Refusal("44", 8), Refusal("1", 0x0B))


def test_one_value_may_have_commas(monkeypatch: pytest.MonkeyPatch) -> None:
    assert behaviour_of(monkeypatch, "--inbound-text", "Yes, please").inbound_text == "Yes, please"


def test_a_preset_sets_its_knobs_and_others_come_before_them(monkeypatch: pytest.MonkeyPatch) -> None:
    assert behaviour_of(monkeypatch, "--preset", "strict") == Behaviour(**PRESETS["strict"].knobs)
    chosen = behaviour_of(monkeypatch, "--preset", "strict", "--throttle-per-s", "50", "--max-binds", "0")
    assert (chosen.throttle_per_s, chosen.max_binds, chosen.queue_limit) == (50, 0, 500)


def test_every_preset_is_a_behaviour_that_the_page_shows_as_it_is() -> None:
    page = PAGE.read_text(encoding="utf-8")
    for name, preset in PRESETS.items():
        assert Behaviour(**preset.knobs) != Behaviour()
        shown = [option(knob, value) for knob, value in preset.knobs.items()]
        assert f"| `{name}` | {preset.what} | {', '.join(shown)} |" in page


def option(knob: str, value: object) -> str:
    written = "" if value is True else f" {value:g}" if isinstance(value, int | float) else f" {value}"
    return f"`--{knob.replace('_', '-')}{written}`"


def test_the_help_lists_every_knob_and_every_magic_number() -> None:
    shown = CliRunner().invoke(simulator, ["--help"], terminal_width=200, max_content_width=200).output
    lines = [" ".join(line.split()) for line in shown.splitlines()]
    for knob in KNOBS:
        assert f"--{knob.name.replace('_', '-')}" in shown
    for name, preset in PRESETS.items():
        assert f"{name} {preset.what}" in lines
    for digits, scenario in SCENARIOS.items():
        assert f"...{digits} {scenario.what}" in lines
    assert f"other digits {ORDINARY.what}" in lines
