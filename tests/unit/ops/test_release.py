"""What a release is made with: the lists of parts, and the pages that say how."""

import importlib.util
import json
import re
from pathlib import Path
from typing import Any

import pytest

from heliograph import __version__

ROOT = Path(__file__).parents[3]
LOCKS = sorted((ROOT / "requirements").glob("*.txt"))


@pytest.fixture(scope="module")
def completing() -> Any:
    spec = importlib.util.spec_from_file_location("complete_sbom", ROOT / "requirements" / "complete_sbom.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def part(name: str, *, hashes: bool = True) -> dict[str, Any]:
    reference: dict[str, Any] = {"type": "distribution"}
    if hashes:
        reference["hashes"] = [{"alg": "SHA-256", "content": "00"}]
    return {"bom-ref": f"ref-{name}", "name": name, "description": "its line", "externalReferences": [reference]}


def test_the_list_of_parts_names_the_program_and_all_that_it_takes(completing: Any) -> None:
    bom = {"metadata": {"component": {"name": "heliograph"}}, "components": [part("b"), part("a")]}
    done = completing.complete(json.loads(json.dumps(bom)), "1.2.3")
    assert done["metadata"]["component"]["purl"] == "pkg:pypi/heliograph@1.2.3"
    assert done["dependencies"][0] == {"ref": "heliograph", "dependsOn": ["ref-a", "ref-b"]}
    assert all("description" not in each for each in done["components"])


def test_a_part_without_a_hash_is_refused(completing: Any) -> None:
    bom = {"metadata": {"component": {"name": "heliograph"}}, "components": [part("a", hashes=False)]}
    with pytest.raises(ValueError, match="a has no hash"):
        completing.complete(bom, "1")
    with pytest.raises(ValueError, match="no list"):
        completing.complete({"metadata": {"component": {"name": "heliograph"}}, "components": []}, "1")


def test_the_version_is_that_of_the_package(completing: Any) -> None:
    assert completing.version_of((ROOT / "src/heliograph/__init__.py").read_text()) == __version__


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.stem)
def test_every_lock_is_whole(lock: Path) -> None:
    text = lock.read_text(encoding="utf-8")
    assert "://" not in text, "an index is named"
    entries = re.split(r"\n(?=\S)", re.sub(r"^#.*\n", "", text, flags=re.MULTILINE))
    packages = [entry for entry in entries if "==" in entry.split("\n", 1)[0]]
    assert packages
    assert all("--hash=sha256:" in entry for entry in packages)


def test_the_page_names_tasks_that_there_are() -> None:
    tasks = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    tasks |= set(re.findall(r"^([a-z]+) [a-z-]+:", (ROOT / "Makefile").read_text(), re.MULTILINE))
    page = (ROOT / "docs" / "releasing.md").read_text()
    named = set(re.findall(r"\bmake ([a-z-]+)", page))
    assert {"sbom", "audit-dependencies", "lock", "native", "test-all"} <= named
    assert named <= tasks
    arguments = set(re.findall(r"^ARG (\w+)=", (ROOT / "Dockerfile").read_text(), re.MULTILINE))
    install = (ROOT / "docs" / "install.md").read_text()
    assert arguments == set(re.findall(r"--build-arg (\w+)=", page + install))
