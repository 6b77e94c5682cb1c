"""Names of submissions, when a repeat of a submission with a lost answer is refused."""

import pytest

from heliograph.adapters.smpp_server.resubmissions import SETTLED_MS, Resubmissions
from heliograph.app.sending.refusal import in_doubt, unavailable
from heliograph.app.sending.send import busy
from heliograph.domain.error import NO_CREDIT, Fault
from heliograph.domain.limits.gate import over_rate
from heliograph.domain.message import ids
from tests.support.memory_store import MemoryStore
from tests.support.use_case_fakes import SetClock

ACCOUNT = 1

OCTETS = b"submit_sm with a text"


def new_names() -> Resubmissions:
    return Resubmissions(MemoryStore().binds, SetClock())


def refuse(names: Resubmissions, name: str, fault: Fault) -> None:
    """Refuses a submission of a connection that lasts."""
    names.failed(ACCOUNT, name, fault, is_owed=True)


async def one_of_two_is_lost(names: Resubmissions) -> str:
    """Stores two equal submissions. The client has the answer to the first. Returns the name of the second."""
    first, second = (names.name(ACCOUNT, OCTETS) for _ in range(2))
    names.arrived(ACCOUNT, first)
    await names.flush()
    names.lost(ACCOUNT, second)
    return second


@pytest.mark.parametrize("fault", [unavailable(), busy(), in_doubt(), over_rate(1.0, 1.0)])
async def test_a_repeat_that_is_refused_for_now_keeps_its_name(fault: Fault) -> None:
    names = new_names()
    lost = await one_of_two_is_lost(names)
    for _ in range(3):
        assert names.name(ACCOUNT, OCTETS) == lost
        refuse(names, lost, fault)
    names.arrived(ACCOUNT, names.name(ACCOUNT, OCTETS))
    await names.flush()
    assert not names._accounts


async def test_a_repeat_that_is_refused_after_its_connection_ended_keeps_its_name() -> None:
    names = new_names()
    lost = await one_of_two_is_lost(names)
    names.lost(ACCOUNT, names.name(ACCOUNT, OCTETS))
    names.failed(ACCOUNT, lost, unavailable(), is_owed=False)
    assert names.name(ACCOUNT, OCTETS) == lost


async def test_a_repeat_that_is_refused_for_good_leaves_no_name() -> None:
    names = new_names()
    lost = await one_of_two_is_lost(names)
    assert names.name(ACCOUNT, OCTETS) == lost
    refuse(names, lost, Fault(NO_CREDIT, "Top up."))
    assert not names._accounts


async def test_a_name_that_another_node_is_about_to_settle_takes_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    store, clock = MemoryStore(), SetClock()
    names = Resubmissions(store.binds, clock)

    async def submissions(_: int) -> list[tuple[str, int]]:
        return [(f"smpp:{'0' * 32}:0", ids.first_key_at(clock.now()))]

    monkeypatch.setattr(store.binds, "submissions", submissions)
    await names.load(ACCOUNT, 60, least_age_ms=SETTLED_MS)
    assert not names._accounts
    await names.load(ACCOUNT, 60)
    assert list(names._accounts) == [ACCOUNT]


def test_a_first_submission_that_is_refused_leaves_no_name() -> None:
    names = new_names()
    for _ in range(2):
        refuse(names, names.name(ACCOUNT, OCTETS), unavailable())
    assert not names._accounts
