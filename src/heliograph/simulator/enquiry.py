"""Answers query_sm, cancel_sm and replace_sm about messages that were taken."""

from datetime import UTC, datetime

from heliograph.simulator.behaviour import Notation
from heliograph.simulator.message import MessageMemory, TakenSubmit
from heliograph.smpp import pdu as p
from heliograph.smpp.constants import CommandStatus, MessageState


def query(messages: MessageMemory, notation: Notation, request: p.QuerySm, system_id: str, now: float) -> p.QuerySmResp:
    submission = _find(messages, notation, request.message_id, system_id, request.source_addr)
    if submission is None:
        return p.QuerySmResp(request.sequence, CommandStatus.ESME_RQUERYFAIL)
    state = submission.state(now)
    final = state is not MessageState.ENROUTE
    return p.QuerySmResp(
        request.sequence,
        0,
        (),
        request.message_id,
        _absolute(submission.final_at_s) if final else "",
        state,
        min(submission.final_err, 0xFF) if final else 0,
    )


def cancel(
    messages: MessageMemory, notation: Notation, request: p.CancelSm, system_id: str, now: float, now_s: float
) -> tuple[p.CancelSmResp, list[TakenSubmit]]:
    """Returns the response and the cancelled messages. Their state is now DELETED, and their receipts are due at once.

    `now` is by the clock of the sessions, `now_s` in seconds since 1970.
    """
    if request.message_id:
        submission = _find(messages, notation, request.message_id, system_id, request.source_addr)
        found = [submission] if submission is not None and now < submission.final_at else []
    else:
        found = messages.under_way(system_id, request.source_addr, request.destination_addr, now)
    for submission in found:
        submission.cancelled = True
        submission.final_state = MessageState.DELETED
        submission.final_err = 0
        submission.final_at = now
        submission.final_at_s = now_s
    return p.CancelSmResp(request.sequence, 0 if found else CommandStatus.ESME_RCANCELFAIL), found


def replace(
    messages: MessageMemory, notation: Notation, request: p.ReplaceSm, system_id: str, now: float
) -> p.ReplaceSmResp:
    submission = _find(messages, notation, request.message_id, system_id, request.source_addr)
    if submission is None or now >= submission.final_at:
        return p.ReplaceSmResp(request.sequence, CommandStatus.ESME_RREPLACEFAIL)
    submission.content = request.short_message
    return p.ReplaceSmResp(request.sequence)


def _find(
    messages: MessageMemory, notation: Notation, message_id: str, system_id: str, source_addr: str
) -> TakenSubmit | None:
    number = notation.read(message_id)
    return None if number is None else messages.find(number, system_id, source_addr)


def _absolute(at_s: float) -> str:
    """YYMMDDhhmmsstnnp in UTC: SMPP v3.4, 7.1.1.1."""
    at = datetime.fromtimestamp(at_s, UTC)
    return f"{at:%y%m%d%H%M%S}{at.microsecond // 100_000}00+"
