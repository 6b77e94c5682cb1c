"""What commands print of texts that others wrote."""

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.cli.command import echo_json, harmless, print_fields, print_table

EVIL = "a\x1b]0;title\x07b\x9b2Jc\rd\u202ee"


def test_no_text_commands_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    print_fields([("content", EVIL), ("nothing", None)])
    print_table(("DETAIL",), [(EVIL,)], empty="")
    echo_json({"content": EVIL})
    out = capsys.readouterr().out
    assert [char for char in out if unicodedata.category(char) in ("Cc", "Cf") and char != "\n"] == []
    assert out.count("a\\u001b]0;title\\u0007b\\u009b2Jc\\u000dd\\u202ee") == 2
    assert json.loads(out.splitlines()[-1]) == {"content": EVIL}


@given(text=st.text(st.characters(exclude_categories=("Cc", "Cs", "Cf"))))
def test_all_else_is_shown_as_it_is(text: str) -> None:
    assert harmless(text) == text
    assert harmless(f"{text}\n\u200d") == f"{text}\n\u200d"
