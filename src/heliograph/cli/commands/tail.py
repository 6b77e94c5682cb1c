"""`heliograph tail`: events of messages, live."""

from typing import Any

import click

from heliograph.cli.command import Command, Invocation, echo_json, examples
from heliograph.domain.display import harmless

_COLOURS = {
    "accepted": "cyan",
    "scheduled": "cyan",
    "submitted": "blue",
    "received": "cyan",
    "unrouted": "yellow",
    "deferred": "yellow",
    "unanswered": "yellow",
    "refused": "red",
    "failed": "red",
    "unmatched_receipt": "yellow",
    "callback_retry": "yellow",
    "skipped": "yellow",
}
_FINAL_GOOD = ("DELIVRD", "delivered")
_FIRST = ("time", "event", "id", "account", "from", "to")


@click.command(
    cls=Command,
    epilog=examples(
        "heliograph tail",
        "heliograph tail --account acme",
        "heliograph tail 019aa0c4b1a27c3e8f2b6c1d4e5f6a7b",
        "heliograph tail --json --count 100 > events.jsonl",
    ),
)
@click.argument("message", required=False)
@click.option("--account", metavar="NAME", help="Only messages of this account.")
@click.option("--connector", metavar="NAME", help="Only messages of this connector.")
@click.option("--numbers", is_flag=True, help="Show complete phone numbers; by default they are masked.")
@click.option("--count", type=click.IntRange(1), metavar="N", help="End after N events.")
@click.pass_obj
def tail(
    invocation: Invocation,
    message: str | None,
    account: str | None,
    connector: str | None,
    numbers: bool,
    count: int | None,
) -> None:
    """Shows the events of messages, live.

    Events are for example accepted, submitted, refused, receipt, final state, received from a phone, and callback. They
    can be limited to a message, an account or a connector. Texts are never shown. Press Ctrl-C to stop. With --json
    each line is an object.
    """
    from heliograph.cli.live.control import ask

    request = {
        "ask": "events", "message": message, "account": account, "connector": connector, "numbers": numbers,
    }  # fmt: skip
    left = count
    try:
        for event in ask(invocation, request):
            if event["event"] == "listening":
                click.echo("Listening. Press Ctrl-C to stop.", err=True)
                continue
            if invocation.as_json:
                echo_json(event)
            else:
                click.echo(format_event(event))
            if left is not None:
                left -= 1
                if left == 0:
                    return
    except KeyboardInterrupt:
        return


def format_event(event: dict[str, Any]) -> str:
    """Returns an event as a line, for example `08:00:00.123 accepted  0198c5f2... acme ACME 491*******67`."""
    name = event["event"]
    good = any(event.get(each) in _FINAL_GOOD for each in ("state", "result"))
    colour = "green" if good else _COLOURS.get(name, "red" if name in ("final", "callback") else None)
    time = harmless(str(event.get("time", ""))[11:23])
    words = [time, click.style(harmless(f"{name:14}"), fg=colour), harmless(str(event.get("id", ""))).ljust(32)]
    words += [harmless(str(event[each])) for each in ("account", "from", "to") if event.get(each)]
    words += [harmless(f"{each}={value}") for each, value in event.items() if each not in _FIRST]
    return " ".join(word for word in words if word).rstrip()
