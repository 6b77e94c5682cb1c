"""The Dockerfile and the compose file, checked by reading: an engine to build with is on few machines."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml  # type: ignore[import-untyped]

from heliograph.config import load

ROOT = Path(__file__).parents[3]
IMAGES = {"python", "postgres"}
"""Official images, by their short names: no registry is named anywhere."""


class Instruction(NamedTuple):
    word: str
    rest: str


def instructions() -> list[Instruction]:
    text = re.sub(r"^\s*#.*\n", "", (ROOT / "Dockerfile").read_text(encoding="utf-8"), flags=re.MULTILINE)
    lines = text.replace("\\\n", " ").splitlines()
    return [Instruction(*line.strip().split(maxsplit=1)) for line in lines if line.strip()]


def last_stage() -> list[Instruction]:
    found = instructions()
    begin = max(n for n, each in enumerate(found) if each.word == "FROM")
    return found[begin:]


def rests(word: str, within: list[Instruction] | None = None) -> list[str]:
    return [each.rest for each in (instructions() if within is None else within) if each.word == word]


def environment() -> dict[str, str]:
    """What the last stage sets."""
    return dict(part.split("=", 1) for rest in rests("ENV", last_stage()) for part in rest.split())


def compose() -> dict[str, Any]:
    read: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))
    return read


def test_every_instruction_is_one() -> None:
    known = {"FROM", "ENV", "WORKDIR", "COPY", "RUN", "USER", "VOLUME", "EXPOSE", "STOPSIGNAL", "HEALTHCHECK"}
    known |= {"ENTRYPOINT", "CMD", "ARG", "LABEL"}
    assert {each.word for each in instructions()} <= known  # no ADD, which fetches and unpacks


def test_images_are_official_slim_and_of_one_python() -> None:
    assert {rest.split()[0] for rest in rests("FROM")} == {"${PYTHON_IMAGE}"}
    (image,) = [rest.removeprefix("PYTHON_IMAGE=") for rest in rests("ARG") if rest.startswith("PYTHON_IMAGE=")]
    name, _, tag = image.partition(":")
    assert name in IMAGES
    version, _, kind = tag.partition("-")
    assert kind == "slim"
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert f"Programming Language :: Python :: {version}" in project["classifiers"]


def test_the_image_says_which_one_it_began_with() -> None:
    """A digest that was given stays readable: `docker inspect` shows the label."""
    last = last_stage()
    assert rests("ARG", last) == ["PYTHON_IMAGE"]
    assert 'org.opencontainers.image.base.name="${PYTHON_IMAGE}"' in rests("LABEL", last)[0].split()


def test_the_modules_are_compiled_unless_one_says_otherwise() -> None:
    assert "COMPILED=true" in rests("ARG")
    (built,) = [rest for rest in rests("RUN") if "hatchling build" in rest]
    assert built.startswith("HATCH_BUILD_HOOK_ENABLE_CUSTOM=$COMPILED ")
    assert any("hatch_build.py" in rest.split() for rest in rests("COPY"))


def test_the_compiler_stays_where_it_compiles() -> None:
    installed = [rest for rest in rests("RUN") if "apt-get" in rest]
    assert ["gcc" in rest for rest in installed] == [True]
    last = last_stage()
    assert [word for word in ("apt-get", "gcc", "pip ") if any(word in rest for rest in rests("RUN", last))] == []
    assert rests("COPY", last) == ["--from=build /opt/heliograph /opt/heliograph"]


def test_the_wheel_of_the_image_is_one_that_the_release_makes() -> None:
    (image,) = [rest for rest in rests("ARG") if rest.startswith("PYTHON_IMAGE=")]
    version = image.partition(":")[2].partition("-")[0]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert f"cp{version.replace('.', '')}-*" in project["tool"]["cibuildwheel"]["build"]


def test_what_is_copied_is_there_and_not_ignored() -> None:
    kept = {
        line[1:] for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines() if line.startswith("!")
    }
    sources = [part for rest in rests("COPY") if "--from=" not in rest for part in rest.split()[:-1]]
    assert sources
    for source in sources:
        assert (ROOT / source).exists(), source
        assert source.split("/")[0] in kept, source


def test_what_is_installed_is_pinned_by_hash() -> None:
    for command in [part for rest in rests("RUN") for part in rest.split("&&") if "pip install" in part]:
        assert "--require-hashes" in command or "--no-index" in command, command
    for name in re.findall(r"requirements/\w+\.txt", " ".join(rests("RUN"))):
        pinned = re.findall(r"^[a-z0-9._-]+(?:\[[a-z,]+\])?==", (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE)
        assert pinned, name
    assert "\nasyncpg==" in (ROOT / "requirements/run.txt").read_text(encoding="utf-8")


EDITABLES = "editables>=0.5"
"""For `make run`, which installs the checkout."""


def asked_for(name: str) -> list[str]:
    """The requirements that a list asks for, without its comments and constraints."""
    lines = (ROOT / f"requirements/{name}.in").read_text(encoding="utf-8").splitlines()
    return [line for line in lines if not line.startswith(("#", "-c "))]


def pinned(name: str) -> dict[str, str]:
    text = (ROOT / f"requirements/{name}.txt").read_text(encoding="utf-8")
    return dict(re.findall(r"^([a-z0-9._-]+)==(\S+)", text, re.MULTILINE))


def test_wheels_are_built_with_what_the_project_asks_for() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    asked = project["build-system"]["requires"]
    hook = project["tool"]["hatch"]["build"]["targets"]["wheel"]["hooks"]["custom"]["dependencies"]
    assert asked_for("build") == [*asked, EDITABLES]
    assert asked_for("native") == [*asked, *hook]


def test_wheels_are_compiled_with_what_the_tests_compile_with() -> None:
    tested = pinned("dev")
    compiling = pinned("native")
    assert {"hatchling", "mypy", "msgspec", "setuptools"} <= set(compiling)
    assert compiling == {name: tested[name] for name in compiling}


def test_it_runs_as_somebody_without_privileges_named_by_number() -> None:
    (user,) = rests("USER", last_stage())
    assert re.fullmatch(r"([1-9]\d{3,}):([1-9]\d{3,})", user)
    uid, gid = user.split(":")
    made = " ".join(rests("RUN", last_stage()))
    assert f"--uid {uid}" in made
    assert f"--gid {gid}" in made
    # nothing is done as root after it
    words = [each.word for each in last_stage()]
    assert not {"RUN", "COPY"} & set(words[words.index("USER") :])


def test_it_writes_to_its_volume_alone() -> None:
    data = environment()["HELIOGRAPH_DATA"]
    assert rests("VOLUME", last_stage()) == [data]
    assert rests("WORKDIR", last_stage()) == [data]
    assert environment()["PYTHONDONTWRITEBYTECODE"] == "1"


def test_its_settings_are_settings(tmp_path: Path) -> None:
    ours = {name: value for name, value in environment().items() if name.startswith("HELIOGRAPH_")}
    settings = load(environ={**ours, "HELIOGRAPH_DATA": str(tmp_path)})
    _, _, port = settings.http.listen.rpartition(":")
    assert rests("EXPOSE", last_stage()) == [port]


def test_what_it_runs_is_given_as_arguments_so_that_signals_arrive() -> None:
    (health,) = rests("HEALTHCHECK", last_stage())
    options, _, command = health.partition("CMD ")
    assert "--start-period" in options
    assert json.loads(command) == ["heliograph", "health"]
    assert json.loads(rests("ENTRYPOINT", last_stage())[0]) == ["heliograph"]
    assert json.loads(rests("CMD", last_stage())[0]) == ["serve"]


def test_the_services_of_compose_use_what_is_there() -> None:
    document = compose()
    volumes = set(document["volumes"])
    for service in document["services"].values():
        assert service.get("build") or service["image"].partition(":")[0] in IMAGES
        for volume in service["volumes"]:
            assert volume.partition(":")[0] in volumes
        assert set(service.get("depends_on", {})) <= set(document["services"])
    assert document["services"]["database"]["healthcheck"]["test"][0] == "CMD"


def test_compose_runs_the_gateway_hardened_and_lets_it_stop_in_peace(tmp_path: Path) -> None:
    gateway = compose()["services"]["gateway"]
    assert gateway["read_only"] is True
    assert gateway["cap_drop"] == ["ALL"]
    assert "no-new-privileges:true" in gateway["security_opt"]
    assert all(port.startswith("127.0.0.1:") for port in gateway["ports"])
    assert gateway["volumes"] == [f"gateway:{environment()['HELIOGRAPH_DATA']}"]
    drain = load(environ={"HELIOGRAPH_DATA": str(tmp_path)}).shutdown.drain_s
    assert int(gateway["stop_grace_period"].removesuffix("s")) > drain


@pytest.mark.parametrize("service", ["gateway", "database"])
def test_compose_holds_no_password(service: str) -> None:
    values = " ".join(compose()["services"][service]["environment"].values())
    assert "${POSTGRES_PASSWORD:?" in values


def test_compose_points_the_gateway_at_its_database(tmp_path: Path) -> None:
    services = compose()["services"]
    ours = {
        name: re.sub(r"\$\{POSTGRES_PASSWORD[^}]*\}", "word", value)
        for name, value in services["gateway"]["environment"].items()
    }
    settings = load(environ={**ours, "HELIOGRAPH_DATA": str(tmp_path)})
    given = services["database"]["environment"]
    assert settings.store.url == f"postgresql://{given['POSTGRES_USER']}:word@database:5432/{given['POSTGRES_DB']}"
