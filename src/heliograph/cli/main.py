"""`heliograph`: the root of all commands."""

from collections import UserDict
from importlib import import_module
from typing import Any

import click

from heliograph import __version__
from heliograph.cli.command import Group, examples

_MODULES = {
    "serve": "serve",
    "account": "groups",
    "key": "resources.keys",
    "connector": "connector",
    "route": "routing",
    "network": "network",
    "price": "price",
    "number": "resources.numbers",
    "inbound": "resources.inbound",
    "sender": "resources.senders",
    "binds": "resources.binds",
    "guard": "resources.guard",
    "suppression": "suppression",
    "template": "template",
    "erase": "recipient",
    "export-recipient": "recipient",
    "send": "send",
    "listen": "listen",
    "message": "message",
    "callbacks": "callbacks",
    "receipts": "receipts",
    "refusals": "resources.refusals",
    "report": "report",
    "top": "top",
    "tail": "tail",
    "log-level": "control",
    "reload": "control",
    "admin": "groups",
    "simulator": "simulator",
    "settings": "settings",
    "openapi": "openapi",
    "doctor": "doctor",
    "audit": "audit",
    "encryption": "encryption",
    "backup": "backup",
    "compact": "backup",
    "restored": "backup",
    "context": "context",
    "completion": "completion",
}
"""By command, in the order in which people meet them: a module of `commands`, or a resource that it is drawn from."""


class _Commands(UserDict[str, Any]):
    """Each command, imported when it is asked for: `serve` stays for weeks with what it has imported, and the others
    are to be there at once."""

    def __getitem__(self, name: str) -> click.Command:
        found = self.data[name]
        if isinstance(found, str) and found.startswith("resources."):
            from heliograph.cli.drawn import command_of, group_of

            resource = getattr(import_module(f"heliograph.app.{found}"), found.removeprefix("resources.").upper())
            only = resource.operations[0] if len(resource.operations) == 1 else None
            found = self.data[name] = command_of(resource, only, name=name) if only else group_of(resource)
        elif isinstance(found, str):
            found = self.data[name] = getattr(import_module(f"heliograph.cli.commands.{found}"), name.replace("-", "_"))
        command: click.Command = found
        return command


@click.group(
    cls=Group,
    commands=_Commands(_MODULES),
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


def main() -> None:
    heliograph(prog_name="heliograph")
