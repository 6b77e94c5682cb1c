"""`heliograph admin`: users of the console, tokens of the admin API, and the audit log."""

import click

from heliograph.app.resources.users import TOKENS, USERS
from heliograph.cli.command import Invocation, as_json, format_moment, print_table
from heliograph.cli.drawn import group_of

admin = group_of(USERS)
admin.add_command(group_of(TOKENS))


@admin.command("log")
@click.option("--limit", type=click.IntRange(1, 10_000), default=50, show_default=True, help="Lines at most.")
@click.option("--actor", default="", metavar="WHO", help="Only changes by this actor, such as user:ada.")
@click.option("--action", default="", metavar="WHAT", help="Only actions that begin so, such as account.")
@click.option("--target", default="", metavar="NAME", help="Only changes of this target, such as acme.")
@click.pass_obj
def log(invocation: Invocation, limit: int, actor: str, action: str, target: str) -> None:
    """The audit log: who changed what, the newest first."""
    from heliograph.admin_api import serialize
    from heliograph.app.records import AuditQuery

    query = AuditQuery(limit, None, actor, action, target)
    entries = invocation.manage(lambda manage: manage.audit_log(query))
    invocation.show(
        {"entries": [as_json(serialize.audit_entry(entry)) for entry in entries]},
        lambda: print_table(
            ("TIME", "WHO", "WHAT", "TARGET", "DETAILS"),
            [
                (
                    format_moment(entry.at),
                    entry.actor,
                    entry.action,
                    entry.target,
                    ", ".join(f"{name}={value}" for name, value in entry.details.items()),
                )
                for entry in entries
            ],
            empty="Nothing was changed yet.",
        ),
    )
