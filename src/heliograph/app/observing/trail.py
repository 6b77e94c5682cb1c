"""Trails: the keys of what a commit made true, written with it, so that series are exact over a crash.

A node counts the facts of its commits in memory, and adds what it counted to the series every few seconds, in one
transaction that deletes the trails of these commits. So what has a trail is not counted yet. When a node ends before it
could add, its trails say which rows are to be counted instead. An entry counts only if there is a row with its key and
its time: a trail may name more than its commit made true, and something twice.

Messages of one commit are mostly answered and reported together, in their order. So a trail is made of *runs*: messages
whose keys follow each other and that have one time. A run is three numbers, however long it is.
See docs/decisions/0033-series-are-exact.md.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from struct import Struct, pack, unpack_from
from typing import Final as Constant

from heliograph.app.facts import Accept, Facts, MessageEnd, Submission
from heliograph.domain.message.ids import KEY_STEP

Ended = tuple[int, int]
"""A key and a time."""

Runs = list[int]
"""Runs one after the other: the first key of each, the number of its keys, and their time."""

_HEAD: Constant = Struct(">4I")
"""The number of runs of each kind, in the order of `TrailEntries`."""


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
    accepted = _runs_accepted(facts.accepts)
    sent = _runs_in([each for each in facts.submissions if each.status == 0 == each.segment])
    ended = _runs_in(facts.finals)
    for accept in facts.accepts:
        if accept.batch:  # some recipients may have opted out: these messages end at once
            ended += _runs_of([message.key for message in accept.messages], accept.at)
    for withdrawal in facts.withdrawals:
        ended += (withdrawal.key, 1, withdrawal.at)
    inbound: Runs = []
    for each in facts.inbound:
        inbound += (each.key, 1, 0)
        if each.reply is not None:
            accepted += _runs_accepted([each.reply])
    return _packed(accepted, sent, ended, inbound)


def ended_trail(keys: list[int], at: int) -> bytes:
    """Returns the trail of messages that ended at one time."""
    return _packed([], [], _runs_of(keys, at), [])


def highest_named(trails: Iterable[bytes]) -> int:
    """Returns the highest key that trails name, 0 where there is none. Keys given later must be above it: a refused
    request has no rows, and a message under its key would be counted for it."""
    entries = map(read_trail, trails)
    return max((key for each in entries for key in (*each.accepted, *each.inbound)), default=0)


def read_trail(keys: bytes) -> TrailEntries:
    """Reads what `trail_of` returned."""
    counts = _HEAD.unpack_from(keys)
    numbers = iter(unpack_from(f">{3 * sum(counts)}q", keys, _HEAD.size))
    accepted, sent, ended, inbound = ([_read_run(numbers) for _ in range(count)] for count in counts)
    return TrailEntries(
        [key for run in accepted for key, _ in run],
        list(chain.from_iterable(sent)),
        list(chain.from_iterable(ended)),
        [key for run in inbound for key, _ in run],
    )


def _read_run(numbers: Iterator[int]) -> list[Ended]:
    first, count, at = next(numbers), next(numbers), next(numbers)
    return [(key, at) for key in range(first, first + count * KEY_STEP, KEY_STEP)]


def _runs_in(facts: list[Submission] | list[MessageEnd]) -> Runs:
    runs: Runs = []
    first = following = at = -1
    for fact in facts:
        key = fact.key
        if key == following and fact.at == at:
            following += KEY_STEP
            continue
        if first >= 0:
            runs += (first, (following - first) // KEY_STEP, at)
        first, at = key, fact.at
        following = key + KEY_STEP
    if first >= 0:
        runs += (first, (following - first) // KEY_STEP, at)
    return runs


def _runs_accepted(accepts: list[Accept]) -> Runs:
    runs: Runs = []
    first = following = -1
    for accept in accepts:
        for message in accept.messages:
            key = message.key
            if key == following:
                following += KEY_STEP
                continue
            if first >= 0:
                runs += (first, (following - first) // KEY_STEP, 0)
            first, following = key, key + KEY_STEP
    if first >= 0:
        runs += (first, (following - first) // KEY_STEP, 0)
    return runs


def _runs_of(keys: list[int], at: int) -> Runs:
    return [number for key in keys for number in (key, 1, at)]


def _packed(accepted: Runs, sent: Runs, ended: Runs, inbound: Runs) -> bytes:
    numbers = accepted + sent + ended + inbound
    if not numbers:
        return b""
    head = _HEAD.pack(len(accepted) // 3, len(sent) // 3, len(ended) // 3, len(inbound) // 3)
    return head + pack(f">{len(numbers)}q", *numbers)
