"""The parts of an engine. They share the messages in memory."""

from dataclasses import dataclass

from heliograph.app.dispatch.dispatcher import Dispatcher
from heliograph.app.inbound.reception import Reception
from heliograph.app.notices.notifier import Notifier
from heliograph.app.receipts.lookup import ReceiptLookup
from heliograph.app.receipts.matcher import ReceiptMatcher
from heliograph.runtime.carriers import Carriers
from heliograph.runtime.group_commit import GroupCommit
from heliograph.runtime.operator_caps import OperatorCaps
from heliograph.runtime.outage import Outage
from heliograph.runtime.pace_memory import PaceMemory


@dataclass(frozen=True, slots=True)
class EngineParts:
    """The parts of a running engine; made at its start, once recovery has read the unfinished work."""

    gatherer: GroupCommit
    carriers: Carriers
    caps: OperatorCaps
    paces: PaceMemory
    dispatcher: Dispatcher
    matcher: ReceiptMatcher
    lookup: ReceiptLookup
    notifier: Notifier
    reception: Reception
    outage: Outage
