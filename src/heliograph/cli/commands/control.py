"""Commands to a running gateway: `heliograph reload` and `heliograph log-level`."""

import click

from heliograph.cli.command import Command, Failure, Invocation, examples


@click.command(cls=Command, epilog=examples("heliograph reload", "heliograph reload --data /var/lib/heliograph"))
@click.pass_obj
def reload(invocation: Invocation) -> None:
    """Makes the running gateway reload its certificate.

    It also reloads the key and the authorities for clients. The gateway does so on its own within seconds of a change,
    and on SIGHUP. New connections use the new files; open connections continue. If a file is bad, the command reports
    it, and the gateway keeps the old certificate. Settings are read only at the start.
    """
    from heliograph.cli.live.control import ask_once

    answer = ask_once(invocation, {"ask": "reload"})
    if answer.get("kept"):
        raise Failure(f"{answer['kept']}; the certificate in use stays", command=invocation.typed("doctor"))

    def people() -> None:
        until = answer.get("until")
        click.echo(f"The certificate is valid until {until}." if until else "There is no certificate: HTTPS is off.")

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

    The change takes effect at once, and lasts until the gateway ends. It then starts with the setting log.level. At the
    level debug the log has each step of each message with its id, and each answer with the ids of request and message.
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
