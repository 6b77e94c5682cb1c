"""`heliograph serve`: runs the gateway."""

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
@click.option("--listen", metavar="HOST:PORT", help="Address of the HTTP API [setting http.listen, 127.0.0.1:8080].")
@click.option(
    "--smpp",
    metavar="HOST:PORT",
    help="Address for customers' SMPP clients [setting smpp_server.listen, none; with --dev 127.0.0.1:2775].",
)
@click.option(
    "--roles",
    metavar="ROLE,...",
    help="Roles of this node: api, dispatch, notify, upkeep [setting node.roles, all]. Needs PostgreSQL.",
)
@click.option(
    "--dev",
    is_flag=True,
    help="A development run: a simulated operator for numbers without a route, a demo account, callbacks to loopback.",
)
@click.option(
    "--dev-anywhere",
    is_flag=True,
    help="Let --dev listen beyond loopback. Everybody who reaches the address can then use the demo account.",
)
@click.pass_context
def serve(
    context: click.Context, listen: str | None, smpp: str | None, roles: str | None, dev: bool, dev_anywhere: bool
) -> None:
    """Runs the gateway.

    The first run makes the data directory and the store. SIGTERM or Ctrl-C stops the gateway: it accepts no more
    requests, waits for the operators' answers, and ends.
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
            "a gateway with an embedded store has a single node, which needs all roles: " + ", ".join(ROLES) + ".",
            "Several nodes need PostgreSQL (--database-url).",
        )
    http, smpp_server = settings.http, settings.smpp_server
    for address in filter(None, (http.listen, http.tls_listen, smpp_server.listen, smpp_server.tls_listen)):
        if dev and not dev_anywhere and not _is_loopback(parse_address(address)[0]):
            raise Failure(
                f"--dev has a demo account with publicly known secrets, and {address} is beyond loopback.",
                "Listen on 127.0.0.1, or add --dev-anywhere if only you can reach the network.",
                "heliograph serve --dev --listen 127.0.0.1:8080",
            )
    try:
        code = gateway.serve(settings, dev=dev, as_json=invocation.as_json)
    except AlreadyRunning as error:
        raise Failure(str(error), "Stop it first, or use another --data.", invocation.typed("doctor")) from error
    except (Unavailable, OSError) as error:
        if isinstance(error, OSError) and error.errno == errno.EADDRINUSE:
            raise Failure(
                f"{error.filename or settings.http.listen} is in use: another program listens there.",
                "Stop that program, or use another address with --listen or the setting http.listen.",
                "heliograph serve --listen HOST:PORT",
            ) from error
        raise Failure(f"the gateway could not start: {error}", command=invocation.typed("doctor")) from error
    context.exit(code)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
