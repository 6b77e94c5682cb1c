"""TLS of a listener: the certificate in use, its validity, and the check of client certificates.

Files are reloaded without a restart. The result of `CertificateFiles.load` is used for new handshakes; open connections
keep their certificate.
"""

import ssl
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from heliograph import files

CIPHERS: Final = "ECDHE+AESGCM:ECDHE+CHACHA20"
"""Ciphers of TLS 1.2: authenticated, with forward secrecy. TLS 1.3 uses the library's ciphers."""


_DAY_S: Final = 86_400
_END: Final = "-----END CERTIFICATE-----"
_SEQUENCE: Final = 0x30
_VERSION: Final = 0xA0
_UTC_TIME: Final = 0x17
_GENERALIZED_TIME: Final = 0x18
_FIELDS_BEFORE_VALIDITY: Final = 3
"""Serial number, algorithm and issuer."""


class CertificateProblem(ValueError):
    """Certificate, key or authority cannot be used. The text is a sentence for people."""


@dataclass(frozen=True, slots=True)
class Validity:
    """Beginning and end of a certificate, in seconds since 1970."""

    begin: int
    end: int


@dataclass(frozen=True, slots=True)
class LoadedCertificate:
    """A certificate for handshakes, made of the files as they were."""

    context: ssl.SSLContext
    validity: Validity


@dataclass(frozen=True, slots=True)
class CertificateFiles:
    """The files of a certificate with its chain, and of its key, in PEM. `client_ca`: the certificates of the
    authorities that sign client certificates, or None.
    """

    certificate: Path
    key: Path | None = None
    """None if the certificate's file contains the key."""
    client_ca: Path | None = None
    protocols: tuple[str, ...] = ("http/1.1",)
    """Names of the protocols spoken behind TLS (ALPN)."""

    def stamp(self) -> tuple[tuple[int, int, int], ...]:
        """Returns values that change when a file is replaced or written; zeros for a missing file. Blocks."""
        found = []
        for path in (self.certificate, self.key, self.client_ca):
            try:
                state = None if path is None else path.stat()
            except OSError:
                state = None
            found.append((0, 0, 0) if state is None else (state.st_ino, state.st_size, state.st_mtime_ns))
        return tuple(found)

    def load(self) -> LoadedCertificate:
        """Reads the files. Blocks. Raises CertificateProblem where they cannot be used together."""
        validity = read_validity(self.certificate)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.options |= ssl.OP_NO_RENEGOTIATION | ssl.OP_NO_COMPRESSION | ssl.OP_CIPHER_SERVER_PREFERENCE
        context.set_ciphers(CIPHERS)
        context.set_alpn_protocols(self.protocols)
        key = self.key or self.certificate
        try:
            context.load_cert_chain(self.certificate, files.usable(key), password=_no_password)
        except files.UnusableFile as problem:
            raise CertificateProblem(f"the key {key} cannot be read: {problem.strerror}") from None
        except OSError as problem:
            raise CertificateProblem(
                f"{key} is no key of the certificate in {self.certificate}: {_why(problem)}"
            ) from None
        if self.client_ca is not None:
            try:
                context.load_verify_locations(files.usable(self.client_ca))
            except OSError as problem:
                raise CertificateProblem(
                    f"{self.client_ca} has no certificate of an authority: {_why(problem)}"
                ) from None
            context.verify_mode = ssl.CERT_OPTIONAL
        return LoadedCertificate(context, validity)


class Tls:
    """The certificate for the handshakes of a listener, which may be replaced, and counts of the handshakes."""

    def __init__(self, loaded: LoadedCertificate, hsts_days: int = 0) -> None:
        """`hsts_days`: days for which browsers are told to use HTTPS only."""
        self.loaded = loaded
        self.hsts = f"strict-transport-security: max-age={hsts_days * _DAY_S}\r\n".encode() if hsts_days else b""
        self.handshakes = dict.fromkeys(OUTCOMES, 0)
        """Handshakes so far, by result."""

    @property
    def context(self) -> ssl.SSLContext:
        return self.loaded.context


DONE: Final = "done"
FAILED: Final = "failed"
"""The client does not speak TLS, shares no version or cipher with us, or has an untrusted certificate."""
LATE: Final = "late"
"""The handshake took too long, was ended to make room, or the client left."""
REFUSED: Final = "refused"
"""The connection was closed before its handshake: its address has too many of them, or has used up its share."""

OUTCOMES: Final = (DONE, FAILED, LATE, REFUSED)


def _no_password() -> str:
    raise CertificateProblem("the key is encrypted; a gateway starts without anybody to ask, so decrypt it first")


def _why(problem: OSError) -> str:
    if isinstance(problem, ssl.SSLError):
        return (problem.reason or "it is no PEM").replace("_", " ").lower()
    return problem.strerror or str(problem)


def read_validity(path: Path) -> Validity:
    """Reads a file. Blocks. Returns when the first certificate of the file is valid. Raises CertificateProblem."""
    try:
        text = files.read(path).decode("ascii", errors="replace")
    except files.UnusableFile as problem:
        raise CertificateProblem(f"the certificate {path} cannot be read: {problem.strerror}") from None
    begin, end = text.find("-----BEGIN CERTIFICATE-----"), text.find(_END)
    if begin < 0 or end < begin:
        raise CertificateProblem(f"{path} has no certificate in PEM")
    try:
        return validity_of(ssl.PEM_cert_to_DER_cert(text[begin : end + len(_END)]))
    except ValueError:
        raise CertificateProblem(f"{path} has no certificate in PEM") from None


def validity_of(der: bytes) -> Validity:
    """Returns the validity of a certificate in DER (RFC 5280, 4.1). Raises ValueError if it is malformed."""
    _, certificate, _ = _element(der)
    _, rest, _ = _element(certificate)
    tag, _, after = _element(rest)
    if tag == _VERSION:
        rest = after
    for _ in range(_FIELDS_BEFORE_VALIDITY):
        _, _, rest = _element(rest)
    tag, validity, _ = _element(rest)
    if tag != _SEQUENCE:
        raise ValueError("there is no validity where a certificate has it")
    tag, begin, rest = _element(validity)
    end_tag, end, _ = _element(rest)
    return Validity(_seconds(tag, begin), _seconds(end_tag, end))


def _element(octets: bytes) -> tuple[int, bytes, bytes]:
    """Returns tag and content of the first element, and the octets after it. Raises ValueError."""
    if len(octets) < 2:
        raise ValueError("an element is cut short")
    length, start = octets[1], 2
    if length & 0x80:
        start = 2 + (length & 0x7F)
        length = int.from_bytes(octets[2:start])
    if len(octets) < start + length:
        raise ValueError("an element is cut short")
    return octets[0], octets[start : start + length], octets[start + length :]


def _seconds(tag: int, text: bytes) -> int:
    """Returns a time of a certificate, which is in UTC. Raises ValueError."""
    if tag == _UTC_TIME:
        century = b"20" if text[:1] < b"5" else b"19"
    elif tag == _GENERALIZED_TIME:
        century = b""
    else:
        raise ValueError("a certificate's time is of another kind")
    moment = datetime.strptime((century + text).decode("ascii"), "%Y%m%d%H%M%SZ").replace(tzinfo=UTC)
    return int(moment.timestamp())
