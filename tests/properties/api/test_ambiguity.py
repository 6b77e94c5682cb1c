"""Of what two readers, a proxy and this server, may understand as two things no request is made; and what is read, is
read in one way: by the short cut and by the usual way, first on a connection and later, whole and
octet by octet.
"""

import pytest

from heliograph.http.limits import MAX_HEAD_OCTETS
from tests.properties.api.test_short_cut import BODY, GOOD, JSON, V1, Line, Protocol, fast, opened, usual
from tests.support.cases import for_each

LINE = b"POST /api/v1/messages HTTP/1.1\r\n"
HOST = b"Host: x\r\n"
REST = V1 + JSON
LENGTH = b"Content-Length: %d\r\n" % len(BODY)
PLAIN = LENGTH + b"\r\n" + BODY
CHUNKED = b"Transfer-Encoding: chunked\r\n"
CHUNKS = b"\r\n%x\r\n%b\r\n0\r\n\r\n" % (len(BODY), BODY)
NEXT = b"GET /health/live HTTP/1.1\r\nHost: x\r\n\r\n"
REFUSED = [400]
"""And nothing behind it."""


def send(more: bytes = b"", framed: bytes = PLAIN) -> bytes:
    return LINE + HOST + REST + more + framed + NEXT


def chunks(size: bytes, end: bytes = b"\r\n0\r\n\r\n") -> bytes:
    return send(CHUNKED, b"\r\n" + size + b"\r\n" + BODY + end)


SIZE = b"%x" % len(BODY)
TAKEN = [200, 200]

