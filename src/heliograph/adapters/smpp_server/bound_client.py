"""The requests of a bound client, from the PDU to its answer.

    submit_sm, data_sm ---> fields --> network of the number --> Sending.send ====commit====> submit_sm_resp
                              |                                      |             |
                              | unreadable                           | refused     | refused
                              v                                      v             v
                           decline <------------------------------ refuse <--------+       an error as the answer
    submit_multi,
    query_sm, cancel_sm --> a task of `RequestAnswers` --> its answer
    under overload -------> refused unread (`Shedding`) -> counted

A request that came before, by its reference, is *replayed*: it gets the answer of the first. Each request is answered
once, by `send` of the connection. With `smpp_dedupe_s`, a submission has a name until its answer has arrived
(`Resubmissions`).
"""

from collections.abc import Coroutine
from dataclasses import astuple, replace
from functools import partial
from typing import Any, Protocol

from heliograph.adapters.smpp_server.content import Refused
from heliograph.adapters.smpp_server.expected import message_id
from heliograph.adapters.smpp_server.overload import (
    OVERLOADED,
    SHARE_OF_SHED,
    SHED,
    SHED_REST_S,
    WORK_OF_DESTINATION_S,
    WORK_OF_QUESTION_S,
    WORK_OF_SEARCH_S,
    WORK_OF_SHED_S,
    shedding_of,
)
from heliograph.adapters.smpp_server.requests import RequestAnswers
from heliograph.adapters.smpp_server.resubmissions import GivenNames
from heliograph.adapters.smpp_server.services import DOOR, Services
from heliograph.adapters.smpp_server.statuses import status_of, status_text
from heliograph.adapters.smpp_server.submission import SubmissionReader, Submit
from heliograph.app.facts import Accept, Verdict
from heliograph.app.observing.counters import BindCounters
from heliograph.app.ports import Unavailable
from heliograph.app.records import BindState
from heliograph.app.sending.directory import AccountView
from heliograph.app.sending.fields import Fields
from heliograph.app.sending.principal import Principal
from heliograph.app.sending.refusal import refusal_of, unavailable
from heliograph.domain.display import origin_of
from heliograph.domain.error import Fault
from heliograph.smpp import codec
from heliograph.smpp import constants as c
from heliograph.smpp import pdu as p
from heliograph.smpp.constants import CommandStatus
from heliograph.smpp.error import FieldError


