"""The types of ASGI, as far as they are used here."""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Scope = MutableMapping[str, Any]
Event = MutableMapping[str, Any]
"""What is received, and what is sent."""
Receive = Callable[[], Awaitable[Event]]
Send = Callable[[Event], Awaitable[None]]
Asgi = Callable[[Scope, Receive, Send], Awaitable[None]]
Headers = list[tuple[bytes, bytes]]
"""Names in lower case."""
