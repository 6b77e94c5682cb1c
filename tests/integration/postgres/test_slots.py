"""The queue key is the same in the program and in the database, whose rows have it."""

import random

from heliograph.domain.slot import SLOTS, slot_of
from tests.support.postgres import server

MOST = (1 << 63) // 0x9E3779B9
"""Beyond this number of an account the product in the function is more than a bigint; they count from 1."""


async def test_the_database_and_the_program_agree(url: str) -> None:
    chance = random.Random(1)
    accounts = [*range(5_000), *(chance.randrange(1 << chance.randrange(1, 32)) for _ in range(5_000)), MOST]
    numbers = ", ".join(map(str, accounts))
    found = await server().fetch(
        f"SELECT slot_of(account) FROM unnest(ARRAY[{numbers}]::bigint[]) WITH ORDINALITY AS a (account, n) ORDER BY n",
        url.rpartition("/")[2],
    )
    assert [row[0] for row in found] == [slot_of(account) for account in accounts]
    assert {row[0] for row in found} == set(range(SLOTS))
