"""Every line that the log may have is explained to operators."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
LOGGED = re.compile(r"""\blog(?:_once)?\(\s*"(?:info|warning|error|critical)",\s*"([^"]+)\"""")
NAMED = re.compile(r'event = "(\w+\.\w+)"(?: if .* else "(\w+\.\w+)")?')


def events() -> set[str]:
    """What the gateway's own code says, save while somebody asks for every message's way."""
    found = {"smpp.not_bound"}  # the one whose level is chosen
    for path in (ROOT / "src/heliograph").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        found |= set(LOGGED.findall(text)) | {name for names in NAMED.findall(text) for name in names if name}
    return found


def test_the_guide_explains_each_line_and_no_other() -> None:
    guide = (ROOT / "docs/operating.md").read_text(encoding="utf-8")
    section = guide.partition("### Lines of the log")[2].partition("\n## ")[0]
    first_cells = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    explained = {name for cell in first_cells for name in re.findall(r"`([\w.]+)`", cell)}
    assert explained == events()
