"""The wheel with compiled modules: what building it takes, and the initialisers that are written out before."""

import re
from pathlib import Path

import hatchling.build
import pytest
from hatch_build import told, with_initialisers

ROOT = Path(__file__).parents[3]

PLAIN = '''
@dataclass(slots=True)
class Answer:
    """What is told."""

    status: int
    body: bytes = b""
    """As it is sent."""
    at: int = field(default=-1, compare=False)

    def late(self) -> bool:
        return self.at > 0


after = 1
'''


def test_the_fields_become_an_initialiser_and_no_line_moves() -> None:
    written = with_initialisers(PLAIN)
    assert written.count("\n") == PLAIN.count("\n")
    assert written.index("after") > written.index("def late")
    assert written.split("\n").index("after = 1") == PLAIN.split("\n").index("after = 1")
    assert "@dataclass(slots=True, init=False)" in written
    assert (
        "    def __init__(self, status: int, body: bytes = b'', at: int = -1) -> None:"
        " self.status = status; self.body = body; self.at = at"
    ) in written


def test_what_is_not_plain_stays_as_it_is() -> None:
    for source in (
        PLAIN.replace("field(default=-1, compare=False)", "field(default_factory=int)"),
        PLAIN.replace("class Answer:", "class Answer(Reply):"),
        PLAIN.replace("slots=True", "frozen=True"),
        PLAIN.replace("@dataclass(slots=True)\n", ""),
        "class Nothing:\n    pass\n\n",
    ):
        assert with_initialisers(source) == source


@pytest.mark.parametrize(("enabled", "asked"), [("false", set()), ("true", {"mypy", "msgspec", "setuptools"})])
def test_whoever_builds_the_wheel_is_told_what_compiling_takes(
    monkeypatch: pytest.MonkeyPatch, enabled: str, asked: set[str]
) -> None:
    monkeypatch.setenv("HATCH_BUILD_HOOK_ENABLE_CUSTOM", enabled)
    monkeypatch.chdir(ROOT)
    requirements = hatchling.build.get_requires_for_build_wheel()
    assert {re.split("[^a-z]", each)[0] for each in requirements} == asked


def test_a_failed_build_tells_the_first_complaints_and_the_last_output() -> None:
    text = told("command\n" * 5_000 + "the end", "ld: twice defined\n" + "traceback\n" * 5_000)
    assert text.startswith("ld: twice defined")
    assert text.endswith("the end")
    assert len(text) < 20_000
