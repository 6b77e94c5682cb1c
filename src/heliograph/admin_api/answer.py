"""Answers in JSON of the admin API, and of the doors before it."""

from heliograph.http.asgi import Headers, Scope, Send, respond


async def respond_json(scope: Scope, send: Send, status: int, body: bytes, headers: Headers) -> None:
    """Sends the whole answer, which nobody may keep; `headers` are those besides its type and length."""
    about_body = [
        (b"content-type", b"application/json"),
        (b"content-length", b"%d" % len(body)),
        (b"cache-control", b"no-store"),
    ]
    await respond(scope, send, status, [*headers, *about_body], body)
