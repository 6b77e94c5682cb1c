"""Commands drawn from the description of a resource.

A group has a command for each operation and each preset. For example `app/resources/senders.py` makes
`heliograph sender list`, `add`, `remove`, `approve` and `refuse`.
"""

import secrets
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import click

from heliograph.app.ports.large_tables import PART_ROWS
from heliograph.app.resources.description import Answer, Operation, Preset, Resource
from heliograph.app.resources.desk import Invalid
from heliograph.app.resources.fields import (
    OPEN,
    REQUIRED,
    Choice,
    Credits,
    Decimal,
    Field,
    Flag,
    Many,
    Moment,
    Pairs,
    Reference,
    Rows,
    Text,
    Warnings,
    Whole,
    singular,
)
from heliograph.cli.command import (
    Command,
    Failure,
    Group,
    Invocation,
    examples,
    parse_pairs,
    print_fields,
    print_line,
    print_table,
)
from heliograph.domain.display import did_you_mean

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

MOST_ROWS = 100_000
"""The most rows that a command lists from a list in pages."""

CELL_CHARS = 48
"""The most characters of a long text in a table."""


def group_of(resource: Resource) -> Group:
    """Returns the commands of a resource. Modules of `cli/commands` can add further commands to the group."""
    group = Group(resource.name, help=f"{resource.summary}.\n\n{resource.more}".strip(), epilog=_epilog(resource))
    if resource.name == resource.plural:
        group.invoke_without_command, group.callback = True, _list_by_default
        group.no_args_is_help = False  # the list comes instead
    for operation in (each for each in resource.operations if each.is_command):
        group.add_command(command_of(resource, operation))
        for preset in resource.presets:
            if preset.of == operation.name:
                group.add_command(command_of(resource, operation, preset))
    return group


def _epilog(described: Resource | Operation | Preset) -> str | None:
    return examples(*(f"heliograph {each}" for each in described.examples)) if described.examples else None


def _list_by_default() -> None:
    """Lists the things if a group with the name of its list is called without a command: `heliograph binds`."""
    context = click.get_current_context()
    if context.invoked_subcommand is None:
        context.invoke(cast("click.Group", context.command).commands["list"])


def command_of(resource: Resource, operation: Operation, preset: Preset | None = None, name: str = "") -> click.Command:
    """Returns the command of an operation or of a preset. `name` is its word if it is in another resource's group."""
    sets = preset.sets if preset else {}
    fields = [each for each in resource.fields_of(operation) if each.name not in sets]
    if operation.pairs and not operation.rest:
        fields = fields[: len(operation.in_path)]

    def run(**texts: Any) -> None:
        invocation = click.get_current_context().ensure_object(Invocation)
        has_pages = operation.page or operation.order
        limit, after = (texts.pop("limit"), texts.pop("after", "")) if has_pages else (None, "")
        with invocation.explained():
            given = {each.name: value for each in fields if (value := _value(each, texts[each.name])) is not None}
            for name, value in _pairs(operation, texts.get("changes", ())).items():
                given[name] = {**given.get(name, {}), **value} if name == operation.rest else value
        named_by = next((each for each in fields if each.names_request), None)
        if named_by is not None:
            given.setdefault(named_by.name, secrets.token_hex(8))
        if operation.rest and len(given) == len(operation.in_path):
            typed = " ".join([click.get_current_context().command_path, *given.values(), "--help"])
            raise Failure("There is nothing to change: give KEY=VALUE.", command=typed)
        given |= sets
        if has_pages:
            answer = _pages(invocation, resource, operation, given, after, limit)
        else:
            try:
                answer = invocation.ask(resource, operation.name, given)
            except Failure as failure:
                if named_by is not None and getattr(failure.__cause__, "status", None) == 0:
                    again = f"{option_of(named_by)} {given[named_by.name]}"
                    failure.hint = f"It may have been done. To try again without doing it twice, add {again}"
                raise
        show(invocation, resource, operation, given, answer, preset)

    shown = preset or operation
    params = [_parameter(each, operation) for each in fields] + _paging(resource, operation)
    epilog = _epilog(shown)
    if operation.pairs and not preset:
        words = "[KEY=VALUE]..." if operation.rest else "KEY=VALUE..."
        params.append(
            click.Argument(
                ["changes"], metavar=words, nargs=-1, required=not operation.rest, shell_complete=_keys_of(operation)
            )
        )
    if operation.pairs and not operation.rest and not preset:
        width = max(len(each.name) for each in operation.reads)
        known = {each.name: f"  {each.name:{width}}  {each.meaning}" for each in operation.reads}
        groups = [f"\b\n{title}:\n" + "\n".join(map(known.__getitem__, names)) for title, names in operation.groups]
        epilog = "\n\n".join([*(groups or ["\b\nFields:\n" + "\n".join(known.values())]), epilog or ""])
    # Otherwise click would take a negative amount, such as -12.5, for an option.
    is_signed = any(isinstance(each.type, Credits) for each in fields if each.name in operation.positional)
    return Command(
        name or shown.name,
        params=params,
        callback=run,
        help=f"{shown.summary}." + (f"\n\n{operation.more}" if operation.more and not preset else ""),
        epilog=epilog,
        context_settings={"ignore_unknown_options": True} if is_signed else {},
    )


