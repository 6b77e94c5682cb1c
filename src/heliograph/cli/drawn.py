"""Commands drawn from the description of a resource: a group with a command for each operation and each preset."""

from collections.abc import Mapping
from typing import Any, cast

import click

from heliograph.app.resources.description import Answer, Operation, Preset, Resource
from heliograph.app.resources.fields import (
    OPEN,
    REQUIRED,
    Choice,
    Field,
    Flag,
    Many,
    Moment,
    Reference,
    Whole,
    singular,
)
from heliograph.cli.command import Command, Group, Invocation, examples, print_fields, print_table, tell

MOST_ROWS = 100_000
"""Rows that one command lists, of a list in pages."""


def group_of(resource: Resource) -> Group:
    """Returns the commands of a resource; others can be added to the group, in modules of `cli` with its name."""
    group = Group(resource.name, help=f"{resource.summary}.\n\n{resource.more}")
    if resource.name == resource.plural:
        group.invoke_without_command, group.callback = True, _list_by_default
    for operation in resource.operations:
        group.add_command(command_of(resource, operation))
        for preset in resource.presets:
            if preset.of == operation.name:
                group.add_command(command_of(resource, operation, preset))
    return group


def _list_by_default() -> None:
    """Lists the things where a group with the name of its list is called without a command: `heliograph binds`."""
    context = click.get_current_context()
    if context.invoked_subcommand is None:
        context.invoke(cast("click.Group", context.command).commands["list"])


def command_of(resource: Resource, operation: Operation, preset: Preset | None = None) -> click.Command:
    sets = preset.sets if preset else {}
    fields = [each for each in resource.fields_of(operation) if each.name not in sets]

    def run(**texts: Any) -> None:
        invocation = click.get_current_context().ensure_object(Invocation)
        limit = texts.pop("limit", 0)
        after = texts.pop("after", "")
        with invocation.explained():
            given = {each.name: value for each in fields if (value := _value(each, texts[each.name])) is not None}
        given |= sets
        if operation.page:
            answer = _pages(invocation, resource, operation, given, after, limit)
        else:
            answer = invocation.ask(resource, operation.asked(given))
        show(invocation, resource, operation, given, answer)

    shown = preset or operation
    return Command(
        shown.name,
        params=[_parameter(each, operation) for each in fields] + _paging(resource, operation),
        callback=run,
        help=f"{shown.summary}." + (f"\n\n{operation.more}" if operation.more else ""),
        epilog=examples(*(f"heliograph {each}" for each in shown.examples)) if shown.examples else None,
    )


def show(
    invocation: Invocation,
    resource: Resource,
    operation: Operation,
    given: Mapping[str, Any],
    answer: Mapping[str, Any],
) -> None:
    """Answers a command: rows as a table, a thing by the line or by its sentence, a change with what was given."""
    if operation.answers is Answer.EACH:
        rows = answer[resource.plural]
        invocation.show(dict(answer), lambda: _print_rows(resource, rows, answer.get("cursor")))
    elif operation.answers is Answer.ITEM:
        lines = [(each.name, each.text(answer[each.name])) for each in resource.fields]
        told = resource.told(operation, given, answer)
        invocation.show(dict(answer), lambda: tell(told) if told else print_fields(lines))
    else:
        result = {**given, **({"removed": True} if operation.answers is Answer.DONE else answer)}
        invocation.show(result, lambda: tell(resource.told(operation, given, answer)))


def _print_rows(resource: Resource, rows: list[dict[str, Any]], cursor: str | None) -> None:
    columns = resource.fields
    print_table(
        [each.name.upper() for each in columns],
        [[each.text(row[each.name]) for each in columns] for row in rows],
        empty=resource.nothing,
        right=[each.name.upper() for each in columns if isinstance(each.type, Whole)],
    )
    if cursor:
        click.echo(f"There may be more: --after {cursor}", err=True)


def _pages(
    invocation: Invocation, resource: Resource, operation: Operation, given: dict[str, Any], after: str, limit: int
) -> dict[str, Any]:
    """Asks for pages until there are `limit` rows or no more."""
    rows: list[Any] = []
    cursor: str | None = after.removeprefix("+") or None
    while len(rows) < limit:
        page = {"limit": min(operation.page, limit - len(rows)), "cursor": cursor}
        answer = invocation.ask(resource, operation.asked({**given, **page}))
        rows += answer[resource.plural]
        cursor = answer["cursor"]
        if cursor is None:
            break
    return {resource.plural: rows, "cursor": cursor}


def _paging(resource: Resource, operation: Operation) -> list[click.Parameter]:
    if not operation.page:
        return []
    key = resource.key[-1]
    bounds = click.IntRange(1, MOST_ROWS)
    return [
        click.Option(["--after"], metavar=key.upper(), default="", help=f"Only what comes after this {key}."),
        click.Option(["--limit"], type=bounds, default=100, show_default=True, help="Lines at most."),
    ]


def _parameter(field: Field, operation: Operation) -> click.Parameter:
    several = isinstance(field.type, Many)
    one = singular(field)
    if field.name in operation.arguments:
        metavar = one.name.upper() + ("..." if several else "")
        return click.Argument([field.name], metavar=metavar, nargs=-1 if several else 1, required=True)
    default = field.type.show(field.default) if field.default not in OPEN else None
    return click.Option(
        [f"--{one.name.replace('_', '-')}", field.name],
        required=field.default is REQUIRED,
        default=default or None,
        show_default=bool(default),
        multiple=several,
        help=field.meaning,
        **_click_type(one),
    )


def _click_type(field: Field) -> dict[str, Any]:
    match field.type:
        case Choice():
            return {"type": click.Choice([each.value for each in field.type.of])}
        case Flag():
            return {"is_flag": True}
        case Reference():
            return {"metavar": "NAME"}
        case Whole():
            return {"metavar": "N"}
        case Moment():
            return {"metavar": "TIME"}
    return {"metavar": "TEXT"}


def _value(field: Field, given: Any) -> Any:
    """Returns the JSON value of what was typed in its usual form, None for nothing. Raises Invalid."""
    if given is None or given is False:
        return None
    if isinstance(field.type, Many):
        value = [field.type.of.parse(each) for each in given]
    else:
        value = field.parse(given) if isinstance(given, str) else given
    return field.type.show(field.read(value))
