"""Requests of a bound client beside submit_sm: submit_multi, query_sm and cancel_sm (SMPP v3.4, 4.5, 4.8 and 4.9)."""

import asyncio
from collections.abc import Mapping
from typing import Final, Protocol

from heliograph.adapters.smpp_server.addresses import sender_of
from heliograph.adapters.smpp_server.content import Refused
from heliograph.adapters.smpp_server.expected import key_of
from heliograph.adapters.smpp_server.overload import WORK_OF_DESTINATION_S
from heliograph.adapters.smpp_server.services import Services
from heliograph.adapters.smpp_server.statuses import status_of
from heliograph.adapters.smpp_server.submission import SubmissionReader
from heliograph.adapters.smpp_server.times import absolute
from heliograph.app.facts import Accept, Message, Verdict
from heliograph.app.ports import Unavailable
from heliograph.app.sending.fields import Fields
from heliograph.app.sending.principal import Principal
from heliograph.app.sending.refusal import refusal_of, unavailable
from heliograph.domain.error import Fault
from heliograph.domain.message.receipt import Delivery, err_of
from heliograph.domain.message.state import State
from heliograph.smpp import constants as c
from heliograph.smpp import pdu as p
from heliograph.smpp.constants import CommandStatus

MOST_DESTINATIONS: Final = 254
"""Destinations of a submit_multi (SMPP v3.4, 4.5.1: number_of_dests)."""


COMPOSED_AT_ONCE: Final = 25
"""Destinations that are composed in a turn of the event loop: some milliseconds for the slowest texts."""

CANCELLED_AT_ONCE: Final = 100
"""Messages that a cancel_sm by addresses looks up at once; it goes on until there are no more."""


class Answering(Protocol):
    """The connection that a request came on."""

    def name(self, pdu: p.SubmitMulti, fields: Fields) -> None: ...

    def accepted(
        self, pdu: p.Pdu, accept: Accept, name: str | None, failed: tuple[p.FailedDestination, ...] = ()
    ) -> None: ...

    def refuse(self, pdu: p.Pdu, fault: Fault, name: str | None = None) -> None: ...

    def decline(self, pdu: p.Pdu, status: int, problem: str) -> None: ...

    def respond(self, pdu: p.Pdu, status: int) -> None: ...

    def send(self, response: p.Pdu) -> None: ...


