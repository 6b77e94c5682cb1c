"""`heliograph reload`: a running gateway reads its certificate anew."""

import click

from heliograph.cli.command import Command, Failure, Invocation, examples


@click.command(cls=Command, epilog=examples("heliograph reload", "heliograph reload --data /var/lib/heliograph"))
@click.pass_obj
def reload(invocation: Invocation) -> None:
    """Makes the running gateway read its certificate anew.

    Its key and the authorities of clients, too. The gateway does so by itself within seconds of a change, and on
    SIGHUP. New connections get what is in the files; open connections go on. A file that cannot be used changes
    nothing, and is told here. Settings are read at the start alone.
    """
    from heliograph.cli.live.control import ask_once

    answer = ask_once(invocation, {"ask": "reload"})
    if answer.get("kept"):
        raise Failure(f"{answer['kept']}; the certificate in use stays", command=invocation.typed("doctor"))

    def people() -> None:
        until = answer.get("until")
        click.echo(f"The certificate is valid until {until}." if until else "Nothing is to be read anew: HTTPS is off.")

    invocation.show({"until": answer.get("until")}, people)
