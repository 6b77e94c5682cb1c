"""The guides to installing and migrating name only what there is: commands, options, settings, samples."""

import re
from pathlib import Path

import click
import pytest

from heliograph import config
from heliograph.adapters.smpp.options import OPTIONS
from heliograph.api.fields import SEND
from heliograph.cli.main import heliograph
from tests.support.cases import for_each

ROOT = Path(__file__).parents[3]
DOCS = ROOT / "docs"
WRITTEN = {"admin-api", "cli", "metrics", "settings"}
"""Pages that are made of the program itself."""
GUIDES = [ROOT / "README.md", *sorted(page for page in DOCS.glob("*.md") if page.stem not in WRITTEN)]
ALERTS = ROOT / "ops" / "alerts.yml"
MIGRATING = [page for page in GUIDES if page.stem.startswith("migrating")]

COMMAND = re.compile(r"(?<![\w/.-])heliograph (?:--context \S+ )?([a-z][a-z-]*(?: [a-z][a-z-]*){0,2})")
"""`heliograph` and the one to three words after it; how many of them name the command depends on the first."""


def command(words: str) -> click.Command:
    found: click.Command = heliograph
    for word in words.split():
        if not isinstance(found, click.Group):
            break
        assert word in found.commands, words
        found = found.commands[word]
    return found


def lines_of_the_log() -> set[str]:
    """Their events, which are written as settings are."""
    _, _, after = (DOCS / "operating.md").read_text(encoding="utf-8").partition("### Lines of the log")
    cells = re.findall(r"^\| ([^|]*) \|", after, re.MULTILINE)
    return set(re.findall(r"`([a-z_]+\.[a-z_]+)`", " ".join(cells)))


def code(page: Path) -> list[str]:
    """What stands between backticks, and the lines of blocks for a shell."""
    text = page.read_text(encoding="utf-8")
    blocks = re.findall(r"^```bash\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    inline = re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE))
    return inline + [line for block in blocks for line in block.replace("\\\n", " ").splitlines()]


@for_each("page", [*GUIDES, ALERTS])
def test_its_commands_and_their_options_exist(page: Path) -> None:
    for piece in code(page):
        if re.search(r"\b(docker|kubectl|useradd|pip|venv|systemctl|journalctl)\b", piece):
            starts = ("heliograph heliograph ", "gateway heliograph ", "-- heliograph ")
            piece = next((piece.partition(start)[2] for start in starts if start in piece), "")
            piece = f"heliograph {piece}" if piece else ""
        for words in COMMAND.findall(piece):
            named = command(words)
            known = {spelling for each in named.get_params(click.Context(named)) for spelling in each.opts}
            for option in re.findall(r"(?<!\S)--[a-z-]+", piece):
                assert option in known | {"--json", "--help"}, piece


def variables_of_samples() -> set[str]:
    programs = [path.read_text(encoding="utf-8") for path in (DOCS / "samples").iterdir() if path.is_file()]
    return set(re.findall(r"\bHELIOGRAPH_[A-Z_]+", " ".join(programs)))


@for_each("page", GUIDES)
def test_its_settings_exist(page: Path) -> None:
    entries = config.entries()
    keys = {entry.key for entry in entries}
    variables = {entry.variable for entry in entries} | {f"HELIOGRAPH_{name}" for name in config.OTHER_VARIABLES}
    variables |= variables_of_samples()
    text = page.read_text(encoding="utf-8")
    events = lines_of_the_log()
    for section in config.sections():
        for key in re.findall(rf"`({section}\.[a-z_]+)`", text):
            assert key in keys | events
    for variable in re.findall(r"\bHELIOGRAPH_[A-Z_]+", text):
        assert variable in variables or variable.removesuffix("_FILE") in variables


@pytest.mark.parametrize("page", MIGRATING, ids=lambda page: page.stem)
def test_its_connector_options_exist(page: Path) -> None:
    section = re.split(r"^## ", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    (table,) = [part for part in section if "heliograph connector add" in part]
    named = set(re.findall(r"`([a-z][a-z_]+)=", table))
    assert len(named) > 15
    assert named <= {*OPTIONS, "tls", "state"}
    spellings = {
        spelling for name in ("connector add", "route add") for each in command(name).params for spelling in each.opts
    }
    assert set(re.findall(r"`(--[a-z-]+)", table)) <= spellings


@pytest.mark.parametrize("page", MIGRATING, ids=lambda page: page.stem)
def test_a_guide_to_migrating_names_every_field_of_a_request(page: Path) -> None:
    _, _, sending = page.read_text(encoding="utf-8").partition("\n## Sending\n")
    rows = [line.split(" | ") for line in sending.partition("\n### ")[0].splitlines() if line.startswith("| ")]
    ours = set(re.findall(r"`([a-z-]+)", " ".join(row[1] for row in rows)))
    assert {field.name for field in SEND[1]} - ours == set()
    assert not any("none a message" in cell for row in rows for cell in row)


def test_every_page_can_be_reached_from_the_readme() -> None:
    pages, found = [ROOT / "README.md"], {ROOT / "README.md"}
    while pages:
        page = pages.pop()
        for link in re.findall(r"\]\(([^)#\s]+)", page.read_text(encoding="utf-8")):
            target = (page.parent / link).resolve()
            if "://" not in link and target.suffix == ".md" and target.exists() and target not in found:
                found.add(target)
                pages.append(target)
    assert set(DOCS.glob("*.md")) <= found


def test_every_sample_is_shown() -> None:
    shown = set(re.findall(r"\(samples/([\w.]+)\)", (DOCS / "install.md").read_text(encoding="utf-8")))
    assert shown == {path.name for path in (DOCS / "samples").iterdir() if path.is_file()}
