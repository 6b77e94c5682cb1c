"""Exceptions of the SMPP core. The core raises no others."""

from heliograph.smpp.constants import CommandStatus, command_name


class SmppError(Exception):
    """Root of all errors of this package."""


class FieldError(SmppError, ValueError):
    """A field of a PDU to be sent does not fit the wire; `field` names it. Never shows the value."""

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(f"{field}: {reason}")
        self.field = field


class PduError(SmppError):
    """The octets are no valid PDU.

    `status`: the command_status to answer the sender with.

    `recoverable`: whether the next frame can still be trusted.

    `command_id`, `sequence`: from the header; 0 if the header could not be read.
    """

    def __init__(
        self,
        reason: str,
        status: int,
        *,
        command_id: int = 0,
        sequence: int = 0,
        recoverable: bool = True,
    ) -> None:
        super().__init__(f"{command_name(command_id)}: {reason} ({CommandStatus.name_of(status)})")
        self.reason = reason
        self.status = status
        self.command_id = command_id
        self.sequence = sequence
        self.recoverable = recoverable


class StateError(SmppError):
    """The PDU may not be sent in the state the session is in."""


class WindowFullError(SmppError):
    """The window is full: all its requests wait for their answers."""
