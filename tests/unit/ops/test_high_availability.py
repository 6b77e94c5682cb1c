"""The files of ops/ha fit together, the settings, and the page that explains them."""

import re
import subprocess
from pathlib import Path
from string import Template

import pytest
import yaml  # type: ignore[import-untyped]

from heliograph.config import load
from tests.support.peers import foreign_program

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "ops/ha"
FILES = sorted(path.name for path in FOLDER.iterdir())
PAGE = (ROOT / "docs/high-availability.md").read_text(encoding="utf-8")


def variables(text: str) -> dict[str, str]:
    return dict(re.findall(r"^([A-Z0-9_]+)=(.*)$", text, re.MULTILINE))


def rendered(name: str) -> str:
    """The file as `envsubst` writes it: fails if a variable is not in cluster.env."""
    known = variables((FOLDER / "cluster.env").read_text(encoding="utf-8"))
    text = Template((FOLDER / name).read_text(encoding="utf-8"))
    return text.substitute(known, NODE="db1", ADDRESS=known["DB1"])


@pytest.mark.parametrize("name", FILES)
def test_each_file_is_explained_and_filled_from_the_variables(name: str) -> None:
    assert f"`{name}`" in PAGE or f"ops/ha/{name}`" in PAGE
    assert "${" not in rendered(name)


def test_times_of_patroni_fit() -> None:
    times = yaml.safe_load(rendered("patroni.yml"))["bootstrap"]["dcs"]
    assert times["ttl"] >= times["loop_wait"] + 2 * times["retry_timeout"]
    assert (times["synchronous_mode"], times["synchronous_mode_strict"]) == (True, True)


def test_the_gateway_knows_the_settings(tmp_path: Path) -> None:
    environment = variables(rendered("gateway.env"))
    settings = load(tmp_path, environ=environment)
    assert len(settings.store.url.partition("@")[2].split(",")) == 3
    assert settings.node.most_binds == 1


def test_a_gateway_gives_notice_for_as_long_as_the_balancer_needs() -> None:
    notice = float(variables(rendered("gateway.env"))["HELIOGRAPH_SHUTDOWN_NOTICE_S"])
    [(interval, fall)] = re.findall(r"default-server inter (\d+)s .*fall (\d+)", rendered("haproxy.cfg"))
    assert notice >= int(interval) * int(fall) + 2
    assert f"(`fall {fall}`)" in rendered("gateway.env")


def test_the_page_promises_the_longest_outage_of_a_single_machine() -> None:
    rows = [line.split("|") for line in PAGE.splitlines() if line.startswith("| the leader")]
    longest = max(float(row[4].split()[0]) for row in rows)
    [promised] = re.findall(r"messages are accepted again within (\d+) seconds", PAGE)
    assert len(rows) == 2
    assert longest <= int(promised)


def test_the_page_quotes_the_reasons_as_the_log_has_them() -> None:
    source = (ROOT / "src/heliograph/adapters/store/postgres/servers.py").read_text(encoding="utf-8")
    quoted = [" ".join(reason.split()) for reason in re.findall(r"\blog(?:\s+says)?\s+`([^`]+)`", PAGE)]
    assert len(quoted) >= 2
    assert [reason for reason in quoted if reason not in source] == []


def test_the_commands_of_the_page_ask_no_questions_and_know_their_variables() -> None:
    """A command that asks, such as `switchover`, leaves the reader with a choice that the page does not explain."""
    asking = re.findall(r"^ *patronictl .* (?:switchover|failover|reinit|restart|edit-config) .*$", PAGE, re.MULTILINE)
    assert len(asking) >= 8
    assert [line for line in asking if "--force" not in line] == []
    known = variables((FOLDER / "cluster.env").read_text(encoding="utf-8"))
    used = set(re.findall(r"\$([A-Z][A-Z0-9_]+)", PAGE))
    assert used >= {"DB1", "GATEWAY1", "BALANCER", "DATABASE_PASSWORD"}
    assert used <= known.keys()


@pytest.mark.peer
@pytest.mark.parametrize("name", [name for name in FILES if name.startswith("haproxy")])
def test_haproxy_takes_its_files(name: str, tmp_path: Path) -> None:
    haproxy = foreign_program("haproxy")
    (tmp_path / name).write_text(rendered(name), encoding="utf-8")
    checked = subprocess.run([haproxy, "-c", "-f", tmp_path / name], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr
