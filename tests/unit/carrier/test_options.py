"""A connector's options: what is understood, and what is said of what is not."""

from dataclasses import fields
from typing import Any

import pytest

from heliograph.adapters.smpp.options import OPTIONS, Dialect, Timings, parse_hosts, read_options
from heliograph.adapters.smpp.outcome import OutcomeOverride
from heliograph.app.resources.connectors import parse_option
from heliograph.domain.message.receipt import Delivery
from tests.support.cases import for_each


def test_without_options_everything_is_as_most_operators_have_it() -> None:
    assert read_options({}, Timings()) == (Dialect(), Timings(), [])


def test_options_are_read_as_the_command_line_stores_them() -> None:
    dialect, timings, problems = read_options(
        {
            "system_type": "VMA",
            "interface_version": 5.0,
            "hosts": "b.example:2776, [2001:db8::1]:2777",
            "source_ton": 1,
            "binary_coding": "0xF5",
            "alphabet": "LATIN1",
            "tls_verify": False,
            "response_timeout_s": 5,
            "outcome_rinvdstadr": "refuse UNDELIV 011",
        },
        Timings(response_timeout_s=30, enquire_interval_s=7),
    )
    assert problems == []
    assert (dialect.system_type, dialect.interface_version, dialect.source_ton) == ("VMA", 0x50, 1)
    assert dialect.hosts == (("b.example", 2776), ("2001:db8::1", 2777))
    assert (dialect.binary_coding, dialect.alphabet, dialect.tls_verify) == (0xF5, "latin1", False)
    assert isinstance(dialect.outcomes[0x0B], OutcomeOverride)
    assert (timings.response_timeout_s, timings.enquire_interval_s) == (5.0, 7)


@for_each(
    ("options", "words"),
    [
        ({"concatination": "sar"}, "did you mean concatenation?"),
        ({"zzz": "1"}, "there are hosts, system_type, interface_version, "),
        ({"concatenation": "udh32"}, "none of udh8"),
        ({"source_ton": 256}, "from 0 to 255"),
        ({"source_ton": True}, "from 0 to 255"),
        ({"binary_coding": "0xZZ"}, "hexadecimal"),
        ({"service_type": "TOOLONG"}, "at most 5"),
        ({"tls_verify": "perhaps"}, "neither true nor false"),
        ({"response_timeout_s": -1}, "seconds"),
        ({"response_timeout_s": "soon"}, "seconds"),
        ({"hosts": "a:b"}, "no host and port"),
        ({"hosts": "[::1"}, "no address"),
        ({"hosts": ",".join(["a"] * 17)}, "the limit is 16"),
        ({"interface_version": 4}, "none of 3.3"),
        ({"key_file": "/k.pem"}, "cert_file"),
        ({"rates": 100}, "`100` cannot be read; write `08:00-20:00 100`"),
        ({"rates": "mon 10, 08:00-20:00 100"}, "`mon 10` and `08:00-20:00 100` overlap on mon 08:00"),
        ({"rates_zone": "Berlin"}, "'Berlin' is no time zone; give an IANA name"),
        ({"source_rules": "44: 1/1, 44+: 1/1"}, "rule 2, `44+: 1/1`, cannot be read; write `44*: 1/1`"),
        ({"source_rules": "44*: 1/1, Helio"}, "rule 2, `Helio`, says neither TON and NPI nor another form"),
        ({"source_rules": "44*: 256/1"}, "rule 1, `44*: 256/1`, has a TON or NPI above 255"),
        ({"source_rules": ": 1/1"}, "rule 1, `: 1/1`, cannot be read"),
        ({"source_rules": "44 -> 0*: 1/1"}, "rule 1, `44 -> 0*: 1/1`, has a `*` only after the arrow"),
        ({"source_rules": "44* -> : 1/1"}, "needs 1 to 20 characters after the arrow"),
        ({"source_rules": f"44* -> {'A' * 21}"}, "needs 1 to 20 characters after the arrow"),
        ({"source_rules": "44*: 1/1, 447*: 2/1"}, "rule 2, `447*: 2/1`, is never reached: `44*: 1/1` before it"),
        ({"source_rules": "Ab: 5/0, Ab: 5/1"}, "rule 2, `Ab: 5/1`, is never reached"),
        ({"source_rules": ",".join(f"{n}: 1/1" for n in range(101))}, "101 rules; the limit is 100"),
        ({"dest_rules": "Helio*: 1/1"}, "rule 1, `Helio*: 1/1`, fits no destination"),
        ({"dest_rules": "44* -> 447700900123"}, "would send messages to another phone"),
        ({"dest_rules": "44 -> 49: 1/1"}, "would send messages to another phone"),
        ({"sender_map": "ACME"}, "'ACME' cannot be read; write ACME -> Acme Shop"),
        ({"sender_map": "ACME -> "}, "'ACME ->' cannot be read"),
        ({"sender_map": "A -> B, A -> C"}, "'A' has two senders"),
        ({"sender_map": f"ACME -> {'A' * 21}"}, "no sender of at most 20 printable ASCII"),
        ({"sender_map": ",".join(f"{n} -> B" for n in range(1001))}, "1001 senders; the limit is 1000"),
        ({"sender_default": "Ünsinn"}, "no sender of at most 20 printable ASCII"),
        ({"dest_strip": "49, +44"}, "'+44' is no beginning of a destination"),
        ({"dest_prefix": "123456789"}, "no prefix of up to 8 characters"),
        ({"dest_prefix": "7+"}, "no prefix of up to 8 characters"),
        ({"inbound_country": "DE"}, "'DE' is no country code; write 49"),
        ({"inbound_country": 4900}, "4900 is no country code"),
        ({"inbound_country": "049"}, "'049' is no country code"),
        ({"inbound_trunk": "0000"}, "'0000' is no prefix of 1 to 3 digits; write 0, or none"),
        ({"inbound_trunk": ""}, "write 0, or none"),
        ({"outcome_nonsense": "defer"}, "no command status"),
        ({"outcome_0x58": "perhaps"}, "none of accept"),
    ],
)
def test_a_wrong_option_is_named_with_what_would_be_right(options: dict[str, Any], words: str) -> None:
    _, _, problems = read_options(options, Timings())
    assert len(problems) == 1
    assert problems[0].startswith(f"option {next(iter(options))}: ")
    assert words in problems[0]


