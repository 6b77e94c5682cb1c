"""Trails: the keys of what a commit made true, written with it, so that series are exact over a crash.

A node counts the facts of its commits in memory, and adds what it counted to the series every few seconds, in one
transaction that deletes the trails of these commits. So what has a trail is not counted yet. When a node ends before it
could add, its trails say which rows are to be counted instead. An entry counts only if there is a row with its key and
its time: a trail may name more than its commit made true, and something twice.
See docs/decisions/0033-series-are-exact.md.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from struct import Struct, pack, unpack_from
from typing import Final

from heliograph.app.facts import Facts

Ended = tuple[int, int]
"""A key and a time."""

_HEAD: Final = Struct(">4I")


@dataclass(frozen=True, slots=True)
class TrailEntries:
    """Entries of a trail: messages that were accepted; the first parts that operators took, and the ends of messages,
    each with its time; messages from phones."""

    accepted: list[int]
    sent: list[Ended]
    ended: list[Ended]
    inbound: list[int]


def trail_of(facts: Facts) -> bytes:
    """Returns the trail of facts that have their keys; empty where series count none of them."""
    accepted = [message.key for accept in facts.accepts for message in accept.messages]
    sent = [value for each in facts.submissions if each.status == 0 == each.segment for value in (each.key, each.at)]
    ended = [value for each in facts.finals for value in (each.key, each.at)]
    for accept in facts.accepts:
        if accept.batch:  # some recipients may have opted out: these messages end at once
            ended += [value for message in accept.messages for value in (message.key, accept.at)]
    for withdrawal in facts.withdrawals:
        ended += (withdrawal.key, withdrawal.at)
    inbound: list[int] = []
    if facts.inbound:
        for each in facts.inbound:
            inbound.append(each.key)
            if each.reply is not None:
                accepted += [message.key for message in each.reply.messages]
    numbers = accepted + sent + ended + inbound
    if not numbers:
        return b""
    head = _HEAD.pack(len(accepted), len(sent) // 2, len(ended) // 2, len(inbound))
    return head + pack(f">{len(numbers)}q", *numbers)


def ended_trail(keys: list[int], at: int) -> bytes:
    """Returns the trail of messages that ended at one time."""
    return _HEAD.pack(0, 0, len(keys), 0) + pack(f">{2 * len(keys)}q", *(value for key in keys for value in (key, at)))


def highest_named(trails: Iterable[bytes]) -> int:
    """Returns the highest key that trails name, 0 where there is none. Keys given later must be above it: a refused
    request has no rows, and a message under its key would be counted for it."""
    entries = map(read_trail, trails)
    return max((key for each in entries for key in (*each.accepted, *each.inbound)), default=0)


def read_trail(keys: bytes) -> TrailEntries:
    """Reads what `trail_of` returned."""
    accepted, sent, ended, inbound = _HEAD.unpack_from(keys)
    total = accepted + 2 * sent + 2 * ended + inbound
    numbers = list(unpack_from(f">{total}q", keys, _HEAD.size))
    pairs = list(zip(numbers[accepted : total - inbound : 2], numbers[accepted + 1 : total - inbound : 2], strict=True))
    return TrailEntries(numbers[:accepted], pairs[:sent], pairs[sent:], numbers[total - inbound :])
