"""The part of asyncpg's connection that the store uses."""

from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol


class Db(Protocol):
    """A connection, or a fake of it. A row is a sequence that knows its columns' names."""

    async def execute(self, query: str, *values: Any) -> str:
        """The command's tag, such as `UPDATE 1`. Without values, the query may be several statements."""

    async def executemany(self, query: str, rows: Any) -> None: ...

    async def fetch(self, query: str, *values: Any) -> list[Any]: ...

    async def fetchrow(self, query: str, *values: Any) -> Any | None: ...

    async def fetchval(self, query: str, *values: Any) -> Any:
        """The first column of the first row; None if there is none."""

    def transaction(self, *, isolation: str = ..., readonly: bool = ...) -> AbstractAsyncContextManager[Any]: ...

    async def close(self, *, timeout: float) -> None: ...  # noqa: ASYNC109 - as asyncpg has it

    def terminate(self) -> None: ...

    def is_closed(self) -> bool: ...

    def get_server_version(self) -> Any: ...
