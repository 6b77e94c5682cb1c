"""Problems of a connection, in sentences with a solution."""

import socket
import ssl
from typing import Final

from heliograph.files import UnusableFile
from heliograph.smpp.constants import CommandStatus
from heliograph.smpp.event import CloseReason
from heliograph.smpp.link import WRONG_CREDENTIALS

NOT_READ: Final = "the operator reads neither our messages nor our answers; if this comes again, tell the operator"


_EXPIRED: Final = 10
"""X509_V_ERR_CERT_HAS_EXPIRED, by which OpenSSL says so."""


def why_not_connected(error: BaseException, where: str, seconds: float, *, tls: bool) -> str:
    """Returns a sentence that says why a connection to `where` was not established within `seconds`, and the
    solution.
    """
    match error:
        case UnusableFile():
            return f"{error.filename} cannot be read: {error.strerror}; check ca_file, cert_file and key_file"
        case TimeoutError():
            advice = "check the host, the port and firewalls on the way" + ", and whether it speaks TLS there" * tls
            return f"{where} did not answer within {seconds:g} s; {advice}"
        case socket.gaierror():
            return f"the name of {where} cannot be resolved; check the host"
        case ConnectionRefusedError():
            return f"{where} refuses connections; check the port, and whether the operator lets this address in"
        case ssl.SSLCertVerificationError(verify_code=code) if code == _EXPIRED:
            return f"the certificate of {where} has expired; tell the operator, unless this machine's clock is wrong"
        case ssl.SSLCertVerificationError():
            return (
                f"the certificate of {where} is not trusted ({error.verify_message}); set ca_file to the operator's "
                "certificates, or tls_server_name to the name that it bears"
            )
        case ssl.SSLError():
            return f"{where} does not agree on TLS ({error.reason or error}); is it a port without TLS?"
        case ConnectionError():
            return f"{where} closed the connection at once; check whether it wants TLS, or does not let this address in"
        case OSError():
            return f"{where} cannot be reached: {error.strerror or error}"
        case _:
            return f"{where} cannot be reached: {error}"


def why_refused(status: int) -> str:
    """Returns a sentence about a refused bind, for example for ESME_RINVPASWD "the operator says that the password is
    wrong"."""
    name = CommandStatus.name_of(status)
    match status:
        case CommandStatus.ESME_RINVPASWD:
            return f"the operator says that the password is wrong ({name}); set it with `heliograph connector set`"
        case CommandStatus.ESME_RINVSYSID:
            return f"the operator does not know this system_id ({name}); check system_id and password"
        case CommandStatus.ESME_RINVSYSTYP:
            return f"the operator does not take this system_type ({name}); set the option system_type"
        case CommandStatus.ESME_RALYBND:
            return f"the operator has us as bound already ({name}); are there more binds than it allows?"
        case CommandStatus.ESME_RBINDFAIL:
            return f"the operator refused the bind ({name}); check the credentials and how many binds it allows"
    if status in WRONG_CREDENTIALS:
        return f"the operator does not let this account bind so ({name}); ask the operator"
    return f"the operator refused the bind ({name})"


_CLOSINGS: dict[CloseReason, str] = {
    CloseReason.UNBOUND: "the link was unbound",
    CloseReason.UNBIND_TIMEOUT: "the operator did not answer our unbind",
    CloseReason.BIND_TIMEOUT: "the operator took the connection but did not answer the bind; is the port right, "
    "and is TLS set as the operator wants it?",
    CloseReason.LINK_DEAD: "the link was dead: nothing came, not even an answer to enquire_link",
    CloseReason.INACTIVE: "the link was inactive",
    CloseReason.PROTOCOL: "the operator does not speak SMPP on this port; check the port, and whether it wants TLS",
}


def why_closed(reason: CloseReason) -> str:
    """Returns a sentence about a connection that the session closed."""
    return _CLOSINGS[reason]
