"""Writes what PyPI `smpplib` puts on the wire for each PDU of intents.json that it knows: see ../README.md."""

import json
import sys
from pathlib import Path
from typing import Any

import smpplib.command
import smpplib.exceptions

# smpplib gives source_addr_subunit two octets, and cannot write alert_on_message_delivery; neither is asked for.
INTENTS = Path(__file__).with_name("intents.json")


def _octets(value: Any) -> Any:
    return bytes.fromhex(value["hex"]) if isinstance(value, dict) else value


def _known(intent: dict[str, Any]) -> dict[str, Any]:
    """The intent without the TLVs that smpplib leaves out of this PDU."""
    pdu = smpplib.command.factory(intent["command"], sequence=0)
    tlvs = {name: value for name, value in intent.get("tlvs", {}).items() if name in pdu.params}
    return intent | {"tlvs": tlvs}


def _captured(intent: dict[str, Any]) -> str:
    values = {name: _octets(value) for name, value in (intent["fields"] | intent["tlvs"]).items()}
    pdu = smpplib.command.factory(
        intent["command"], sequence=intent["sequence"], status=intent.get("status", 0), **values
    )
    pdu.sequence = intent["sequence"]
    return str(pdu.generate().hex())


def main() -> None:
    """Print the rows as JSON, one a line; what smpplib refuses is named on standard error."""
    rows = []
    for intent in json.loads(INTENTS.read_text()):
        try:
            known = _known(intent)
            rows.append("  " + json.dumps(known | {"hex": _captured(known)}))
        except (smpplib.exceptions.UnknownCommandError, TypeError) as error:
            print("smpplib cannot write", intent["command"], repr(error), file=sys.stderr)
    print("[\n" + ",\n".join(rows) + "\n]")


if __name__ == "__main__":
    main()
