"""Pages drawn from the description of a resource, once for all."""

import html
import re

import pytest

from heliograph.app.resources import costs
from heliograph.app.resources.description import Operation, Resource
from heliograph.app.resources.fields import Many, singular
from heliograph.console.pages import DRAWN, drawn
from tests.integration.console.test_console import EVIL, text_of
from tests.support.admin import AdminHouse, Browser
from tests.support.resources import sample_of, with_operations

ADDED = pytest.mark.parametrize("resource", with_operations(DRAWN, "add"), ids=lambda each: each.plural)


def form_of(resource: Resource, operation: Operation) -> dict[str, str]:
    """What somebody fills in."""
    given = sample_of(resource, operation)
    fields = [each for each in resource.fields_of(operation) if each.name in given]
    return {singular(each).name: each.type.text(given[each.name]) for each in fields}


def hidden(page: str, target: str) -> list[dict[str, str]]:
    """The values of each form of a page that leads there."""
    forms = [part.partition("</form>")[0] for part in page.split("<form") if f'{target}"' in part.partition(">")[0]]
    found = [dict(re.findall(r'name="(\w+)" value="([^"]*)"', form)) for form in forms]
    return [{name: html.unescape(value) for name, value in each.items() if name != "csrf"} for each in found]


@ADDED
async def test_a_thing_is_added_shown_and_removed(house: AdminHouse, ada: Browser, resource: Resource) -> None:
    path, before = resource.path or f"/{resource.plural}", len(await house.entries())
    assert resource.nothing in text_of(await ada.get(path))
    form = form_of(resource, resource.operation("add"))
    page = await ada.follow(await ada.post(f"{path}/add", form))
    assert all(text in text_of(page) for text in form.values())
    (row,) = hidden(page.text, f"{path}/remove")
    for preset in (each for each in resource.presets if each.label):
        (with_these,) = hidden(page.text, f"{path}/{preset.of}")[:1] or [{}]
        assert (await ada.post(f"{path}/{preset.of}", with_these | dict(preset.sets))).status == 303
    assert resource.nothing in text_of(await ada.follow(await ada.post(f"{path}/remove", row)))
    assert (await ada.post(f"{path}/remove", row)).status == 400
    actions = [entry.action.partition(".")[0] for entry in (await house.entries())[before:]]
    assert actions[-1] == resource.name


async def test_costs_name_their_connector_and_destination(house: AdminHouse, ada: Browser) -> None:
    await costs.put(house.admin.desk, "operator", 30_000, prefix="49", since=1_800_000_000_000)
    await costs.put(house.admin.desk, "operator", 20_000, network="26201")
    shown = text_of(await ada.get("/costs"))
    assert "Prefix Connector Network Submitted Delivered Since" in shown
    assert "49 operator none 0.03 0 2027-01-15" in shown
    assert "First digits of the numbers; empty: all numbers" in shown
    assert "– operator 26201 0.02 0" in shown


async def test_a_cost_is_set_and_removed_without_the_others_of_its_destination(house: AdminHouse, ada: Browser) -> None:
    for given in ({"prefix": "49"}, {"prefix": "49", "since": "2027-03-01"}, {"network": "26201"}, {}):
        form = {"connector": "operator", "submitted": "0.03"} | given
        assert "The cost over operator is set." in text_of(await ada.follow(await ada.post("/costs/set", form)))
    page = await ada.get("/costs")
    rows = hidden(page.text, "/costs/remove")
    assert [(each["prefix"], each["network"], each["since"]) for each in rows] == [
        ("", "", ""), ("49", "", ""), ("49", "", "2027-03-01T00:00:00.000Z"), ("", "26201", ""),
    ]  # fmt: skip
    assert 'aria-label="Remove operator 26201"' in page.text
    await ada.post("/costs/remove", rows[1])
    assert [(each["prefix"], each["network"]) for each in await costs.find(house.admin.desk)] == [
        ("", ""), ("49", ""), ("", "26201"),
    ]  # fmt: skip
    assert (await costs.find(house.admin.desk))[1]["since"]


async def test_a_long_list_of_costs_has_pages(house: AdminHouse, ada: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawn, "SHOWN", 2)
    for prefix in ("43", "44", "49"):
        await costs.put(house.admin.desk, "operator", 30_000, prefix=prefix)
    first = await ada.get("/costs", "past=yes")
    assert re.search(r'<input id="f-past" [^>]* checked>', first.text)
    assert [each["prefix"] for each in hidden(first.text, "/costs/remove")] == ["43", "44"]
    (more,) = re.findall(r'href="/console/costs\?([^"]*after=[^"]*)"', first.text)
    rest = await ada.get("/costs", html.unescape(more))
    assert [each["prefix"] for each in hidden(rest.text, "/costs/remove")] == ["49"]
    assert (await ada.get("/costs", "after=x")).status == 200


@ADDED
async def test_mistakes_stand_beside_their_field(ada: Browser, resource: Resource) -> None:
    add = resource.operation("add")
    form, path = form_of(resource, add), resource.path or f"/{resource.plural}"
    for field in map(singular, resource.fields_of(add)):
        wrong = await ada.post(f"{path}/add", {**form, field.name: f"{EVIL * 99} {EVIL}"})
        assert wrong.status == 400, field.name
        assert "<script>alert" not in wrong.text
        assert f'<div class="field wrong"> <label for="f-{field.name}">' in " ".join(wrong.text.split())


async def test_yes_or_no_is_chosen_from_a_list(house: AdminHouse, ada: Browser) -> None:
    page = (await ada.get("/numbers")).text
    (options,) = re.findall(r'<select id="f-force" name="force"[^>]*>(.*?)</select>', page, re.DOTALL)
    assert re.findall(r"<option[^>]*>([^<]*)", options) == ["no", "yes"]
    assert '<option value="no" selected>' in options


@ADDED
async def test_filters_narrow_the_list(ada: Browser, resource: Resource) -> None:
    path, listing = resource.path or f"/{resource.plural}", resource.operation("list")
    await ada.post(f"{path}/add", form_of(resource, resource.operation("add")))
    for field in listing.reads:
        assert not isinstance(field.type, Many)
        found = await ada.get(path, f"{field.name}=nothing-such")
        assert found.status == 200
