"""The queue key is the same in the program and in the database, whose rows have it."""

import asyncio

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from heliograph.domain.slot import SLOTS, slot_of
from tests.support.postgres import server

MOST = (1 << 63) // 0x9E3779B9
"""Beyond this number the whole product is more than a bigint."""

BIGINTS = st.integers(-(1 << 63), (1 << 63) - 1)


async def slots_in_the_database(url: str, accounts: list[int]) -> list[int]:
    numbers = ", ".join(f"'{account}'" for account in accounts)
    found = await server().fetch(
        f"SELECT slot_of(account) FROM unnest(ARRAY[{numbers}]::bigint[]) WITH ORDINALITY AS a (account, n) ORDER BY n",
        url.rpartition("/")[2],
    )
    return [row[0] for row in found]


async def test_the_database_and_the_program_agree_about_the_first_accounts(url: str) -> None:
    accounts = list(range(10_000))
    found = await slots_in_the_database(url, accounts)
    assert found == [slot_of(account) for account in accounts]
    assert set(found) == set(range(SLOTS))


def test_they_agree_about_every_account_of_64_bits() -> None:
    with asyncio.Runner() as runner:
        url = runner.run(server().fresh())

        @given(st.lists(st.one_of(BIGINTS, st.integers(0, 1 << 32)), min_size=1, max_size=500))
        @example([MOST, MOST + 1, (1 << 32) - 1, 1 << 32, -1, -(1 << 63), (1 << 63) - 1])
        @settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow], deadline=None)
        def agree(accounts: list[int]) -> None:
            assert runner.run(slots_in_the_database(url, accounts)) == [slot_of(account) for account in accounts]

        agree()
