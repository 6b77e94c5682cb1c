"""`heliograph simulator`: an operator's SMSC for development and tests, with knobs for misbehaviour."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from heliograph.cli.command import Command, Failure, Invocation, examples

if TYPE_CHECKING:
    from heliograph.simulator.behaviour import Knob


class _WithKnobs(Command):
    """A command with an option for each knob. The simulator is imported only when the command is used."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        if not any(parameter.name == "latency_ms" for parameter in self.params):
            from heliograph.simulator.behaviour import KNOBS
            from heliograph.simulator.presets import PRESETS

            self.params.append(
                click.Option(
                    ["--preset"], type=click.Choice(list(PRESETS)), help="Misbehave like a kind of operator; see below."
                )
            )
            self.params += [_option(knob) for knob in KNOBS]
        return super().get_params(ctx)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        from heliograph.simulator.magic_numbers import ORDINARY, SCENARIOS
        from heliograph.simulator.presets import PRESETS

        super().format_options(ctx, formatter)
        with formatter.section("Presets; knobs on the command line override the preset"):
            formatter.write_dl([(name, preset.what) for name, preset in PRESETS.items()])
        with formatter.section("Magic numbers: the last digits of a destination decide"):
            written = [(f"...{digits}", scenario.what) for digits, scenario in SCENARIOS.items()]
            formatter.write_dl([*written, ("other digits", ORDINARY.what)])


def _option(knob: "Knob") -> click.Option:
    name = knob.name.replace("_", "-")
    what = f"{knob.group}: {knob.what}"
    if knob.kind is bool:
        return click.Option([f"--{name}/--no-{name}"], default=None, help=f"{what} [{'yes' if knob.default else 'no'}]")
    kind = click.Choice(knob.choices) if knob.choices else click.STRING
    metavar = None if knob.choices else (knob.unit or "VALUE").upper().replace(" ", "-")
    default = f" [{knob.default}]" if knob.default not in (None, "", (), 0, 0.0) else ""
    again = "; may be repeated" if knob.is_list else ""
    return click.Option(
        [f"--{name}"], type=kind, metavar=metavar, multiple=knob.is_list, help=f"{what}{again}{default}"
    )


@click.command(
    cls=_WithKnobs,
    epilog=examples(
        "heliograph simulator --listen 127.0.0.1:2775",
        "heliograph simulator --preset strict",
        "heliograph simulator --listen 127.0.0.1:0 --latency-ms 100 --throttle-per-s 50",
        "heliograph simulator --receipt-early-share 1 --receipt-id hex --withhold-share 0.01 --seed 7",
        "heliograph simulator --refuse 4479,4478=ESME_RINVDSTADR --log seen.jsonl",
        "heliograph simulator --inbound-rate 5 --inbound-to 3388 --inbound-to 447700900000 --inbound-text Yes",
    ),
)
@click.option(
    "--listen", metavar="HOST:PORT", default="127.0.0.1:2775", show_default=True, help="The address for binds."
)
@click.option(
    "--log",
    type=click.Path(path_type=Path, dir_okay=False, allow_dash=True),
    help="Write everything that it receives to this file, as JSON lines; - is standard output, as with --json.",
)
@click.pass_context
def simulator(context: click.Context, /, listen: str, log: Path | None, preset: str | None, **given: Any) -> None:
    """Runs a simulated operator.

    It accepts binds and messages, and sends receipts, until Ctrl-C. On a terminal it shows a live table. Without
    options it behaves well. Each knob changes a detail of its behaviour; --preset sets several knobs.
    """
    from heliograph.config import parse_address
    from heliograph.simulator.behaviour import KNOBS, Behaviour, BehaviourError
    from heliograph.simulator.presets import PRESETS
    from heliograph.simulator.run import run

    invocation = context.find_object(Invocation) or Invocation()
    try:
        host, port = parse_address(listen)
    except ValueError as error:
        raise Failure(f"--listen: {error}", command="heliograph simulator --listen 127.0.0.1:2775") from error
    chosen: dict[str, Any] = dict(PRESETS[preset].knobs) if preset else {}
    try:
        for knob in KNOBS:
            value = ",".join(given[knob.name]) or None if knob.is_list else given[knob.name]
            if value is not None:
                chosen[knob.name] = knob.read(value) if isinstance(value, str) else value
        behaviour = Behaviour(**chosen)
    except BehaviourError as error:
        option = error.knob.replace("_", "-")
        raise Failure(f"--{option}: {str(error).partition(': ')[2]}", command="heliograph simulator --help") from error
    if invocation.as_json and log is None:
        log = Path("-")
    live = sys.stdout.isatty() and log != Path("-")
    try:
        code = run(host, port, behaviour, log=log, live=live)
    except OSError as error:
        raise Failure(
            f"the simulator could not start: {error}",
            "Port 2775 belongs to a development run, if one runs." if port == 2775 else "",
            f"heliograph simulator --listen 127.0.0.1:{min(port + 1, 65_535)}",
        ) from error
    context.exit(code)
