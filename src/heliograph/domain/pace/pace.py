"""The pace of a connector: the parts a second that its operator accepts, as measured, up to the configured limit.

An operator under too much load answers ESME_RTHROTTLED or ESME_RMSGQFUL, and never states its limit. The limit may be a
count a second, a token bucket, a queue that drains, or shared with other customers. The pace is therefore a state
machine, moved by answers and by time:

    stage                    event                                      next stage
    -----------------------  -----------------------------------------  -------------------------------------
    GROWING                  throttled, and the goodput is known        TRIED
    GROWING, or configured   a learnt limit is resumed                  TRIED
    TRIED                    stood                                      CLIMBING_FROM_TRIED
    TRIED                    throttled                                  TRIED, or STANDING one level down
    STANDING                 stood, and was quiet                       CLIMBING_FROM_STANDING
    STANDING                 throttled too often                        STANDING, TRIED if it falls far
    CLIMBING_FROM_TRIED      stood                                      the same, one level up
      or _FROM_STANDING      throttled                                  TRIED or STANDING, one level down
    any                      was shut for most of the time              TRIED
    any                      operator reports congestion                STANDING
    any                      rises above NO_LIMIT                       GROWING, or UNLIMITED if it had stood

- **Growing**: nothing has been throttled. The pace grows exponentially, and more slowly if answers are slow: all parts
  in flight at the first throttle answer will be throttled too. It grows fast while these are few.
- **Reduced** to the goodput of at least a second, by answers to parts written since the last change. If the operator
  was shut for most of the time, the goodput is measured from opening to opening.
- **Raised** in steps that double, each once the level before it has stood. A throttled step goes back a level, and a
  second throttled step another level. The more parts the last climb cost, the longer the pace stays.
- **Pauses** double while nothing is taken (exponential backoff), and end with a single part as a probe.
- **Background throttling**: if reductions do not help and the same share is throttled at any pace, the pace is not the
  cause. For example, the queues of single recipients are full. The pace returns to where it was, and the share is
  accepted (`heliograph.domain.pace.background_throttling`).

Parts are spaced evenly, since some operators enforce their limit over milliseconds. Times are monotonic seconds.
"""

from enum import IntEnum
from math import exp, inf
from typing import Final, NamedTuple

from heliograph.domain.pace.background_throttling import FLOOR, MOST, BackgroundThrottling, is_beyond
from heliograph.domain.pace.congestion import NEARING, Congestion
from heliograph.domain.pace.goodput import SPAN_S, Goodput
from heliograph.domain.pace.pause import Pauses
from heliograph.domain.pace.throttle import SHARE_OF_BURST, TokenBucket

START: Final = 30.0
"""Parts a second for an operator without any measurement. Few operators take less."""

AT_ONCE: Final = 10.0
"""Parts that may go at once while nothing is known: a usual window."""

NO_LIMIT: Final = 100_000.0
"""Parts a second. A faster pace counts as no limit: no operator takes as many."""

GROWN: Final = 5_000.0
"""Parts a second at which growth ends, without a limit. An operator that took as many without throttling has no limit
that matters."""

GROWTH: Final = 8.0
"""Exponent of the growth a second where answers come at once: from 30 to 5,000 a second in 0.6 s."""

GROWTH_A_ROUND_TRIP: Final = 0.05
"""Exponent of the growth a round trip. At most 5 % more is in flight than the operator has answered for."""

FIRST_GROWTH: Final = 0.1
"""The same before the first throttle answer. That is met once, because the pace is remembered."""

FAST_GROWTH: Final = 0.5
"""The same before the first throttle answer, up to FAST_TO parts a second and FEW_IN_FLIGHT parts in flight."""

FAST_TO: Final = 100.0
"""Parts a second up to which the pace grows fast: hardly an operator allows fewer."""

FEW_IN_FLIGHT: Final = 10.0
"""Parts in flight up to which the pace grows fast. They are throttled together if the limit is met: a usual window."""

LEAST_GROWTH: Final = 0.3
"""Exponent of the growth a second, at least: slow answers, which take seconds, must not stop it."""

LATE_S: Final = 0.002
"""Seconds by which a part may be late so that later parts catch up: two timer ticks of the event loop."""

