"""The fields of a body on the wire: SMPP v3.4, 3.1.

A layout is a tuple of fields in wire order. `read` and `write` walk it for every PDU, and the unrolled functions of
`codec` are tested against them.

Sizes are checked only when we send. Peers do send longer addresses and ids than the specification allows, and such a
field does no harm if it ends within its frame.
"""

from dataclasses import dataclass
from struct import Struct
from typing import Any, Final, Protocol

from heliograph.smpp import constants as c
from heliograph.smpp.constants import CommandStatus
from heliograph.smpp.error import FieldError, PduError
from heliograph.smpp.pdu import Address, DistributionList, FailedDestination

_FAILURE_STATUS: Final = Struct(">I")


class WireField(Protocol):
    """A field. `read` returns the value and the position of the next field.

    If the frame ends too early, `read` raises IndexError or ValueError. The layout's `read` turns them into `PduError`.
    """

    @property
    def name(self) -> str: ...

    def read(self, frame: bytes, position: int) -> tuple[Any, int]: ...

    def write(self, value: Any) -> bytes: ...


Layout = tuple[WireField, ...]


@dataclass(frozen=True, slots=True)
class Octet:
    """An unsigned number of one octet."""

    name: str

    def read(self, frame: bytes, position: int) -> tuple[int, int]:
        return frame[position], position + 1

    def write(self, value: int) -> bytes:
        return numbers(self.name, value)


@dataclass(frozen=True, slots=True)
class Text:
    """A C-octet string of at most `octets`, its closing zero included."""

    name: str
    octets: int

    def read(self, frame: bytes, position: int) -> tuple[str, int]:
        end = frame.index(0, position)
        return frame[position:end].decode("latin-1"), end + 1

    def write(self, value: str) -> bytes:
        return text_octets(self.name, value, self.octets) + b"\0"


@dataclass(frozen=True, slots=True)
class Content:
    """sm_length and short_message."""

    name: str = "short_message"

    def read(self, frame: bytes, position: int) -> tuple[bytes, int]:
        start = position + 1
        end = start + frame[position]
        if end > len(frame):
            raise PduError("sm_length reaches beyond the PDU", CommandStatus.ESME_RINVMSGLEN)
        return frame[start:end], end

    def write(self, value: bytes) -> bytes:
        if len(value) > c.MAX_SHORT_MESSAGE_OCTETS:
            raise FieldError(self.name, f"longer than {c.MAX_SHORT_MESSAGE_OCTETS} octets")
        return bytes((len(value),)) + value


@dataclass(frozen=True, slots=True)
class Destinations:
    """number_of_dests and that many addresses or list names: SMPP v3.4, 4.5.1.1."""

    name: str = "destinations"

    def read(self, frame: bytes, position: int) -> tuple[tuple[Address | DistributionList, ...], int]:
        found: list[Address | DistributionList] = []
        count = frame[position]
        position += 1
        for _ in range(count):
            flag = frame[position]
            if flag == c.DESTINATION_ADDRESS:
                end = frame.index(0, position + 3)
                number = frame[position + 3 : end].decode("latin-1")
                found.append(Address(frame[position + 1], frame[position + 2], number))
            elif flag == c.DESTINATION_LIST:
                end = frame.index(0, position + 1)
                found.append(DistributionList(frame[position + 1 : end].decode("latin-1")))
            else:
                raise PduError(f"dest_flag {flag}", CommandStatus.ESME_RINVDESTFLAG)
            position = end + 1
        return tuple(found), position

    def write(self, value: tuple[Address | DistributionList, ...]) -> bytes:
        if len(value) > c.MAX_DESTINATIONS:
            raise FieldError(self.name, f"more than {c.MAX_DESTINATIONS}")
        parts = [bytes((len(value),))]
        for destination in value:
            if isinstance(destination, DistributionList):
                name = text_octets("dl_name", destination.name, c.LIST_NAME_OCTETS)
                parts.append(b"%c%b\0" % (c.DESTINATION_LIST, name))
            else:
                number = text_octets("destination_addr", destination.number, c.ADDRESS_OCTETS)
                head = numbers(self.name, c.DESTINATION_ADDRESS, destination.ton, destination.npi)
                parts.append(head + number + b"\0")
        return b"".join(parts)


@dataclass(frozen=True, slots=True)
class FailedDestinations:
    """no_unsuccess and that many recipients that were not taken: SMPP v3.4, 4.5.3."""

    name: str = "unsuccess_sme"

    def read(self, frame: bytes, position: int) -> tuple[tuple[FailedDestination, ...], int]:
        found = []
        count = frame[position]
        position += 1
        for _ in range(count):
            end = frame.index(0, position + 2)
            number = frame[position + 2 : end].decode("latin-1")
            if end + 5 > len(frame):
                raise IndexError
            (status,) = _FAILURE_STATUS.unpack_from(frame, end + 1)
            found.append(FailedDestination(frame[position], frame[position + 1], number, status))
            position = end + 5
        return tuple(found), position

    def write(self, value: tuple[FailedDestination, ...]) -> bytes:
        if len(value) > c.MAX_DESTINATIONS:
            raise FieldError(self.name, f"more than {c.MAX_DESTINATIONS}")
        parts = [bytes((len(value),))]
        for failed in value:
            number = text_octets("destination_addr", failed.number, c.ADDRESS_OCTETS)
            if not 0 <= failed.status <= 0xFFFFFFFF:
                raise FieldError(self.name, "a status does not fit 32 bits")
            head = numbers(self.name, failed.ton, failed.npi)
            parts.append(head + number + b"\0" + _FAILURE_STATUS.pack(failed.status))
        return b"".join(parts)


def numbers(field: str, *values: int) -> bytes:
    """Encodes each number as an octet. Raises FieldError if a number does not fit."""
    try:
        return bytes(values)
    except ValueError as error:
        raise FieldError(field, "not a number of one octet") from error


def text_octets(field: str, value: str, octets: int) -> bytes:
    """Encodes a C-octet string without its closing zero. Raises FieldError if it does not fit `octets` with the
    zero."""
    try:
        encoded = value.encode("latin-1")
    except UnicodeEncodeError as error:
        raise FieldError(field, "not Latin-1") from error
    if len(encoded) >= octets:
        raise FieldError(field, f"longer than {octets - 1} octets")
    if 0 in encoded:
        raise FieldError(field, "contains a zero octet")
    return encoded


def read(layout: Layout, frame: bytes) -> tuple[dict[str, Any], int]:
    """Returns the fields of the body, and the position of its TLVs."""
    values = {}
    position = c.HEADER_OCTETS
    for field in layout:
        try:
            values[field.name], position = field.read(frame, position)
        except (IndexError, ValueError) as error:
            raise PduError(f"ends within {field.name}", CommandStatus.ESME_RINVCMDLEN) from error
    return values, position


def read_leniently(layout: Layout, frame: bytes) -> tuple[dict[str, Any], int]:
    """Like `read`, but fields may be missing at the end, and the last text may lack its closing zero."""
    values = {}
    position = c.HEADER_OCTETS
    for field in layout:
        try:
            values[field.name], position = field.read(frame, position)
        except (IndexError, ValueError, PduError):
            if isinstance(field, Text):
                values[field.name] = frame[position:].decode("latin-1")
            return values, len(frame)
    return values, position


def write(layout: Layout, pdu: object) -> bytes:
    """The body without its TLVs."""
    return b"".join([field.write(getattr(pdu, field.name)) for field in layout])