def _keys_of(operation: Operation) -> "Callable[[click.Context, click.Parameter, str], list[CompletionItem]]":
    """Returns the function that completes `r` to `rate=` in the shell."""

    def complete(_context: click.Context, _parameter: click.Parameter, begin: str) -> "list[CompletionItem]":
        from click.shell_completion import CompletionItem

        names = [each for each in operation.reads if each.name != operation.rest and each.name.startswith(begin)]
        return [CompletionItem(f"{each.name}=", help=each.hint) for each in names]

    return complete


def parameters_of(operation: Operation) -> list[click.Parameter]:
    """Returns the options of the fields that an operation reads, for a command that is not drawn."""
    return [_parameter(each, operation) for each in operation.reads]


def values_of(operation: Operation, texts: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the JSON values of these options. Raises Invalid."""
    return {each.name: value for each in operation.reads if (value := _value(each, texts[each.name])) is not None}


def _pairs(operation: Operation, changes: Iterable[str]) -> dict[str, Any]:
    """Returns the JSON values of KEY=VALUE arguments. Raises Invalid."""
    known = {each.name: each for each in operation.reads}
    given: dict[str, Any] = {}
    for typed, text in parse_pairs(changes).items():
        bare = typed.replace("-", "_")
        name = bare if bare in known else typed  # `max-waiting`, as the option of `account create` is spelled
        if name in given:
            raise Failure(f"{name} is given twice")
        if name in known and name != operation.rest:
            given[name] = known[name].show(known[name].read(known[name].parse(text)))
        elif operation.rest:
            given.setdefault(operation.rest, {})[name] = text
        else:
            hint = did_you_mean(name, known, or_list=not operation.groups)  # the help has the groups
            raise Invalid(name, f"there is no such field{hint}")
    return given


def show(
    invocation: Invocation,
    resource: Resource,
    operation: Operation,
    given: Mapping[str, Any],
    answer: Mapping[str, Any],
    preset: Preset | None = None,
) -> None:
    """Prints the answer of a command: a table of rows, the sentence of an operation, or a line for each field."""
    sentence = resource.format_done(operation, given, answer, preset)
    fields, result = resource.fields, dict(answer)
    if operation.answers is Answer.EACH:
        _show_rows(invocation, resource, operation, given, answer)
        return
    tables: list[Field] = []
    if isinstance(operation.answers, tuple):
        tables = [each for each in operation.answers if isinstance(each.type, Rows) and each.type.is_table]
        fields = tuple(each for each in operation.answers if each not in tables)
        included = operation.in_path if operation.method == "GET" else given  # filters do not belong to the answer
        result = {**{name: given[name] for name in included}, **answer}
    elif operation.answers is Answer.DONE:
        result = {**given, operation.result: True}
    # A typed secret is not printed. A secret in the answer was made by the gateway, and is printed once.
    typed = {each.name for each in (*fields, *operation.reads) if each.is_secret and answer.get(each.name) is None}
    result = {name: value for name, value in result.items() if name not in typed}
    sentence = _with_secrets(sentence, fields, answer)
    lines = [(each.name, each.text(answer[each.name])) for each in fields if each.name in answer]
    if operation.pairs:
        lines = [
            (each.name, each.text(answer[each.name])) for each in operation.reads if each.name in given.keys() & answer
        ]
    for warning in (text for each in fields if isinstance(each.type, Warnings) for text in answer.get(each.name, ())):
        print_line(f"note: {warning}", err=True)

    def people() -> None:
        if sentence:
            print_line(sentence)
        elif lines:
            _print_groups(lines, () if operation.pairs else operation.groups)
        for table in tables:
            if isinstance(table.type, Rows) and answer[table.name]:
                print_line(f"\n{table.meaning}\n")
                _print_columns(table.type.of, answer[table.name])

    invocation.show(_named(resource, operation, result), people)
    if operation.verdict and not answer[operation.verdict]:
        raise SystemExit(1)


def _print_groups(lines: Sequence[tuple[str, str]], groups: Sequence[tuple[str, Sequence[str]]]) -> None:
    """Prints fields by their groups, first the fields without a group."""
    texts = dict(lines)
    grouped = {name for _, names in groups for name in names}
    print_fields([line for line in lines if line[0] not in grouped])
    for title, names in groups:
        print_line(f"\n{title}")
        print_fields([(name, texts[name]) for name in names])


def _with_secrets(sentence: str, fields: Iterable[Field], answer: Mapping[str, Any]) -> str:
    """Returns the sentence with the secrets that the operation made. Later answers do not have them."""
    secrets = [each for each in fields if each.is_secret and answer.get(each.name) is not None]
    for each in secrets:
        if answer[each.name] not in sentence:
            sentence += f"\n{each.label}: {answer[each.name]}"
    if secrets:
        sentence += "\nIt is shown only now." if len(secrets) == 1 else f"\n\n{_SHOWN_ONCE}"
    return sentence


_SHOWN_ONCE = "These secrets are shown only now. Store them; you can make new secrets later."


def _named(resource: Resource, operation: Operation, row: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the values of a row under all names that they have in a command's --json."""
    names = {**resource.also, **operation.also}
    return {**{name: row[of] for name, of in names.items() if of in row}, **row}


def _show_rows(
    invocation: Invocation,
    resource: Resource,
    operation: Operation,
    given: Mapping[str, Any],
    answer: Mapping[str, Any],
) -> None:
    rows, cursor = answer[resource.plural], answer.get("cursor")
    columns = [resource.field(name) for name in resource.columns] or resource.fields

    def people() -> None:
        _print_columns(columns, rows, resource.nothing)
        for each in operation.beside:
            if answer[each.name] is not None:
                print_line(f"{each.label}: {each.text(answer[each.name])}")
        if cursor:
            click.echo(f"There may be more: {_further(operation)} {cursor}", err=True)

    named = {name: given[of] for name, of in resource.also.items() if of in given}
    result = {**named, **answer, resource.plural: [_named(resource, operation, each) for each in rows]}
    invocation.show(result, people)


def _print_columns(columns: Sequence[Field], rows: list[dict[str, Any]], empty: str = "") -> None:
    print_table(
        [each.name.upper().replace("_", " ") for each in columns],
        [[each.cell(row) if each.cell else _cell(each, row.get(each.name)) for each in columns] for row in rows],
        empty=empty,
        right=[each.name.upper() for each in columns if isinstance(each.type, Whole | Decimal | Credits)],
    )


def _cell(field: Field, value: Any) -> str:
    text = field.text(value)
    if isinstance(field.type, Text) and field.type.is_long:
        text = " ".join(text.splitlines())
        return text if len(text) <= CELL_CHARS else f"{text[: CELL_CHARS - 3]}..."
    return text


def _further(operation: Operation) -> str:
    return "--before" if operation.newest_first else "--after"


def _pages(
    invocation: Invocation,
    resource: Resource,
    operation: Operation,
    given: dict[str, Any],
    after: str,
    limit: int | None,
) -> dict[str, Any]:
    """Fetches pages until there are `limit` rows, or until the last page without a `limit`."""
    rows: list[Any] = []
    most = operation.page or PART_ROWS
    cursor: str | None = after.removeprefix("+") or None
    answer: dict[str, Any] = {}
    while limit is None or len(rows) < limit:
        page = {"limit": most if limit is None else min(most, limit - len(rows)), "cursor": cursor}
        answer = invocation.ask(resource, operation.name, {**given, **page})
        rows += answer[resource.plural]
        cursor = answer.get("cursor")
        if cursor is None:
            break
    answer = {**answer, resource.plural: rows, "cursor": cursor}
    if operation.order:
        del answer["cursor"]  # a command has no option for it
    return answer


def each_row(invocation: Invocation, resource: Resource, given: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yields the rows of a list that has an `order`, with a page in memory at a time."""
    cursor: str | None = None
    while True:
        answer = invocation.ask(resource, "list", {**given, "limit": PART_ROWS, "cursor": cursor})
        yield from answer[resource.plural]
        cursor = answer.get("cursor")
        if cursor is None:
            return


def _paging(resource: Resource, operation: Operation) -> list[click.Parameter]:
    if operation.order:
        return [click.Option(["--limit"], type=click.IntRange(1), help="The most rows [all].")]
    if not operation.page:
        return []
    key = "cursor" if operation.cursor_has_time else resource.key[-1]
    bounds = click.IntRange(1, MOST_ROWS)
    option = _further(operation)
    start = "the page with this cursor" if operation.cursor_has_time else f"this {key}"
    hint = f"Only rows {option.removeprefix('--')} {start}."
    return [
        click.Option([option, "after"], metavar=key.upper(), default="", help=hint),
        click.Option(["--limit"], type=bounds, default=operation.rows, show_default=True, help="The most rows."),
    ]


def _parameter(field: Field, operation: Operation) -> click.Parameter:
    several = isinstance(field.type, Many | Pairs)
    single = singular(field)
    if field.name in operation.positional:
        metavar = single.name.upper() + ("..." if several else "")
        given: dict[str, Any] = {"required": True}
        if field.default is not REQUIRED:
            metavar = f"[{metavar}]"
            given = {"required": False, "default": field.show(field.default)}
        return click.Argument([field.name], metavar=metavar, nargs=-1 if several else 1, **given)
    if field.is_secret:
        hint = f"Ask for the {field.name}, instead of a random {field.name}."
        return click.Option(["--ask", field.name], is_flag=True, help=hint)
    if isinstance(single.type, Flag) and single.type.off:
        return click.Option([f"{option_of(field)}/--{single.type.off}", field.name], default=None, help=field.meaning)
    default = field.show(field.default) if field.default not in OPEN else None
    kind = partial(_EitherOption, other=field.or_else) if field.or_else else click.Option
    unless = f"  [required without --{field.or_else}]" if field.or_else else ""
    return kind(
        [option_of(field), field.name],
        required=field.default is REQUIRED or (field.must_be_typed and not field.or_else),
        default=default or None,
        show_default=bool(default),
        multiple=several,
        help=f"{field.meaning} Repeatable." if isinstance(field.type, Pairs) else field.meaning + unless,
        **_click_type(single),
    )


class _EitherOption(click.Option):
    """An option that must be given, unless another option is."""

    def __init__(self, *args: Any, other: str, **more: Any) -> None:
        super().__init__(*args, **more)
        self._other = other

    def handle_parse_result(
        self, ctx: click.Context, opts: Mapping[str, Any], args: list[str]
    ) -> tuple[Any, list[str]]:
        if not {self.name, self._other} & opts.keys() and not ctx.resilient_parsing:
            raise click.MissingParameter(ctx=ctx, param=self, param_hint=f"'{self.opts[0]}' or '--{self._other}'")
        return super().handle_parse_result(ctx, opts, args)


def option_of(field: Field) -> str:
    """Returns the option for a field, or for a single value of it: `--tlv` for `tlvs`."""
    name = field.name.removesuffix("s") if isinstance(field.type, Pairs) else singular(field).name
    return f"--{name.replace('_', '-')}"


def _click_type(field: Field) -> dict[str, Any]:
    match field.type:
        case Choice():
            return {"type": click.Choice(field.type.words)}
        case Flag():
            return {"is_flag": True}
        case Reference():
            return {"metavar": "NAME"}
        case Whole():
            return {"metavar": "N"}
        case Decimal():
            return {"metavar": "NUMBER"}
        case Moment():
            return {"metavar": "TIME"}
        case Pairs():
            return {"metavar": "NAME=VALUE"}
    return {"metavar": "TEXT"}


def _typed() -> str:
    """Asks for a secret on a terminal, else reads a line of standard input."""
    if not sys.stdin.isatty():
        return sys.stdin.readline().rstrip("\n")
    secret: str = click.prompt("Password", hide_input=True, confirmation_prompt=True, err=True)
    return secret


def _value(field: Field, given: Any) -> Any:
    """Returns the normalised JSON value of an option or argument, or None if it is missing. Raises Invalid."""
    if given is None or given == () or (given is False and not (isinstance(field.type, Flag) and field.type.off)):
        return None
    if field.is_secret:
        given = _typed()
    if isinstance(field.type, Pairs):
        try:
            return field.show(field.read(field.type.parse_each(given)))
        except ValueError as problem:
            raise Invalid(field.name, str(problem)) from None
    if isinstance(field.type, Many):
        value = [field.type.of.parse(each) for each in given]
    else:
        value = field.parse(given) if isinstance(given, str) else given
    return field.show(field.read(value))
