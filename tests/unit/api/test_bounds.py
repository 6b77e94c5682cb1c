"""What a body holds is bounded before anything of it is decoded."""

import json

import pytest

from heliograph.api import decode
from heliograph.api.decode import FORM, JSON, Bounds
from heliograph.api.messages import V1
from heliograph.api.send_fields import send_fields
from heliograph.app.sending.fields import SEGMENT_CHARS
from heliograph.app.sending.principal import Principal
from heliograph.domain.error import Fault
from heliograph.domain.limits.defaults import MAX_SEGMENTS
from tests.support.gateway import API_KEY, Gateway, basic, open_gateway, run_asgi

MEBIBYTE = 1 << 20
TO = "447700900123"


@pytest.fixture
async def gateway() -> Gateway:
    return await open_gateway()


async def who(gateway: Gateway) -> Principal:
    view = await gateway.directory.account("acme")
    assert view is not None
    return Principal(view, V1)


async def test_a_text_that_is_too_long_is_not_decoded_and_is_the_fault_of_its_field(gateway: Gateway) -> None:
    encoded = "%25" * (MEBIBYTE // 3 - 40)
    sender = await who(gateway)
    form = send_fields(FORM, f"to={TO}&from=Helio&content={encoded}".encode(), sender)
    document = send_fields(JSON, json.dumps({"to": TO, "from": "Helio", "content": encoded}).encode(), sender)
    assert form.content is not None
    assert document.content is not None
    assert form.content[:3] == document.content[:3] == "%25"
    for reply in (
        await gateway.send_form({"to": TO, "from": "Helio", "content": "%" * (MEBIBYTE // 3 - 40)}),
        await gateway.send({"to": TO, "from": "Helio", "content": encoded}),
    ):
        assert reply.fault == (400, "03", "content")
        assert "too long" in reply.json["Message"]


async def test_the_fault_of_a_field_before_it_is_told_first(gateway: Gateway) -> None:
    reply = await gateway.send({"to": "abc", "from": "Helio", "content": "x" * 100_000})
    assert reply.fault == (400, "03", "to")


async def test_what_may_be_sent_is_far_from_the_bound(gateway: Gateway) -> None:
    longest = "ж" * (67 * MAX_SEGMENTS)
    to = [f"4477009{number:05}" for number in range(1_000)]
    assert (await gateway.send_form({"to": ",".join(to[:9]), "from": "Helio", "content": longest})).status == 200
    assert (await gateway.send({"to": to, "from": "Helio", "content": longest})).status in (200, 402)
    assert 67 * MAX_SEGMENTS * 6 < MAX_SEGMENTS * SEGMENT_CHARS


@pytest.mark.parametrize(
    ("media", "body"),
    [
        (FORM, b"to=1&" * 20_000),
        (FORM, b"".join(b"field%d=%b&" % (number, b"%25" * 400) for number in range(100))),
        (JSON, b'{"to":[' + b",".join([b"1.5"] * 100_000) + b"]}"),
        (JSON, b'{"x":[' + b",".join([b"[]"] * 100_000) + b"]}"),
        (JSON, b'{"x":[' + b",".join([b"{}"] * 100_000) + b"]}"),
    ],
    ids=["fields", "escapes", "numbers", "lists", "objects"],
)
def test_a_body_that_holds_too_much_is_refused_as_a_whole(media: int, body: bytes) -> None:
    with pytest.raises(Fault, match=r"more .* than any request takes") as refused:
        decode.form(body) if media == FORM else decode.json_object(body)
    assert refused.value.entry.code == "01"


@pytest.mark.parametrize("signs", [b",[{", b"%"])
def test_signs_are_counted(signs: bytes) -> None:
    assert decode._count(b"a,[b{{%", signs) == sum(b"a,[b{{%".count(bytes([sign])) for sign in signs)


def test_the_bounds_grow_with_the_settings() -> None:
    wide = Bounds(100_000, 255)
    body = json.dumps({"to": [TO] * 100_000}).encode()
    assert len(decode.json_object(body, wide)["to"]) == 100_000
    assert len(decode.form(b"&".join([b"to=%2B447700900123"] * 100_000), wide)["to"]) == 100_000


async def test_the_work_on_a_refused_request_is_told_to_the_server(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = gateway.app.services.sending.send

    def slow(*arguments: object) -> None:
        gateway.clock.forward(0.25)
        real(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(gateway.app.services.sending, "send", slow)
    events: list[dict[str, object]] = []

    async def kept(scope: object, receive: object, send: object) -> None:
        async def noted(event: dict[str, object]) -> None:
            events.append(event)
            await send(event)  # type: ignore[operator]

        await gateway.app(scope, receive, noted)  # type: ignore[arg-type]

    good = {"to": TO, "from": "Helio", "content": "Hi"}
    dear = good | {"to": [f"4477009{number:05}" for number in range(1_000)]}
    for fields, status in (({"to": TO}, 400), (good, 200), (dear, 402)):
        body = json.dumps(fields).encode()
        scope = {
            "type": "http", "method": "POST", "path": "/api/v1/messages", "query_string": b"", "http_version": "1.1",
            "headers": [(b"authorization", basic("acme", API_KEY)), (b"content-type", b"application/json")],
            "client": ("192.0.2.7", 1),
        }  # fmt: skip
        assert (await run_asgi(kept, scope, [body])).status == status
    started = [event["heliograph.work"] for event in events if event["type"] == "http.response.start"]
    assert started == [0.25, 0.0, 0.0], "what waits for the store is no work"
