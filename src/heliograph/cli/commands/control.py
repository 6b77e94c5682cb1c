"""Commands to a running gateway: `heliograph reload` and `heliograph log-level`."""

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
