"""Sending: the use case behind every door.

The callers are HTTP v1 and v2, the short cut, and the console's lists. Each passes a `Principal` (the account and its
door) and `Fields` (the request). A request takes three steps:

1. The *composer* checks the fields in their order, routes and prices each destination.
2. The *gate* judges the account's rules; an account without rules skips this. A held message goes through the queue,
   and is judged again when it is claimed.
3. The *intake* takes the request for the next commit. The commit charges and stores it, or refuses it for its credit or
   a daily limit, or finds that its `reference` was used before. `then` is called after the commit, on the event loop:
   no request costs a task or a future.

A refusal before the commit raises a Fault, and changes nothing. But a request with the reference of an accepted request
gets the first answer again, even if it would be refused now. For example, its time is past, its route is gone, or the
account is over its rate. Only `replay` reads the store for that. So a caller that caught a Fault calls
`may_be_replayed`, and if it returns True awaits `replay`, which returns the first result or raises that Fault.
"""

from collections.abc import Callable, Container, Sequence

from heliograph.app.facts import Accept, Message, queued_of
from heliograph.app.ports import Clock, Customers, Intake
from heliograph.app.sending.compose import Composer
from heliograph.app.sending.fields import Fields
from heliograph.app.sending.fingerprint import could_have_been_accepted, fingerprint
from heliograph.app.sending.limits import RateLimits
from heliograph.app.sending.principal import Principal
from heliograph.app.sending.refusal import unavailable
from heliograph.domain.calendar import day_of
from heliograph.domain.error import UNAVAILABLE, Fault
from heliograph.domain.limits.acceptance import Spender
from heliograph.domain.limits.acceptance import judge as judge_acceptance
from heliograph.domain.limits.allowance import overrun_fault
from heliograph.domain.limits.gate import PASS, Rule, judge, over_rate, require
from heliograph.domain.text.segment import Split


class Sending:
    """Takes requests to send."""

    def __init__(self, composer: Composer, customers: Customers, intake: Intake, clock: Clock) -> None:
        self._composer = composer
        self._customers = customers
        self._intake = intake
        self._clock = clock
        self._rates = RateLimits()
        self._days: dict[str, tuple[int, int]] = {}
        """The account's day by time zone: its start and its end."""

    def send(self, who: Principal, fields: Fields, then: Callable[[Accept], None]) -> None:
        """Hands the request to the next commit. `then` is called once after the commit, with the verdict.

        Raises Fault without any effect and without a call of `then`, for example UNAVAILABLE if too many requests wait.
        """
        self.hand_in(self.prepare(who, fields), then)

    def prepare(self, who: Principal, fields: Fields) -> Accept:
        """Composes the request, judges it and counts it against the account's rate. Raises Fault.

        The first half of `send`, for a caller that must know which half failed.
        """
        accept = self._composer.compose(who, fields, self._clock.now())
        policy = who.view.policy
        if policy is not None:
            if policy.capped:
                accept.day_ends = self._day_ends(who, accept.at)
            if policy.at_accept:
                _apply(policy.at_accept, accept)
            if policy.rate > 0:
                wait = self._rates.take(accept.account, policy.rate, len(accept.messages), self._clock.monotonic())
                if wait > 0:
                    raise over_rate(policy.rate, wait)
        return accept

    def hand_in(self, accept: Accept, then: Callable[[Accept], None]) -> None:
        """Hands a prepared request to the next commit. Raises Fault (UNAVAILABLE) if the store is away, or too many
        requests wait."""
        if not self._intake.accept(accept, then):
            raise unavailable() if self._intake.away else busy()

    def compose(self, who: Principal, fields: Fields) -> Accept:
        """Returns the accept that `send` would add to the commit, without checking limits and credit. Raises Fault."""
        return self._composer.compose(who, fields, self._clock.now())

    def unknown_numbers(self, who: Principal, fields: Fields) -> Sequence[str]:
        """Returns the destinations of which the networks must be found before `send`, `prepare` or `quote`, by
        `find_networks`. Sent without, they count by their prefix."""
        return self._composer.unknown_numbers(who.view, fields)

    async def find_networks(self, who: Principal, fields: Fields) -> None:
        """Asks the server of `routing.lookup_url`, if there is one, for 300 ms at most."""
        numbers, ported = self.unknown_numbers(who, fields), self._composer.directory.ported
        if numbers and ported is not None:
            await ported.ask(numbers)

    async def quote(self, who: Principal, fields: Fields) -> Accept:
        """Returns the same, but also raises Fault if daily limits or the limit of waiting messages would refuse it
        now.
        """
        await self.find_networks(who, fields)
        accept = self.compose(who, fields)
        policy = who.view.policy
        if policy is not None and policy.capped:
            allowance = await self._customers.allowance(accept.account)
            day_ends = self._day_ends(who, accept.at)
            allowance.turn(day_ends)
            number = len(accept.messages)
            overrun = allowance.overrun(number, accept.total, number if accept.scheduled else 0)
            if overrun is not None:
                raise overrun_fault(overrun, day_ends, accept.at)
        return accept

    async def rehearse(self, who: Principal) -> "Rehearsal":
        """Returns a rehearsal of requests, with the account's present credit and use of its limits."""
        account, policy = who.view.account, who.view.policy
        room = await self._customers.balance(account.id) + account.credit_limit
        spender = Spender(account.id, room, False, None)
        day_ends = 0
        if policy is not None and policy.capped:
            spender.allowance = await self._customers.allowance(account.id)
            day_ends = self._day_ends(who, self._clock.now())
        return Rehearsal(self, who, spender, day_ends)

    def split(self, message: Message) -> Split:
        """Returns the encoding and the parts of a quoted message."""
        return self._composer.split(message)

    def may_be_replayed(self, fields: Fields, fault: Fault) -> bool:
        """Returns whether a request that ended in this Fault may have been accepted before."""
        return fields.replays is not None and fault.entry is not UNAVAILABLE

    async def replay(self, who: Principal, fields: Fields, fault: Fault) -> Accept:
        """Returns the first result of an earlier request with the same reference, or raises the Fault."""
        reference = fields.replays
        if reference is None or not could_have_been_accepted(fields, who.door):
            raise fault
        found = await self._customers.replayed(who.view.account.id, reference)
        if found is None or found[0] != fingerprint(fields):
            raise fault
        return found[1]

    def _day_ends(self, who: Principal, at: int) -> int:
        """Returns the end (ms) of the account's day."""
        zone = who.view.zone
        begins, ends = self._days.get(zone.key, (0, 0))
        if not begins <= at < ends:
            begins, ends = self._days[zone.key] = day_of(at, zone)
        return ends


class Rehearsal:
    """Judges requests as if they were sent now, one after the other, without any effect. The rate does not count."""

    def __init__(self, sending: Sending, who: Principal, spender: Spender, day_ends: int) -> None:
        self._sending = sending
        self._who = who
        self._spender = spender
        self._day_ends = day_ends

    def send(self, fields: Fields, opted_out: Container[str] = ()) -> Accept:
        """Returns the accept with its verdict, for example DAILY_MESSAGES. Raises Fault if it would not come to the
        store. `opted_out`: numbers that `Suppressions.among` found."""
        accept = self._sending.compose(self._who, fields)
        policy = self._who.view.policy
        if policy is not None and policy.at_accept:
            _apply(policy.at_accept, accept)
        accept.day_ends = self._day_ends
        left_out = [index for index, message in enumerate(accept.messages) if message.destination in opted_out]
        queued = queued_of(accept.messages) - queued_of([accept.messages[index] for index in left_out])
        accept.verdict = judge_acceptance(self._spender, accept, None, left_out, queued)
        return accept


def _apply(rules: tuple[Rule, ...], accept: Accept) -> None:
    """Judges the messages of a request by the rules of the gate. A single refusal refuses the whole: raises Fault."""
    for message in accept.messages:
        judgement = judge(message, rules, accept.at)
        require(judgement)
        if judgement is not PASS:
            message.queued = True


def busy() -> Fault:
    """Returns the fault for a request while too many others wait."""
    return Fault(UNAVAILABLE, "Too many requests are waiting; nothing was charged. Send it again in a second.")
