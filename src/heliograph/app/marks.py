"""The durable marks, by which a message needs no writes but the facts themselves; and what a restart finds above them.

A message on the fast lane has no row that says "to do". Above a mark, what is missing is owed; below it the slow tables
(queue, awaiting, callback_retry) are complete. So a restart reads the few messages above the marks, and rows that are
indexed by when they are due.

`DISPATCH`: each message up to this key whose dispatch is not over has a row in the queue.
`AWAITING`: each part of a message up to this key whose receipt is still to come has a row in `awaiting`.
`CALLBACK`: each notice owed with a key up to this one has a row in `callback_retry`.
`attempted(connector)`: fast-lane messages of this connector up to this key may have reached the operator; those
above it certainly have not.
`GATHERED` is a time in ms, of upkeep where nodes share a store: each message of several parts whose last one came to
its end before then has its own end.
"""

from dataclasses import dataclass

from heliograph.app.facts import EarlyReceipt, Outstanding, Queued
from heliograph.app.notice import Notice

DISPATCH = "dispatch"
AWAITING = "awaiting"
CALLBACK = "callback"
GATHERED = "gathered"


def attempted(connector: int) -> str:
    """Returns the name of the connector's attempt mark."""
    return f"attempted:{connector}"


@dataclass(slots=True)
class Recovery:
    """The work that a process of this node left behind, according to the rows."""

    last_key: int
    """The highest key in a row or a trail, of any worker: keys given later must be above it."""
    marks: dict[str, int]
    unsent: list[Queued]
    """The fast lane's messages without a full answer, oldest first; `attempted` is worked out from the marks."""
    outstanding: list[Outstanding]
    """Messages above the mark AWAITING that await receipts; older ones are found through the table."""
    owed: list[Notice]
    """Notices above the mark CALLBACK that have no row; the others are claimed when they are due."""
    early: list[EarlyReceipt]
    """Receipts that wait for their message, newest last, bounded."""
    unanswered: bool = False
    """Whether inbound messages were never answered, so that they may come again."""
