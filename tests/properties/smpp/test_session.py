"""Two sessions and a pipe that delays, cuts and breaks: each request ends exactly once, and no window
overflows.
"""

import random
from collections import Counter

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from heliograph.smpp import codec
from heliograph.smpp import constants as c
from heliograph.smpp import event as e
from heliograph.smpp import pdu as p
from heliograph.smpp.constants import MAX_SEQUENCE, Role
from heliograph.smpp.error import WindowFullError
from heliograph.smpp.session import Session, SessionOptions

SUBMIT = codec.encode_body(p.SubmitSm(destination_addr="44", short_message=b"x"))
DELIVER = codec.encode_body(p.DeliverSm(source_addr="44", esm_class=4, short_message=b"id:1"))


class End:
    """One session, what its owner knows, and the octets on their way to it."""

    def __init__(self, role: Role, options: SessionOptions) -> None:
        self.role = role
        self.options = options
        self.request = (c.SUBMIT_SM, SUBMIT) if role is Role.ESME else (c.DELIVER_SM, DELIVER)
        self.sent: Counter[object] = Counter()
        self.ended: Counter[object] = Counter()
        self.deadlines: dict[object, float] = {}
        self.connect(0.0)

    def connect(self, now: float) -> None:
        self.session = Session(self.role, now, self.options)
        self.incoming = bytearray()
        self.owed: list[p.Pdu] = []

    def take(self, events: list[e.Event]) -> None:
        for event in events:
            match event:
                case e.Answered() | e.TimedOut():
                    self.ended[event.token] += 1
                case e.Lost():
                    self.ended.update(event.tokens)
                case e.BindRequested():
                    self.session.answer(event.request)
                case e.Delivered() | e.RequestReceived():
                    self.owed.append(event.request)
                case _:
                    pass


class TwoSessions(RuleBasedStateMachine):
    """The clock runs only where a rule lets it. A link that ends is followed by a new one."""

    now = 0.0
    number = 0

    @initialize(
        window=st.integers(1, 5),
        timeout=st.sampled_from([1.0, 10.0]),
        interval=st.sampled_from([0.0, 3.0]),
        first=st.sampled_from([1, MAX_SEQUENCE - 2]),
    )
    def begin(self, window: int, timeout: float, interval: float, first: int) -> None:
        options = SessionOptions(
            window=window, response_timeout=timeout, enquire_interval=interval, first_sequence=first
        )
        self.esme = End(Role.ESME, options)
        self.centre = End(Role.MC, options)
        self.ends = (self.esme, self.centre)
        self.bind()

    def bind(self) -> None:
        self.esme.session.bind(p.BindTransceiver(), self.now)
        for end in (self.centre, self.esme):
            self.flush()
            self.bring(end, len(end.incoming))
        assert self.esme.session.bound
        assert self.centre.session.bound

    def flush(self) -> None:
        self.centre.incoming += self.esme.session.data_to_send()
        self.esme.incoming += self.centre.session.data_to_send()

    def bring(self, end: End, octets: int) -> None:
        piece = bytes(end.incoming[:octets])
        del end.incoming[:octets]
        end.take(end.session.receive(piece, self.now))

    def end(self, which: bool) -> End:
        return self.ends[which]

    @rule(which=st.booleans(), count=st.integers(1, 4))
    def send(self, which: bool, count: int) -> None:
        end = self.end(which)
        command_id, body = end.request
        for _ in range(count):
            if not end.session.may_send(command_id):
                return
            self.number += 1
            if end.session.room:
                end.session.send_request(command_id, body, self.number, self.now)
                end.sent[self.number] += 1
                end.deadlines[self.number] = self.now + end.options.response_timeout
            else:
                with pytest.raises(WindowFullError):
                    end.session.send_request(command_id, body, self.number, self.now)

    @rule(which=st.booleans(), share=st.sampled_from([0.1, 0.5, 1.0]))
    def carry(self, which: bool, share: float) -> None:
        self.flush()
        end = self.end(which)
        self.bring(end, round(len(end.incoming) * share))
        self.replace_ended_link()

    @rule(which=st.booleans(), choose=st.randoms(use_true_random=False), status=st.sampled_from([0, 0x58]))
    def answer(self, which: bool, choose: random.Random, status: int) -> None:
        end = self.end(which)
        choose.shuffle(end.owed)
        for _ in range((len(end.owed) + 1) // 2):
            end.session.answer(end.owed.pop(), status)

    @rule(which=st.booleans(), wrong=st.sampled_from([p.SubmitSmResp(3), p.DeliverSmResp(3), p.GenericNack(3, 8)]))
    def answer_out_of_nowhere(self, which: bool, wrong: p.Pdu) -> None:
        """A peer that answers by a number it may have seen or not."""
        self.flush()
        end = self.end(which)
        if not end.incoming:
            end.take(end.session.receive(codec.encode(wrong), self.now))

    @rule(seconds=st.sampled_from([0.0, 0.5, 2.0, 4.0, 12.0]))
    def wait(self, seconds: float) -> None:
        self.now += seconds
        for end in self.ends:
            end.take(end.session.handle_timers(self.now))
            deadline = end.session.next_deadline()
            assert deadline is None or deadline > self.now
            waiting = end.sent - end.ended
            assert end.session.closing or all(end.deadlines[token] > self.now for token in waiting)
        self.replace_ended_link()

    @rule(which=st.booleans())
    def unbind(self, which: bool) -> None:
        session = self.end(which).session
        if session.may_send(c.UNBIND) and self.number % 7 == 6:
            session.unbind(self.now)

    @precondition(lambda self: self.number % 5 == 4)
    @rule()
    def cut(self) -> None:
        for end in self.ends:
            end.take(end.session.connection_lost())
            assert end.ended == end.sent
            end.connect(self.now)
        self.bind()

    def replace_ended_link(self) -> None:
        if any(end.session.closing for end in self.ends):
            self.cut()

    @invariant()
    def no_window_overflows(self) -> None:
        for end in getattr(self, "ends", ()):
            assert end.session.in_flight <= end.options.window
            assert end.session.in_flight == (end.sent - end.ended).total()

    @invariant()
    def nothing_ends_twice_or_unasked(self) -> None:
        for end in getattr(self, "ends", ()):
            assert end.ended <= end.sent

    def teardown(self) -> None:
        for end in getattr(self, "ends", ()):
            end.take(end.session.connection_lost())
            assert end.ended == end.sent


TestTwoSessions = pytest.mark.slow(TwoSessions.TestCase)
TestTwoSessions.settings = settings(max_examples=120, stateful_step_count=100, deadline=None)
