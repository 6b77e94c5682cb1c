"""The durable marks, and the work that a restart finds above them. With marks, a message needs no writes except its
facts.

A message on the fast lane has no "to do" row. Above a mark, missing rows are open work. Below it the slow tables
(queue, awaiting, callback_retry) are complete. So a restart reads the few messages above the marks, and rows that are
indexed by their due time.

- `DISPATCH`: each message up to this key with unfinished dispatch has a row in the queue.
- `AWAITING`: each part without a receipt, of a message up to this key, has a row in `awaiting`.
- `CALLBACK`: each pending notice with a key up to this one has a row in `callback_retry`.
- `attempted(connector)`: fast-lane messages of this connector up to this key may have reached the operator. Messages
  above it certainly have not.
- `GATHERED`: a time in ms, for nodes that share a store. Each message of several parts whose last part ended before it
  has its own end.
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
    """The highest key in a row, of any worker: keys given later must be above it."""
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
