"""Operators' ids that await no receipt: ids of finished parts, and aliases of parts that were sent twice."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from heliograph.app.ports import Report
from heliograph.app.receipts.readings import agrees, readings

REMEMBER_FINISHED: Final = 10_000
"""Finished ids that are remembered for a connector, so that a repeated receipt is recognised. Operators repeat within
seconds; 10,000 ids are ten seconds at 1,000 messages a second."""

ALIASES: Final = 10_000
"""Aliases that are remembered, the latest ones. They arise only where parts were sent twice."""


def names_one_of(report: Report, finished: Mapping[str, str], *, last_resort: bool = False) -> bool:
    """Whether a reading of the receipt is for one of these parts: their destinations by the operator's id.
    `last_resort`: see `readings`."""
    for reading in readings(report, last_resort=last_resort):
        destination = finished.get(reading.operator_id)
        if destination is not None and agrees(reading.number, destination):
            return True
    return False


class OperatorIds:
    """Remembers the ids of finished parts, and aliases. A restart forgets them."""

    def __init__(self) -> None:
        self._finished: dict[int, dict[str, str]] = {}
        """Destinations of finished parts, by connector and operator's id."""
        self._aliases: dict[tuple[int, str], tuple[str, str]] = {}
        """First ids and destinations of parts sent twice, by connector and second id."""
        self.repeated = 0
        """The number of receipts for parts that were in their final state already."""

    def begin(self, connector: int, operator_id: str) -> None:
        """Notes that a part has the id now, which may have been a finished part's."""
        finished = self._finished.get(connector)
        if finished:
            finished.pop(operator_id, None)

    def finish(self, connector: int, operator_id: str, destination: str) -> None:
        """Notes that the part with this id is in its final state."""
        finished = self._finished.setdefault(connector, {})
        finished[operator_id] = destination
        if len(finished) > REMEMBER_FINISHED:
            for forgotten in list(finished)[: REMEMBER_FINISHED // 10]:
                del finished[forgotten]

    def is_repeat(self, connector: int, report: Report) -> bool:
        """Whether the receipt is for a part in its final state; if so, counts it."""
        finished = self._finished.get(connector)
        if not finished or not names_one_of(report, finished, last_resort=True):
            return False
        self.repeated += 1
        return True

    def add_alias(self, connector: int, operator_id: str, other: str, destination: str) -> None:
        """Remembers `operator_id` as an alias of `other`, the first id of the same part."""
        self._aliases[connector, operator_id] = (other, destination)
        if len(self._aliases) > ALIASES:
            del self._aliases[next(iter(self._aliases))]

    def resolve_alias(self, connector: int, report: Report) -> Report | None:
        """Returns the receipt under the first id of its part if its own id is an alias, else None."""
        if not self._aliases:
            return None
        for reading in readings(report):
            first = self._aliases.get((connector, reading.operator_id))
            if first is not None and agrees(reading.number, first[1]):
                return replace(report, operator_id=first[0], other_id="", came=0)
        return None
