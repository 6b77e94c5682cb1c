"""Splits the facts of one commit into the smallest pieces that can be written alone, so that one can be left out.

See docs/decisions/0016-what-the-store-refuses.md.
"""

from collections.abc import Hashable, Iterable
from dataclasses import fields

from heliograph.app.facts import Facts

OWNED = (
    "accepts", "queueings", "attempts", "submissions", "parts", "progress", "finals", "awaiting", "awaiting_matched",
    "callbacks", "callback_retries",
)  # fmt: skip
"""Kinds of facts with a field `account`, by the names of their lists in `Facts`."""

NAMED = ("sending", "dequeued")
"""Kinds of facts that are only an account and a key."""

NOBODYS = ("early", "early_matched")
"""Kinds of facts about receipts whose message is not known, or was not until now: they name no account."""


def pieces(facts: Facts) -> list[Facts]:
    """Splits the facts into pieces that can be written one after the other, in this order: the facts of each message;
    the facts of each receipt without a message; each request. Marks are in none of them.

    No commit holds a fact about a message that it accepts itself. Requests are last, since they alone can still
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
    """Merges the pieces, keeping the order within each kind of fact."""
    whole = Facts()
    for piece in pieces:
        for each in fields(Facts):
            if each.name != "marks":
                getattr(whole, each.name).extend(getattr(piece, each.name))
    return whole