@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        ("", ()),
        ("a.example", (("a.example", 2775),)),
        ("2001:db8::1", (("2001:db8::1", 2775),)),
        ("[::1]", (("::1", 2775),)),
        (" a:1 ,, b:65535 ", (("a", 1), ("b", 65535))),
    ],
)
def test_hosts(text: str, hosts: tuple[tuple[str, int], ...]) -> None:
    assert parse_hosts(text) == hosts


def test_text_keeps_its_form_and_seconds_may_be_text() -> None:
    texts = {"system_type": "0011", "address_range": "1.50", "service_type": "true", "response_timeout_s": "1.50"}
    stored = {name: parse_option(name, text) for name, text in texts.items()}
    dialect, timings, problems = read_options(stored, Timings())
    assert problems == []
    assert (dialect.system_type, dialect.address_range, dialect.service_type) == ("0011", "1.50", "true")
    assert timings.response_timeout_s == 1.5


def test_the_country_of_national_numbers_is_an_option() -> None:
    for texts, read in (
        ({"inbound_country": "49"}, ("49", "0")),
        ({"inbound_country": "+39", "inbound_trunk": "None"}, ("39", "")),
        ({"inbound_country": "36", "inbound_trunk": "06"}, ("36", "06")),
        ({"inbound_country": "7", "inbound_trunk": "8"}, ("7", "8")),
    ):
        dialect, _, problems = read_options({name: parse_option(name, text) for name, text in texts.items()}, Timings())
        assert ((dialect.inbound_country, dialect.inbound_trunk), problems) == (read, [])


def test_what_becomes_of_unknown_outcomes_is_an_option() -> None:
    dialect, _, problems = read_options({"unknown": "WAIT", "unknown_wait_s": 60}, Timings())
    assert (dialect.unknown, dialect.unknown_wait_s, problems) == ("wait", 60.0, [])
    _, _, problems = read_options({"unknown": "forget", "unknown_wait_s": "soon"}, Timings())
    assert [problem.split(":")[0] for problem in problems] == ["option unknown", "option unknown_wait_s"]


@pytest.mark.parametrize("text", ["a:0", "a:65536", ":2775", "[::1]x", "a:²"])
def test_no_hosts(text: str) -> None:
    with pytest.raises(ValueError, match="is no"):
        parse_hosts(text)


def test_every_field_of_a_dialect_has_its_option() -> None:
    assert {each.name for each in fields(Dialect)} - {"outcomes"} <= set(OPTIONS)


def test_receipts_for_another_operator_are_states_codes_or_both() -> None:
    dialect, _, problems = read_options({"failover_receipts": "undeliv 011, REJECTD, 34"}, Timings())
    assert problems == []
    assert dialect.failover_receipts == {(Delivery.UNDELIV, "011"), (Delivery.REJECTD, ""), (None, "34")}
    assert read_options({"failover_receipts": "none"}, Timings())[0] == Dialect()
    for entry in ("DELIVRD", "ENROUTE 001", "UNDELIV 011 012"):
        ((problem),) = read_options({"failover_receipts": entry}, Timings())[2]
        assert f"{entry!r} is no state of a message that was not delivered" in problem
