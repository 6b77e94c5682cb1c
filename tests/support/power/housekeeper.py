"""Uses a store as an engine does, and keeps house between: `python -m tests.support.power.housekeeper FILE`.

Each message is told on standard output once it is accepted: its destination, its id, and the moment.
"""

import asyncio
import sys
import time
from pathlib import Path

from heliograph.adapters.store.sqlite import SqliteStore
from heliograph.app.facts import EarlyReceipt, Facts, MessageEnd, Submission
from heliograph.app.marks import attempted
from heliograph.domain.message.ids import to_hex
from heliograph.domain.message.receipt import Delivery
from tests.support.store import SECOND, Given

COMMITS = 200
MESSAGES = 10
"""In each commit."""

BLOCK = 64
EARLY_KEPT_MS = 20


async def main(path: Path) -> None:
    store = await SqliteStore.open(path, on_loop=None)
    given = Given(store)
    account = await given.account()
    await store.commits.recover(0, 1)
    for commit in range(COMMITS):
        given.now += 1
        numbers = [f"4917{commit:05}{number:02}" for number in range(MESSAGES)]
        messages = [given.message(account.id, destination=to, price=1) for to in numbers]
        accepts = [given.accept(message) for message in messages]
        await store.commits.record(Facts(accepts=accepts, marks={attempted(1): messages[-1].key}))
        at = time.time()
        for message in messages:
            print(message.destination, to_hex(message.key, message.tail), at)
        submissions = [
            Submission(account.id, message.key, 0, 1, str(message.key), 0, given.now) for message in messages
        ]
        finals = [
            MessageEnd(account.id, message.key, Delivery.DELIVRD, "000", given.now, owed=False) for message in messages
        ]
        early = [EarlyReceipt(1, f"id-{commit}", "4917", Delivery.DELIVRD, "000", given.now)]
        await store.commits.record(Facts(submissions=submissions, finals=finals, early=early))
        await store.receipts.forget(given.now - EARLY_KEPT_MS, 1_000_000, 1_000)
        if commit % 5 == 0:
            await store.upkeep.index_numbers(given.now + 60 * SECOND, BLOCK)
            await store.accounts.add_credit(account.id, 1, "", given.now)
    # it is not closed: the power goes
    sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
