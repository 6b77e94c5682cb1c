"""The named statements of both engines, against what the operations ask of them."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from heliograph.adapters.store.postgres import driver as postgres
from heliograph.adapters.store.shared import sql
from heliograph.adapters.store.shared.rows import account_values, connector_values, report_values
from heliograph.adapters.store.sqlite import driver as sqlite
from heliograph.app.configuration import Account
from heliograph.app.ports import ConnectorReport, ConnectorState
from tests.support.connectors import smpp_connector

STATEMENTS = {"sqlite": sqlite.STATEMENTS, "postgres": postgres.STATEMENTS}

SPREAD = {
    "account_values": frozenset(account_values(Account(0, "", "", b""))),
    "connector_values": frozenset(connector_values(smpp_connector(0, "", "", 0, "", ""))),
    "report_values": frozenset(report_values(ConnectorReport(0, 0, ConnectorState(), 0))),
}
"""What a call with `**account_values(...)` names."""

FIXED = frozenset({"first_slot", "last_slot"})
"""Parameters that an engine knows by itself."""


def asked() -> Iterator[tuple[str, frozenset[str]]]:
    """Each statement that some operation yields, with the parameters that it names."""
    for file in Path(sql.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                of = node.func.value
                if isinstance(of, ast.Name) and of.id == "Q":
                    yield node.func.attr, frozenset().union(*map(_names, node.keywords))


def _names(keyword: ast.keyword) -> frozenset[str]:
    if keyword.arg is not None:
        return frozenset({keyword.arg})
    assert isinstance(keyword.value, ast.Call)
    assert isinstance(keyword.value.func, ast.Name)
    return SPREAD[keyword.value.func.id]


@pytest.mark.parametrize("engine", STATEMENTS)
def test_each_statement_that_is_asked_for_is_there_and_has_its_parameters(engine: str) -> None:
    statements = STATEMENTS[engine]
    for name, parameters in asked():
        assert name in statements, f"nothing in {engine} is called {name}"
        missing = frozenset(statements[name].parameters) - parameters - FIXED
        assert not missing, f"{name} of {engine} has parameters that its caller does not name: {missing}"


def test_no_statement_is_there_for_nobody() -> None:
    names = {name for name, _ in asked()}
    for engine, statements in STATEMENTS.items():
        assert statements.keys() <= names, f"{engine}: nobody asks for {statements.keys() - names}"


def test_no_caller_names_what_no_engine_asks_for() -> None:
    for name, parameters in asked():
        known = {parameter for statements in STATEMENTS.values() for parameter in statements[name].parameters}
        extra = parameters - known - SPREAD["account_values"] - SPREAD["connector_values"]
        assert not extra, f"{name} has no parameter {extra}"
