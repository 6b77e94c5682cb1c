"""Operations of the admin API, drawn from the descriptions of resources."""

import types
from bisect import bisect_right
from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Annotated, Any, Final, Literal

from msgspec import UNSET, Meta, Struct, UnsetType, defstruct, structs, to_builtins

from heliograph.admin_api import shapes
from heliograph.admin_api.operation import AdminOperation, QueryParameter
from heliograph.admin_api.request import given_fields, key_cursor, parse_cursor, parse_key, parse_key_cursor
from heliograph.app.ports.large_tables import PART_ROWS
from heliograph.app.resources.description import Answer, Operation, Page, Resource
from heliograph.app.resources.desk import Desk, Invalid
from heliograph.app.resources.fields import (
    KEEP,
    REQUIRED,
    Choice,
    Credits,
    Decimal,
    Field,
    Flag,
    Item,
    Many,
    Moment,
    Pairs,
    Reference,
    Rows,
    Text,
    Values,
    Whole,
    Words,
    refers,
)
from heliograph.domain.error import CONFLICT, INVALID, NOT_FOUND, invalid, missing


def item_of(resource: Resource) -> type[Struct]:
    """Returns the type of a thing in answers."""
    return _answers(resource.answer_name or resource.name.capitalize(), resource.fields, resource.summary)


@cache
def operations_of(resource: Resource) -> tuple[AdminOperation, ...]:
    item = item_of(resource)
    return tuple(_drawn(resource, operation, item) for operation in resource.operations)


def _drawn(resource: Resource, operation: Operation, item: type[Struct]) -> AdminOperation:
    query, reads = [_parameter(each) for each in operation.reads], None
    if not operation.asks_by_query:
        name = operation.read_name or f"New{resource.name.capitalize()}"
        query = query if operation.may_be_bare else []
        reads = _accepts(name, operation.reads, operation.summary) if operation.reads else None
    if operation.page:
        bounds = {"type": "integer", "minimum": 1, "maximum": operation.page}
        query.append(QueryParameter("limit", "Rows at most.", bounds))
        pattern = "[0-9]{1,18}--?[0-9]{1,19}" if operation.cursor_has_time else "[0-9]{1,18}"
        schema = {"type": "string", "pattern": f"^({pattern})?$"}
        query.append(QueryParameter("cursor", _CURSOR, schema))
    if resource.is_cut(operation):
        bounds = {"type": "integer", "minimum": 1, "maximum": _MOST_ROWS}
        usual = f"{_MOST_ROWS:,} rows" if operation.order else "all rows, without a `cursor`"
        order = operation.order or ("their keys",)
        meaning = f"Rows at most, in the order of {', '.join(order)}. Without it {usual}."
        query.append(QueryParameter("limit", meaning, bounds))
        query.append(QueryParameter("cursor", _CURSOR, {"type": "string", "pattern": "^[A-Za-z0-9_-]*$"}))
    keys = [(name, resource.field(alias or name)) for name, alias in operation.path_parameters]
    fields = resource.fields_of(operation)
    faults = [INVALID] if fields else []
    faults += [NOT_FOUND] if operation.in_path or operation.is_found or refers(fields) else []
    return AdminOperation(
        operation.method,
        operation.public_path,
        resource.scope_of(operation),
        operation.summary,
        partial(_run, resource, operation),
        _answer(resource, operation, item),
        reads,
        tuple(query),
        (*faults, CONFLICT) if operation.conflicts else tuple(faults),
        operation.status,
        operation.octets,
        scopes={each.name: each.scope for each in operation.reads if each.scope is not None},
        may_be_bare=operation.may_be_bare,
        # A key is a text whatever its field is: no thing has a key of another form, so that the answer is 404.
        in_path=tuple(QueryParameter(name, key.meaning, required=True, example=_example(key)) for name, key in keys),
        things=resource.plural,
        subject=f"{resource.summary}.",
        id=operation.id or f"{operation.name}_{resource.plural if operation.answers is Answer.EACH else resource.name}",
        media_types=operation.media_types,
        is_long=operation.is_long,
        named_by=next((each.name for each in operation.reads if each.names_request), ""),
    )


