"""What the documents tell people to type works, from top to bottom."""

import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import httpx
import pytest

from heliograph.composition.dev import DEMO_API_KEY, DEMO_NAME
from tests.support.customer import Customer
from tests.support.peers import ROOT
from tests.support.process import PROGRAM, GatewayProcess, Process, clean_environment
from tests.support.timeouts import COMMAND_S, PATIENCE_S

pytestmark = pytest.mark.slow

DOCUMENTED = "127.0.0.1:8080"
DATA = "/var/lib/heliograph"
"""Where a gateway has its data for real; a test keeps to its own folder."""

BLOCK = re.compile(r"^```bash\n(.*?)^```$", re.DOTALL | re.MULTILINE)

CURL = """#!/bin/sh
tries=0
while
    answer=$({curl} -sS --fail-with-body --retry 3 "$@")
    status=$?
    tries=$((tries + 1))
    case "$answer" in *'"receipts":[]'* | *'"suppressions":[]'*) test $tries -lt {tries} ;; *) false ;; esac
do sleep 0.5; done
case "$*" in *--output*) answer='{{"count":0}}' ;; esac
printf '%s\\n' "$answer" >> {answers}
printf '%s\\n' "$answer"
exit $status
"""
"""curl as people have it, but one that notes the answers, fails on those that refuse, and looks again where what the
page has slept for is not there yet, or where it asks sooner than a list may be asked for."""


PAGE_S = 4 * COMMAND_S
"""Seconds for all that a page has: a dozen programs, one after the other, and what it waits for between them."""

GOOD = {"MessageId", "Number", "count", "messages", "notices", "suppressions"}
"""Fields of which answers to questions have one."""


class Reader:
    """Somebody who pastes what is written into a shell, in a folder with the program installed in `.venv`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.answers_path = folder / "answers"
        self.tools = folder / "bin"
        self.tools.mkdir()
        real = shutil.which("curl")
        if real is None:
            pytest.skip("LEFT OUT: there is no curl on the path")
        curl = self.tools / "curl"
        curl.write_text(
            CURL.format(curl=shlex.quote(real), answers=shlex.quote(str(self.answers_path)), tries=int(2 * PATIENCE_S))
        )
        curl.chmod(0o755)
        (folder / ".venv").symlink_to(PROGRAM.parents[1])

    def paste(self, script: str) -> str:
        environment = clean_environment()
        environment["PATH"] = f"{self.tools}:{PROGRAM.parent}:{environment['PATH']}"
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", script.replace(DATA, str(self.folder / "for-real"))],
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=PAGE_S,
            check=False,
        )
        assert done.returncode == 0, f"{script}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def answers(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.answers_path.read_text().splitlines()]


def blocks(page: str) -> list[str]:
    return BLOCK.findall((ROOT / page).read_text(encoding="utf-8"))


def is_good(answer: dict[str, Any]) -> bool:
    return answer.get("Status") == "00" or not GOOD.isdisjoint(answer)


@pytest.mark.parametrize("page", ["README.md", "docs/api.md"])
def test_every_block_of(page: str, tmp_path: Path) -> None:
    reader = Reader(tmp_path)
    with GatewayProcess(tmp_path / "heliograph-data", dev=True) as gateway:
        # one after the other in one shell, as variables of one block are used in the next
        written = "\n".join(blocks(page)).replace(DOCUMENTED, gateway.url.removeprefix("http://"))
        reader.paste(written)
        asked = len(re.findall(r"\bcurl\b", written))
        answers = reader.answers()
        assert len(answers) == asked > 5
        assert [answer for answer in answers if not is_good(answer)] == []
        if page == "docs/api.md":
            assert (tmp_path / "messages.csv").read_text().count("Hello, world") == 1
        if page == "README.md":
            [receipts] = [answer["receipts"] for answer in answers if "receipts" in answer]
            assert [receipt["receipt"]["message_status"] for receipt in receipts] == ["DELIVRD"]
            [inbound] = [answer["messages"] for answer in answers if "messages" in answer]
            assert [(each["From"], each["Content"]) for each in inbound] == [("447700909024", "Yes, please.")]
            [suppressed] = [answer["suppressions"] for answer in answers if "suppressions" in answer]
            assert [each["Number"] for each in suppressed] == ["447700909021"]
        assert gateway.stop() == 0


def test_the_shown_answers_have_the_fields_of_real_ones(tmp_path: Path) -> None:
    shown = [
        json.loads(text)
        for page in ("README.md", "docs/api.md")
        for text in re.findall(r"^```json\n(.*?)^```$", (ROOT / page).read_text(), re.DOTALL | re.MULTILINE)
    ]
    assert len(shown) >= 3
    with (
        GatewayProcess(tmp_path / "data", dev=True) as gateway,
        Customer(gateway.url, "demo", "demo-api-key") as customer,
    ):
        sent = customer.send(1, to="491701234567", content="Hello")
        refused = customer.form("/api/v1/messages", {"to": "+491701234567", "from": "Heliograph", "content": "Hi"}).json
        customer.request("PUT", "/account/v1/suppressions/491701234567")
        suppressed = customer.get("/account/v1/suppressions").json
    for example in shown:
        real = suppressed if "suppressions" in example else refused if example["Status"] == "03" else sent
        assert list(example) == list(real)
        if "suppressions" in example:
            assert [list(each) for each in example["suppressions"]] == [list(each) for each in real["suppressions"]]
        elif example["Status"] == "03":
            assert example == real


def test_the_banner_of_a_development_run_can_be_pasted(tmp_path: Path) -> None:
    reader = Reader(tmp_path)
    command = [str(PROGRAM), "serve", "--dev", "--data", str(tmp_path / "data"), "--listen", "127.0.0.1:0"]
    with Process(tmp_path, "serve", command) as process:
        banner = process.until(lambda: process.out if "Stop with Ctrl-C" in process.out else "", "the banner")
        lines = re.findall(r"^  (curl (?:.*\\\n)*.*)$", banner, re.MULTILINE)
        assert len(lines) == 5
        for line in lines:
            reader.paste(line)
        assert [is_good(answer) for answer in reader.answers()] == [True] * 5
        url = re.search(r"http://127\.0\.0\.1:\d+", banner)
        assert url is not None
        body = {"to": "491701234567", "from": "Heliograph", "content": "Hello"}
        for path in ("/api/v1/messages", "/api/v2/messages", "/health/live", "/docs"):
            answer = httpx.post(
                url[0] + path, json=body, headers={"Host": "evil.example"}, auth=(DEMO_NAME, DEMO_API_KEY)
            )
            assert answer.status_code == 403, "the demo account's secrets are public, for pages of other sites too"
        assert process.stop() == 0
