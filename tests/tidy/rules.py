"""The rules of the house that linters do not know, each as a function over parsed modules."""

import ast
import gc
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

SOURCES = Path(__file__).parents[2] / "src" / "heliograph"

MODULE_LINES = 700
FUNCTION_LINES = 60
PORT_METHODS = 12

HOT = frozenset(
    ["allowances", "record", "record_inbound", "record_consents", "statement", "statements", "encoding", "money"]
)
"""Modules of a store whose SQL stands beside the code: what each commit goes through."""

SQL = re.compile(r"\s*(WITH\s+\w+|SELECT|INSERT\s+INTO|UPDATE\s+\w+|DELETE\s+FROM)\s")


@dataclass(frozen=True)
class Module:
    """One parsed source file."""

    path: str
    text: str
    tree: ast.Module

    @property
    def folder(self) -> str:
        """The folder that the file lies in, such as `app/dispatch`."""
        return self.path.rpartition("/")[0]

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """All nodes of the tree, which most rules go through."""
        return list(ast.walk(self.tree))


def parsed(path: str, text: str) -> Module:
    return Module(path, text, ast.parse(text))


@cache
def read_modules() -> list[Module]:
    """All modules of the product. Parsed once for all tests of a process.

    The garbage collector is off meanwhile. It would go through half a million new nodes, and the parse would take
    three times as long.
    """
    gc.disable()
    try:
        return [
            parsed(file.relative_to(SOURCES).as_posix(), file.read_text()) for file in sorted(SOURCES.rglob("*.py"))
        ]
    finally:
        gc.enable()


def same_names_in_a_folder(modules: Iterable[Module]) -> set[str]:
    """Returns classes whose name occurs twice in one folder, such as `app/admin:Page`."""
    counts = Counter(
        f"{module.folder}:{node.name}" for module in modules for node in module.nodes if isinstance(node, ast.ClassDef)
    )
    return {place for place, count in counts.items() if count > 1}


def docstrings(module: Module) -> Iterator[tuple[int, str]]:
    """Line and text of each docstring: of modules, classes and functions, and below attributes and constants."""
    for node in module.nodes:
        if isinstance(node, ast.Lambda | ast.IfExp):
            continue
        for each in getattr(node, "body", []):
            match each:
                case ast.Expr(value=ast.Constant(value=str(text))):
                    yield each.lineno, text


def long_functions(module: Module) -> list[str]:
    return [
        f"{module.path}:{node.name}"
        for node in module.nodes
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or 0) - node.lineno + 1 > FUNCTION_LINES
    ]


def is_long(module: Module) -> bool:
    return module.text.count("\n") > MODULE_LINES


def unchecked_sql(module: Module) -> int:
    """How often the linter is told not to look at how an SQL text was put together."""
    return len(re.findall(r"#\s*noqa:.*\bS608\b", module.text))


def has_sql(module: Module) -> bool:
    """Whether SQL stands in a module, other than those of a store's hot path."""
    if module.path.rsplit("/", 1)[-1].removesuffix(".py") in HOT:
        return False
    prose = {id(node.value) for node in module.nodes if isinstance(node, ast.Expr)}
    return any(
        isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and SQL.match(node.value)
        and id(node) not in prose
        for node in module.nodes
    )


STORED_NUMBER = re.compile(
    r'(?:\bstate|\bkind|"end")\s*(?:=|<>|!=|<=?|>=?|(?:NOT\s+)?IN)\s*\(?\s*-?\d|(?<![$\w])\d::smallint'
)


def stored_numbers(text: str) -> list[str]:
    """The numbers of states and kinds that SQL compares or writes, instead of the names that the domain gives them."""
    return [found[0] for found in STORED_NUMBER.finditer(text)]


def read_sql() -> dict[str, str]:
    """All files of the stores in which SQL stands, by their paths."""
    store = SOURCES / "adapters" / "store"
    files = [path for path in sorted(store.rglob("*")) if path.suffix in (".py", ".sql")]
    return {path.relative_to(SOURCES).as_posix(): path.read_text() for path in files}


def large_ports(module: Module) -> Iterator[str]:
    """Yields the protocols of `app/ports` that ask for more than `PORT_METHODS`, or that inherit from another one."""
    if not module.path.startswith("app/ports/"):
        return
    for node in module.nodes:
        if isinstance(node, ast.ClassDef) and any(ast.unparse(base) == "Protocol" for base in node.bases):
            methods = [each for each in node.body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)]
            if len(methods) > PORT_METHODS or len(node.bases) > 1:
                yield f"{module.path}:{node.name} has {len(methods)} methods"


UNCLEAR = re.compile(
    r"(?<![.\w-])(?:ow(?:e|ed|es|ing)|g(?:iven|ave|ives) up|standing|orphans?|facts (?:a|in a|per) commit|"
    r"what it comes to)\b",
    re.IGNORECASE,
)
"""Words of the code's for what users know by the field's: pending, retry, failed, unmatched receipts, total."""


def unclear_words(text: str) -> list[str]:
    """The words in a text for users that they would not understand; *unmatched* is clear beside a receipt."""
    found = UNCLEAR.findall(text)
    for line in text.splitlines():
        if re.search(r"\bunmatched\b", line, re.IGNORECASE) and not re.search("receipt", line, re.IGNORECASE):
            found.append(line.strip())
    return found


def said(module: Module) -> Iterator[tuple[int, str]]:
    """Line and text of what a module may say to users: its literals of several words, docstrings but for those of
    commands left out."""
    silent: set[int] = set()
    for node in module.nodes:
        if isinstance(node, ast.Lambda | ast.IfExp):
            continue
        is_command = isinstance(node, ast.FunctionDef) and any(
            re.search(r"\b(command|group)\b", ast.unparse(each)) for each in node.decorator_list
        )
        body = getattr(node, "body", [])
        silent |= {
            id(each.value) for each in body[1 if is_command else 0 :] if isinstance(each, ast.Expr)
        }  # fmt: skip
    for node in module.nodes:
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in silent
            and " " in node.value.strip()
        ):
            yield node.lineno, node.value


INNER_DOCUMENTS = frozenset(["architecture.md", "glossary.md"])
"""Documents for those who work on the code."""


@cache
def read_said() -> dict[str, str]:
    """All texts that users see, by where they stand: what the program says, pages of the console, documents, alerts."""
    root = SOURCES.parents[1]
    texts: dict[str, str] = {}
    for module in read_modules():
        if not module.path.startswith("adapters/store/"):
            texts |= {f"{module.path}:{line}": text for line, text in said(module)}
    files = [
        *(SOURCES / "console" / "templates").glob("*.html"), *(SOURCES / "console" / "assets").glob("*.js"),
        *(path for path in (root / "docs").glob("*.md") if path.name not in INNER_DOCUMENTS),
        *(root / "docs" / "samples").iterdir(), *(root / "ops").glob("*"), root / "README.md", root / "SECURITY.md",
    ]  # fmt: skip
    return texts | {path.relative_to(root).as_posix(): path.read_text() for path in files if path.is_file()}
