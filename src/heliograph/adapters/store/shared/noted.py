"""The audit log's line of a change, in the change's own transaction."""

from collections.abc import Callable
from typing import Any, TypeVar

from heliograph.adapters.store.shared.audit_log import append
from heliograph.adapters.store.shared.steps import Engine, Steps, Way
from heliograph.app.admin.oversight import AuditEntry

R = TypeVar("R")


class Noted:
    """An engine whose writing operations end with a line in the audit log."""

    def __init__(self, engine: Engine, describe: Callable[[Any], AuditEntry | None]) -> None:
        """`describe` makes the line from what the operation returns, or None for none."""
        self._engine = engine
        self._describe = describe

    async def run(self, way: Way, operation: Callable[[], Steps[R]]) -> R:
        """Runs the operation, and the line as its last step if it writes."""
        if way is not Way.WRITE:
            return await self._engine.run(way, operation)

        def noted() -> Steps[R]:
            result = yield from operation()
            deed = self._describe(result)
            if deed is not None:
                yield append(deed)
            return result

        return await self._engine.run(way, noted)
