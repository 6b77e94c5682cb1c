"""Exceptions of the SMPP core. Nothing else leaves it as an exception."""

from heliograph.smpp.constants import CommandStatus, command_name


class SmppError(Exception):
    """Root of all errors of this package."""


class FieldError(SmppError, ValueError):
    """A field of a PDU to be sent does not fit the wire; `field` names it. Never shows the value."""

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(f"{field}: {reason}")
        self.field = field


class PduError(SmppError):
    """Octets that are no PDU.

    `status` is what the sender of the octets has to be told; `recoverable` says whether the frame after it
    can still be trusted. `command_id` and `sequence` are 0 where the header could not be read.
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
    """The window has no place left: all its requests wait for their answers."""
