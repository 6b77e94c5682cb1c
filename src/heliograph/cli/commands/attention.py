"""`heliograph attention`: things that need somebody, and a test of the alerts about them."""

import asyncio

import click

from heliograph.app.resources.attention import ATTENTION
from heliograph.cli.command import Command, Failure, Invocation, examples, print_line
from heliograph.cli.drawn import group_of

attention = group_of(ATTENTION)


@attention.command("test", cls=Command, epilog=examples("heliograph attention test"))
@click.pass_context
def send_test_alert(context: click.Context) -> None:
    """Sends a test alert to each destination of the setting alerts.urls.

    The exit code is 0 if each destination took it, otherwise 1. Apprise's own lines on standard error have the reason.
    """
    from heliograph.composition.alerts import gateway_name, open_alert_sender
    from heliograph.composition.watching import Unusable

    invocation = context.ensure_object(Invocation)
    invocation.need_the_machine()
    settings = invocation.settings()
    try:
        sender = open_alert_sender(settings, quiet=False)
    except Unusable as problem:
        raise Failure(str(problem), command="heliograph settings") from problem
    if sender is None:
        raise Failure(
            "the setting alerts.urls is empty.",
            "Set it to URLs of Apprise: https://github.com/caronc/apprise/wiki",
            "heliograph settings --example",
        )
    text = "This is a test. Alerts about things that need attention arrive like this."
    attempts = asyncio.run(sender.send(f"{gateway_name(settings)}: test alert", text))

    def people() -> None:
        for each in attempts:
            print_line(f"{each.destination}: {each.problem or 'sent'}")

    tried = [{"destination": each.destination, "problem": each.problem} for each in attempts]
    invocation.show({"destinations": tried}, people)
    if any(each.problem for each in attempts):
        context.exit(1)
