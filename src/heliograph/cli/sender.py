"""`heliograph sender`: the registries of sender IDs."""

import click

from heliograph.cli.command import Group, Invocation, as_json, examples, format_moment, print_table, tell
from heliograph.domain.display import counted

_STATES = click.Choice(["pending", "approved", "refused"])

_account = click.option("--account", metavar="NAME", required=True, help="The account.")
_note = click.option("--note", metavar="TEXT", default="", help="Why, for people who look after the gateway.")
_senders = click.argument("senders", metavar="SENDER...", nargs=-1, required=True)


@click.group(cls=Group)
def sender() -> None:
    """Sender IDs of accounts, and whether they are approved.

    An account with any may use its approved ones only; all others get 403 with the state. A running gateway
    goes by it within five seconds."""


@sender.command(
    "list", epilog=examples("heliograph sender list --state pending", "heliograph sender list --account acme")
)
@click.option("--account", metavar="NAME", help="Only this account's.")
@click.option("--state", type=_STATES, help="Only those in this state.")
@click.pass_obj
def list_senders(invocation: Invocation, account: str | None, state: str | None) -> None:
    """Registered senders, by account."""
    found = invocation.senders(lambda manage: manage.senders(account, state))
    from heliograph.admin_api import sender_shapes

    invocation.show(
        as_json(sender_shapes.senders(found)),
        lambda: print_table(
            ("ACCOUNT", "SENDER", "STATE", "SINCE", "NOTE"),
            [(each.account, each.sender, each.state.value, format_moment(each.since), each.note) for each in found],
            empty="There is none: an account without a registry may use any sender that its settings allow.",
        ),
    )


@sender.command(
    "add",
    epilog=examples(
        "heliograph sender add ACME AcmeNews --account acme --state approved",
        "heliograph sender add PayPal --account acme --note 'asked on 12 May'",
    ),
)
@_senders
@_account
@click.option("--state", type=_STATES, default="pending", show_default=True, help="The state to begin with.")
@_note
@click.pass_obj
def add(invocation: Invocation, senders: tuple[str, ...], account: str, state: str, note: str) -> None:
    """Registers senders for an account."""
    _put(invocation, senders, account, state, note)


@sender.command("approve", epilog=examples("heliograph sender approve ACME --account acme"))
@_senders
@_account
@_note
@click.pass_obj
def approve(invocation: Invocation, senders: tuple[str, ...], account: str, note: str) -> None:
    """Lets an account use senders."""
    _put(invocation, senders, account, "approved", note)


@sender.command("refuse", epilog=examples("heliograph sender refuse PayPal --account acme --note 'not theirs'"))
@_senders
@_account
@_note
@click.pass_obj
def refuse(invocation: Invocation, senders: tuple[str, ...], account: str, note: str) -> None:
    """Refuses senders to an account."""
    _put(invocation, senders, account, "refused", note)


def _put(invocation: Invocation, senders: tuple[str, ...], account: str, state: str, note: str) -> None:
    new = invocation.senders(lambda manage: manage.put(account, senders, state, note))
    told = f"{counted(len(senders), 'sender')} of {account} {'is' if len(senders) == 1 else 'are'} {state}"
    invocation.show(
        {"account": account, "senders": list(senders), "state": state, "new": new},
        lambda: tell(f"{told}; {new} new."),
    )


@sender.command("remove", epilog=examples("heliograph sender remove PayPal --account acme"))
@click.argument("sender_id", metavar="SENDER")
@_account
@click.pass_obj
def remove(invocation: Invocation, sender_id: str, account: str) -> None:
    """Takes a sender out of an account's registry.

    An account whose registry is empty may use any sender again."""
    invocation.senders(lambda manage: manage.remove(account, sender_id))
    invocation.show(
        {"account": account, "sender": sender_id, "removed": True},
        lambda: tell(f"{sender_id} is not registered for {account} any more."),
    )
