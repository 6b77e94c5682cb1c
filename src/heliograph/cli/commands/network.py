"""`heliograph network`: the mobile networks of numbers."""

import click

from heliograph.app.resources.networks import NETWORKS, ROW
from heliograph.cli.command import Failure, Invocation, examples, print_fields
from heliograph.cli.drawn import group_of
from heliograph.domain.display import counted

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

    The file is in UTF-8. Its heading has the columns prefix and mccmnc, and optionally name. Other
    columns are ignored and named. For example:

    \b
      prefix,mccmnc,name
      49151,26201,Telekom
    """
    from heliograph.app.admin.csv_rows import Sheet
    from heliograph.cli.lists.reading import elapsed, read_file, refuse_bad

    sheet = read_file(file, lambda lines: Sheet(lines, ROW, ("prefix", "mccmnc"), ("prefix",), "prefix"))
    refuse_bad(sheet.bad, file, sheet.ignored)
    if not sheet.rows:
        raise Failure(f"{file} has no prefixes.", "Nothing was imported.")
    with elapsed(f"writing {counted(len(sheet.rows), 'prefix', 'prefixes')}", hidden=invocation.as_json):
        changes = invocation.ask(NETWORKS, "import", {"networks": sheet.rows, "replace": replace})
    invocation.show(
        {"networks": len(sheet.rows), **changes},
        lambda: print_fields([(name, changes[name]) for name in ("added", "changed", "same", "removed")]),
    )
