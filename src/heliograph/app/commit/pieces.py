"""Splits the facts of a commit into the smallest pieces that can be written alone.

See docs/decisions/0016-what-the-store-refuses.md.
"""

from collections.abc import Hashable, Iterable
from dataclasses import fields
from typing import Any

from heliograph.app.facts import Facts

OWNED = (
    "accepts", "queueings", "attempts", "throttles", "submissions", "parts", "progress", "finals", "withdrawals",
    "resends", "awaiting", "awaiting_matched",
    "inbound", "inbound_replies", "callbacks", "callback_retries",
)  # fmt: skip
"""Kinds of facts with a field `account`, by the names of their lists in `Facts`."""

NAMED = ("sending", "asking", "dequeued")
"""Kinds of facts that are only an account and a key."""

WITHOUT_ACCOUNT = ("early", "early_matched", "inbound_lost", "inbound_answered", "inbound_parts")
"""Kinds of facts without an account: receipts without a known message, and messages from phones without an owner."""


def pieces(facts: Facts) -> list[Facts]:
    """Splits the facts into pieces that can be written one after the other, in this order: the facts of each message;
    the facts of each receipt without a message; each request. Marks are left out.

    No commit holds a fact about a message that it accepts itself. Requests are last, since only they can still
    be refused if the store goes away in between.
    """
    found: dict[Hashable, Facts] = {}
    for kind in (*OWNED, *NAMED):
        if kind != "accepts":
            for fact in getattr(facts, kind):
                name = fact if kind in NAMED else (fact.account, fact.key)
                getattr(found.setdefault(name, Facts()), kind).append(fact)
    for kind in WITHOUT_ACCOUNT:
        for fact in getattr(facts, kind):
            getattr(found.setdefault(_name(kind, fact), Facts()), kind).append(fact)
    return [*found.values(), *(Facts(accepts=[accept]) for accept in facts.accepts)]


def _name(kind: str, fact: Any) -> Hashable:
    """Returns the subject of a fact without an account."""
    if kind in ("inbound_lost", "inbound_answered"):
        return kind, fact
    if kind == "inbound_parts":
        return fact.parts_of, fact.number
    return ("early", *fact) if kind == "early_matched" else ("early", fact.connector, fact.operator_id)


def joined(pieces: Iterable[Facts]) -> Facts:
    """Merges the pieces, keeping the order within each kind of fact."""
    whole = Facts()
    for piece in pieces:
        for each in fields(Facts):
            if each.name != "marks":
                getattr(whole, each.name).extend(getattr(piece, each.name))
    return whole