ROWS: dict[str, tuple[bytes, list[int]]] = {
    # whom it is for (RFC 9112, 3.2)
    "a plain send": (send(), TAKEN),
    "no host": (LINE + REST + PLAIN + NEXT, REFUSED),
    "no host, absolute": (LINE.replace(b"/api", b"http://x/api") + REST + PLAIN + NEXT, REFUSED),
    "two hosts": (send(HOST), REFUSED),
    "two hosts, far apart": (send(b"A: b\r\nHOST: y\r\n"), REFUSED),
    "an empty host": (send().replace(b"Host: x", b"Host:", 1), TAKEN),
    "a host and its port": (send().replace(b"Host: x", b"Host: [2001:db8::1]:8080 ", 1), TAKEN),
    "a host with a space": (send().replace(b"Host: x", b"Host: x y", 1), REFUSED),
    "a host with a path": (send().replace(b"Host: x", b"Host: x/y", 1), REFUSED),
    "a host with a user": (send().replace(b"Host: x", b"Host: u@x", 1), REFUSED),
    "a host that is not ASCII": (send().replace(b"Host: x", b"Host: \xc3\xa9", 1), REFUSED),
    "1.0 without a host": (send().replace(b"1.1", b"1.0", 1).replace(HOST, b"", 1), [200]),
    "1.0 with two": (send(HOST).replace(b"1.1", b"1.0", 1), REFUSED),
    # whose it is
    "two credentials": (send(V1), REFUSED),
    "other credentials first": (send().replace(HOST, HOST + b"Authorization: Basic eDp5\r\n", 1), REFUSED),
    "other credentials last": (send(b"Authorization: Basic eDp5\r\n"), REFUSED),
    "empty credentials last": (send(b"authorization:\r\n"), REFUSED),
    # what it asks for
    "an absolute target": (send().replace(b"/api", b"http://y/api", 1), TAKEN),
    "an encoded slash": (send().replace(b"v1/m", b"v1%2Fm", 1), [404, 200]),
    "an encoded slash in small letters": (send().replace(b"v1/m", b"v1%2fm", 1), [404, 200]),
    "an encoded letter": (send().replace(b"v1/m", b"v1/%6d", 1), TAKEN),
    "what is encoded twice": (send().replace(b"v1/m", b"v1%252Fm", 1), [404, 200]),
    "dots": (send().replace(b"/api", b"/x/../api", 1), [404, 200]),
    "a fragment": (send().replace(b"messages", b"messages#x", 1), REFUSED),
    "a backslash": (send().replace(b"v1/m", b"v1\\m", 1), [404, 200]),
    "a semicolon": (send().replace(b"messages", b"messages;a=b", 1), [404, 200]),
    "a space": (send().replace(b"messages", b"mess ages", 1), REFUSED),
    "HTTP/0.9": (b"GET /health/live\r\n\r\n", REFUSED),
    "HTTP/2.0": (send().replace(b"1.1", b"2.0", 1), REFUSED),
    "HTTP/1.2": (send().replace(b"1.1", b"1.2", 1), REFUSED),
    # where it ends
    "two lengths": (send(LENGTH), REFUSED),
    "two lengths in one": (send(framed=PLAIN.replace(b"\r\n", b", 3\r\n", 1)), REFUSED),
    "a length and chunks": (send(CHUNKED), REFUSED),
    "chunks and a length": (send(framed=LENGTH + CHUNKED + CHUNKS), REFUSED),
    "an empty length": (send(framed=b"Content-Length:\r\n\r\n"), REFUSED),
    "a negative length": (send(framed=b"Content-Length: -1\r\n\r\n"), REFUSED),
    "a length with a sign": (send(framed=PLAIN.replace(b": ", b": +", 1)), REFUSED),
    "a length with an underscore": (send(framed=b"Content-Length: 5_4\r\n\r\n" + BODY), REFUSED),
    "a length beyond 64 bits": (send(framed=b"Content-Length: 18446744073709551670\r\n\r\n" + BODY), REFUSED),
    "a length on a folded line": (send(framed=PLAIN.replace(b": ", b":\r\n ", 1)), REFUSED),
    "a length with a space before its colon": (send(framed=PLAIN.replace(b":", b" :", 1)), REFUSED),
    "a length with a zero before it": (send(framed=PLAIN.replace(b": ", b": 0", 1)), TAKEN),
    "no length": (send(framed=b"\r\n"), [400, 200]),
    "chunks": (chunks(SIZE), TAKEN),
    "chunks in capitals": (chunks(SIZE).replace(b"chunked", b"CHUNKED"), TAKEN),
    "chunks behind a space": (chunks(SIZE).replace(b"chunked", b" chunked "), TAKEN),
    "chunks that are compressed": (chunks(SIZE).replace(b"chunked", b"gzip, chunked"), REFUSED),
    "chunks behind a comma": (chunks(SIZE).replace(b"chunked", b",chunked"), REFUSED),
    "chunks twice": (chunks(SIZE).replace(CHUNKED, CHUNKED * 2), REFUSED),
    "chunks that are not the last": (chunks(SIZE).replace(b"chunked", b"chunked, identity"), REFUSED),
    "chunks with a parameter": (chunks(SIZE).replace(b"chunked", b"chunked;a=b"), REFUSED),
    "chunks in quotes": (chunks(SIZE).replace(b"chunked", b'"chunked"'), REFUSED),
    "chunks on a folded line": (chunks(SIZE).replace(b" chunked", b"\r\n chunked"), REFUSED),
    "chunks behind a vertical tab": (chunks(SIZE).replace(b"chunked", b"\x0bchunked"), REFUSED),
    "chunks of HTTP/1.0": (chunks(SIZE).replace(b"1.1", b"1.0", 1), REFUSED),
    "no encoding": (chunks(SIZE).replace(b"chunked", b"identity"), REFUSED),
    "an empty encoding": (chunks(SIZE).replace(b" chunked", b""), REFUSED),
    "chunks of a GET": (NEXT.replace(b"\r\n\r\n", b"\r\nTransfer-Encoding: gzip\r\n\r\n"), REFUSED),
    "a chunk with an extension": (chunks(SIZE + b';a="b\\"c"'), TAKEN),
    "a chunk with zeros before its size": (chunks(b"0" * 20 + SIZE), TAKEN),
    "a chunk whose extension ends with LF": (chunks(SIZE + b";a\nb"), REFUSED),
    "a chunk whose extension has a CR": (chunks(SIZE + b";a\rb"), REFUSED),
    "a chunk whose extension has a NUL": (chunks(SIZE + b";a\0"), REFUSED),
    "a chunk with a sign": (chunks(b"+" + SIZE), REFUSED),
    "a chunk with 0x": (chunks(b"0x" + SIZE), REFUSED),
    "a chunk with an underscore": (chunks(b"3_6"), REFUSED),
    "a chunk without a size": (chunks(b""), REFUSED),
    "a chunk with a space before its size": (chunks(b" " + SIZE), REFUSED),
    "a chunk with a space behind its size": (chunks(SIZE + b" "), REFUSED),
    "a chunk beyond 64 bits": (chunks(b"1" + b"0" * 14 + SIZE), REFUSED),
    "a chunk that ends with LF": (chunks(SIZE, b"\n0\r\n\r\n"), REFUSED),
    "a size that ends with LF": (chunks(SIZE).replace(SIZE + b"\r\n", SIZE + b"\n"), REFUSED),
    "an end with LF": (chunks(SIZE, b"\r\n0\r\n\n"), REFUSED),
    "trailers": (chunks(SIZE, b"\r\n0\r\nAuthorization: x\r\nHost: y\r\nX: z\r\n\r\n"), TAKEN),
    "a length among the trailers": (chunks(SIZE, b"\r\n0\r\nContent-Length: 30\r\n\r\n"), REFUSED),
    "an encoding among the trailers": (chunks(SIZE, b"\r\n0\r\nTransfer-Encoding: chunked\r\n\r\n"), REFUSED),
    "a folded trailer": (chunks(SIZE, b"\r\n0\r\nX: y\r\n z\r\n\r\n"), REFUSED),
    # what is in its headers
    "a folded header": (send(b"X: a\r\n\tb\r\n"), REFUSED),
    "a header that ends with LF": (send(b"X: a\n"), REFUSED),
    "a head that ends with LF": (send(framed=LENGTH + b"\n" + BODY), REFUSED),
    "a header with a CR": (send(b"X: a\rb\r\n"), REFUSED),
    "a header with a NUL": (send(b"X: a\0b\r\n"), REFUSED),
    "a header with another control character": (send(b"X: a\x01b\r\n"), REFUSED),
    "a name with a NUL": (send(b"X\0: a\r\n"), REFUSED),
    "a name with a space": (send(b"X y: a\r\n"), REFUSED),
    "a name that is not ASCII": (send(b"X\xe9: a\r\n"), REFUSED),
    "no name": (send(b": a\r\n"), REFUSED),
    "no colon": (send(b"X\r\n"), REFUSED),
    "underscores for hyphens": (send(b"Content_Length: 3\r\nTransfer_Encoding: chunked\r\n"), TAKEN),
    # what follows it
    "nonsense": (send() + b"nonsense\r\n\r\n" + NEXT, [200, 200, 400]),
    "nothing after a close": (send(b"Connection: close\r\n"), [200]),
    "nothing after a close among others": (send(b"Connection: x, Close\r\n"), [200]),
    "an offer": (send(b"Connection: upgrade\r\nUpgrade: h2c\r\n"), TAKEN),
    "an offer with two ends": (send(b"Connection: upgrade\r\nUpgrade: h2c\r\n", LENGTH + CHUNKED + CHUNKS), REFUSED),
    "an offer without a host": (send(b"Connection: upgrade\r\nUpgrade: h2c\r\n").replace(HOST, b"", 1), REFUSED),
    "a body that is asked for": (send(b"Expect: 100-continue\r\n"), [100, 200, 200]),
    "another expectation": (send(b"Expect: a miracle\r\n"), TAKEN),
}


