"""Commands drawn from the description of a resource, once for all."""

import json
import shlex
from typing import Any

import click
import pytest

from heliograph.admin_api.operations import RESOURCES
from heliograph.app.resources.description import Answer, Operation, Resource
from heliograph.cli.drawn import option_of
from heliograph.cli.main import heliograph
from tests.support.resources import NAMES, key_of, sample_of, with_operations

ALL = pytest.mark.parametrize(
    "resource", [each for each in RESOURCES if each.name in heliograph.commands], ids=lambda each: each.plural
)
REMOVABLE = pytest.mark.parametrize(
    "resource", with_operations(RESOURCES, "add", "remove"), ids=lambda each: each.plural
)


@pytest.fixture(autouse=True)
def things(run: Any) -> None:
    assert run("account", "create", NAMES["account"], "--credit", "1").exit_code == 0
    bind = ("--host", "127.0.0.1", "--port", "2775", "--system-id", "acme", "--password", "secret")
    assert run("connector", "add", NAMES["connector"], *bind).exit_code == 0


def words(resource: Resource, operation: Operation, given: dict[str, Any]) -> list[str]:
    """The command line that gives these values."""
    line = [resource.name, operation.name]
    for field in resource.fields_of(operation):
        if field.name in given:
            value = given[field.name]
            texts = [str(each) for each in value] if isinstance(value, list) else [field.type.text(value)]
            option = [] if field.name in operation.positional else [option_of(field)]
            line += [word for text in texts for word in (*option, text)]
    return line


@REMOVABLE
def test_a_thing_is_added_listed_and_removed(run: Any, resource: Resource) -> None:
    add, remove, listing = (resource.operation(name) for name in ("add", "remove", "list"))
    narrowed = {each.name: NAMES["account"] for each in resource.fields_of(listing) if each.name == "account"}
    list_it = words(resource, listing, narrowed)
    assert run(*list_it).stdout == f"{resource.nothing}\n"
    given = sample_of(resource, add)
    added = json.loads(run(*words(resource, add, given), "--json").stdout)
    (row,) = json.loads(run(*list_it, "--json").stdout)[resource.plural]
    assert added.items() >= (row if add.answers is Answer.ITEM else given).items()
    head = run(*list_it).stdout.splitlines()[0]
    assert all(each.name.upper() in head for each in resource.fields)
    key = key_of(resource, remove, row)
    removed = run(*words(resource, remove, key), "--json")
    assert json.loads(removed.stdout) == {**key, "removed": True}
    gone = run(*words(resource, remove, key))
    assert (gone.exit_code, "There is no" in gone.stderr) == (1, True)
    assert f"heliograph {resource.name} list" in gone.stderr


@ALL
def test_each_example_can_be_typed(resource: Resource) -> None:
    group = heliograph.commands[resource.name]
    shown = [(each.name, each.examples) for each in resource.operations]
    for word, lines in shown + [(each.name, each.examples) for each in resource.presets]:
        for line in lines:
            name, *arguments = shlex.split(line.partition(" | ")[0], comments=True)
            command = group
            if isinstance(group, click.Group):
                assert arguments.pop(0) == word
                command = group.commands[word]
            assert name == resource.name
            command.make_context(word, arguments)


LISTS = [
    each.name
    for each in RESOURCES
    if each.name == each.plural and isinstance(heliograph.commands.get(each.name), click.Group)
]


@pytest.mark.parametrize("name", LISTS)
def test_a_group_with_the_name_of_its_list_lists(run: Any, name: str) -> None:
    alone, listed = run(name), run(name, "list")
    assert (alone.exit_code, alone.stdout) == (0, listed.stdout)
    assert "Usage:" not in alone.output