async def _run(
    resource: Resource,
    operation: Operation,
    desk: Desk,
    path: Mapping[str, str],
    query: Mapping[str, str],
    body: Struct | None,
) -> Any:
    read = partial(_given, resource, operation, path, query, body)
    lists = [each for each in (() if body is None else structs.astuple(body)) if isinstance(each, list)]
    given = await desk.in_thread(read) if any(len(each) > READ_AT_ONCE for each in lists) else read()
    if operation.answers is Answer.FILE:
        return await operation.run(desk, **given)
    if operation.page:
        given |= _page(operation, query)
    if operation.order:
        return await _part(resource, operation, desk, given, query)
    cut = _Cut(resource, query) if resource.is_cut(operation) else None
    result = await operation.run(desk, **given)
    show = partial(shown, resource, operation, result, given.get("limit", 0))
    is_long = operation.is_long or (isinstance(result, list) and len(result) > READ_AT_ONCE)
    answer = await desk.in_thread(show) if is_long else show()
    return answer if cut is None else cut.page_of(answer)


_MOST_ROWS: Final = PART_ROWS
"""The most rows of a part of a list that otherwise comes whole. A page of 10,000 routes has 2 MB."""

READ_AT_ONCE: Final = 500
"""Rows of a body that are read, or of a list that are shown, in a turn of the event loop: some ten milliseconds. More
are read or shown in a thread, since an import may have 200,000, which take seconds."""

_CURSOR: Final = "Goes on after an earlier answer: its `cursor`."


async def _part(
    resource: Resource, operation: Operation, desk: Desk, given: dict[str, Any], query: Mapping[str, str]
) -> dict[str, Any]:
    """Returns a part of a list that the store sorts, and the cursor behind it. Raises Fault."""
    limit, text = _limit(query) or _MOST_ROWS, query.get("cursor", "")
    after = parse_key_cursor(text, len(operation.order)) if text else None
    fields = [resource.field(name) for name in operation.order]
    if text and not (after and all(field.may_be(value) for field, value in zip(fields, after, strict=True))):
        raise invalid("cursor", "The cursor is one that an earlier answer gave.")
    result = await operation.run(desk, **given, after=after, limit=limit + 1)
    rows = result[resource.plural] if operation.beside else result
    more = len(rows) > limit
    del rows[limit:]
    answer = await desk.in_thread(lambda: shown(resource, operation, result))
    if more:
        return {**answer, "cursor": key_cursor(tuple(rows[-1][name] for name in operation.order))}
    return {**answer, "cursor": None} if {"limit", "cursor"} & query.keys() else answer


def _limit(query: Mapping[str, str]) -> int:
    """Returns the `limit` of a request, or 0. Raises Fault."""
    limit = int(query["limit"]) if parse_key(query.get("limit", "")) else 0
    if "limit" in query and not 1 <= limit <= _MOST_ROWS:
        raise invalid("limit", f"The parameter limit is a whole number from 1 to {_MOST_ROWS}.")
    return limit


class _Cut:
    """The part of a whole list that a request asks for by `limit` and `cursor`. Raises Fault when it is made."""

    def __init__(self, resource: Resource, query: Mapping[str, str]) -> None:
        self._resource = resource
        self._limit = _limit(query)
        text = query.get("cursor", "")
        self._after = parse_key_cursor(text, len(resource.key)) if text else None
        if text and self._after is None:
            raise invalid("cursor", "The cursor is one that an earlier answer gave.")

    def page_of(self, answer: dict[str, Any]) -> dict[str, Any]:
        """Returns an answer with the rows that were asked for, and the cursor behind them; unchanged if all were."""
        if not self._limit and self._after is None:
            return answer
        name = self._resource.plural
        rows = sorted(answer[name], key=lambda row: _sorted_as(self._key(row)))
        start = 0
        if self._after is not None:
            start = bisect_right(rows, _sorted_as(self._after), key=lambda row: _sorted_as(self._key(row)))
        shown = rows[start : start + self._limit] if self._limit else rows[start:]
        more = start + len(shown) < len(rows)
        return {**answer, name: shown, "cursor": key_cursor(self._key(shown[-1])) if more else None}

    def _key(self, row: Mapping[str, Any]) -> tuple[Any, ...]:
        return tuple(row[name] for name in self._resource.key)


def _sorted_as(key: tuple[Any, ...]) -> tuple[tuple[int, Any], ...]:
    """Returns a key by which any two keys can be compared: null, then numbers, then texts."""
    return tuple((0, 0) if each is None else (1, each) if isinstance(each, int) else (2, each) for each in key)


def _page(operation: Operation, query: Mapping[str, str]) -> dict[str, Any]:
    """Returns the arguments of a page: `limit` and `after`. Raises Fault."""
    limit, text = query.get("limit", str(min(operation.rows, operation.page))), query.get("cursor", "")
    if not 1 <= (parse_key(limit) or 0) <= operation.page:
        raise invalid("limit", f"The parameter limit is a whole number from 1 to {operation.page}.")
    place, key = parse_cursor(text), parse_key(text)
    if text and (place if operation.cursor_has_time else key) is None:
        raise invalid("cursor", "The cursor is one that an earlier answer gave.")
    return {"limit": int(limit), "after": place if operation.cursor_has_time else text}


