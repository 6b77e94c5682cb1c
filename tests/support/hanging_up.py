"""Offers `reset`, by which an end of a connection resets it."""

import asyncio
import socket
import struct


def reset(writer: asyncio.StreamWriter) -> None:
    """Resets the connection at once. After a plain end of input the answer could still follow."""
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()
