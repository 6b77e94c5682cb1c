"""Rules of safety: calls that are never made in what ships, and SQL that is never made of values. `test_safety` holds
them."""

import ast
from collections.abc import Iterable, Iterator
from typing import Final

from tests.tidy.rules import Module

FORBIDDEN_CALLS: Final = {
    "eval": "runs text as code",
    "exec": "runs text as code",
    "compile": "makes code of text",
    "__import__": "imports by a text; importlib.import_module says so",
    "input": "waits for somebody at a terminal; click asks",
    "os.system": "runs a shell",
    "os.popen": "runs a shell",
    "os.tmpnam": "names a file that another may make first",
    "tempfile.mktemp": "names a file that another may make first",
    "yaml.load": "makes objects that the text names",
    "yaml.unsafe_load": "makes objects that the text names",
    "hashlib.md5": "is broken",
    "hashlib.sha1": "is broken",
    "ssl._create_unverified_context": "trusts everybody",
    "ssl.wrap_socket": "trusts everybody",
    "os.chmod": "is Path.chmod here",
    "random.seed": "makes what follows known to whoever knows the seed",
}
"""Calls that nothing of ours makes, with what is wrong with each."""

FORBIDDEN_MODULES: Final = {
    "pickle": "makes objects that the octets name",
    "marshal": "makes objects that the octets name",
    "shelve": "makes objects that the octets name",
    "dill": "makes objects that the octets name",
    "telnetlib": "sends secrets in the clear",
    "ftplib": "sends secrets in the clear",
    "xml": "expands what another wrote without an end",
    "cgi": "is gone",
    "commands": "runs a shell",
}

SECRET_WORDS: Final = ("secret", "token", "password", "key", "nonce", "salt", "session", "csrf")
"""Words in the names of what `random` must not make: it is no source of secrets."""

RUNS_SQL: Final = frozenset(
    {"execute", "executemany", "executescript", "fetch", "fetchrow", "fetchval", "prepare", "cursor", "copy_to_table"}
)
"""Methods that send SQL to a database."""


def calls(module: Module) -> Iterator[tuple[ast.Call, str]]:
    """Yields each call with the dotted name of what is called, as it is imported."""
    names = _imports(module.nodes)
    for node in module.nodes:
        if isinstance(node, ast.Call):
            dotted = _dotted(node.func)
            first, dot, rest = dotted.partition(".")
            yield node, names.get(first, first) + dot + rest


def unsafe(module: Module) -> list[str]:
    """Returns the places of calls that are never made."""
    found = []
    for node, name in calls(module):
        if name in FORBIDDEN_CALLS:
            found.append(f"{module.path}:{node.lineno}: {name} {FORBIDDEN_CALLS[name]}")
        for keyword in node.keywords:
            is_true = isinstance(keyword.value, ast.Constant) and keyword.value.value is True
            is_false = isinstance(keyword.value, ast.Constant) and keyword.value.value is False
            if keyword.arg == "shell" and not is_false:
                found.append(f"{module.path}:{node.lineno}: shell=... runs a shell")
            if keyword.arg == "verify" and is_false:
                found.append(f"{module.path}:{node.lineno}: verify=False trusts everybody")
            if keyword.arg == "autoescape" and not is_true:
                found.append(f"{module.path}:{node.lineno}: autoescape that is not True lets text be markup")
    return found