def _given(
    resource: Resource,
    operation: Operation,
    path: Mapping[str, str],
    query: Mapping[str, str],
    body: Struct | None,
) -> dict[str, Any]:
    """Returns the arguments of the use case: values of the path, and of the query or the body. Raises Invalid."""
    given: dict[str, Any] = {}
    for name, text in operation.renamed(path).items():
        field = resource.field(name)
        try:
            given[name] = field.read(field.parse(text))
        except Invalid:
            if not isinstance(field.type, Whole):
                raise
            given[name] = 0  # no thing has this key: the use case says so
    if operation.asks_by_query:
        # an empty text is no filter, but an empty choice, flag, time or number is a mistake, as the document says
        asked = [
            each
            for each in operation.reads
            if query.get(each.name)
            or (each.name in query and (each.default is KEEP or isinstance(each.type, Choice | Flag | Moment | Whole)))
        ]
        parsed = {each.name: _parse(each, query[each.name]) for each in asked}
        absent = next((each.name for each in operation.reads if each.default is REQUIRED and each not in asked), None)
        if absent is not None:
            raise missing(absent)
    else:
        parsed = to_builtins(body) if body is not None else {}
        for field in operation.reads if operation.may_be_bare else ():
            if field.name in query:
                if parsed.get(field.name) is not None and body is not None and field.name in given_fields(body):
                    raise Invalid(field.name, "it is given twice, in the body and in the query")
                parsed[field.name] = _parse(field, query[field.name])
    for field in operation.reads:
        if field.name in parsed:
            given[field.name] = field.read(parsed[field.name])
        elif field.default is not KEEP:
            given[field.name] = field.default
    return given


def _parse(field: Field, text: str) -> Any:
    """Returns the JSON value of a parameter. Raises Invalid. A flag has two words here, as the document says; commands
    take more, such as `yes`."""
    if isinstance(field.type, Flag) and text not in ("true", "false"):
        raise Invalid(field.name, f"{text!r} is neither true nor false")
    return field.parse(text)


def shown(resource: Resource, operation: Operation, result: Any, limit: int = 0) -> dict[str, Any]:
    """Returns the JSON object of a use case's result."""
    if isinstance(operation.answers, tuple):
        return _row(operation.answers, result)
    match operation.answers:
        case Answer.DONE | Answer.FILE:
            return {"done": True}
        case Answer.ITEM:
            return _row(resource.fields, result)
        case Answer.EACH:
            if isinstance(result, Page):
                rows = [_row(resource.fields, each) for each in result.rows]
                return {resource.plural: rows, "cursor": result.cursor, **_row(operation.beside, result.beside)}
            found = result[resource.plural] if operation.beside else result
            rows = [_row(resource.fields, each) for each in found]
            more = {"cursor": resource.next_cursor(operation, rows, limit)} if operation.page else {}
            return {resource.plural: rows, **more, **_row(operation.beside, result)}


def _row(fields: tuple[Field, ...], values: Mapping[str, Any]) -> dict[str, Any]:
    there = (field for field in fields if field.name in values or not field.may_lack)
    return {field.name: field.show(values[field.name]) for field in there}


# --- the document


def _parameter(field: Field) -> QueryParameter:
    schema: dict[str, Any] = {"type": "string"}
    match field.type:
        case Choice():
            schema["enum"] = list(field.type.words)
        case Flag():
            schema["enum"] = ["true", "false"]
        case Moment():
            schema["format"] = "date-time"
        case Whole():
            schema = {"type": "integer", "minimum": field.type.least, "maximum": field.type.most}
        case Text(pattern=pattern) if pattern:
            schema["pattern"] = f"^({pattern})?$"
    is_required = field.default is REQUIRED
    return QueryParameter(field.name, field.meaning, schema, is_required, _example(field) if is_required else "")


def _example(field: Field) -> str:
    if isinstance(field.type, Reference):
        return "acme" if field.type.to == "account" else "op1"
    return field.example or "1"


