"""The numbers of SMPP v3.4 by name, with the useful ones of v5.0.

Command ids and bit masks are plain integers, because the codec compares them for every PDU. Numbers that people read
(statuses, states, types of number) are an `IntEnum`.
"""

from enum import IntEnum, StrEnum
from typing import Final


class Role(StrEnum):
    """The role of a session on its link."""

    ESME = "esme"
    """The client: binds and submits."""
    MC = "mc"
    """The message centre (SMSC): accepts binds and delivers."""

    @property
    def peer(self) -> "Role":
        return Role.MC if self is Role.ESME else Role.ESME


# Command ids: SMPP v3.4, 5.1.2.1. The response to a request has the top bit set.
RESPONSE_BIT: Final = 0x80000000

GENERIC_NACK: Final = 0x80000000
BIND_RECEIVER: Final = 0x00000001
BIND_RECEIVER_RESP: Final = 0x80000001
BIND_TRANSMITTER: Final = 0x00000002
BIND_TRANSMITTER_RESP: Final = 0x80000002
QUERY_SM: Final = 0x00000003
QUERY_SM_RESP: Final = 0x80000003
SUBMIT_SM: Final = 0x00000004
SUBMIT_SM_RESP: Final = 0x80000004
DELIVER_SM: Final = 0x00000005
DELIVER_SM_RESP: Final = 0x80000005
UNBIND: Final = 0x00000006
UNBIND_RESP: Final = 0x80000006
REPLACE_SM: Final = 0x00000007
REPLACE_SM_RESP: Final = 0x80000007
CANCEL_SM: Final = 0x00000008
CANCEL_SM_RESP: Final = 0x80000008
BIND_TRANSCEIVER: Final = 0x00000009
BIND_TRANSCEIVER_RESP: Final = 0x80000009
OUTBIND: Final = 0x0000000B
ENQUIRE_LINK: Final = 0x00000015
ENQUIRE_LINK_RESP: Final = 0x80000015
SUBMIT_MULTI: Final = 0x00000021
SUBMIT_MULTI_RESP: Final = 0x80000021
ALERT_NOTIFICATION: Final = 0x00000102
DATA_SM: Final = 0x00000103
DATA_SM_RESP: Final = 0x80000103

BIND_COMMANDS: Final = frozenset({BIND_RECEIVER, BIND_TRANSMITTER, BIND_TRANSCEIVER})
UNANSWERED_COMMANDS: Final = frozenset({OUTBIND, ALERT_NOTIFICATION})
"""Requests that have no response PDU."""

_COMMAND_NAMES: Final = {
    value: name.lower()
    for name, value in list(globals().items())
    if isinstance(value, int) and name.isupper() and not name.endswith("_BIT")
}


def command_name(command_id: int) -> str:
    """`submit_sm` for 0x00000004; unknown ids as hexadecimal."""
    return _COMMAND_NAMES.get(command_id) or f"0x{command_id:08x}"


# Limits.
HEADER_OCTETS: Final = 16
"""command_length, command_id, command_status, sequence_number: SMPP v3.4, 3.2."""
MAX_PDU_OCTETS: Final = 65_536 + 1024
"""Octets. Largest PDU accepted by default: the largest TLV value (65,535 octets of message_payload) and 1,024 octets
for the other fields.
"""
MAX_SEQUENCE: Final = 0x7FFFFFFF
"""SMPP v3.4, 3.2: sequence numbers run from 1 to this and start again."""
MAX_SHORT_MESSAGE_OCTETS: Final = 254
"""SMPP v3.4, 5.2.21. Longer texts travel in message_payload or in parts."""
MAX_TLV_OCTETS: Final = 65_535
MAX_DESTINATIONS: Final = 254
"""Most addresses in a submit_multi: SMPP v3.4, 4.5.1."""

