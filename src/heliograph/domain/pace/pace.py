"""The pace at which one operator is sent to: what it takes, as far as anybody knows, and never more than is configured.

An operator that is sent too much answers ESME_RTHROTTLED or ESME_RMSGQFUL, and says no word about what it would take:
so many in any second, in each second of a clock or of a minute, a bucket that fills, a queue that drains, a limit that
others share. What holds of all of them is used:

- **Growing.** While nothing is throttled the pace grows, slowly where answers are slow, since what is under way when
  the first one is throttled will be throttled too.
- **Cut** to what was taken over at least a second, by answers to parts that were written since the last change; never
  by a guess. A door that was shut for most of the time is measured from one opening to the next.
- **Raised** in steps that double, each once the one before has stood; one that is throttled goes back to the one
  before, and that, if it is throttled too, to the one before it. A pace so found waits before it tries again: the
  longer the more parts the last try cost.
- **Pauses** double while nothing is taken, and end with a single part that asks.
- **Background throttling.** If cuts do not help and the same share is throttled at any pace, the pace is not the
  cause: queues of single recipients are full, or the operator throttles at random. The pace returns to where it was
  and the share is accepted (`heliograph.domain.pace.background_throttling`).

Parts are spaced evenly, since some operators mean it. Times are seconds of a clock that does not go back.
"""

from math import exp, inf
from typing import Final

from heliograph.domain.pace.background_throttling import FLOOR, MOST, BackgroundThrottling, is_beyond
from heliograph.domain.pace.congestion import NEARING, Congestion
from heliograph.domain.pace.goodput import SPAN_S, Goodput
from heliograph.domain.pace.pause import Pauses
from heliograph.domain.pace.throttle import SHARE_OF_BURST, TokenBucket

START: Final = 30.0
"""Parts a second to begin with."""

AT_ONCE: Final = 10.0
"""Parts that go at once while nothing is known: a small window of them."""

NO_LIMIT: Final = 100_000.0
"""Parts a second from which on a pace is none."""

GROWN: Final = 5_000.0
"""Parts a second at which it ends to grow: nothing has been throttled, and there is no limit until something is."""

GROWTH: Final = 8.0
"""Exponent by which it grows, a second, where answers come at once."""

GROWTH_A_ROUND_TRIP: Final = 0.05
LEAST_GROWTH: Final = 0.3

LATE_S: Final = 0.002
"""Seconds by which a part may be late and the next ones make up for it."""

LATE_FROM: Final = 200.0
LATE_SHARE: Final = 0.025
"""All of it is made up for from so many parts a second on, or where it is so little of the time between two. Else
less is: parts that come closer together than a limit has them are throttled by some operators."""

UNDER: Final = 0.98
"""Share of what an operator took that a cut leaves."""

CUTS: Final = (0.98, 0.95, 0.9, 0.8)
"""Shares of the pace that are left at most by a cut, and by others that follow it."""

LEFT: Final = 0.5
"""Share of what a pace had taken of its parts that a cut leaves at least: pauses make it look like less."""

SURE_STEP: Final = 0.03
"""Share by which a pace is raised that has stood; each next raise adds twice as much, up to a doubling."""

UNSURE_STEP: Final = 0.08

TRY_STEP: Final = 0.5
"""Share by which a pace is raised that was cut in vain: nothing is known against a higher one."""

NEAR: Final = 1.25
"""A raised pace up to so many times the one it was raised from was throttled by the same limit."""

STANDS_S: Final = 1.0
"""Seconds for which a pace must stand before it is raised, and two round trips."""

STANDS_LONGEST_S: Final = 8.0
"""Seconds after which a pace has stood however few parts were answered; four times as many where a cut seems to have
been in vain."""

QUIET_S: Final = 5.0
"""Seconds for which a pace that has stood is left alone, at least."""

UNUSED_S: Final = 10.0
"""Seconds after which it is looked at anew whether a pace is used."""

QUIET_PARTS: Final = 120
"""Parts to be sent for each that the last try to raise it cost."""

LONGEST_QUIET_S: Final = 120.0

PAUSE_S: Final = 0.02
"""Seconds of a pause, at least, where the pace is sure."""

UNSURE_PAUSE_S: Final = 0.1

EARLY_S: Final = 0.2
"""Seconds in which what an operator took was taken at least, before it is known for longer."""

SHUT: Final = 3
"""Pauses in a row after which an operator was shut."""

