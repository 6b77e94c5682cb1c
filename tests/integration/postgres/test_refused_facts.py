"""Values that PostgreSQL does not take, past all that would have seen them before: the gatherer records the others."""

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from contextlib import suppress

import pytest

from heliograph.adapters.store.postgres import PostgresStore
from heliograph.adapters.system.clock import SystemClock
from heliograph.app.commit.isolate import PieceFate
from heliograph.app.configuration import Account
from heliograph.app.facts import (
    Accept,
    Awaiting,
    CallbackRetry,
    EarlyReceipt,
    Facts,
    Message,
    MessageEnd,
    PartReceipt,
    Submission,
    Verdict,
)
from heliograph.app.ports import StoreRejected
from heliograph.domain.message.receipt import Delivery
from heliograph.runtime.group_commit import GroupCommit, Hooks
from heliograph.runtime.outage import Outage
from tests.simulation.world import SeededIds
from tests.support.postgres import server
from tests.support.store import CREDIT, NODE, START, Given
from tests.support.timeouts import PATIENCE_S

LONG = "".join(random.Random(1).choices("0123456789abcdef", k=20_000))
"""So long, and so little alike itself, that no index takes it."""

NUL = "a\0secret"
READ = Delivery.DELIVRD

VALUES: dict[str, tuple[Callable[[int, int], Facts], str, PieceFate]] = {
    "a NUL in an operator's id": (
        lambda a, k: Facts(submissions=[Submission(a, k, 0, 1, NUL, 0, START)]), "CharacterNotInRepertoire",
        PieceFate.REDUCED,
    ),
    "an id too long for its index": (
        lambda a, k: Facts(awaiting=[Awaiting(1, LONG, a, k, 0)]), "ProgramLimitExceeded", PieceFate.REDUCED,
    ),
    "a NUL in an error code": (
        lambda a, k: Facts(finals=[MessageEnd(a, k, READ, NUL, START, owed=False)]), "CharacterNotInRepertoire",
        PieceFate.REDUCED,
    ),
    "a NUL in what a receiver said": (
        lambda a, k: Facts(
            finals=[MessageEnd(a, k, READ, "000", START, owed=True)],
            callback_retries=[CallbackRetry(a, k, START, 1, b"id=1", NUL, START)],
        ),
        "CharacterNotInRepertoire", PieceFate.REDUCED,
    ),
    "the long id of a receipt that matches nothing": (
        lambda a, k: Facts(early=[EarlyReceipt(1, LONG, "49", READ, "000", START)]), "ProgramLimitExceeded",
        PieceFate.REDUCED,
    ),
    "a number beyond 32 bits": (
        lambda a, k: Facts(parts=[PartReceipt(a, k, 1 << 31, READ, "000", START)]), "DataError", PieceFate.DROPPED,
    ),
    "what a constraint of the owner forbids": (
        lambda a, k: Facts(submissions=[Submission(a, k, 0, 1, "forbidden", 0, START)]), "CheckViolation",
        PieceFate.REDUCED,
    ),
}  # fmt: skip
"""By name: the facts about a message, what the fault is called, and what becomes of them."""


class Journal:
    def __init__(self) -> None:
        self.said: list[tuple[str, str, dict[str, object]]] = []

    def log(self, level: str, event: str, **fields: object) -> None:
        self.said.append((level, event, fields))


@pytest.fixture
def journal() -> Journal:
    return Journal()


@pytest.fixture
async def gatherer(store: PostgresStore, journal: Journal) -> AsyncIterator[GroupCommit]:
    """At work, from above the keys that `given` gives on."""
    clock = SystemClock()
    outage = Outage(clock, journal)
    gatherer = GroupCommit(store.commits, 0, 1 << 59, SeededIds(random.Random(1)), clock, journal, outage)
    gatherer.attach(Hooks(lambda *_: None, lambda *_: None, lambda: None, lambda: None))
    task = asyncio.create_task(gatherer.run())
    yield gatherer
    assert not task.done()
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


def answered(gatherer: GroupCommit, accept: Accept) -> asyncio.Future[Accept]:
    future: asyncio.Future[Accept] = asyncio.get_running_loop().create_future()
    assert gatherer.accept(accept, future.set_result)
    return future


async def told(store: PostgresStore, message: Message) -> list[str]:
    trace = await store.messages.trace(message.key)
    assert trace is not None
    return [each.operator_id for each in trace.submissions]


@pytest.mark.parametrize("what", VALUES)
async def test_a_value_that_the_database_does_not_take_is_alone_in_that(
    store: PostgresStore, given: Given, account: Account, url: str, gatherer: GroupCommit, journal: Journal, what: str
) -> None:
    make, problem, fate = VALUES[what]
    await server().execute("ALTER TABLE sent ADD CHECK (operator_id <> 'forbidden')", url.rpartition("/")[2])
    try:
        message, *neighbours = [await given.sent(account.id, segments=2) for _ in range(9)]
        misfit = make(account.id, message.key)
        with pytest.raises(StoreRejected, match=problem):
            await store.commits.record(make(account.id, message.key))
        facts = gatherer.facts
        for number, neighbour in enumerate(neighbours):
            facts.submissions.append(Submission(account.id, neighbour.key, 0, 1, f"id-{number}", 0, START))
        for kind in ("submissions", "parts", "finals", "early", "awaiting", "callback_retries"):
            getattr(facts, kind).extend(getattr(misfit, kind))
        facts.marks["attempted:1"] = 7
        good = [answered(gatherer, given.accept(given.message(account.id))) for _ in range(2)]
        bad = answered(gatherer, given.accept(given.message(account.id, sender=NUL)))
        gatherer.wake()
        await asyncio.wait_for(asyncio.gather(*good, bad), PATIENCE_S)
        assert [each.result().verdict for each in good] == [Verdict.ACCEPTED] * 2
        assert bad.result().verdict is Verdict.UNAVAILABLE
        assert [await told(store, each) for each in neighbours] == [[f"id-{n}"] for n in range(len(neighbours))]
        assert gatherer.refused_facts.counts == {fate: 1, PieceFate.REFUSED: 1}
        assert (gatherer.healthy, gatherer.failures) == (True, 0)
        log = (server().folder / "log").read_bytes()
        assert b"ERROR" in log
        assert [each for each in (b"secret", b"Guten Tag", b"4917012345678") if each in log] == []
        assert [(level, event) for level, event, _ in journal.said] == [("error", "store.refused")] * 2
        assert "secret" not in repr(journal.said)
        assert problem in str(journal.said[0][2]["problem"])
        assert await store.customers.balance(account.id) == (100 - 9 - 2) * CREDIT
        assert (await store.commits.recover(0, NODE)).marks == {"attempted:1": 7}
        assert await store.upkeep.audit() == []
    finally:
        await server().execute("ALTER TABLE sent DROP CONSTRAINT sent_operator_id_check", url.rpartition("/")[2])
