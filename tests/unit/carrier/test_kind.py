"""The kind SMPP: what its settings make of a connector, and what is drawn from them."""

from dataclasses import fields, replace
from typing import Any

import pytest

from heliograph.adapters.smpp.kind import KIND, SETTINGS, SmppSettings, read_settings
from heliograph.adapters.smpp.options import Dialect, Timings
from heliograph.app.configuration import OFF, Connector
from heliograph.app.connector_kind import COMMON
from heliograph.app.text_values import written
from heliograph.domain.pace.timetable import HeldRate
from tests.support.connectors import smpp_connector

HOUR_MS = 3_600_000


def test_its_own_settings_are_the_fields_of_the_type_that_the_adapter_reads() -> None:
    typed = {each.name for each in fields(SmppSettings)} - {"dialect", "timings"}
    assert typed == set(SETTINGS) - set(COMMON)
    attributes = {each.name for each in fields(Connector)}
    assert set(COMMON) <= attributes
    assert not typed & attributes


def test_settings_are_read_with_their_defaults_and_their_options() -> None:
    connector = smpp_connector(1, "op1", "h", 2776, "us", "pw", tls=True, system_type="VMA", response_timeout_s=5)
    settings, problems = read_settings(connector, Timings(enquire_interval_s=7.0))
    assert problems == []
    assert (settings.host, settings.port, settings.system_id, settings.password) == ("h", 2776, "us", "pw")
    assert (settings.bind, settings.tls) == ("transceiver", True)
    assert settings.dialect == Dialect(system_type="VMA")
    assert settings.timings == Timings(enquire_interval_s=7.0, response_timeout_s=5.0)
    assert "pw" not in repr(settings) + repr(connector)


def test_values_and_options_are_told_apart() -> None:
    connector = smpp_connector(1, "op1", "h", 1, "us", "pw", window=50, state=OFF, system_type="VMA")
    assert KIND.options(connector) == {"system_type": "VMA"}
    assert KIND.values(connector) == {
        "host": "h", "port": 1, "system_id": "us", "password": "pw", "bind": "transceiver", "binds": 1, "window": 50,
        "rate": 0.0, "tls": False, "state": OFF, "max_day": 0, "max_month": 0,
    }  # fmt: skip
    assert KIND.changed(connector, {"window": 5, "tls": True}, {"unknown": "wait"}) == {
        "window": 5,
        "settings": {"host": "h", "port": 1, "system_id": "us", "password": "pw", "tls": True, "unknown": "wait"},
    }


def test_a_setting_is_written_as_it_is_read() -> None:
    given = {"port": 2775, "bind": "transmitter+receiver", "rate": 12.5, "tls": True, "state": "drain", "host": "a.b"}
    for name, value in given.items():
        assert SETTINGS[name].parse(written(value)) == value


@pytest.mark.parametrize(
    ("options", "ms"),
    [
        ({}, 0),
        ({"unknown": "resend", "unknown_wait_s": 5}, 0),
        ({"unknown": "wait"}, HOUR_MS),
        ({"unknown": "WAIT", "unknown_wait_s": 1.5}, 1_500),
        ({"unknown": "wait", "unknown_wait_s": 0}, 1),
        ({"unknown": "wait", "unknown_wait_s": "soon"}, HOUR_MS),
    ],
)
def test_whether_an_unknown_part_waits_is_an_option(options: dict[str, Any], ms: int) -> None:
    assert KIND.policy(smpp_connector(1, "op1", **options)).unknown_wait_ms == ms


@pytest.mark.parametrize(("options", "alphabet"), [({}, "gsm"), ({"alphabet": "LATIN1"}, "latin1")])
def test_the_alphabet_is_an_option(options: dict[str, Any], alphabet: str) -> None:
    assert KIND.policy(smpp_connector(1, "op1", **options)).repertoire.default == alphabet


@pytest.mark.parametrize(
    ("options", "joins"), [({}, False), ({"concatenation": "payload"}, False), ({"concatenation": "WHOLE"}, True)]
)
def test_whether_parts_are_joined_is_an_option(options: dict[str, Any], joins: bool) -> None:
    assert KIND.policy(smpp_connector(1, "op1", **options)).joins_parts is joins


def test_the_rates_by_time_of_day_are_options() -> None:
    assert KIND.policy(smpp_connector(1, "op1", rates_zone="Asia/Tokyo")).timetable is None
    timetable = KIND.policy(smpp_connector(1, "op1", rates="08:00-20:00 100", rates_zone="Asia/Tokyo")).timetable
    assert timetable is not None
    assert timetable.held(0, 5.0) == HeldRate(100.0, 11 * HOUR_MS)


@pytest.mark.parametrize(("options", "asks"), [({}, True), ({"receipts": "ASKED"}, False)])
def test_whether_every_receipt_is_asked_for_is_an_option(options: dict[str, Any], asks: bool) -> None:
    assert KIND.policy(smpp_connector(1, "op1", **options)).asks_receipts is asks


def test_a_damaged_name_or_value_of_a_setting_shows() -> None:
    whole = smpp_connector(1, "op1", tls=True, bind="transceiver", system_type="VMA")
    assert KIND.is_whole(whole)
    for name in set(SETTINGS) - set(COMMON):
        left = {each: value for each, value in whole.settings.items() if each != name}
        assert not KIND.is_whole(replace(whole, settings={**left, f"{name}_": whole.settings[name]})), name
        has_default = SETTINGS[name].default is not None  # a later version may have more settings
        assert KIND.is_whole(replace(whole, settings=left)) == has_default, name
    assert not KIND.is_whole(replace(whole, settings={**whole.settings, "bind": "transceives"}))
