"""The generated pages are what the settings and the commands say today."""

import tomllib
from pathlib import Path

import click

from heliograph import config
from heliograph.cli.main import heliograph
from heliograph.cli.reference import pages
from tests.support.cases import for_each

DOCS = Path(__file__).parents[3] / "docs"


def test_pages_are_current() -> None:
    for name, text in pages().items():
        written = (DOCS / name).read_text(encoding="utf-8")
        assert written == text, f"write {name} again: .venv/bin/python -m heliograph.cli.reference docs"


def test_every_setting_is_on_its_page() -> None:
    page = (DOCS / "settings.md").read_text(encoding="utf-8")
    for entry in config.entries():
        assert f"`{entry.name}`" in page
        assert f"`{entry.variable}`" in page
        assert entry.doc in page


def commands(command: click.Command, path: str) -> list[tuple[str, click.Command]]:
    found = [(path, command)]
    if isinstance(command, click.Group):
        for name, child in command.commands.items():
            found += commands(child, f"{path} {name}")
    return found


@for_each(("path", "command"), commands(heliograph, "heliograph"))
def test_every_command_and_option_is_on_its_page(path: str, command: click.Command) -> None:
    page = (DOCS / "cli.md").read_text(encoding="utf-8")
    assert f"# {path}\n" in page
    section = page.split(f"# {path}\n")[1].split("\n##")[0] + page.split("\n##")[0]
    for parameter in command.get_params(click.Context(command)):
        if isinstance(parameter, click.Option):
            for spelling in parameter.opts:
                assert spelling in section


def test_the_example_file_is_the_defaults_once_uncommented(tmp_path: Path) -> None:
    example = (DOCS / "heliograph.example.toml").read_text(encoding="utf-8")
    lines = [
        line.removeprefix("#") if line[:1] == "#" and line[1:2].islower() else line for line in example.split("\n")
    ]
    path = tmp_path / "heliograph.toml"
    path.write_text("\n".join(lines), encoding="utf-8")
    document = tomllib.loads(path.read_text(encoding="utf-8"))
    keys = [f"{section}.{name}" for section, values in document.items() for name in values]
    assert keys == [entry.key for entry in config.entries()]
    assert config.load(tmp_path, environ={}) == config.Settings(data=tmp_path, file=path)
