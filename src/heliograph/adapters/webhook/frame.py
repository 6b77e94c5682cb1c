"""Frames between the gateway and the process that posts callbacks: a length (4 octets, big-endian), then MessagePack.

Gateway to process: first `WebhookSettings`, then lists of `WebhookJob`; an empty list is the last.
Process to gateway: lists of `TryResult`.
"""

LENGTH_OCTETS = 4
LONGEST_OCTETS = 64 * 1024 * 1024
"""The longest frame taken: more than `JOBS_PER_FRAME` jobs with the longest bodies."""
JOBS_PER_FRAME = 100
"""Most jobs in a frame. A message from a phone with 64 KiB, the most of a PDU, has a form of half a MiB."""


class FrameReader:
    """Splits a stream of octets into the payloads of its frames."""

    def __init__(self) -> None:
        self._rest = bytearray()

    def feed(self, data: bytes) -> list[bytes]:
        """Returns the payloads that are complete now. Raises ValueError for an impossible length."""
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