LATE_FROM: Final = 200.0
"""Parts a second from which on parts catch up on all of `LATE_S`. Below it some operators throttle parts that come
closer together than their limit."""

LATE_SHARE: Final = 0.025
"""Share of the time between two parts that later parts always catch up on."""

UNDER: Final = 0.98
"""Share of the measured goodput that a reduction leaves, so that the operator's queue drains."""

REDUCTIONS: Final = (0.98, 0.95, 0.9, 0.8)
"""Shares of the pace that the first, second, ... reduction in a row leaves at most."""

LEFT: Final = 0.5
"""Share that a reduction leaves at least of the pace without its throttled parts. Pauses make the goodput look lower
than it is."""

SURE_STEP: Final = 0.03
"""Share of the first raise of a pace that has stood. Each next raise doubles it, up to 1."""

UNSURE_STEP: Final = 0.08
"""Share of the first raise of a pace that has not stood yet."""

TRY_STEP: Final = 0.5
"""Share of the first raise after reductions without effect: no measurement speaks against a higher pace."""

NEAR: Final = 1.25
"""Factor. A raised pace that is throttled below this multiple of its first level met the same limit as before."""

STANDS_S: Final = 1.0
"""Seconds, plus two round trips, for which a pace must stand before it is raised. Operators count by the second."""

STANDS_LONGEST_S: Final = 8.0
"""Seconds after which a pace has stood even with few answers. Four times as many while a reduction seems to have no
effect."""

QUIET_S: Final = 5.0
"""Seconds without a raise, at least, after a pace has stood."""

UNUSED_S: Final = 10.0
"""Seconds between two checks of whether a pace is used."""

QUIET_PARTS: Final = 120
"""Parts that must be sent before the next climb, for each throttled part of the last climb: climbs cost less than 1 %,
where QUIET_FOR_A_PART_S is not shorter."""

LONGEST_QUIET_S: Final = 120.0
"""Seconds without a raise, at most: an operator's limit may have been lifted."""

QUIET_FOR_A_PART_S: Final = 30.0
"""Seconds without a raise, at most, for each throttled part of the last climb: a pace of few parts a second that fell
by chance rises again soon. At a limit of 1 a second climbs cost 3 %."""

PAUSE_S: Final = 0.02
"""Seconds of a pause, at least, where the pace has stood."""

UNSURE_PAUSE_S: Final = 0.1
"""Seconds of a pause, at least, where the pace has not stood yet."""

EARLY_S: Final = 0.2
"""Seconds over which the parts taken so far are counted, at least, before a goodput is known."""

SHUT: Final = 3
"""Pauses in a row after which an operator counts as shut."""

SHUT_LONG_S: Final = 3.0
"""Seconds. The goodput from before a longer shut is forgotten."""

FEWEST_OF_A_CYCLE: Final = 5
"""Parts taken from one opening to the next, at least, for a measurement."""

ALIKE_CYCLES: Final = 10.0
"""Factor by which a cycle may be longer than the cycle before. A longer one is an outage. The first cycle of a limit by
the minute may be a part of a minute."""

LEAST: Final = 0.2
"""Parts a second below which the pace never falls: a part every five seconds still finds out that the limit is gone."""


RESUMED: Final = 0.9
"""Share of a learnt pace that is used after a restart: the operator's limit may have changed meanwhile."""


class LearntPace(NamedTuple):
    """A pace, as it is kept over a restart."""

    rate: float
    """Parts a second."""
    is_limit: bool
    """Whether the operator throttled more; otherwise it took as many without throttling."""


class Stage(IntEnum):
    """Stages of a pace: where it comes from decides what a throttle answer does to it."""

    GROWING = 0
    """No throttle answer has ended the growth."""
    UNLIMITED = 1
    """Like GROWING, from a pace that had stood before it rose beyond NO_LIMIT: its pauses are short."""
    TRIED = 2
    """The pace is a measured goodput, and has not stood yet."""
    STANDING = 3
    """The pace has stood, or is configured."""
    CLIMBING_FROM_TRIED = 4
    """The pace was raised from a pace that was only tried."""
    CLIMBING_FROM_STANDING = 5
    """The pace was raised from a pace that has stood."""


