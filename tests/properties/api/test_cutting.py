"""How the network cuts what a client sends is no part of it: whole or in pieces it has the same answers, and costs the
same."""

import asyncio

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.properties.api.test_short_cut import (
    BODY,
    FORM,
    GOOD,
    JSON,
    SHORTEST,
    V1,
    V2,
    Protocol,
    _frame,
    cut,
    fast,
    outcome,
    usual,
)

HOST = b"Host: x\r\n"
requests = st.builds(
    lambda line, more, body, framing: line + more + _frame(body, framing),
    st.sampled_from(
        [
            *[b"POST /api/v1/messages HTTP/1.1\r\n" + HOST + V1 + JSON] * 4,
            b"POST /api/v2/messages HTTP/1.1\r\n" + HOST + V2 + FORM,
            b"POST /api/v1/messages HTTP/1.0\r\n" + V1 + JSON,
            b"POST /api/v1/messages HTTP/1.1\r\n" + V1 + JSON,
            b"POST /api/v1/messages HTTP/1.1\r\n" + HOST,
            b"POST /api/v1/account/balance HTTP/1.1\r\n" + HOST + V1,
            b"PATCH /api/v1/messages HTTP/1.1\r\n" + HOST + V1,
            b"HEAD /health/live HTTP/1.1\r\n" + HOST,
        ]
    ),
    st.lists(
        st.sampled_from(
            [
                V1, HOST, b"Connection: close\r\n", b"Connection: upgrade\r\nUpgrade: h2c\r\n",
                b"X-Request-Id: mine\r\n",
                b"Transfer-Encoding: gzip, chunked\r\n", b"Content-Length: 3\r\n", b"X : a\r\n", b"X: \r\n",
            ]
        ),
        max_size=2,
    ).map(b"".join),
    st.sampled_from([BODY, BODY.replace(b"Helio", b"He"), BODY.replace(b"Hello", b"x" * 9000), b"to=1", b""]),
    st.sampled_from(["right", "right", "right", "padded", "chunked", "none"]),
)  # fmt: skip
streams = st.lists(requests | st.sampled_from([b"\r\n", b"nonsense\r\n\r\n", SHORTEST]), min_size=1, max_size=5)


@pytest.mark.slow
@pytest.mark.parametrize("protocol", [fast, usual])
@given(
    stream=streams.map(b"".join),
    sizes=st.lists(st.integers(1, 300), max_size=12),
    patient=st.lists(st.booleans(), max_size=4),
)
@example(stream=GOOD * 3, sizes=[1] * 12, patient=[True])
def test_what_is_cut_is_what_is_whole(protocol: Protocol, stream: bytes, sizes: list[int], patient: list[bool]) -> None:
    async def both() -> None:
        whole = await outcome(protocol, [stream], [], 0)
        assert await outcome(protocol, cut(stream, sizes), patient, 0) == whole

    asyncio.run(both())
