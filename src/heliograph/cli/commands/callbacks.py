"""`heliograph callbacks`: pending and failed callbacks."""

import click

from heliograph.app.resources.callbacks import CALLBACKS
from heliograph.cli.command import Failure, Invocation, examples, print_table
from heliograph.cli.drawn import group_of
from heliograph.domain.display import counted
from heliograph.domain.message import ids

callbacks = group_of(CALLBACKS)
callbacks.commands.pop("replay-message")  # it is `replay --message`


@callbacks.command(
    "status", epilog=examples("heliograph callbacks status", "heliograph callbacks status --account acme")
)
@click.option("--account", metavar="NAME", help="Only receivers of this account.")
@click.pass_obj
def status(invocation: Invocation, account: str | None) -> None:
    """Counts pending and failed callbacks, and lists failing receivers."""
    found = invocation.ask(CALLBACKS, "status", {"account": account})
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
        waits = counted(owed, "callback waits", "callbacks wait") if owed else "No callback waits"
        click.echo(f"{waits} for a try.")
        if failed:
            click.echo(f"{counted(failed, 'callback')} failed. To retry: heliograph callbacks replay --all")
        if receivers:
            click.echo("\nFailing receivers:\n")
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
@click.option("--account", "name", metavar="NAME", help="All failed callbacks of this account.")
@click.option("--message", metavar="ID", help="The callback of this message.")
@click.option("--all", "everything", is_flag=True, help="All failed callbacks of all accounts.")
@click.pass_obj
def replay(invocation: Invocation, name: str | None, message: str | None, everything: bool) -> None:
    """Retries failed callbacks, including callbacks refused with 410.

    1,000 are retried in a transaction. After an interruption, the command retries the rest.
    """
    if (name is not None) + (message is not None) + everything != 1:
        raise Failure("Choose the callbacks to retry: --account NAME, --message ID or --all.")
    if message is not None and ids.parse(message) is None:
        raise Failure(f"{message!r} is not an id of a message; an id has 32 hexadecimal characters.")
    if message is None:
        count = invocation.ask(CALLBACKS, "replay", {"account": name})["count"]
    else:
        invocation.ask(CALLBACKS, "replay-message", {"message": message})
        count = 1
    invocation.show({"replayed": count}, lambda: click.echo(f"{counted(count, 'callback')} retried."))
