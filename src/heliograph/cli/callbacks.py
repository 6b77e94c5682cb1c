"""`heliograph callbacks`: receipts for customers that are pending or failed."""

import click

from heliograph.cli.command import Failure, Group, Invocation, examples, format_moment, print_table
from heliograph.domain.display import counted


@click.group(cls=Group)
def callbacks() -> None:
    """Receipts pushed to customers.

    They are tried for a day (setting callbacks.retry_hours), then kept as failed."""


@callbacks.command("status")
@click.pass_obj
def status(invocation: Invocation) -> None:
    """Counts pending and failed callbacks; names failing hosts."""
    from heliograph.app.admin.views import FailingHost, Views

    async def work(views: Views) -> tuple[tuple[int, int], list[FailingHost]]:
        return await views.callback_totals(), await views.failing_hosts()

    (owed, failed), hosts = invocation.views(work)
    receivers = [
        {
            "receiver": host.host,
            "pending": host.owed,
            "tries": host.attempts,
            "next": format_moment(host.due),
            "problem": host.problem,
        }
        for host in hosts
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
    """Retries failed receipts.

    So are those whose receiver said 410."""
    from heliograph.app.admin.views import Views
    from heliograph.domain.message import ids

    if (name is not None) + (message is not None) + everything != 1:
        raise Failure("Say what to replay: --account NAME, --message ID or --all.")
    parsed = None
    if message is not None:
        parsed = ids.parse(message)
        if parsed is None:
            raise Failure(f"{message!r} is no id of a message; it has 32 hexadecimal characters.")

    async def work(views: Views) -> int:
        if parsed is None:
            return await views.replay_account(name)
        await views.replay_callback(*parsed)
        return 1

    count = invocation.views(work)
    invocation.show({"replayed": count}, lambda: click.echo(f"{counted(count, 'receipt')} to be pushed again."))
