"""Certificates by themselves: when they are valid, and which files are refused in which words."""

import contextlib
import ssl
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.composition.certificates import RenewableCertificate
from heliograph.composition.watching import Unusable
from heliograph.net.clients import Clients, Shares
from heliograph.net.handshakes import Handshake, Handshakes, most_handshakes
from heliograph.net.tls import (
    DONE,
    FAILED,
    LATE,
    REFUSED,
    CertificateFiles,
    CertificateProblem,
    Tls,
    Validity,
    validity_of,
)
from tests.support.gateway import MemoryJournal
from tests.unit.http.test_connection import Words

CERTIFICATES = Path(__file__).parents[2] / "integration" / "carrier" / "certificates"
SERVER = CERTIFICATES / "smsc.pem"
_TEXT = SERVER.read_text()
DER = ssl.PEM_cert_to_DER_cert(_TEXT[_TEXT.index("-----BEGIN CERT") : _TEXT.index("-----END CERT") + 25])


def test_a_certificate_says_when_it_is_valid() -> None:
    loaded = CertificateFiles(SERVER).load()
    assert loaded.validity == validity_of(DER)
    assert 0 < loaded.validity.begin < loaded.validity.end


@pytest.mark.parametrize(
    ("begin", "end", "validity"),
    [
        (b"\x17\x0d700101000000Z", b"\x17\x0d491231235959Z", Validity(0, 2_524_607_999)),
        (b"\x17\x0d700101000100Z", b"\x18\x0f20500101000000Z", Validity(60, 2_524_608_000)),
    ],
)
def test_times_of_certificates_are_of_two_kinds(begin: bytes, end: bytes, validity: Validity) -> None:
    times = begin + end
    body = b"\xa0\x03\x02\x01\x02" + b"\x02\x01\x07" + b"\x30\x00" + b"\x30\x00" + b"\x30" + bytes([len(times)]) + times
    inner = b"\x30" + bytes([len(body)]) + body
    assert validity_of(b"\x30" + bytes([len(inner)]) + inner) == validity


@given(at=st.integers(0, 300), octets=st.binary(max_size=8))
def test_octets_that_are_no_certificate_are_a_value_error(at: int, octets: bytes) -> None:
    with contextlib.suppress(ValueError):
        assert isinstance(validity_of(DER[:at] + octets + DER[at + len(octets) :]), Validity)


def test_files_that_cannot_be_used_are_refused_in_a_sentence(tmp_path: Path) -> None:
    empty = tmp_path / "empty.pem"
    empty.write_text("nothing here")
    broken = tmp_path / "broken.pem"
    broken.write_text("-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n")
    other = CERTIFICATES / "esme.pem"
    for files, sentence in (
        (CertificateFiles(tmp_path / "none.pem"), "cannot be read: No such file"),
        (CertificateFiles(empty), "has no certificate in PEM"),
        (CertificateFiles(broken), "has no certificate in PEM"),
        (CertificateFiles(SERVER, other), "is no key of the certificate in"),
        (CertificateFiles(SERVER, tmp_path / "none.key"), "the key .*none.key cannot be read: No such file"),
        (CertificateFiles(SERVER, None, empty), "has no certificate of an authority"),
    ):
        with pytest.raises(CertificateProblem, match=sentence):
            files.load()


def test_a_file_that_was_replaced_has_another_stamp(tmp_path: Path) -> None:
    path = tmp_path / "server.pem"
    files = CertificateFiles(path)
    stamps = [files.stamp()]
    path.write_bytes(SERVER.read_bytes())
    stamps.append(files.stamp())
    (tmp_path / "new").write_bytes(SERVER.read_bytes())
    (tmp_path / "new").replace(path)
    stamps.append(files.stamp())
    assert len(set(stamps)) == len(stamps)
    assert files.stamp() == stamps[-1]


class Plug:
    """A socket that notes whether it was shut."""

    def __init__(self) -> None:
        self.shut = False

    def shutdown(self, how: int) -> None:
        self.shut = True
        raise OSError("it has gone")


class Hall:
    """Handshakes of clients by name, of whom one may have three."""

    def __init__(self, unfinished_of_one: int = 3, refused_work: float = 0.0) -> None:
        self.words = Words()
        shares = Shares(unfinished_of_one=unfinished_of_one, refused_work=refused_work)
        self.clients = Clients(shares, self.words.note_turned_away)
        self.tls = Tls(CertificateFiles(SERVER).load())
        self.handshakes = Handshakes(self.tls, self.clients)

    def begin(self, name: str, now: float, *, is_proxy: bool = False) -> tuple[Handshake | None, Plug]:
        plug = Plug()
        load = self.clients.load(name, is_proxy=is_proxy)
        return self.handshakes.begin(plug, load, now), plug  # type: ignore[arg-type]


def test_one_client_may_have_so_many_handshakes() -> None:
    hall = Hall()
    plugs = [hall.begin("a", 0.0)[1] for _ in range(3)]
    assert hall.begin("a", 0.5)[0] is None, "all are fresh"
    assert hall.begin("b", 0.5)[0] is not None
    assert hall.begin("a", 1.1)[0] is not None, "the slowest makes room"
    assert [plug.shut for plug in plugs] == [True, False, False]
    assert hall.words.turned_away == [("connections", "a"), ("unfinished", "a")]
    assert hall.tls.handshakes == {DONE: 0, FAILED: 0, LATE: 0, REFUSED: 1}
    assert len(hall.handshakes) == 4


def test_a_trusted_proxy_has_no_share_of_its_own() -> None:
    hall = Hall()
    assert all(hall.begin("proxy", 0.0, is_proxy=True)[0] for _ in range(20))


def test_where_all_handshakes_are_under_way_the_client_with_the_most_makes_room() -> None:
    hall = Hall(unfinished_of_one=0)
    most = most_handshakes(hall.clients.shares.connections)
    plugs = [hall.begin("many", 0.0)[1] for _ in range(most)]
    assert hall.begin("few", 0.5)[0] is not None
    assert [plug.shut for plug in plugs[:2]] == [True, False]
    assert hall.begin("many", 0.5)[0] is None
    assert len(hall.handshakes) == most
    assert hall.begin("many", 1.5)[0] is not None, "they are slow now"


def test_a_handshake_of_which_nothing_comes_is_charged_to_its_client() -> None:
    hall = Hall(unfinished_of_one=0, refused_work=0.05)
    begun = 0
    while (found := hall.begin("noise", 0.0)[0]) is not None and begun < 100:
        begun += 1
        hall.handshakes.end(found, ssl.SSLError("no TLS"), 0.0)
    assert begun == 13, "half a second's worth of 50 ms, at 2 ms each"
    good = hall.begin("good", 0.0)[0]
    assert good is not None
    hall.handshakes.end(good, None, 0.0)
    late = hall.begin("good", 0.0)[0]
    assert late is not None
    hall.handshakes.end(late, ConnectionAbortedError("it took too long"), 0.0)
    assert hall.tls.handshakes == {DONE: 1, FAILED: 13, LATE: 1, REFUSED: 1}
    assert hall.words.turned_away == [("share", "noise")]
    assert hall.begin("noise", 12.0)[0] is not None


async def test_a_gateway_does_not_start_with_files_that_cannot_be_used(tmp_path: Path) -> None:
    with pytest.raises(Unusable, match=r"TLS cannot be served: the certificate .* cannot be read"):
        RenewableCertificate(CertificateFiles(tmp_path / "none.pem"), 0, MemoryJournal())
