"""`heliograph network`: the mobile networks of numbers."""

import click

from heliograph.app.resources.networks import NETWORKS, ROW
from heliograph.cli.command import Failure, Invocation, examples
from heliograph.cli.drawn import group_of
from heliograph.domain.display import counted

network = group_of(NETWORKS)


@network.command(
    "import",
    epilog=examples(
        "heliograph network import numbering.csv --dry-run     # only counts the changes",
        "heliograph network import numbering.csv --replace",
    ),
)
@click.argument("file", metavar="FILE")
@click.option("--replace", is_flag=True, help="Remove all prefixes that are not in the file.")
@click.option("--dry-run", is_flag=True, help="Only count the changes, without making them.")
@click.pass_obj
def import_networks(invocation: Invocation, file: str, replace: bool, dry_run: bool) -> None:
    """Sets the prefixes of a CSV file, all or none; - is standard input.

    The file is in UTF-8. Its heading has the columns prefix and mccmnc, and optionally name. Other
    columns are ignored and named. For example:

    \b
      prefix,mccmnc,name
      49151,26201,Telekom
    """
    from heliograph.app.admin.csv_rows import Sheet
    from heliograph.cli.lists.reading import elapsed, read_file, refuse_bad, show_changes

    sheet = read_file(file, lambda lines: Sheet(lines, ROW, ("prefix", "mccmnc"), ("prefix",), "prefix"))
    refuse_bad(sheet.bad, file, sheet.ignored)
    if not sheet.rows:
        raise Failure(f"{file} has no prefixes.", "Nothing was imported.")
    given = {"networks": sheet.rows, "replace": replace, "dry_run": dry_run}
    what = counted(len(sheet.rows), "prefix", "prefixes")
    with elapsed(f"{'comparing' if dry_run else 'writing'} {what}", hidden=invocation.as_json):
        changes = invocation.ask(NETWORKS, "import", given)
    show_changes(invocation, {"networks": len(sheet.rows), **changes, "dry_run": dry_run})
