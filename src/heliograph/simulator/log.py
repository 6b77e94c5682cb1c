"""Logs the traffic and the decisions of the simulated operator as JSON lines."""

import asyncio
import dataclasses
from datetime import UTC, datetime
from typing import BinaryIO, Final

import msgspec

from heliograph.domain.display import harmless
from heliograph.smpp import tlv
from heliograph.smpp.constants import CommandStatus, command_name
from heliograph.smpp.pdu import Pdu

FLUSH_S: Final = 0.2
"""Longest time from noting a line to writing it."""

GATHERED_LINES: Final = 1_000
"""Lines buffered for one write."""

_UNSHOWN: Final = frozenset({"sequence", "status", "tlvs", "password", "short_message"})


class SimulatorLog:
    """Gathers lines and writes them to `stream` a few times a second. Shows numbers and texts in full, since developers
    send it their own.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, stream: BinaryIO) -> None:
        self._loop = loop
        self._stream = stream
        self._lines: list[bytes] = []
        self._timer: asyncio.TimerHandle | None = None
        self._encode = msgspec.json.Encoder().encode

    def note(self, event: str, **details: object) -> None:
        at = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        line = self._encode({"at": at, "event": event, **details}).decode()
        self._lines.append(harmless(line).encode() + b"\n")
        if len(self._lines) >= GATHERED_LINES:
            self.flush()
        elif self._timer is None:
            self._timer = self._loop.call_later(FLUSH_S, self.flush)

    def flush(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._stream.write(b"".join(self._lines))
        self._stream.flush()
        self._lines.clear()


def described(pdu: Pdu) -> dict[str, object]:
    """Returns a PDU under the names of the specification, octets as hexadecimal, without passwords."""
    shown: dict[str, object] = {
        "command": command_name(pdu.command_id),
        "sequence": pdu.sequence,
        "status": CommandStatus.name_of(pdu.status),
    }
    for entry in dataclasses.fields(pdu):
        if entry.name not in _UNSHOWN:
            shown[entry.name] = getattr(pdu, entry.name)
    content = getattr(pdu, "short_message", None)
    if content is not None:
        shown["short_message"] = content.hex()
    if pdu.tlvs:
        values = tlv.described(pdu.tlvs)
        shown["tlvs"] = {name: value.hex() if isinstance(value, bytes) else value for name, value in values.items()}
    return shown
