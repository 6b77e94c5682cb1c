"""The console's page of templates: finding, and trying a text."""

import pytest

from heliograph.console.pages import drawn
from tests.integration.console.test_console import text_of
from tests.support.admin import Browser

CODE = {
    "name": "code", "text": "Your code is {#numeric#}.\r\nHelio", "sender": "HELIO", "account": "acme",
    "tlvs": "entity=110, Template=117",
}  # fmt: skip


async def test_templates_are_found_by_their_sender(ada: Browser) -> None:
    page = text_of(await ada.follow(await ada.post("/templates/add", CODE)))
    assert "Added the template code." in page
    assert "code HELIO acme entity=110, template=117 Your code is {#numeric#}. Helio" in page
    assert "code HELIO" in text_of(await ada.get("/templates", "sender=HELIO"))
    assert "Nothing was found." in text_of(await ada.get("/templates", "sender=OTHER"))


async def test_a_text_is_tried(ada: Browser) -> None:
    text = {"sender": "HELIO", "text": "Your code is x"}
    assert "There is no template for the sender HELIO." in text_of(await ada.post("/templates/check", text))
    await ada.post("/templates/add", CODE)
    answered = text_of(await ada.post("/templates/check", text))
    assert "It fits no template. The nearest is code" in answered
    assert "at character 14 the template has {#numeric#}" in answered
    assert "It fits the template code" in text_of(
        await ada.post("/templates/check", text | {"text": "Your code is 1.\nHelio"})
    )


async def test_so_many_are_shown(ada: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawn, "SHOWN", 1)
    for name in ("a", "b", "c"):
        await ada.post("/templates/add", CODE | {"name": name})
    assert "2 more are not shown" in text_of(await ada.get("/templates"))
