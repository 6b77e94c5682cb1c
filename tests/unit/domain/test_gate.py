"""The gate's rules."""

from ipaddress import ip_network

import pytest

from heliograph.domain.error import FORBIDDEN, TOO_EARLY, Reason
from heliograph.domain.limits.gate import (
    OF_SUSPENDED,
    PASS,
    Hold,
    Judgement,
    Policy,
    Refuse,
    SenderState,
    admit,
    compile_policy,
    judge,
    judge_destinations,
    judge_sender,
    over_rate,
)
from heliograph.domain.security.host import NetworkSet


class Text:
    """A message, as far as rules look at it."""

    account = 1
    destination = "491701234567"
    sender = "Helio"


def test_an_account_without_restrictions_has_no_policy() -> None:
    assert compile_policy() is None


@pytest.mark.parametrize(
    ("policy", "address", "passes"),
    [
        (compile_policy(suspended=True), "192.0.2.1", False),
        (compile_policy(networks=NetworkSet([ip_network("192.0.2.0/24")])), "192.0.2.1", True),
        (compile_policy(networks=NetworkSet([ip_network("192.0.2.0/24")])), "198.51.100.1", False),
        (compile_policy(networks=NetworkSet([ip_network("192.0.2.0/24")])), "", False),
        (compile_policy(rate=1.0), "", True),
    ],
)
def test_who_may_come_in(policy: Policy, address: str, passes: bool) -> None:
    judgement = admit(policy, address)
    assert (judgement is PASS) is passes
    assert passes or (isinstance(judgement, Refuse) and judgement.code is FORBIDDEN)


def test_which_senders_may_be_used() -> None:
    policy = Policy(senders=frozenset({"Helio"}))
    assert judge_sender(policy, "Helio") is PASS
    judgement = judge_sender(policy, "helio")
    assert isinstance(judgement, Refuse)
    assert (judgement.code, judgement.field) == (FORBIDDEN, "from")
    assert judge_sender(Policy(), "helio") is PASS


@pytest.mark.parametrize(
    ("sender", "reason", "word"),
    [
        ("ACME", None, ""),
        ("News", Reason.SENDER_PENDING, "pending"),
        ("PayPal", Reason.SENDER_REFUSED, "refused"),
        ("Other", Reason.SENDER, "not registered"),
        ("acme", Reason.SENDER, "not registered"),
    ],
)
def test_of_registered_senders_only_approved_ones_pass(sender: str, reason: Reason | None, word: str) -> None:
    registry = {"ACME": SenderState.APPROVED, "News": SenderState.PENDING, "PayPal": SenderState.REFUSED}
    policy = compile_policy(registry=registry)
    assert policy is not None
    judgement = judge_sender(policy, sender)
    if reason is None:
        assert judgement is PASS
    else:
        assert isinstance(judgement, Refuse)
        assert (judgement.code, judgement.field, judgement.reason) == (FORBIDDEN, "from", reason)
        assert sender in judgement.why
        assert word in judgement.why


@pytest.mark.parametrize(
    ("sender", "word"),
    [("ACME", ""), ("Info", "may not use this sender"), ("News", "pending"), ("Other", "not registered")],
)
def test_of_listed_and_registered_senders_both_must_allow_it(sender: str, word: str) -> None:
    registry = {"ACME": SenderState.APPROVED, "Info": SenderState.APPROVED, "News": SenderState.PENDING}
    policy = compile_policy(senders=frozenset({"ACME", "News"}), registry=registry)
    assert policy is not None
    judgement = judge_sender(policy, sender)
    assert (judgement is PASS) is (not word)
    assert not isinstance(judgement, Refuse) or word in judgement.why


def test_an_empty_registry_is_none() -> None:
    assert compile_policy(registry={}) is None
    assert compile_policy(registry=None) is None


def test_all_destinations_of_a_request_begin_as_the_account_may_send_to() -> None:
    policy = compile_policy(prefixes=("49", "4366"))
    assert policy is not None
    assert judge_destinations(policy, ["491701234567", "436641234567"]) is PASS
    judgement = judge_destinations(policy, ["491701234567", "436991234567", "33123"])
    assert isinstance(judgement, Refuse)
    assert (judgement.code, judgement.field, judgement.reason) == (FORBIDDEN, "to", Reason.PREFIX)
    assert "436991234567, 33123;" in judgement.why
    assert "491701234567" not in judgement.why
    assert judge_destinations(Policy(), ["33123"]) is PASS


@pytest.mark.parametrize(("wait", "told"), [(0.2, 1), (2.1, 3)])
def test_an_account_over_its_rate_is_told_when_to_come_back(wait: float, told: int) -> None:
    fault = over_rate(5.0, wait)
    assert (fault.entry, fault.retry_after, fault.reason) == (TOO_EARLY, told, Reason.RATE)
    assert "5 messages a second" in fault.message
    policy = compile_policy(rate=5.0)
    assert policy is not None
    assert (policy.rate, policy.at_accept, policy.at_claim) == (5.0, (), ())


def test_the_first_answer_that_is_not_pass_stands() -> None:
    asked: list[str] = []

    def rule(name: str, judgement: Judgement) -> Judgement:
        asked.append(name)
        return judgement

    hold = Hold("49170")
    rules = (
        lambda *_: rule("first", PASS),
        lambda *_: rule("second", hold),
        lambda *_: rule("third", Refuse(FORBIDDEN, "Never.")),
    )
    assert judge(Text(), rules, 0) is hold
    assert asked == ["first", "second"]


def test_what_waits_of_a_suspended_account_is_held_and_the_guard_holds_longer() -> None:
    policy = compile_policy(suspended=True)
    assert policy is not None
    assert judge(Text(), policy.at_claim, 1_000) == Hold(OF_SUSPENDED)
    guarded = compile_policy(suspended=True, held=("49170",))
    assert guarded is not None
    judgement = judge(Text(), guarded.at_claim, 1_000)
    assert isinstance(judgement, Hold)
    assert judgement.range == "49170"
