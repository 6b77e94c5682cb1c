import pytest

from heliograph.smpp import codec, tlv
from heliograph.smpp import constants as c
from heliograph.smpp import event as e
from heliograph.smpp import pdu as p
from heliograph.smpp.constants import CommandStatus, Role
from heliograph.smpp.error import StateError, WindowFullError
from heliograph.smpp.event import CloseReason
from heliograph.smpp.framer import Framer
from heliograph.smpp.session import Session, SessionOptions, Shedding
from heliograph.smpp.state import SessionState

BODY = codec.encode_body(p.SubmitSm(destination_addr="447700900123", short_message=b"hi"))
RECEIPT = p.DeliverSm(9, esm_class=4, source_addr="447700900123", short_message=b"id:1 stat:DELIVRD")
BINDS = {
    SessionState.BOUND_TX: p.BindTransmitter,
    SessionState.BOUND_RX: p.BindReceiver,
    SessionState.BOUND_TRX: p.BindTransceiver,
}


def sent(session: Session) -> list[p.Pdu]:
    """What the session wants written, as PDUs."""
    framer = Framer()
    found = [codec.decode(frame) for frame in framer.feed(session.data_to_send())]
    assert len(framer._partial) == 0
    return found


def esme(state: SessionState = SessionState.BOUND_TRX, options: SessionOptions | None = None) -> Session:
    """A client bound at time 0."""
    session = Session(Role.ESME, 0.0, options)
    bind = BINDS[state](system_id="us", password="pw")
    session.bind(bind, 0.0)
    (request,) = sent(session)
    response = p.PDU_TYPES[bind.command_id | c.RESPONSE_BIT](request.sequence)
    events = session.receive(codec.encode(response), 0.0)
    assert [type(event) for event in events] == [e.Bound]
    assert session.state is state
    return session


def centre(state: SessionState = SessionState.BOUND_TRX, options: SessionOptions | None = None) -> Session:
    """A message centre to which an ESME is bound at time 0."""
    session = Session(Role.MC, 0.0, options)
    (event,) = session.receive(codec.encode(BINDS[state](1, system_id="them")), 0.0)
    assert isinstance(event, e.BindRequested)
    assert session.answer(event.request)
    assert session.state is state
    sent(session)
    return session


class TestShedding:
    FULL = CommandStatus.ESME_RMSGQFUL

    def shedding(self) -> Shedding:
        return Shedding((p.SubmitSmResp(0, self.FULL), p.DataSmResp(0, self.FULL, ((0x1D, b"full\0"),))))

    def test_submissions_are_refused_unread_and_all_else_is_handled(self) -> None:
        session = centre()
        submissions = [p.SubmitSm(7), p.DataSm(8)]
        malformed = codec.HEADER.pack(17, c.SUBMIT_SM, 0, 9) + b"?"
        data = b"".join([*map(codec.encode, [*submissions, p.EnquireLink(10), p.QuerySm(11)]), malformed])
        assert session.receive(data, 1.0, self.shedding()) == [e.Shed(3), e.RequestReceived(p.QuerySm(11))]
        assert sorted(sent(session), key=lambda pdu: pdu.sequence) == [
            p.SubmitSmResp(7, self.FULL),
            p.DataSmResp(8, self.FULL, ((0x1D, b"full\0"),)),
            p.SubmitSmResp(9, self.FULL),
            p.EnquireLinkResp(10),
        ]
        assert session.unanswered == 1  # the query_sm

    def test_a_state_that_forbids_submissions_still_does(self) -> None:
        session = centre(SessionState.BOUND_RX)
        (event,) = session.receive(codec.encode(p.SubmitSm(7)), 1.0, self.shedding())
        assert isinstance(event, e.ProtocolError)
        assert [pdu.status for pdu in sent(session)] == [CommandStatus.ESME_RINVBNDSTS]


