"""Every store judges requests as the pure function `acceptance.judge` does."""

import asyncio
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given as any_of
from hypothesis import settings
from hypothesis import strategies as st

from heliograph.app.configuration import Account
from heliograph.app.facts import Accept, Facts, Verdict
from heliograph.domain.limits.acceptance import Spender, judge
from heliograph.domain.limits.allowance import Allowance
from tests.contracts.conftest import STORES
from tests.support.store import HOUR, START, Given

GONE = "4917099"
PHONES = ("4917012345678", GONE)
EVENING = START + HOUR

ACCOUNTS = st.fixed_dictionaries(
    {
        "daily_messages": st.sampled_from([0, 0, 3, 6]),
        "daily_spend": st.sampled_from([0, 0, 5, 9]),
        "max_waiting": st.sampled_from([0, 0, 1, 3]),
        "credit_limit": st.sampled_from([0, 4]),
        "suspended": st.sampled_from([False, False, False, True]),
    }
)
MESSAGES = st.tuples(st.sampled_from(PHONES), st.integers(0, 3), st.booleans())
REQUESTS = st.tuples(
    st.integers(0, 1),
    st.lists(MESSAGES, min_size=1, max_size=3),
    st.sampled_from([None, None, "a", "b"]),
    st.sampled_from([b"x", b"x", b"y"]),
    st.sampled_from([0, EVENING, EVENING + 24 * HOUR]),
)


Request = tuple[int, list[tuple[str, int, bool]], str | None, bytes, int]


class Model:
    """The state of accounts that verdicts depend on."""

    def __init__(self, accounts: list[Account], credit: int) -> None:
        self.spenders = {
            each.id: None if each.suspended else Spender(each.id, credit + each.credit_limit, True, _allowance(each))
            for each in accounts
        }
        self.used: dict[tuple[int, str], bytes] = {}

    def judge(self, accept: Accept) -> Verdict:
        name = (accept.account, accept.reference or "")
        barred = [number for number, message in enumerate(accept.messages) if message.destination == GONE]
        queued = sum(message.queued for message in accept.messages if message.destination != GONE)
        spender = self.spenders[accept.account]
        verdict = judge(spender, accept, self.used.get(name), barred, queued)
        if verdict is Verdict.ACCEPTED and accept.reference is not None:
            self.used[name] = accept.fingerprint
        return verdict


def _allowance(account: Account) -> Allowance | None:
    allowance = Allowance(account.daily_messages, account.daily_spend, account.max_waiting)
    return allowance if account.daily_messages or account.daily_spend or account.max_waiting else None


def _accept(given: Given, account: Account, request: Request) -> Accept:
    _, drawn, reference, fingerprint, day_ends = request
    given.now += 1
    key = given.key() if len(drawn) > 1 else 0
    messages = [
        given.message(account.id, destination=phone, price=price, queued=queued, reference=reference, batch=key)
        for phone, price, queued in drawn
    ]
    return Accept(
        account.id,
        messages,
        sum(message.price for message in messages),
        given.now,
        batch=bool(key),
        reference=reference,
        fingerprint=fingerprint,
        key=key or messages[0].key,
        tail=messages[0].tail,
        day_ends=day_ends,
    )


@pytest.mark.parametrize("kind", STORES)
def test_every_store_judges_as_the_pure_function(kind: str, tmp_path: Path) -> None:
    numbers = count()
    with asyncio.Runner() as runner:
        store = runner.run(STORES[kind](tmp_path)())
        given = Given(store)

        @settings(max_examples=80, deadline=None)
        @any_of(st.lists(ACCOUNTS, min_size=2, max_size=2), st.lists(st.lists(REQUESTS, max_size=5), max_size=4))
        def judged(fields: list[dict[str, Any]], commits: list[list[Request]]) -> None:
            runner.run(_judged(given, f"account-{next(numbers)}", fields, commits))

        judged()
        assert runner.run(store.upkeep.audit()) == []
        runner.run(store.close())


async def _judged(given: Given, name: str, fields: list[dict[str, Any]], commits: list[list[Request]]) -> None:
    store = given.store
    accounts = [await given.account(f"{name}-{n}", 12, **each) for n, each in enumerate(fields)]
    for each in accounts:
        await store.suppressions.suppress(each.id, [GONE], "api", given.now)
    model = Model(accounts, 12)
    for commit in commits:
        accepts = [_accept(given, accounts[request[0]], request) for request in commit]
        expected = [model.judge(replace(accept)) for accept in accepts]
        await store.commits.record(Facts(accepts=accepts))
        assert [accept.verdict for accept in accepts] == expected
    for each in accounts:
        spender = model.spenders[each.id]
        if spender is None:
            continue
        assert await store.customers.balance(each.id) == spender.room - each.credit_limit
        if spender.allowance is not None:
            assert await store.customers.allowance(each.id) == spender.allowance
