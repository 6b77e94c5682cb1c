"""Request bodies, read from ASGI events."""

from heliograph.http.asgi import Receive


class ClientGone(Exception):
    """The client hung up before its request was complete."""


class BodyTooLarge(ValueError):
    """The body of a request has more octets than its reader takes. The text says so to the client."""


async def read_body(receive: Receive, most: int) -> bytes:
    """Returns the whole body. Raises BodyTooLarge beyond `most` octets, and ClientGone."""
    body = bytearray()
    while True:
        event = await receive()
        if event["type"] == "http.disconnect":
            raise ClientGone
        body += event.get("body", b"")
        if len(body) > most:
            raise BodyTooLarge(f"The body is too large; it may have {most:,} octets.")
        if not event.get("more_body", False):
            return bytes(body)
