"""Bodies of requests, as ASGI brings them."""

from heliograph.domain.error import TOO_LARGE, Fault
from heliograph.http.asgi import Receive


class ClientGone(Exception):
    """The client hung up before its request was complete."""


async def read_body(receive: Receive, most: int) -> bytes:
    """The whole body. Raises Fault (413) beyond `most` octets, and ClientGone."""
    body = bytearray()
    while True:
        event = await receive()
        if event["type"] == "http.disconnect":
            raise ClientGone
        body += event.get("body", b"")
        if len(body) > most:
            raise Fault(TOO_LARGE, f"The body is too large; it may have {most:,} octets.")
        if not event.get("more_body", False):
            return bytes(body)