GROWING: Final = (Stage.GROWING, Stage.UNLIMITED)
CLIMBING: Final = (Stage.CLIMBING_FROM_TRIED, Stage.CLIMBING_FROM_STANDING)
SURE: Final = (Stage.STANDING, Stage.CLIMBING_FROM_STANDING, Stage.UNLIMITED)
"""Stages in which the pace has stood, or was raised from a pace that has stood."""


class Openings:
    """Counts the parts that an operator took since it last opened. An operator that counts by the minute, for example,
    takes its parts at once and is shut for the rest of the minute."""

    __slots__ = ("_was_shut", "cycle_s", "last_cycle_s", "since", "took")

    def __init__(self) -> None:
        self.since = 0.0
        """Time at which the operator last opened."""
        self.took = 0
        """Parts taken since then."""
        self._was_shut = False
        """Whether the operator was shut for most of the cycle before."""
        self.last_cycle_s = 0.0
        """Seconds between the last two openings."""
        self.cycle_s = 0.0
        """Seconds of the cycle that the pace was measured over; 0 if the operator is open most of the time."""

    def begin(self, now: float) -> None:
        """Counts from now on."""
        self.since, self.took = now, 0

    def open(self, written: float, shut_s: float) -> float | None:
        """Notes an opening after `shut_s`. Returns the goodput of the last cycle if the operator was shut for most of
        the last two cycles."""
        cycle_s, took = written - self.since, self.took
        self.begin(written)
        is_alike = cycle_s <= ALIKE_CYCLES * self.last_cycle_s
        self.last_cycle_s = cycle_s
        was_shut, self._was_shut = self._was_shut, shut_s >= cycle_s / 2
        if was_shut and self._was_shut and is_alike and cycle_s >= SPAN_S and took >= FEWEST_OF_A_CYCLE:
            return took / cycle_s
        return None


