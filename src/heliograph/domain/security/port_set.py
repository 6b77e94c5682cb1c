"""Sets of ports, as settings have them: `443`, `1024-65535`."""

from collections.abc import Sequence
from typing import Final

USUAL_PORTS: Final = ("80", "443", "1024-65535")
"""Ports of the web, and those that any program may listen on: none of the services that a machine has for itself."""

_HIGHEST: Final = 65_535


class PortSet:
    """Ports, given as numbers and ranges. Raises ValueError, with a sentence for people, where one is neither."""

    __slots__ = ("_ranges", "texts")

    def __init__(self, texts: Sequence[str] = USUAL_PORTS) -> None:
        self.texts = tuple(texts)
        self._ranges = tuple(_range(text) for text in texts)

    def __contains__(self, port: int) -> bool:
        return any(first <= port <= last for first, last in self._ranges)

    def __str__(self) -> str:
        return ", ".join(self.texts) or "none"


def _range(text: str) -> tuple[int, int]:
    first, dash, last = text.partition("-")
    if not dash:
        last = first
    if not (_is_port(first) and _is_port(last) and int(first) <= int(last)):
        raise ValueError(f"{text!r} is no port and no range of ports; write 443 or 1024-65535")
    return int(first), int(last)


def _is_port(text: str) -> bool:
    return len(text) <= 5 and text.isascii() and text.isdigit() and 0 < int(text) <= _HIGHEST
