"""`heliograph completion`: completion of commands and options in the shell."""

import click

from heliograph.cli.command import COMPLETES, Command, Failure, Invocation, examples

_SHELLS = ("bash", "zsh", "fish")


@click.command(
    cls=Command,
    epilog=examples(
        "heliograph completion bash > ~/.local/share/bash-completion/completions/heliograph",
        'heliograph completion zsh > "${fpath[1]}/_heliograph"',
        "heliograph completion fish > ~/.config/fish/completions/heliograph.fish",
    ),
)
@click.argument("shell", type=click.Choice(_SHELLS))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Prints the completion script of a shell.

    It completes commands, options, and the names of accounts, connectors, routes and others.
    """
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    if kind is None:
        raise Failure(f"there is no completion for {shell}")
    completer = kind(context.find_root().command, {}, "heliograph", COMPLETES)
    # `source()` would fail if the shell is not installed on this machine.
    script = completer.source_template % completer.source_vars()
    invocation = context.find_object(Invocation) or Invocation()
    invocation.show({"shell": shell, "script": script}, lambda: click.echo(script))
