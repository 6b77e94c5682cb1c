"""Completion in the shell: which words of a command line are names, and of what."""

from collections.abc import Iterator

import click
import pytest

from heliograph.cli.main import heliograph
from heliograph.cli.names import kind_of
from tests.support.cases import for_each


def commands(command: click.Command, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Yields each command with its words, but groups without a command."""
    if isinstance(command, click.Group):
        for name, each in command.commands.items():
            yield from commands(each, (*path, name))
    else:
        yield path, command


ALL = [each for name in heliograph.commands for each in commands(heliograph.commands[name], (name,))]


@for_each(("path", "command"), ALL)
def test_each_command_completes_the_names_that_it_takes(path: tuple[str, ...], command: click.Command) -> None:
    for option in (each for each in command.params if isinstance(each, click.Option)):
        word = option.opts[0].removeprefix("--")
        kind = {"campaign": "", "user": "account", "to": "connector"}.get(word, word)
        if option.metavar == "NAME" and kind != "context":
            assert kind_of([*path, option.opts[0]], "") == kind
    arguments = [each for each in command.params if isinstance(each, click.Argument)]
    first = arguments[0].name if arguments else ""
    if path[-1] in ("add", "create", "import", "list"):
        first = ""
    group = " ".join(path[:-1])
    expected = {
        "name": {"admin": "user"}.get(group, path[0]),
        "account": "account" if path[0] == "key" else "",
        "route_id": "route",
        "id": {"admin token": "token"}.get(group, path[0]),
    }.get(str(first), "")
    if path[0] in ("inbound", "message", "binds"):
        expected = ""  # there are too many
    assert kind_of(path, "") == expected
    assert kind_of(path, "-") == ""


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ("", ""),
        ("account", ""),
        ("account --data d show", "account"),
        ("account show acme", ""),
        ("--json account show", "account"),
        ("template set --account acme", "template"),
        ("template set --text x", ""),
        ("admin token", ""),
        ("queue move --to", "connector"),
        ("report --to", ""),
    ],
)
def test_options_do_not_shift_the_argument(words: str, kind: str) -> None:
    assert kind_of(words.split(), "") == kind
