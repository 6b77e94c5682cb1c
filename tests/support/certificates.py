"""Certificates made by openssl: the test's own authority, and certificates that it signs."""

import ssl
import subprocess
from dataclasses import dataclass
from pathlib import Path

from heliograph.net.tls import CertificateFiles
from tests.support.peers import foreign_program
from tests.support.timeouts import COMMAND_S

_CURVE = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256")


@dataclass(frozen=True, slots=True)
class IssuedCertificate:
    """A certificate and its key, each in a file."""

    certificate: Path
    key: Path

    @property
    def files(self) -> CertificateFiles:
        return CertificateFiles(self.certificate, self.key)


class CertificateAuthority:
    """An authority that lives in a folder of the test."""

    def __init__(self, folder: Path, name: str = "authority") -> None:
        self._folder = folder
        self._name = name
        self._issued = 0
        self.certificate, self._key = folder / f"{name}.pem", folder / f"{name}.key"
        self._run("-x509", "-days", "2", "-subj", f"/CN={name}", "-addext", "basicConstraints=critical,CA:TRUE",
                  "-addext", "keyUsage=critical,keyCertSign,cRLSign",
                  "-keyout", str(self._key), "-out", str(self.certificate))  # fmt: skip

    def issue(self, subject: str = "localhost", *, days: int = 90, password: str = "") -> IssuedCertificate:
        """Signs a certificate for `subject` on 127.0.0.1; with a `password` its key is encrypted."""
        self._issued += 1
        base = self._folder / f"{self._name}-{self._issued}"
        found = IssuedCertificate(base.with_suffix(".pem"), base.with_suffix(".key"))
        self._run("-x509", "-CA", str(self.certificate), "-CAkey", str(self._key), "-days", str(days),
                  "-subj", f"/CN={subject}", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
                  "-addext", "basicConstraints=critical,CA:FALSE", "-keyout", str(found.key),
                  "-out", str(found.certificate),
                  password=password)  # fmt: skip
        return found

    def client(self, shown: IssuedCertificate | None = None) -> ssl.SSLContext:
        """A client that trusts this authority, and shows its certificate, if any."""
        context = ssl.create_default_context(cafile=self.certificate)
        if shown is not None:
            context.load_cert_chain(shown.certificate, shown.key)
        return context

    @staticmethod
    def _run(*words: str, password: str = "") -> None:
        openssl = foreign_program("openssl")
        secret = ["-passout", f"pass:{password}"] if password else ["-nodes"]
        subprocess.run([openssl, "req", *_CURVE, *secret, *words], check=True, capture_output=True, timeout=COMMAND_S)
