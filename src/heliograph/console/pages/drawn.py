"""Pages drawn from the description of a resource.

A page has a list with filters, a form for each operation with a label, and buttons beside each row. For example
`app/resources/senders.py` makes the page *Senders*.
"""

from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import quote

from heliograph.admin_api.request import parse_key, parse_key_cursor
from heliograph.app.resources.description import Operation, Resource
from heliograph.app.resources.fields import (
    KEEP,
    OPEN,
    REQUIRED,
    Choice,
    Credits,
    Field,
    Flag,
    Many,
    Moment,
    Reference,
    Text,
    Whole,
    singular,
)
from heliograph.console import PATH
from heliograph.console.request import FormProblem, Mistake, PageRequest, PageResponse, PageRoute, problem_of

SHOWN = 500
"""The most rows of a list without pages."""

Run = Callable[[PageRequest], Awaitable[PageResponse]]


def pages_of(resource: Resource) -> tuple[PageRoute, ...]:
    """Returns the routes of a resource: its page, and the target of each form, such as `POST /senders/add`."""
    page = DrawnPage(resource)
    shown = PageRoute("GET", page.path, resource.scope_of(resource.operation("list")), page.show)
    targets = [(f"{page.path}/{each.name}", each) for each in resource.operations if each.label]
    return shown, *(PageRoute("POST", path, resource.scope_of(each), page.change(each)) for path, each in targets)


class DrawnPage:
    """The page of a resource."""

    def __init__(self, resource: Resource) -> None:
        self.path = resource.path or f"/{resource.plural}"
        self._resource = resource

    async def show(
        self, request: PageRequest, of: str = "", problem: FormProblem | None = None, outcome: str = ""
    ) -> PageResponse:
        """Shows the list and the forms.

        The form of the operation `of` keeps its values, and shows its problem or the sentence `outcome`.
        """
        resource, listing = self._resource, self._resource.operation("list")
        offers = await _offers(request, resource)
        asked = {each.name: request.query.get(each.name, "") for each in listing.reads}
        flags = {each.name for each in listing.reads if isinstance(each.type, Flag)}
        wanted: dict[str, Any] = {
            name: True if name in flags else text
            for name, text in asked.items()
            if text and text in offers.get(name, (text,))
        }
        after = request.query.get("after", "")
        if listing.page:
            wanted |= {"cursor": after if parse_key(after) is not None else None, "limit": min(100, listing.page)}
        elif listing.order:
            wanted |= {"cursor": after if parse_key_cursor(after, len(listing.order)) else None, "limit": SHOWN}
        answer = await request.ask(resource, listing.name, wanted)
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
            flags=flags,
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
            outcome=outcome,
        )

    def change(self, operation: Operation) -> Run:
        async def run(request: PageRequest) -> PageResponse:
            try:
                given = self._given(request, operation)
                answer = await request.ask(self._resource, operation.name, given)
            except Mistake as mistake:
                return await self.show(request, operation.name, problem_of(mistake))
            done = self._resource.format_done(operation, given, answer)
            if operation.verdict:
                return await self.show(request, operation.name, outcome=done)
            return request.go(self.path, done)

        return run

    def _given(self, request: PageRequest, operation: Operation) -> dict[str, Any]:
        """Returns the JSON values of a form without empty fields that are optional. A button beside a row names the
        row, so that its empty fields count: the cost of a row without a date is not every cost of its prefix. Raises
        Invalid.
        """
        given: dict[str, Any] = {}
        for field in self._resource.fields_of(operation):
            single = singular(field)
            text = request.form.get(single.name, "")
            if not (isinstance(single.type, Text) and single.type.is_long):
                text = text.strip()
            is_of_row = bool(operation.confirm) and single.name in request.form
            if text or field.default is REQUIRED or is_of_row:
                given[field.name] = [single.parse(text)] if isinstance(field.type, Many) else single.parse(text)
        return given


def columns(resource: Resource) -> list[dict[str, Any]]:
    """Returns the columns of the table.

    `phone` is the position on a narrow screen, where a row has two lines. The first line has the title field, and at
    its end the state or the account. All other columns are in the second line. A key that no person reads, such as an
    id, has no column: the title field stands for it.
    """
    head = resource.title_field
    shown = [resource.field(name) for name in resource.columns] or resource.fields
    hidden = resource.key if resource.called and resource.called not in resource.key else ()
    fields = [each for each in shown if each.name not in hidden]
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
        case Moment() if type(field.type) is Moment:  # other moments have a text of their own, such as a day
            return "moment"
        case Reference():
            return f"{field.type.to}s"
        case Whole() | Credits():
            return "number"
    return "text"


def _input(field: Field) -> dict[str, Any]:
    single = singular(field)
    return {
        "name": single.name,
        "label": single.label,
        "hint": single.hint,
        "value": "" if field.default in OPEN else single.type.text(single.show(field.default)),
        "empty": "Unchanged" if field.default is KEEP else "Any",
        "required": field.default is REQUIRED,
        "choices": ["no", "yes"] if isinstance(single.type, Flag) else [],
        "is_long": isinstance(single.type, Text) and single.type.is_long,
    }


async def _offers(request: PageRequest, resource: Resource) -> dict[str, list[str]]:
    """Returns the choices of each field with choices, for example `{"state": ["pending", "approved", "refused"]}`."""
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