class TestBinding:
    @pytest.mark.parametrize("state", list(BINDS))
    def test_both_ends_come_to_the_same_state(self, state: SessionState) -> None:
        ours, theirs = Session(Role.ESME, 0.0), Session(Role.MC, 0.0)
        ours.bind(BINDS[state](system_id="us", password="pw"), 0.0)
        (asked,) = theirs.receive(ours.data_to_send(), 0.1)
        assert isinstance(asked, e.BindRequested)
        assert (asked.request.system_id, asked.request.password) == ("us", "pw")
        assert theirs.state is SessionState.OPEN

        response = p.PDU_TYPES[asked.request.command_id | c.RESPONSE_BIT](
            asked.request.sequence, 0, (tlv.make(tlv.SC_INTERFACE_VERSION, 0x34),)
        )
        theirs.respond(response)
        (bound,) = ours.receive(theirs.data_to_send(), 0.2)

        assert isinstance(bound, e.Bound)
        assert bound.interface_version == 0x34
        assert bound.state is ours.state is theirs.state is state

    def test_a_refusal_leaves_the_session_open_for_another_bind(self) -> None:
        session = Session(Role.ESME, 0.0)
        session.bind(p.BindTransceiver(), 0.0)

        events = session.receive(codec.encode(p.BindTransceiverResp(1, CommandStatus.ESME_RINVPASWD)), 1.0)

        assert events == [e.BindRefused(CommandStatus.ESME_RINVPASWD)]
        assert session.state is SessionState.OPEN
        assert session.bind(p.BindTransceiver(), 1.0) == 2

    def test_a_nack_is_a_refusal(self) -> None:
        session = Session(Role.ESME, 0.0)
        session.bind(p.BindTransceiver(), 0.0)

        assert session.receive(codec.encode(p.GenericNack(1, 3)), 1.0) == [e.BindRefused(3)]

    def test_one_bind_at_a_time(self) -> None:
        session = Session(Role.ESME, 0.0)
        session.bind(p.BindTransceiver(), 0.0)

        with pytest.raises(StateError):
            session.bind(p.BindTransceiver(), 0.0)

    def test_no_answer_closes(self) -> None:
        session = Session(Role.ESME, 0.0, SessionOptions(bind_timeout=5))
        session.bind(p.BindTransceiver(), 1.0)

        assert session.next_deadline() == 6.0
        assert session.handle_timers(5.9) == []
        assert session.handle_timers(6.0) == [e.Closing(CloseReason.BIND_TIMEOUT)]
        assert session.closing

    def test_an_esme_that_never_binds_is_not_waited_for(self) -> None:
        session = Session(Role.MC, 10.0, SessionOptions(bind_timeout=5))

        assert session.next_deadline() == 15.0
        assert session.handle_timers(15.0) == [e.Closing(CloseReason.BIND_TIMEOUT)]

    def test_a_second_bind_is_told_so(self) -> None:
        session = centre()

        (event,) = session.receive(codec.encode(p.BindReceiver(2)), 1.0)

        assert isinstance(event, e.ProtocolError)
        assert sent(session) == [p.BindReceiverResp(2, CommandStatus.ESME_RALYBND)]

    def test_a_bind_while_another_waits_is_told_so(self) -> None:
        session = Session(Role.MC, 0.0)

        session.receive(codec.encode(p.BindReceiver(1)) + codec.encode(p.BindReceiver(2)), 1.0)

        assert sent(session) == [p.BindReceiverResp(2, CommandStatus.ESME_RALYBND)]

    def test_a_refused_esme_stays_open(self) -> None:
        session = Session(Role.MC, 0.0)
        (event,) = session.receive(codec.encode(p.BindTransceiver(1)), 1.0)
        assert isinstance(event, e.BindRequested)

        session.answer(event.request, CommandStatus.ESME_RINVPASWD)

        assert session.state is SessionState.OPEN
        assert sent(session) == [p.BindTransceiverResp(1, CommandStatus.ESME_RINVPASWD)]

    def test_outbind_asks_for_a_bind(self) -> None:
        ours, theirs = Session(Role.ESME, 0.0), Session(Role.MC, 0.0)
        theirs.notify(p.Outbind(system_id="mc", password="pw"))

        (event,) = ours.receive(theirs.data_to_send(), 0.0)

        assert event == e.OutbindReceived(p.Outbind(1, system_id="mc", password="pw"))
        ours.bind(p.BindReceiver(), 0.0)


