"""The runner of an encrypted store: operations know nothing of it, their statements are sealed and opened between them
and the database."""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, Final, TypeVar

from heliograph.adapters.store.shared.rows import (
    ACCOUNT_NAME,
    ACCOUNT_SECRET,
    CONNECTOR_NAME,
    CONNECTOR_SETTINGS,
    INBOUND_WIDTH,
    MESSAGE_WIDTH,
)
from heliograph.adapters.store.shared.sealing import (
    Sealer,
    UnknownKey,
    early_place,
    factor_place,
    secret_place,
    settings_place,
)
from heliograph.adapters.store.shared.sql import Statement
from heliograph.adapters.store.shared.steps import Query, Row, RunMode, Runner, Steps
from heliograph.app.records import TELLING_DIGITS
from heliograph.app.resources.desk import Invalid
from heliograph.app.search_terms import Unsearchable

R = TypeVar("R")

Values = dict[str, Any]

_KEY: Final = 15
"""Place of the key in a row of MESSAGE_COLUMNS."""

_INBOUND_KEY: Final = 13
"""Place of the key in a row of INBOUND_COLUMNS."""

_BEHIND_ALL: Final = "~"
"""A character behind all of those that an envelope in text has."""


class SealedRunner:
    """Runs operations on the runner of an engine; once more where a row's key was not known, after learning it."""

    def __init__(
        self, runner: Runner, sealer: Sealer, statements: Mapping[str, Statement], learn: Callable[[], Awaitable[None]]
    ) -> None:
        self._runner = runner
        self._sealer = sealer
        self._statements = statements
        self._learn = learn

    async def run(self, mode: RunMode, operation: Callable[[], Steps[R]]) -> R:
        """Does what the engine's runner does. Raises CannotOpen, too."""
        work = partial(sealed, self._sealer, self._statements, operation)
        try:
            return await self._runner.run(mode, work)
        except UnknownKey:
            await self._learn()
            return await self._runner.run(mode, work)


def sealed(sealer: Sealer, statements: Mapping[str, Statement], operation: Callable[[], Steps[R]]) -> Steps[R]:
    """Runs the operation with its queries sealed and their rows opened."""
    steps = operation()
    try:
        query = next(steps)
        while True:
            name = query.name
            rows = yield _sealed_query(sealer, query)
            opener = _OPENERS.get(name) or _SHAPES.get(statements[name].shape)
            query = steps.send(rows if opener is None else [opener(sealer, query, row) for row in rows])
    except StopIteration as end:
        result: R = end.value
        return result


# --- what statements are given


def _sealed_query(sealer: Sealer, query: Query) -> Query:
    name = query.name
    change = _VALUES.get(name)
    if change is None and name.startswith(("page_", "reached_")):
        change = _searched
    return query if change is None else Query(name, query.values | change(sealer, query.values))


def _number(sealer: Sealer, values: Values) -> Values:
    return {"number": sealer.token(values["number"])}


def _searched(sealer: Sealer, values: Values) -> Values:
    if sealer.current is not None and (values.get("sender") or values.get("heads") is not None):
        raise Unsearchable
    if not values.get("number"):
        return {}
    if sealer.current is not None and len(values["number"]) < TELLING_DIGITS:
        raise Invalid("number", "in an encrypted store messages are found by a whole number, not by its beginning")
    token = sealer.token(values["number"])
    return {"number": token, "low": token, "high": token}


def _secret(sealer: Sealer, values: Values) -> Values:
    return {"signing_secret": sealer.seal(values["signing_secret"], secret_place(values["name"]))}


def _factor(sealer: Sealer, values: Values) -> Values:
    return {"secret": sealer.seal(values["secret"], factor_place(values["name"], values["id"]))}


def _settings(sealer: Sealer, values: Values) -> Values:
    return {"settings": sealer.seal_text(values["settings"], settings_place(values["name"]))}


def _phone(sealer: Sealer, values: Values) -> Values:
    return {"number": sealer.phone(values["account"], values["number"])}


def _suppressed(sealer: Sealer, values: Values) -> Values:
    return {"number": sealer.suppressed(values["account"], values["number"])}


def _all_suppressed(sealer: Sealer, values: Values) -> Values:
    return {"numbers": [sealer.suppressed(values["account"], number) for number in values["numbers"]]}


def _after(sealer: Sealer, values: Values) -> Values:
    after = sealer.phone(values["account"], values["after"])
    return {"after": after if after == values["after"] else after + _BEHIND_ALL}


def _set(sealer: Sealer, values: Values) -> Values:
    return {"sender": sealer.token(values["sender"]), "recipient": sealer.token(values["recipient"])}


_VALUES: Final[dict[str, Callable[[Sealer, Values], Values]]] = {
    "add_account": _secret,
    "update_account": _secret,
    "add_connector": _settings,
    "add_factor": _factor,
    "update_connector": _settings,
    "add_suppression": _suppressed,
    "suppress_numbers": _all_suppressed,
    "lift_suppression": _phone,
    "suppression": _phone,
    "waiting_for": _phone,
    "suppressions": _after,
    "inbound_numbered": _number,
    "inbound_numbered_of": _number,
    "messages_to": _number,
    "newest_to": _number,
    "inbound_from": _number,
    "suppressions_of": _number,
    "unmatched_of": _number,
    "waiting_parts_of": _number,
    "forget_suppressions_of": _number,
    "forget_unmatched_of": _number,
    "waiting_parts": _set,
    "claim_parts": _set,
}