def _answer(resource: Resource, operation: Operation, item: type[Struct]) -> type[Struct] | None:
    if isinstance(operation.answers, tuple):
        return _answers(operation.answer_name, operation.answers, operation.summary)
    match operation.answers:
        case Answer.FILE:
            return None
        case Answer.DONE:
            return shapes.DoneShape
        case Answer.ITEM:
            return item
        case Answer.EACH:
            fields: list[Any] = [(resource.plural, types.GenericAlias(list, (item,)))]
            fields += [("cursor", shapes.Cursor)] if operation.page else []
            fields += [(each.name, _json(each, _answers)) for each in operation.beside]
            fields += [("cursor", shapes.Cursor | UnsetType, UNSET)] if resource.is_cut(operation) else []
            words = {"__doc__": f"{operation.summary}."}
            return defstruct(operation.answer_name or resource.plural.capitalize(), fields, namespace=words)


_ANSWERS: dict[tuple[str, tuple[Field, ...]], type[Struct]] = {}
"""Types of answers by name and fields: several operations answer the same, and a name stands for one type."""

_BODIES: dict[tuple[str, tuple[Field, ...]], type[Struct]] = {}
"""Types of bodies and of rows in bodies, in the same way."""


def _answers(name: str, fields: tuple[Field, ...], words: str) -> type[Struct]:
    found = _ANSWERS.get((name, fields))
    if found is None:
        types: list[Any] = []
        for each in fields:
            kind = _json(each, _answers)
            types.append((each.name, kind | UnsetType, UNSET) if each.may_lack else (each.name, kind))
        found = _ANSWERS[name, fields] = defstruct(name, types, namespace={"__doc__": f"{words}."}, kw_only=True)
    return found


def _accepts(name: str, fields: tuple[Field, ...], words: str) -> type[Struct]:
    found = _BODIES.get((name, fields))
    if found is not None:
        return found
    kept: list[Any] = []
    for each in fields:
        kind = _json(each, _accepts)
        if each.default is REQUIRED:
            kept.append((each.name, kind))
        elif each.default is KEEP or each.default is None:
            kept.append((each.name, kind | UnsetType, UNSET))
        else:
            kept.append((each.name, kind, each.show(each.default)))
    words = f"{words}."
    found = defstruct(name, kept, namespace={"__doc__": words}, forbid_unknown_fields=True, kw_only=True)
    _BODIES[name, fields] = found
    return found


Draw = Callable[[str, tuple[Field, ...], str], type[Struct]]


def _json(field: Field, draw: Draw) -> Any:
    """Returns the type of a field's JSON values; `draw` makes the type of an object."""
    kind = _plain(field, draw)
    return kind | None if field.nullable else kind


def _plain(field: Field, draw: Draw) -> Any:
    match field.type:
        case Moment():
            return _named(field, shapes.Moment, "ISO 8601 in UTC.")
        case Credits():
            return _named(field, shapes.Credits, "Credits, as exact decimal text.")
        case Reference(to=to, optional=False):
            kind = shapes.Name if to == "account" else shapes.ConnectorName
            return _named(field, kind, "1 to 64 letters A-Z, a-z, digits and . _ -")
    kind, rules = _kind(field, draw)
    if field.example and not isinstance(field.type, Many | Rows | Item):
        rules["examples"] = [field.parse(field.example)]
    elif field.default == "":
        rules["examples"] = [""]
    return Annotated[kind, Meta(description=field.meaning, **rules)]


def _named(field: Field, kind: Any, form: str) -> Any:
    """Returns the type with the field's meaning and example; `form` is a sentence on its values."""
    examples = [field.parse(field.example)] if field.example else None
    return Annotated[kind, Meta(description=f"{field.meaning} {form}", examples=examples)]


def _kind(field: Field, draw: Draw) -> tuple[Any, dict[str, Any]]:
    match field.type:
        case Choice():
            return Literal[field.type.words], {}
        case Whole():
            return int, {"ge": field.type.least, "le": field.type.most}
        case Decimal():
            return float, {"ge": 0, "le": field.type.most}
        case Flag():
            return bool, {}
        case Pairs():
            return dict[str, str], {}
        case Words():
            return list[str], {}
        case Values():
            return dict[str, Any], {}
        case Many():
            return types.GenericAlias(list, (_json(field.type.of, draw),)), {"min_length": 1}
        case Item():
            return draw(field.type.name, field.type.of, field.meaning.rstrip(".")), {}
        case Rows():
            row = draw(field.type.name, field.type.of, field.meaning.rstrip("."))
            return types.GenericAlias(list, (row,)), {"min_length": 1} if draw is _accepts else {}
        case Text(pattern=pattern) if pattern:
            return str, {"extra_json_schema": {"pattern": f"^({pattern}){'?' if field.default == '' else ''}$"}}
    return str, {}
