"""Mobile networks by prefix, for example 49151 for Telekom (26201). The longest matching prefix wins."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from heliograph.app.configuration import Missing, MobileNetwork
from heliograph.app.ports.large_tables import COMPARED
from heliograph.app.records import Scope
from heliograph.app.resources.description import Answer, Operation, Resource, Scopes
from heliograph.app.resources.desk import Desk, Invalid, NoSuch
from heliograph.app.resources.fields import Field, Flag, Rows, Text, note
from heliograph.app.resources.large_lists import change_counts

MOST_AT_ONCE: Final = 200_000
"""The most prefixes of a list."""

IMPORT_OCTETS: Final = 32 << 20
"""Octets. The largest body of an import: 200,000 prefixes of 160 octets."""

_PREFIX = re.compile(r"[1-9][0-9]{0,14}").fullmatch
_MCCMNC = re.compile(r"[0-9]{5,6}").fullmatch


async def find(desk: Desk, after: str = "", limit: int = 100, mccmnc: str | None = None) -> list[dict[str, Any]]:
    """Returns prefixes with their networks, by prefix."""
    return [_row(each) for each in await desk.store.routing_lists.networks(after, limit, mccmnc)]


async def put(desk: Desk, prefix: str, mccmnc: str, name: str = "") -> dict[str, Any]:
    """Sets the network of a prefix."""
    network = MobileNetwork(prefix, mccmnc, name)
    audited = desk.audited("network.set", prefix, {"mccmnc": mccmnc, "name": name})
    await audited.mobile_networks.put([network])
    return _row(network)


async def put_all(
    desk: Desk, networks: Sequence[Mapping[str, Any]], replace: bool = False, dry_run: bool = False
) -> dict[str, int]:
    """Sets the networks of these prefixes, all or none. `replace` removes all other prefixes. `dry_run` only counts."""
    wanted = {each["prefix"]: MobileNetwork(each["prefix"], each["mccmnc"], each.get("name", "")) for each in networks}
    if len(wanted) < len(networks):
        raise Invalid("networks", "two of them have the same prefix")
    known = same = 0
    prefixes = list(wanted)
    for start in range(0, len(prefixes), COMPARED):
        there = await desk.store.large_tables.networks_of(prefixes[start : start + COMPARED])
        known += len(there)
        same += sum(wanted[each.prefix] == each for each in there)
    counts = {
        "added": len(wanted) - known,
        "changed": known - same,
        "same": same,
        "removed": await desk.store.routing_lists.count_networks() - known if replace else 0,
    }
    if not dry_run:
        audited = desk.audited("network.import", "networks", {name: str(count) for name, count in counts.items()})
        await audited.mobile_networks.put(list(wanted.values()), replace_all=replace)
    return counts


async def remove(desk: Desk, prefix: str) -> None:
    """Removes a prefix. Its numbers then belong to the network of a shorter prefix, if there is one."""
    try:
        await desk.audited("network.remove", prefix).mobile_networks.remove(prefix)
    except Missing:
        raise NoSuch("network", f"of the prefix {prefix}") from None


def _row(network: MobileNetwork) -> dict[str, Any]:
    return {"prefix": network.prefix, "mccmnc": network.mccmnc, "name": network.name}


def _read_prefix(text: str) -> str:
    if _PREFIX(text) is None:
        raise ValueError(f"{text!r} is not a prefix; give up to 15 digits without + or a leading 0")
    return text


def read_mccmnc(text: str) -> str:
    """Reads the code of a network, such as `26201`: country code 262, network code 01. Raises ValueError."""
    if _MCCMNC(text) is None:
        raise ValueError(f"{text!r} is not an MCCMNC; write its five or six digits, such as 26201")
    return text


def read_any_mccmnc(text: str) -> str:
    """Reads the code of a network; an empty text is any network. Raises ValueError."""
    return read_mccmnc(text) if text else ""


PREFIX = Field(
    "prefix", Text(_read_prefix, "[1-9][0-9]{0,14}"), "First digits of the network's numbers.", example="49151"
)
MCCMNC = Field("mccmnc", Text(read_mccmnc, "[0-9]{5,6}"), "Mobile country and network code (E.212).", example="26201")
NAME = Field("name", Text(note), "Name of the network.", "", example="Telekom")
ROW = (PREFIX, MCCMNC, NAME)

NETWORKS = Resource(
    name="network",
    plural="networks",
    summary="Mobile networks, by the first digits of their numbers",
    more="The longest matching prefix decides about the network of a number. Routes may name a network instead of a "
    "prefix. A ported number counts as a number of the network of its prefix, unless the file of the setting "
    "routing.ported_file lists it, or the server of routing.lookup_url names another network.",
    nothing="There is no network yet. Import a list: heliograph network import FILE",
    key=("prefix",),
    fields=ROW,
    scopes=Scopes(Scope.READ_ROUTES, Scope.WRITE_ROUTES),
    operations=(
        Operation(
            "list",
            "GET /networks",
            find,
            "Prefixes with their networks",
            reads=(Field("mccmnc", MCCMNC.type, "Only prefixes of this network.", None),),
            answers=Answer.EACH,
            page=1_000,
            examples=("network list", "network list --mccmnc 26201"),
        ),
        Operation(
            "set",
            "PUT /networks/{prefix}",
            put,
            "Set the network of a prefix",
            reads=(MCCMNC, NAME),
            answers=Answer.ITEM,
            examples=("network set 49151 --mccmnc 26201 --name Telekom",),
            done="Numbers with the prefix {prefix} belong to the network {mccmnc}.",
            label="Set",
        ),
        Operation(
            "import",
            "POST /networks/import",
            put_all,
            "Set a list of prefixes, all or none",
            reads=(
                Field("networks", Rows(ROW, "NetworkRow", MOST_AT_ONCE), "The prefixes."),
                Field("replace", Flag(), "Remove all other prefixes.", False),
                Field("dry_run", Flag(), "Only count the changes, without making them.", False),
            ),
            answers=change_counts("Prefixes"),
            id="put_networks",
            read_name="NewNetworks",
            answer_name="NetworkChanges",
            octets=IMPORT_OCTETS,
        ),
        Operation(
            "remove",
            "DELETE /networks/{prefix}",
            remove,
            "Remove a prefix",
            examples=("network remove 49151",),
            done="The prefix {prefix} is removed.",
            label="Remove",
            confirm="Remove the prefix {prefix} of the network {mccmnc}?",
        ),
    ),
)
