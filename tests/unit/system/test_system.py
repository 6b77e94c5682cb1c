"""The clock, ids, secrets and journal of this machine."""

import io
import json
import logging
import sys
import time
from collections.abc import Iterator

import pytest

from heliograph.adapters.system import Argon2Secrets, LogJournal, RandomIds, SystemClock, configure_logging
from heliograph.adapters.system.journal import LOGGER
from heliograph.domain.message.ids import TAIL_BITS


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def _logging_restored() -> Iterator[None]:
    root, logger = logging.getLogger(), logging.getLogger(LOGGER)
    handlers, levels = root.handlers[:], (root.level, logger.level)
    yield
    root.handlers[:] = handlers
    root.setLevel(levels[0])
    logger.setLevel(levels[1])


def test_the_clock_tells_unix_milliseconds() -> None:
    clock = SystemClock()
    before = time.time()
    now = clock.now()
    assert before * 1000 - 1 <= now <= time.time() * 1000 + 1
    assert clock.monotonic() <= clock.monotonic()


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such clock")
def test_the_monotonic_clock_goes_on_while_the_machine_sleeps() -> None:
    # time.monotonic stands still: a node that slept for a minute would believe that its lease still held
    before = time.clock_gettime(time.CLOCK_BOOTTIME)
    assert before <= SystemClock().monotonic() <= time.clock_gettime(time.CLOCK_BOOTTIME)


def test_tails_fill_their_bits_and_do_not_repeat() -> None:
    ids = RandomIds()
    tails = [ids.tail() for _ in range(2000)]
    assert len(set(tails)) == 2000
    assert all(0 <= tail < 1 << TAIL_BITS for tail in tails)
    ones = 0
    for tail in tails:
        ones |= tail
    assert ones == (1 << TAIL_BITS) - 1


def test_passwords_are_verified_by_their_hash_alone() -> None:
    secrets = Argon2Secrets()
    hashed = secrets.hash_password("Tür zu")
    assert hashed.startswith("$argon2id$")
    assert hashed != secrets.hash_password("Tür zu")
    assert Argon2Secrets().verify_password(hashed, "Tür zu")
    assert not secrets.verify_password(hashed, "tür zu")
    assert not secrets.verify_password("no hash", "Tür zu")
    assert not secrets.verify_password("", "")


def test_random_text_and_octets() -> None:
    secrets = Argon2Secrets()
    assert len(secrets.octets(32)) == 32
    assert secrets.octets(16) != secrets.octets(16)
    assert len(secrets.token(24)) == 32


@pytest.mark.usefixtures("_logging_restored")
def test_lines_are_json_off_a_terminal_and_text_on_one() -> None:
    off, on = io.StringIO(), Terminal()
    configure_logging("info", "auto", off)
    LogJournal().log("info", "bind.up", connector="op1", wait=1.5)
    configure_logging("info", "auto", on)
    LogJournal().log("warning", "bind.lost", reason="no answer", connector="op1")
    line = json.loads(off.getvalue())
    assert {name: line[name] for name in line if name != "time"} == {
        "level": "info",
        "event": "bind.up",
        "connector": "op1",
        "wait": 1.5,
    }
    assert line["time"].endswith("Z")
    assert 'warning bind.lost reason="no answer" connector=op1\n' in on.getvalue()


@pytest.mark.usefixtures("_logging_restored")
def test_levels_below_the_one_set_are_not_logged() -> None:
    stream = io.StringIO()
    configure_logging("warning", "json", stream)
    LogJournal().log("info", "quiet")
    LogJournal().log("error", "loud", error=OSError("full"))
    line = json.loads(stream.getvalue())
    assert (line["event"], line["error"]) == ("loud", "OSError: full")


@pytest.mark.usefixtures("_logging_restored")
@pytest.mark.parametrize("form", ["text", "json"])
def test_secrets_texts_and_numbers_stay_out_of_the_log(form: str) -> None:
    fields = {"password": "pw-1", "api_key": "hk_2", "content": "meet me", "destination": "447700900123"}
    stream = io.StringIO()
    configure_logging("info", form, stream)
    LogJournal().log("info", "x", sender="447700900999", **fields)
    text = stream.getvalue()
    for secret in ("pw-1", "hk_2", "meet me", "447700900123", "447700900999"):
        assert secret not in text
    assert "447*******23" in text


@pytest.mark.usefixtures("_logging_restored")
def test_sensitive_shows_numbers_and_texts_but_no_secrets() -> None:
    stream = io.StringIO()
    configure_logging("info", "json", stream)
    LogJournal(sensitive=True).log("info", "x", content="meet me", destination="447700900123", password="pw-1")
    assert "meet me" in stream.getvalue()
    assert "447700900123" in stream.getvalue()
    assert "pw-1" not in stream.getvalue()


@pytest.mark.usefixtures("_logging_restored")
def test_a_line_is_one_line_whatever_the_fields_hold() -> None:
    stream = io.StringIO()
    configure_logging("info", "text", stream)
    LogJournal().log("info", "x", reason="a\nb\x1b[31m")
    assert stream.getvalue().count("\n") == 1
    assert "\x1b" not in stream.getvalue()


@pytest.mark.usefixtures("_logging_restored")
@pytest.mark.parametrize("form", ["text", "json"])
def test_no_line_commands_the_terminal_it_is_read_on(form: str) -> None:
    stream = io.StringIO()
    configure_logging("info", form, stream)
    LogJournal().log("info", "x", error=OSError("a\x9b2Jb\x85c"), reason="d\u202ee\u2066f")
    logging.getLogger("asyncio").error("g\x90h")
    text = stream.getvalue()
    for written_out in ("a\\u009b2Jb\\u0085c", "d\\u202ee\\u2066f", "g\\u0090h"):
        assert written_out in text
    assert not set(text) & set("\x85\x90\x9b\u202e\u2066")


def test_hashes_of_other_parameters_are_outdated_and_stay_good() -> None:
    first, stronger = Argon2Secrets(), Argon2Secrets(passes=3)
    hashed = first.hash_password("Tür zu")
    assert not first.is_outdated(hashed)
    assert stronger.is_outdated(hashed)
    assert stronger.verify_password(hashed, "Tür zu")
    assert not stronger.is_outdated(stronger.hash_password("Tür zu"))
    assert not first.is_outdated("no hash")
