"""Each rule finds what it is for, and lets the rest be."""

import pytest

from tests.tidy import rules
from tests.tidy.rules import parsed


def test_class_names_are_compared_within_a_folder() -> None:
    modules = [
        parsed("app/first.py", "class A: ...\nclass B: ..."),
        parsed("app/second.py", "def make():\n    class B: ..."),
        parsed("app/sub/third.py", "class A: ..."),
    ]
    assert rules.same_names_in_a_folder(modules) == {"app:B"}


def test_what_is_long_is_found() -> None:
    assert rules.is_long(parsed("a.py", "x = 1\n" * 701))
    assert not rules.is_long(parsed("a.py", "x = 1\n" * 700))
    body = "    x = 1\n"
    assert rules.long_functions(parsed("a.py", "def short():\n" + body * 59)) == []
    assert rules.long_functions(parsed("a.py", "def long():\n" + body * 60)) == ["a.py:long"]


def test_sql_is_found_where_it_should_not_stand() -> None:
    query = '_OPEN = """\nSELECT key FROM message\n"""'
    assert rules.has_sql(parsed("adapters/store/sqlite/receipts.py", query))
    assert not rules.has_sql(parsed("adapters/store/sqlite/record.py", query))
    assert not rules.has_sql(parsed("cli/message.py", '"""\nSELECT is a word of SQL."""\nprint("Select one of these")'))
    assert rules.unchecked_sql(parsed("a.py", "run(f'')  # noqa: S608\nrun('')")) == 1


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("UPDATE message SET state = 2", ["state = 2"]),
        ("WHERE m.state NOT IN (0, 1)", ["state NOT IN (0"]),
        ('WHERE "end" <> 0', ['"end" <> 0']),
        ("sum(kind=1), 3::smallint", ["kind=1", "3::smallint"]),
        ("WHERE state IN {LISTED} AND kind = {EntryKind.CHARGE} AND state = $1 AND state IS NULL", []),
        ("WHERE price <> 0 AND status = 0", []),
    ],
)
def test_numbers_of_states_in_sql(text: str, found: list[str]) -> None:
    assert rules.stored_numbers(text) == found


def test_ports_that_ask_for_too_much_are_found() -> None:
    methods = "\n".join(f"    async def ask_{number}(self) -> None: ..." for number in range(13))
    text = f"class Large(Protocol):\n{methods}\nclass Small(Protocol):\n    async def ask(self) -> None: ...\n"
    heir = "class Heir(Small, Protocol):\n    def more(self) -> None: ...\n"
    assert list(rules.large_ports(parsed("app/ports/large.py", text + heir))) == [
        "app/ports/large.py:Large has 13 methods", "app/ports/large.py:Heir has 1 methods",
    ]  # fmt: skip
    assert list(rules.large_ports(parsed("app/elsewhere.py", text))) == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("4,162 callbacks are owed", ["owed"]),
        ("Owe again", ["Owe"]),
        ("Facts a commit, and what it comes to", ["Facts a commit", "what it comes to"]),
        ("given up, its standing, an orphan", ["given up", "standing", "orphan"]),
        ("three are unmatched", ["three are unmatched"]),
        ("unmatched receipts; {{ host.owed }}; long-standing", []),
    ],
)
def test_unclear_words_are_found(text: str, found: list[str]) -> None:
    assert rules.unclear_words(text) == found


def test_what_commands_and_literals_say_is_read() -> None:
    text = """
def inner():
    'It is owed, in code.'
    say(f"{n} are owed", "owed")

@click.command(cls=Command)
def outer():
    'Tells what is owed.'
"""
    assert sorted(line for line, _ in rules.said(parsed("cli/a.py", text))) == [4, 8]
