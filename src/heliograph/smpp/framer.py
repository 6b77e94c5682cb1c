"""Octets in, whole PDUs out: SMPP v3.4, 3.2 (command_length)."""

from struct import Struct
from typing import Final

from heliograph.smpp import constants as c
from heliograph.smpp.constants import CommandStatus
from heliograph.smpp.error import PduError

_LENGTH: Final = Struct(">I")
_HEADER_REST: Final = Struct(">III")


class Framer:
    """Cuts a stream into frames. It buffers at most one incomplete frame, so at most `max_octets`.

    Each octet is copied a fixed number of times, even if the stream arrives in small pieces.

    A command_length below 16 or above `max_octets` cannot be recovered from. `error` then says why, and all further
    octets are dropped.
    """

    __slots__ = ("_max", "_need", "_partial", "error")

    def __init__(self, max_octets: int = c.MAX_PDU_OCTETS) -> None:
        self._max = max_octets
        self._partial = bytearray()
        self._need = 0
        self.error: PduError | None = None

    def feed(self, data: bytes) -> list[bytes]:
        """Returns the frames that `data` completes, in order. For example, half an enquire_link returns none, and the
        other half returns its 16 octets."""
        if self.error is not None:
            return []
        if self._partial:
            self._partial += data
            if len(self._partial) < self._need:
                return []
            data = bytes(self._partial)
            self._partial.clear()
        frames: list[bytes] = []
        position = 0
        end = len(data)
        unpack = _LENGTH.unpack_from
        largest = self._max
        while end - position >= 4:
            (length,) = unpack(data, position)
            if not c.HEADER_OCTETS <= length <= largest:
                self._give_up(data[position:], length)
                return frames
            after = position + length
            if after > end:
                self._need = length
                break
            frames.append(data[position:after])
            position = after
        else:
            self._need = 4
        if position < end:
            self._partial += data[position:]
        return frames

    def _give_up(self, rest: bytes, length: int) -> None:
        whole = len(rest) >= c.HEADER_OCTETS
        command_id, _, sequence = _HEADER_REST.unpack_from(rest, 4) if whole else (0, 0, 0)
        # The other numbers of the header are as doubtful as its length, so SMPP v3.4, 4.3.1 asks for sequence 0.
        if length < c.HEADER_OCTETS:
            command_id = sequence = 0
        self.error = PduError(
            f"command_length {length}",
            CommandStatus.ESME_RINVCMDLEN,
            command_id=command_id,
            sequence=sequence,
            recoverable=False,
        )
