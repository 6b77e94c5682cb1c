"""`heliograph connector`: operator accounts, and tests of their binds."""

import sys
import time
from typing import Any

import click

from heliograph.app.resources.connectors import connectors_of
from heliograph.cli.command import Failure, Invocation, print_fields, print_line
from heliograph.cli.drawn import group_of
from heliograph.composition.connectors import KINDS

CONNECTORS = connectors_of(KINDS)

connector = group_of(CONNECTORS)
_adding = connector.commands["add"]
_add: Any = _adding.callback


def _ask_and_add(**given: Any) -> None:
    """Asks for missing secrets on a terminal, then adds the connector."""
    for name, setting in KINDS[given["kind"]].settings.items() if sys.stdin.isatty() else ():
        if setting.secret and setting.default is None and given[name] is None:
            given[name] = click.prompt(name.replace("_", " ").capitalize(), hide_input=True, err=True)
    _add(**given)


_adding.callback = _ask_and_add


@connector.command("show")
@click.argument("name")
@click.pass_obj
def show(invocation: Invocation, name: str) -> None:
    """A connector, with the last report of each node about its binds.

    With --json the answer has the complete reports, including counters.
    """
    import msgspec

    from heliograph.app.ports import ConnectorReport, ConnectorState
    from heliograph.cli.live.bind_states import view
    from heliograph.domain.calendar import parse_utc

    result = invocation.ask(CONNECTORS, "show", {"name": name})
    for warning in result["warnings"]:
        print_line(f"note: {warning}", err=True)

    def people() -> None:
        shown = [each for each in CONNECTORS.fields if each.name in result and each.name != "warnings"]
        lines = [(each.name, each.text(result[each.name])) for each in shown]
        print_fields([*lines, *((name, str(result[name])) for name in ("used_day", "used_month", "deferred"))])
        try:
            states = [msgspec.convert(each["state"], ConnectorState) for each in result["links"]]
        except msgspec.ValidationError as problem:
            raise Failure(f"the gateway has another version, and its reports cannot be read: {problem}") from problem
        reports = [
            ConnectorReport(0, each["node"], state, parse_utc(each["time"]))
            for each, state in zip(result["links"], states, strict=True)
        ]
        identity = KINDS[result["kind"]].identity
        for line in view(f"{identity} {result[identity]}", reports, int(time.time() * 1000)):
            print_line(line)

    invocation.show(result, people)
