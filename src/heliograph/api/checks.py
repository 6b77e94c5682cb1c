"""The checks of every door, in this order: credentials, rate of requests, size of the body."""

import binascii

from heliograph.api.call import Call
from heliograph.app.ports import Clock
from heliograph.app.sending.authenticate import Authenticator, ClientCredentials, readmit
from heliograph.app.sending.principal import Door
from heliograph.domain.error import MEDIA_TYPE, TOO_EARLY, TOO_LARGE, UNAUTHENTICATED, Fault
from heliograph.http.asgi import ClientGone

ACCOUNT_OCTETS = 16 * 1024 * 1024
"""Most octets of an account's chunked bodies, over all its connections. There may be thousands of them, each with a
minute for its body.
"""

PAUSE_S = 1
"""Seconds in Retry-After."""


class Bodies:
    """Octets of incomplete bodies, by account."""

    def __init__(self) -> None:
        self._octets: dict[int, int] = {}

    def add(self, account: int, octets: int) -> None:
        """Counts octets that were received. Raises Fault above ACCOUNT_OCTETS; then nothing was counted."""
        total = self._octets.get(account, 0) + octets
        if total > ACCOUNT_OCTETS:
            problem = "Too many long requests of this account are in progress; send this request again a little later."
            raise Fault(TOO_EARLY, problem, None, PAUSE_S)
        self._octets[account] = total

    def release(self, account: int, octets: int) -> None:
        """Subtracts the octets of a body that is complete or was abandoned."""
        left = self._octets.get(account, 0) - octets
        if left > 0:
            self._octets[account] = left
        else:
            self._octets.pop(account, None)


class RequestChecks:
    """Checks the requests of an API."""

    def __init__(self, authenticator: Authenticator, clock: Clock, max_body: int) -> None:
        self._authenticator = authenticator
        self._clock = clock
        self._max_body = max_body
        self.bodies = Bodies()

    async def sign_in(self, door: Door, call: Call) -> None:
        """Sets `call.who` by Basic credentials, and counts the request against the account's rate. Raises Fault (401,
        403, 429)."""
        now = self._clock.monotonic()
        proven = self._authenticator.proven(door, call.authorization, now)
        if proven is not None:
            call.who = who = proven.principal
            self._authenticator.admission.admit(who.view, call.address, now)
        else:
            await self.sign_in_with(door, call, basic_credentials(call.authorization))

    async def sign_in_with(self, door: Door, call: Call, credentials: ClientCredentials) -> None:
        """Does the same with credentials from another part of the request, for example the query."""
        now = self._clock.monotonic()
        call.who = who = await self._authenticator.check(door, credentials, call.address, now)
        self._authenticator.admission.admit(who.view, call.address, self._clock.monotonic())

    async def sign_in_again(self, call: Call) -> None:
        """Checks after a long wait whether the request may still be answered. Raises Fault."""
        door, now = call.who.door, self._clock.monotonic()
        proven = self._authenticator.proven(door, call.authorization, now)
        if proven is None:
            credentials = basic_credentials(call.authorization)
            call.who = await self._authenticator.check(door, credentials, call.address, now)
        else:
            call.who = proven.principal
        readmit(call.who.view, call.address)

    async def body(self, call: Call) -> bytes:
        """Returns the whole body. Raises Fault (413, 415) and ClientGone."""
        most = self._max_body
        declared = call.content_length
        if declared is not None and declared.isdigit() and int(declared[:20]) > most:
            raise _too_large(most)
        call.waits_to_send = False
        message = await call.receive()
        body: bytes = message.get("body", b"")
        if message["type"] == "http.disconnect":
            raise ClientGone
        if message.get("more_body", False):
            body = await self._gather(call, body, most)
        if len(body) > most:
            raise _too_large(most)
        if call.content_encoding is not None and call.content_encoding.lower() not in (b"", b"identity"):
            raise Fault(MEDIA_TYPE, "A compressed body is not supported; send it as it is.")
        return body

    async def _gather(self, call: Call, first: bytes, most: int) -> bytes:
        """Returns the rest of a chunked body, up to the first chunk beyond `most` octets. Raises Fault (429) if the
        account has too many octets in progress, and ClientGone.
        """
        bodies, account = self.bodies, call.who.view.account.id
        gathered = bytearray()
        piece, more = first, True
        try:
            while True:
                bodies.add(account, len(piece))
                gathered += piece
                if not more or len(gathered) > most:
                    return bytes(gathered)
                message = await call.receive()
                if message["type"] == "http.disconnect":
                    raise ClientGone
                piece, more = message.get("body", b""), message.get("more_body", False)
        finally:
            bodies.release(account, len(gathered))


def basic_credentials(header: bytes | None) -> ClientCredentials:
    """Reads Basic credentials (RFC 7617) from an Authorization header. Raises Fault (401) if there are none."""
    if header is None:
        raise Fault(UNAUTHENTICATED, "The header Authorization is missing; send Basic credentials.")
    scheme, _, encoded = header.strip().partition(b" ")
    problem = "The header Authorization cannot be read; send Basic and the base64 of user:secret in UTF-8."
    if scheme.lower() != b"basic":
        raise Fault(UNAUTHENTICATED, problem)
    try:
        name, colon, secret = binascii.a2b_base64(encoded.strip(), strict_mode=True).decode().partition(":")
    except ValueError:
        raise Fault(UNAUTHENTICATED, problem) from None
    if not colon or any(char < " " or char == "\x7f" for char in name):  # RFC 7617, 2: no control characters
        raise Fault(UNAUTHENTICATED, problem)
    return ClientCredentials(name, secret, header)


def _too_large(most: int) -> Fault:
    return Fault(TOO_LARGE, f"The body is too large; it may have {most} octets.")