@for_each("name", ROWS)
@pytest.mark.parametrize("protocol", [fast, usual])
async def test_it_is_read_in_one_way(protocol: Protocol, name: str) -> None:
    octets, expected = ROWS[name]
    for known in (False, True):
        for size in (len(octets), 1):
            line = await opened(protocol)
            if known:
                await line.hear(GOOD)
                await line.settle()
                await line.hear(GOOD)
                await line.settle()
            for start in range(0, len(octets), size):
                await line.hear(octets[start : start + size])
            await line.settle()
            statuses = told(line)
            assert statuses[: 2 * known] == [200] * (2 * known)
            # in one piece the body has come before anybody asks for it
            wanted = [each for each in expected if each != 100 or each in statuses]
            final = [each for each in wanted if each != 100]
            assert statuses[2 * known :] == wanted, (known, size)
            assert line.wire.over == (final[-1] == 400 or len(final) == 1)
            charged = final[0] == 200 and octets.startswith(b"POST")
            assert len(line.gateway.intake.accepted) == 2 * known + charged


def told(line: Line) -> list[int]:
    return [int(status.split()[1]) for status, _, _ in line.answers()]


@pytest.mark.parametrize(
    "endless",
    [b"1\r\nx\r\n0\r\nX: " + b"a" * 3 * MAX_HEAD_OCTETS, b"1\r\nx\r\n0\r\n" + b"A: b\r\n" * MAX_HEAD_OCTETS,
     b"1;a=" + b"b" * 3 * MAX_HEAD_OCTETS],
    ids=["a trailer", "trailers", "an extension"],
)  # fmt: skip
async def test_what_is_around_a_body_has_an_end(endless: bytes) -> None:
    """The parser keeps the value of a trailer that has no end, and copies it with each piece that comes."""
    line = await opened(fast)
    await line.hear(LINE + HOST + REST + CHUNKED + b"\r\n" + endless)
    await line.settle()
    assert (told(line), line.wire.over) == ([400], True)


