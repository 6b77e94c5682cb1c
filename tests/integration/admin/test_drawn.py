"""What is drawn from the description of a resource, once for all: operations of the admin API."""

from typing import Any

import pytest

from heliograph.admin_api.operations import RESOURCES
from heliograph.admin_api.request import key_cursor
from heliograph.app.records import TOKEN_SCOPES
from heliograph.app.resources.account_settings import SETTINGS
from heliograph.app.resources.description import Operation, Resource
from heliograph.app.resources.fields import REQUIRED, Field
from tests.support.admin import AdminHouse, Answered, open_house
from tests.support.resources import key_of, sample, sample_of, with_operations

ALL = pytest.mark.parametrize(
    ("resource", "add"),
    [(each, name) for name in ("add", "create") for each in with_operations(RESOURCES, name)],
    ids=lambda each: getattr(each, "plural", ""),
)
REMOVABLE = pytest.mark.parametrize(
    "resource", with_operations(RESOURCES, "add", "remove"), ids=lambda each: each.plural
)


@pytest.fixture
async def house() -> AdminHouse:
    return await open_house()


@pytest.fixture
async def token(house: AdminHouse) -> str:
    return await house.token(*TOKEN_SCOPES)


async def ask(house: AdminHouse, token: str, operation: Operation, given: dict[str, Any]) -> Answered:
    asked = operation.asked(given)
    query = "&".join(f"{name}={value}" for name, value in asked.query.items())
    return await house.ask(token, asked.method, asked.path, asked.body, query)


async def rows(house: AdminHouse, token: str, resource: Resource) -> list[dict[str, Any]]:
    listing = resource.operation("list")
    given = {each.name: value for each in resource.fields_of(listing) if (value := filters(each.name))}
    answered = await ask(house, token, listing, given)
    assert answered.status == 200, answered.text
    found: list[dict[str, Any]] = answered.json[resource.plural]
    return found


def filters(name: str) -> str:
    return "acme" if name == "account" else ""


@REMOVABLE
async def test_a_thing_is_added_found_and_removed(house: AdminHouse, token: str, resource: Resource) -> None:
    add, remove = resource.operation("add"), resource.operation("remove")
    before = await rows(house, token, resource)
    given = sample_of(resource, add)
    added = await ask(house, token, add, given)
    assert added.status == add.status, added.text
    after = await rows(house, token, resource)
    (row,) = [each for each in after if each not in before]
    assert set(row) == {each.name for each in resource.fields}
    assert all(row[name] == value for name, value in given.items() if name in row)
    key = key_of(resource, remove, row)
    assert (await ask(house, token, remove, key)).json == {"done": True}
    assert await rows(house, token, resource) == before
    gone = await ask(house, token, remove, key)
    assert (gone.status, gone.json["Status"]) == (404, "07")
    noted = [entry.action.partition(".")[0] for entry in await house.entries()]
    assert noted[-2:] == [resource.name] * 2


@ALL
async def test_mistakes_name_the_field(house: AdminHouse, token: str, resource: Resource, add: str) -> None:
    operation = resource.operation(add)
    given = sample_of(resource, operation)
    for field in operation.reads:
        wrong = await ask(house, token, operation, {**given, field.name: {"no": 1.5}})
        assert (wrong.status, wrong.json["Field"]) == (400, field.name)
        if field.default is REQUIRED:
            left = {name: value for name, value in given.items() if name != field.name}
            missing = await ask(house, token, operation, left)
            assert (missing.status, missing.json["Status"], missing.json["Field"]) == (400, "02", field.name)
    unknown = await ask(house, token, operation, {**given, "colour": "red"})
    assert (unknown.status, unknown.json["Field"]) == (400, "colour")


@ALL
async def test_things_that_others_name_must_be_there(
    house: AdminHouse, token: str, resource: Resource, add: str
) -> None:
    given = sample_of(resource, resource.operation(add))
    for name in {"account", "connector"} & set(given):
        answered = await ask(house, token, resource.operation(add), {**given, name: "nobody"})
        assert (answered.status, answered.json["Message"]) == (404, f"There is no {name} nobody.")


