"""The reference pages, drawn from the settings and the commands themselves.

`python -m heliograph.cli.reference DOCS` writes them anew.
"""

import json
import re
import sys
from pathlib import Path
from typing import Any

import click

from heliograph.cli.metrics_page import metrics_page
from heliograph.config import SettingEntry, entries, sections

#: What the help of each command says and the page says once.
_EVERYWHERE = re.compile(r"\nOptions of every command:\n(?:  .*\n?)+")

_SETTINGS_HEAD = """\
# Settings

Every setting has a default; a fresh gateway needs none of them. They are read at start, from

1. `HELIOGRAPH_*` variables, which win,
2. `heliograph.toml` in the data directory, or the file that `--config` or `HELIOGRAPH_CONFIG` names.

The data directory is `--data`, else `HELIOGRAPH_DATA`, else `./heliograph-data`. In a variable a list is comma
separated, and true is `true`, `yes`, `on` or `1`. An unknown or bad setting ends the start with a message that
names it. `heliograph settings` shows what is in force, and `heliograph settings --example` prints a file to begin
with ([heliograph.example.toml](heliograph.example.toml)).

Accounts, connectors, routes and prices are no settings: they live in the store and are changed with
[commands](cli.md), without a restart.

`HELIOGRAPH_USER`, `HELIOGRAPH_API_KEY` and `HELIOGRAPH_URL` are what `heliograph send` signs in with, and where.
`HELIOGRAPH_CONTEXT` names the [gateway elsewhere](operating.md#away-from-the-machine) that commands mean, and
`HELIOGRAPH_TOKEN` is the token that `heliograph context add` keeps for one.
"""

_CLI_HEAD = """\
# Command line

`--data`, `--config`, `--database-url`, `--context`, `--json` and `--help` are options of every command, before it and
after it.
With `--json`, standard output is one JSON object and nothing else (`top` and `tail` go on, and print one a line);
amounts are exact decimal text. A command that fails exits with a code other than 0 and says on standard error what was
wrong and what to do. Administration works on the store directly, while the gateway runs and while it does not; a
running one heeds it within five seconds.
"""


def to_toml(value: Any) -> str:
    """A setting's value as the file has it."""
    if isinstance(value, tuple):
        return "[" + ", ".join(to_toml(part) for part in value) + "]"
    return json.dumps(value, ensure_ascii=False)


def settings_page() -> str:
    """`docs/settings.md`."""
    parts = [_SETTINGS_HEAD]
    for section, kind in sections().items():
        parts.append(
            f"\n## [{section}]\n\n{kind.__doc__}\n\n| setting | default | values | meaning |\n|---|---|---|---|\n"
        )
        parts.extend(_row(entry) for entry in entries() if entry.section == section)
    return "".join(parts)


def _row(entry: SettingEntry) -> str:
    names = f"`{entry.name}`<br>`{entry.variable}`"
    return f"| {names} | `{to_toml(entry.default)}` | {entry.expected} | {entry.doc} |\n"


def example_file() -> str:
    """A settings file in which every setting stands with its default, commented out."""
    import textwrap

    parts = ["# Settings of Heliograph. Every line that begins with # and a name shows a default.\n"]
    for section, kind in sections().items():
        parts.append(f"\n# {kind.__doc__}\n[{section}]\n")
        for entry in entries():
            if entry.section == section:
                text = textwrap.fill(f"{entry.doc} Values: {entry.expected}.", 96)
                parts.append(textwrap.indent(text, "# ") + f"\n#{entry.name} = {to_toml(entry.default)}\n\n")
    return "".join(parts).rstrip("\n") + "\n"


def cli_page() -> str:
    """`docs/cli.md`: the help of every command."""
    from heliograph.cli.main import heliograph

    parts = [_CLI_HEAD]
    _describe(heliograph, None, parts)
    return "".join(parts)


def _describe(command: click.Command, parent: click.Context | None, parts: list[str]) -> None:
    # a fixed width: the page must not depend on the terminal of who writes it
    context = click.Context(command, info_name=command.name, parent=parent, terminal_width=100, max_content_width=100)
    level = "##" if parent is None or parent.parent is None else "###"
    text = _EVERYWHERE.sub("", command.get_help(context)).rstrip()
    parts.append(f"\n{level} {context.command_path}\n\n```\n{text}\n```\n")
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            child = command.get_command(context, name)
            if child is not None:
                _describe(child, context, parts)


def admin_page() -> str:
    """`docs/admin-api.md`: the operations of the admin API."""
    from heliograph.admin_api.operations import operations
    from heliograph.admin_api.reference import page
    from heliograph.composition.connectors import KINDS

    return page(operations(KINDS))


def pages() -> dict[str, str]:
    """The text of each generated file, by its name under `docs/`."""
    return {
        "settings.md": settings_page(),
        "cli.md": cli_page(),
        "metrics.md": metrics_page(),
        "admin-api.md": admin_page(),
        "heliograph.example.toml": example_file(),
    }


def main() -> None:
    docs = Path(sys.argv[1])
    for name, text in pages().items():
        (docs / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
