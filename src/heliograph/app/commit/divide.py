"""Divides the facts of one commit: by account, so that each shard writes its own (docs/decisions/0004-sharding.md), or
into pieces as small as can be, so that one of them can be left out (docs/decisions/0016-what-the-store-refuses.md)."""

from bisect import bisect_right
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import fields

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


def pieces(facts: Facts) -> list[Facts]:
    """What can be written one after the other, in this order: all that is said of one message, message by message;
    all that is said of one receipt of which nobody knew whose it is; each request. Marks are in none of them.

    Nothing in a commit is about a message that the same commit accepts. Requests are last, since they alone can still
    be refused when the store goes away in between.
    """
    found: dict[Hashable, Facts] = {}
    for kind in (*OWNED, *NAMED):
        if kind != "accepts":
            for fact in getattr(facts, kind):
                name = fact if kind in NAMED else (fact.account, fact.key)
                getattr(found.setdefault(name, Facts()), kind).append(fact)
    for kind in NOBODYS:
        for fact in getattr(facts, kind):
            name = fact if kind == "early_matched" else (fact.connector, fact.operator_id)
            getattr(found.setdefault(("early", *name), Facts()), kind).append(fact)
    return [*found.values(), *(Facts(accepts=[accept]) for accept in facts.accepts)]


def joined(pieces: Iterable[Facts]) -> Facts:
    """The facts of all of them, each kind in their order."""
    whole = Facts()
    for piece in pieces:
        for each in fields(Facts):
            if each.name != "marks":
                getattr(whole, each.name).extend(getattr(piece, each.name))
    return whole


def shard_of(account: int, firsts: Sequence[int]) -> int:
    """Which shard, from 0, has the account's rows."""
    return bisect_right(firsts, slot_of(account)) - 1
