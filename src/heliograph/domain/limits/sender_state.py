"""States of a sender ID in an account's registry."""

from enum import StrEnum


class SenderState(StrEnum):
    """Whether an account may use a sender ID. Only APPROVED passes."""

    PENDING = "pending"
    APPROVED = "approved"
    REFUSED = "refused"


def problem_of(sender: str, state: SenderState | None) -> str:
    """Returns the error for a sender ID that does not pass; `state` is None if it is not registered."""
    if state is SenderState.PENDING:
        return f"The sender {sender} is pending: it may be used when the operator of the gateway has approved it."
    if state is SenderState.REFUSED:
        return f"The sender {sender} was refused; use an approved one, or ask the operator of the gateway why."
    return f"The sender {sender} is not registered; use an approved one, or ask the operator of the gateway for it."
