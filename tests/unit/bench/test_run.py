"""Whom a run asks, and whom it samples: programs that stand in for the compiled ones, and a server that is not ours."""

import json
from pathlib import Path

import pytest
from bench.loop import gateways
from bench.loop.figures import Refused
from bench.loop.gateways import Ask, HeliographPostgres
from bench.loop.run import Customers, Load

SERVER = 4_000_000
"""A process id that nothing has: beyond the kernel's highest one here."""

PROGRAM = """#!/bin/sh
while [ $# -gt 1 ]; do [ "$1" = --out ] && : > "$2"; shift 2; done
echo '{summary}'
"""


def customers(folder: Path, summary: dict[str, int], ports: list[int]) -> Customers:
    program = folder / "customer"
    program.write_text(PROGRAM.format(summary=json.dumps(summary)))
    program.chmod(0o755)
    return Customers(folder, folder, ports, Ask("GET", "/"), Load(seconds=0.0)).begin()


def test_customers_that_asked_some_of_the_nodes_only_have_no_figures(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="1 of 2 ports"):
        customers(tmp_path, {"good": 1}, [1, 2]).end()
    with pytest.raises(Refused, match="2 of 4 ports"):
        customers(tmp_path, {"good": 1, "ports": 2}, [1, 2, 3, 4]).end()


def test_customers_that_asked_all_of_them_do(tmp_path: Path) -> None:
    assert customers(tmp_path, {"good": 1, "ports": 2}, [1, 2]).end() == ({"good": 1, "ports": 2}, b"")


class OnServer(HeliographPostgres):
    """With one process of its own, and a server that is only a number."""

    class _Program:
        pid = 7

    class _Database:
        pid = SERVER

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, 1, 2)
        self._processes = [self._Program()]  # type: ignore[list-item]
        self._server = self._Database()  # type: ignore[assignment]


def test_the_database_server_counts_and_is_not_sampled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The signals that begin and end sampling would end it."""
    monkeypatch.setattr(gateways, "family", lambda pid: [pid])
    gateway = OnServer(tmp_path)
    assert gateway.pids() == [7, SERVER]
    assert gateway.programs() == [7]
