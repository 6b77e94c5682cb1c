"""Failover: a message that its operator refuses, or cannot take now, goes to the next candidate of its route.

    answer in `FailoverPolicy.statuses` --> held, until no part of the message is under way
                                                  |
          another candidate is left, and no operator has a part, or may have one?
                | yes                             | no
                v                                 v
    attempt noted, row of the next lane     refused or put off, as without other candidates

A message that was taken, and not delivered by its receipts, may go to the next candidate too (`ReceiptFailover`).

An attempt in the history names each operator that refused the message. So after a crash too, each is tried once.

What can go wrong: the answer arrives and the process dies before the commit. The message is then sent to the same
operator again, which refused it.
"""

from collections import Counter
from collections.abc import Callable, Collection
from typing import Final, Protocol

from heliograph.app.connector_kind import FailoverPolicy
from heliograph.app.dispatch.lane import Lane
from heliograph.app.dispatch.lane_item import LaneItem
from heliograph.app.dispatch.unknown_outcomes import UnknownOutcomes
from heliograph.app.facts import NOT_SENT, Resend
from heliograph.app.ports import Deferred, Gathering, Refused, Unknown
from heliograph.app.receipts.awaiting import TrackedMessage
from heliograph.app.routing.candidates import Routed
from heliograph.domain.message.receipt import Delivery, is_listed

PUT_BACK_MS: Final = 10_000
"""Milliseconds until a message without another candidate is looked at again, if its connector cannot send."""


UNDELIVERED: Final = "undelivered"
"""Reason of a failover: the operator took the message and reported that it was not delivered."""

REFUSED: Final = "refused"
"""Reason of a failover: the operator refused the message."""

UNUSABLE: Final = "unusable"
"""Reason of a failover: the connector cannot send now."""

RETURNED: Final = "returned"
"""Reason of a failover: the connector has more than it can send, and a better candidate works and is free."""

OVERLOADED: Final = "overloaded"
"""Beginning of the obstacle of a connector with messages that have waited for too long. It goes on sending."""


class Router(Protocol):
    """The rules and the state of the connectors, as far as dispatch needs them."""

    def route(self, message: Routed) -> int | None:
        """Returns the connector for a message; None without a route."""

    def another(self, message: Routed, tried: Collection[int]) -> int | None:
        """Returns a connector that can send a message now and has not tried it; None without another."""

    def remaining(self, message: Routed, tried: Collection[int]) -> int | None:
        """Returns the connector for a message that these connectors have tried, as `route` does. It waits if none of
        the others can send now. None if each has tried it."""

    def obstacle(self, connector: int) -> str:
        """Returns why a connector cannot send now, such as `paused`; empty if it can."""

    def is_excluded(self, message: Routed, connector: int) -> bool:
        """Returns whether the rules of its plan now keep a message from a connector."""

    def others(self, connector: int) -> Collection[int]:
        """Returns the connectors that can send now, and that may take some message for this connector."""


def is_for_another(outcome: Refused | Deferred | Unknown, policy: FailoverPolicy) -> bool:
    """Returns whether another operator may try a message after this answer to a part."""
    if isinstance(outcome, Unknown):
        return policy.unknown
    if isinstance(outcome, Refused) and outcome.status == NOT_SENT:
        return True
    return outcome.status in policy.statuses and not (isinstance(outcome, Deferred) and outcome.throttled)


def leaving_from(lane: Lane, obstacle: str, now: int) -> int:
    """Returns the time (ms) up to which messages were due that leave a lane with this obstacle: all, or if it is
    overloaded only those that waited for too long, so that the operator keeps work at its pace."""
    return now - int(lane.policy.failover.overflow_after_s * 1000) if obstacle.startswith(OVERLOADED) else now


def is_free(item: LaneItem, policy: FailoverPolicy) -> bool:
    """Returns whether no operator has a part of the message, or may have one, or refused one for good."""
    is_whole = item.open == (1 if item.whole else item.message.segments)
    return is_whole and item.taken == 0 and not item.paused and (policy.unknown or not item.doubtful)


def next_connector(lane: Lane, item: LaneItem, router: Router) -> int | None:
    """Returns the connector that tries the message after this lane's, or None."""
    policy = lane.policy.failover
    tried = item.tried | {lane.connector}
    if len(tried) > policy.most or not is_free(item, policy):
        return None
    return router.another(item.message, tried)


class ReceiptFailover:
    """Gives messages to another operator after receipts of `FailoverPolicy.receipts`.

    The rows of the message change in a single transaction (`facts.Resend`), so a crash leaves it with either operator.
    """

    def __init__(
        self,
        gathering: Gathering,
        lane: Callable[[int], Lane],
        router: Router,
        unknown: UnknownOutcomes,
        failovers: Counter[tuple[int, str]],
    ) -> None:
        """`lane` returns a connector's lane. `failovers` counts messages by connector and reason."""
        self._gathering = gathering
        self._lane = lane
        self._router = router
        self._unknown = unknown
        self._failovers = failovers

    def is_listed(self, connector: int, state: Delivery, err: str) -> bool:
        """See `Successor`."""
        listed = self._lane(connector).policy.failover.receipts
        return bool(listed) and is_listed(state, err, listed)

    def take_over(self, track: TrackedMessage, state: Delivery, err: str, now: int) -> bool:
        """See `Successor`. Each part must have been taken, and have a receipt of the list: a message without some of
        its receipts may have arrived. So may a copy of a part that has no answer, sent earlier or in a lane."""
        message, connector = track.message, track.connector
        policy = self._lane(connector).policy.failover if connector else FailoverPolicy()
        if not policy.receipts or not track.taken or track.accepted < message.segments or message.expires <= now:
            return False
        if track.held or not all(is_listed(*ending, policy.receipts) for ending in track.states.values()):
            return False
        tried = track.tried | {connector}
        instead = self._router.another(message, tried) if len(tried) <= policy.most else None
        if instead is None:
            return False
        self._gathering.facts.resends.append(
            Resend(
                message.account,
                message.key,
                connector,
                instead,
                state,
                err,
                message.time,
                message.expires,
                now,
                message,
            )
        )
        self._unknown.forget(message.key)
        self._failovers[connector, UNDELIVERED] += 1
        self._lane(instead).expect_row(message.account)
        self._gathering.wake()
        self._gathering.wake_feeder()
        return True
