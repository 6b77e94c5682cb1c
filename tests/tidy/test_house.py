"""The house as it is, held to its rules. An allowance may only shrink: take away from it what you mended."""

import pytest

from tests.tidy import rules
from tests.tidy.rules import Module

LONG_MODULES: frozenset[str] = frozenset()
LONG_FUNCTIONS: frozenset[str] = frozenset()
SQL_IN_MODULES = frozenset(
    f"adapters/store/{name}.py"
    for name in (
        "names",
        "postgres/connections",
        "postgres/moving",
        "postgres/schema",
        "postgres/servers",
        "postgres/session",
        "shared/sql",
        "sqlite/moving",
        "sqlite/schema",
    )
)
"""Modules with SQL beside the hot paths: makers of schema, session and connection, the loader of SQL files, the
move of all tables, and names for completion, which must load nothing else."""


@pytest.fixture(scope="module")
def modules() -> list[Module]:
    found = rules.read_modules()
    assert len(found) > 100
    return found


def test_no_two_classes_of_a_folder_have_one_name(modules: list[Module]) -> None:
    assert rules.same_names_in_a_folder(modules) == set()


def test_modules_fit_in_the_head(modules: list[Module]) -> None:
    assert {module.path for module in modules if rules.is_long(module)} <= LONG_MODULES


def test_functions_fit_on_the_screen(modules: list[Module]) -> None:
    assert {place for module in modules for place in rules.long_functions(module)} <= LONG_FUNCTIONS


def test_ports_are_small(modules: list[Module]) -> None:
    assert [port for module in modules for port in rules.large_ports(module)] == []


def test_no_sql_is_put_together_unchecked(modules: list[Module]) -> None:
    assert [module.path for module in modules if rules.unchecked_sql(module)] == []


def test_sql_outside_the_hot_paths_stands_in_named_files(modules: list[Module]) -> None:
    assert {module.path for module in modules if rules.has_sql(module)} == SQL_IN_MODULES


def test_states_have_names_in_sql() -> None:
    assert {path: found for path, text in rules.read_sql().items() if (found := rules.stored_numbers(text))} == {}


def test_users_read_words_that_they_know() -> None:
    texts = rules.read_said()
    assert len(texts) > 1_000
    assert {place: found for place, text in texts.items() if (found := rules.unclear_words(text))} == {}


def test_no_page_calls_a_message_answered() -> None:
    pages = {place: text for place, text in rules.read_said().items() if place.endswith(".html")}
    assert [place for place, text in pages.items() if "answered" in text] == []