class TestRequests:
    def test_an_answer_hands_back_the_token_and_the_id(self) -> None:
        session = esme()
        sequence = session.send_request(c.SUBMIT_SM, BODY, "token", 1.0)
        assert sent(session) == [p.SubmitSm(sequence, destination_addr="447700900123", short_message=b"hi")]

        (event,) = session.receive(codec.encode(p.SubmitSmResp(sequence, message_id="b7")), 2.0)

        assert isinstance(event, e.Answered)
        assert (event.token, event.sequence, event.status, event.message_id) == ("token", sequence, 0, "b7")
        assert event.response == p.SubmitSmResp(sequence, message_id="b7")
        assert event.congestion is None
        assert session.in_flight == 0

    def test_many_are_written_and_answered_at_once(self) -> None:
        session = esme(options=SessionOptions(window=50))
        sequences = [session.request(p.SubmitSm(short_message=b"x"), number, 1.0) for number in range(50)]
        assert [pdu.sequence for pdu in sent(session)] == sequences

        answers = b"".join(codec.encode(p.SubmitSmResp(s, message_id=str(s))) for s in reversed(sequences))
        events = session.receive(answers, 2.0)

        assert [event.token for event in events if isinstance(event, e.Answered)] == list(range(49, -1, -1))

    @pytest.mark.parametrize(
        ("octets", "status", "message_id", "congestion"),
        [
            ("00000010 80000004 00000058 00000002", 0x58, "", None),
            ("00000011 80000004 00000000 00000002 61", 0, "a", None),
            ("00000012 80000004 00000000 00000002 6100", 0, "a", None),
            ("00000017 80000004 00000000 00000002 6100 0428000163", 0, "a", 0x63),
            ("00000010 80000000 00000003 00000002", 3, "", None),
            ("00000010 80000000 00000000 00000002", CommandStatus.ESME_RUNKNOWNERR, "", None),
        ],
    )
    def test_answers_of_every_dialect(self, octets: str, status: int, message_id: str, congestion: int | None) -> None:
        session = esme()
        session.send_request(c.SUBMIT_SM, BODY, "token", 1.0)

        (event,) = session.receive(bytes.fromhex(octets), 2.0)

        assert isinstance(event, e.Answered)
        assert (event.token, event.status, event.message_id) == ("token", status, message_id)
        assert event.congestion == congestion

    def test_other_requests_are_answered_by_their_kind(self) -> None:
        session = esme()
        session.request(p.QuerySm(message_id="m"), "q", 1.0)

        (event,) = session.receive(codec.encode(p.QuerySmResp(2, message_id="m", message_state=2)), 2.0)

        assert isinstance(event, e.Answered)
        assert event.response == p.QuerySmResp(2, message_id="m", message_state=2)
        assert event.message_id == "m"

    @pytest.mark.parametrize("pdu", [p.SubmitSmResp(99), p.DeliverSmResp(2), p.GenericNack(0, 3)])
    def test_an_answer_to_nothing_is_shown_and_not_answered(self, pdu: p.Pdu) -> None:
        session = esme()
        session.send_request(c.SUBMIT_SM, BODY, "token", 1.0)
        sent(session)

        assert session.receive(codec.encode(pdu), 2.0) == [e.Unmatched(pdu)]
        assert session.in_flight == 1
        assert session.data_to_send() == b""

    def test_the_window_holds(self) -> None:
        session = esme(options=SessionOptions(window=2))
        assert session.room == 2
        session.send_request(c.SUBMIT_SM, BODY, 1, 1.0)
        session.send_request(c.SUBMIT_SM, BODY, 2, 1.0)
        assert session.room == 0

        with pytest.raises(WindowFullError):
            session.send_request(c.SUBMIT_SM, BODY, 3, 1.0)

        session.window_limit = 3
        assert session.room == 1

    def test_no_answer_is_reported_once_and_a_late_one_is_unmatched(self) -> None:
        session = esme(options=SessionOptions(response_timeout=10, enquire_interval=0))
        session.send_request(c.SUBMIT_SM, BODY, "a", 1.0)
        session.send_request(c.SUBMIT_SM, BODY, "b", 2.0)

        assert session.next_deadline() == 11.0
        assert session.handle_timers(11.0) == [e.TimedOut("a", 2)]
        assert session.handle_timers(11.0) == []
        assert session.next_deadline() == 12.0
        late = session.receive(codec.encode(p.SubmitSmResp(2, message_id="late")), 11.5)
        assert late == [e.Unmatched(p.SubmitSmResp(2, message_id="late"))]
        assert session.connection_lost() == [e.Lost(["b"])]
        assert session.connection_lost() == []
        assert session.next_deadline() is None

    @pytest.mark.parametrize("command", [c.DELIVER_SM, c.BIND_TRANSCEIVER, c.SUBMIT_SM_RESP, 0x999])
    def test_what_the_role_may_not_send_raises(self, command: int) -> None:
        session = esme()

        assert not session.may_send(command)
        with pytest.raises(StateError):
            session.send_request(command, b"", None, 0.0)

    def test_a_receiver_may_not_submit(self) -> None:
        with pytest.raises(StateError):
            esme(SessionState.BOUND_RX).send_request(c.SUBMIT_SM, BODY, None, 0.0)
        with pytest.raises(StateError):
            Session(Role.ESME, 0.0).send_request(c.SUBMIT_SM, BODY, None, 0.0)


