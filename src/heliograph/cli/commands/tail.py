"""`heliograph tail`: what happens to messages, as it happens."""

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
_IN_FRONT = ("time", "event", "id", "account", "from", "to")


@click.command(
    cls=Command,
    epilog=examples(
        "heliograph tail",
        "heliograph tail --account acme",
        "heliograph tail 019aa0c4b1a27c3e8f2b6c1d4e5f6a7b",
        "heliograph tail --json --count 100 > happenings.jsonl",
    ),
)
@click.argument("message", required=False)
@click.option("--account", metavar="NAME", help="Only messages of this account.")
@click.option("--connector", metavar="NAME", help="Only messages of this connector.")
@click.option("--numbers", is_flag=True, help="Show whole numbers; by default most digits are stars.")
@click.option("--count", type=click.IntRange(1), metavar="N", help="End after so many lines.")
@click.pass_obj
def tail(
    invocation: Invocation,
    message: str | None,
    account: str | None,
    connector: str | None,
    numbers: bool,
    count: int | None,
) -> None:
    """Shows what happens to messages, as it happens.

    Accepted, submitted, refused, receipts, final states, received from phones, callbacks: of all messages, of one
    account, or of one message. Texts are never shown. It ends with Ctrl-C. With --json each line is an object.
    """
    from heliograph.cli.live.control import ask

    request = {
        "ask": "events", "message": message, "account": account, "connector": connector, "numbers": numbers,
    }  # fmt: skip
    left = count
    try:
        for happening in ask(invocation, request):
            if happening["event"] == "listening":
                click.echo("Listening; Ctrl-C ends it.", err=True)
                continue
            if invocation.as_json:
                echo_json(happening)
            else:
                click.echo(shown(happening))
            if left is not None:
                left -= 1
                if left == 0:
                    return
    except KeyboardInterrupt:
        return


def shown(happening: dict[str, Any]) -> str:
    """A happening as a line for people."""
    event = happening["event"]
    good = any(happening.get(name) in _FINAL_GOOD for name in ("state", "result"))
    colour = "green" if good else _COLOURS.get(event, "red" if event in ("final", "callback") else None)
    time = harmless(str(happening.get("time", ""))[11:23])
    words = [time, click.style(harmless(f"{event:14}"), fg=colour), harmless(str(happening.get("id", ""))).ljust(32)]
    words += [harmless(str(happening[name])) for name in ("account", "from", "to") if happening.get(name)]
    words += [harmless(f"{name}={value}") for name, value in happening.items() if name not in _IN_FRONT]
    return " ".join(word for word in words if word).rstrip()
