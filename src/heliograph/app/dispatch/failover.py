"""Failover: a message that its operator refuses, or cannot take now, goes to the next candidate of its route.

    answer in `FailoverPolicy.statuses` --> held, until no part of the message is under way
                                                  |
          another candidate is left, and no operator has a part, or may have one?
                | yes                             | no
                v                                 v
    attempt noted, row of the next lane     refused or put off, as without other candidates

An attempt in the history names each operator that refused the message. So after a crash too, each is tried once.

What can go wrong: the answer arrives and the process dies before the commit. The message is then sent to the same
operator again, which refused it.
"""

from collections.abc import Collection
from typing import Final, Protocol

from heliograph.app.connector_kind import FailoverPolicy
from heliograph.app.dispatch.lane import Lane
from heliograph.app.dispatch.lane_item import LaneItem
from heliograph.app.facts import NOT_SENT
from heliograph.app.ports import Deferred, Refused, Unknown
from heliograph.app.routing.candidates import Routed

PUT_BACK_MS: Final = 10_000
"""Milliseconds until a message without another candidate is looked at again, if its connector cannot send."""


REFUSED: Final = "refused"
"""Reason of a failover: the operator refused the message."""

UNUSABLE: Final = "unusable"
"""Reason of a failover: the connector cannot send now."""


class Router(Protocol):
    """The rules and the state of the connectors, as far as dispatch needs them."""

    def route(self, message: Routed) -> int | None:
        """Returns the connector for a message; None without a route."""

    def another(self, message: Routed, tried: Collection[int]) -> int | None:
        """Returns a connector that can send a message now and has not tried it; None without another."""

    def obstacle(self, connector: int) -> str:
        """Returns why a connector cannot send now, such as `paused`; empty if it can."""

    def is_excluded(self, message: Routed, connector: int) -> bool:
        """Returns whether the rules of its plan now keep a message from a connector."""

    def has_others(self, connector: int) -> bool:
        """Returns whether any message for this connector may have another candidate that can send now."""


def is_for_another(outcome: Refused | Deferred | Unknown, policy: FailoverPolicy) -> bool:
    """Returns whether another operator may try a message after this answer to a part."""
    if isinstance(outcome, Unknown):
        return policy.unknown
    if isinstance(outcome, Refused) and outcome.status == NOT_SENT:
        return True
    return outcome.status in policy.statuses and not (isinstance(outcome, Deferred) and outcome.throttled)


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