class TestDeliveries:
    def test_a_receipt_is_answered_when_the_owner_says_so(self) -> None:
        session = esme()

        events = session.receive(codec.encode(RECEIPT), 1.0)

        assert events == [e.Delivered(RECEIPT)]
        assert session.unanswered == 1
        assert session.data_to_send() == b""
        assert session.answer(RECEIPT)
        assert sent(session) == [p.DeliverSmResp(9)]
        assert session.unanswered == 0

    def test_an_answer_given_twice_does_not_make_up_for_a_receipt_that_is_yet_to_come(self) -> None:
        session = esme()
        session.receive(codec.encode(RECEIPT), 1.0)
        session.answer(RECEIPT)
        session.answer(RECEIPT)

        session.receive(codec.encode(RECEIPT), 2.0)

        assert session.unanswered == 1

    def test_a_receipt_may_be_refused_for_now(self) -> None:
        session = esme()
        session.receive(codec.encode(RECEIPT), 1.0)

        session.answer(RECEIPT, CommandStatus.ESME_RMSGQFUL)

        assert sent(session) == [p.DeliverSmResp(9, CommandStatus.ESME_RMSGQFUL)]

    def test_data_sm_is_a_delivery_to_an_esme_and_a_request_to_a_centre(self) -> None:
        data = p.DataSm(9, esm_class=4)
        ours, theirs = esme(), centre()

        assert ours.receive(codec.encode(data), 1.0) == [e.Delivered(data)]
        assert theirs.receive(codec.encode(data), 1.0) == [e.RequestReceived(data)]
        ours.answer(data)
        assert sent(ours) == [p.DataSmResp(9)]

    def test_a_centre_receives_submissions_and_answers_with_an_id(self) -> None:
        session = centre()
        submit = p.SubmitSm(2, short_message=b"x")

        assert session.receive(codec.encode(submit), 1.0) == [e.RequestReceived(submit)]
        session.respond(p.SubmitSmResp(2, message_id="1"))

        assert sent(session) == [p.SubmitSmResp(2, message_id="1")]
        assert session.unanswered == 0

    def test_an_alert_has_no_answer(self) -> None:
        ours, theirs = esme(), centre()
        theirs.notify(p.AlertNotification(source_addr="44"))

        (event,) = ours.receive(theirs.data_to_send(), 1.0)

        assert event == e.AlertReceived(p.AlertNotification(1, source_addr="44"))
        assert ours.data_to_send() == b""

    def test_answers_after_the_end_go_nowhere(self) -> None:
        session = esme()
        session.receive(codec.encode(RECEIPT), 1.0)
        session.connection_lost()

        assert not session.answer(RECEIPT)
        assert session.data_to_send() == b""


