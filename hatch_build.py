"""Compiles the hot modules into the wheel with mypyc; `make native` asks for it. docs/decisions/0014 says why.

The modules are listed in pyproject.toml, by the library that they become a part of. Their Python stays in the wheel, as
the truth and for tracebacks.
"""

import ast
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

COMPILE = """
import json
import os
import sys
from mypyc.build import mypycify
from setuptools import setup

libraries = json.loads(sys.argv.pop())
modules = ["--ignore-missing-imports", *(name for names in libraries.values() for name in names)]
level = os.environ.get("MYPYC_OPT_LEVEL", "2")
apart = [(names, library) for library, names in libraries.items()]
extensions = mypycify(modules, opt_level=level, debug_level="0", separate=apart)
for extension in extensions:
    # thousands of functions that nobody else calls would be looked up by name, each time through a table
    extension.extra_compile_args.append("-fvisibility=hidden")
setup(name="native", packages=[], ext_modules=extensions)
"""

DATACLASS = "@dataclass(slots=True"


class CompileHotModules(BuildHookInterface[Any]):
    """Runs only where it is enabled (`HATCH_BUILD_HOOK_ENABLE_CUSTOM`): every other wheel is pure Python."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compiles a copy of the sources, so that an editable installation beside it stays interpreted."""
        if self.target_name != "wheel" or version == "editable":
            return
        self._folder = TemporaryDirectory(prefix="heliograph-native-")
        copy = Path(self._folder.name)
        shutil.copytree(Path(self.root) / "src", copy, dirs_exist_ok=True, ignore=shutil.ignore_patterns("*.so"))
        libraries = {
            library: [f"heliograph/{module}.py" for module in modules]
            for library, modules in self.config["libraries"].items()
        }
        for module in (copy / name for names in libraries.values() for name in names):
            module.write_text(with_initialisers(module.read_text(encoding="utf-8")), encoding="utf-8")
        built = subprocess.run(
            [sys.executable, "-c", COMPILE, "build_ext", "--inplace", json.dumps(libraries)],
            check=False, cwd=copy, env=os.environ | {"MYPYPATH": str(copy)}, capture_output=True, text=True,
        )  # fmt: skip
        if built.returncode:
            raise RuntimeError(f"the hot modules cannot be compiled:\n{built.stdout[-4000:]}\n{built.stderr[-4000:]}")
        compiled = [path for path in copy.rglob("*.so") if path.relative_to(copy).parts[0] != "build"]
        build_data["force_include"] |= {str(path): str(path.relative_to(copy)) for path in compiled}
        build_data["pure_python"] = False
        build_data["infer_tag"] = True

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002
        if hasattr(self, "_folder"):
            self._folder.cleanup()


def with_initialisers(source: str) -> str:
    """The source with the `__init__` of its plain dataclasses written out.

    The one that `dataclass` makes while the program starts is interpreted, and costs eight times as much as one that
    is there to be compiled. It takes the place of the blank line after the fields: all lines keep their numbers.
    """
    lines = source.split("\n")
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ClassDef) and (initialiser := _initialiser(node, lines)) is not None:
            decorator = node.decorator_list[0].lineno - 1
            last = max(each.end_lineno or 0 for each in node.body if not isinstance(each, ast.FunctionDef))
            if lines[last].strip() == "":
                lines[decorator] = lines[decorator].replace(DATACLASS, f"{DATACLASS}, init=False")
                lines[last] = initialiser
    return "\n".join(lines)


def _initialiser(node: ast.ClassDef, lines: list[str]) -> str | None:
    """None where the class is no dataclass, is derived from something, or has fields of other kinds than plain ones."""
    if len(node.decorator_list) != 1 or node.bases or DATACLASS not in lines[node.decorator_list[0].lineno - 1]:
        return None
    parameters, assignments = [], []
    for field in node.body:
        if not isinstance(field, ast.AnnAssign) or not isinstance(field.target, ast.Name):
            continue
        name, parameter = field.target.id, f"{field.target.id}: {ast.unparse(field.annotation)}"
        if isinstance(field.value, ast.Call):
            defaults = {keyword.arg: keyword.value for keyword in field.value.keywords}
            if "default" not in defaults or "kw_only" in defaults:
                return None
            parameter += f" = {ast.unparse(defaults['default'])}"
        elif field.value is not None:
            parameter += f" = {ast.unparse(field.value)}"
        parameters.append(parameter)
        assignments.append(f"self.{name} = {name}")
    indent = " " * (node.col_offset + 4)
    return (
        f"{indent}def __init__(self, {', '.join(parameters)}) -> None: {'; '.join(assignments)}" if parameters else None
    )
