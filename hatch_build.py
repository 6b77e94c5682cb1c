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
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

DATACLASS = "@dataclass(slots=True"
SAID_AT_MOST = 8_000
"""Characters of the compiler's output that a failed build tells."""


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
            [sys.executable, __file__, json.dumps(libraries)],
            check=False, cwd=copy, env=os.environ | {"MYPYPATH": str(copy)}, capture_output=True, text=True,
        )  # fmt: skip
        if built.returncode:
            raise RuntimeError(f"the hot modules cannot be compiled:\n{told(built.stdout, built.stderr)}")
        compiled = [path for path in copy.rglob("*.so") if path.relative_to(copy).parts[0] != "build"]
        build_data["force_include"] |= {str(path): str(path.relative_to(copy)) for path in compiled}
        build_data["pure_python"] = False
        build_data["infer_tag"] = True

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002
        if hasattr(self, "_folder"):
            self._folder.cleanup()


def told(output: str, errors: str) -> str:
    """The first complaints of compiler and linker, which the names of hundreds of files follow, and the last output."""
    return f"{errors[:SAID_AT_MOST]}\n{output[-SAID_AT_MOST:]}"


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


def compile_libraries(libraries: dict[str, list[str]], level: str) -> None:
    """Compiles the files named by each library, in place: run in the folder that has them, in a process of its own."""
    from mypyc.build import mypycify
    from setuptools import setup

    files = [name for names in libraries.values() for name in names]
    apart: list[tuple[list[str], str | None]] = [(names, library) for library, names in libraries.items()]
    # A C file for each module: a single file takes twice the time, and keeps only one core busy.
    extensions = mypycify(
        ["--ignore-missing-imports", *files], opt_level=level, debug_level="0", separate=apart, multi_file=True
    )
    for extension in extensions:
        # Hidden: otherwise thousands of internal functions would be called through a table of names.
        # Common: the header of a library that uses functions of another library defines their table, and every file of
        # the library includes it. A single table is meant; without this option linkers report an error.
        # A new list: mypyc gives the same list to every extension, so that it would grow with each.
        extension.extra_compile_args = [*extension.extra_compile_args, "-fvisibility=hidden", "-fcommon"]
    setup(
        name="native", packages=[], ext_modules=extensions, cmdclass={"build_ext": _on_every_core()},
        script_args=["build_ext", "--inplace"],
    )  # fmt: skip


def _on_every_core() -> type[Any]:
    """The command of setuptools that compiles one file after the other, made to compile as many as there are cores."""
    from setuptools.command.build_ext import build_ext

    cores = os.cpu_count() or 1

    class CompileOnEveryCore(build_ext):  # type: ignore[misc] # setuptools has no types
        def build_extensions(self) -> None:
            compile_in_turn = self.compiler.compile

            def compile_at_once(sources: list[str], **options: Any) -> list[str]:
                # the largest first, so that the cores finish together
                by_size = sorted(sources, key=lambda source: Path(source).stat().st_size, reverse=True)
                with ThreadPoolExecutor(cores) as pool:
                    made = pool.map(lambda source: compile_in_turn([source], **options), by_size)
                    return [name for names in made for name in names]

            self.compiler.compile = compile_at_once
            self.parallel = cores  # each extension's library is linked beside the others
            super().build_extensions()

    return CompileOnEveryCore


if __name__ == "__main__":
    compile_libraries(json.loads(sys.argv[1]), os.environ.get("MYPYC_OPT_LEVEL", "2"))
