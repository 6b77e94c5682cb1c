"""`heliograph`: the root of all commands."""

import os
from collections import UserDict
from importlib import import_module
from typing import Any, Final

import click

from heliograph import __version__
from heliograph.cli.command import COMPLETES, Root, examples

_COMMANDS: Final = {
    "serve": ("serve", "Runs the gateway."),
    "account": ("groups", "Customers: their settings, credit and secrets."),
    "key": ("resources.keys", "API keys of accounts."),
    "connector": ("connector", "Accounts at operators: address, credentials, limits."),
    "route": ("routing", "The connector for each prefix or network."),
    "network": ("network", "Mobile networks, by the first digits of their numbers."),
    "plan": ("resources.plans", "Price plans: their routing and least margin."),
    "price": ("price", "Prices of a segment, by the network or the first digits of the number."),
    "cost": ("cost", "Costs of a segment, by connector and destination."),
    "number": ("resources.numbers", "Numbers that phones write to, and their accounts."),
    "inbound": ("resources.inbound", "Messages from phones."),
    "sender": ("resources.senders", "Sender IDs of accounts, and whether they are approved."),
    "sender-rule": ("resources.sender_rules", "Rules for sender IDs, by the country of the number."),
    "binds": ("resources.binds", "SMPP clients of customers that are bound now."),
    "guard": ("resources.guard", "Messages that the pumping guard suspects or holds."),
    "queue": ("resources.queue", "Messages that wait, by connector, account and country."),
    "sending-list": ("resources.sending_lists", "Lists of messages that the console sends."),
    "suppression": ("suppression", "Phones that an account must not send to."),
    "template": ("template", "Texts registered with operators, as in India's DLT."),
    "erase": ("recipient", "Erases the number of a phone and its texts."),
    "export-recipient": ("recipient", "Writes all stored data of a phone as JSON."),
    "send": ("send", "Sends messages as a customer, over HTTP."),
    "listen": ("listen", "Forwards the callbacks of an account to a local program."),
    "message": ("message", "Messages of any account, with their history."),
    "callbacks": ("callbacks", "Receipts and messages that are pushed to customers."),
    "receipts": ("receipts", "Receipts from operators."),
    "refusals": ("resources.refusals", "Requests of customers that were refused, and why."),
    "attention": ("attention", "Things that need somebody, such as a connector that is down."),
    "report": ("report", "Counts of messages, delivery share, spend, and delays."),
    "top": ("top", "Shows the figures of the running gateway."),
    "tail": ("tail", "Shows the events of messages, live."),
    "log-level": ("control", "Shows or changes the level of the running gateway's log."),
    "reload": ("control", "Makes the running gateway reload its certificate."),
    "admin": ("groups", "Users of the console, tokens and the audit log."),
    "simulator": ("simulator", "Runs a simulated operator."),
    "settings": ("settings", "Shows the settings in force."),
    "openapi": ("openapi", "Prints the OpenAPI document of the HTTP API."),
    "node": ("resources.nodes", "Gateway processes on the store."),
    "doctor": ("doctor", "Checks everything that a gateway needs."),
    "health": ("doctor", "Checks whether the gateway on this machine is ready."),
    "audit": ("audit", "Proves the ledgers and the audit log from their rows."),
    "encryption": ("encryption", "Encryption of texts and secrets in the store."),
    "backup": ("backup", "Copies the embedded store to FILE while the gateway runs."),
    "compact": ("backup", "Rewrites the embedded store without deleted rows."),
    "restored": ("backup", "Accepts a store that went back in time, and reports its gaps."),
    "move": ("move", "Moves the embedded store in the data directory to a PostgreSQL database."),
    "context": ("context", "Gateways on other machines, for all commands."),
    "completion": ("completion", "Prints the completion script of a shell."),
}
"""The module of each command in `commands`, or the resource that it is drawn from, and its summary for `--help`.

The order is that of `--help`. The summaries repeat those of the commands: with them, `--help` imports no command.
"""


class _Modules(UserDict[str, Any]):
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
    commands=_Modules({name: module for name, (module, _) in _COMMANDS.items()}),
    summaries={name: summary for name, (_, summary) in _COMMANDS.items()},
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
    """A self-hosted SMS gateway: HTTP and SMPP in, SMPP out.

    Commands of administration work whether the gateway runs or not. A running gateway applies changes within five
    seconds.
    """


def main() -> None:
    if COMPLETES in os.environ:
        from heliograph.cli.names import install_completion

        install_completion()
    heliograph(prog_name="heliograph")
