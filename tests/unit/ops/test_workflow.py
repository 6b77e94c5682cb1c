"""The workflow of a release, checked by reading: nothing here can run it."""

import re
import tomllib
from pathlib import Path
from typing import Any

import yaml  # type: ignore[import-untyped]

from heliograph import __version__

ROOT = Path(__file__).parents[3]
TEXT = (ROOT / ".github/workflows/release.yml").read_text(encoding="utf-8")
JOBS: dict[str, Any] = yaml.safe_load(TEXT)["jobs"]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def steps(job: str) -> list[dict[str, Any]]:
    return list(JOBS[job]["steps"])


def before(job: str) -> set[str]:
    """The jobs that must have succeeded when this one begins."""
    needs = JOBS[job].get("needs", [])
    named = {needs} if isinstance(needs, str) else set(needs)
    return named.union(*(before(each) for each in named))


def uses(job: str, action: str) -> dict[str, Any]:
    """What a job gives to an action that it uses once."""
    (step,) = [each for each in steps(job) if each.get("uses", "").partition("@")[0] == action]
    return dict(step.get("with", {}))


def test_actions_are_named_by_commits_and_their_versions() -> None:
    named = re.findall(r"uses: *(.*)", TEXT)
    assert len(named) == sum("uses" in step for job in JOBS for step in steps(job)) > 0
    assert [each for each in named if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", each)] == []
    assert len(set(named)) == len({each.partition("@")[0] for each in named}), "an action in two versions"


def test_one_version_has_one_entry_in_the_change_log() -> None:
    log = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.findall(r"^## ([0-9.]+)", log, re.MULTILINE).count(__version__) == 1
    assert PROJECT["tool"]["hatch"]["version"]["path"] == "src/heliograph/__init__.py"


def test_nothing_is_made_of_a_tag_that_is_not_the_version() -> None:
    [check] = [each["run"] for each in steps("test") if "TAG" in each.get("run", "")]
    found = re.search(r"sed -n '(.*?)'", check)
    assert found is not None
    expression = found[1].removeprefix("s/").removesuffix("/\\1/p").replace("\\(", "(").replace("\\)", ")")
    source = (ROOT / "src/heliograph/__init__.py").read_text(encoding="utf-8")
    assert re.findall(expression, source, re.MULTILINE) == [__version__]
    for job in set(JOBS) - {"test"}:
        assert "test" in before(job), job
    assert before("publish") == set(JOBS) - {"publish"}


def test_tasks_that_it_runs_are_there() -> None:
    tasks = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    assert set(re.findall(r"make ([a-z-]+)", TEXT)) - {"install"} <= tasks


def test_wheels_are_made_for_every_python_that_is_named() -> None:
    wanted = PROJECT["tool"]["cibuildwheel"]["build"]
    named = re.findall(r"Python :: 3\.(\d+)", " ".join(PROJECT["project"]["classifiers"]))
    assert wanted == [f"cp3{minor}-*" for minor in named]
    machines = JOBS["wheels"]["strategy"]["matrix"]["os"]
    assert [name.rpartition("-")[0] for name in machines] == ["ubuntu", "ubuntu-24.04", "macos-15", "macos"]


def test_wheels_are_made_of_what_is_locked() -> None:
    options = PROJECT["tool"]["cibuildwheel"]
    assert options["build-frontend"] == "pip"
    assert options["environment"]["HATCH_BUILD_HOOK_ENABLE_CUSTOM"] == "true"
    assert (ROOT / options["environment"]["PIP_BUILD_CONSTRAINT"]).is_file()


def test_the_image_is_built_on_a_base_that_is_named_by_digest() -> None:
    given = uses("image-of-one-kind", "docker/build-push-action")
    assert given["build-args"] == "PYTHON_IMAGE=${{ needs.base.outputs.image }}"
    [looked_up] = [each["run"] for each in steps("base") if "run" in each]
    assert 'echo "image=$tag@$digest"' in looked_up
    found = re.search(r"sed -n 's/(.*?)//p' Dockerfile", looked_up)
    assert found is not None
    assert len(re.findall(found[1], (ROOT / "Dockerfile").read_text(encoding="utf-8"), re.MULTILINE)) == 1


def test_the_image_has_a_list_of_its_parts_and_says_where_it_comes_from() -> None:
    given = uses("image-of-one-kind", "docker/build-push-action")
    assert (given["sbom"], given["provenance"]) == (True, "mode=max")
    assert uses("image", "actions/attest-build-provenance")["push-to-registry"] is True


def test_no_image_is_compiled_on_an_emulated_machine() -> None:
    kinds = JOBS["image-of-one-kind"]["strategy"]["matrix"]["include"]
    assert kinds == [{"kind": "amd64", "os": "ubuntu-24.04"}, {"kind": "arm64", "os": "ubuntu-24.04-arm"}]
    assert uses("image-of-one-kind", "docker/build-push-action")["platforms"] == "linux/${{ matrix.kind }}"
    assert "qemu" not in TEXT


def test_the_image_is_run_before_it_gets_its_tag() -> None:
    words = " ".join(each.get("run", "") for each in steps("image-of-one-kind"))
    assert words.count("docker run --rm --read-only") == 2
    assert "imagetools create --tag" not in words
    assert "image-of-one-kind" in before("image")


def test_what_publishes_has_no_secret_and_what_needs_no_rights_has_none() -> None:
    assert "secrets." not in TEXT.replace("secrets.GITHUB_TOKEN", "")
    assert yaml.safe_load(TEXT)["permissions"] == {"contents": "read"}
    may_write = [job for job in JOBS if "write" in str(JOBS[job].get("permissions", ""))]
    assert may_write == ["image-of-one-kind", "image", "publish"]


def test_wheels_are_built_by_the_program_that_read_the_configuration() -> None:
    locked = [(ROOT / "requirements" / f"{name}.txt").read_text(encoding="utf-8") for name in ("peers", "wheels")]
    peers, wheels = (set(re.findall(r"^([\w.-]+==\S+)", text, re.MULTILINE)) for text in locked)
    assert wheels <= peers
    assert any(each.startswith("cibuildwheel==") for each in wheels)
    runs = [each.get("run", "") for each in steps("wheels")]
    assert runs.index("python -m pip install --require-hashes -r requirements/wheels.txt") < runs.index(
        "python -m cibuildwheel --output-dir wheels"
    )
