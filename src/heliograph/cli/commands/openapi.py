"""`heliograph openapi`: the OpenAPI document, from which clients are generated."""

import click

from heliograph.cli.command import Command, Invocation, echo_json, examples


@click.command(
    cls=Command,
    epilog=examples(
        "heliograph openapi > openapi.json",
        "openapi-python-client generate --path openapi.json",
        "heliograph openapi --narrow > openapi-3.0.json",
        "openapi-generator-cli generate -i openapi-3.0.json -g java -o client",
    ),
)
@click.option("--narrow", is_flag=True, help="Print an OpenAPI 3.0 document, for generators of clients.")
@click.pass_obj
def openapi(invocation: Invocation, narrow: bool) -> None:
    """Prints the OpenAPI document of the HTTP API.

    It has the limits of the settings in force. A running gateway serves it at /openapi.json, as OpenAPI 3.0 at
    /openapi-3.0.json, and as a page at /docs.
    """
    import json

    from heliograph.api.narrow import narrowed
    from heliograph.api.openapi import document
    from heliograph.composition import commands

    found = document(commands.terms(invocation.settings()))
    found = narrowed(found) if narrow else found
    if invocation.as_json:
        echo_json(found)
    else:
        click.echo(json.dumps(found, indent=2, ensure_ascii=False))