class TestRules:
    @pytest.mark.parametrize(
        ("request_octets", "answer"),
        [
            ("00000010 00000999 00000000 00000007", p.GenericNack(7, CommandStatus.ESME_RINVCMDID)),
            ("00000010 00000000 00000000 00000007", p.GenericNack(7, CommandStatus.ESME_RINVCMDID)),
            ("00000010 00000005 00000000 00000007", p.DeliverSmResp(7, CommandStatus.ESME_RINVCMDLEN)),
            ("00000010 00000004 00000000 00000007", p.SubmitSmResp(7, CommandStatus.ESME_RINVBNDSTS)),
            ("00000010 00000009 00000000 00000007", p.BindTransceiverResp(7, CommandStatus.ESME_RALYBND)),
            ("00000011 00000015 00000000 00000007 00", p.EnquireLinkResp(7, CommandStatus.ESME_RINVOPTPARSTREAM)),
        ],
    )
    def test_what_can_be_mended_is_answered(self, request_octets: str, answer: p.Pdu) -> None:
        session = esme()

        (event,) = session.receive(bytes.fromhex(request_octets), 1.0)

        assert isinstance(event, e.ProtocolError)
        assert (event.error.sequence, event.error.recoverable) == (7, True)
        assert sent(session) == [answer]
        assert session.bound
        assert session.unanswered == 0

    @pytest.mark.parametrize("octets", ["00000010 80000999 00000000 00000007", "00000010 0000000b 00000000 00000007"])
    def test_what_has_no_answer_gets_none(self, octets: str) -> None:
        session = esme()

        (event,) = session.receive(bytes.fromhex(octets), 1.0)

        assert isinstance(event, e.ProtocolError)
        assert session.data_to_send() == b""

    @pytest.mark.parametrize("length", ["0000000f", "7fffffff", "00000000"])
    def test_a_broken_stream_ends_the_session(self, length: str) -> None:
        session = esme()
        session.send_request(c.SUBMIT_SM, BODY, "token", 1.0)
        sent(session)
        whole = codec.encode(p.SubmitSmResp(2, message_id="1"))

        events = session.receive(whole + bytes.fromhex(length) + bytes(12) + whole, 1.0)

        assert [type(event) for event in events] == [e.Answered, e.ProtocolError, e.Closing]
        assert events[-1] == e.Closing(CloseReason.PROTOCOL)
        assert session.closing
        (nack,) = sent(session)
        assert (type(nack), nack.status) == (p.GenericNack, CommandStatus.ESME_RINVCMDLEN)
        assert session.receive(whole, 2.0) == []
        assert session.handle_timers(1e9) == []

    def test_nothing_is_taken_from_an_esme_before_its_bind(self) -> None:
        session = Session(Role.MC, 0.0)

        session.receive(codec.encode(p.SubmitSm(1)) + codec.encode(p.EnquireLink(2)), 1.0)

        assert sent(session) == [p.SubmitSmResp(1, CommandStatus.ESME_RINVBNDSTS), p.EnquireLinkResp(2)]

    def test_a_peer_may_number_as_it_likes(self) -> None:
        """Some message centres begin at 0, some give every request the same number."""
        session = esme()
        first = p.DeliverSm(0, short_message=b"1")

        events = session.receive(codec.encode(first) + codec.encode(first), 1.0)

        assert events == [e.Delivered(first), e.Delivered(first)]
        assert session.answer(first)
        assert session.answer(first)
        assert sent(session) == [p.DeliverSmResp(0), p.DeliverSmResp(0)]

    def test_octets_may_be_sent_past_the_rules(self) -> None:
        session = centre()

        session.send_octets(b"\0\0")

        assert session.data_to_send() == b"\0\0"


class TestIdleLinks:
    OPTIONS = SessionOptions(enquire_interval=30, response_timeout=60)

    def test_an_idle_link_is_tested_and_a_live_one_stays(self) -> None:
        session = esme(options=self.OPTIONS)

        assert session.next_deadline() == 30.0
        assert session.handle_timers(30.0) == []
        (enquiry,) = sent(session)
        assert isinstance(enquiry, p.EnquireLink)
        assert session.next_deadline() == 60.0
        assert session.receive(codec.encode(p.EnquireLinkResp(enquiry.sequence)), 31.0) == []
        assert session.next_deadline() == 61.0

    def test_a_half_open_link_is_found_within_two_intervals(self) -> None:
        session = esme(options=self.OPTIONS)
        session.send_request(c.SUBMIT_SM, BODY, "token", 1.0)
        assert session.handle_timers(30.0) == []

        assert session.handle_timers(60.0) == [e.Closing(CloseReason.LINK_DEAD)]

        assert session.closing
        assert session.room == 0
        assert session.connection_lost() == [e.Lost(["token"])]

    def test_a_busy_link_is_not_tested(self) -> None:
        session = esme(options=self.OPTIONS)

        session.receive(codec.encode(RECEIPT), 29.0)

        assert session.handle_timers(30.0) == []
        assert session.data_to_send() == b""

    def test_a_peer_that_talks_is_alive_though_it_ignores_enquire_link(self) -> None:
        session = esme(options=self.OPTIONS)
        session.handle_timers(30.0)
        session.receive(codec.encode(RECEIPT), 40.0)

        assert session.handle_timers(60.0) == []
        assert not session.closing
        assert session.next_deadline() == 70.0

    def test_octets_that_make_no_pdu_are_no_sign_of_life(self) -> None:
        session = esme(options=self.OPTIONS)
        session.handle_timers(30.0)
        session.receive(b"\0\0", 59.0)

        assert session.handle_timers(60.0) == [e.Closing(CloseReason.LINK_DEAD)]

    def test_the_peer_is_answered_at_once(self) -> None:
        session = centre()

        assert session.receive(codec.encode(p.EnquireLink(7)), 1.0) == []
        assert sent(session) == [p.EnquireLinkResp(7)]

    def test_one_test_at_a_time(self) -> None:
        session = esme(options=self.OPTIONS)

        session.enquire_link(1.0)
        session.enquire_link(2.0)

        assert len(sent(session)) == 1

    def test_a_full_window_is_tested_too(self) -> None:
        session = esme(options=SessionOptions(window=1, enquire_interval=30, response_timeout=300))
        session.send_request(c.SUBMIT_SM, BODY, None, 0.0)
        sent(session)

        session.handle_timers(30.0)

        assert [type(pdu) for pdu in sent(session)] == [p.EnquireLink]

    def test_a_link_that_only_idles_is_closed_where_that_is_asked_for(self) -> None:
        session = centre(options=SessionOptions(inactivity_timeout=100, enquire_interval=0))
        session.receive(codec.encode(p.SubmitSm(2)), 50.0)
        session.receive(codec.encode(p.EnquireLink(3)), 140.0)

        assert session.next_deadline() == 150.0
        assert session.handle_timers(150.0) == [e.Closing(CloseReason.INACTIVE)]

    def test_no_interval_no_test(self) -> None:
        assert esme(options=SessionOptions(enquire_interval=0)).next_deadline() is None


