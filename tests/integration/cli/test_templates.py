"""Commands on templates, in this process."""

import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from heliograph.cli.main import heliograph

TABLE = """Template Name;Header;Content;Template ID;Status
Code;HELIO;"Your code is {#numeric#}.
Helio";117;Approved
Bill;HELIO;Your bill is {#var#}.;118;Approved
Old;HELIO;Old;119;Rejected
"""


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("HELIOGRAPH_DATA", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)

    def invoke(*arguments: str, **options: Any) -> Result:
        return CliRunner().invoke(heliograph, ["template", *arguments], prog_name="heliograph", **options)

    return invoke


def test_templates_are_added_changed_and_removed(run: Any) -> None:
    added = run("add", "code", "--text", "Code {#numeric#}", "--tlv", "Entity=110", "--tlv", "template=117")
    assert (added.exit_code, added.stdout) == (0, "Added the template code.\n")
    again = run("add", "code", "--text", "x")
    assert again.exit_code == 1
    assert "The template code exists already" in again.stderr
    assert "heliograph template list" in again.stderr
    wrong = run("add", "new", "--text", "{#name#}")
    assert "text: there is no variable {#name#}" in wrong.stderr
    assert "'x' is not a name with a value, such as entity=" in run("add", "new", "--text", "y", "--tlv", "x").stderr
    assert json.loads(run("show", "code", "--json").stdout) == {
        "name": "code", "text": "Code {#numeric#}", "sender": "", "account": "",
        "tlvs": {"entity": "110", "template": "117"},
    }  # fmt: skip
    assert "entity=110, template=117" in run("show", "code").stdout
    changed = run("set", "code", "--sender", "HELIO", "--tlv", "entity=", "--json")
    assert json.loads(changed.stdout)["tlvs"] == {"template": "117"}
    [listed] = json.loads(run("list", "--sender", "HELIO", "--json").stdout)["templates"]
    assert listed["sender"] == "HELIO"
    assert json.loads(run("list", "--sender", "OTHER", "--json").stdout) == {"templates": []}
    assert "HELIO" in run("list").stdout
    assert run("remove", "code").stdout == "The template code is removed.\n"
    assert "There is no template code" in run("remove", "code").stderr
    assert "There is no template yet." in run("list").output


def test_a_table_is_imported_whole_or_not_at_all(run: Any, tmp_path: Path) -> None:
    table = tmp_path / "templates.csv"
    table.write_text(TABLE)
    imported = json.loads(run("import", str(table), "--tlv", "entity=110", "--json").stdout)
    assert imported == {
        "added": 2, "changed": 0, "left_out": [{"line": 5, "problem": "its status is Rejected"}],
    }  # fmt: skip
    again = run("import", "-", "--tlv", "entity=111", input=TABLE)
    assert again.exit_code == 0, again.stderr
    assert "replaced" in again.stdout
    found = json.loads(run("show", "Code", "--json").stdout)
    assert found["tlvs"] == {"entity": "111", "template": "117"}
    table.write_text(TABLE.replace("{#var#}", "{#vat#}").replace("Code;HELIO", "Neu;HELIO"))
    bad = run("import", str(table))
    assert bad.exit_code == 1
    assert "line 4: text: there is no variable {#vat#}" in bad.stderr
    assert "1 line of" in bad.stderr
    table.write_text("name,text,account\na,Hi,\nb,Hi,nobody\n")
    assert "template b: account: there is no account nobody" in run("import", str(table)).stderr
    table.write_bytes("name,text\na,Grüße\n".encode("latin-1"))
    assert "is not UTF-8" in run("import", str(table)).stderr
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=("name,text\n".encode("utf-16"),))
    writer.start()
    assert "has no approved template" in run("import", str(pipe)).stderr
    writer.join()
    assert "cannot be read" in run("import", "nowhere.csv").stderr
    table.write_text("name,text\n")
    assert "has no approved template" in run("import", str(table)).stderr
    names = [each["name"] for each in json.loads(run("list", "--json").stdout)["templates"]]
    assert names == ["Bill", "Code"]


def test_a_text_is_checked(run: Any) -> None:
    assert run("import", "-", input=TABLE).exit_code == 0
    none = run("check", "--sender", "OTHER", "--text", "Hi")
    assert (none.exit_code, none.stdout) == (1, "There is no template for the sender OTHER.\n")
    fits = run("check", "--sender", "HELIO", "--text", "Your bill is 5.")
    assert (fits.exit_code, fits.stdout) == (0, "It fits the template Bill.\n")
    near = run("check", "--sender", "HELIO", "--text", "Your code is x. Helio")
    assert near.exit_code == 1
    assert near.stdout.startswith("It fits no template. The nearest is Code. It differs: at character 14 the template")
    told = json.loads(run("check", "--sender", "HELIO", "--text", "Your bill is", "--json").stdout)
    assert (told["fits"], told["template"]["name"]) == (False, "Bill")
