"""`heliograph log-level`: what a running gateway logs."""

import click

from heliograph.cli.command import Command, Invocation, examples

LEVELS = ("debug", "info", "warning", "error")


@click.command(
    "log-level",
    cls=Command,
    epilog=examples("heliograph log-level", "heliograph log-level debug", "heliograph log-level info"),
)
@click.argument("level", required=False, type=click.Choice(LEVELS))
@click.pass_obj
def log_level(invocation: Invocation, level: str | None) -> None:
    """Shows or changes the level of the running gateway's log.

    It takes effect at once and is forgotten when the gateway ends; the setting log.level is what it starts with. On
    debug each message's way is logged, with its id, and each request's answer with both ids.
    """
    from heliograph.cli.live.control import ask_once

    request = {"ask": "log-level"} if level is None else {"ask": "log-level", "level": level}
    answer = ask_once(invocation, request)

    def people() -> None:
        if level is None or answer["was"] == answer["level"]:
            click.echo(f"The level is {answer['level']}.")
        else:
            click.echo(f"The level is now {answer['level']}; it was {answer['was']}.")

    invocation.show(answer, people)