@pytest.mark.parametrize("field", SETTINGS, ids=lambda each: each.name)
async def test_each_setting_of_an_account_is_changed_alone(house: AdminHouse, token: str, field: Field) -> None:
    before, wanted = await shown(house, token), sample(field)
    changed = await house.ask(token, "PATCH", "/accounts/acme", {field.name: wanted})
    assert changed.status == 200, changed.text
    assert changed.json == before | {field.name: wanted}
    noted = (await house.entries())[-1]
    assert noted.target == "acme"
    assert noted.action == "account.resume" or set(noted.details) == {field.name}
    poor = await house.token(*(scope for scope in TOKEN_SCOPES if scope is not field.scope))
    refused = await house.ask(poor, "PATCH", "/accounts/acme", {field.name: wanted})
    assert refused.status == (403 if field.scope else 200)


async def shown(house: AdminHouse, token: str) -> dict[str, Any]:
    account: dict[str, Any] = (await house.ask(token, "GET", "/accounts/acme")).json
    return account


CUT = [each for each in RESOURCES if any(name.name == "list" and each.is_cut(name) for name in each.operations)]


@pytest.mark.parametrize("resource", CUT, ids=lambda each: each.plural)
async def test_a_whole_list_can_be_read_in_pages(house: AdminHouse, token: str, resource: Resource) -> None:
    for name in ("add", "create"):
        if any(each.name == name for each in resource.operations):
            await ask(house, token, resource.operation(name), sample_of(resource, resource.operation(name)))
    path = resource.operation("list").path
    whole = (await house.ask(token, "GET", path)).json
    pages: list[Any] = []
    cursor: str | None = ""
    while cursor is not None:
        answer = (await house.ask(token, "GET", path, query=f"limit=1&cursor={cursor}")).json
        pages += answer[resource.plural]
        cursor = answer["cursor"]
    assert "cursor" not in whole
    assert len(pages) == len(whole[resource.plural])
    assert all(each in pages for each in whole[resource.plural])


async def test_a_page_goes_on_behind_a_row_that_is_gone(house: AdminHouse, token: str) -> None:
    for number in ("3301", "3302", "3303"):
        await house.ask(token, "POST", "/numbers", {"number": number, "account": "acme"})
    first = (await house.ask(token, "GET", "/numbers", query="limit=2")).json
    gone = first["numbers"][-1]["id"]
    await house.ask(token, "DELETE", f"/numbers/{gone}")
    rest = (await house.ask(token, "GET", "/numbers", query=f"limit=1000&cursor={first['cursor']}")).json
    assert all(each["id"] > gone for each in rest["numbers"])
    assert "3303" in [each["number"] for each in rest["numbers"]]
    assert rest["cursor"] is None


@pytest.mark.parametrize(
    "key",
    [
        ("49", "", "0", 1),
        ("49", "", 1 << 70, 1),
        ("49", "", None, 1),
        ("x", "", 0, 1),
        (49, "", 0, 1),
        ("49", "", 0),
    ],
)
async def test_a_cursor_that_names_no_row_is_refused(house: AdminHouse, token: str, key: tuple[Any, ...]) -> None:
    answer = await house.ask(token, "GET", "/routes", query=f"cursor={key_cursor(key)}")
    assert (answer.status, answer.json["Field"]) == (400, "cursor")


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("limit=0", "limit"),
        ("limit=10001", "limit"),
        ("limit=x", "limit"),
        ("cursor=%25", "cursor"),
        ("cursor=W10", "cursor"),
    ],
)
async def test_a_wrong_page_is_refused(house: AdminHouse, token: str, query: str, field: str) -> None:
    answered = await house.ask(token, "GET", "/accounts", query=query)
    assert (answered.status, answered.json["Field"]) == (400, field)
