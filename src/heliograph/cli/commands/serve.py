"""`heliograph serve`: the gateway."""

import errno
import ipaddress

import click

from heliograph.cli.command import Command, Failure, Invocation, examples


@click.command(
    cls=Command,
    epilog=examples(
        "heliograph serve --dev",
        "heliograph serve --listen 0.0.0.0:8080 --data /var/lib/heliograph",
        "heliograph serve --smpp 0.0.0.0:2775",
        "heliograph serve --roles dispatch,notify,upkeep",
    ),
)
@click.option("--listen", metavar="HOST:PORT", help="Where the API listens [127.0.0.1:8080, setting http.listen].")
@click.option(
    "--smpp",
    metavar="HOST:PORT",
    help="Where customers' SMPP clients bind [nowhere, setting smpp_server.listen; with --dev 127.0.0.1:2775].",
)
@click.option(
    "--roles",
    metavar="ROLE,...",
    help="What this node does, out of api, dispatch, notify and upkeep [all, setting node.roles]; for PostgreSQL.",
)
@click.option(
    "--dev",
    is_flag=True,
    help="With a simulated operator for what no route covers, a demo account, and receipts to loopback allowed.",
)
@click.option(
    "--dev-anywhere",
    is_flag=True,
    help="Let --dev listen beyond loopback, where anybody who reaches it can use the demo account.",
)
@click.pass_context
def serve(
    context: click.Context, listen: str | None, smpp: str | None, roles: str | None, dev: bool, dev_anywhere: bool
) -> None:
    """Runs the gateway.

    It stops on SIGTERM or Ctrl-C: it then takes no more requests, waits for operators' answers, and ends.
    It makes the data directory and the store if they are not there yet.
    """
    from heliograph.app.ports import Unavailable
    from heliograph.composition import gateway
    from heliograph.config import ROLES, SettingsError, changed, parse_address
    from heliograph.runtime.data_directory import AlreadyRunning

    invocation = context.find_object(Invocation) or Invocation()
    settings = invocation.settings()
    named = None if roles is None else [role.strip() for role in roles.split(",") if role.strip()]
    for setting, value, option, usual in (
        ("http.listen", listen, "--listen", "127.0.0.1:8080"),
        ("smpp_server.listen", smpp, "--smpp", "127.0.0.1:2775"),
        ("node.roles", named, "--roles", "api,dispatch,notify,upkeep"),
    ):
        if value is None:
            continue
        try:
            settings = changed(settings, setting, value, option)
        except SettingsError as error:
            raise Failure(str(error), command=f"heliograph serve {option} {usual}") from error
    if not settings.store.url and set(settings.node.roles) != set(ROLES):
        raise Failure(
            "on an embedded store one node does everything: node.roles must name all of " + ", ".join(ROLES) + ".",
            "Several nodes need PostgreSQL (--database-url).",
        )
    for address in filter(None, (settings.http.listen, settings.smpp_server.listen)):
        if dev and not dev_anywhere and not _is_loopback(parse_address(address)[0]):
            raise Failure(
                f"--dev has an account whose secrets everybody knows, and {address} is beyond loopback.",
                "Listen on 127.0.0.1, or add --dev-anywhere if the network is yours alone.",
                "heliograph serve --dev --listen 127.0.0.1:8080",
            )
    try:
        code = gateway.serve(settings, dev=dev, as_json=invocation.as_json)
    except AlreadyRunning as error:
        raise Failure(str(error), "Stop it first, or take another --data.", invocation.typed("doctor")) from error
    except (Unavailable, OSError) as error:
        if isinstance(error, OSError) and error.errno == errno.EADDRINUSE:
            raise Failure(
                f"{error.filename or settings.http.listen} is in use: another program listens there.",
                "Stop it, or listen elsewhere with --listen or the setting http.listen.",
                "heliograph serve --listen HOST:PORT",
            ) from error
        raise Failure(f"the gateway could not start: {error}", command=invocation.typed("doctor")) from error
    context.exit(code)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