class Pace:
    """Decides how many parts may be written now. `limit` is the configured limit in parts a second; 0 for none."""

    __slots__ = (
        "_asked", "_background", "_bucket", "_changed", "_congestion", "_cost", "_episode_until", "_goodput", "_grown",
        "_levels", "_limit", "_openings", "_pauses", "_raise_at", "_raised_by", "_round_trip", "_short", "_stage",
        "_step", "learnt_at", "throttles",
    )  # fmt: skip

    def __init__(self, limit: float = 0.0) -> None:
        self._limit = 0.0
        self._bucket: TokenBucket | None = None
        self._changed = 0.0
        """Time of the last change. Answers to parts written before it do not count for this pace."""
        self._raise_at = 0.0
        """Time before which the pace is not raised."""
        self._stage = Stage.GROWING
        self._levels: list[float] = []
        """The paces that it was raised from, lowest first. Each has stood for a moment."""
        self._step = SURE_STEP
        """Share of the next raise."""
        self._raised_by = 0.0
        """Share of the last raise."""
        self._cost = 0
        """Parts throttled since the last climb began."""
        self._episode_until = -inf
        """Time up to which throttle answers have the same cause as the last change."""
        self._goodput = Goodput()
        self._pauses = Pauses()
        self._background = BackgroundThrottling()
        self._round_trip = 0.0
        """Seconds from write to answer, a moving average."""
        self._asked = -inf
        """Time of the last call of `take`."""
        self._short = False
        """Whether the lane wanted more than the pace allowed."""
        self._grown = 0.0
        """Time up to which the growth is applied."""
        self._openings = Openings()
        self._congestion = Congestion()
        self.throttles = 0
        """Throttle answers so far."""
        self.learnt_at: float | None = None
        """Time at which a throttle answer last changed the pace; None if the pace is the configured limit."""
        self.limit(0.0, limit)

    # --- measurements

    @property
    def rate(self) -> float:
        """Parts a second now; infinity without a limit."""
        return inf if self._bucket is None else self._bucket.rate

    @property
    def is_free(self) -> bool:
        """Whether there is no limit, so that taken parts may be counted in sums: `took_freely`."""
        return self._bucket is None

    @property
    def paused_until(self) -> float:
        """The end of the current or last pause."""
        return self._pauses.until

    @property
    def background_share(self) -> float:
        """Share of the parts that the operator throttles at any pace."""
        return self._background.share

    # --- over restarts, and on other nodes

    def learnt(self) -> LearntPace | None:
        """Returns the pace to begin with after a restart; None if nothing is known."""
        if self.learnt_at is not None:
            return LearntPace(self._levels[0] if self._levels else self.rate, is_limit=True)
        if self._limit == inf and self.rate > START:
            return LearntPace(min(self.rate, GROWN), is_limit=False)
        return None

    def resume(self, now: float, learnt: LearntPace) -> None:
        """Begins with RESUMED of a pace that was learnt before a restart, or by another node."""
        rate = RESUMED * learnt.rate
        if learnt.is_limit and rate < self._limit:
            self._levels = []
            self._settle(now, rate, Stage.TRIED)
        elif not learnt.is_limit and self._stage == Stage.GROWING and rate > self.rate:
            self._set(now, rate)

    # --- the configured limit

    def limit(self, now: float, limit: float) -> None:
        """Changes the configured limit; 0 for none. Forgets all measurements."""
        wanted = limit if limit > 0 else inf
        if wanted == self._limit:
            return
        self._limit = wanted
        self._stage = Stage.STANDING if limit > 0 else Stage.GROWING
        self._step = SURE_STEP
        self._levels = []
        self._cost = 0
        self._episode_until = -inf
        self._background.forget()
        self.learnt_at = None
        self._change(now, wanted if limit > 0 else START)

    # --- sending

    def take(self, now: float, n: int) -> int:
        """Uses up and returns as many of `n` parts as may be written now."""
        if now - self._asked > SPAN_S and not self._pauses.run and now - self.ready_at(self._asked) > SPAN_S:
            # The goodput of an idle time says nothing about the operator.
            self._openings.begin(now)
            self._grown = now
            self._goodput.begin(now)
        self._asked = now
        if self.is_free:
            return n
        if self._pauses.is_paused(now):
            return 0
        probing = self._pauses.probing
        if not probing and self._stage in GROWING:
            self._grow(now)
        elif not probing and now >= self._raise_at and self._has_stood(now):
            self._raise(now)
        bucket = self._bucket
        if bucket is None:  # the raise went beyond NO_LIMIT
            return n
        granted = bucket.take(now, 1 if probing else n)
        if probing and granted:
            self._pauses.probe(now)
        elif not probing and granted < n:
            self._short = True
        return granted

    def ready_at(self, now: float) -> float:
        """The earliest time at which `take` grants some."""
        bucket = self._bucket
        if bucket is None:
            return now
        return max(self._pauses.ready_at(), bucket.ready_at(now, max(1, int(bucket.rate * LATE_S))))

    # --- answers

    def taken(self, written: float, now: float) -> None:
        """Notes that the operator took a part that was written then."""
        self._answered(written, now)
        self._openings.took += 1
        pauses = self._pauses
        if pauses.is_over(written, self._changed):
            shut = pauses.run >= SHUT
            if pauses.end(now, 1 / self.rate):
                self._goodput.leave_out(now - written)
            if shut:
                self._open(now, written)
        if written >= self._changed:
            self._goodput.take(written)

    def took_freely(self, now: float, n: int) -> None:
        """Notes that the operator took this many parts since the last call, while the pace is free."""
        self._openings.took += n
        self._goodput.take(now, n)
        self._look_anew(now)

    def throttled(self, written: float, now: float) -> None:
        """Notes a throttle answer to a part that was written then, and changes the pace if it is news."""
        self.throttles += 1
        self._answered(written, now)
        if written < self._changed:
            self._cost += not self._background.share
            return
        self._goodput.refuse(written)
        self._cost += not self._background.share
        if self._stage not in GROWING:
            # A raised pace may have a few throttle answers before it is taken back.
            spare = self._background.spare(self.rate, self._raised_by) if self._levels else 0.0
            if not self._background.is_exceeded(self._goodput, spare):
                return
        if not self._pauses.is_news(written):
            return
        self._pause(now, written)
        self._heed(now)
        self._raise_at = max(self._raise_at, now + self._stands_s())

    def _answered(self, written: float, now: float) -> None:
        took = now - written
        self._round_trip += (took - self._round_trip) / (16 if self._round_trip else 1)

    def _pause(self, now: float, written: float) -> None:
        may_be_background = self._background.reductions > 0 and self.rate < GROWN
        least = PAUSE_S if self._stage in SURE or may_be_background else UNSURE_PAUSE_S
        is_growing = self._stage in GROWING
        if is_growing:
            least = max(least, 2 * self._round_trip)
        self._pauses.begin(now, written, least, 1 / self.rate, probe=is_growing)

    def _heed(self, now: float) -> None:
        """Moves the state machine for a throttle answer that is news."""
        stage = self._stage
        if stage in GROWING:
            self._end_growth(now)
        elif stage in CLIMBING:
            is_near = self.rate <= NEAR * self._levels[0]
            stands = len(self._levels) == 1 or (stage == Stage.CLIMBING_FROM_STANDING and is_near)
            self._step_back(now, Stage.STANDING if stands else Stage.TRIED)
        elif now < self._episode_until or not self._goodput.took:
            pass  # The last change had the same cause, or the operator is shut.
        elif self._levels or stage == Stage.TRIED or self._is_refused():
            self._reduce(now)

    def _is_refused(self) -> bool:
        """Whether a pace that has stood is throttled too often."""
        return self._goodput.refused > 1 and is_beyond(self._goodput.refused, FLOOR * self._goodput.answers)

    # --- up

    def _grow(self, now: float) -> None:
        if self._short and self._round_trip:
            exponent = max(LEAST_GROWTH, min(GROWTH, self._growth() / self._round_trip))
            rate = self.rate * exp(exponent * min(now - self._grown, 0.1))
            self._set(now, rate if rate < GROWN else inf)
        self._grown = now
        self._short = False

    def _growth(self) -> float:
        """Returns the exponent of the growth a round trip."""
        if self.throttles:
            return GROWTH_A_ROUND_TRIP
        is_fast = self.rate < FAST_TO and self.rate * self._round_trip < FEW_IN_FLIGHT
        return FAST_GROWTH if is_fast else FIRST_GROWTH

    def _raise(self, now: float) -> None:
        rate, goodput = self.rate, self._goodput
        if not goodput.is_used(0.8 * (1 - self._background.share) * rate):
            self._look_anew(now)
            return
        self._background.stood(goodput, raised=self._stage in CLIMBING)
        if self._stage not in CLIMBING:
            stands = self._stage == Stage.STANDING
            self._stage = Stage.CLIMBING_FROM_STANDING if stands else Stage.CLIMBING_FROM_TRIED
            self._levels = []
            self._cost = 0
        self._levels.append(rate)
        step, self._step = self._step, min(1.0, 2 * self._step)
        self._raised_by = step
        self._change(now, rate * (1 + step))

    def _look_anew(self, now: float) -> None:
        """Restarts the counts now and then while the pace stays because it is not used up."""
        if now - self._changed > UNUSED_S:
            self._background.stood(self._goodput, raised=False)
            self._changed = now
            self._goodput.begin(now)

    def _has_stood(self, now: float) -> bool:
        """Whether the pace may be raised: it stood long enough, by time and by answers, or for the longest time."""
        if self._stage == Stage.STANDING:
            # The more the last climb cost, the longer the pace stays.
            quiet_a_part_s = min(QUIET_FOR_A_PART_S, QUIET_PARTS / self.rate)
            quiet_s = max(QUIET_S, min(LONGEST_QUIET_S, quiet_a_part_s * self._cost))
            if now < self._changed + quiet_s:
                return False
        background, goodput = self._background, self._goodput
        if now >= self._changed + STANDS_LONGEST_S * (4 if background.reductions and goodput.refused else 1):
            return True
        if background.is_trying(goodput) or background.reduction_had_no_effect(goodput):
            return False
        step = max(self._raised_by, SURE_STEP) if self._stage in CLIMBING else self._step
        return goodput.answers >= background.answers_needed(step)

    def _stands_s(self) -> float:
        """Least time for which a pace must stand before it is raised."""
        return max(STANDS_S + 2 * self._round_trip, self._openings.cycle_s)

    # --- down

    def _end_growth(self, now: float) -> None:
        """Ends the growth at the goodput; until that is known the pace is the average so far."""
        measured = self._goodput.rate()
        if measured is not None:
            offered = measured / (1 - self._goodput.share_refused)
            self._background.reduce(min(self.rate, offered), self._goodput)
            self._settle(now, min(self.rate, measured * UNDER), Stage.TRIED)
            return
        so_far = max(self.rate / 2, (self._openings.took + 1) / max(EARLY_S, now - self._openings.since))
        if so_far < self.rate:
            self._set(now, so_far)
            self.learnt_at = now

    def _step_back(self, now: float, stage: Stage) -> None:
        self._settle(now, self._levels.pop(), stage)

    def _reduce(self, now: float) -> None:
        """Reduces the pace to the goodput, if that is known."""
        measured = self._goodput.rate()
        if measured is None or self._background.is_trying(self._goodput):
            return
        before = self._background.reduce(self.rate, self._goodput)
        if before is not None:
            self._pauses.end(now, 0.0)
            self._levels = []
            self._settle(now, before, Stage.TRIED)
            self._step = TRY_STEP
        elif self._levels:
            self._step_back(now, Stage.STANDING)
        else:
            stands = self._stage == Stage.STANDING
            share = REDUCTIONS[min(self._background.reductions - stands, len(REDUCTIONS) - 1)]
            rate = min(self.rate * share, UNDER * measured / (1 - self._background.share))
            if self._goodput.share_refused <= MOST:
                rate = max(rate, LEFT * self.rate * (1 - self._goodput.share_refused))
            self._cost = 1
            self._settle(now, rate, Stage.STANDING if stands and rate >= 0.8 * self.rate else Stage.TRIED)

    def _open(self, now: float, written: float) -> None:
        """Notes that the operator takes parts again after a pause. The pace falls to the goodput of the last cycle if
        the operator was shut for most of the last two cycles."""
        openings = self._openings
        shut_s = written - self._pauses.closed_at
        if shut_s > SHUT_LONG_S:
            self._goodput.begin(now)
        goodput = openings.open(written, shut_s)
        if goodput is not None and goodput < self.rate:
            openings.cycle_s = openings.last_cycle_s
            self._levels = []
            self._settle(now, goodput * UNDER, Stage.TRIED)

    def _settle(self, now: float, rate: float, stage: Stage) -> None:
        """Ends growth or a climb at a pace that has stood, or is tried."""
        self._stage = stage
        self._step = SURE_STEP if stage == Stage.STANDING and not self._background.share else UNSURE_STEP
        self._raised_by = 0.0
        self.learnt_at = now
        self._change(now, rate)
        self._episode_until = now + SPAN_S + self._round_trip

    # --- the bucket

    def _change(self, now: float, rate: float) -> None:
        self._set(now, rate)
        self._changed = now
        self._goodput.begin(now)
        self._raise_at = now + self._stands_s()

    def _set(self, now: float, rate: float) -> None:
        rate = max(LEAST, min(rate, self._limit))
        if rate >= NO_LIMIT:
            self._bucket = None
            self._stage = Stage.UNLIMITED if self._stage in SURE else Stage.GROWING
            self.learnt_at = None
            return
        if rate >= self._limit:
            self.learnt_at = None
        burst = self._burst(rate)
        if self._bucket is None:
            self._bucket = TokenBucket(rate, burst)
            if self._asked > -inf:
                self._bucket.take(now, int(burst))
        else:
            self._bucket.change(now, rate, burst)

    def _burst(self, rate: float) -> float:
        """Parts that may go at once: a share of a configured pace; of a learnt pace only the late parts."""
        if rate >= self._limit:
            return max(1.0, SHARE_OF_BURST * rate)
        late_s = min(LATE_S, max(LATE_S * rate / LATE_FROM, LATE_SHARE / rate))
        return max(1 + rate * late_s, AT_ONCE if self._stage in GROWING and self.learnt_at is None else 1.0)

    # --- congestion

    def congested(self, now: float, percent: int) -> None:
        """Notes the operator's load, 0 to 99. From NEARING on the pace does not rise, from CONGESTED on it falls."""
        if percent < NEARING:
            return
        self._raise_at = max(self._raise_at, now + self._stands_s())
        self._short = False
        eased = self._congestion.eased(now, percent, self.rate, self._goodput.rate())
        if eased is not None:
            self._levels = []
            self._settle(now, eased, Stage.STANDING)
