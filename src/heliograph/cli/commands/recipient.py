"""`heliograph erase` and `heliograph export-recipient`: one phone's data."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from heliograph.cli.command import Command, Failure, Invocation, as_json, examples, print_table, tell
from heliograph.domain.display import counted

if TYPE_CHECKING:
    from heliograph.admin_api.recipient_shapes import ErasureShape

_account = click.option("--account", metavar="NAME", default=None, help="Only what this account has.")


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
def erase(invocation: Invocation, number: str, account: str | None, dry_run: bool) -> None:
    """Erases a phone: its number and its texts.

    What waits for it is cancelled and refunded. What is in flight, or still to be told to a customer, is erased by the
    gateway once that is over. Money stays, and so does the digest by which an opt-out holds; backups are not reached.
    """
    from heliograph.admin_api import recipient_shapes, recipients

    order = {"number": number, "account": account or "", "dry_run": dry_run}
    answer = invocation.asked(
        lambda gateway: gateway.ask("POST", recipient_shapes.ErasureShape, "recipients", "erase", body=order)
    )
    if answer is None:
        report = invocation.recipients(lambda manage: manage.erase(number, account, dry_run=dry_run))
        answer = recipients.erasure(report)
    told = answer
    invocation.show(as_json(told), lambda: _tell(told))


def _tell(answer: "ErasureShape") -> None:
    done = "WOULD BE ERASED" if answer.dry_run else "ERASED"
    print_table(
        ("WHAT", "FOUND", done, "CANCELLED", "LEFT", ""),
        [
            (each.what, each.found, each.erased, each.cancelled, each.left, each.note)
            for each in answer.lines
            if each.found
        ],
        empty=f"Nothing is kept of {answer.number}.",
    )
    tell("\nWhat stays, and why:")
    for each in answer.kept:
        tell(f"  {each.what}: {each.why}")


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
def export_recipient(invocation: Invocation, number: str, file: Path, account: str | None) -> None:
    """Writes all that is kept of a phone, as JSON.

    FILE must not be there yet, and is readable by you alone; `-` writes to the standard output. It has the texts of
    messages.
    """
    import msgspec

    from heliograph.admin_api import recipient_shapes, recipients

    order = {"number": number, "account": account or ""}
    answer = invocation.asked(
        lambda gateway: gateway.ask("POST", recipient_shapes.RecipientShape, "recipients", "export", body=order)
    )
    if answer is None:
        answer = recipients.recipient(invocation.recipients(lambda manage: manage.export(number, account)))
    octets = msgspec.json.format(msgspec.json.encode(answer), indent=2) + b"\n"
    if str(file) == "-":
        click.echo(octets, nl=False)
        return
    try:
        with os.fdopen(os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as written:
            written.write(octets)
    except OSError as problem:
        raise Failure(f"{file} cannot be written: {problem.strerror}", "Name a file that is not there yet.") from None
    counts = {"messages": len(answer.messages), "inbound": len(answer.inbound), "complete": answer.complete}
    told = f"{file} has {counted(len(answer.messages), 'message')} to it and {len(answer.inbound):,} from it."
    invocation.show(
        {"file": str(file), **counts},
        lambda: tell(told),
    )