# C-octet strings, in octets with the closing zero.
SYSTEM_ID_OCTETS: Final = 16
PASSWORD_OCTETS: Final = 9
SYSTEM_TYPE_OCTETS: Final = 13
ADDRESS_RANGE_OCTETS: Final = 41
SERVICE_TYPE_OCTETS: Final = 6
ADDRESS_OCTETS: Final = 21
LONG_ADDRESS_OCTETS: Final = 65
"""Addresses of data_sm and alert_notification."""
MESSAGE_ID_OCTETS: Final = 65
TIME_OCTETS: Final = 17
LIST_NAME_OCTETS: Final = 21

INTERFACE_VERSION_33: Final = 0x33
INTERFACE_VERSION_34: Final = 0x34
INTERFACE_VERSION_50: Final = 0x50


class CommandStatus(IntEnum):
    """Results: SMPP v3.4, 5.1.3; from 0x100 SMPP v5.0, 4.7.6. 0x400 to 0x4FF belong to each operator."""

    ESME_ROK = 0x00000000
    ESME_RINVMSGLEN = 0x00000001
    ESME_RINVCMDLEN = 0x00000002
    ESME_RINVCMDID = 0x00000003
    ESME_RINVBNDSTS = 0x00000004
    ESME_RALYBND = 0x00000005
    ESME_RINVPRTFLG = 0x00000006
    ESME_RINVREGDLVFLG = 0x00000007
    ESME_RSYSERR = 0x00000008
    ESME_RINVSRCADR = 0x0000000A
    ESME_RINVDSTADR = 0x0000000B
    ESME_RINVMSGID = 0x0000000C
    ESME_RBINDFAIL = 0x0000000D
    ESME_RINVPASWD = 0x0000000E
    ESME_RINVSYSID = 0x0000000F
    ESME_RCANCELFAIL = 0x00000011
    ESME_RREPLACEFAIL = 0x00000013
    ESME_RMSGQFUL = 0x00000014
    ESME_RINVSERTYP = 0x00000015
    ESME_RINVNUMDESTS = 0x00000033
    ESME_RINVDLNAME = 0x00000034
    ESME_RINVDESTFLAG = 0x00000040
    ESME_RINVSUBREP = 0x00000042
    ESME_RINVESMCLASS = 0x00000043
    ESME_RCNTSUBDL = 0x00000044
    ESME_RSUBMITFAIL = 0x00000045
    ESME_RINVSRCTON = 0x00000048
    ESME_RINVSRCNPI = 0x00000049
    ESME_RINVDSTTON = 0x00000050
    ESME_RINVDSTNPI = 0x00000051
    ESME_RINVSYSTYP = 0x00000053
    ESME_RINVREPFLAG = 0x00000054
    ESME_RINVNUMMSGS = 0x00000055
    ESME_RTHROTTLED = 0x00000058
    ESME_RINVSCHED = 0x00000061
    ESME_RINVEXPIRY = 0x00000062
    ESME_RINVDFTMSGID = 0x00000063
    ESME_RX_T_APPN = 0x00000064
    ESME_RX_P_APPN = 0x00000065
    ESME_RX_R_APPN = 0x00000066
    ESME_RQUERYFAIL = 0x00000067
    ESME_RINVOPTPARSTREAM = 0x000000C0
    ESME_ROPTPARNOTALLWD = 0x000000C1
    ESME_RINVPARLEN = 0x000000C2
    ESME_RMISSINGOPTPARAM = 0x000000C3
    ESME_RINVOPTPARAMVAL = 0x000000C4
    ESME_RDELIVERYFAILURE = 0x000000FE
    ESME_RUNKNOWNERR = 0x000000FF
    ESME_RSERTYPUNAUTH = 0x00000100
    ESME_RPROHIBITED = 0x00000101
    ESME_RSERTYPUNAVAIL = 0x00000102
    ESME_RSERTYPDENIED = 0x00000103
    ESME_RINVDCS = 0x00000104
    ESME_RINVSRCADDRSUBUNIT = 0x00000105
    ESME_RINVDSTADDRSUBUNIT = 0x00000106
    ESME_RINVBCASTFREQINT = 0x00000107
    ESME_RINVBCASTALIAS_NAME = 0x00000108
    ESME_RINVBCASTAREAFMT = 0x00000109
    ESME_RINVNUMBCAST_AREAS = 0x0000010A
    ESME_RINVBCASTCNTTYPE = 0x0000010B
    ESME_RINVBCASTMSGCLASS = 0x0000010C
    ESME_RBCASTFAIL = 0x0000010D
    ESME_RBCASTQUERYFAIL = 0x0000010E
    ESME_RBCASTCANCELFAIL = 0x0000010F
    ESME_RINVBCAST_REP = 0x00000110
    ESME_RINVBCASTSRVGRP = 0x00000111
    ESME_RINVBCASTCHANIND = 0x00000112

    @staticmethod
    def name_of(status: int) -> str:
        """Returns the name of a status, for example `ESME_RTHROTTLED` for 0x58. A status without a standard name is
        written in hexadecimal, for example `0x00000400`.
        """
        return _STATUS_NAMES.get(status) or f"0x{status:08x}"


