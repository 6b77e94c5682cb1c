"""`heliograph guard`: what the pumping guard holds."""

import click

from heliograph.cli.command import Group, Invocation, as_json, examples, format_moment, print_table, tell
from heliograph.domain.display import counted

_account = click.option("--account", metavar="NAME", required=True, help="The account.")


@click.group(cls=Group)
def guard() -> None:
    """Traffic that the guard against SMS pumping holds.

    It watches young accounts, and accounts with guard=on. What it holds is accepted and charged, and waits until
    somebody releases or refunds it, or its validity ends, which refunds it too."""


@guard.command("list", epilog=examples("heliograph guard list"))
@click.pass_obj
def list_holds(invocation: Invocation) -> None:
    """All holds: of whom, since when and why."""
    found = invocation.guard(lambda manage: manage.holds())
    from heliograph.admin_api import guard_shapes
    from heliograph.domain.money.amounts import format_credits

    invocation.show(
        as_json(guard_shapes.holds(found)),
        lambda: print_table(
            ("ACCOUNT", "PREFIX", "SINCE", "MESSAGES", "CREDITS", "WHY"),
            [
                (
                    each.account,
                    each.prefix,
                    format_moment(each.since),
                    str(each.messages),
                    format_credits(each.price),
                    each.why,
                )
                for each in found
            ],
            empty="Nothing is held.",
            right=("MESSAGES", "CREDITS"),
        ),
    )


@guard.command("release", epilog=examples("heliograph guard release 49170 --account acme"))
@click.argument("prefix")
@_account
@click.pass_obj
def release(invocation: Invocation, prefix: str, account: str) -> None:
    """Sends what is held, and holds nothing of that prefix for a day."""
    released = invocation.guard(lambda manage: manage.release(account, prefix))
    invocation.show(
        {"account": account, "prefix": prefix, "released": released},
        lambda: tell(f"Released: {counted(released, 'message')} of {account} to {prefix} are due now."),
    )


@guard.command("refund", epilog=examples("heliograph guard refund 49170 --account acme"))
@click.argument("prefix")
@_account
@click.pass_obj
def refund(invocation: Invocation, prefix: str, account: str) -> None:
    """Cancels and refunds what is held. The prefix stays held until it is released."""
    refunded = invocation.guard(lambda manage: manage.refund(account, prefix))
    invocation.show(
        {"account": account, "prefix": prefix, "refunded": refunded},
        lambda: tell(f"Cancelled and refunded: {counted(refunded, 'message')} of {account} to {prefix}."),
    )
