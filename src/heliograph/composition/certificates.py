"""The certificate of the gateway: loaded at the start, and reloaded when its files change or on request."""

import asyncio
import time
from pathlib import Path
from typing import Final

from heliograph.app.ports import Journal
from heliograph.composition.watching import Unusable
from heliograph.config import Settings
from heliograph.domain.display import counted
from heliograph.net.tls import CertificateFiles, CertificateProblem, LoadedCertificate, Tls

LOOK_S: Final = 5.0
"""Seconds between two checks of the files."""

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
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(loaded.validity.end))


def ends_in(seconds: float) -> str:
    """Returns a sentence about the remaining validity of a certificate."""
    if seconds <= 0:
        return "the certificate has ended; clients refuse it"
    return f"the certificate ends in {counted(int(seconds // DAY_S), 'day')}; renew it"
