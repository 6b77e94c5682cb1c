"""Counts words that hide their subject, examples, and small slips of code, by folder of the product.

Run `python -m tests.tidy.words` (or `make words`) for the table by folder and module, worst first. After a rewrite,
`python -m tests.tidy.words --shrink` lowers the ceilings in `ceilings.toml` to the present rates; it never raises one.
"""

import ast
import math
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.tidy.rules import Module, docstrings, read_modules

CEILINGS = Path(__file__).with_name("ceilings.toml")

AIMS = {"what": 3.0, "one": 4.0, "those": 1.0, "whose": 0.8, "nobody": 0.3}
"""Occurrences per 1,000 words of docstrings and comments. More than this reads like a dialect; h11 has 1.7 and 1.8 of
the first two."""

EXAMPLES = "examples"
EXAMPLES_AIM = 1.2
"""Examples ("for example", "such as", "e.g.") per 1,000 words: the least, where the other aims are the most."""

SLIPS = "slips"
SLIPS_AIM = 2.0
"""Private functions of at most `SLIP_LINES` that are called once, per 1,000 lines of code."""
SLIP_LINES = 7

SHORT_MODULE_LINES = 40
SHORT_MODULES_AIM = 30
"""Modules of at most 40 lines in the whole tree, `__init__.py` left out."""

SHORT_MODULES = "short_modules"

COLUMNS = (*AIMS, EXAMPLES, SLIPS)

ROOM = 1.1
"""Factor from a rate to its ceiling. A module that moves, or a good docstring that goes, may change a rate a little."""

TREE = "tree"
"""The name of the whole product among the folders."""

Ceilings = dict[str, dict[str, float]]
"""Rates that folders may have above the aims, for example `{"smpp": {"one": 9.5}}`."""

_WORD = re.compile(r"[A-Za-z]+(?:'[a-z]+)?")
_CODE = re.compile(r"`[^`]*`")
_EXAMPLE = re.compile(r"\b(?:for example|such as|e\.g\.)", re.IGNORECASE)
_TEXT_OR_COMMENT = re.compile(
    r"""\"{3}(?:\\.|[^\\])*?\"{3}|'{3}(?:\\.|[^\\])*?'{3}|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|(#[^\n]*)""",
    re.DOTALL,
)
"""Texts of code, which may contain `#`, and comments, each as the only group. Ten times as fast as `tokenize`."""
_TO_TOOLS = re.compile(r"#\s*(?:noqa|fmt:|type:|pragma|mypy:)")


@dataclass
class Figures:
    """The counts of a module, or the sum over several."""

    words: int = 0
    lines: int = 0
    counts: Counter[str] = field(default_factory=Counter)

    def add(self, other: "Figures") -> None:
        self.words += other.words
        self.lines += other.lines
        self.counts.update(other.counts)

    def rate(self, column: str) -> float:
        """Occurrences per 1,000 words, or per 1,000 lines for slips."""
        size = self.lines if column == SLIPS else self.words
        return 1000 * self.counts[column] / size if size else 0.0

    def excess(self, column: str, limit: float) -> int:
        """How many occurrences there are beyond a rate (for examples: how many are missing).

        The rate is rounded in favour of the text, so that a folder of 100 words may say *one* once.
        """
        size = self.lines if column == SLIPS else self.words
        allowed = limit * size / 1000
        if column == EXAMPLES:
            return max(0, math.floor(allowed) - self.counts[column])
        return max(0, self.counts[column] - math.ceil(allowed))


def prose(module: Module) -> Iterator[str]:
    """Yields the docstrings and comments of a module, without code in backticks and without orders to tools."""
    for _, text in docstrings(module):
        yield _CODE.sub("", text)
    for comment in _TEXT_OR_COMMENT.findall(module.text):
        if comment and not _TO_TOOLS.match(comment):
            yield _CODE.sub("", comment)


def slips(module: Module) -> list[str]:
    """Returns the private functions that are called once in their module and have at most `SLIP_LINES`.

    A function that is passed on as a value (a callback, a handler, the parser of an option) has to be a function.
    """
    called = {
        node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
        for node in module.nodes
        if isinstance(node, ast.Call)
    }
    uses = Counter(
        node.id if isinstance(node, ast.Name) else node.attr
        for node in module.nodes
        if isinstance(node, ast.Name | ast.Attribute)
    )
    return [
        node.name
        for node in module.nodes
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.name.startswith("_")
        and not node.name.endswith("__")
        and not node.decorator_list
        and (node.end_lineno or 0) - node.lineno < SLIP_LINES
        and uses[node.name] == 1
        and node.name in called
    ]


def measure(module: Module) -> Figures:
    """Counts one module."""
    figures = Figures(lines=module.text.count("\n"))
    for text in prose(module):
        found = [word.lower() for word in _WORD.findall(text)]
        figures.words += len(found)
        figures.counts.update(word for word in found if word in AIMS)
        # Line breaks and the "#" of a second comment line may stand between "such" and "as".
        figures.counts[EXAMPLES] += len(_EXAMPLE.findall(" ".join(text.split())))
    figures.counts[SLIPS] = len(slips(module))
    return figures


