"""Compiles libraries that take functions from one another; test_native.py compiles the program's own."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]

MODULES = {
    "lower/count.py": "def more(number: int) -> int:\n    return number + 1\n",
    "lower/words.py": "def say(number: int) -> str:\n    return f'{number}'\n",
    "upper/first.py": "from lower.count import more\n\ndef twice(number: int) -> int:\n    return more(more(number))\n",
    "upper/second.py": "from lower.count import more\nfrom upper.first import twice\n\n"
    "def thrice(number: int) -> int:\n    return more(twice(number))\n",
}
LIBRARIES = {"some_lower": ["lower/count.py", "lower/words.py"], "some_upper": ["upper/first.py", "upper/second.py"]}

pytestmark = [pytest.mark.slow, pytest.mark.extended]


def compile_in(folder: Path) -> "subprocess.CompletedProcess[str]":
    for name, source in MODULES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(source)
        (folder / name).with_name("__init__.py").touch()
    return subprocess.run(
        [sys.executable, ROOT / "hatch_build.py", json.dumps(LIBRARIES)],
        check=False, cwd=folder, env=os.environ | {"MYPYPATH": str(folder), "MYPYC_OPT_LEVEL": "0"},
        capture_output=True, text=True,
    )  # fmt: skip


def test_a_library_of_several_files_takes_functions_from_another(tmp_path: Path) -> None:
    done = compile_in(tmp_path)
    assert done.returncode == 0, f"{done.stderr}\n{done.stdout}"
    compiled = [line for line in done.stdout.splitlines() if " -c " in line]
    assert {line.count("-fvisibility=hidden") for line in compiled} == {1}
    question = "import upper.second as a, lower.count as b; print(a.__file__, b.__file__, a.thrice(4))"
    said = subprocess.run(
        [sys.executable, "-c", question], check=True, cwd=tmp_path, capture_output=True, text=True
    ).stdout.split()
    assert [Path(name).suffix for name in said[:2]] == [".so", ".so"]
    assert said[2] == "7"
