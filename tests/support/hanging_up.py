"""Offers `reset`, by which one end of a connection hangs up on the other."""

import asyncio
import socket
import struct


def reset(writer: asyncio.StreamWriter) -> None:
    """Hangs up at once: a mere end of what the client says may be followed by the answer."""
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()
