"""`heliograph network`: the mobile networks of numbers."""

import click

from heliograph.app.resources.networks import NETWORKS, ROW
from heliograph.cli.command import Failure, Invocation, examples, print_fields, tell
from heliograph.cli.drawn import group_of
from heliograph.domain.display import counted

_SHOWN_PROBLEMS = 20

network = group_of(NETWORKS)


@network.command(
    "import",
    epilog=examples("heliograph network import numbering.csv", "heliograph network import numbering.csv --replace"),
)
@click.argument("file", metavar="FILE")
@click.option("--replace", is_flag=True, help="Leave no other prefixes than those of the file.")
@click.pass_obj
def import_networks(invocation: Invocation, file: str, replace: bool) -> None:
    """Sets the prefixes of a list, all or none; - is standard input.

    The list is CSV in UTF-8 with a heading that names its columns: prefix, mccmnc and, where wanted, name."""
    from heliograph.app.admin.csv_rows import Sheet

    try:
        with click.open_file(file, encoding="utf-8") as lines:
            sheet = Sheet(lines, ROW, ("prefix", "mccmnc"), ("prefix",), "prefix")
    except UnicodeDecodeError as problem:
        raise Failure(f"{file} is no UTF-8.", "Nothing was imported. Save it as CSV in UTF-8.") from problem
    except OSError as problem:
        raise Failure(f"{file} cannot be read: {problem.strerror or problem}", "Nothing was imported.") from problem
    for line in sheet.bad[:_SHOWN_PROBLEMS]:
        tell(str(line), err=True)
    if len(sheet.bad) > _SHOWN_PROBLEMS:
        tell(f"... and {len(sheet.bad) - _SHOWN_PROBLEMS} more", err=True)
    if sheet.bad:
        raise Failure(f"{counted(len(sheet.bad), 'line')} of {file} cannot be used.", "Nothing was imported.")
    if not sheet.rows:
        raise Failure(f"{file} has no prefix.", "Nothing was imported.")
    asked = NETWORKS.operation("import").asked({"networks": sheet.rows, "replace": replace})
    changes = invocation.ask(NETWORKS, asked)
    invocation.show(
        {"networks": len(sheet.rows), **changes},
        lambda: print_fields([(name, changes[name]) for name in ("added", "changed", "same", "removed")]),
    )