def unsafe_imports(module: Module) -> list[str]:
    """Returns the places where a module is imported that nothing of ours needs."""
    found = []
    for node in module.nodes:
        if isinstance(node, ast.Import):
            named = [each.name for each in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            named = [node.module]
        else:
            continue
        for first in {name.partition(".")[0] for name in named} & FORBIDDEN_MODULES.keys():
            found.append(f"{module.path}:{node.lineno}: {first} {FORBIDDEN_MODULES[first]}")  # noqa: PERF401
    return found


def trusts_everybody(module: Module) -> list[str]:
    """Returns the functions in which a certificate is not verified."""
    found: list[str] = []
    if "CERT_NONE" not in module.text and "check_hostname" not in module.text:
        return found
    for function in _functions(module.nodes):
        for node in ast.walk(function):
            if isinstance(node, ast.Attribute) and node.attr == "CERT_NONE":
                found.append(f"{module.path}:{function.name}")
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and node.value.value is False:
                found += [
                    f"{module.path}:{function.name}"
                    for target in node.targets
                    if isinstance(target, ast.Attribute) and target.attr == "check_hostname"
                ]
    return sorted(set(found))


def guesses_secrets(module: Module) -> list[str]:
    """Returns the places where `random` makes something that is called a secret."""
    found: list[str] = []
    if "random" not in module.text:
        return found
    for node in module.nodes:
        if not isinstance(node, ast.Assign | ast.AnnAssign | ast.Return) or node.value is None:
            continue
        sources = [_dotted(each.func) for each in ast.walk(node.value) if isinstance(each, ast.Call)]
        if any(source.startswith("random.") for source in sources) and any(
            word in ast.unparse(node).lower() for word in SECRET_WORDS
        ):
            found.append(f"{module.path}:{node.lineno}: random is no source of secrets; take secrets")
    return found


def checks_by_assert(module: Module) -> list[str]:
    """Returns asserts of more than what types say: Python leaves them out under -O, so they check nothing that comes
    from outside. Allowed are asserts that something is not None, is of a type, or is never reached."""
    return [
        f"{module.path}:{node.lineno}: {ast.unparse(node)}"
        for node in module.nodes
        if isinstance(node, ast.Assert) and not _tells_types(node.test)
    ]


def _tells_types(test: ast.expr) -> bool:
    if isinstance(test, ast.BoolOp):
        return all(_tells_types(each) for each in test.values)
    if isinstance(test, ast.Call):
        return _dotted(test.func) == "isinstance"
    if isinstance(test, ast.Compare):
        return all(isinstance(each, ast.Is | ast.IsNot) for each in test.ops)
    return False


def made_sql(module: Module) -> list[str]:
    """Returns the functions that send SQL that is put together of anything but constants, each once.

    A name counts as constant where every assignment to it in its function, or in the module, is one.
    """
    found: set[str] = set()
    if not any(isinstance(node, ast.Attribute) and node.attr in RUNS_SQL for node in module.nodes):
        return []
    constants = {target for target, value in _assigned(module.tree.body) if _is_constant(value, frozenset())}
    for function in _functions(module.nodes):
        local: dict[str, bool] = {}
        for target, value in _assigned(ast.walk(function)):
            local[target] = local.get(target, True) and _is_constant(value, constants)
        known = (constants - local.keys()) | {name for name, constant in local.items() if constant}
        for node in ast.walk(function):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in RUNS_SQL:
                sql = node.args[0] if node.args else None
                if sql is not None and _is_put_together(sql, known, function):
                    found.add(f"{module.path}:{function.name}")
    return sorted(found)


def _is_put_together(sql: ast.expr, known: frozenset[str] | set[str], function: ast.AST) -> bool:
    """Tells whether the text is made here of something that is not constant."""
    if isinstance(sql, ast.Name):
        values = [value for target, value in _assigned(ast.walk(function)) if target == sql.id]
        return any(_is_put_together(value, known, function) for value in values if not isinstance(value, ast.Name))
    if isinstance(sql, ast.JoinedStr):
        return any(not _is_constant(part, known) for part in sql.values)
    if isinstance(sql, ast.BinOp):
        return not _is_constant(sql, known)
    if (
        isinstance(sql, ast.Call)
        and isinstance(sql.func, ast.Attribute)
        and sql.func.attr in {"format", "join", "replace"}
    ):
        return not all(
            _is_constant(each, known) for each in (sql.func.value, *sql.args, *(k.value for k in sql.keywords))
        )
    return False


def _is_constant(node: ast.expr, known: frozenset[str] | set[str]) -> bool:
    match node:
        case ast.Constant():
            return True
        case ast.Name():
            return node.id in known
        case ast.FormattedValue():
            return _is_constant(node.value, known)
        case ast.JoinedStr():
            return all(_is_constant(part, known) for part in node.values)
        case ast.BinOp():
            return _is_constant(node.left, known) and _is_constant(node.right, known)
        case ast.Tuple() | ast.List():
            return all(_is_constant(each, known) for each in node.elts)
        case ast.Call(func=ast.Attribute(attr="format" | "join" | "replace", value=value)):
            return _is_constant(value, known) and all(_is_constant(each, known) for each in node.args)
    return False


def _assigned(nodes: object) -> Iterator[tuple[str, ast.expr]]:
    for node in nodes:  # type: ignore[attr-defined]
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    yield target.id, node.value
        elif isinstance(node, ast.AnnAssign | ast.AugAssign) and isinstance(node.target, ast.Name) and node.value:
            yield node.target.id, node.value


def _functions(nodes: Iterable[ast.AST]) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def _dotted(node: ast.expr) -> str:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        inner = _dotted(node.value)
        return f"{inner}.{node.attr}" if inner else ""
    return ""


def _imports(nodes: Iterable[ast.AST]) -> dict[str, str]:
    """Returns what the names of imports stand for."""
    found: dict[str, str] = {}
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {
                each.asname or each.name.partition(".")[0]: (each.asname and each.name) or each.name.partition(".")[0]
                for each in node.names
            }
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {each.asname or each.name: f"{node.module}.{each.name}" for each in node.names}
    return found