async def test_a_head_of_which_no_request_is_made_says_why() -> None:
    for octets, word in (
        (LINE + REST + PLAIN, b"Host"), (send(V1), b"Authorization"), (b"GET / HTTP/2.0\r\n\r\n", b"version"),
        (chunks(SIZE).replace(b"chunked", b"gzip, chunked"), b"chunked"), (b"BREW\r\n\r\n", b"method"),
        (send().replace(b"messages", b"messages#x"), b"fragment"),
    ):  # fmt: skip
        line = await opened(fast)
        await line.hear(octets)
        ((_, _, body),) = line.answers()
        assert word in body
        assert line.gateway.app.responses[400] == 1, "it is counted as other answers are"


async def test_a_refusal_of_head_has_no_body() -> None:
    line = await opened(fast)
    await line.hear(b"HEAD /health/live HTTP/1.1\r\n\r\n")
    ((status, headers, _),) = line.answers()
    assert b"400" in status
    assert any(header.startswith(b"content-length: ") for header in headers)
    assert line.wire.written.endswith(b"\r\n\r\n")


@pytest.mark.parametrize("protocol", [fast, usual])
async def test_a_method_that_nobody_has_heard_of_is_a_wrong_method(protocol: Protocol) -> None:
    line = await opened(protocol)
    for request, expected in (
        (send().replace(b"POST", b"BREW", 1), [405, 200]), (NEXT.replace(b"GET", b"get"), [405]),
        (b"\r\n" + NEXT.replace(b"GET", b"X-Y"), [405]), (NEXT.replace(b"GET /health/live", b"BREW /nowhere"), [404]),
        (NEXT.replace(b"GET", b"BREW").replace(b"\r\n\r\n", b"\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n"), [405]),
        (GOOD, [200]), (NEXT.replace(b"GET", b"BREW").replace(b"1.1", b"1.0"), [405]),
    ):  # fmt: skip
        before = len(told(line))
        await line.hear(request)
        await line.settle()
        assert told(line)[before:] == expected
    allowed = [[header for header in headers if header.startswith(b"allow: ")] for _, headers, _ in line.answers()]
    assert allowed[:3] == [[b"allow: GET, HEAD, POST"], [], [b"allow: GET, HEAD"]]
    assert line.wire.over
    assert len(line.gateway.intake.accepted) == 1


@pytest.mark.parametrize("protocol", [fast, usual])
async def test_such_a_method_is_known_for_one_before_the_answer_to_another_request(protocol: Protocol) -> None:
    line = await opened(protocol)
    for request in (GOOD, NEXT.replace(b"GET", b"BREW"), GOOD):
        await line.hear(request)
    await line.settle()
    assert told(line) == [200, 405, 200]
