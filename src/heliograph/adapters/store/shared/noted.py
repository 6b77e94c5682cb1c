"""The audit log's line of a change, in the change's own transaction."""

from collections.abc import Callable
from typing import Any, TypeVar

from heliograph.adapters.store.shared.steps import RunMode, Runner, Steps
from heliograph.adapters.store.shared.users import append
from heliograph.app.records import AuditEntry

R = TypeVar("R")


class Noted:
    """A runner that ends each writing operation with a line in the audit log."""

    def __init__(self, runner: Runner, describe: Callable[[Any], AuditEntry | None]) -> None:
        """`describe` makes the line from the result of the operation; None means no line."""
        self._runner = runner
        self._describe = describe

    async def run(self, mode: RunMode, operation: Callable[[], Steps[R]]) -> R:
        """Runs the operation, and the line as its last step if it writes."""
        if mode is not RunMode.WRITE:
            return await self._runner.run(mode, operation)

        def noted() -> Steps[R]:
            result = yield from operation()
            deed = self._describe(result)
            if deed is not None:
                yield from append(deed)
            return result

        return await self._runner.run(mode, noted)
