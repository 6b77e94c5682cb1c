"""Repeats: messages that an operator sends again, since it has no answer to them.

A copy equals the first message in all octets; `digest` is a hash of them. It is a repeat if the first message may have
lost its answer. When a link goes, octets that were already written may be lost. So an answer counts only after its link
stood for `SETTLED_MS`. Until then the message has a note (`inbound_unanswered`).

    the first message                          is in           a copy is
    -----------------------------------------  --------------  ----------------------------------------------
    waits for its commit, link is up           `waiting`       another message
    waits for its commit, link is down         `waiting`       the same message; its link gets the answer
    was answered, link stands                  `_answered`     another message
    was answered, link went within SETTLED_MS  `_lost`         the same message, for `REPEAT_MS`
    was answered SETTLED_MS ago, link stands   (forgotten)     another message
    came to another node, or an earlier run    (the store)     looked up: `_unsure`, `_looked_up`, `_held`
    is written by another node after that      (the store)     contested: not written, looked up again

An arrival without its link at the look-up is dropped, since the operator sends it again. Otherwise it could be taken
after another node has settled its answer, or use up the lost answer that the next copy is to get.

The store is asked only if the link may have been another process's: an earlier run's for a while after the start, and
other nodes' always. A copy of a message that another node may still answer is held (`_held`). It is looked up once a
second, until that node has settled its answer or has been silent for `SLOW_ANSWER_MS`.

Two nodes may look up copies of a message before either has written it. The later commit then leaves its copy out as
*contested* (`InboundMessage.contested`). If the copy's link is gone, the copy is dropped, since the operator sends it
again. Otherwise it is held and looked up again.

What can go wrong: the store is away during a look-up. The operator then gets an error and repeats the message.
"""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from heliograph.app.facts import InboundMessage
from heliograph.app.ports import Clock, Gathering, Inbound, Incoming
from heliograph.app.ports.inbound import REPEAT_MS
from heliograph.domain.text.inbound import UserData

SETTLED_MS: Final = 2_000
"""Milliseconds for which a link must stand after an answer, so that the operator certainly has it. A dead link shows
within a round trip or two."""

SETTLED_AT_ONCE: Final = 256
"""Most answers that a commit notes as settled, because deleting their notes takes time."""

LOOK: Final = 500
"""Messages that a query looks up in the store."""

Digest = tuple[int, int]
"""A connector, and the digest of the octets that came over it."""


@dataclass(slots=True, eq=False)
class Arrival:
    """A message or a part on its way into a commit."""

    connector: int
    incoming: Incoming | None
    """The operator's request; None once it is answered, and for joined parts."""
    data: UserData | None = None
    """The content of a whole message, without its header."""
    message: InboundMessage | None = None
    """The message as it is written; None for a part."""
    last_note: int = 0
    """The number of the newest note at its look-up."""


@dataclass(slots=True, eq=False)
class GivenAnswer:
    """An answer that may still be lost with its link, so that the operator repeats the message."""

    key: int
    """The message's key."""
    digest: Digest
    incoming: Incoming
    at: int
    """The time (ms) of the answer."""
    over: bool = False
    """Whether it was taken out before its turn."""


