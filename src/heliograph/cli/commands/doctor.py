"""`heliograph doctor`: checks a gateway and its surroundings, with advice on each problem."""

from dataclasses import asdict

import click

from heliograph.cli.command import Command, Invocation, examples, print_line
from heliograph.domain.display import counted, harmless


@click.command(cls=Command, epilog=examples("heliograph doctor", "heliograph doctor --no-binds --json"))
@click.option("--binds/--no-binds", default=True, help="Also test a bind of each connector.")
@click.pass_context
def doctor(context: click.Context, binds: bool) -> None:
    """Checks everything that a gateway needs.

    It checks the settings, store, ledgers, clock, connectors, callbacks and the port. It also looks for messages,
    receipts and callbacks that wait too long or have failed. Each problem has advice.

    The exit code is 0 if nothing is broken, otherwise 1. The command changes nothing.
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
                print_line(f"      -> {finding.advice}")
        notes = sum(finding.result == "note" for finding in findings)
        look = f"Nothing is broken; {counted(notes, 'thing is', 'things are')} worth a look."
        click.echo("\nA check failed: see above." if not healthy else f"\n{look}" if notes else "\nAll is well.")

    invocation.show({"healthy": healthy, "checks": [asdict(finding) for finding in findings]}, people)
    if not healthy:
        context.exit(1)


@click.command(cls=Command, epilog=examples("heliograph health", "heliograph health && deploy-the-next"))
@click.pass_context
def health(context: click.Context) -> None:
    """Checks whether the gateway on this machine is ready.

    It asks `/health/ready` at the setting `http.health_listen`, or at the address of the API. The exit code is 0 if
    the gateway is ready, otherwise 1.
    """
    from heliograph.cli.live.control import readiness_of, running_address

    invocation = context.find_object(Invocation) or Invocation()
    invocation.need_the_machine()
    http = invocation.settings().http
    address = http.health_listen or running_address(invocation) or http.listen
    status = readiness_of(address)

    def people() -> None:
        answered = "is ready" if status == 200 else "does not answer" if status is None else f"answers {status}"
        click.echo(f"{address} {answered}.", err=status != 200)

    invocation.show({"ready": status == 200, "address": address, "status": status}, people)
    if status != 200:
        context.exit(1)
