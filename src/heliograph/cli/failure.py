"""The failure of a command: an error sentence, a hint and a command to try next."""

from typing import Any

import click

from heliograph.domain.display import harmless


class Failure(click.ClickException):
    """A failed command. It prints its error, for example:

    error: there is no context prod
           Nothing was changed.
    try:   heliograph context list
    """

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
        f"this command works only on the gateway's machine; the context {context} is on another machine.",
        "Run it there, or add --context local for the gateway of this machine.",
    )
