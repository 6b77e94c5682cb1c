"""Receipts find their messages, however the connector rewrites addresses and the operator repeats them."""

from dataclasses import dataclass
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from heliograph.adapters.smpp.encoding import Encoder
from heliograph.adapters.smpp.options import Timings, read_options
from heliograph.adapters.smpp.receipts import Rewritten, report_of
from heliograph.app.facts import Message
from heliograph.app.receipts.readings import SAME_DIGITS, find_candidate
from heliograph.smpp import codec
from heliograph.smpp import constants as c
from heliograph.smpp import pdu as p
from tests.support.carrier_rig import parts_of
from tests.unit.carrier.test_encoding import HOUR_MS, NOW, frame_of

DESTINATIONS = st.from_regex(r"(49|44|336|1)[1-9][0-9]{8,11}", fullmatch=True)
SENDERS = st.sampled_from(["Helio", "ACME", "3388", "447700900999"])
PREFIXES = ["", "00", "+", "0", "77#", "1234", "4"]
STRIPS = ["", "49", "44,336", "1, 4", "33"]
MAPS = ["", "ACME -> 447700900777", "ACME -> Acme Shop, 3388 -> 491700000001"]


@dataclass
class Awaited:
    """A part that awaits its receipt."""

    message: Message


@given(
    destination=DESTINATIONS,
    another=DESTINATIONS,
    sender=SENDERS,
    strip=st.sampled_from(STRIPS),
    prefix=st.sampled_from(PREFIXES),
    rules=st.sampled_from(["", "44* -> 0*: 2/1", "4* -> +4*"]),
    senders=st.sampled_from(MAPS),
    default=st.sampled_from(["", "INFO", "33612345678"]),
    repeats=st.sampled_from(["as sent", "as given", "with a plus"]),
    swaps=st.booleans(),
)
def test_a_receipt_finds_its_message(
    *, destination: str, another: str, sender: str, strip: str, prefix: str, rules: str, senders: str, default: str,
    repeats: str, swaps: bool,
) -> None:  # fmt: skip
    given_options: dict[str, Any] = {
        "dest_strip": strip, "dest_prefix": prefix, "dest_rules": rules, "sender_map": senders,
        "sender_default": default,
    }  # fmt: skip
    dialect, _, problems = read_options(given_options, Timings())
    assert problems == []
    (part,) = parts_of("Hi", destination=destination, sender=sender, expires=NOW + HOUR_MS)
    sent = codec.decode(frame_of(Encoder(dialect).body(part, NOW)))
    assert isinstance(sent, p.SubmitSm)
    number = {"as sent": sent.destination_addr, "as given": destination, "with a plus": f"+{destination}"}[repeats]
    addresses = (number, sent.source_addr) if swaps else (sent.source_addr, number)
    pdu = p.DeliverSm(esm_class=c.ESM_RECEIPT, short_message=b"id:7 stat:DELIVRD")
    pdu.source_addr, pdu.destination_addr = addresses
    report = report_of(pdu, Rewritten.by(dialect))
    assert report is not None
    other = parts_of("Hi", destination=another, expires=NOW + HOUR_MS)[0].message
    awaited = [Awaited(other), Awaited(part.message)]
    found = find_candidate(report, lambda operator_id, _: awaited if operator_id == "7" else [])
    if another[-SAME_DIGITS:] != destination[-SAME_DIGITS:]:
        assert found == (awaited[1], "7")


@given(
    st.from_regex(r"49[1-9][0-9]{8,10}", fullmatch=True),
    st.sampled_from(["", "49"]),
    st.sampled_from(["", "0", "00"]),
    st.sampled_from(["as sent", "+"]),
)
def test_national_numbers_are_known_by_the_country_too(destination: str, strip: str, prefix: str, repeats: str) -> None:
    dialect = read_options(
        {"dest_strip": strip, "dest_prefix": prefix, "inbound_country": "49"}, Timings()
    )[0]  # fmt: skip
    (part,) = parts_of("Hi", destination=destination, expires=NOW + HOUR_MS)
    sent = codec.decode(frame_of(Encoder(dialect).body(part, NOW)))
    assert isinstance(sent, p.SubmitSm)
    pdu = p.DeliverSm(esm_class=c.ESM_RECEIPT, short_message=b"id:7 stat:DELIVRD")
    pdu.source_addr = sent.destination_addr if repeats == "as sent" else f"+{destination}"
    report = report_of(pdu, Rewritten.by(dialect))
    assert report is not None
    awaited = [Awaited(part.message)]
    assert find_candidate(report, lambda operator_id, _: awaited if operator_id == "7" else []) == (awaited[0], "7")
