"""`heliograph erase` and `heliograph export-recipient`: one phone's data."""

import json
import os
from pathlib import Path

import click

from heliograph.app.resources.recipients import RECIPIENTS
from heliograph.cli.command import Command, Failure, Invocation, examples, print_table, tell
from heliograph.domain.display import counted

_account = click.option("--account", metavar="NAME", default="", help="Only what this account has.")


@click.command(
    cls=Command,
    epilog=examples(
        "heliograph erase 4917012345678 --dry-run          # what would be done",
        "heliograph erase 4917012345678",
        "heliograph erase 4917012345678 --account acme --json",
    ),
)
@click.argument("number")
@_account
@click.option("--dry-run", is_flag=True, help="Only tell what would be done.")
@click.pass_obj
def erase(invocation: Invocation, number: str, account: str, dry_run: bool) -> None:
    """Erases a phone: its number and its texts.

    What waits for it is cancelled and refunded. What is in flight, or still to be told to a customer, is erased by the
    gateway once that is over. Money stays, and so does the digest by which an opt-out holds; backups are not reached.
    """
    order = {"number": number, "account": account, "dry_run": dry_run}
    answer = invocation.ask(RECIPIENTS, RECIPIENTS.operation("erase").asked(order))

    def people() -> None:
        columns = ("what", "found", "erased", "cancelled", "left", "note")
        print_table(
            ("WHAT", "FOUND", "WOULD BE ERASED" if dry_run else "ERASED", "CANCELLED", "LEFT", ""),
            [[line[name] for name in columns] for line in answer["lines"] if line["found"]],
            empty=f"Nothing is kept of {answer['number']}.",
        )
        tell("\nWhat stays, and why:")
        for each in answer["kept"]:
            tell(f"  {each['what']}: {each['why']}")

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
    """Writes all that is kept of a phone, as JSON.

    FILE must not be there yet, and is readable by you alone; `-` writes to the standard output. It has the texts of
    messages.
    """
    answer = invocation.ask(RECIPIENTS, RECIPIENTS.operation("export").asked({"number": number, "account": account}))
    octets = json.dumps(answer, indent=2, ensure_ascii=False).encode() + b"\n"
    if str(file) == "-":
        click.echo(octets, nl=False)
        return
    try:
        with os.fdopen(os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as written:
            written.write(octets)
    except OSError as problem:
        raise Failure(f"{file} cannot be written: {problem.strerror}", "Name a file that is not there yet.") from None
    sent, came = answer["messages"], answer["inbound"]
    invocation.show(
        {"file": str(file), "messages": len(sent), "inbound": len(came), "complete": answer["complete"]},
        lambda: tell(f"{file} has {counted(len(sent), 'message')} to it and {len(came):,} from it."),
    )
