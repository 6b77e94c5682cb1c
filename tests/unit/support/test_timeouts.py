"""Waits of tests end: with the result that they wait for, or with a sentence."""

import pytest

from tests.support.process import eventually
from tests.support.timeouts import until


async def test_a_wait_returns_what_it_waits_for() -> None:
    answers = [None, "", "found"]

    async def look() -> str | None:
        return answers.pop(0)

    assert await until(look, "an answer") == "found"
    assert answers == []
    answers += [None, "found"]
    assert eventually(lambda: answers.pop(0), "an answer", pause=0) == "found"


async def test_a_wait_in_vain_says_what_for() -> None:
    async def look() -> bool:
        return False

    with pytest.raises(AssertionError, match="after 0 s still not: the end"):
        await until(look, "the end", 0)
    with pytest.raises(AssertionError, match="after 0 s still not: the end"):
        eventually(lambda: False, "the end", 0)