def folder_of(module: Module) -> str:
    """The folder that a module is counted with: two levels at most, such as `app/dispatch` or `adapters/store`."""
    return "/".join(module.path.split("/")[:-1][:2]) or "."


def by_folder(modules: Iterable[Module]) -> dict[str, Figures]:
    found: dict[str, Figures] = {}
    for module in modules:
        found.setdefault(folder_of(module), Figures()).add(measure(module))
    return found


def total(folders: dict[str, Figures]) -> Figures:
    """The sum over all folders, the figures of `TREE`."""
    figures = Figures()
    for each in folders.values():
        figures.add(each)
    return figures


def short_modules(modules: Iterable[Module]) -> list[str]:
    return [
        module.path
        for module in modules
        if module.text.count("\n") <= SHORT_MODULE_LINES and not module.path.endswith("__init__.py")
    ]


def read_ceilings() -> Ceilings:
    return tomllib.loads(CEILINGS.read_text())


def limit_of(ceilings: Ceilings, folder: str, column: str) -> float:
    aim = {**AIMS, EXAMPLES: EXAMPLES_AIM, SLIPS: SLIPS_AIM}[column]
    return ceilings.get(folder, {}).get(column, aim)


def excesses(folders: dict[str, Figures], ceilings: Ceilings) -> list[str]:
    """Returns a sentence for each folder and column beyond its limit."""
    return [
        f"{folder}: {figures.counts[column]} of {column!r} are {figures.rate(column):.2f} per 1,000; "
        f"{'at least' if column == EXAMPLES else 'at most'} {limit:g}. `make words` shows the modules."
        for folder, figures in {TREE: total(folders), **folders}.items()
        for column in COLUMNS
        if figures.excess(column, limit := limit_of(ceilings, folder, column))
    ]


def short_modules_allowed(ceilings: Ceilings) -> int:
    return int(ceilings.get(TREE, {}).get(SHORT_MODULES, SHORT_MODULES_AIM))


def shrunk(folders: dict[str, Figures], before: Ceilings) -> Ceilings:
    """The ceilings at the present rates with `ROOM`, rounded to a half; never looser than `before`."""
    after: Ceilings = {}
    for folder, figures in {TREE: total(folders), **folders}.items():
        for column in COLUMNS:
            if not figures.excess(column, limit_of({}, folder, column)):
                continue
            limit = limit_of(before, folder, column)
            if column == EXAMPLES:
                rate = max(limit, math.floor(figures.rate(column) / ROOM * 10) / 10)
            else:
                rate = min(limit, math.ceil(figures.rate(column) * ROOM * 2) / 2)
            after.setdefault(folder, {})[column] = rate
    return after


def write_ceilings(ceilings: Ceilings, short: int) -> None:
    lines = [
        "# Rates above the aims of `words.py`, by folder. A ceiling may only shrink:",
        "# `python -m tests.tidy.words --shrink` writes this file after a rewrite.",
        "# If you move or merge a folder, move its line as well.",
    ]
    if short > SHORT_MODULES_AIM:
        ceilings = {**ceilings, TREE: {SHORT_MODULES: short, **ceilings.get(TREE, {})}}
    for folder, columns in sorted(ceilings.items()):
        row = ", ".join(f"{column} = {rate:g}" for column, rate in columns.items())
        lines.append(f'"{folder}" = {{ {row} }}')
    CEILINGS.write_text("\n".join(lines) + "\n")


def table(rows: dict[str, Figures]) -> Iterator[str]:
    """Yields lines of a table with the rates, those with most excess first."""

    def weight(figures: Figures) -> int:
        return sum(figures.excess(column, limit_of({}, "", column)) for column in COLUMNS)

    yield f"{'':44}{'excess':>7}{'words':>7}" + "".join(f"{column:>9}" for column in COLUMNS)
    for name, figures in sorted(rows.items(), key=lambda row: -weight(row[1])):
        rates = "".join(f"{figures.rate(column):9.2f}" for column in COLUMNS)
        yield f"{name:44}{weight(figures):7}{figures.words:7}{rates}"


def main(arguments: list[str]) -> None:
    modules = read_modules()
    folders = by_folder(modules)
    if "--shrink" in arguments:
        before = read_ceilings()
        write_ceilings(shrunk(folders, before), min(len(short_modules(modules)), short_modules_allowed(before)))
        return
    wanted = arguments[0] if arguments else ""
    aims = "".join(f"{limit_of({}, '', column):9.2f}" for column in COLUMNS)
    sys.stdout.write(f"{'aim':58}{aims}\n")
    chosen = {module.path: measure(module) for module in modules if module.path.startswith(wanted)}
    for line in (*table({TREE: total(folders), **folders}), "", *table(chosen)):
        sys.stdout.write(line + "\n")
    short_ones = short_modules(modules)
    sys.stdout.write(
        f"\nModules of {SHORT_MODULE_LINES} lines or fewer: {len(short_ones)}, aim {SHORT_MODULES_AIM}\n"
        + "".join(f"  {path}\n" for path in short_ones if path.startswith(wanted))
    )
    if wanted:
        for module in modules:
            if module.path.startswith(wanted) and (found := slips(module)):
                sys.stdout.write(f"slips in {module.path}: {', '.join(found)}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
