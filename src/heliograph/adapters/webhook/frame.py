"""Frames between the gateway and its sender's process: four octets of length (big-endian), then MessagePack.

Gateway to sender: first `Settings`, then lists of `Job`; an empty list says that there will be no more.
Sender to gateway: lists of `Sent`.
"""

LENGTH_OCTETS = 4
LONGEST_OCTETS = 64 * 1024 * 1024
"""More than any honest frame: `JOBS_PER_FRAME` with the longest of bodies."""
JOBS_PER_FRAME = 1_000


class FrameReader:
    """Octets in, payloads of whole frames out."""

    def __init__(self) -> None:
        self._rest = bytearray()

    def feed(self, data: bytes) -> list[bytes]:
        """Raises ValueError for a length that cannot be."""
        rest = self._rest
        rest += data
        frames: list[bytes] = []
        at = 0
        while len(rest) - at >= LENGTH_OCTETS:
            length = int.from_bytes(rest[at : at + LENGTH_OCTETS], "big")
            if length > LONGEST_OCTETS:
                raise ValueError(f"a frame of {length} octets")
            end = at + LENGTH_OCTETS + length
            if end > len(rest):
                break
            frames.append(bytes(rest[at + LENGTH_OCTETS : end]))
            at = end
        del rest[:at]
        return frames


def framed(payload: bytes) -> bytes:
    return len(payload).to_bytes(LENGTH_OCTETS, "big") + payload
