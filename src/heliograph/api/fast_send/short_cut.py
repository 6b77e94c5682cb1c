"""Sends without a task, an ASGI call or a future for each request.

The usual path costs more than the request itself. A send with a plain head is answered directly from the connection.
All other requests, including sends with credentials that must be checked first, use ASGI as if the short cut did not
exist.
"""

from collections.abc import Callable

from heliograph.api import answer, decode
from heliograph.api.app import Api, internal_fault
from heliograph.api.fast_send.head import SHORT_BODY, Head, read_head
from heliograph.api.send_fields import send_fields
from heliograph.app.facts import Accept
from heliograph.app.observing.refusals import Asked
from heliograph.app.sending.directory import AccountView
from heliograph.app.sending.fields import Fields
from heliograph.domain.error import Fault
from heliograph.http.asgi import Headers
from heliograph.http.reply import Reply
from heliograph.http.short_cut import Channel, DirectRequest, ShortCut


class FastSends(ShortCut):
    """Takes plain sends to an `Api`."""

    def __init__(self, api: Api, choose: Callable[[Headers], bool] | None = None) -> None:
        """`choose`: decides by the headers whether a send must use ASGI, so that wrappers around the application see
        it."""
        self.api = api
        self.authenticator = api.services.authenticator
        self.sending = api.services.sending
        self.clock = api.services.clock
        self.bounds = api.services.bounds
        self.choose = choose
        self.longest = min(SHORT_BODY, api.max_body)
        """The longest body of a plain send. Octets."""

    def take(self, channel: Channel, target: bytes, headers: Headers) -> DirectRequest | None:
        head = read_head(target, headers, self.longest)
        if head is None or (self.choose is not None and self.choose(headers)):
            return None
        return PlainSend(self, channel, head)


class PlainSend(DirectRequest):
    """A send with a plain head."""

    __slots__ = ("_admitted", "_channel", "_sends", "head")

    def __init__(self, sends: FastSends, channel: Channel, head: Head) -> None:
        super().__init__(head.target, head.headers)
        self.head = head
        self._sends = sends
        self._channel = channel
        self._admitted: AccountView | None = None
        """The account, once the request counts against its rate."""

    def again(self, octets: int) -> bool:
        sends = self._sends
        if octets > sends.longest or sends.choose is not None:
            return False
        self.complete = False
        self.work = 0.0
        return True

    def run(self, body: bytes) -> bool:
        """Sends. The answer follows now, or when the message is stored.

        Returns False if it would have to wait for more than the commit: for a check of credentials, for the networks of
        its numbers, or for a lookup of an earlier request with the same reference. Then nothing has been done.
        """
        sending = self._sends.sending
        try:
            prepared = self._prepare(body)
        except Exception:  # noqa: BLE001 - the usual way meets the same fault, and reports it
            prepared = None
        if prepared is None:
            if self._admitted is not None:
                self._sends.authenticator.admission.forget(self._admitted)
            return False
        try:
            if isinstance(prepared, Fault):
                raise prepared
            sending.hand_in(prepared, self._stored)
        except Fault as fault:
            self._refuse(fault)
        return True

    def _prepare(self, body: bytes) -> Accept | Fault | None:
        """Returns the request to commit, the Fault that refuses it, or None if it would have to wait."""
        sends, head = self._sends, self.head
        fields: Fields | None = None
        self._admitted = None
        now = sends.clock.monotonic()
        try:
            proven = head.proven
            if proven is None or not sends.authenticator.holds(proven, now):
                proven = head.proven = sends.authenticator.proven(head.door, head.authorization, now)
                if proven is None:
                    return None
            who = proven.principal
            if who.view.policy is not None:
                sends.authenticator.admission.admit(who.view, self._channel.client(head.forwarded)[0], now)
                self._admitted = who.view
            fields = send_fields(decode.media_type(head.content_type, body), body, who, sends.bounds)
            if sends.sending.unknown_numbers(who, fields):
                return None
            return sends.sending.prepare(who, fields)
        except Fault as fault:
            if fields is not None and sends.sending.may_be_replayed(fields, fault):
                return None
            self.work = sends.clock.monotonic() - now
            return fault

    def _stored(self, accept: Accept) -> None:
        try:
            reply = answer.of_accept(accept)
        except Fault as fault:
            self._refuse(fault)
        except Exception as error:  # noqa: BLE001 - it is stored and paid; whoever sent it must not wait for ever
            self._sends.api.log_failure(error, "POST", None)
            self._refuse(internal_fault())
        else:
            self._answer(reply)

    def _refuse(self, fault: Fault) -> None:
        api, head = self._sends.api, self.head
        request_id = head.request_id or api.next_request_id()
        address = self._channel.client(head.forwarded)[0]
        who = None if head.proven is None else head.proven.principal
        api.note_refusal(who, fault, Asked("POST", head.target.decode(), address, request_id.decode()))
        self._answer(answer.of_fault(fault), request_id)

    def _answer(self, reply: Reply, request_id: bytes | None = None) -> None:
        api = self._sends.api
        api.note_response(reply.status)
        if request_id is None:
            request_id = self.head.request_id
        if request_id is None:
            request_id = api.next_request_id()
        if api.overhear is not None:
            api.overhear(request_id, reply)
        more = b"" if self.keep_alive else b"connection: close\r\n"
        for name, value in reply.headers:
            more += b"%b: %b\r\n" % (name, value)
        body = reply.body
        self._channel.answer(
            self,
            reply.status,
            b"content-type: application/json\r\ncontent-length: %d\r\nx-request-id: %b\r\n%b\r\n%b"
            % (len(body), request_id, more, body),
        )
