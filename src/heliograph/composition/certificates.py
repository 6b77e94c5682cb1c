"""The certificates of the gateway: of its listeners, loaded at the start, and reloaded when their files change or on
request; and of its binds to operators, read with each bind."""

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from heliograph.app.configuration import Connector
from heliograph.app.ports import Journal
from heliograph.composition.connectors import KINDS
from heliograph.composition.watching import Unusable
from heliograph.config import Settings
from heliograph.domain.display import counted
from heliograph.net.tls import (
    CertificateFiles,
    CertificateProblem,
    LoadedCertificate,
    Tls,
    Validity,
    read_validity,
)

LOOK_S: Final = 5.0
"""Seconds between two checks of the files."""

CLIENT_LOOK_S: Final = 60.0
"""Seconds between two readings of the certificates that operators are shown, whether or not they have changed."""

SOON_S: Final = 14 * 86_400
"""Seconds before a certificate's end from which on a warning is logged."""

DAY_S: Final = 86_400

WARN_AGAIN_S: Final = 86_400.0
"""Seconds between two such warnings: files that are not renewed do not change, and a gateway runs for months."""


class RenewableCertificate:
    """The certificate in use, and the task that checks for a newer certificate."""

    def __init__(self, files: CertificateFiles, hsts_days: int, journal: Journal) -> None:
        """Loads the files. Raises Unusable."""
        self._files = files
        self._journal = journal
        self._changing = asyncio.Lock()
        self._stamp = files.stamp()
        self._problem = ""
        try:
            loaded = files.load()
        except CertificateProblem as problem:
            raise Unusable(f"TLS cannot be served: {problem}") from None
        self.tls = Tls(loaded, hsts_days)
        self._warned = 0.0
        """Time of the last warning, in seconds since the epoch."""
        self._warn(loaded)
        self._task = asyncio.create_task(self._watch(), name="certificate")

    async def stop(self) -> None:
        self._task.cancel()
        await asyncio.wait([self._task])

    @property
    def until(self) -> str:
        """The end of the certificate in use, for people."""
        return until(self.tls.loaded)

    async def renew(self) -> str:
        """Reloads the files for new handshakes. Returns "" on success, or the problem; then the old certificate stays
        in use. Both are logged.
        """
        async with self._changing:
            self._stamp = await asyncio.to_thread(self._files.stamp)
            try:
                loaded = await asyncio.to_thread(self._load)
            except CertificateProblem as problem:
                text = str(problem)
                if text != self._problem:
                    self._journal.log("error", "tls.not_renewed", problem=f"{text}; the one in use stays")
                self._problem = text
                return text
            self._problem = ""
            self.tls.loaded = loaded
            self._journal.log("info", "tls.renewed", file=str(self._files.certificate), until=until(loaded))
            self._warn(loaded)
            return ""

    def _load(self) -> LoadedCertificate:
        loaded = self._files.load()
        if loaded.validity.end <= time.time():
            raise CertificateProblem(f"{self._files.certificate} has ended: it was valid until {until(loaded)}")
        return loaded

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(LOOK_S)
            if await asyncio.to_thread(self._files.stamp) != self._stamp:
                await self.renew()
            elif time.time() - self._warned >= WARN_AGAIN_S:
                self._warn(self.tls.loaded)

    def _warn(self, loaded: LoadedCertificate) -> None:
        now = time.time()
        left = loaded.validity.end - now
        if left < SOON_S:
            self._warned = now
            file = str(self._files.certificate)
            self._journal.log("warning", "tls.ends_soon", file=file, until=until(loaded), problem=ends_in(left))


class ClientCertificates:
    """The certificates that operators are shown, by connector. A bind reads its files by itself, so that a new
    certificate counts from the next bind on."""

    def __init__(self, connectors: Callable[[], Iterable[Connector]], journal: Journal) -> None:
        self._connectors = connectors
        self._journal = journal
        self.ends: Mapping[str, float] = {}
        """Ends of certificates, in seconds since the epoch, by the names of connectors. An unusable file is missing."""
        self._warned: dict[str, float] = {}

    def start(self, watch: Callable[[asyncio.Task[None]], None]) -> None:
        self._task = asyncio.create_task(self._watch(), name="client certificates")
        watch(self._task)

    async def stop(self) -> None:
        self._task.cancel()
        await asyncio.wait([self._task])

    async def _watch(self) -> None:
        while True:
            await self.look()
            await asyncio.sleep(CLIENT_LOOK_S)

    async def look(self) -> None:
        """Reads the files, and warns of certificates that end soon, each once a day."""
        files = {
            connector.name: found.certificate
            for connector in self._connectors()
            if (found := client_files_of(connector)) is not None
        }
        if not (files or self.ends):
            return
        read = await asyncio.to_thread(_read_all, files)
        self.ends = {name: validity.end for name, validity in read.items()}
        now = time.time()
        for name, validity in read.items():
            left = validity.end - now
            if left < SOON_S and now - self._warned.get(name, 0.0) >= WARN_AGAIN_S:
                self._warned[name] = now
                self._journal.log(
                    "warning", "tls.ends_soon", connector=name, file=str(files[name]),
                    until=_moment(validity.end), problem=ends_in(left),
                )  # fmt: skip


def _read_all(files: Mapping[str, Path]) -> dict[str, Validity]:
    found = {}
    for name, path in files.items():
        with suppress(CertificateProblem):  # doctor and the next bind say so
            found[name] = read_validity(path)
    return found


def client_files_of(connector: Connector) -> CertificateFiles | None:
    """Returns the files of the certificate that the connector's operator is shown, or None without one."""
    certificate, key = KINDS[connector.kind].client_certificate(connector)
    return CertificateFiles(Path(certificate), Path(key) if key else None) if certificate else None


def files_of(settings: Settings) -> CertificateFiles | None:
    """Returns the files that the settings name, or None without HTTPS. Raises Unusable if the settings contradict each
    other.
    """
    http, authority = settings.http, settings.admin.client_ca_file
    if not http.tls_listen:
        if authority:
            raise Unusable("admin.client_ca_file is set and http.tls_listen is not: the admin API could not be reached")
        return None
    if not http.cert_file:
        raise Unusable("http.tls_listen is set and http.cert_file is not: there is no certificate to show")
    return CertificateFiles(
        Path(http.cert_file), Path(http.key_file) if http.key_file else None, Path(authority) if authority else None
    )


def until(loaded: LoadedCertificate) -> str:
    """Returns the certificate's end, for people."""
    return _moment(loaded.validity.end)


def _moment(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(seconds))


def ends_in(seconds: float) -> str:
    """Returns a sentence about the remaining validity of a certificate."""
    if seconds <= 0:
        return "the certificate has ended; it is refused"
    return f"the certificate ends in {counted(int(seconds // DAY_S), 'day')}; renew it"
