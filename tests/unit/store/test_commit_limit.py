"""How long PostgreSQL's commits with requests may take."""

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest

from heliograph.adapters.store.postgres import DatabaseLimits
from heliograph.adapters.store.postgres.commits import LEAST_S, PostgresCommits
from heliograph.app.facts import Accept, Facts
from heliograph.app.ports import HOLD_S, Away, Unavailable
from tests.support.store import START
from tests.support.virtual_time import run


class Script:
    """In the place of a recorder: fails after so many seconds, or works at once."""

    def __init__(self) -> None:
        self.fails_after: float | None = None

    async def record(self, facts: Facts) -> list[Accept]:
        if self.fails_after is not None:
            await asyncio.sleep(self.fails_after)
            raise Away("none of the servers takes writes")
        return []


def test_requests_wait_no_longer_for_a_second_commit_than_for_the_first() -> None:
    """The first commit fails after four seconds, and the next one would take as long again."""

    async def story() -> None:
        servers = SimpleNamespace(limits=DatabaseLimits())
        commits = PostgresCommits(cast("Any", SimpleNamespace(servers=servers)), cast("Any", None))
        script = Script()
        commits.recorder = cast("Any", script)
        clock = asyncio.get_running_loop().time

        async def fails(facts: Facts) -> float:
            begun = clock()
            with pytest.raises(Unavailable):
                await commits.record(facts)
            return clock() - begun

        requests = Facts(accepts=[Accept(1, [], 0, START)])
        for _ in range(2):
            script.fails_after = HOLD_S - 1.0
            assert await fails(Facts()) == pytest.approx(HOLD_S - 1.0)
            assert await fails(requests) == pytest.approx(1.0)
            assert await fails(requests) == pytest.approx(LEAST_S)
            script.fails_after = 2 * HOLD_S
            assert await fails(Facts()) == pytest.approx(2 * HOLD_S), "nobody waits for it"
            script.fails_after = None
            await commits.record(requests)
            script.fails_after = 2 * HOLD_S
            assert await fails(requests) == pytest.approx(HOLD_S)
            script.fails_after = None
            await commits.record(Facts())

    run(story())