class Repeats:
    """Recognises repeated messages, and answers them without a second copy."""

    def __init__(
        self,
        gathering: Gathering,
        clock: Clock,
        store: Inbound,
        node: int,
        take: Callable[[Arrival, Incoming], None],
        *,
        shared: bool,
        unanswered: bool,
    ) -> None:
        """`take` takes a message that is no repeat. `shared`: other nodes may be on the store. `unanswered`: an earlier
        run left messages without an answer."""
        self._gathering = gathering
        self._clock = clock
        self._store = store
        self._node = node
        self._take = take
        self._shared = shared
        self._doubt_until = clock.now() + REPEAT_MS if unanswered else 0
        """Time (ms) until which copies of an earlier run's messages may come."""
        self.waiting: dict[Digest, Arrival] = {}
        """Messages without an answer, the last message of each digest."""
        self._lost: dict[Digest, list[tuple[int, int]]] = {}
        """Keys of this process's messages that can be answered by a copy only, each with the end of `REPEAT_MS`."""
        self._answered: dict[Digest, list[GivenAnswer]] = {}
        """Answers that have not settled yet."""
        self._settling: deque[GivenAnswer] = deque()
        """The same answers in their order."""
        self._repeated: set[int] = set()
        """Keys of messages that were repeated since the last `keep_house`: their notes may still be in the store."""
        self._repeated_before: set[int] = set()
        """Keys of messages that were repeated between the two rounds of `keep_house` before."""
        self._unsure: list[Arrival] = []
        """Arrivals to be looked up in the store."""
        self._looked_up: list[Arrival] = []
        """Arrivals that are being looked up."""
        self._held: list[Arrival] = []
        """Arrivals that may be repeats of another node's messages; they are looked up again."""

    @property
    def in_doubt(self) -> int:
        """Number of messages that wait for a look-up."""
        return len(self._unsure) + len(self._looked_up) + len(self._held)

    # --- arrivals

    def recognises(self, digest: Digest, incoming: Incoming) -> bool:
        """Answers a repeat of this process's message, now or after the message's commit; returns False for another
        message."""
        earlier = self.waiting.get(digest)
        if earlier is not None and (earlier.incoming is None or not earlier.incoming.waits()):
            earlier.incoming = incoming
            return True
        key = self._lost_key(digest)
        if key:
            self._answer_again(key, digest, incoming)
        return key != 0

    def doubts(self, digest: Digest, arrival: Arrival) -> bool:
        """Has an arrival looked up if it may be a repeat of another process's message; returns False if not."""
        if not self._shared and self._clock.now() >= self._doubt_until:
            return False
        self.waiting[digest] = arrival
        self._unsure.append(arrival)
        self._gathering.wake_lookups()
        return True

    def _lost_key(self, digest: Digest) -> int:
        """Takes out the key of a message that has lost its answer, or returns 0."""
        for answer in self._answered.get(digest, ()):
            if not answer.incoming.stands():
                self._take_out(answer)
                return answer.key
        keys = self._lost.get(digest)
        if keys is None:
            return 0
        now = self._clock.now()
        key = next((key for key, until in keys if until > now), 0)
        left = [(other, until) for other, until in keys if other != key and until > now]
        if left:
            self._lost[digest] = left
        else:
            del self._lost[digest]
        return key

    def _answer_again(self, key: int, digest: Digest, incoming: Incoming) -> None:
        """Answers a copy of a durable message."""
        self._repeated.add(key)
        self.note_answer(key, digest, incoming, written=incoming.answer(True))

    # --- answers

    def note_answer(self, key: int, digest: Digest, incoming: Incoming | None, *, written: bool) -> None:
        """Notes the answer to a durable message, or (not `written`) that its link is gone."""
        if written and incoming is not None:
            answer = GivenAnswer(key, digest, incoming, self._clock.now())
            self._answered.setdefault(digest, []).append(answer)
            self._settling.append(answer)
        else:
            self._lose(key, digest)

    def settle(self) -> None:
        """Forgets answers older than `SETTLED_MS` if their links stand. Must be called right before a commit."""
        before = self._clock.now() - SETTLED_MS
        settling, left = self._settling, SETTLED_AT_ONCE
        while settling and left and settling[0].at < before:
            answer = settling.popleft()
            if not answer.over:
                left -= 1
                self._take_out(answer)
                if answer.incoming.stands():
                    self._gathering.facts.inbound_answered.append(answer.key)
                else:
                    self._lose(answer.key, answer.digest)

    def tick(self) -> None:
        """Reports lost links to other nodes, and looks up held arrivals again. Must be called about once a second."""
        for answer in [each for each in self._settling if not each.over and not each.incoming.stands()]:
            self._take_out(answer)
            self._lose(answer.key, answer.digest)
        if self._settling:
            self._gathering.wake()
        if self._held:
            self._unsure, self._held = [*self._held, *self._unsure], []
            self._gathering.wake_lookups()

    def finish(self) -> None:
        """Settles all answers. Must be called when all links have ended."""
        facts = self._gathering.facts
        for answer in self._settling:
            if not answer.over:
                arrived = answer.incoming.stands()
                (facts.inbound_answered if arrived else facts.inbound_lost).append(answer.key)
        self._settling.clear()
        self._answered.clear()
        self._gathering.wake()

    def _take_out(self, answer: GivenAnswer) -> None:
        answer.over = True
        others = self._answered[answer.digest]
        if len(others) == 1:
            del self._answered[answer.digest]
        else:
            others.remove(answer)

    def _lose(self, key: int, digest: Digest) -> None:
        """Keeps the key of a message without an answer, so that a copy is recognised."""
        self._gathering.facts.inbound_lost.append(key)
        self._gathering.wake_later()
        self._lost.setdefault(digest, []).append((key, self._clock.now() + REPEAT_MS))

    def keep_house(self, now: int) -> None:
        """Forgets messages that can no longer be repeated."""
        self._repeated_before, self._repeated = self._repeated, set()
        self._lost = {
            digest: left
            for digest, keys in self._lost.items()
            if (left := [(key, until) for key, until in keys if until > now])
        }

    # --- look-ups in the store

    async def look_up(self, may_take: Callable[[], bool]) -> None:
        """Finds out which arrivals are repeats of other processes' messages. Raises Unavailable.

        The others are taken if `may_take` and their links are up, else refused.
        """
        while self._unsure:
            self._looked_up, self._unsure = self._unsure[:LOOK], self._unsure[LOOK:]
            lost, open_elsewhere = await self._ask(self._looked_up)
            # `refuse_doubtful` may have emptied the list meanwhile.
            arrivals, self._looked_up = self._looked_up, []
            for arrival in arrivals:
                incoming = arrival.incoming
                assert incoming is not None
                digest = arrival.connector, incoming.digest
                keys = lost.get(digest)
                if not incoming.waits():
                    self._refuse(arrival)
                elif keys:
                    self._end_wait(arrival, digest)
                    self._answer_again(keys.pop(0), digest, incoming)
                elif not may_take():
                    self._refuse(arrival)
                elif digest in open_elsewhere:
                    self._held.append(arrival)
                else:
                    self._take(arrival, incoming)

    async def _ask(self, arrivals: Sequence[Arrival]) -> tuple[dict[Digest, list[int]], set[Digest]]:
        """Asks the store for earlier messages that equal the arrivals. Returns the keys of messages that have certainly
        lost their answer, and the digests of messages that another node may still answer."""
        by_connector: dict[int, list[tuple[Arrival, int]]] = {}
        for arrival in arrivals:
            if arrival.incoming is not None:
                by_connector.setdefault(arrival.connector, []).append((arrival, arrival.incoming.digest))
        lost: dict[Digest, list[int]] = {}
        open_elsewhere: set[Digest] = set()
        for connector, asked in by_connector.items():
            digests = [digest for _, digest in asked]
            found = await self._store.repeated(connector, digests, self._clock.now(), self._node)
            for arrival, _ in asked:
                arrival.last_note = found.last_note
            for each, key, certain in found.copies:
                if key in self._repeated or key in self._repeated_before:
                    continue
                if certain:
                    lost.setdefault((connector, each), []).append(key)
                else:
                    open_elsewhere.add((connector, each))
        return lost, open_elsewhere

    def refuse_doubtful(self) -> None:
        """Refuses all messages that wait for a look-up; the operator repeats them."""
        arrivals = [*self._held, *self._looked_up, *self._unsure]
        self._unsure, self._looked_up, self._held = [], [], []
        for arrival in arrivals:
            self._refuse(arrival)

    def _refuse(self, arrival: Arrival) -> None:
        incoming = arrival.incoming
        assert incoming is not None
        self._end_wait(arrival, (arrival.connector, incoming.digest))
        incoming.answer(False)

    def _end_wait(self, arrival: Arrival, digest: Digest) -> None:
        if self.waiting.get(digest) is arrival:
            del self.waiting[digest]

    def reconsider(self, arrival: Arrival, digest: int, *, may_take: bool) -> None:
        """Takes back a contested arrival: it is looked up again at the next `tick`, so that the loss of its link shows
        until then. Refuses it if its link is gone, and unless `may_take`."""
        arrival.message = None
        incoming = arrival.incoming
        if incoming is None:
            self._end_wait(arrival, (arrival.connector, digest))
        elif incoming.waits() and may_take:
            self._held.append(arrival)
        else:
            self._refuse(arrival)

    def committed(self, arrival: Arrival, message: InboundMessage, *, written: bool) -> None:
        """Notes that a whole message is durable, and whether its answer was written."""
        digest = arrival.connector, message.digest
        self._end_wait(arrival, digest)
        self.note_answer(message.key, digest, arrival.incoming, written=written)