SHUT_LONG_S: Final = 3.0
"""Seconds after which what an operator took before it shut is no part of what it takes."""

FEWEST_OF_A_CYCLE: Final = 5
"""Parts that were taken, at least, from one opening to the next."""

LEAST: Final = 0.2
"""Parts a second: the pace is never less."""


class Pace:
    """Number of parts that may be written now. `limit` is what is configured, in parts a second; 0 is none."""

    __slots__ = (
        "_asked", "_bucket", "_changed", "_climbing", "_congestion", "_cost", "_cycle_s", "_episode_until", "_goodput",
        "_growing", "_grown", "_levels", "_limit", "_noise", "_opened", "_opened_took", "_pauses", "_raise_at",
        "_raised_by", "_round_trip", "_short", "_shuts", "_step", "_sure", "learnt_at", "throttles",
    )  # fmt: skip

    def __init__(self, limit: float = 0.0) -> None:
        self._limit = 0.0
        self._bucket: TokenBucket | None = None
        self._changed = 0.0
        """Time of the last change: answers to parts written before say nothing about this one."""
        self._raise_at = 0.0
        self._growing = False
        """Whether nothing was throttled yet that ended the growth."""
        self._sure = False
        """Whether the pace, or the one it was raised from, has stood."""
        self._climbing = False
        self._levels: list[float] = []
        """The paces that it was raised from, which have stood for a moment."""
        self._step = SURE_STEP
        self._raised_by = 0.0
        """Share by which it was raised last."""
        self._cost = 0
        """Parts throttled since the last climb began."""
        self._episode_until = -inf
        self._goodput = Goodput()
        self._pauses = Pauses()
        self._noise = BackgroundThrottling()
        self._round_trip = 0.0
        self._asked = -inf
        """Time at which somebody last wanted to write."""
        self._short = False
        """Whether more was wanted than the pace allowed."""
        self._grown = 0.0
        self._opened = 0.0
        self._opened_took = 0
        """Parts taken since the operator opened."""
        self._shuts = False
        """Whether it was shut for most of the time before it opened."""
        self._cycle_s = 0.0
        """Time from one opening to the next, of an operator that was shut for most of it."""
        self._congestion = Congestion()
        self.throttles = 0
        """Throttle answers so far."""
        self.learnt_at: float | None = None
        """Time at which a throttle answer last changed the pace; None where it is not of the operator's making."""
        self.limit(0.0, limit)

    # --- what is known

    @property
    def rate(self) -> float:
        """Parts a second now; infinity where nothing holds them back."""
        return inf if self._bucket is None else self._bucket.rate

    @property
    def is_free(self) -> bool:
        """Whether nothing holds parts back, so that what the operator takes may be told in sums: `took_freely`."""
        return self._bucket is None

    @property
    def paused_until(self) -> float:
        """The time until which nothing is sent, or was sent last."""
        return self._pauses.until

    @property
    def noise(self) -> float:
        """Share of the parts that the operator puts off whatever the pace."""
        return self._noise.share

    # --- what is configured

    def limit(self, now: float, limit: float) -> None:
        """Changes the configured limit; 0 is none. What was learnt is forgotten."""
        wanted = limit if limit > 0 else inf
        if wanted == self._limit:
            return
        self._limit = wanted
        self._growing = limit <= 0
        self._sure = not self._growing
        self._step = SURE_STEP
        self._climbing = False
        self._levels = []
        self._cost = 0
        self._episode_until = -inf
        self._noise.forget()
        self.learnt_at = None
        self._change(now, wanted if limit > 0 else START)

    # --- sending

    def take(self, now: float, n: int) -> int:
        """Uses up and returns as many of `n` parts as may be written now."""
        if now - self._asked > SPAN_S and not self._pauses.run and now - self.ready_at(self._asked) > SPAN_S:
            # nobody knows what it would have taken meanwhile
            self._begin_anew(now)
        self._asked = now
        if self._bucket is None:
            return n
        if self._pauses.holds_back(now):
            return 0
        if self._pauses.probing:
            granted = self._bucket.take(now, 1)
            if granted:
                self._pauses.probe(now)
            return granted
        bucket = self._followed(now)
        if bucket is None:
            return n
        granted = bucket.take(now, n)
        if granted < n:
            self._short = True
        return granted

    def ready_at(self, now: float) -> float:
        """The earliest time at which `take` grants some."""
        bucket = self._bucket
        if bucket is None:
            return now
        return max(self._pauses.ready_at(), bucket.ready_at(now, max(1, int(bucket.rate * LATE_S))))

    # --- what the operator says

    def taken(self, written: float, now: float) -> None:
        """Notes that the operator took a part that was written then."""
        self._answered(written, now)
        self._opened_took += 1
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
        """Notes that the operator took so many parts of late, where the pace is free."""
        self._opened_took += n
        self._goodput.take(now, n)
        self._look_anew(now)

    def throttled(self, written: float, now: float) -> None:
        """Notes a throttle answer to a part that was written then, and changes the pace if it is news."""
        self.throttles += 1
        self._answered(written, now)
        if written < self._changed:
            self._cost += not self._noise.share
            return
        self._goodput.refuse(written)
        self._cost += not self._noise.share
        if not (self._growing or self._noise.is_exceeded(self._goodput, self._spare())):
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
        may_be_noise = self._noise.cuts > 0 and self.rate < GROWN
        least = PAUSE_S if self._sure or may_be_noise else UNSURE_PAUSE_S
        if self._growing:
            least = max(least, 2 * self._round_trip)
        self._pauses.begin(now, written, least, 1 / self.rate, probe=self._growing)

    def _heed(self, now: float) -> None:
        """Changes the pace for a throttle answer that is news."""
        if self._growing:
            self._cut_growing(now)
        elif self._climbing:
            near = self.rate <= NEAR * self._levels[0]
            self._step_back(now, sure=(self._sure and near) or len(self._levels) == 1)
        elif now < self._episode_until or not self._goodput.took:
            pass  # that is known, or the operator is shut
        elif self._levels or not self._sure or self._is_refused():
            self._cut(now)

    def _is_refused(self) -> bool:
        """Whether a pace that has stood is throttled too often."""
        return self._goodput.refused > 1 and is_beyond(self._goodput.refused, FLOOR * self._goodput.answers)

    def _spare(self) -> float:
        """Throttle answers for which the pace is not taken back to the one that it was raised from, if it was."""
        return self._noise.spare(self.rate, self._raised_by) if self._levels else 0.0

    # --- up

    def _followed(self, now: float) -> TokenBucket | None:
        """Returns the bucket, after a raise if it is time for one."""
        if self._growing:
            self._grow(now)
        elif now >= self._raise_at and self._has_stood(now):
            self._raise(now)
        return self._bucket

    def _grow(self, now: float) -> None:
        if self._short and self._round_trip:
            exponent = max(LEAST_GROWTH, min(GROWTH, GROWTH_A_ROUND_TRIP / self._round_trip))
            rate = self.rate * exp(exponent * min(now - self._grown, 0.1))
            self._set(now, rate if rate < GROWN else inf)
        self._grown = now
        self._short = False

    def _raise(self, now: float) -> None:
        rate, goodput = self.rate, self._goodput
        if not goodput.is_used(0.8 * (1 - self._noise.share) * rate):
            self._look_anew(now)
            return
        self._noise.stood(goodput, raised=self._climbing)
        if not self._climbing:
            self._climbing = True
            self._levels = []
            self._cost = 0
        self._levels.append(rate)
        step, self._step = self._step, min(1.0, 2 * self._step)
        self._raised_by = step
        self._change(now, rate * (1 + step))

    def _look_anew(self, now: float) -> None:
        """Counts from now on, where the pace does not change since not all of it is used."""
        if now - self._changed > UNUSED_S:
            self._noise.stood(self._goodput, raised=False)
            self._changed = now
            self._goodput.begin(now)

    def _has_stood(self, now: float) -> bool:
        """Whether the pace may be raised: it stood for long enough, by time and by answers, or for the longest time."""
        if not (self._climbing or not self._sure or now >= self._changed + self._quiet_s()):
            return False
        noise, goodput = self._noise, self._goodput
        if now >= self._changed + STANDS_LONGEST_S * (4 if noise.cuts and goodput.refused else 1):
            return True
        if noise.is_trying(goodput) or noise.cut_had_no_effect(goodput):
            return False
        return goodput.answers >= noise.shows(max(self._raised_by, SURE_STEP) if self._climbing else self._step)

    def _stands_s(self) -> float:
        """Time for which a pace must stand before it is raised, at least."""
        return max(STANDS_S + 2 * self._round_trip, self._cycle_s)

    def _quiet_s(self) -> float:
        """Time for which a sure pace is left alone."""
        return max(QUIET_S, min(LONGEST_QUIET_S, QUIET_PARTS * self._cost / self.rate))

    # --- down

    def _cut_growing(self, now: float) -> None:
        """Ends the growth; until enough is known the pace is what was taken so far."""
        measured = self._goodput.rate()
        if measured is not None:
            self._growing = False
            offered = measured / (1 - self._goodput.share_refused)
            self._noise.cut(min(self.rate, offered), self._goodput)
            self._settle(now, min(self.rate, measured * UNDER), sure=False)
            return
        so_far = max(self.rate / 2, (self._opened_took + 1) / max(EARLY_S, now - self._opened))
        if so_far < self.rate:
            self._set(now, so_far)
            self.learnt_at = now

    def _step_back(self, now: float, *, sure: bool) -> None:
        self._settle(now, self._levels.pop(), sure=sure)

    def _cut(self, now: float) -> None:
        """Cuts the pace to what was taken, if that is known."""
        measured = self._goodput.rate()
        if measured is None or self._noise.is_trying(self._goodput):
            return
        before = self._noise.cut(self.rate, self._goodput)
        if before is not None:
            self._pauses.end(now, 0.0)
            self._levels = []
            self._settle(now, before, sure=False)
            self._step = TRY_STEP
        elif self._levels:
            self._step_back(now, sure=True)
        else:
            share = CUTS[min(self._noise.cuts - 1 + (not self._sure), len(CUTS) - 1)]
            rate = min(self.rate * share, UNDER * measured / (1 - self._noise.share))
            if self._goodput.share_refused <= MOST:
                rate = max(rate, LEFT * self.rate * (1 - self._goodput.share_refused))
            self._cost = 1
            self._settle(now, rate, sure=self._sure and rate >= 0.8 * self.rate)

    def _open(self, now: float, written: float) -> None:
        """The operator takes parts again after it took none. Where it was shut for most of the time since it last
        opened, and so it was the time before, the pace is what it took in that time."""
        cycle_s, took = written - self._opened, self._opened_took
        shut_s = written - self._pauses.closed_at
        self._opened, self._opened_took = written, 0
        again, self._shuts = self._shuts, shut_s >= cycle_s / 2
        if shut_s > SHUT_LONG_S:
            self._goodput.begin(now)
        if not (again and self._shuts and cycle_s >= SPAN_S and took >= FEWEST_OF_A_CYCLE):
            return
        if took / cycle_s >= self.rate:
            return
        self._growing = False
        self._cycle_s = cycle_s
        self._levels = []
        self._settle(now, took / cycle_s * UNDER, sure=False)

    def _settle(self, now: float, rate: float, *, sure: bool) -> None:
        """Ends a climb at a pace that stands, or that may."""
        self._climbing = False
        self._sure = sure
        self._step = SURE_STEP if sure and not self._noise.share else UNSURE_STEP
        self._raised_by = 0.0
        self.learnt_at = now
        self._change(now, rate)
        # what is throttled until then was so for the same reason
        self._episode_until = now + SPAN_S + self._round_trip

    # --- the bucket

    def _change(self, now: float, rate: float) -> None:
        self._set(now, rate)
        self._changed = now
        self._goodput.begin(now)
        self._raise_at = now + self._stands_s()

    def _begin_anew(self, now: float) -> None:
        """Forgets what was taken before a time in which nothing was asked of the operator."""
        self._opened, self._opened_took = now, 0
        self._grown = now
        self._goodput.begin(now)

    def _set(self, now: float, rate: float) -> None:
        rate = max(LEAST, min(rate, self._limit))
        if rate >= NO_LIMIT:
            self._bucket = None
            self._growing = True
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
        """Parts that may go at once: some of what is configured; of what was learnt those alone that are late."""
        if rate >= self._limit:
            return max(1.0, SHARE_OF_BURST * rate)
        late_s = min(LATE_S, max(LATE_S * rate / LATE_FROM, LATE_SHARE / rate))
        return max(1 + rate * late_s, AT_ONCE if self._growing and self.learnt_at is None else 1.0)

    # --- congestion

    def congested(self, now: float, percent: int) -> None:
        """Notes the operator's load, 0 to 99: from NEARING on the pace is not raised, from CONGESTED on it is cut."""
        if percent < NEARING:
            return
        self._raise_at = max(self._raise_at, now + self._stands_s())
        self._short = False
        eased = self._congestion.eased(now, percent, self.rate, self._goodput.rate())
        if eased is not None:
            self._growing = False
            self._levels = []
            self._settle(now, eased, sure=True)
