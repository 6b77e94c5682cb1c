"""The parts of the application behind the doors of the API."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from heliograph.api.decode import USUAL, Bounds
from heliograph.app.inbound.pull import Pulling
from heliograph.app.inbound.suppression_list import SuppressionList
from heliograph.app.observing.refusals import Refusals
from heliograph.app.ports import Clock, Journal
from heliograph.app.sending.authenticate import Authenticator
from heliograph.app.sending.browse import Browse
from heliograph.app.sending.feedback import FeedbackList
from heliograph.app.sending.reschedule import Rescheduling
from heliograph.app.sending.send import Sending
from heliograph.domain.limits import defaults
from heliograph.runtime.listening import NoticeListeners
from heliograph.runtime.long_polls import LongPolls


@dataclass(slots=True)
class Services:
    """The parts, and the settings that the doors need."""

    authenticator: Authenticator
    sending: Sending
    rescheduling: Rescheduling
    browse: Browse
    pulling: Pulling
    long_polls: LongPolls
    suppression_list: SuppressionList
    feedback: FeedbackList
    listening: NoticeListeners
    clock: Clock
    journal: Journal
    probe: Callable[[], Awaitable[None]]
    """Raises Unavailable while the store cannot be written."""
    away: Callable[[], bool]
    """Returns True while the store is known to be away, or the node's lease has lapsed."""
    refusals: Refusals
    request_prefix: str
    """Beginning of the request ids of this process: random, in `[A-Za-z0-9_-]`."""
    max_body: int = defaults.MAX_BODY_OCTETS
    bounds: Bounds = USUAL
    leaving: bool = False
    """True before a stop: /health/ready answers 503, and everything else is served."""
    customers: bool = True
    """Whether customers are served; /health is always served."""
