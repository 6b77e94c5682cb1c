"""Connectors, routes, prices, and what nodes say of their links."""

import sqlite3
from collections.abc import Sequence
from dataclasses import replace

from heliograph.adapters.store.shared.rows import CONNECTOR_COLUMNS, connector_of, connector_row, report_of, report_row
from heliograph.app.configuration import Connector, Exists, Missing, Price, Route, Tables
from heliograph.app.ports import ConnectorReport

_CHANGED = "UPDATE revision SET value = value + 1"
_REVISION = "SELECT value FROM revision"
_CONNECTORS = f"SELECT {CONNECTOR_COLUMNS} FROM connector ORDER BY id"  # noqa: S608 - made of constants
_NEW_COLUMNS = CONNECTOR_COLUMNS.removeprefix("id, ")
_VALUES = ", ".join("?" * (_NEW_COLUMNS.count(",") + 1))
_ADD_CONNECTOR = f"""
INSERT INTO connector ({_NEW_COLUMNS}) VALUES ({_VALUES}) ON CONFLICT (name) DO NOTHING RETURNING id
"""  # noqa: S608 - made of constants
_UPDATE_CONNECTOR = f"""
UPDATE connector SET ({_NEW_COLUMNS}) = ({_VALUES}) WHERE id = ?
"""  # noqa: S608 - made of constants
_REMOVE_CONNECTOR = "DELETE FROM connector WHERE name = ? RETURNING id"
_REMOVE_ROUTES = "DELETE FROM route WHERE connector = ?"
_REMOVE_LINK_STATES = "DELETE FROM link_state WHERE connector = ?"
_ROUTES = "SELECT id, prefix, connector, priority FROM route ORDER BY prefix, priority, id"
_ADD_ROUTE = """
INSERT INTO route (prefix, connector, priority) VALUES (?, ?, ?) ON CONFLICT DO NOTHING RETURNING id
"""
_HAS_CONNECTOR = "SELECT 1 FROM connector WHERE id = ?"
_REMOVE_ROUTE = "DELETE FROM route WHERE id = ?"
_PRICES = "SELECT plan, prefix, price FROM price ORDER BY plan, prefix"
_PUT_PRICE = """
INSERT INTO price (plan, prefix, price) VALUES (?, ?, ?)
ON CONFLICT (plan, prefix) DO UPDATE SET price = excluded.price
"""
_REMOVE_PRICE = "DELETE FROM price WHERE plan = ? AND prefix = ?"
_SAVE_LINK_STATE = """
INSERT INTO link_state (connector, node, state, at) VALUES (?, ?, ?, ?)
ON CONFLICT (connector, node) DO UPDATE SET state = excluded.state, at = excluded.at
"""
_LINK_STATES = "SELECT connector, node, state, at FROM link_state ORDER BY connector, node"


def changed(db: sqlite3.Connection) -> None:
    """Every process that serves customers looks at the revision."""
    db.execute(_CHANGED)


def revision(db: sqlite3.Connection) -> int:
    value: int = db.execute(_REVISION).fetchone()[0]
    return value


def tables(db: sqlite3.Connection) -> Tables:
    return Tables(
        revision(db),
        [connector_of(row) for row in db.execute(_CONNECTORS)],
        [Route(*row) for row in db.execute(_ROUTES)],
        [Price(*row) for row in db.execute(_PRICES)],
    )


def add_connector(db: sqlite3.Connection, connector: Connector) -> Connector:
    row = db.execute(_ADD_CONNECTOR, connector_row(connector)).fetchone()
    if row is None:
        raise Exists(f"there is a connector {connector.name} already")
    changed(db)
    return replace(connector, id=row[0])


def update_connector(db: sqlite3.Connection, connector: Connector) -> None:
    try:
        count = db.execute(_UPDATE_CONNECTOR, (*connector_row(connector), connector.id)).rowcount
    except sqlite3.IntegrityError:
        raise Exists(f"there is a connector {connector.name} already") from None
    if count == 0:
        raise Missing("no such connector")
    changed(db)


def remove_connector(db: sqlite3.Connection, name: str) -> None:
    """Rows of the queue keep its number, under which `next_due` and `claim_queued` still find them."""
    row = db.execute(_REMOVE_CONNECTOR, (name,)).fetchone()
    if row is None:
        raise Missing(f"there is no connector {name}")
    db.execute(_REMOVE_ROUTES, row)
    db.execute(_REMOVE_LINK_STATES, row)
    changed(db)


def add_route(db: sqlite3.Connection, route: Route) -> Route:
    if db.execute(_HAS_CONNECTOR, (route.connector,)).fetchone() is None:
        raise Missing("no such connector")
    row = db.execute(_ADD_ROUTE, (route.prefix, route.connector, route.priority)).fetchone()
    if row is None:
        raise Exists("there is such a route already")
    changed(db)
    return replace(route, id=row[0])


def remove_route(db: sqlite3.Connection, route: int) -> None:
    if db.execute(_REMOVE_ROUTE, (route,)).rowcount == 0:
        raise Missing("no such route")
    changed(db)


def put_price(db: sqlite3.Connection, price: Price) -> None:
    db.execute(_PUT_PRICE, (price.plan, price.prefix, price.price))


def set_price(db: sqlite3.Connection, price: Price) -> None:
    put_price(db, price)
    changed(db)


def remove_price(db: sqlite3.Connection, plan: str, prefix: str) -> None:
    if db.execute(_REMOVE_PRICE, (plan, prefix)).rowcount == 0:
        raise Missing("no such price")
    changed(db)


def save_link_states(db: sqlite3.Connection, reports: Sequence[ConnectorReport]) -> None:
    db.executemany(_SAVE_LINK_STATE, [report_row(each) for each in reports])


def link_states(db: sqlite3.Connection) -> list[ConnectorReport]:
    return [report_of(row) for row in db.execute(_LINK_STATES)]
