"""`heliograph simulator`: an operator's SMSC to develop and test against, with its knobs to misbehave."""

import click

from heliograph.cli.command import Command, Failure, Invocation, examples

_SHARE = click.FloatRange(0, 1)
_MILLISECONDS = click.FloatRange(min=0)


@click.command(
    cls=Command,
    epilog=examples(
        "heliograph simulator --listen 127.0.0.1:2775",
        "heliograph simulator --listen 127.0.0.1:0 --latency-ms 100 --throttle 50",
        "heliograph simulator --listen 127.0.0.1:2775 --receipts early --id-format dec --no-answer-share 0.01",
    ),
)
@click.option("--listen", metavar="HOST:PORT", default="127.0.0.1:2775", show_default=True, help="Where it listens.")
@click.option("--system-id", metavar="S", help="The only system_id that may bind [any].")
@click.option("--password", metavar="W", help="The password that it needs [any].")
@click.option("--latency-ms", type=_MILLISECONDS, default=0.0, show_default=True, help="Before each answer.")
@click.option("--latency-jitter-ms", type=_MILLISECONDS, default=0.0, show_default=True, help="Up to so much more.")
@click.option(
    "--receipts",
    type=click.Choice(["late", "early", "doubled", "missing", "shuffled"]),
    default="late",
    show_default=True,
    help="After the answer, before it, twice, never, or out of order.",
)
@click.option("--receipt-delay-ms", type=_MILLISECONDS, default=500.0, show_default=True, help="After the answer.")
@click.option("--receipt-elsewhere", is_flag=True, help="Receipts come on another bind of the same system_id.")
@click.option(
    "--id-format",
    type=click.Choice(["hex", "dec", "hex-dec", "dec-hex"]),
    default="hex",
    show_default=True,
    help="Notation of ids; `hex-dec` is hexadecimal in the answer and decimal in the receipt.",
)
@click.option("--throttle", type=click.FloatRange(min=0), metavar="PER_SECOND", help="Refuse beyond this rate.")
@click.option("--queue-full", type=_SHARE, metavar="SHARE", default=0.0, help="Answer this share ESME_RMSGQFUL.")
@click.option("--refuse-number", multiple=True, metavar="NUMBER", help="Refuse this destination. Repeatable.")
@click.option("--refuse-share", type=_SHARE, metavar="SHARE", default=0.0, help="Refuse this share.")
@click.option("--no-answer-share", type=_SHARE, metavar="SHARE", default=0.0, help="Never answer this share.")
@click.option("--seed", type=int, metavar="N", help="Chance that repeats itself [different each time].")
@click.pass_context
def simulator(context: click.Context, /, listen: str, **knobs: object) -> None:
    """Runs a pretend operator.

    It takes binds and messages and sends receipts, until Ctrl-C."""
    from heliograph import simulator as smsc  # type: ignore[attr-defined]
    from heliograph.config import parse_address

    invocation = context.find_object(Invocation) or Invocation()
    try:
        host, port = parse_address(listen)
    except ValueError as error:
        raise Failure(f"--listen: {error}", command="heliograph simulator --listen 127.0.0.1:2775") from error
    context.exit(smsc.run(host, port, as_json=invocation.as_json, **knobs))
