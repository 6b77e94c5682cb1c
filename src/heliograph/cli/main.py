"""`heliograph`: the root of all commands."""

from collections import UserDict
from importlib import import_module
from typing import Any

import click

from heliograph import __version__
from heliograph.cli.command import Root, examples

_MODULES = {
    "serve": "serve",
    "account": "groups",
    "key": "resources.keys",
    "connector": "connector",
    "route": "routing",
    "network": "network",
    "plan": "resources.plans",
    "price": "price",
    "cost": "cost",
    "number": "resources.numbers",
    "inbound": "resources.inbound",
    "sender": "resources.senders",
    "sender-rule": "resources.sender_rules",
    "binds": "resources.binds",
    "guard": "resources.guard",
    "queue": "resources.queue",
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
    "health": "doctor",
    "audit": "audit",
    "encryption": "encryption",
    "backup": "backup",
    "compact": "backup",
    "restored": "backup",
    "move": "move",
    "context": "context",
    "completion": "completion",
}
"""The module of each command in `commands`, or the resource that it is drawn from. The order is that of `--help`."""


class _Commands(UserDict[str, Any]):
    """Commands that are imported on use.

    `serve` runs for weeks, so it must not import the modules of other commands. Other commands must start quickly.
    """

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
    cls=Root,
    commands=_Commands(_MODULES),
    context_settings={"max_content_width": 100},
    epilog=examples(
        "heliograph serve --dev                       # a first try, with a simulated operator and a demo account",
        "heliograph account create acme --credit 100",
        "heliograph connector add op1 --host smsc.example.net --port 2775 --system-id acme --password W",
        'heliograph route add --prefix "" --connector op1',
        "heliograph serve",
    ),
)
@click.version_option(__version__, message="heliograph %(version)s")
def heliograph() -> None:
    """A self-hosted SMS gateway: HTTP in, SMPP out.

    Commands of administration work whether the gateway runs or not. A running gateway applies changes within five
    seconds.
    """


def main() -> None:
    heliograph(prog_name="heliograph")
