"""`heliograph callbacks`: receipts for customers that are pending or failed."""

import click

from heliograph.app.resources.callbacks import CALLBACKS
from heliograph.cli.command import Failure, Invocation, examples, print_table
from heliograph.cli.drawn import group_of
from heliograph.domain.display import counted
from heliograph.domain.message import ids

callbacks = group_of(CALLBACKS)
callbacks.commands.pop("replay-message")  # it is `replay --message`


@callbacks.command("status")
@click.pass_obj
def status(invocation: Invocation) -> None:
    """Counts pending and failed callbacks; names failing hosts."""
    found = invocation.ask(CALLBACKS, CALLBACKS.operation("status").asked({}))
    owed, failed = found["pending"], found["failed"]
    receivers = [
        {
            "receiver": host["host"],
            "pending": host["pending"],
            "tries": host["attempts"],
            "next": CALLBACKS.field("due").text(host["due"]),
            "problem": host["problem"],
        }
        for host in found["hosts"]
    ]

    def people() -> None:
        waits = counted(owed, "receipt waits", "receipts wait") if owed else "No receipt waits"
        click.echo(f"{waits} to be pushed, or for another try.")
        if failed:
            click.echo(f"{counted(failed, 'receipt')} failed; to retry: heliograph callbacks replay --all")
        if receivers:
            click.echo("\nReceivers that fail:\n")
            rows = [tuple(row.values()) for row in receivers]
            print_table(("RECEIVER", "PENDING", "TRIES", "NEXT", "PROBLEM"), rows, empty="")

    invocation.show({"pending": owed, "failed": failed, "receivers": receivers}, people)


@callbacks.command(
    "replay",
    epilog=examples(
        "heliograph callbacks replay --account acme",
        "heliograph callbacks replay --message 0198c5f2a1b37c4d8e9f001122334455",
        "heliograph callbacks replay --all",
    ),
)
@click.option("--account", "name", metavar="NAME", help="All of this account's.")
@click.option("--message", metavar="ID", help="This message's.")
@click.option("--all", "everything", is_flag=True, help="Everybody's.")
@click.pass_obj
def replay(invocation: Invocation, name: str | None, message: str | None, everything: bool) -> None:
    """Retries failed receipts, also receipts refused for good with 410."""
    if (name is not None) + (message is not None) + everything != 1:
        raise Failure("Say what to replay: --account NAME, --message ID or --all.")
    if message is not None and ids.parse(message) is None:
        raise Failure(f"{message!r} is no id of a message; it has 32 hexadecimal characters.")
    if message is None:
        count = invocation.ask(CALLBACKS, CALLBACKS.operation("replay").asked({"account": name}))["count"]
    else:
        invocation.ask(CALLBACKS, CALLBACKS.operation("replay-message").asked({"message": message}))
        count = 1
    invocation.show({"replayed": count}, lambda: click.echo(f"{counted(count, 'receipt')} to be pushed again."))
