"""The console's page of templates: adding, finding, removing, and trying a text."""

import pytest

from heliograph.console.pages import registered_texts
from tests.integration.console.test_console import EVIL, text_of
from tests.support.admin import AdminHouse, Browser

CODE = {
    "name": "code", "text": "Your code is {#numeric#}.\r\nHelio", "sender": "HELIO", "account": "acme",
    "tlvs": "entity=110, Template=117",
}  # fmt: skip


async def test_templates_are_added_found_and_removed(house: AdminHouse, ada: Browser) -> None:
    assert "There are none" in text_of(await ada.get("/templates"))
    page = text_of(await ada.follow(await ada.post("/templates/add", CODE)))
    assert "The template code is there within five seconds." in page
    assert "code HELIO acme Your code is {#numeric#}. Helio entity=110, template=117" in page
    assert "code HELIO" in text_of(await ada.get("/templates", "q=HELIO"))
    assert "This sender has no template." in text_of(await ada.get("/templates", "q=OTHER"))
    assert (await ada.post("/templates/add", CODE)).status == 400
    for wrong in ({"text": "{#name#}"}, {"tlvs": "entity"}, {"sender": "much too long"}, {"name": EVIL}):
        answered = await ada.post("/templates/add", CODE | {"name": "new"} | wrong)
        assert answered.status == 400
        assert "<script>alert" not in answered.text
    page = text_of(await ada.follow(await ada.post("/templates/remove", {"name": "code"})))
    assert "The template code is removed." in page
    assert (await ada.post("/templates/remove", {"name": "code"})).status == 404
    assert [entry.action for entry in await house.entries()][-2:] == ["template.add", "template.remove"]


async def test_a_text_is_tried(ada: Browser) -> None:
    text = {"try_sender": "HELIO", "try_text": "Your code is x"}
    assert "There is no template for the sender HELIO." in text_of(await ada.post("/templates/try", text))
    await ada.post("/templates/add", CODE)
    answered = text_of(await ada.post("/templates/try", text))
    assert "It fits no template. The nearest is code" in answered
    assert "at character 14 the template has {#numeric#}" in answered
    assert "It fits the template code" in text_of(
        await ada.post("/templates/try", text | {"try_text": "Your code is 1.\nHelio"})
    )


async def test_so_many_are_shown(ada: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registered_texts, "SHOWN", 1)
    for name in ("a", "b", "c"):
        await ada.post("/templates/add", CODE | {"name": name})
    assert "2 more are not shown" in text_of(await ada.get("/templates"))
