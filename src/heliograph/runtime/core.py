"""The core: the parts of one engine that share its messages."""

from dataclasses import dataclass

from heliograph.app.dispatch import Dispatcher
from heliograph.app.lookup import Lookup
from heliograph.app.notify import Notifier
from heliograph.app.report import Reporter
from heliograph.runtime.carriers import Carriers
from heliograph.runtime.gather import Gatherer
from heliograph.runtime.outage import Outage


@dataclass(frozen=True, slots=True)
class Core:
    """Made at the start, when it is known what was in the air."""

    gatherer: Gatherer
    carriers: Carriers
    dispatcher: Dispatcher
    reporter: Reporter
    lookup: Lookup
    notifier: Notifier
    outage: Outage
