"""Pages drawn from the description of a resource: a list with filters, a form for each operation that has a label, and
buttons beside each row."""

from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import quote

from heliograph.admin_api.request import parse_key
from heliograph.app.resources.description import Operation, Resource
from heliograph.app.resources.fields import REQUIRED, Choice, Field, Many, Moment, Reference, Text, Whole, singular
from heliograph.console import PATH
from heliograph.console.request import FormProblem, Mistake, PageRequest, PageResponse, PageRoute, problem_of

SHOWN = 500
"""Rows that a page shows of a list that is not in pages."""

Run = Callable[[PageRequest], Awaitable[PageResponse]]


def pages_of(resource: Resource) -> tuple[PageRoute, ...]:
    """Returns the page of the list, and the target of each form."""
    page = DrawnPage(resource)
    shown = PageRoute("GET", page.path, resource.scope_of(resource.operation("list")), page.show)
    targets = [(f"{page.path}/{each.name}", each) for each in resource.operations if each.label]
    return shown, *(PageRoute("POST", path, resource.scope_of(each), page.change(each)) for path, each in targets)


class DrawnPage:
    def __init__(self, resource: Resource) -> None:
        self.path = resource.path or f"/{resource.plural}"
        self._resource = resource

    async def show(
        self, request: PageRequest, of: str = "", problem: FormProblem | None = None, told: str = ""
    ) -> PageResponse:
        """Shows the list and the forms; the form of the operation `of` as it was filled in, with its problem or with
        the sentence that answers it."""
        resource, listing = self._resource, self._resource.operation("list")
        offers = await _offers(request, resource)
        asked = {each.name: request.query.get(each.name, "") for each in listing.reads}
        wanted: dict[str, Any] = {
            name: text for name, text in asked.items() if text and text in offers.get(name, (text,))
        }
        if listing.page:
            after = request.query.get("after", "")
            wanted |= {"cursor": after if parse_key(after) is not None else None, "limit": min(100, listing.page)}
        answer = await request.ask(resource, listing.asked(wanted))
        found = answer[resource.plural]
        return request.page(
            "resource.html",
            status=200 if problem is None else 400,
            resource=resource,
            path=self.path,
            title=resource.title or resource.plural.capitalize(),
            found=found[:SHOWN],
            more=max(0, len(found) - SHOWN),
            cursor=answer.get("cursor"),
            asked=asked,
            newest_first=listing.newest_first,
            filters=listing.reads,
            columns=columns(resource),
            rows=[each for each in resource.operations if each.confirm],
            forms=[
                each
                for each in resource.operations
                if each.label and not each.confirm and request.may(resource.scope_of(each))
            ],
            writes=lambda operation: request.may(resource.scope_of(operation)),
            inputs=lambda operation: [_input(each) for each in resource.fields_of(operation)],
            row_fields=lambda operation: [singular(each).name for each in resource.fields_of(operation)],
            page=lambda form, row: PATH + form.format_map({name: quote(str(value)) for name, value in row.items()}),
            offers=offers,
            form=request.form,
            problem=problem,
            of=of,
            told=told,
        )

    def change(self, operation: Operation) -> Run:
        async def run(request: PageRequest) -> PageResponse:
            try:
                given = self._given(request, operation)
                answer = await request.ask(self._resource, operation.asked(given))
            except Mistake as mistake:
                return await self.show(request, operation.name, problem_of(mistake))
            told = self._resource.format_done(operation, given, answer)
            if operation.verdict:
                return await self.show(request, operation.name, told=told)
            return request.go(self.path, told)

        return run

    def _given(self, request: PageRequest, operation: Operation) -> dict[str, Any]:
        """Returns the JSON values of a form; what is empty and may be left out is left out. Raises Invalid."""
        given: dict[str, Any] = {}
        for field in self._resource.fields_of(operation):
            one = singular(field)
            text = request.form.get(one.name, "")
            if not (isinstance(one.type, Text) and one.type.is_long):
                text = text.strip()
            if text or field.default is REQUIRED:
                given[field.name] = [one.parse(text)] if isinstance(field.type, Many) else one.parse(text)
        return given


def columns(resource: Resource) -> list[dict[str, Any]]:
    """Returns the columns of the table. `phone` says where a narrow screen has them: the last field of the key heads a
    row, and its state, or else whose it is, stands at the end of the same line."""
    head = resource.title_field
    shown = [resource.field(name) for name in resource.columns] or resource.fields
    fields = [each for each in shown if not (resource.called and each.name in resource.key)]
    ends = [each for kind in (Choice, Reference) for each in fields if isinstance(each.type, kind)]
    ordered = sorted(fields, key=lambda each: each is not head)
    return [
        {
            "field": each,
            "label": each.label,
            "kind": _kind(each),
            "is_head": each is head,
            "phone": "one" if each is head else "one end" if ends and each is ends[0] else "two",
        }
        for each in ordered
    ]


def _kind(field: Field) -> str:
    match field.type:
        case Choice():
            return "badge"
        case Moment():
            return "moment"
        case Reference():
            return f"{field.type.to}s"
        case Whole():
            return "number"
    return "text"


def _input(field: Field) -> dict[str, Any]:
    one = singular(field)
    is_open = field.default is REQUIRED or field.default is None
    return {
        "name": one.name,
        "label": one.label,
        "hint": one.hint,
        "value": "" if is_open else one.text(one.show(field.default)),
        "required": field.default is REQUIRED,
        "is_long": isinstance(one.type, Text) and one.type.is_long,
    }


async def _offers(request: PageRequest, resource: Resource) -> dict[str, list[str]]:
    """Returns the values to choose from, of each field that has some."""
    found: dict[str, list[str]] = {}
    for field in resource.fields:
        match field.type:
            case Choice():
                found[field.name] = list(field.type.words)
            case Reference(to="account"):
                found[field.name] = await request.account_names()
            case Reference():
                found[field.name] = sorted((await request.desk.connector_names()).values())
    return found