class TestUnbinding:
    def test_ours_lets_answers_come_in_and_begins_nothing_new(self) -> None:
        session = esme()
        session.send_request(c.SUBMIT_SM, BODY, "token", 1.0)
        session.unbind(2.0)
        unbind = sent(session)[-1]
        assert isinstance(unbind, p.Unbind)
        with pytest.raises(StateError):
            session.send_request(c.SUBMIT_SM, BODY, None, 2.0)

        answered = session.receive(codec.encode(p.SubmitSmResp(2, message_id="1")), 3.0)
        delivered = session.receive(codec.encode(RECEIPT), 3.0)
        session.answer(RECEIPT)
        ended = session.receive(codec.encode(p.UnbindResp(unbind.sequence)), 3.0)

        assert [type(event) for event in answered + delivered] == [e.Answered, e.Delivered]
        assert ended == [e.Unbound(by_peer=False), e.Closing(CloseReason.UNBOUND)]
        assert sent(session) == [p.DeliverSmResp(9)]

    def test_ours_unanswered_closes_all_the_same(self) -> None:
        session = esme(options=SessionOptions(unbind_timeout=5))
        session.unbind(2.0)

        assert session.next_deadline() == 7.0
        assert session.handle_timers(7.0) == [e.Closing(CloseReason.UNBIND_TIMEOUT)]

    def test_theirs_is_answered(self) -> None:
        session = esme()

        events = session.receive(codec.encode(p.Unbind(5)), 1.0)

        assert events == [e.Unbound(by_peer=True), e.Closing(CloseReason.UNBOUND)]
        assert session.closing
        assert sent(session) == [p.UnbindResp(5)]

    def test_theirs_waits_for_the_answers_we_owe(self) -> None:
        session = centre()
        submit = p.SubmitSm(4)
        events = session.receive(codec.encode(submit) + codec.encode(p.Unbind(5)), 1.0)
        assert events == [e.RequestReceived(submit), e.Unbound(by_peer=True)]
        assert session.data_to_send() == b""

        assert session.respond(p.SubmitSmResp(4, message_id="1"))

        assert session.closing
        assert sent(session) == [p.SubmitSmResp(4, message_id="1"), p.UnbindResp(5)]

    def test_theirs_waits_for_deliveries_too(self) -> None:
        session = esme()
        session.receive(codec.encode(RECEIPT) + codec.encode(p.Unbind(5)), 1.0)

        session.answer(RECEIPT)

        assert sent(session) == [p.DeliverSmResp(9), p.UnbindResp(5)]

    def test_theirs_does_not_wait_for_ever(self) -> None:
        session = esme(options=SessionOptions(unbind_timeout=5, enquire_interval=0))
        session.receive(codec.encode(RECEIPT) + codec.encode(p.Unbind(5)), 1.0)

        assert session.next_deadline() == 6.0
        assert session.handle_timers(6.0) == [e.Closing(CloseReason.UNBOUND)]
        assert sent(session) == [p.UnbindResp(5)]

    def test_theirs_waits_for_the_answers_to_what_is_in_flight(self) -> None:
        session = esme()
        for token in ("first", "second"):
            session.send_request(c.SUBMIT_SM, BODY, token, 1.0)
        session.data_to_send()

        assert session.receive(codec.encode(p.Unbind(5)), 1.5) == [e.Unbound(by_peer=True)]
        assert (session.room, session.data_to_send()) == (0, b"")
        with pytest.raises(StateError):
            session.send_request(c.SUBMIT_SM, BODY, None, 1.5)

        answers = [session.receive(codec.encode(p.SubmitSmResp(n, message_id="1")), 2.0) for n in (2, 3)]

        assert [[type(event) for event in events] for events in answers] == [[e.Answered], [e.Answered, e.Closing]]
        assert sent(session) == [p.UnbindResp(5)]
        assert session.connection_lost() == []

    def test_theirs_waits_for_both_what_we_owe_and_what_is_in_flight(self) -> None:
        session = esme()
        session.send_request(c.SUBMIT_SM, BODY, "token", 1.0)
        session.data_to_send()
        session.receive(codec.encode(RECEIPT) + codec.encode(p.Unbind(5)), 1.5)

        session.answer(RECEIPT)
        assert sent(session) == [p.DeliverSmResp(9)]
        assert not session.closing

        session.receive(codec.encode(p.SubmitSmResp(2, message_id="1")), 2.0)
        assert sent(session) == [p.UnbindResp(5)]

    def test_what_is_in_flight_does_not_hold_up_theirs_for_ever(self) -> None:
        session = esme(options=SessionOptions(unbind_timeout=5, response_timeout=30, enquire_interval=0))
        session.send_request(c.SUBMIT_SM, BODY, "token", 1.0)
        session.data_to_send()
        session.receive(codec.encode(p.Unbind(5)), 2.0)

        assert session.next_deadline() == 7.0
        assert session.handle_timers(7.0) == [e.Closing(CloseReason.UNBOUND)]
        assert sent(session) == [p.UnbindResp(5)]
        assert session.connection_lost() == [e.Lost(["token"])]

    def test_theirs_is_answered_when_what_is_in_flight_has_timed_out(self) -> None:
        session = esme(options=SessionOptions(unbind_timeout=5, response_timeout=2, enquire_interval=0))
        session.send_request(c.SUBMIT_SM, BODY, "token", 1.0)
        session.data_to_send()
        session.receive(codec.encode(p.Unbind(5)), 2.0)

        assert session.handle_timers(3.0) == [e.TimedOut("token", 2), e.Closing(CloseReason.UNBOUND)]
        assert sent(session) == [p.UnbindResp(5)]

    def test_of_a_centre_theirs_waits_for_no_esme(self) -> None:
        session = centre()
        session.request(RECEIPT, "token", 1.0)
        session.data_to_send()

        session.receive(codec.encode(p.Unbind(5)), 2.0)

        assert sent(session) == [p.UnbindResp(5)]

    def test_both_at_once(self) -> None:
        session = esme()
        session.unbind(1.0)
        sent(session)

        events = session.receive(codec.encode(p.Unbind(5)) + codec.encode(p.UnbindResp(2)), 1.0)

        assert events[0] == e.Unbound(by_peer=True)
        assert session.closing
        assert sent(session) == [p.UnbindResp(5)]
        assert [event for event in events if isinstance(event, e.Closing)] == [e.Closing(CloseReason.UNBOUND)]

    def test_nobody_unbinds_who_is_not_bound(self) -> None:
        session = Session(Role.MC, 0.0)
        with pytest.raises(StateError):
            session.unbind(0.0)

        session.receive(codec.encode(p.Unbind(5)), 1.0)

        assert sent(session) == [p.UnbindResp(5, CommandStatus.ESME_RINVBNDSTS)]


def test_events_print_no_text() -> None:
    session = esme()
    session.send_request(c.SUBMIT_SM, BODY, "token", 1.0)
    frames = codec.encode(p.SubmitSmResp(2, 0x58)) + codec.encode(RECEIPT)

    shown = repr(session.receive(frames, 1.0))

    assert "0x58" in shown
    assert "id:1" not in shown
    assert "447700900123" not in shown
