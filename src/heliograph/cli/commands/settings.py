"""`heliograph settings`: the settings in force, with their defaults and variables."""

from itertools import groupby

import click

from heliograph.cli.command import Command, Invocation, examples, print_table

_COLUMNS = ("SETTING", "VALUE", "UNIT", "DEFAULT", "VARIABLE")


@click.command(
    cls=Command,
    epilog=examples("heliograph settings", "heliograph settings --example > heliograph-data/heliograph.toml"),
)
@click.option("--example", is_flag=True, help="Print a settings file with all settings, their meanings and defaults.")
@click.pass_obj
def settings(invocation: Invocation, example: bool) -> None:
    """Shows the settings in force."""
    from heliograph import config
    from heliograph.cli.reference import example_file, to_toml

    if example and not invocation.as_json:
        click.echo(example_file(), nl=False)
        return
    current = invocation.settings()
    values = {entry.key: getattr(getattr(current, entry.section), entry.name) for entry in config.entries()}
    for entry in config.entries():
        if entry.secret and values[entry.key] != entry.default:
            values[entry.key] = "(set, but not shown)"

    def people() -> None:
        click.echo(f"data directory  {current.data}")
        click.echo(f"settings file   {current.file or 'none: defaults and variables'}\n")
        rows: list[tuple[str, ...]] = []
        for _, entries in groupby(config.entries(), lambda entry: entry.section):
            rows += [("",) * len(_COLUMNS)] if rows else []
            rows += [
                (
                    entry.key,
                    to_toml(values[entry.key]),
                    entry.unit,
                    "" if values[entry.key] == entry.default else to_toml(entry.default),
                    entry.variable,
                )
                for entry in entries
            ]
        print_table(_COLUMNS, rows, empty="")

    file = None if current.file is None else str(current.file)
    invocation.show({"data": str(current.data), "file": file, "settings": values}, people)
