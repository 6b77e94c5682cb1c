"""`heliograph doctor`: looks at everything that a gateway needs, and says what to do about what is wrong."""

from dataclasses import asdict

import click

from heliograph.cli.command import Command, Invocation, examples, tell
from heliograph.domain.display import counted, harmless


@click.command(cls=Command, epilog=examples("heliograph doctor", "heliograph doctor --no-binds --json"))
@click.option("--binds/--no-binds", default=True, help="Whether to bind to each connector as a test.")
@click.pass_context
def doctor(context: click.Context, binds: bool) -> None:
    """Checks everything that a gateway needs.

    Settings, store, books, clock, connectors, callbacks, and the port to listen on; and what waits for too long, or has
    failed: messages, receipts, callbacks. With what to do about each.

    Exit code 0 if nothing is wrong, 1 if something is. It changes nothing.
    """
    import asyncio

    from heliograph.cli.checks.doctor import examine

    invocation = context.find_object(Invocation) or Invocation()
    findings = asyncio.run(examine(invocation, binds))
    healthy = all(finding.result != "fail" for finding in findings)

    def people() -> None:
        colours = {"ok": "green", "note": "yellow", "fail": "red"}
        for finding in findings:
            mark = click.style(f"{finding.result:4}", fg=colours[finding.result])
            click.echo(f"{mark}  {harmless(finding.check)}: {harmless(finding.detail)}")
            if finding.advice:
                tell(f"      -> {finding.advice}")
        notes = sum(finding.result == "note" for finding in findings)
        look = f"Nothing is broken; {counted(notes, 'thing is', 'things are')} worth a look."
        click.echo("\nSomething needs your attention." if not healthy else f"\n{look}" if notes else "\nAll is well.")

    invocation.show({"healthy": healthy, "checks": [asdict(finding) for finding in findings]}, people)
    if not healthy:
        context.exit(1)
