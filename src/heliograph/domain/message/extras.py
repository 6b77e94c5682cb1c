"""Extras: fields that few messages have, beside their text. Pure.

A message keeps its extras as a text, as in its request; nearly always it is empty. It is parsed when the message is cut
for its operator, because the operator decides which TLVs pass and how their values are written.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final

Tlv = tuple[int, bytes]
"""Tag and value of an optional parameter (SMPP v3.4, 5.3)."""

READ_ONCE: Final = 1024
"""Parsed texts of extras in the cache. Messages of a campaign share a text."""


@dataclass(frozen=True, slots=True)
class Extras:
    """Fields of a submit_sm that a request may set."""

    priority: int | None = None
    """priority_flag, 0 to 3; None uses the connector's."""
    coding: int | None = None
    """data_coding, 0 to 255, of a binary message; None uses the connector's."""
    elements: bytes = b""
    """Elements of the customer's own user data header, without the length octet before them."""
    tlvs: Mapping[str, Any] = field(default_factory=dict)
    """Optional parameters as given, by name or number: `{"0x1400": "text", "entity": {"hex": "0102"}}`. Each part of a
    long message has them."""
    progress: bool = False
    """True if the customer also gets ENROUTE and ACCEPTD."""
    esme: str = ""
    """The expectations of an SMPP client about receipts (`adapters.smpp_server.expected`); empty for other messages."""

    def text(self) -> str:
        """Returns the text that `read_extras` reads."""
        fields: dict[str, Any] = {}
        if self.priority is not None:
            fields["priority"] = self.priority
        if self.coding is not None:
            fields["coding"] = self.coding
        if self.elements:
            fields["udh"] = self.elements.hex()
        if self.tlvs:
            fields["tlvs"] = dict(self.tlvs)
        if self.progress:
            fields["progress"] = True
        if self.esme:
            fields["esme"] = self.esme
        return json.dumps(fields, separators=(",", ":")) if fields else ""

    def described(self) -> str:
        """Describes the extras in words for people; empty if there are none."""
        fields = []
        if self.priority is not None:
            fields.append(f"priority {self.priority}")
        if self.coding is not None:
            fields.append(f"data_coding {self.coding:#04x}")
        if self.elements:
            fields.append(f"header {len(self.elements):02x}{self.elements.hex()}")
        fields += [
            f"TLV {name} " + (f"hex {value['hex']}" if isinstance(value, dict) else str(value))
            for name, value in self.tlvs.items()
        ]
        if self.progress:
            fields.append("states on the way are told")
        return ", ".join(fields)


NONE: Final = Extras()
"""The extras of nearly all messages."""


@lru_cache(maxsize=READ_ONCE)
def extras_of_esme(esme: str) -> str:
    """Returns the text of extras with nothing but `esme`, as nearly all messages of SMPP clients have."""
    return Extras(esme=esme).text()


@lru_cache(maxsize=READ_ONCE)
def read_extras(text: str) -> Extras:
    """Parses the text of a message's extras."""
    if not text:
        return NONE
    fields = json.loads(text)
    return Extras(
        fields.get("priority"),
        fields.get("coding"),
        bytes.fromhex(fields.get("udh", "")),
        fields.get("tlvs", {}),
        fields.get("progress", False),
        fields.get("esme", ""),
    )
