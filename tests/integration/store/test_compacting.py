"""The file of the store written anew: what SQLite left in unused parts of its pages is gone, and all else is there."""

import random
from pathlib import Path

import pytest

from heliograph.adapters.store.sqlite.backup import compact
from heliograph.app.facts import Facts
from heliograph.app.ports import Unavailable
from tests.contracts.test_retention import phoned
from tests.support.store import START, Given, SqliteOpener

PHONES = [f"49170{number:08d}" for number in range(0, 40_000_000, 50_000)]
EACH = 30
"""Messages of each phone."""


def left(folder: Path, phones: list[str]) -> list[str]:
    """Returns the phones whose numbers the files of the folder have."""
    octets = b"".join(file.read_bytes() for file in folder.iterdir())
    return [phone for phone in phones if phone.encode() in octets]


async def test_no_octet_of_an_erased_phone_is_left(tmp_path: Path) -> None:
    opener = SqliteOpener(tmp_path)
    store = await opener()
    given, chance = Given(store), random.Random(1)
    account = await given.account()
    senders = chance.sample(PHONES * EACH, EACH * len(PHONES))
    for start in range(0, len(senders), 400):
        texts = [phoned(given, account.id, sender=sender) for sender in senders[start : start + 400]]
        await store.commits.record(Facts(inbound=texts))
    erased = chance.sample(PHONES, len(PHONES) // 2)
    for phone in erased:
        traces = await store.recipients.traces(phone, None)
        await store.recipients.erase(account.id, [key for _, key, _ in traces.inbound], START)
    assert await store.retention.scrub()
    await store.close()
    # with SQLite 3.40 three are left here, whatever `secure_delete` says: a page that was put together anew keeps what
    # stood beyond its rows
    compact(opener.path)
    assert left(tmp_path, erased) == []
    assert len(left(tmp_path, PHONES)) == len(PHONES) - len(erased)
    store = await opener()
    assert await store.upkeep.audit() == []
    await store.close()


def test_only_a_store_that_is_there_is_written_anew(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="there is no store"):
        compact(tmp_path / "none.db")
    assert not list(tmp_path.iterdir())