_STATUS_NAMES: Final = {int(status): status.name for status in CommandStatus}


class Ton(IntEnum):
    """Type of number: SMPP v3.4, 5.2.5."""

    UNKNOWN = 0
    INTERNATIONAL = 1
    NATIONAL = 2
    NETWORK_SPECIFIC = 3
    SUBSCRIBER = 4
    ALPHANUMERIC = 5
    ABBREVIATED = 6


class Npi(IntEnum):
    """Numbering plan indicator: SMPP v3.4, 5.2.6."""

    UNKNOWN = 0
    E164 = 1
    DATA = 3
    TELEX = 4
    LAND_MOBILE = 6
    NATIONAL = 8
    PRIVATE = 9
    ERMES = 10
    INTERNET = 14
    WAP_CLIENT_ID = 18


class DataCoding(IntEnum):
    """Alphabets: SMPP v3.4, 5.2.19. 0 is the operator's own default, usually GSM 03.38 unpacked."""

    DEFAULT = 0x00
    ASCII = 0x01
    OCTETS = 0x02
    LATIN_1 = 0x03
    BINARY = 0x04
    JIS = 0x05
    CYRILLIC = 0x06
    HEBREW = 0x07
    UCS2 = 0x08
    PICTOGRAM = 0x09
    ISO_2022_JP = 0x0A
    EXTENDED_KANJI = 0x0D
    KS_C_5601 = 0x0E
    FLASH = 0x10
    """GSM 03.38 coding group 0001, class 0, default alphabet."""
    FLASH_UCS2 = 0x18


class MessageState(IntEnum):
    """States of a message: SMPP v3.4, 5.2.28; 0 and 9 are of v5.0."""

    SCHEDULED = 0
    ENROUTE = 1
    DELIVERED = 2
    EXPIRED = 3
    DELETED = 4
    UNDELIVERABLE = 5
    ACCEPTED = 6
    UNKNOWN = 7
    REJECTED = 8
    SKIPPED = 9


# esm_class: SMPP v3.4, 5.2.12.
ESM_MODE_MASK: Final = 0x03
ESM_DEFAULT_MODE: Final = 0x00
ESM_DATAGRAM: Final = 0x01
ESM_FORWARD: Final = 0x02
ESM_STORE_AND_FORWARD: Final = 0x03
ESM_TYPE_MASK: Final = 0x3C
ESM_RECEIPT: Final = 0x04
ESM_SME_DELIVERY_ACK: Final = 0x08
ESM_SME_MANUAL_ACK: Final = 0x10
ESM_CONVERSATION_ABORT: Final = 0x18
ESM_INTERMEDIATE: Final = 0x20
ESM_UDHI: Final = 0x40
"""short_message starts with a user data header."""
ESM_REPLY_PATH: Final = 0x80

# registered_delivery: SMPP v3.4, 5.2.17.
RECEIPT_NONE: Final = 0x00
RECEIPT_FINAL: Final = 0x01
RECEIPT_FAILURE: Final = 0x02
RECEIPT_MASK: Final = 0x03
RECEIPT_INTERMEDIATE: Final = 0x10

# dest_flag of submit_multi: SMPP v3.4, 5.2.25.
DESTINATION_ADDRESS: Final = 0x01
DESTINATION_LIST: Final = 0x02