class ClientConnection(Protocol):
    """The connection of a bound client."""

    id: int
    version: int
    """interface_version of the client, for example 0x34."""

    @property
    def host(self) -> str:
        """The host of the client."""

    def send(self, response: p.Pdu) -> None:
        """Answers a request."""

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Starts work that is cancelled when the connection ends."""


class BoundClient:
    """A client from its bind on. Implements `requests.Answering`."""

    def __init__(
        self,
        services: Services,
        connection: ClientConnection,
        counts: BindCounters,
        state: BindState,
        view: AccountView,
        generation: int,
    ) -> None:
        """`state`: the bind's, in which requests are counted. `view`, `generation`: see `take_view`."""
        self._services = services
        self._connection = connection
        self._counts = counts
        self._state = state
        self._shed_work_s = 0.0
        """Seconds, estimated, that refusals of the present portion have taken."""
        self._later_work_s = 0.0
        """Seconds, estimated, that tasks will take which the present portion has started."""
        self._named: set[str] = set()
        """Names of submissions under way (`Resubmissions`)."""
        self.given = GivenNames()
        self.take_view(view, generation)

    # --- the account

    def take_view(self, view: AccountView, generation: int) -> None:
        """Takes the account as it was read. `generation`: the directory's before that, so that the next octets have a
        later change read."""
        terms = view.account.smpp
        self.view = view
        self.generation = generation
        """The directory's generation at which `view` was read; -1 has it read again."""
        self.window = terms.window
        """Number of unanswered requests at which the client is no longer read."""
        self._who = Principal(view, DOOR)
        self._reader = SubmissionReader(terms, self._services.longest_validity_ms)
        self._own_statuses = dict(terms.statuses)
        self.shedding = shedding_of(self._own_statuses, self._connection.version)
        """Answers to submissions under overload."""

    # --- overload

    def note_shed(self, number: int) -> None:
        """Counts submissions that were refused unread."""
        self._shed_work_s += number * WORK_OF_SHED_S
        self._state.submitted += number
        self._services.note_refusal(
            self.view, OVERLOADED, "submit_sm", self._connection.host, self._connection.id, number
        )
        self._count_refused(status_of(OVERLOADED, self._own_statuses), OVERLOADED.message, number)

    def rest_after(self, begun: float) -> float:
        """Returns for how many seconds the client is not to be read, after a portion that was read from `begun` on: its
        account's requests, or refusals under overload, take too much of the time of the loop."""
        services, account = self._services, self.view.account.id
        work_s, self._later_work_s = services.clock.monotonic() - begun + self._later_work_s, 0.0
        rest_s = services.rest_of(account, begun, work_s)
        if self._shed_work_s:
            rest_s = max(rest_s, SHED_REST_S, services.rest_of(SHED, begun, self._shed_work_s, SHARE_OF_SHED))
            self._shed_work_s = 0.0
        return rest_s

    # --- requests

    def take(self, pdu: p.Pdu) -> None:
        """Takes a request, which is answered later."""
        match pdu:
            case p.SubmitSm() | p.DataSm():
                self._state.submitted += 1
                self._submit(pdu)
            case p.SubmitMulti():
                self._state.submitted += 1
                self._later_work_s += len(pdu.destinations) * WORK_OF_DESTINATION_S
                self._connection.start(self._answering(pdu, self._answers.submit_multi(pdu)))
            case p.QuerySm():
                self._later_work_s += WORK_OF_QUESTION_S
                self._connection.start(self._answering(pdu, self._answers.query(pdu)))
            case p.CancelSm():
                self._later_work_s += WORK_OF_QUESTION_S if pdu.message_id else WORK_OF_SEARCH_S
                self._connection.start(self._answering(pdu, self._answers.cancel(pdu)))
            case _:
                self.respond(pdu, CommandStatus.ESME_RREPLACEFAIL)

    async def _answering(self, pdu: p.Pdu, work: Coroutine[Any, Any, None]) -> None:
        """Answers a request even if its work fails: otherwise its place in the window would never be free again."""
        try:
            await work
        except Exception as problem:  # noqa: BLE001 - whatever it is, the client gets an answer and the log the rest
            self._services.journal.log("error", "answer.failed", bind=self._connection.id, **origin_of(problem))
            self.respond(pdu, CommandStatus.ESME_RSYSERR)

    @property
    def _answers(self) -> RequestAnswers:
        return RequestAnswers(self._services, self, self._who, self._reader)

    # --- submissions

    def _submit(self, pdu: p.SubmitSm | p.DataSm) -> None:
        services = self._services
        destination = p.Address(pdu.dest_addr_ton, pdu.dest_addr_npi, pdu.destination_addr)
        try:
            fields = self._reader.read(pdu, [destination], services.clock.now())
        except Refused as refused:
            self.decline(pdu, refused.status, refused.problem)
            return
        self.name(pdu, fields)
        if services.sending.unknown_numbers(self._who, fields):
            self._connection.start(self._answering(pdu, self._send_found(pdu, fields)))
        else:
            self._send(pdu, fields)

    async def _send_found(self, pdu: p.SubmitSm | p.DataSm, fields: Fields) -> None:
        """Sends once the network of the number is found. The wait for that is no sign of slow commits."""
        await self._services.sending.find_networks(self._who, fields)
        self._send(pdu, fields)

    def _send(self, pdu: p.SubmitSm | p.DataSm, fields: Fields) -> None:
        services = self._services
        number = services.delay.begin(services.clock.monotonic())
        try:
            services.sending.send(self._who, fields, partial(self._stored, pdu, fields.submission, number))
        except Fault as fault:
            services.delay.end(number, services.clock.monotonic(), committed=False)
            if services.sending.may_be_replayed(fields, fault):
                self._connection.start(self._answering(pdu, self._replay(pdu, fields, fault)))
            else:
                self.refuse(pdu, fault, fields.submission)

    def _stored(self, pdu: p.SubmitSm | p.DataSm, name: str | None, number: int, accept: Accept) -> None:
        self._services.delay.end(number, self._services.clock.monotonic())
        if accept.verdict in (Verdict.ACCEPTED, Verdict.REPLAYED):
            self.accepted(pdu, accept, name)
        else:
            self.refuse(pdu, refusal_of(accept), name)

    async def _replay(self, pdu: p.SubmitSm | p.DataSm, fields: Fields, fault: Fault) -> None:
        name = fields.submission
        try:
            self.accepted(pdu, await self._services.sending.replay(self._who, fields, fault), name)
        except Fault as problem:
            self.refuse(pdu, problem, name)
        except Unavailable:
            self.refuse(pdu, unavailable(), name)

    # --- names of submissions

    def name(self, pdu: Submit, fields: Fields) -> None:
        """Names a submission, if the account is to find it again after its answer was lost."""
        account = self.view.account
        if account.smpp.dedupe_s and fields.reference is None:
            try:
                body = codec.encode_body(pdu)
            except FieldError:  # a client's field may be longer than ours: service_type, for example
                body = repr(astuple(replace(pdu, sequence=0))).encode()
            octets = c.command_name(pdu.command_id).encode() + body
            fields.submission = self._services.resubmissions.name(account.id, octets)
            self._named.add(fields.submission)

    def note_arrived(self, under_way: int) -> None:
        """Has submissions forgotten once their answers have arrived. `under_way`: octets that have not."""
        for name in self.given.arrived(under_way):
            self._services.resubmissions.arrived(self.view.account.id, name)

    def lose(self) -> None:
        """Notes the submissions whose answers the client may lack, as its connection has ended."""
        for name in (*self.given.names, *sorted(self._named)):
            self._services.resubmissions.lost(self.view.account.id, name)
        self.given.names = []
        self._named.clear()

    # --- answers

    def accepted(
        self, pdu: p.Pdu, accept: Accept, name: str | None, failed: tuple[p.FailedDestination, ...] = ()
    ) -> None:
        """Answers a submission with the id of its message. `name`: see `Resubmissions`."""
        if name in self._named:  # else the connection has ended, and the name is lost already
            self._named.remove(name)
            self.given.names.append(name)
        message = message_id(self.view.account.smpp.id_form, accept.key, accept.tail)
        self._counts.submissions[0] += 1
        if isinstance(pdu, p.SubmitMulti):
            self.send(p.SubmitMultiResp(pdu.sequence, message_id=message, unsuccess_sme=failed))
        else:
            response = p.DataSmResp if isinstance(pdu, p.DataSm) else p.SubmitSmResp
            self.send(response(pdu.sequence, message_id=message))

    def refuse(self, pdu: p.Pdu, fault: Fault, name: str | None = None) -> None:
        """Answers a submission with the fault that it ended in. `name`: see `Resubmissions`."""
        services, connection = self._services, self._connection
        if name is not None:
            services.resubmissions.failed(self.view.account.id, name, fault, is_owed=name in self._named)
            self._named.discard(name)
        services.note_refusal(self.view, fault, c.command_name(pdu.command_id), connection.host, connection.id)
        self.decline(pdu, status_of(fault, self._own_statuses), fault.message)

    def decline(self, pdu: p.Pdu, status: int, problem: str) -> None:
        """Answers a submission with an error."""
        self._count_refused(status, problem)
        tlvs = status_text(problem, pdu.command_id, self._connection.version)
        self.send(p.PDU_TYPES[pdu.command_id | c.RESPONSE_BIT](pdu.sequence, status, tlvs))

    def _count_refused(self, status: int, problem: str, number: int = 1) -> None:
        self._state.refused += number
        self._state.last_error = f"{CommandStatus.name_of(status)}: {problem}"
        self._counts.submissions[status] += number

    def respond(self, pdu: p.Pdu, status: int) -> None:
        """Answers any other request with an otherwise empty response."""
        self.send(p.PDU_TYPES[pdu.command_id | c.RESPONSE_BIT](pdu.sequence, status))

    def send(self, response: p.Pdu) -> None:
        """See `ClientConnection`."""
        self._connection.send(response)