class RequestAnswers:
    """Answers these requests of a client, each in a task of its own."""

    def __init__(self, services: Services, connection: Answering, who: Principal, reader: SubmissionReader) -> None:
        self._services = services
        self._connection = connection
        self._who = who
        self._reader = reader

    # --- submit_multi

    async def submit_multi(self, pdu: p.SubmitMulti) -> None:
        """Sends to the valid destinations, and answers with the others and their status."""
        connection = self._connection
        addresses = [each for each in pdu.destinations if isinstance(each, p.Address)]
        if len(addresses) < len(pdu.destinations):
            connection.decline(pdu, CommandStatus.ESME_RINVDLNAME, "There are no distribution lists here.")
            return
        if not 1 <= len(addresses) <= MOST_DESTINATIONS:
            problem = f"There are {len(addresses)} destinations; give 1 to {MOST_DESTINATIONS}."
            connection.decline(pdu, CommandStatus.ESME_RINVNUMDESTS, problem)
            return
        try:
            good, failed, fault = await self._sorted(pdu, addresses)
            if fault is not None and not good:
                connection.refuse(pdu, fault)
                return
            fields = self._reader.read(pdu, good, self._services.clock.now())
        except Refused as refused:
            connection.decline(pdu, refused.status, refused.problem)
            return
        except Fault as problem:
            connection.refuse(pdu, problem)
            return
        connection.name(pdu, fields)
        try:
            accept = await self._stored(fields)
        except Fault as problem:
            connection.refuse(pdu, problem, fields.submission)
        except Unavailable:
            connection.refuse(pdu, unavailable(), fields.submission)
        else:
            connection.accepted(pdu, accept, fields.submission, failed)

    async def _sorted(
        self, pdu: p.SubmitMulti, addresses: list[p.Address]
    ) -> tuple[list[p.Address], tuple[p.FailedDestination, ...], Fault | None]:
        """Returns the valid addresses, the others with their status, and the first fault. The event loop serves others
        after COMPOSED_AT_ONCE."""
        good: list[p.Address] = []
        failed: list[p.FailedDestination] = []
        first: Fault | None = None
        now, own = self._services.clock.now(), dict(self._who.view.account.smpp.statuses)
        fields = self._reader.read(pdu, addresses, now)  # once: a content of 64 KiB takes its time
        for start in range(0, len(addresses), COMPOSED_AT_ONCE):
            part = addresses[start : start + COMPOSED_AT_ONCE]
            begun = self._services.clock.monotonic()
            for address in part:
                fault = self._fault_of(fields, address)
                if fault is None:
                    good.append(address)
                    continue
                first = first or fault
                number = address.number[: c.ADDRESS_OCTETS - 1]  # clients may send longer numbers than an answer has
                failed.append(p.FailedDestination(address.ton, address.npi, number, status_of(fault, own)))
            self._note_work(begun, len(part))
            await asyncio.sleep(0)
        return good, tuple(failed), first

    def _fault_of(self, fields: Fields, address: p.Address) -> Fault | None:
        """Returns the fault of a destination, or None. Raises the Fault of another field."""
        try:
            fields.to = [self._reader.destination(address)]
            self._services.sending.compose(self._who, fields)
        except Fault as fault:
            if fault.field != "to":
                raise
            return fault
        return None

    def _note_work(self, begun: float, destinations: int) -> None:
        """Counts the time since `begun` as work for the account, beyond what the connection has foretold for so many
        destinations. A text in a national alphabet takes ten times as long as a plain one."""
        services = self._services
        work_s = services.clock.monotonic() - begun - destinations * WORK_OF_DESTINATION_S
        if work_s > 0:
            services.rest_of(self._who.view.account.id, begun, work_s)

    async def _stored(self, fields: Fields) -> Accept:
        """Returns the request with its verdict ACCEPTED or REPLAYED. Raises Fault."""
        sending = self._services.sending
        await sending.find_networks(self._who, fields)
        stored: asyncio.Future[Accept] = asyncio.get_running_loop().create_future()
        try:
            sending.send(self._who, fields, lambda accept: None if stored.done() else stored.set_result(accept))
        except Fault as fault:
            if not sending.may_be_replayed(fields, fault):
                raise
            return await sending.replay(self._who, fields, fault)
        accept = await stored
        if accept.verdict not in (Verdict.ACCEPTED, Verdict.REPLAYED):
            raise refusal_of(accept)
        return accept

    # --- query_sm and cancel_sm

    async def query(self, pdu: p.QuerySm) -> None:
        """Answers with the state of a message. A submit_multi is en route until all its messages have ended; then it
        has the state that they share. ESME_RQUERYFAIL if they differ, or if the account has no such message.
        """
        customers = self._services.customers
        try:
            found = await self._id_of(pdu.message_id)
            messages = [] if found is None else await self._messages(*found)
            ends = await customers.deliveries([message.key for message in messages]) if messages else {}
        except Unavailable:
            self._connection.respond(pdu, CommandStatus.ESME_RSYSERR)
            return
        states = {_state_of(message, ends) for message in messages}
        state = Delivery.ENROUTE if Delivery.ENROUTE in states else next(iter(states), None)
        is_over = state is not Delivery.ENROUTE
        if state is None or (is_over and len(states) > 1):
            self._connection.respond(pdu, CommandStatus.ESME_RQUERYFAIL)
            return
        done, err = max(((at, err) for _, err, at in ends.values()), default=(0, "")) if is_over else (0, "")
        self._connection.send(
            p.QuerySmResp(
                pdu.sequence,
                message_id=pdu.message_id,
                final_date=absolute(done) if done else "",
                message_state=state,
                error_code=min(255, int(err_of(err, state))) if done else 0,
            )
        )

    async def cancel(self, pdu: p.CancelSm) -> None:
        """Cancels and refunds a scheduled message, or the messages of a submit_multi; without message_id, all messages
        that are scheduled from the source to the destination (4.9.1). Answers ESME_RCANCELFAIL if none can be
        cancelled.
        """
        try:
            if pdu.message_id:
                cancelled = await self._cancelled_by_id(pdu)
            else:
                async with self._services.searches[self._who.view.account.id]:
                    cancelled = await self._cancelled_by_addresses(pdu)
        except Unavailable:
            self._connection.respond(pdu, CommandStatus.ESME_RSYSERR)
        else:
            self._connection.respond(pdu, CommandStatus.ESME_ROK if cancelled else CommandStatus.ESME_RCANCELFAIL)

    async def _cancelled_by_id(self, pdu: p.CancelSm) -> bool:
        """Cancels the message with the id. Of a submit_multi, the messages to the destination, if there is one. Returns
        False if no message was cancelled."""
        found = await self._id_of(pdu.message_id)
        if found is None:
            return False
        messages = await self._messages(*found) if pdu.destination_addr else []
        if not pdu.destination_addr or any(message.key == found[0] for message in messages):
            return await self._cancelled(*found)
        number = self._destination_of(pdu)
        results = [await self._cancelled(each.key, each.tail) for each in messages if each.destination == number]
        return any(results)

    async def _cancelled(self, key: int, tail: int) -> bool:
        try:
            await self._services.rescheduling.cancel(self._who.view, key, tail, self._services.clock.now())
        except Fault:
            return False
        return True

    async def _cancelled_by_addresses(self, pdu: p.CancelSm) -> bool:
        """Returns False if no message was cancelled."""
        services, account, cancelled = self._services, self._who.view.account.id, False
        number = self._destination_of(pdu)
        sender = sender_of(p.Address(pdu.source_addr_ton, pdu.source_addr_npi, pdu.source_addr))
        rules = services.directory.sender_rules
        if rules is not None:
            sender = rules.sent_as(number, sender)
        while True:
            now = services.clock.now()
            found = await services.store.scheduled(account, sender, number, now, CANCELLED_AT_ONCE)
            results = [await self._cancelled(*each) for each in found]
            cancelled = cancelled or any(results)
            if not any(results):
                return cancelled

    def _destination_of(self, pdu: p.CancelSm) -> str:
        return self._reader.destination(p.Address(pdu.dest_addr_ton, pdu.dest_addr_npi, pdu.destination_addr))

    async def _messages(self, key: int, tail: int) -> list[Message]:
        """Returns the message, or the messages of the batch; none of a batch of the HTTP API with more messages than a
        submit_multi may have."""
        customers, account = self._services.customers, self._who.view.account.id
        message = await customers.message(account, key, tail)
        if message is not None:
            return [message]
        batch = await customers.batch(account, key, tail, 0, MOST_DESTINATIONS + 1)
        if batch is None:
            return []
        now = self._services.clock.monotonic()
        self._services.rest_of(account, now, len(batch.messages) * WORK_OF_DESTINATION_S)
        return batch.messages if len(batch.messages) <= MOST_DESTINATIONS else []

    async def _id_of(self, text: str) -> tuple[int, int] | None:
        account = self._who.view.account
        key = key_of(account.smpp.id_form, text)
        if key is None:
            return None
        tail = await self._services.customers.tail(account.id, key)
        return None if tail is None else (key, tail)


def _state_of(message: Message, ends: Mapping[int, tuple[Delivery | None, str, int]]) -> Delivery:
    """`ends`: see `Customers.deliveries`."""
    ended, _, _ = ends.get(message.key, (None, "", 0))
    if ended is not None:
        return ended
    return Delivery.DELETED if message.state == State.CANCELLED else Delivery.ENROUTE
