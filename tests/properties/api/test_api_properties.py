"""No input whatever is answered 500, and what is answered is always whole."""

import asyncio
import json
from collections.abc import Coroutine, Iterator
from typing import Any
from urllib.parse import urlencode

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from heliograph.api import decode
from heliograph.app.sending.compose import SendRules
from heliograph.app.sending.fields import Fields
from heliograph.app.sending.fingerprint import fingerprint
from heliograph.domain.error import Fault
from tests.support.gateway import START, Gateway, Reply, open_gateway

SEND = "/api/v1/messages"
KINDS = ["application/json", "application/x-www-form-urlencoded", "", "text/plain", "application/json; charset=x"]


class Running:
    """A gateway on a loop of its own, for functions that Hypothesis calls."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self.gateway: Gateway = self.run(open_gateway(rules=SendRules(max_destinations=20)))

    def run(self, step: Coroutine[Any, Any, Any]) -> Any:
        return self._loop.run_until_complete(step)

    def call(self, *args: Any, **kwargs: Any) -> Reply:
        self.gateway.journal.lines.clear()
        reply: Reply = self.run(self.gateway.call(*args, **kwargs))
        self.gateway.clock.forward(60)
        assert self.gateway.journal.lines == []
        assert reply.status != 500
        if reply.status != 200 and reply.body:
            assert reply.fault[0] == reply.status
        return reply

    def close(self) -> None:
        self._loop.close()


@pytest.fixture(scope="module")
def running() -> Iterator[Running]:
    one = Running()
    yield one
    one.close()


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=40),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=8,
)
numbers = st.from_regex(r"[1-9][0-9]{6,14}", fullmatch=True)
texts = st.text(max_size=50) | st.sampled_from(["text", "binary", "flash", "yes", "http://example.com", "http://[::1"])
plausible = st.fixed_dictionaries(
    {},
    optional={
        "to": numbers | st.lists(numbers | texts, max_size=4) | texts | json_values,
        "from": st.from_regex(r"[A-Za-z0-9]{3,11}", fullmatch=True) | json_values,
        "content": st.text(max_size=400) | json_values,
        "time": st.integers(START // 1000, START // 1000 + 10**8) | texts | json_values,
        "type": texts | json_values,
        "dlr": st.booleans() | texts | json_values,
        "dlr-url": st.from_regex(r"https?://[ -~]{0,30}", fullmatch=True) | json_values,
        "reference": st.text(max_size=70) | json_values,
        "x": json_values,
    },
)


@given(fields=plausible, path=st.sampled_from([SEND, "/api/v2/messages", f"{SEND}/quote"]))
@example(fields={"to": "447700900123", "from": "abc", "content": "\x00"}, path=SEND)
@example(fields={"to": "x", "from": "abc", "content": "x", "dlr-url": 0.5, "reference": "r"}, path=SEND)
@example(fields={"to": "x", "from": "abc", "content": "x", "dlr-url": [1], "reference": "r"}, path=SEND)
@example(fields={"to": "447700900123", "from": "abc", "content": "x", "time": 1e308}, path=SEND)
@example(fields={"to": "447700900123", "from": "abc", "content": "x", "time": 5e-324}, path=SEND)
@example(fields={"to": "447700900123", "from": "abc", "content": "x", "dlr-url": "http://[::1"}, path=SEND)
@example(fields={"to": "447700900123", "from": "abc", "content": "x", "dlr-url": "http://[v1.x]/"}, path=SEND)
def test_fields_of_any_kind(running: Running, fields: dict[str, Any], path: str) -> None:
    body = json.dumps(fields).encode()
    running.call("POST", path, body, headers={"Content-Type": "application/json"})


@given(fields=st.lists(st.tuples(st.sampled_from(["to", "from", "content", "time", "dlr-url", "x"]), st.text())))
def test_forms_of_any_kind(running: Running, fields: list[tuple[str, str]]) -> None:
    running.call("POST", SEND, urlencode(fields).encode(), headers={"Content-Type": KINDS[1]})


@given(
    method=st.sampled_from(["GET", "POST", "PUT", "DELETE", "HEAD", "PATCH"]),
    path=st.sampled_from([SEND, f"{SEND}/", "/api/v2/messages", "/api/v1/account/balance", "/health/ready"])
    | st.text(max_size=40).map(lambda text: f"{SEND}/{text}")
    | st.text(max_size=20),
    body=st.binary(max_size=200) | json_values.map(lambda value: json.dumps(value).encode()),
    kind=st.sampled_from(KINDS) | st.text(st.characters(max_codepoint=255), max_size=30),
    query=st.text(st.characters(max_codepoint=255), max_size=40)
    | st.dictionaries(st.sampled_from(["start", "end", "index", "limit", "pending", "order"]), texts).map(urlencode),
    auth=st.sampled_from(["acme", "other"]) | st.none() | st.binary(max_size=40),
)
def test_requests_of_any_kind(
    running: Running, method: str, path: str, body: bytes, kind: str, query: str, auth: str | bytes | None
) -> None:
    running.call(method, path, body, headers={"Content-Type": kind}, query=query, auth=auth)


class _Repeated(Exception):
    pass


def _no_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _Repeated
    return found


pieces = st.sampled_from(
    ['"a"', '"b"', '"\\""', '"\\\\"', '"\\u0061"', "1", "null", "1.5", "{", "}", "[", "]", ":", ","]
)
awkward_keys = st.sampled_from(["a", '"', "\\", '\\"', '"a', "é", ""])
documents = st.recursive(
    st.sampled_from(["1", "null", '"a"', '"\\""', '"\\\\"', '"\\u0022"', "[]", "{}", "15e-1"]),
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda each: f"[{','.join(each)}]")
        | st.lists(st.tuples(awkward_keys, st.booleans(), inner), max_size=3).map(
            lambda pairs: "{" + ",".join(f"{json.dumps(k, ensure_ascii=e)}: {v}" for k, e, v in pairs) + "}"
        )
    ),
    max_leaves=8,
)


@given(text=documents.filter(lambda text: text.startswith("{")) | st.lists(pieces).map(" ".join))
def test_a_repeated_key_is_found_wherever_it_is(text: str) -> None:
    """Against a decoder that looks at every pair."""
    try:
        expected: Any = json.loads(text, object_pairs_hook=_no_repeats, parse_float=str)
    except (ValueError, _Repeated):
        expected = None
    if type(expected) is not dict:
        with pytest.raises(Fault):
            decode.json_object(text.encode())
    else:
        assert decode.json_object(text.encode()) == expected


@given(fields=st.dictionaries(st.text(), st.text()))
def test_a_form_is_read_as_it_was_written(fields: dict[str, str]) -> None:
    assert decode.query(urlencode(fields).encode()) == fields


@given(
    first=st.tuples(st.text(min_size=1), st.text(min_size=1)),
    second=st.tuples(st.text(min_size=1), st.text(min_size=1)),
)
def test_two_requests_have_one_fingerprint_only_if_they_are_one(
    first: tuple[str, str], second: tuple[str, str]
) -> None:
    prints = [fingerprint(Fields(to=["447700900123"], sender=a, content=b, reference="r")) for a, b in (first, second)]
    assert (prints[0] == prints[1]) is (first == second)
