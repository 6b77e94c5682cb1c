"""`heliograph callbacks`, `receipts` and `audit`: what is owed, what matches nothing, whether the books are right."""

import click

from heliograph.cli.command import Command, Failure, Group, Invocation, examples, format_moment, print_table, tell
from heliograph.domain.display import counted


@click.group(cls=Group)
def callbacks() -> None:
    """Receipts pushed to customers.

    They are tried for a day (setting callbacks.retry_hours), then given up and kept."""


@callbacks.command("status")
@click.pass_obj
def status(invocation: Invocation) -> None:
    """What is to be pushed or was given up, and who fails."""
    from heliograph.app.admin.sign_in import Actor
    from heliograph.app.admin.views import FailingHost, Views

    async def work(views: Views, _: Actor) -> tuple[dict[str, int], list[FailingHost]]:
        return await views.store.upkeep.backlog(), await views.failing_hosts()

    counts, hosts = invocation.views(work)
    owed, failed = counts.get("callbacks", 0), counts.get("callbacks_failed", 0)
    receivers = [
        {
            "receiver": host.host,
            "owed": host.owed,
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
            given_up = counted(failed, "receipt was", "receipts were")
            click.echo(f"{given_up} given up; to push them again: heliograph callbacks replay --all")
        if receivers:
            click.echo("\nReceivers that fail:\n")
            rows = [tuple(row.values()) for row in receivers]
            print_table(("RECEIVER", "OWED", "TRIES", "NEXT", "PROBLEM"), rows, empty="")

    invocation.show({"owed": owed, "failed": failed, "receivers": receivers}, people)


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
    """Pushes receipts again that were given up.

    So are those whose receiver said 410."""
    from heliograph.app.admin.sign_in import Actor
    from heliograph.app.admin.views import Views
    from heliograph.domain import ids

    if (name is not None) + (message is not None) + everything != 1:
        raise Failure("Say what to replay: --account NAME, --message ID or --all.")
    parsed = None
    if message is not None:
        parsed = ids.parse(message)
        if parsed is None:
            raise Failure(f"{message!r} is no id of a message; it has 32 hexadecimal characters.")

    async def work(views: Views, actor: Actor) -> int:
        if parsed is None:
            return await views.replay_account(actor, name)
        await views.replay_callback(actor, *parsed)
        return 1

    count = invocation.views(work)
    invocation.show({"replayed": count}, lambda: click.echo(f"{counted(count, 'receipt')} to be pushed again."))


@click.group(cls=Group)
def receipts() -> None:
    """Receipts from operators."""


@receipts.command("orphans")
@click.option("--limit", type=click.IntRange(1, 10_000), default=50, show_default=True, help="Receipts at most.")
@click.pass_obj
def orphans(invocation: Invocation, limit: int) -> None:
    """Receipts that match no message, the newest first.

    A wrong notation of ids shows itself here."""
    from heliograph.app.admin.manage import Manage
    from heliograph.app.configuration import Connector
    from heliograph.app.facts import EarlyReceipt
    from heliograph.domain.phone import mask

    async def work(manage: Manage) -> tuple[list[EarlyReceipt], list[Connector]]:
        return await manage.store.receipts.orphans(limit), await manage.connectors()

    found, connectors = invocation.manage(work)
    names = {connector.id: connector.name for connector in connectors}
    rows = [
        {
            "time": format_moment(each.at),
            "connector": names.get(each.connector, str(each.connector)),
            "operator_id": each.operator_id,
            "destination": mask(each.destination),
            "state": each.state.name,
            "err": each.err,
        }
        for each in found
    ]
    columns = ("TIME", "CONNECTOR", "OPERATOR'S ID", "DESTINATION", "STATE", "ERR")
    invocation.show(
        {"receipts": rows},
        lambda: print_table(columns, [tuple(row.values()) for row in rows], empty="Every receipt matched a message."),
    )


@click.command(cls=Command)
@click.pass_context
def audit(context: click.Context) -> None:
    """Proves the books from the rows.

    Exit code 0 if every balance, charge and refund is right, else 1."""
    invocation = context.find_object(Invocation) or Invocation()
    problems = invocation.manage(lambda manage: manage.store.upkeep.audit())
    invocation.show(
        {"clean": not problems, "problems": problems},
        lambda: tell("\n".join(problems) or "The books are right."),
    )
    if problems:
        context.exit(1)
