"""openapi-generator makes clients of the narrowed document, and one that can run here sends with it."""

import subprocess
from pathlib import Path

import pytest

from tests.support.peers import PYTHON, foreign_program
from tests.support.process import Admin, GatewayProcess, clean_environment
from tests.support.timeouts import COMMAND_S

pytestmark = [pytest.mark.slow, pytest.mark.peer]

GENERATORS = ("python", "typescript-fetch", "go", "java", "php", "csharp")

SENDS = """
import sys
import openapi_client as client
configuration = client.Configuration(host=sys.argv[1], username="demo", password="demo-api-key")
with client.ApiClient(configuration) as api:
    messages = client.MessagesApi(api)
    wanted = client.SendRequest(to=["491701234567"], var_from="Helio", content="Hello", dlr=True)
    sent = messages.send_message(wanted)
    assert messages.get_message(sent.id).to == "491701234567"
    assert messages.list_messages(pending=True, limit=2).count == 1
    try:
        messages.cancel_message(sent.id)
    except client.ApiException as refused:
        assert refused.status == 409
print(sent.id)
"""


def generate(folder: Path, language: str) -> Path:
    foreign_program("java")
    generator = foreign_program("openapi-generator-cli")
    document = folder / "openapi-3.0.json"
    printed = Admin(folder / "data").run("openapi", "--narrow")
    assert printed.returncode == 0, printed.stderr
    document.write_text(printed.stdout, encoding="utf-8")
    out = folder / "client"
    done = subprocess.run(
        [generator, "generate", "-i", str(document), "-g", language, "-o", str(out)],
        capture_output=True, text=True, timeout=COMMAND_S, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return out


@pytest.mark.parametrize("language", GENERATORS)
def test_each_generator_takes_the_document(tmp_path: Path, language: str) -> None:
    assert any(generate(tmp_path, language).rglob("*Send*")) or any(tmp_path.rglob("*send*"))


def test_the_client_for_python_sends(tmp_path: Path) -> None:
    package = generate(tmp_path, "python")
    with GatewayProcess(tmp_path / "gateway", dev=True) as gateway:
        done = subprocess.run(
            [PYTHON, "-c", SENDS, gateway.url], cwd=tmp_path, text=True, check=False,
            env=clean_environment({"PYTHONPATH": str(package)}), capture_output=True, timeout=COMMAND_S,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert len(done.stdout.strip()) == 32


def test_the_client_for_typescript_is_of_right_types(tmp_path: Path) -> None:
    compiler = foreign_program("tsc")
    client = generate(tmp_path, "typescript-fetch")
    done = subprocess.run(
        [
            compiler, "--strict", "--noEmit", "--target", "es2022", "--module", "es2022",
            "--moduleResolution", "bundler", "index.ts",
        ],
        cwd=client, capture_output=True, text=True, timeout=COMMAND_S, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout


def test_the_client_for_php_is_php(tmp_path: Path) -> None:
    php = foreign_program("php")
    files = sorted((generate(tmp_path, "php") / "lib").rglob("*.php"))
    assert files
    for file in files:
        done = subprocess.run([php, "-l", str(file)], capture_output=True, text=True, timeout=COMMAND_S, check=False)
        assert done.returncode == 0, done.stdout
