"""`heliograph erase` and `heliograph export-recipient`: the stored data of a phone."""

import json
import os
from pathlib import Path

import click

from heliograph.app.resources.recipients import RECIPIENTS
from heliograph.cli.command import Command, Failure, Invocation, examples, print_line, print_table
from heliograph.domain.display import counted

_account = click.option("--account", metavar="NAME", default="", help="Only data of this account.")


@click.command(
    cls=Command,
    epilog=examples(
        "heliograph erase 4917012345678 --dry-run          # only shows the data",
        "heliograph erase 4917012345678",
        "heliograph erase 4917012345678 --account acme --json",
    ),
)
@click.argument("number")
@_account
@click.option("--dry-run", is_flag=True, help="Only show the data, without erasing.")
@click.pass_obj
def erase(invocation: Invocation, number: str, account: str, dry_run: bool) -> None:
    """Erases the number of a phone and its texts.

    Messages that wait for the phone are cancelled and refunded. Messages that are in flight or have a pending callback
    are erased when they are done. Ledger entries stay. A digest of the number stays too if the phone opted out, so that
    it remains suppressed. Backups are not changed.
    """
    order = {"number": number, "account": account, "dry_run": dry_run}
    answer = invocation.ask(RECIPIENTS, "erase", order)

    def people() -> None:
        columns = ("what", "found", "erased", "cancelled", "left", "note")
        print_table(
            ("DATA", "FOUND", "WOULD BE ERASED" if dry_run else "ERASED", "CANCELLED", "LEFT", ""),
            [[line[name] for name in columns] for line in answer["lines"] if line["found"]],
            empty=f"No data of {answer['number']} are stored.",
        )
        print_line("\nData that stay, and why:")
        for each in answer["kept"]:
            print_line(f"  {each['what']}: {each['why']}")

    invocation.show(answer, people)


@click.command(
    "export-recipient",
    cls=Command,
    epilog=examples(
        "heliograph export-recipient 4917012345678 4917012345678.json",
        "heliograph export-recipient 4917012345678 - --account acme",
    ),
)
@click.argument("number")
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path, dir_okay=False, allow_dash=True))
@_account
@click.pass_obj
def export_recipient(invocation: Invocation, number: str, file: Path, account: str) -> None:
    """Writes all stored data of a phone as JSON.

    The file has the texts of messages too. FILE must not exist yet; only you can read it. `-` is standard output.
    """
    answer = invocation.ask(RECIPIENTS, "export", {"number": number, "account": account})
    octets = json.dumps(answer, indent=2, ensure_ascii=False).encode() + b"\n"
    if str(file) == "-":
        click.echo(octets, nl=False)
        return
    try:
        with os.fdopen(os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as written:
            written.write(octets)
    except OSError as problem:
        raise Failure(f"{file} cannot be written: {problem.strerror}", "Give a file that does not exist yet.") from None
    sent, came = answer["messages"], answer["inbound"]
    invocation.show(
        {"file": str(file), "messages": len(sent), "inbound": len(came), "complete": answer["complete"]},
        lambda: print_line(f"{file} has {counted(len(sent), 'message')} to it and {len(came):,} from it."),
    )
