"""`heliograph message`: finds, exports, shows, reschedules and cancels messages of any account."""

from typing import IO, Any

import click

from heliograph.app.records import ExportFormat
from heliograph.app.resources.messages import MESSAGES
from heliograph.cli.command import Command, Invocation, examples, print_fields, print_line, print_table
from heliograph.cli.drawn import group_of, parameters_of, values_of

message = group_of(MESSAGES)


@message.command("show")
@click.argument("message_id", metavar="ID")
@click.pass_obj
def show(invocation: Invocation, message_id: str) -> None:
    """A message with its history, and the present route of its number."""
    from heliograph.app.resources.fields import Flag, Moment
    from heliograph.app.resources.history import Event, condense

    found = invocation.ask(MESSAGES, "show", {"id": message_id})

    def people() -> None:
        apart = ("explanation", "history", "now")
        flag = Flag()
        print_fields(
            (name, flag.text(value) if isinstance(value, bool) else value)
            for name, value in found.items()
            if name not in apart
        )
        print_line(f"\n{found['explanation']}\n")
        moment = Moment()
        happened = [Event(moment.read(each.pop("time")), **each) for each in found["history"]]
        lines = [
            (moment.text(moment.show(each.at)), each.event, each.segment, each.detail) for each in condense(happened)
        ]
        print_table(("TIME", "EVENT", "SEGMENT", "DETAIL"), lines, empty="")
        print_line("\nA new message to this number:\n  " + "\n  ".join(found["now"]["reasons"]))

    invocation.show(found, people)


def _export(file: IO[bytes], kind: str, **texts: Any) -> None:
    """Writes the messages that fit, newest first, without a limit. Texts are left out. An export that was broken off
    has all messages down to its last line: go on with --end.

    TEXT is an id, a reference, or a number or its first digits; without it all messages fit."""
    from heliograph.app.resources.message_export import exported, heading, line

    invocation = click.get_current_context().ensure_object(Invocation)
    found = ExportFormat(kind)
    with invocation.explained():
        asked = values_of(_FIND, texts)
    file.write(heading(found))
    cursor: str | None = ""
    while cursor is not None:
        page = invocation.ask(MESSAGES, "find", {**asked, "limit": _FIND.page, "cursor": cursor or None})
        file.write(b"".join(line(found, exported(each)) for each in page["messages"]))
        file.flush()
        cursor = page["cursor"]


_FIND = MESSAGES.operation("find")

message.add_command(
    Command(
        "export",
        params=[
            *parameters_of(_FIND),
            click.Option(
                ["--format", "kind"], type=click.Choice([each.value for each in ExportFormat]),
                default=ExportFormat.CSV.value, show_default=True,
                help="CSV, or a JSON object in each line.",
            ),
            click.Option(
                ["--output", "file"], type=click.File("wb", lazy=False), default="-", metavar="FILE",
                help="The file to write; - is standard output.",
            ),
        ],
        callback=_export,
        help=_export.__doc__,
        epilog=examples(
            "heliograph message export --account acme --start 2027-01-01T00:00:00Z --output january.csv",
            "heliograph message export --status undelivered --format jsonl | jq .error",
        ),
    )
)  # fmt: skip
