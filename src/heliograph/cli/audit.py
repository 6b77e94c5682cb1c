"""`heliograph audit`: proves the books from the rows."""

import click

from heliograph.cli.command import Command, Invocation, tell


@click.command(cls=Command)
@click.pass_context
def audit(context: click.Context) -> None:
    """Proves the books from the rows.

    Exit code 0 if every balance, charge and refund is right, else 1."""
    invocation = context.find_object(Invocation) or Invocation()
    problems = invocation.diagnose(lambda diagnose: diagnose.book_faults())
    invocation.show(
        {"clean": not problems, "problems": problems},
        lambda: tell("\n".join(problems) or "The books are right."),
    )
    if problems:
        context.exit(1)
