"""Marks that `make test` relies on when it chooses tests."""

from pathlib import Path

TESTS = Path(__file__).parents[1]


def test_tests_with_schemathesis_are_extended() -> None:
    """`make test` runs without its plugin: there these tests would be collected as something else, and pass."""
    modules = {path: path.read_text() for path in TESTS.rglob("test_*.py") if path != Path(__file__)}
    using = {path.name: text for path, text in modules.items() if "import schemathesis" in text}
    assert len(using) == 2
    assert {
        name for name, text in using.items() if "pytestmark = [pytest.mark.slow, pytest.mark.extended]" not in text
    } == set()
