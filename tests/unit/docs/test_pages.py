"""The pages that are written by hand: what they show is well formed, what they point to is there."""

import ast
import json
import re
import shutil
import subprocess
from pathlib import Path

from tests.support.cases import for_each

ROOT = Path(__file__).parents[3]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```([a-z]*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\(([^)\s]+)\)")


def blocks(page: Path, language: str) -> list[str]:
    return [code for name, code in BLOCK.findall(page.read_text(encoding="utf-8")) if name == language]


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as code hosts make them."""
    text = BLOCK.sub("", page.read_text(encoding="utf-8"))
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@for_each("page", PAGES)
def test_blocks_are_well_formed(page: Path) -> None:
    for code in blocks(page, "json"):
        json.loads(code)
    for code in blocks(page, "python"):
        compile(code, page.name, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    shell = shutil.which("bash")
    for code in blocks(page, "bash") if shell else []:
        checked = subprocess.run([str(shell), "-n"], input=code, text=True, capture_output=True, check=False)
        assert (checked.returncode, checked.stderr) == (0, "")


@for_each("page", PAGES)
def test_links_lead_somewhere(page: Path) -> None:
    text = BLOCK.sub("", page.read_text(encoding="utf-8"))
    for link in LINK.findall(text):
        if "://" in link:
            continue
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        assert target.exists(), link
        if anchor:
            assert anchor in anchors(target), link


def test_the_book_has_each_page_in_one_of_its_parts() -> None:
    contents = ROOT / "docs" / "README.md"
    parts = contents.read_text(encoding="utf-8").split("\n## ")[1:]
    assert [part.partition(" ")[0] for part in parts] == ["1.", "2.", "3.", "4.", "5."]
    listed = sorted({(number, link) for number, part in enumerate(parts) for link in LINK.findall(part)})
    pages = sorted(page.name for page in (ROOT / "docs").glob("*.md") if page != contents)
    assert sorted(link for _, link in listed if link.endswith(".md") and "/" not in link) == pages


def test_the_first_page_leads_to_each_page_of_the_book() -> None:
    first = set(LINK.findall((ROOT / "README.md").read_text(encoding="utf-8")))
    missing = [page.name for page in (ROOT / "docs").glob("*.md") if f"docs/{page.name}" not in first]
    assert missing == ["dependencies.md"], "the architecture leads there"
