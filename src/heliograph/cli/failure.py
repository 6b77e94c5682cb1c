"""The failure of a command: a sentence, what to do next, what to type for it."""

from typing import Any

import click

from heliograph.domain.display import harmless


class Failure(click.ClickException):
    """A failed command. `hint` says what to do next, `command` what to type for it."""

    def __init__(self, message: str, hint: str = "", command: str = "") -> None:
        super().__init__(message)
        self.hint = hint
        self.command = command

    def show(self, file: Any = None) -> None:
        click.echo(click.style("error: ", fg="red", bold=True) + harmless(self.message), file=file, err=True)
        if self.hint:
            click.echo(f"       {harmless(self.hint)}", file=file, err=True)
        if self.command:
            click.echo(click.style("try:   ", fg="cyan") + harmless(self.command), file=file, err=True)


def needs_the_machine(context: str) -> Failure:
    """Returns the failure of a command that works only on the machine of the gateway."""
    return Failure(
        f"this command needs the machine of the gateway; the context {context} is one elsewhere.",
        "Run it there, or with --context local if you mean the gateway of this machine.",
    )
