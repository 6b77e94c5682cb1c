"""Files that settings name: whatever lies there, reading ends at once, with the octets or with a reason."""

import os
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from heliograph.adapters.smpp.dial import tls_context
from heliograph.adapters.smpp.messages import why_not_connected
from heliograph.adapters.smpp.options import Timings, read_options
from heliograph.app.ports.encryption import KeyRefused
from heliograph.app.resources.desk import Invalid
from heliograph.composition.commands import audit_secret
from heliograph.composition.encryption import vault_of_file
from heliograph.config import Settings, SettingsError, load
from heliograph.config.settings import AuditSettings
from heliograph.files import MOST_OCTETS, UnusableFile, read, usable
from heliograph.net.tls import CertificateFiles, CertificateProblem
from tests.support.certificates import CertificateAuthority
from tests.support.timeouts import PATIENCE_S


def outcome(call: Callable[[], Any]) -> Any:
    """Returns what a call returns or raises, which must be before anybody loses patience: a FIFO never answers."""
    found: list[Any] = []

    def run() -> None:
        try:
            found.append(call())
        except Exception as problem:  # noqa: BLE001 - it is what the test looks at
            found.append(problem)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(PATIENCE_S)
    assert found, "it hangs"
    return found[0]


def fifo(path: Path) -> Path:
    os.mkfifo(path)
    return path


def socket_at(path: Path) -> Path:
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(str(path))
    listening.close()
    return path


def huge(path: Path) -> Path:
    with path.open("wb") as file:
        file.truncate(1 << 40)  # takes no room
    return path


def folder(path: Path) -> Path:
    path.mkdir()
    return path


def nothing(path: Path) -> Path:
    return path


KINDS = {
    "a FIFO": (fifo, "it is a FIFO, and no regular file"),
    "a directory": (folder, "it is a directory, and no regular file"),
    "a socket": (socket_at, "it is a socket, and no regular file"),
    "a device": (lambda _: Path("/dev/zero"), "it is a device, and no regular file"),
    "a huge file": (huge, "it has more than 4 MiB"),
    "no file": (nothing, "No such file or directory"),
    "a name with NUL": (lambda path: path / "a\0b", "no file can have this name"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_file_to_read_is_refused_at_once(kind: str, tmp_path: Path) -> None:
    make, why = KINDS[kind]
    path = make(tmp_path / "x")
    problem = outcome(lambda: read(path))
    assert isinstance(problem, UnusableFile)
    assert (problem.strerror, problem.filename) == (why, str(path))


def test_a_regular_file_is_read_to_its_end(tmp_path: Path) -> None:
    path, link = tmp_path / "x", tmp_path / "link"
    path.write_bytes(b"x" * MOST_OCTETS)
    link.symlink_to(path)
    assert len(read(link)) == MOST_OCTETS
    assert usable(link) == link
    path.write_bytes(b"x" * (MOST_OCTETS + 1))
    assert isinstance(outcome(lambda: read(path)), UnusableFile)


def test_a_fifo_that_takes_a_files_place_while_it_is_looked_at_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, regular = fifo(tmp_path / "x"), tmp_path / "regular"
    regular.touch()
    state = regular.stat()
    monkeypatch.setattr(Path, "stat", lambda _: state)
    assert "a FIFO" in str(outcome(lambda: read(path)))


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> CertificateAuthority:
    return CertificateAuthority(tmp_path_factory.mktemp("authority"))


@pytest.mark.parametrize("kind", ["a FIFO", "a directory", "a device", "a huge file"])
@pytest.mark.parametrize("which", ["certificate", "key", "client_ca"])
def test_no_file_of_a_certificate_holds_up_a_start_or_a_reload(
    kind: str, which: str, tmp_path: Path, authority: CertificateAuthority
) -> None:
    make, why = KINDS[kind]
    sound, bad = authority.issue().files, make(tmp_path / "x")
    files = {"certificate": sound.certificate, "key": sound.key, "client_ca": authority.certificate, which: bad}
    problem = outcome(lambda: CertificateFiles(*files.values()).load())
    assert isinstance(problem, CertificateProblem)
    assert str(bad) in str(problem)
    assert why in str(problem)


@pytest.mark.parametrize("option", ["ca_file", "cert_file", "key_file"])
def test_no_file_of_a_connector_holds_up_a_bind(option: str, tmp_path: Path, authority: CertificateAuthority) -> None:
    sound, bad = authority.issue().files, str(fifo(tmp_path / "x"))
    dialect = read_options({"cert_file": str(sound.certificate), "key_file": str(sound.key), option: bad}, Timings())[0]
    problem = outcome(lambda: tls_context(dialect))
    assert why_not_connected(problem, "smsc:2775", 1, tls=True) == (
        f"{bad} cannot be read: it is a FIFO, and no regular file; check ca_file, cert_file and key_file"
    )


def test_no_other_file_of_the_settings_holds_up_a_start(tmp_path: Path) -> None:
    bad = fifo(tmp_path / "heliograph.toml")
    settings = Settings(data=tmp_path, audit=AuditSettings(str(bad)))
    for call, kind, said in (
        (lambda: load(config=bad, environ={}), SettingsError, f"{bad} cannot be read: it is a FIFO"),
        (lambda: load(data=tmp_path, environ={}), SettingsError, f"{bad} cannot be read: it is a FIFO"),
        (lambda: audit_secret(settings), Invalid, "audit.key_file: the file cannot be read: it is a FIFO"),
        (
            lambda: vault_of_file(bad, "encryption.key_file"),
            KeyRefused,
            "encryption.key_file: the file cannot be read",
        ),
    ):
        problem = outcome(call)
        assert isinstance(problem, kind)
        assert said in str(problem)
