"""Writes the reference pages in `docs/`: settings, commands, metrics and the admin API.

Run `python -m heliograph.cli.reference docs` after a change of a setting, a command, a metric or a resource.
"""

import json
import re
import sys
from pathlib import Path
from typing import Any

import click

from heliograph.app.observing.catalogue import SECTIONS
from heliograph.config import entries, sections

_COMMON_OPTIONS = re.compile(r"\nOptions of every command:\n(?:  .*\n?)+")
"""The common options, which the page describes only at its beginning."""

_METRICS_HEAD = """\
# Metrics

`GET /metrics` on the port of the API answers in Prometheus' text format, or in OpenMetrics where the scraper asks for
it. It is open to loopback, and to the networks of the setting `metrics.allowed_networks`; a request that came through
a proxy is refused ([why](decisions/0010-metrics-and-the-door.md)). `heliograph top` shows the same on a terminal.

```yaml
scrape_configs:
  - job_name: heliograph
    scrape_interval: 15s
    static_configs:
      - targets: ["127.0.0.1:8080"]
```

Times are in seconds, amounts in credits. Labels are connectors by name, states, results and codes: never a number, an
account or a text. Counters begin at 0 with each start. [alerts.yml](../ops/alerts.yml) has alerts and
[grafana-dashboard.json](../ops/grafana-dashboard.json) a dashboard. A test checks that both use only these metrics.
"""

_SETTINGS_HEAD = """\
# Settings

Every setting has a default, and a fresh gateway runs without any. Settings are read at start, from two sources:

1. `HELIOGRAPH_*` variables, which take precedence,
2. `heliograph.toml` in the data directory, or the file given by `--config` or `HELIOGRAPH_CONFIG`.

The data directory is `--data`, or `HELIOGRAPH_DATA`, or `./heliograph-data`, in this order. In a variable, lists are
comma separated (`a,b`), and true is `true`, `yes`, `on` or `1`. A variable with `_FILE` behind its name, such as
`HELIOGRAPH_DATABASE_URL_FILE=/run/secrets/database-url`, names a file with the value.

With an unknown or bad setting the gateway does not start; the message names the setting. `heliograph settings` shows
the settings in force. `heliograph settings --example` prints a file to start from
([heliograph.example.toml](heliograph.example.toml)).

Accounts, connectors, routes and prices are not settings: they are kept in the store and changed with
[commands](cli.md), without a restart.

`heliograph send` signs in with `HELIOGRAPH_USER` and `HELIOGRAPH_API_KEY` at `HELIOGRAPH_URL`. `HELIOGRAPH_CONTEXT`
names the [remote gateway](operating.md#away-from-the-machine) for commands. `HELIOGRAPH_TOKEN` is the token that
`heliograph context add` stores.
"""

_CLI_HEAD = """\
# Command line

Every command has the options `--data`, `--config`, `--database-url`, `--context`, `--json` and `--help`, before or
after its name.

With `--json`, standard output is a single JSON object (`top` and `tail` print an object a line). Amounts are exact
decimal text, for example `"0.0275"`. A failed command exits with a code other than 0. It writes to standard error what
was wrong and what to do. With `--json` the last line of standard error is an object:

```json
{"error": "There is no account acme.", "try": "heliograph account list"}
```

`try` is a command that helps. `hint` says how to correct the input. Either may be missing.

Administration works on the store, with or without a running gateway. A running gateway applies changes within five
seconds. Commands that create, add, set or import things make the store if there is none. All others refuse a directory
without a store, so that a mistyped `--data` does not look like an empty gateway.
"""


def to_toml(value: Any) -> str:
    """Returns a setting's value as TOML, for example `["a", "b"]`."""
    if isinstance(value, tuple):
        return "[" + ", ".join(to_toml(part) for part in value) + "]"
    return json.dumps(value, ensure_ascii=False)


def settings_page() -> str:
    """Returns `docs/settings.md`."""
    parts = [_SETTINGS_HEAD]
    for section, kind in sections().items():
        parts.append(
            f"\n## [{section}]\n\n{kind.__doc__}\n\n| setting | default | values | meaning |\n|---|---|---|---|\n"
        )
        for entry in (each for each in entries() if each.section == section):
            names = f"`{entry.name}`<br>`{entry.variable}`"
            parts.append(f"| {names} | `{to_toml(entry.default)}` | {entry.expected} | {entry.doc} |\n")
    return "".join(parts)


def example_file() -> str:
    """Returns a settings file with all settings and their defaults, commented out."""
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
    """Returns `docs/cli.md`, the help of all commands."""
    from heliograph.cli.main import heliograph

    parts = [_CLI_HEAD]
    _describe(heliograph, None, parts)
    return "".join(parts)


def _describe(command: click.Command, parent: click.Context | None, parts: list[str]) -> None:
    # A fixed width, so that the page does not depend on the terminal.
    context = click.Context(command, info_name=command.name, parent=parent, terminal_width=100, max_content_width=100)
    level = "##" if parent is None or parent.parent is None else "###"
    text = _COMMON_OPTIONS.sub("", command.get_help(context)).rstrip()
    parts.append(f"\n{level} {context.command_path}\n\n```\n{text}\n```\n")
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            child = command.get_command(context, name)
            if child is not None:
                _describe(child, context, parts)


def metrics_page() -> str:
    """Returns `docs/metrics.md`."""
    parts = [_METRICS_HEAD]
    for title, text, metrics in SECTIONS:
        parts.append(f"\n## {title}\n\n{text}\n\n| metric | kind | labels | meaning |\n|---|---|---|---|\n")
        for metric in metrics:
            labels = ", ".join(f"`{label}`" for label in metric.labels) or "-"
            classes = ", ".join(f"{bound * metric.scale:g}" for bound in metric.bounds or ())
            meaning = f"{metric.help} Classes: {classes}." if classes else metric.help
            parts.append(f"| `{metric.name}` | {metric.kind} | {labels} | {meaning} |\n")
    return "".join(parts)


def admin_page() -> str:
    """Returns `docs/admin-api.md`, the operations of the admin API."""
    from heliograph.admin_api.operations import operations
    from heliograph.admin_api.reference import page
    from heliograph.composition.connectors import KINDS

    return page(operations(KINDS))


def pages() -> dict[str, str]:
    """Returns the text of each generated file by its name in `docs/`."""
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
