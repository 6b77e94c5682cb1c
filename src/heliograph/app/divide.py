"""Divides the facts of one commit by account, so that each shard writes its own (docs/decisions/0004-sharding.md)."""

from bisect import bisect_right
from collections.abc import Sequence

from heliograph.app.facts import Facts
from heliograph.domain.slot import slot_of

OWNED = (
    "accepts", "queueings", "attempts", "submissions", "parts", "progress", "finals", "awaiting", "awaiting_matched",
    "callbacks", "callback_retries",
)  # fmt: skip
"""Kinds of facts that have a field `account`, by the names of their lists."""

NAMED = ("sending", "dequeued")
"""Kinds that are no more than an account and a key."""

NOBODYS = ("early", "early_matched")
"""Kinds about receipts of which nobody knows whose they are, or knew until now."""


def divide(facts: Facts, firsts: Sequence[int]) -> tuple[list[Facts], Facts]:
    """The facts of each shard, in their order; and those that are no account's.

    `firsts` are the shards' first queue keys, ascending from 0. The marks are every shard's: what they say of the
    rows, they say of those that are written with them. What is no account's may be written only after all the rest: a
    receipt that came early is forgotten when what it led to is durable.
    """
    shards = [Facts(marks=dict(facts.marks)) for _ in firsts]
    for kind in OWNED:
        for fact in getattr(facts, kind):
            getattr(shards[shard_of(fact.account, firsts)], kind).append(fact)
    for kind in NAMED:
        for name in getattr(facts, kind):
            getattr(shards[shard_of(name[0], firsts)], kind).append(name)
    return shards, Facts(early=list(facts.early), early_matched=list(facts.early_matched))


def shard_of(account: int, firsts: Sequence[int]) -> int:
    """Which shard, from 0, has the account's rows."""
    return bisect_right(firsts, slot_of(account)) - 1
