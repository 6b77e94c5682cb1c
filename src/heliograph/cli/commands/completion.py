"""`heliograph completion`: completion of commands and options in the shell."""

import click

from heliograph.cli.command import Command, Failure, Invocation, examples

_SHELLS = ("bash", "zsh", "fish")
_VARIABLE = "_HELIOGRAPH_COMPLETE"


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
    """Prints the completion script of a shell."""
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    if kind is None:
        raise Failure(f"there is no completion for {shell}")
    completer = kind(context.find_root().command, {}, "heliograph", _VARIABLE)
    # `source()` would fail if the shell is not installed on this machine.
    script = completer.source_template % completer.source_vars()
    invocation = context.find_object(Invocation) or Invocation()
    invocation.show({"shell": shell, "script": script}, lambda: click.echo(script))
