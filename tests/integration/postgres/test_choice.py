"""Which store it is, as it is said on the command line and in variables."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from heliograph.cli.main import heliograph

PASSWORD = "hunter2hunter2"


def run(*arguments: str, url: str | None = None, data: Path) -> tuple[int, str]:
    env = {"HELIOGRAPH_DATA": str(data)} | ({"HELIOGRAPH_DATABASE_URL": url} if url else {})
    result = CliRunner().invoke(heliograph, list(arguments), env=env)
    return result.exit_code, result.output


@pytest.fixture
def secret_url(url: str) -> str:
    """The server trusts everybody, whatever password they give."""
    return url.replace("postgres@", f"postgres:{PASSWORD}@")


def test_accounts_are_in_the_database(secret_url: str, tmp_path: Path) -> None:
    code, output = run("account", "create", "ada", "--credit", "5", url=secret_url, data=tmp_path)
    assert code == 0, output
    code, output = run("account", "list", "--json", "--database-url", secret_url, data=tmp_path)
    assert code == 0, output
    assert [each["username"] for each in json.loads(output)["accounts"]] == ["ada"]
    assert not list(tmp_path.glob("*.db"))
    code, output = run("--database-url", secret_url, "audit", data=tmp_path)
    assert code == 0, output
    code, output = run("account", "list", data=tmp_path)
    assert code == 1
    assert "there is no store in" in output


@pytest.mark.parametrize("arguments", [("settings",), ("settings", "--json"), ("doctor",), ("account", "show", "bob")])
def test_the_password_is_never_shown(secret_url: str, tmp_path: Path, arguments: tuple[str, ...]) -> None:
    _, output = run(*arguments, url=secret_url, data=tmp_path)
    assert output
    assert PASSWORD not in output


@pytest.mark.parametrize(
    ("url", "told"),
    [
        (f"postgresql://u:{PASSWORD}@127.0.0.1:1/x", "cannot be used"),
        (f"postgresql://u:{PASSWORD}@host.invalid:notaport/x", "cannot be used"),
        (f"mysql://u:{PASSWORD}@127.0.0.1/x", "postgresql://"),
    ],
)
def test_a_database_that_is_not_there(url: str, told: str, tmp_path: Path) -> None:
    for arguments in (("account", "list"), ("doctor",)):
        code, output = run(*arguments, "--database-url", url, data=tmp_path)
        assert code != 0
        assert told in output or "URL" in output
        assert PASSWORD not in output
        assert "Traceback" not in output
