from heliograph.smpp import constants as c
from heliograph.smpp import pdu as p
from heliograph.smpp.constants import CommandStatus, Role
from heliograph.smpp.state import BOUND, REQUESTS, SessionState


def test_statuses_have_names_whatever_they_are() -> None:
    assert CommandStatus.name_of(0x58) == "ESME_RTHROTTLED"
    assert CommandStatus.name_of(CommandStatus.ESME_ROK) == "ESME_ROK"
    assert CommandStatus.name_of(0x0431) == "0x00000431"


def test_commands_have_names_whatever_they_are() -> None:
    assert c.command_name(c.SUBMIT_SM) == "submit_sm"
    assert c.command_name(c.GENERIC_NACK) == "generic_nack"
    assert c.command_name(c.BIND_TRANSCEIVER_RESP) == "bind_transceiver_resp"
    assert c.command_name(0x111) == "0x00000111"


def test_every_request_may_be_issued_somewhere_and_has_its_response() -> None:
    requests = {command for command in p.PDU_TYPES if not command & c.RESPONSE_BIT}

    assert {command for states in REQUESTS.values() for row in states.values() for command in row} == requests
    assert {command | c.RESPONSE_BIT for command in requests - c.UNANSWERED_COMMANDS} | {c.GENERIC_NACK} == {
        command for command in p.PDU_TYPES if command & c.RESPONSE_BIT
    }


def test_the_table_of_the_specification() -> None:
    """SMPP v3.4, table 2-1, by who issues what where."""

    def issued(role: Role, command: int) -> set[SessionState]:
        return {state for state, commands in REQUESTS[role].items() if command in commands}

    transmitting = {SessionState.BOUND_TX, SessionState.BOUND_TRX}
    receiving = {SessionState.BOUND_RX, SessionState.BOUND_TRX}
    for command in c.BIND_COMMANDS:
        assert (issued(Role.ESME, command), issued(Role.MC, command)) == ({SessionState.OPEN}, set())
    for command in (c.SUBMIT_SM, c.SUBMIT_MULTI, c.QUERY_SM, c.CANCEL_SM, c.REPLACE_SM):
        assert (issued(Role.ESME, command), issued(Role.MC, command)) == (transmitting, set())
    for command in (c.DELIVER_SM, c.ALERT_NOTIFICATION):
        assert (issued(Role.ESME, command), issued(Role.MC, command)) == (set(), receiving)
    assert (issued(Role.ESME, c.DATA_SM), issued(Role.MC, c.DATA_SM)) == (transmitting, receiving)
    assert (issued(Role.ESME, c.OUTBIND), issued(Role.MC, c.OUTBIND)) == (set(), {SessionState.OPEN})
    for role in Role:
        assert issued(role, c.UNBIND) == BOUND
        assert issued(role, c.ENQUIRE_LINK) == set(SessionState) - {SessionState.CLOSED}
