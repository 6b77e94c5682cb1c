"""openapi-generator makes clients of the narrowed document; each one whose toolchain is here is compiled, and sends.

The programs that send are in `tests/peers/clients`, but for Python. They do the same in each language: send, get, list,
and be refused with 409 where they cancel what was sent.
"""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.peers import NODE_MODULES, PYTHON, QUICK_JAVA, SCRIPTS, foreign_file, foreign_program
from tests.support.process import Admin, GatewayProcess, clean_environment
from tests.support.timeouts import COMMAND_S

pytestmark = [pytest.mark.slow, pytest.mark.peer, pytest.mark.extended]

PROGRAMS = SCRIPTS / "clients"

Command = list[str]

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
        sys.exit("it was cancelled")
    except client.ApiException as refused:
        assert refused.status == 409
print(sent.id)
"""


TOOL_S = 4 * COMMAND_S
"""Seconds for a generator or a compiler, each a large program in a virtual machine that has just started."""


def run(command: Command, folder: Path, **environment: str) -> str:
    done = subprocess.run(
        command, cwd=folder, env=clean_environment(QUICK_JAVA | environment), capture_output=True, text=True,
        timeout=TOOL_S, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


def generate(folder: Path, language: str, *options: str) -> Path:
    """Makes the client; returns its folder."""
    foreign_program("java")
    generator = foreign_program("openapi-generator-cli")
    document = folder / "openapi-3.0.json"
    printed = Admin(folder / "data").run("openapi", "--narrow")
    assert printed.returncode == 0, printed.stderr
    document.write_text(printed.stdout, encoding="utf-8")
    out = folder / "client"
    run([generator, "generate", "-i", str(document), "-g", language, "-o", str(out), *options], folder)
    return out


def sends(folder: Path, command: Command, **environment: str) -> None:
    """Runs what sends, with a gateway of its own."""
    with GatewayProcess(folder.parent / "gateway", dev=True) as gateway:
        assert len(run([*command, gateway.url], folder, **environment).strip()) == 32


def python(folder: Path) -> None:
    client = generate(folder, "python")
    interpreter = foreign_file(PYTHON, "what generated clients need")
    sends(client, [str(interpreter), "-c", SENDS], PYTHONPATH=str(client))


def typescript(folder: Path) -> None:
    compiler, node = foreign_program("tsc"), foreign_program("node")
    client = generate(folder, "typescript-fetch")
    options = ["--strict", "--target", "es2022", "--module", "commonjs", "--outDir", "out"]
    run([compiler, *options, "index.ts"], client)
    shutil.copy(PROGRAMS / "send.mjs", client)
    sends(client, [node, "send.mjs"])


def go(folder: Path) -> None:
    compiler = foreign_program("go")
    client = generate(folder, "go")
    (client / "send").mkdir()
    shutil.copy(PROGRAMS / "send.go", client / "send" / "main.go")
    run([compiler, "build", "-o", "sends", "./send"], client, GOPROXY="off", GOCACHE=str(folder / "cache"))
    sends(client, ["./sends"])


def java(folder: Path) -> None:
    """The generator's own archive has all that a client needs (Jackson, annotations)."""
    compiler, interpreter = foreign_program("javac"), foreign_program("java")
    client = generate(folder, "java", "--library", "native", "--additional-properties", "openApiNullable=false")
    (archive,) = PYTHON.parents[1].rglob("openapi_generator_cli/*.jar")
    files = [str(path) for path in [*(client / "src" / "main").rglob("*.java"), *PROGRAMS.glob("*.java")]]
    run([compiler, "-nowarn", "-d", "out", "-cp", str(archive), *files], client)
    sends(client, [interpreter, "-cp", os.pathsep.join(["out", str(archive)]), "Send"])


def php(folder: Path) -> None:
    interpreter = foreign_program("php")
    foreign_file(Path("/usr/share/php/GuzzleHttp/autoload.php"), "Debian's php-guzzlehttp-guzzle")
    client = generate(folder, "php")
    shutil.copy(PROGRAMS / "send.php", client)
    sends(client, [interpreter, "send.php"])


def csharp(folder: Path) -> None:
    """The library `httpclient`, since the others need what Mono is too old for. Polly is a stand-in of ours."""
    compiler, interpreter = foreign_program("mcs"), foreign_program("mono")
    package = NODE_MODULES / "jillejr.newtonsoft.json-for-unity"
    json = foreign_file(package / "Plugins/Newtonsoft.Json Editor/Newtonsoft.Json.dll", "npm's Newtonsoft.Json")
    framework = ["--additional-properties", "targetFramework=netstandard2.0"]
    client = generate(folder, "csharp", "--library", "httpclient", *framework)
    shutil.copy(json, client)
    used = ["System.Net.Http", "System.Runtime.Serialization", "System.ComponentModel.DataAnnotations", "System.Web"]
    references = [f"-r:{name}" for name in [*used, json.name]]
    files = [*(client / "src/Org.OpenAPITools").rglob("*.cs"), *PROGRAMS.glob("*.cs")]
    run([compiler, "-langversion:latest", "-out:send.exe", *references, *map(str, files)], client)
    sends(client, [interpreter, "send.exe"])


@pytest.mark.parametrize("try_client", [python, typescript, go, java, php, csharp])
def test_the_generated_client_compiles_and_sends(tmp_path: Path, try_client: Callable[[Path], None]) -> None:
    try_client(tmp_path)
