"""`heliograph audit`: proves the books from the rows, and the audit log from its chain."""

import json
from pathlib import Path

import click

from heliograph.app.resources.audit import AUDIT
from heliograph.cli.command import Command, Failure, Invocation, examples, tell


@click.command(
    cls=Command,
    epilog=examples(
        "heliograph audit",
        "heliograph audit --head >> /mnt/elsewhere/heads.jsonl    # each hour, where the gateway cannot change it",
        "heliograph audit --log --against /mnt/elsewhere/heads.jsonl",
    ),
)
@click.option("--log", "log_only", is_flag=True, help="Prove the audit log only, not the books, which takes longer.")
@click.option(
    "--against",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Compare the audit log with heads that --head wrote, one a line.",
)
@click.option("--head", is_flag=True, help="Prove nothing; write the head of the audit log, to be kept elsewhere.")
@click.pass_context
def audit(context: click.Context, log_only: bool, against: Path | None, head: bool) -> None:
    """Proves the books and the audit log from the rows.

    Exit code 0 if every balance, charge and refund is right and no entry of the audit log was changed or removed, else
    1. That its last entries were removed, or all of it was written anew, shows only against a head that was kept
    elsewhere."""
    invocation = context.find_object(Invocation) or Invocation()
    if head:
        if log_only or against is not None:
            raise Failure("--head proves nothing: give it alone.", command="heliograph audit --head")
        told = invocation.ask(AUDIT, AUDIT.operation("head").asked({}))
        invocation.show(told, lambda: click.echo(json.dumps(told)))
        return
    problems = [] if log_only else invocation.at_desk(lambda desk: desk.store.upkeep.audit())
    changed = _log_faults(invocation, against)
    right = "The audit log is as it was written." if log_only else "The books and the audit log are right."
    problems += changed
    invocation.show({"clean": not problems, "problems": problems}, lambda: tell("\n".join(problems) or right))
    if problems:
        context.exit(1)


def _log_faults(invocation: Invocation, against: Path | None) -> list[str]:
    from heliograph.app.resources.audit_proof import faults, read_heads

    text = None if against is None else against.read_text("utf-8", errors="replace")

    return invocation.at_desk(lambda desk: faults(desk, [] if text is None else read_heads(text)))
