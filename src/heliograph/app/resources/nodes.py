"""Nodes: the gateway processes on the store, and whether one of them refuses it."""

from collections import Counter
from enum import StrEnum
from typing import Any, Final

from heliograph.app.ports import NodeReport
from heliograph.app.ports.carrier_state import NODE_REPORT_MS
from heliograph.app.records import Scope
from heliograph.app.resources.description import Answer, Operation, Resource, Scopes
from heliograph.app.resources.desk import Desk, NoSuch
from heliograph.app.resources.fields import Choice, Field, Moment, Text, Whole
from heliograph.domain.past import PastState, compare, describe_loss

SILENT_MS: Final = 3 * NODE_REPORT_MS
"""Milliseconds without a report after which a node counts as silent."""


class NodeState(StrEnum):
    RUNNING = "running"
    SILENT = "silent"
    """Killed, cut off, or waiting for its store."""
    REFUSING = "refusing"
    """It refuses the store, which lost commits. Known of this machine's data directory only."""


async def find(desk: Desk) -> list[dict[str, Any]]:
    """Returns all nodes by host."""
    reports, names = await desk.store.nodes.reports(), await desk.known_connectors()
    links = await desk.store.network.link_states()
    clients = Counter(each.node for each in await desk.store.binds.all(desk.now))
    refusing = desk.known_past.directory if desk.known_past and await describe_missing(desk) else 0
    return [
        {
            "node": f"{each.node:012x}",
            "host": each.host,
            "state": _state(each, refusing, desk.now),
            "version": each.version,
            "roles": ", ".join(each.roles),
            "started": each.started,
            "seen": each.at,
            "lease_until": each.lease_until,
            "binds": ", ".join(
                f"{names.get(link.connector, '?')} {link.state.bound}" for link in links if link.node == each.node
            ),
            "clients": clients[each.node],
            "directory": f"{each.directory:x}",
        }
        for each in reports
    ]


async def show(desk: Desk, node: str) -> dict[str, Any]:
    """Returns a node by its number."""
    for each in await find(desk):
        if each["node"] == node:
            return each
    raise NoSuch("node", node)


def _state(report: NodeReport, refusing: int, now: int) -> NodeState:
    if refusing and report.directory == refusing:
        return NodeState.REFUSING
    return NodeState.RUNNING if now - report.at <= SILENT_MS else NodeState.SILENT


async def describe_missing(desk: Desk) -> str:
    """Describes the loss that this machine's data directory finds in the store; empty if it finds none, or a person
    accepted it."""
    known = desk.known_past
    if known is None:
        return ""
    found = await desk.store.past.find(known)
    return describe_loss(known, found) if compare(known, found, desk.now) is PastState.LOST else ""


async def accept_loss(desk: Desk, fork: int, loss: str) -> None:
    """Lets all gateways go on upon the store as it is. `fork`: a new random number. `loss`: what is known about it."""
    details = {"fork": f"{fork:x}"} | ({"loss": loss} if loss else {})
    await desk.audited("store.accept_past", "store", details).past.accept(fork, desk.now)


NODES = Resource(
    name="node",
    plural="nodes",
    summary="Gateway processes on the store",
    more="A node is a run of a gateway. It reports itself every 15 seconds. A node that has stopped is not listed, nor "
    "is a node with a lease that another node ended. The state `refusing` means that the store lost commits, and that "
    "an administrator must decide: see heliograph restored.",
    nothing="No gateway runs on this store. Start one: heliograph serve",
    key=("node",),
    columns=("node", "host", "state", "version", "roles", "started", "seen", "binds", "clients"),
    fields=(
        Field("node", Text(), "The number of the run, as log lines have it in decimal.", example="16b3c1f00a2d"),
        Field("host", Text(), "The name of the machine.", example="gateway1"),
        Field("state", Choice(NodeState), "Whether it runs, is silent, or refuses the store."),
        Field("version", Text(), "The version of the program.", example="0.1.0"),
        Field("roles", Text(), "The setting `node.roles`.", example="api, dispatch, notify, upkeep"),
        Field("started", Moment(), "When it was started."),
        Field("seen", Moment(), "When it reported itself last."),
        Field(
            "lease_until",
            Moment(),
            "End of its lease by the database's clock; null on SQLite.",
            nullable=True,
            empty="no lease",
        ),
        Field(
            "binds", Text(), "Its connectors, each with the number of links that are bound.", empty="-", example="op1 2"
        ),
        Field("clients", Whole(), "SMPP clients of customers that are bound to it."),
        Field("directory", Text(), "Its data directory, by a random number.", example="2f81a0c35d7e9b14"),
    ),
    scopes=Scopes(Scope.READ_CONNECTORS, Scope.READ_CONNECTORS),
    operations=(
        Operation(
            "list",
            "GET /nodes",
            find,
            "Gateway processes on the store",
            answers=Answer.EACH,
            examples=("node list",),
        ),
        Operation(
            "show",
            "GET /nodes/{node}",
            show,
            "A node with its lease and its binds",
            answers=Answer.ITEM,
            is_found=True,
            id="get_node",
            examples=("node show 16b3c1f00a2d",),
        ),
    ),
)
