"""Connectors, routes, prices, and what nodes say of their links."""

from collections.abc import Sequence
from dataclasses import replace

import asyncpg

from heliograph.adapters.store.postgres.db import Db
from heliograph.adapters.store.shared.rows import CONNECTOR_COLUMNS, connector_of, connector_row, report_of, report_row
from heliograph.app.configuration import Connector, Exists, Missing, Price, Route, Tables
from heliograph.app.ports import ConnectorReport

_CHANGED = "UPDATE revision SET value = value + 1"
_REVISION = "SELECT value FROM revision"
_CONNECTORS = f"SELECT {CONNECTOR_COLUMNS} FROM connector ORDER BY id"  # noqa: S608 - made of constants
_NEW_COLUMNS = CONNECTOR_COLUMNS.removeprefix("id, ")
_COUNT = _NEW_COLUMNS.count(",") + 1
_PLACES = ", ".join(f"${n}" for n in range(1, _COUNT + 1))
_ADD_CONNECTOR = f"""
INSERT INTO connector ({_NEW_COLUMNS}) VALUES ({_PLACES}) ON CONFLICT (name) DO NOTHING RETURNING id
"""  # noqa: S608 - made of constants
_UPDATE_CONNECTOR = f"""
UPDATE connector SET ({_NEW_COLUMNS}) = ROW({_PLACES}) WHERE id = ${_COUNT + 1} RETURNING 1
"""  # noqa: S608 - made of constants
_NAMESAKE = "SELECT 1 FROM connector WHERE name = $1 AND id <> $2"
_REMOVE_CONNECTOR = "DELETE FROM connector WHERE name = $1 RETURNING id"
_REMOVE_ROUTES = "DELETE FROM route WHERE connector = $1"
_REMOVE_LINK_STATES = "DELETE FROM link_state WHERE connector = $1"
_ROUTES = 'SELECT id, prefix, connector, priority FROM route ORDER BY prefix COLLATE "C", priority, id'
_ADD_ROUTE = """
INSERT INTO route (prefix, connector, priority) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING RETURNING id
"""
_HAS_CONNECTOR = "SELECT 1 FROM connector WHERE id = $1"
_REMOVE_ROUTE = "DELETE FROM route WHERE id = $1 RETURNING 1"
_PRICES = 'SELECT plan, prefix, price FROM price ORDER BY plan COLLATE "C", prefix COLLATE "C"'
_PUT_PRICE = """
INSERT INTO price (plan, prefix, price) VALUES ($1, $2, $3)
ON CONFLICT (plan, prefix) DO UPDATE SET price = excluded.price
"""
_REMOVE_PRICE = "DELETE FROM price WHERE plan = $1 AND prefix = $2 RETURNING 1"
_SAVE_LINK_STATE = """
INSERT INTO link_state (connector, node, state, at) VALUES ($1, $2, $3, $4)
ON CONFLICT (connector, node) DO UPDATE SET state = excluded.state, at = excluded.at
"""
_LINK_STATES = "SELECT connector, node, state, at FROM link_state ORDER BY connector, node"


async def changed(db: Db) -> None:
    """Every process that serves customers looks at the revision."""
    await db.execute(_CHANGED)


async def revision(db: Db) -> int:
    value: int = await db.fetchval(_REVISION)
    return value


async def tables(db: Db) -> Tables:
    return Tables(
        await revision(db),
        [connector_of(row) for row in await db.fetch(_CONNECTORS)],
        [Route(*row) for row in await db.fetch(_ROUTES)],
        [Price(*row) for row in await db.fetch(_PRICES)],
    )


async def add_connector(db: Db, connector: Connector) -> Connector:
    number = await db.fetchval(_ADD_CONNECTOR, *connector_row(connector))
    if number is None:
        raise Exists(f"there is a connector {connector.name} already")
    await changed(db)
    return replace(connector, id=number)


async def update_connector(db: Db, connector: Connector) -> None:
    if await db.fetchval(_NAMESAKE, connector.name, connector.id) is not None:
        raise Exists(f"there is a connector {connector.name} already")
    try:
        found = await db.fetchval(_UPDATE_CONNECTOR, *connector_row(connector), connector.id)
    except asyncpg.UniqueViolationError:
        raise Exists(f"there is a connector {connector.name} already") from None
    if found is None:
        raise Missing("no such connector")
    await changed(db)


async def remove_connector(db: Db, name: str) -> None:
    """Rows of the queue keep its number, under which `next_due` and `claim_queued` still find them."""
    number = await db.fetchval(_REMOVE_CONNECTOR, name)
    if number is None:
        raise Missing(f"there is no connector {name}")
    await db.execute(_REMOVE_ROUTES, number)
    await db.execute(_REMOVE_LINK_STATES, number)
    await changed(db)


async def add_route(db: Db, route: Route) -> Route:
    if await db.fetchval(_HAS_CONNECTOR, route.connector) is None:
        raise Missing("no such connector")
    number = await db.fetchval(_ADD_ROUTE, route.prefix, route.connector, route.priority)
    if number is None:
        raise Exists("there is such a route already")
    await changed(db)
    return replace(route, id=number)


async def remove_route(db: Db, route: int) -> None:
    if await db.fetchval(_REMOVE_ROUTE, route) is None:
        raise Missing("no such route")
    await changed(db)


async def put_price(db: Db, price: Price) -> None:
    await db.execute(_PUT_PRICE, price.plan, price.prefix, price.price)


async def set_price(db: Db, price: Price) -> None:
    await put_price(db, price)
    await changed(db)


async def remove_price(db: Db, plan: str, prefix: str) -> None:
    if await db.fetchval(_REMOVE_PRICE, plan, prefix) is None:
        raise Missing("no such price")
    await changed(db)


async def save_link_states(db: Db, reports: Sequence[ConnectorReport]) -> None:
    await db.executemany(_SAVE_LINK_STATE, sorted(report_row(each) for each in reports))


async def link_states(db: Db) -> list[ConnectorReport]:
    return [report_of(row) for row in await db.fetch(_LINK_STATES)]