# --- what they return


def _open_message(sealer: Sealer, _query: Query, row: Row) -> Row:
    destination, sender, content = sealer.open_message(row[_KEY], row[1], row[2], row[4])
    return (row[0], destination, sender, row[3], content, *row[5:])


def _open_notice(sealer: Sealer, query: Query, row: Row) -> Row:
    return _with_body(sealer, _open_message(sealer, query, row), row[_KEY], MESSAGE_WIDTH + 4)


def _open_progress_notice(sealer: Sealer, query: Query, row: Row) -> Row:
    return _with_body(sealer, _open_message(sealer, query, row), row[-1], MESSAGE_WIDTH + 4)


def _open_inbound(sealer: Sealer, _query: Query, row: Row) -> Row:
    return (*row[:2], *sealer.open_inbound(row[_INBOUND_KEY], *row[2:6]), *row[6:])


def _open_inbound_notice(sealer: Sealer, query: Query, row: Row) -> Row:
    return _with_body(sealer, _open_inbound(sealer, query, row), row[_INBOUND_KEY], INBOUND_WIDTH + 1)


def _with_body(sealer: Sealer, row: Row, key: int, place: int) -> Row:
    return (*row[:place], sealer.open_body(key, row[place]), *row[place + 1 :])


def _open_part(sealer: Sealer, _query: Query, row: Row) -> Row:
    sender, recipient, octets = sealer.open_part(row[1], row[2], row[3], row[4], row[5], bytes(row[8]))
    return (row[0], sender, recipient, *row[3:8], octets, *row[9:])


def _open_account(sealer: Sealer, _query: Query, row: Row) -> Row:
    secret = sealer.open(bytes(row[ACCOUNT_SECRET]), secret_place(row[ACCOUNT_NAME]))
    return (*row[:ACCOUNT_SECRET], secret, *row[ACCOUNT_SECRET + 1 :])


def _open_connector(sealer: Sealer, _query: Query, row: Row) -> Row:
    settings = sealer.open_text(row[CONNECTOR_SETTINGS], settings_place(row[CONNECTOR_NAME]))
    return (*row[:CONNECTOR_SETTINGS], settings, *row[CONNECTOR_SETTINGS + 1 :])


def _open_factor(sealer: Sealer, _query: Query, row: Row) -> Row:
    return (*row[:3], sealer.open(bytes(row[3]), factor_place(row[0], row[1])), *row[4:])


def _open_suppression(sealer: Sealer, _query: Query, row: Row) -> Row:
    return (sealer.open_suppressed(row[0]), *row[1:])


def _open_suppressed_since(sealer: Sealer, _query: Query, row: Row) -> Row:
    return (row[0], sealer.open_suppressed(row[1]), row[2])


def _open_orphan(sealer: Sealer, _query: Query, row: Row) -> Row:
    connector, operator_id, destination = row[:3]
    return (connector, operator_id, sealer.open_number(destination, early_place(connector, operator_id)), *row[3:])


def _open_unreported(sealer: Sealer, _query: Query, row: Row) -> Row:
    destination, sender = sealer.open_numbers(row[0], row[5], row[4])
    return (*row[:4], sender, destination, *row[6:])


def _open_accepted(sealer: Sealer, _query: Query, row: Row) -> Row:
    return (*row[:3], sealer.open_numbers(row[0], row[3], "")[0], *row[4:])


def _open_trail(sealer: Sealer, _query: Query, row: Row) -> Row:
    return (*row[:4], sealer.open_numbers(row[0], row[4], "")[0], *row[5:])


def _open_trail_inbound(sealer: Sealer, _query: Query, row: Row) -> Row:
    return (*row[:4], sealer.open_inbound_sender(row[0], row[4]), *row[5:])


def _open_inbound_sender(sealer: Sealer, query: Query, row: Row) -> Row:
    return (sealer.open_inbound_sender(query.values["key"], row[0]),)


Opener = Callable[[Sealer, Query, Row], Row]

_SHAPES: Final[dict[str, Opener]] = {
    "message": _open_message,
    "hit": _open_message,
    "inbound": _open_inbound,
    "inbound_part": _open_part,
    "account": _open_account,
    "connector": _open_connector,
}
"""Openers of rows that begin with these columns."""

_OPENERS: Final[dict[str, Opener]] = {
    "notices": _open_notice,
    "progress_notices": _open_progress_notice,
    "inbound_notices": _open_inbound_notice,
    "factors": _open_factor,
    "suppressions": _open_suppression,
    "suppressed_since": _open_suppressed_since,
    "orphans": _open_orphan,
    "unreported": _open_unreported,
    "inbound_sender": _open_inbound_sender,
    "trail_accepted": _open_accepted,
    "trail_sent": _open_trail,
    "trail_ended": _open_trail,
    "trail_inbound": _open_trail_inbound,
}
"""Openers of the rows of single statements."""
