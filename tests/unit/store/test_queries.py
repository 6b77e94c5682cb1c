"""The named statements of both engines, against what the operations ask of them."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from heliograph.adapters.store.postgres import driver as postgres
from heliograph.adapters.store.shared import sql
from heliograph.adapters.store.shared.rows import (
    account_values,
    connector_values,
    hours_values,
    query_values,
    refusal_values,
    refused_values,
    report_values,
    set_values,
    template_values,
)
from heliograph.adapters.store.shared.series import cell_values, place_values, series_values
from heliograph.adapters.store.sqlite import driver as sqlite
from heliograph.app.configuration import Account, MessageTemplate
from heliograph.app.facts import PartSet
from heliograph.app.ports import ConnectorReport, ConnectorState
from heliograph.app.ports.series import SeriesCell, SeriesQuery
from heliograph.app.records import RefusalCount, RefusalQuery, RefusedRequest
from heliograph.domain.error import Reason
from heliograph.domain.series import Cell, CellKey, Grain
from tests.support.connectors import smpp_connector

STATEMENTS = {"sqlite": sqlite.STATEMENTS, "postgres": postgres.STATEMENTS}

SPREAD = {
    "account_values": frozenset(account_values(Account(0, "", "", b""))),
    "connector_values": frozenset(connector_values(smpp_connector(0, "", "", 0, "", ""))),
    "set_values": frozenset(set_values(PartSet(0, "", "", 0, 0))),
    "report_values": frozenset(report_values(ConnectorReport(0, 0, ConnectorState(), 0))),
    "query_values": frozenset(query_values(RefusalQuery())),
    "hours_values": frozenset(hours_values(RefusalQuery())),
    "refusal_values": frozenset(refusal_values(RefusalCount(0, Reason.RATE, 0, 0, 0))),
    "refused_values": frozenset(refused_values(RefusedRequest(0, Reason.RATE, 0, 0, "", "", "", "", "", ""))),
    "series_values": frozenset(series_values(SeriesQuery(Grain.DAY, 0, 0))),
    "place_values": frozenset(place_values(SeriesCell(Grain.DAY, 0, CellKey(0, 0, ""), Cell()))),
    "cell_values": frozenset(cell_values(Cell())),
    "template_values": frozenset(template_values(MessageTemplate(0, "", ""))),
}
"""What a call with `**account_values(...)` names."""


@cache
def asked(engine: str) -> list[tuple[str, frozenset[str] | None]]:
    """Each statement that some operation of an engine yields, with the parameters that it names where that is seen."""
    return list(_asked(engine))


def _asked(engine: str) -> Iterator[tuple[str, frozenset[str] | None]]:
    shared = Path(sql.__file__).parent
    for file in [*shared.glob("*.py"), *shared.with_name(engine).glob("*.py")]:
        tree = ast.parse(file.read_text())
        calls = {id(node.func): node for node in ast.walk(tree) if isinstance(node, ast.Call)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "Q":
                call = calls.get(id(node))
                yield node.attr, None if call is None else frozenset[str]().union(*map(_names, call.keywords))
            if isinstance(node, ast.JoinedStr) and isinstance(head := node.values[0], ast.Constant):
                # `f"page_{rows}"` asks for all that begin so
                yield from ((name, None) for name in STATEMENTS[engine] if name.startswith(str(head.value)))


def _names(keyword: ast.keyword) -> frozenset[str]:
    if keyword.arg is not None:
        return frozenset({keyword.arg})
    assert isinstance(keyword.value, ast.Call)
    assert isinstance(keyword.value.func, ast.Name)
    return SPREAD[keyword.value.func.id]


@pytest.mark.parametrize("engine", STATEMENTS)
def test_each_statement_that_is_asked_for_is_there_and_has_its_parameters(engine: str) -> None:
    statements = STATEMENTS[engine]
    for name, parameters in asked(engine):
        assert name in statements, f"nothing in {engine} is called {name}"
        if parameters is not None:
            missing = frozenset(statements[name].parameters) - parameters
            assert not missing, f"{name} of {engine} has parameters that its caller does not name: {missing}"


@pytest.mark.parametrize("engine", STATEMENTS)
def test_no_statement_is_there_for_nobody(engine: str) -> None:
    names = {name for name, _ in asked(engine)}
    assert STATEMENTS[engine].keys() <= names, f"nobody asks for {STATEMENTS[engine].keys() - names}"


def test_no_caller_names_what_no_engine_asks_for() -> None:
    for engine in STATEMENTS:
        for name, parameters in asked(engine):
            every = (statements[name] for statements in STATEMENTS.values() if name in statements)
            known = {parameter for statement in every for parameter in statement.parameters}
            extra = (parameters or frozenset()) - known - SPREAD["account_values"] - SPREAD["connector_values"]
            assert not extra, f"{name} has no parameter {extra}"
