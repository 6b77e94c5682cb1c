"""The command_status of a refusal, and its reason as text.

No two providers agree on these. Ours suit Kannel, Jasmin and jSMPP: such clients send again after ESME_RTHROTTLED and
ESME_RMSGQFUL, and give up after any other error. An account may have its own statuses, by reason.
"""

from collections.abc import Mapping
from typing import Final

from heliograph.domain.error import Fault, Reason
from heliograph.smpp import constants as c
from heliograph.smpp import tlv
from heliograph.smpp.constants import CommandStatus
from heliograph.smpp.tlv import Tlvs

MAX_TEXT_OCTETS: Final = 255
"""Octets of additional_status_info_text without its closing NUL (SMPP v3.4, 5.3.2.11)."""

_BY_FIELD: Final = {
    "to": CommandStatus.ESME_RINVDSTADR,
    "from": CommandStatus.ESME_RINVSRCADR,
    "content": CommandStatus.ESME_RINVMSGLEN,
    "time": CommandStatus.ESME_RINVSCHED,
    "validity": CommandStatus.ESME_RINVEXPIRY,
    "udh": CommandStatus.ESME_RINVESMCLASS,
    "tlvs": CommandStatus.ESME_ROPTPARNOTALLWD,
}

_BY_REASON: Final = {
    Reason.NO_ROUTE: CommandStatus.ESME_RINVDSTADR,
    Reason.MARGIN: CommandStatus.ESME_RINVDSTADR,
    Reason.PREFIX: CommandStatus.ESME_RINVDSTADR,
    Reason.SENDER: CommandStatus.ESME_RINVSRCADR,
    Reason.SENDER_PENDING: CommandStatus.ESME_RINVSRCADR,
    Reason.SENDER_REFUSED: CommandStatus.ESME_RINVSRCADR,
    Reason.SENDER_COUNTRY: CommandStatus.ESME_RINVSRCADR,
    Reason.RATE: CommandStatus.ESME_RTHROTTLED,
    Reason.REQUESTS: CommandStatus.ESME_RTHROTTLED,
    Reason.TOO_EARLY: CommandStatus.ESME_RTHROTTLED,
    Reason.WAITING: CommandStatus.ESME_RTHROTTLED,
    Reason.UNAVAILABLE: CommandStatus.ESME_RMSGQFUL,
    Reason.IN_DOUBT: CommandStatus.ESME_RSYSERR,
    Reason.INTERNAL: CommandStatus.ESME_RSYSERR,
}


def status_of(fault: Fault, own: Mapping[str, int]) -> int:
    """Returns the status of a submission that ended in the fault. `own`: the account's statuses by reason."""
    if fault.reason.value in own:
        return own[fault.reason.value]
    if fault.reason in _BY_REASON:
        return _BY_REASON[fault.reason]
    if fault.reason in (Reason.INVALID, Reason.MISSING):
        return _BY_FIELD.get(fault.field or "", CommandStatus.ESME_RSUBMITFAIL)
    return CommandStatus.ESME_RSUBMITFAIL


def status_text(problem: str, command_id: int, version: int) -> Tlvs:
    """Returns the TLV with the reason for people, for the response to a request; none if the client's version of SMPP
    has no TLVs there. SMPP 5.0 has them in every response, 3.4 in a data_sm_resp (SMPP v3.4, 4.4.2 and 4.7.2)."""
    if version < (c.INTERFACE_VERSION_34 if command_id == c.DATA_SM else c.INTERFACE_VERSION_50):
        return ()
    text = problem.encode("ascii", "replace")[:MAX_TEXT_OCTETS]
    return ((tlv.ADDITIONAL_STATUS_INFO_TEXT, text + b"\0"),)
