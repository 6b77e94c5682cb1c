"""Cases in one test: each is tried, with the test's fixtures, and an error says which case it is of."""

import asyncio
import inspect

import pytest

from tests.support.cases import for_each

CASES = [(1, "one"), (2, "two")]


def test_a_test_gets_each_case_and_its_own_fixtures() -> None:
    tried = []

    @for_each(("number", "name"), CASES)
    def test(number: int, fixture: str, name: str) -> None:
        tried.append((number, name, fixture))

    assert list(inspect.signature(test).parameters) == ["fixture"]
    test(fixture="f")
    assert tried == [(1, "one", "f"), (2, "two", "f")]


def test_a_coroutine_is_awaited_and_the_case_that_fails_is_named() -> None:
    @for_each("number, name", CASES)
    async def test(number: int, name: str) -> None:
        await asyncio.sleep(0)
        assert number < 2, name

    with pytest.raises(AssertionError, match="two") as failed:
        asyncio.run(test())
    assert failed.value.__notes__ == ["with {'number': 2, 'name': 'two'}"]


def test_marks_stay() -> None:
    @for_each("number", [1])
    @pytest.mark.slow
    def test(number: int) -> None: ...

    assert [mark.name for mark in test.pytestmark] == ["slow"]  # type: ignore[attr-defined]
