"""Connectors for tests."""

from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from typing import Any

from heliograph.adapters.smpp.kind import KIND
from heliograph.app.configuration import Connector
from heliograph.app.connector_kind import SMPP, ConnectorKind

_COMMON = {each.name for each in fields(Connector)}


def smpp_connector(
    number: int,
    name: str,
    host: str = "smsc.example.net",
    port: int = 2775,
    system_id: str = "acme",
    password: str = "secret",
    **more: Any,
) -> Connector:
    """`more` are attributes, other settings, and options."""
    own = {"host": host, "port": port, "system_id": system_id, "password": password}
    settings = own | {each: value for each, value in more.items() if each not in _COMMON}
    return Connector(number, name, SMPP, settings, **{each: value for each, value in more.items() if each in _COMMON})


def kinds(problems: Callable[[Mapping[str, Any]], list[str]] = lambda _: []) -> dict[str, ConnectorKind]:
    """The kind SMPP, with other `problems`: by default it takes any option."""
    return {SMPP: replace(KIND, problems=problems)}
