"""`heliograph message`: finds, shows, reschedules and cancels messages of any account."""

import click

from heliograph.app.resources.messages import MESSAGES
from heliograph.cli.command import Invocation, print_fields, print_line, print_table
from heliograph.cli.drawn import group_of

message = group_of(MESSAGES)


@message.command("show")
@click.argument("message_id", metavar="ID")
@click.pass_obj
def show(invocation: Invocation, message_id: str) -> None:
    """A message with its history, and the present route of its number."""
    from heliograph.app.resources.fields import Moment
    from heliograph.app.resources.history import Event, condense

    found = invocation.ask(MESSAGES, "show", {"id": message_id})

    def people() -> None:
        print_fields((name, value) for name, value in found.items() if name not in ("explanation", "history", "now"))
        print_line(f"\n{found['explanation']}\n")
        moment = Moment()
        happened = [Event(moment.read(each.pop("time")), **each) for each in found["history"]]
        lines = [
            (moment.text(moment.show(each.at)), each.event, each.segment, each.detail) for each in condense(happened)
        ]
        print_table(("TIME", "EVENT", "SEGMENT", "DETAIL"), lines, empty="")
        print_line("\nA new message to this number:\n  " + "\n  ".join(found["now"]["reasons"]))

    invocation.show(found, people)
