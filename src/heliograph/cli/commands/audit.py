"""`heliograph audit`: proves the ledgers from the store's rows, and the audit log from its hash chain."""

import json
from pathlib import Path

import click

from heliograph.app.resources.audit import AUDIT
from heliograph.app.resources.desk import needed
from heliograph.cli.command import Command, Failure, Invocation, examples, print_line


@click.command(
    cls=Command,
    epilog=examples(
        "heliograph audit",
        "heliograph audit --deep    # after a fault of the disk",
        "heliograph audit --head >> /mnt/other/heads.jsonl    # each hour, to a place that the gateway cannot write to",
        "heliograph audit --log --against /mnt/other/heads.jsonl",
    ),
)
@click.option("--log", "log_only", is_flag=True, help="Prove only the audit log, which is faster.")
@click.option(
    "--against",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Compare the audit log with heads that --head wrote, each on its own line.",
)
@click.option("--deep", is_flag=True, help="Also read all of the store, and report damage by the disk.")
@click.option("--head", is_flag=True, help="Only print the head of the audit log, to store it on another machine.")
@click.pass_context
def audit(context: click.Context, log_only: bool, against: Path | None, deep: bool, head: bool) -> None:
    """Proves the ledgers and the audit log from their rows.

    The exit code is 0 if all balances, charges and refunds are right, and no entry of the audit log was changed or
    removed; otherwise 1. If the last entries were removed, or the whole log was rewritten, only a comparison with an
    earlier head shows it (--against).

    --deep reads all of the store, and finds damage by the disk where it can be recognised: in SQLite by the structure
    of pages and indexes, in PostgreSQL by checksums, and by the extension amcheck if the database has it. In an
    encrypted store it also opens each text and secret, so that a changed one is found on either store."""
    invocation = context.find_object(Invocation) or Invocation()
    if head:
        if log_only or deep or against is not None:
            raise Failure("--head cannot be combined with other options.", command="heliograph audit --head")
        found = invocation.ask(AUDIT, "head")
        invocation.show(found, lambda: click.echo(json.dumps(found)))
        return
    problems = invocation.at_desk(lambda desk: desk.store.upkeep.damage()) if deep else []
    if not (log_only or problems):  # damaged rows prove nothing
        problems = invocation.at_desk(lambda desk: desk.store.upkeep.audit())
    if deep:
        problems += invocation.at_desk(lambda desk: needed(desk.encryption).damage())
    changed = _log_faults(invocation, against)
    right = "The audit log is unchanged." if log_only else "The ledgers and the audit log are right."
    problems += changed
    invocation.show({"clean": not problems, "problems": problems}, lambda: print_line("\n".join(problems) or right))
    if problems:
        context.exit(1)


def _log_faults(invocation: Invocation, against: Path | None) -> list[str]:
    from heliograph.app.resources.audit_proof import faults, read_heads

    text = None if against is None else against.read_text("utf-8", errors="replace")

    return invocation.at_desk(lambda desk: faults(desk, [] if text is None else read_heads(text)))
