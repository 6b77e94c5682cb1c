"""`heliograph network`: the mobile networks of numbers."""

import click

from heliograph.app.resources.networks import NETWORKS, ROW
from heliograph.cli.command import Failure, Invocation, examples, print_fields, print_line
from heliograph.cli.drawn import group_of
from heliograph.domain.display import counted

_SHOWN_PROBLEMS = 20

network = group_of(NETWORKS)


@network.command(
    "import",
    epilog=examples("heliograph network import numbering.csv", "heliograph network import numbering.csv --replace"),
)
@click.argument("file", metavar="FILE")
@click.option("--replace", is_flag=True, help="Remove all prefixes that are not in the file.")
@click.pass_obj
def import_networks(invocation: Invocation, file: str, replace: bool) -> None:
    """Sets the prefixes of a CSV file, all or none; - is standard input.

    The file is in UTF-8. Its heading has the columns prefix and mccmnc, and optionally name. For example:

    \b
      prefix,mccmnc,name
      49151,26201,Telekom
    """
    from heliograph.app.admin.csv_rows import Sheet
    from heliograph.cli.lists.reading import read_file

    sheet = read_file(file, lambda lines: Sheet(lines, ROW, ("prefix", "mccmnc"), ("prefix",), "prefix"))
    for line in sheet.bad[:_SHOWN_PROBLEMS]:
        print_line(str(line), err=True)
    if len(sheet.bad) > _SHOWN_PROBLEMS:
        print_line(f"... and {len(sheet.bad) - _SHOWN_PROBLEMS} more", err=True)
    if sheet.bad:
        raise Failure(f"{counted(len(sheet.bad), 'line')} of {file} cannot be used.", "Nothing was imported.")
    if not sheet.rows:
        raise Failure(f"{file} has no prefixes.", "Nothing was imported.")
    asked = NETWORKS.operation("import").asked({"networks": sheet.rows, "replace": replace})
    changes = invocation.ask(NETWORKS, asked)
    invocation.show(
        {"networks": len(sheet.rows), **changes},
        lambda: print_fields([(name, changes[name]) for name in ("added", "changed", "same", "removed")]),
    )
