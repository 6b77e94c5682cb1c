"""Refused requests: counted by account, reason and hour; the last ones of each kind are kept."""

from heliograph.app.configuration import Account
from heliograph.app.ports import Store
from heliograph.app.records import RefusalCount, RefusalQuery, RefusalTotal, RefusedRequest
from heliograph.domain.error import Reason
from tests.support.store import HOUR, SECOND, START

BEGUN = START // HOUR * HOUR
ALL = RefusalQuery()


def request(account: int, at: int, reason: Reason = Reason.CREDIT, word: str = "r") -> RefusedRequest:
    return RefusedRequest(account, reason, at, 402, "POST", "/api/v1/messages", "to", "Grüße ☃", "192.0.2.1", word)


async def test_counts_add_up_by_account_and_reason(store: Store, account: Account) -> None:
    of = account.id
    await store.refused_requests.add(
        [RefusalCount(of, Reason.CREDIT, BEGUN, 3, START), RefusalCount(of, Reason.SENDER, BEGUN, 1, START)], [], 5
    )
    later = [
        RefusalCount(of, Reason.CREDIT, BEGUN, 4, START - SECOND),
        RefusalCount(77, Reason.CREDIT, BEGUN, 5, START),
    ]
    await store.refused_requests.add(later, [], 5)
    await store.refused_requests.add([RefusalCount(of, Reason.CREDIT, BEGUN + HOUR, 1, START + HOUR)], [], 5)
    credit, other = RefusalTotal(of, Reason.CREDIT, 8, START + HOUR), RefusalTotal(77, Reason.CREDIT, 5, START)
    sender = RefusalTotal(of, Reason.SENDER, 1, START)
    assert await store.refused_requests.totals(ALL, 10) == [credit, other, sender]
    assert await store.refused_requests.totals(ALL, 1) == [credit]
    assert await store.refused_requests.totals(RefusalQuery(account=of, reason=Reason.SENDER), 10) == [sender]
    assert await store.refused_requests.hours(ALL) == [(BEGUN, 13), (BEGUN + HOUR, 1)]
    assert await store.refused_requests.hours(RefusalQuery(account=77)) == [(BEGUN, 5)]


async def test_the_hour_in_which_a_query_begins_is_in_it(store: Store) -> None:
    await store.refused_requests.add(
        [RefusalCount(1, Reason.RATE, BEGUN - HOUR, 2, START), RefusalCount(1, Reason.RATE, BEGUN, 3, START)], [], 5
    )
    assert await store.refused_requests.hours(RefusalQuery(BEGUN + HOUR - 1)) == [(BEGUN, 3)]
    (total,) = await store.refused_requests.totals(RefusalQuery(BEGUN + HOUR - 1), 5)
    assert total.requests == 3


async def test_requests_are_kept_as_they_were_newest_first(store: Store) -> None:
    first, second = request(1, START), request(2, START + SECOND, Reason.INTERNAL)
    await store.refused_requests.add([], [first, second], 5)
    assert await store.refused_requests.latest(ALL, 10) == [second, first]
    assert await store.refused_requests.latest(ALL, 1) == [second]
    assert await store.refused_requests.latest(RefusalQuery(account=1), 10) == [first]
    assert await store.refused_requests.latest(RefusalQuery(reason=Reason.INTERNAL), 10) == [second]
    assert await store.refused_requests.latest(RefusalQuery(START + 1), 10) == [second]


async def test_a_flood_of_one_kind_pushes_out_nothing_of_another(store: Store) -> None:
    others = [request(2, START, word="other"), request(1, START, Reason.SENDER, "sender")]
    await store.refused_requests.add([], others, 3)
    for start in range(0, 40, 10):
        flood = [request(1, START + number, word=str(number)) for number in range(start, start + 10)]
        await store.refused_requests.add([], flood, 3)
    kept = [each.request_id for each in await store.refused_requests.latest(ALL, 100)]
    assert kept[:3] == ["39", "38", "37"]
    assert set(kept[3:]) == {"other", "sender"}


async def test_what_is_old_is_forgotten_some_at_a_time(store: Store) -> None:
    counts = [RefusalCount(1, Reason.CREDIT, BEGUN + hour * HOUR, 1, START) for hour in range(4)]
    await store.refused_requests.add(counts, [request(1, BEGUN + hour * HOUR) for hour in range(4)], 5)
    forget = store.refused_requests.forget
    assert [await forget(BEGUN + 3 * HOUR, 2), await forget(BEGUN + 3 * HOUR, 2)] == [2, 1]
    assert await forget(BEGUN + 3 * HOUR, 2) == 0
    assert await store.refused_requests.hours(ALL) == [(BEGUN + 3 * HOUR, 1)]
    assert [each.at for each in await store.refused_requests.latest(ALL, 9)] == [BEGUN + 3 * HOUR]
