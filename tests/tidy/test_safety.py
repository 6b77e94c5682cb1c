"""What ships makes no unsafe calls, and no SQL of values; each rule finds what it is for."""

import pytest

from tests.tidy import rules, safety
from tests.tidy.rules import Module, parsed

UNVERIFIED = {"adapters/smpp/dial.py:tls_context"}
"""Where a certificate is not verified if somebody asks for it in so many words: an operator's option."""

MADE_SQL = {
    "adapters/store/postgres/connections.py:transact",  # numbers of ours, in one round trip
    "adapters/store/postgres/session.py:settle",  # names and values of our settings, which take no parameters
    "adapters/store/sqlite/store.py:_empty_log",  # milliseconds of ours; likewise
    "adapters/store/sqlite/connection.py:connect",  # sizes of ours; a PRAGMA takes no parameters
    "adapters/store/postgres/schema.py:_take_next",  # the name of one of our two schemas
    *(f"adapters/store/postgres/moving.py:{name}" for name in ("begin", "counts", "finish", "_holds")),  # our tables
    *(f"adapters/store/sqlite/moving.py:{name}" for name in ("count", "highest_id", "read", "_set")),  # our tables
}
"""Functions whose SQL is put together of more than constants, each looked at: nothing in it comes from outside."""


@pytest.fixture(scope="module")
def modules() -> list[Module]:
    found = rules.read_modules()
    assert len(found) > 100
    return found


def test_no_call_is_unsafe(modules: list[Module]) -> None:
    found = [place for module in modules for place in (*safety.unsafe(module), *safety.unsafe_imports(module))]
    assert found == []


def test_certificates_are_verified(modules: list[Module]) -> None:
    assert {place for module in modules for place in safety.trusts_everybody(module)} == UNVERIFIED


def test_no_secret_is_made_by_chance(modules: list[Module]) -> None:
    assert [place for module in modules for place in safety.guesses_secrets(module)] == []


def test_asserts_check_nothing_from_outside(modules: list[Module]) -> None:
    assert [place for module in modules for place in safety.checks_by_assert(module)] == []


def test_sql_is_not_made_of_values(modules: list[Module]) -> None:
    assert {place for module in modules for place in safety.made_sql(module)} == MADE_SQL


@pytest.mark.parametrize(
    "text",
    [
        "eval(x)",
        "import os\nos.system(x)",
        "from os import system\nsystem(x)",
        "import os as o\no.popen(x)",
        "import subprocess\nsubprocess.run(x, shell=True)",
        "import subprocess\nsubprocess.run(x, shell=y)",
        "from tempfile import mktemp\nmktemp()",
        "import yaml\nyaml.load(x)",
        "import hashlib\nhashlib.sha1(x)",
        "from hashlib import md5 as fast\nfast(x)",
        "import httpx\nhttpx.get(x, verify=False)",
        "import jinja2\njinja2.Environment(autoescape=False)",
    ],
)
def test_unsafe_calls_are_found(text: str) -> None:
    assert len(safety.unsafe(parsed("a.py", text))) == 1


def test_safe_calls_are_let_be() -> None:
    text = "import re, subprocess\nre.compile(x)\nsubprocess.run([x], shell=False)\nhashlib.sha256(x)\nself.eval(x)"
    assert safety.unsafe(parsed("a.py", text)) == []


def test_unsafe_imports_are_found() -> None:
    text = "import json, pickle\nfrom xml.etree import ElementTree\nfrom os import path"
    assert [place.split(": ")[1].split()[0] for place in safety.unsafe_imports(parsed("a.py", text))] == [
        "pickle",
        "xml",
    ]


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("def f(c):\n    c.verify_mode = ssl.CERT_NONE", 1),
        ("def f(c):\n    c.check_hostname = False", 1),
        ("def f(c):\n    c.check_hostname = True\n    c.verify_mode = ssl.CERT_REQUIRED", 0),
    ],
)
def test_trust_in_everybody_is_found(text: str, count: int) -> None:
    assert len(safety.trusts_everybody(parsed("a.py", text))) == count


def test_secrets_of_chance_are_found() -> None:
    assert len(safety.guesses_secrets(parsed("a.py", "token = random.randbytes(9)\npause = random.random()"))) == 1


def test_asserts_that_are_checks_are_found() -> None:
    text = "assert x is not None\nassert isinstance(x, A) and y is None\nassert x > 0\nassert valid(x)"
    assert [place.split(":")[1] for place in safety.checks_by_assert(parsed("a.py", text))] == ["3", "4"]


@pytest.mark.parametrize(
    ("body", "is_made"),
    [
        ('db.execute("SELECT 1")', False),
        ("db.execute(QUERY)", False),
        ('db.execute(f"SELECT {COLUMNS}")', False),
        ('db.execute(f"SELECT {x}")', True),
        ('db.execute("SELECT " + x)', True),
        ('db.fetch("SELECT %s" % x)', True),
        ('db.fetchrow("SELECT {}".format(x))', True),
        ('sql = f"SELECT {x}"\n    db.executemany(sql, rows)', True),
        ('sql = "SELECT 1"\n    sql += x\n    db.execute(f"{sql}")', True),
        ('db.execute("; ".join(x))', True),
        ("db.execute(query.text, x)", False),
    ],
)
def test_sql_of_values_is_found(body: str, is_made: bool) -> None:
    module = parsed("a.py", f'COLUMNS = "a, b"\nQUERY = "SELECT " + COLUMNS\ndef f(db, x):\n    {body}')
    assert safety.made_sql(module) == (["a.py:f"] if is_made else [])
