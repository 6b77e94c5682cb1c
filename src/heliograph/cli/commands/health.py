"""`heliograph health`: the check of containers and scripts."""

import click

from heliograph.cli.command import Command, Invocation, examples


@click.command(cls=Command, epilog=examples("heliograph health", "heliograph health && deploy-the-next"))
@click.pass_context
def health(context: click.Context) -> None:
    """Checks whether the gateway on this machine is ready.

    It asks `/health/ready` at the setting `http.health_listen`, or at the address of the API. The exit code is 0 if
    the gateway is ready, otherwise 1.
    """
    from heliograph.cli.checks.readiness import readiness_of, running_address

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
