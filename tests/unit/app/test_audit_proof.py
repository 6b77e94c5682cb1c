"""What the proof of the audit log finds, and what it compares with."""

import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from heliograph.admin_api.drawn import shown
from heliograph.app.records import AuditEntry, AuditHead, AuditLink
from heliograph.app.resources.audit import AUDIT, tell_head
from heliograph.app.resources.audit_proof import faults, head, read_heads
from heliograph.app.resources.desk import Desk, Invalid
from heliograph.domain.security.audit_chain import GENESIS, entry_hash
from tests.support.gateway import START
from tests.support.memory_store import MemoryStore
from tests.support.use_case_fakes import SetClock

SECRET = b"s" * 32


async def written(count: int = 5) -> MemoryStore:
    store = MemoryStore()
    for number in range(count):
        await store.audit_log.append(AuditEntry(START + number, "user:ada", "account.set", "acme", {"n": str(number)}))
    return store


def at(store: MemoryStore, secret: bytes | None = None) -> Desk:
    return Desk(store, SetClock(), audit_secret=lambda: secret)


def lines(store: MemoryStore) -> list[AuditLink]:
    return store._place.people.deeds


def chained(store: MemoryStore) -> None:
    """Makes the hashes anew, as somebody would who rewrites the whole log."""
    previous = GENESIS
    for key, line in enumerate(lines(store), 1):
        texts = (line.actor, line.action, line.target, line.details, line.address)
        line.key, line.hash = key, entry_hash(previous, key, line.at, texts)
        previous = line.hash
    store._place.people.head = AuditHead(len(lines(store)), previous)


async def test_what_was_written_is_right() -> None:
    assert await faults(at(await written(0))) == []
    store = await written(2_500)
    assert await faults(at(store)) == []
    assert (await head(at(store))).entries == 2_500


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("at", START), ("actor", "user:eve"), ("action", "account.top-up"), ("target", "other"), ("details", "{}"),
        ("address", "192.0.2.1"), ("hash", b"h" * 32),
    ],
)  # fmt: skip
async def test_the_first_entry_that_was_changed_is_named(field: str, value: object) -> None:
    store = await written()
    for line in lines(store)[2:]:
        setattr(line, field, value)
    (problem,) = await faults(at(store))
    assert problem.startswith("Entry 3 of the audit log was changed: ")


async def test_what_moves_between_two_fields_is_seen() -> None:
    store = await written()
    line = lines(store)[1]
    line.actor, line.action = line.actor + line.action[0], line.action[1:]
    assert (await faults(at(store)))[0].startswith("Entry 2 of the audit log was changed: ")


def _swap(found: list[AuditLink]) -> None:
    found[1].key, found[2].key = 3, 2
    found.sort(key=lambda line: line.key)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda found: found.pop(0), "Entry 1 of the audit log is missing."),
        (lambda found: found.pop(2), "Entry 3 of the audit log is missing."),
        (lambda found: found.__delitem__(slice(1, 4)), "Entries 2 to 4 of the audit log are missing."),
        (lambda found: found.clear(), "ends with entry 0, but 5 further entries were written."),
        (lambda found: found.pop(), "ends with entry 4, but 1 further entry was written."),
        (lambda found: found.insert(0, replace(found[0], key=0)), "Entry 0 of the audit log was changed"),
        (lambda found: found.append(replace(found[0], key=6)), "Entry 6 of the audit log is beyond its end."),
        (_swap, "Entry 2 of the audit log was changed"),
    ],
)
async def test_entries_that_were_removed_added_or_moved(change: Callable[[list[AuditLink]], None], told: str) -> None:
    store = await written()
    change(lines(store))
    (problem,) = await faults(at(store))
    assert told in problem


async def test_a_log_that_was_written_anew_shows_against_a_head_of_before() -> None:
    store = await written()
    before = await head(at(store))
    lines(store)[1].actor = "user:eve"
    chained(store)
    assert await faults(at(store)) == []
    (problem,) = await faults(at(store), [before])
    assert "up to entry 5 differs from the log of 2023-11-14T22:13:20.000Z" in problem
    assert problem.endswith("it was rewritten.")


async def test_an_end_that_was_removed_shows_against_a_head_of_before() -> None:
    store = await written()
    early, late = await head(at(await written(3))), await head(at(store))
    del lines(store)[4:]
    chained(store)
    assert await faults(at(store)) == []
    assert await faults(at(store), [early]) == []
    (problem,) = await faults(at(store), [late, early])
    assert "ends with entry 4, but had 5 at" in problem


async def test_a_head_stays_right_while_the_log_grows() -> None:
    store = await written(0)
    heads = []
    for _ in range(4):
        heads.append(await head(at(store)))
        await store.audit_log.append(AuditEntry(START, "cli:root", "route.add", "", {}))
    assert await faults(at(store), heads) == []
    wrong = replace(heads[2], hash=heads[1].hash)
    assert len(await faults(at(store), [*heads, wrong])) == 1


async def test_a_head_is_signed_and_its_signature_is_checked() -> None:
    store = await written()
    kept = await head(at(store, SECRET))
    assert await faults(at(store, SECRET), [kept]) == []
    forged = [replace(kept, at=kept.at + 1000), replace(kept, signature=b""), replace(kept, signature=bytes(32))]
    for each in forged:
        (problem,) = await faults(at(store, SECRET), [each])
        assert "was not signed with the secret of audit.key_file" in problem
    assert await faults(at(store, b"t" * 32), [kept]) != []
    assert await faults(at(store), forged) == []


async def test_a_head_is_read_as_it_is_written() -> None:
    store = await written()
    desks = [at(store, SECRET), at(store)]
    told = [shown(AUDIT, AUDIT.operation("head"), await tell_head(desk)) for desk in desks]
    assert read_heads("\n\n".join(map(json.dumps, told))) == [await head(desk) for desk in desks]
    assert told[1]["signature"] is None


GOOD = {"entries": 5, "hash": bytes(32).hex(), "time": "2027-01-15T08:00:00.000Z", "signature": None}


@pytest.mark.parametrize(
    "text",
    [
        "", "\n", "{", "[]", "5", "{}", json.dumps(GOOD | {"hash": "00"}), json.dumps(GOOD | {"hash": 5}),
        json.dumps(GOOD | {"entries": "5"}), json.dumps(GOOD | {"time": "2027-01-15"}),
        json.dumps(GOOD | {"signature": "x"}), json.dumps(GOOD) + "\n{}",
    ],
)  # fmt: skip
def test_what_is_no_head_is_refused(text: str) -> None:
    with pytest.raises(Invalid):
        read_heads(text)
