"""`heliograph`: the root of all commands."""

import click

from heliograph import __version__
from heliograph.cli.account import account, key
from heliograph.cli.admin import admin
from heliograph.cli.backup import backup, restored
from heliograph.cli.books import audit, callbacks, receipts
from heliograph.cli.command import Group, examples
from heliograph.cli.completion import completion
from heliograph.cli.connector import connector
from heliograph.cli.doctor import doctor
from heliograph.cli.log_level import log_level
from heliograph.cli.message import message
from heliograph.cli.openapi import openapi
from heliograph.cli.routing import price, route
from heliograph.cli.send import send
from heliograph.cli.serve import serve
from heliograph.cli.settings import settings
from heliograph.cli.simulator import simulator
from heliograph.cli.tail import tail
from heliograph.cli.top import top

_COMMANDS = (
    serve, account, key, connector, route, price, send, message, callbacks, receipts, top, tail, log_level, admin,
    simulator, settings, openapi, doctor, audit, backup, restored, completion,
)  # fmt: skip


@click.group(
    cls=Group,
    context_settings={"max_content_width": 100},
    epilog=examples(
        "heliograph serve --dev                       # try it: with a simulated operator and a demo account",
        "heliograph account create acme --credit 100",
        "heliograph connector add op1 --host smsc.example.net --port 2775 --system-id acme --password W",
        'heliograph route add --prefix "" --connector op1',
        "heliograph serve",
    ),
)
@click.version_option(__version__, message="heliograph %(version)s")
def heliograph() -> None:
    """A self-hosted SMS gateway: HTTP in, SMPP out.

    Commands that administer work while the gateway runs and while it does not; a running one heeds them within
    five seconds.
    """


for command in _COMMANDS:
    heliograph.add_command(command)


def main() -> None:
    heliograph(prog_name="heliograph")
