"""`heliograph openapi`: the document that clients are made from."""

import click

from heliograph.cli.command import Command, Invocation, echo_json, examples


@click.command(
    cls=Command,
    epilog=examples(
        "heliograph openapi > openapi.json",
        "openapi-python-client generate --path openapi.json",
    ),
)
@click.pass_obj
def openapi(invocation: Invocation) -> None:
    """Prints the OpenAPI document of the HTTP API.

    It tells the limits of the settings in force. A running gateway has it at /openapi.json, and as a page for people
    at /docs.
    """
    import json

    from heliograph.api.openapi import document
    from heliograph.composition import commands

    found = document(commands.terms(invocation.settings()))
    if invocation.as_json:
        echo_json(found)
    else:
        click.echo(json.dumps(found, indent=2, ensure_ascii=False))
