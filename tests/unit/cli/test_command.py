"""What commands print of texts that others wrote."""

import json
import unicodedata

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from heliograph.cli.command import Failure, echo_json, print_fields, print_line, print_table
from heliograph.cli.commands.tail import format_event
from heliograph.cli.main import heliograph
from heliograph.domain.display import harmless

EVIL = "a\x1b]0;title\x07b\x9b2Jc\rd\u202ee"
WRITTEN_OUT = "a\\u001b]0;title\\u0007b\\u009b2Jc\\u000dd\\u202ee"


def test_no_text_commands_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    print_fields([("content", EVIL), ("nothing", None)])
    print_table(("DETAIL",), [(EVIL,)], empty="")
    echo_json({"content": EVIL})
    print_line(EVIL)
    Failure(EVIL, EVIL, EVIL).show()
    captured = capsys.readouterr()
    for printed in (captured.out, captured.err):
        assert [char for char in printed if unicodedata.category(char) in ("Cc", "Cf") and char != "\n"] == []
        assert printed.count(WRITTEN_OUT) == 3
    assert json.loads(captured.out.splitlines()[-2]) == {"content": EVIL}


def test_no_happening_commands_the_terminal() -> None:
    line = format_event(dict.fromkeys(("time", "event", "id", "account", "to", "operator_id"), EVIL))
    assert "\x9b" not in line
    assert "\u202e" not in line
    assert line.count(WRITTEN_OUT) == 5


@pytest.mark.parametrize("command", [[], ["connector"], ["connector", "add"], ["simulator"], ["serve"]])
def test_help_is_there_by_its_short_name(command: list[str]) -> None:
    short, long = (CliRunner().invoke(heliograph, [*command, name]) for name in ("-h", "--help"))
    assert short.exit_code == 0
    assert short.output == long.output
    assert short.output.startswith("Usage:")


@pytest.mark.parametrize("end", ["\x85", "\u2028", "\u2029", "\x0b"])
def test_a_line_stays_one(end: str) -> None:
    assert len(harmless(f"a{end}b").splitlines()) == 1


def test_half_a_character_can_be_written() -> None:
    assert harmless("\ud83d!").encode() == b"\\ud83d!"


@given(text=st.text(st.characters(exclude_categories=("Cc", "Cs", "Cf", "Zl", "Zp"))))
def test_all_else_is_shown_as_it_is(text: str) -> None:
    assert harmless(text) == text
    assert harmless(f"{text}\n\u200d") == f"{text}\n\u200d"


def test_the_list_of_commands_has_their_summaries() -> None:
    listed = " ".join(CliRunner().invoke(heliograph, ["--help"]).stdout.split())
    for name, command in heliograph.commands.items():
        assert f" {name} {command.get_short_help_str(100)} " in listed
