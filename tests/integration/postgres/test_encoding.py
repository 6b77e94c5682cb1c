"""That PostgreSQL reads from our arrays of rows what the facts say."""

import random
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import asyncpg
import pytest

from heliograph.adapters.store.postgres.db import Db
from heliograph.adapters.store.postgres.encoding import ENCODERS
from heliograph.adapters.store.postgres.faults import is_unfit
from heliograph.adapters.store.postgres.servers import Servers
from heliograph.adapters.store.postgres.session import set_encoders
from heliograph.app.facts import Awaiting, CallbackDone, CallbackEnd, Message, MessageEnd, Submission
from heliograph.domain.message.receipt import Delivery
from heliograph.domain.message.state import Kind, State
from heliograph.domain.message.way import Way
from tests.support.postgres import LIMITS

TEXTS = ("", "0", "Grüße", "\U0001f600" * 70, "x" * 255, "a'b\"c\\d{},()", " ", "\x01\x7f\uffff")
BIGS = (0, 1, -1, 255, 256, (1 << 31) - 1, 1 << 31, (1 << 62) - 1, -(1 << 62), (1 << 63) - 1, -(1 << 63))
INTEGERS = (0, 1, -1, 255, 65_536, (1 << 31) - 1, -(1 << 31))


def message(chance: random.Random) -> tuple[int, Message, bytes]:
    """Returns a message with the place of its account, and with the octets of its content."""
    pick = chance.choice
    made = Message(
        account=1,
        destination=pick(TEXTS),
        sender=pick(TEXTS),
        kind=pick(list(Kind)),
        content=pick([*TEXTS, "a\0b"]),
        segments=pick(INTEGERS),
        price=pick(BIGS),
        time=pick(BIGS),
        expires=pick(BIGS),
        state=State.SENT,
        connector=pick(BIGS),
        wants_receipt=pick([True, False]),
        callback_url=pick(TEXTS),
        way=pick(list(Way)),
        network=pick(TEXTS),
        key=pick(BIGS),
        tail=pick(BIGS),
    )
    return pick(INTEGERS), made, pick([b"", b"\0\xff", made.content.encode()])


def submission(chance: random.Random) -> Submission:
    pick = chance.choice
    return Submission(1, pick(BIGS), pick(INTEGERS), pick(BIGS), pick(TEXTS), pick(BIGS), pick(BIGS))


def final(chance: random.Random) -> MessageEnd:
    pick = chance.choice
    return MessageEnd(1, pick(BIGS), pick(list(Delivery)), pick(TEXTS), pick(BIGS), owed=pick([True, False]))


def awaiting(chance: random.Random) -> Awaiting:
    pick = chance.choice
    return Awaiting(pick(BIGS), pick(TEXTS), 1, pick(BIGS), pick(INTEGERS))


def callback(chance: random.Random) -> CallbackDone:
    pick = chance.choice
    return CallbackDone(1, pick(BIGS), pick(list(CallbackEnd)), pick(INTEGERS), pick(INTEGERS), pick(BIGS))


def _message_row(placed: tuple[int, Message, bytes]) -> Sequence[Any]:
    place, each, content = placed
    return (
        place, each.key, each.tail, each.price, each.time, each.expires, each.connector, each.segments, each.kind,
        each.wants_receipt, each.way, each.destination, each.sender, each.callback_url, content,
        each.network,
    )  # fmt: skip


MAKES: dict[str, tuple[Callable[[random.Random], Any], Callable[[Any], Sequence[Any]]]] = {
    "single_row": (message, _message_row),
    "sent_row": (submission, lambda s: (s.key, s.segment, s.connector, s.operator_id, s.status, s.at)),
    "final_row": (final, lambda f: (f.key, f.state, f.err, f.at, f.owed)),
    "awaiting_row": (awaiting, lambda a: (a.connector, a.operator_id, a.key, a.segment)),
    "callback_row": (callback, lambda c: (c.key, c.end, c.code, c.attempts, c.at)),
}


@pytest.fixture
async def db(url: str) -> AsyncIterator[Db]:
    db = await Servers(url, LIMITS).connect()
    await set_encoders(db)
    yield db
    db.terminate()


def test_every_encoder_is_tried() -> None:
    assert set(MAKES) == set(ENCODERS)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("type_", MAKES)
async def test_rows_are_read_as_they_were_meant(db: Db, type_: str, seed: int) -> None:
    make, row = MAKES[type_]
    chance = random.Random(seed)
    facts = [make(chance) for _ in range(1 + 100 * seed)]
    read = await db.fetch(f"SELECT * FROM unnest($1::{type_}[]) WITH ORDINALITY AS r ORDER BY ordinality", facts)
    assert [tuple(each)[:-1] for each in read] == [tuple(row(fact)) for fact in facts]


@pytest.mark.parametrize(
    ("type_", "fact"),
    [
        pytest.param("sent_row", Submission(1, 1, 0, 1, "no\ud800", 0, 0), id="no Unicode"),
        pytest.param("sent_row", Submission(1, 1, 0, 1, "no\0", 0, 0), id="what no text can hold"),
        pytest.param("sent_row", Submission(1, 1, 1 << 31, 1, "", 0, 0), id="no integer"),
        pytest.param("sent_row", Submission(1, 1 << 63, 0, 1, "", 0, 0), id="no bigint"),
        pytest.param("callback_row", CallbackDone(1, 1, CallbackEnd.GONE, 1 << 31, 1, 0), id="no code"),
    ],
)
async def test_what_no_column_takes_is_a_fault_of_the_row(db: Db, type_: str, fact: Any) -> None:
    with pytest.raises((asyncpg.DataError, ValueError)) as raised:
        await db.fetch(f"SELECT count(*) FROM unnest($1::{type_}[])", [fact])
    assert is_unfit(raised.value)
